//! Pending entries that another consumer takes over: `XCLAIM` and `XAUTOCLAIM`.

use super::entries::between;
use super::groups::{group_of, see};
use super::{id_reply, ids, no_group};
use crate::command::line::Line;
use crate::command::words::Words;
use crate::data::{EntryId, Live, Pending};
use crate::failure::Failure;
use crate::number::{integer, parse_integer};
use crate::reply::Reply;

/// Parses a number behind a word; `wrong` is the error's text.
fn number(text: &[u8], wrong: &'static str) -> Result<i64, Failure> {
    integer(text).map_err(|_| Failure::Told(wrong))
}

/// The options of a claim.
struct Claims {
    /// When they count as delivered, in milliseconds since 1970.
    delivered: i64,
    /// The number of deliveries after the claim.
    deliveries: Option<u64>,
    /// Claims entries that are not pending, too.
    force: bool,
    only_ids: bool,
    /// The group has delivered up to there, at least.
    last: EntryId,
}

impl Claims {
    fn of(line: &Line, at: usize, now: i64) -> Result<Claims, Failure> {
        let mut claims = Claims {
            delivered: now,
            deliveries: None,
            force: false,
            only_ids: false,
            last: EntryId::MIN,
        };
        let mut words = Words::from(line, at);
        while words.left() > 0 {
            let has_more = words.left() > 1;
            if words.take("force") {
                claims.force = true;
            } else if words.take("justid") {
                claims.only_ids = true;
            } else if has_more && words.take("idle") {
                let wrong = "ERR Invalid IDLE option argument for XCLAIM";
                claims.delivered = now.saturating_sub(number(words.wanted()?, wrong)?);
            } else if has_more && words.take("time") {
                let wrong = "ERR Invalid TIME option argument for XCLAIM";
                claims.delivered = number(words.wanted()?, wrong)?;
            } else if has_more && words.take("retrycount") {
                let wrong = "ERR Invalid RETRYCOUNT option argument for XCLAIM";
                claims.deliveries = u64::try_from(number(words.wanted()?, wrong)?).ok();
            } else if has_more && words.take("lastid") {
                claims.last = ids::strict(words.wanted()?)?;
            } else {
                let word = String::from_utf8_lossy(words.wanted()?);
                return Err(Failure::Said(format!(
                    "ERR Unrecognized XCLAIM option '{word}'"
                )));
            }
        }
        // A clock that is wrong is no reason to fail.
        if !(0..=now).contains(&claims.delivered) {
            claims.delivered = now;
        }
        Ok(claims)
    }
}

/// True if an entry was delivered less than `idle` milliseconds ago.
fn is_young(pending: &Pending, idle: i64, now: i64) -> bool {
    idle > 0 && now.saturating_sub(pending.delivered) < idle
}

pub(super) fn xclaim(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let (key, name, consumer) = (line.part(1), line.part(2), line.part(3));
    let found = group_of(data, key, name)?;
    let (stream, mut group) = found.ok_or_else(|| no_group(key, name, ""))?;
    let wrong = "ERR Invalid min-idle-time argument for XCLAIM";
    let idle = number(line.part(4), wrong)?.max(0);
    let entries: Vec<EntryId> = line
        .parts(5)
        .map_while(|text| ids::strict(text).ok())
        .collect();
    let claims = Claims::of(line, 5 + entries.len(), data.now)?;
    crate::data::check_key(consumer)?;
    if claims.last > group.last {
        group.last = claims.last;
        data.keep_group(&group)?;
    }
    let (mut claimed, mut is_seen) = (Vec::new(), false);
    for entry in entries {
        let pending = data.pending(group.number, entry)?;
        if !data.has_entry(stream.id(), entry)? {
            // It was deleted: it cannot be acknowledged.
            if let Some(pending) = pending {
                data.delete_pending(&pending)?;
            }
            continue;
        }
        let mut pending = match pending {
            Some(pending) if is_young(&pending, idle, data.now) => continue,
            Some(pending) => pending,
            None if claims.force => Pending::new(entry, consumer, 0),
            None => continue,
        };
        if !is_seen {
            see(data, key, &group, consumer)?;
            is_seen = true;
        }
        pending.consumer = consumer.to_vec();
        pending.delivered = claims.delivered;
        pending.deliveries = match claims.deliveries {
            Some(deliveries) => deliveries,
            None => pending.deliveries + u64::from(!claims.only_ids),
        };
        data.keep_pending(group.number, &pending)?;
        if claims.only_ids {
            data.room.take(0);
            data.room.check()?;
            claimed.push(id_reply(entry));
        } else {
            claimed.extend(between(data, &stream, (entry, entry), 1, false)?);
        }
    }
    Ok(Reply::Array(claimed))
}

/// The most entries that are looked at for each that may be claimed.
const ATTEMPTS: i64 = 10;
/// A count of entries that is too large.
const COUNT_MAX: i64 = i64::MAX / 16;

pub(super) fn xautoclaim(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let (key, name, consumer) = (line.part(1), line.part(2), line.part(3));
    let wrong = "ERR Invalid min-idle-time argument for XAUTOCLAIM";
    let idle = number(line.part(4), wrong)?.max(0);
    let start = ids::start(line.part(5))?;
    let (mut count, mut only_ids) = (100, false);
    let mut words = Words::from(line, 6);
    while words.left() > 0 {
        if words.left() > 1 && words.take("count") {
            let given = parse_integer(words.wanted()?);
            let given = given.filter(|given| (1..=COUNT_MAX).contains(given));
            count = given.ok_or(Failure::Told("ERR COUNT must be > 0"))?;
        } else if words.take("justid") {
            only_ids = true;
        } else {
            return Err(Failure::Syntax);
        }
    }
    let found = group_of(data, key, name)?;
    let (stream, group) = found.ok_or_else(|| no_group(key, name, ""))?;
    crate::data::check_key(consumer)?;
    let (mut claimed, mut deleted, mut is_seen) = (Vec::new(), Vec::new(), false);
    let mut attempts = count.saturating_mul(ATTEMPTS);
    let (now, room) = (data.now, data.room);
    let mut from = Some(start);
    let next = loop {
        // One after the other, as each claim changes the index.
        let Some(mut pending) = first_pending(data, group.number, from)? else {
            break EntryId::MIN;
        };
        if attempts == 0 || count == 0 {
            break pending.entry;
        }
        attempts -= 1;
        from = pending.entry.next();
        if !data.has_entry(stream.id(), pending.entry)? {
            data.delete_pending(&pending)?;
            room.take(0);
            room.check()?;
            deleted.push(id_reply(pending.entry));
            count -= 1;
            continue;
        }
        if is_young(&pending, idle, now) {
            continue;
        }
        if !is_seen {
            see(data, key, &group, consumer)?;
            is_seen = true;
        }
        let entry = pending.entry;
        pending.consumer = consumer.to_vec();
        pending.delivered = now;
        pending.deliveries += u64::from(!only_ids);
        data.keep_pending(group.number, &pending)?;
        if only_ids {
            room.take(0);
            room.check()?;
            claimed.push(id_reply(entry));
        } else {
            claimed.extend(between(data, &stream, (entry, entry), 1, false)?);
        }
        count -= 1;
    };
    Ok(Reply::Array(vec![
        id_reply(next),
        Reply::Array(claimed),
        Reply::Array(deleted),
    ]))
}

/// The first pending entry of a group from an id on.
fn first_pending(
    data: &mut Live<'_, '_>,
    group: u64,
    from: Option<EntryId>,
) -> Result<Option<Pending>, Failure> {
    let mut first = None;
    if let Some(from) = from {
        data.walk_pending(group, None, (from, EntryId::MAX), false, &mut |pending| {
            first = Some(pending);
            false
        })?;
    }
    Ok(first)
}
