//! `XREAD` and `XREADGROUP`: entries behind those that a client, or a group, has.
//!
//! A client whose command says `BLOCK` waits if there are none. Its command is kept with the ids of that time in place of
//! `$`, and run again for each key that gets entries ([`super::line_for`]).

use super::entries::between;
use super::groups::see;
use super::options::Reading;
use super::{entry_reply, id_reply, ids, no_group};
use crate::command::line::Line;
use crate::data::{Data, EntryId, Group, Live, Pending, State, Stream};
use crate::failure::Failure;
use crate::reply::Reply;

/// True if a stream with this last id may have entries for a waiting command, by its key of this number.
pub(crate) fn is_behind(line: &Line, number: usize, last: EntryId) -> bool {
    match Reading::of(line) {
        Ok(reading) if number < reading.keys => {
            ids::strict(reading.at(number).1).is_ok_and(|after| after < last)
        }
        _ => false,
    }
}

/// Why a client that waits for entries for its group gets none of this key any more.
pub(crate) fn gone(
    data: &mut Live<'_, '_>,
    key: &[u8],
    line: &Line,
) -> Result<Option<Failure>, Failure> {
    let group = Reading::of(line)?
        .group
        .map_or(&b""[..], |(group, _)| group);
    let stream = match data.stream(key) {
        Err(Failure::WrongType) => None,
        stream => stream?,
    };
    let Some(stream) = stream else {
        return Ok(Some(Failure::Told(
            "UNBLOCKED the stream key no longer exists",
        )));
    };
    Ok(match data.group(stream.id(), group)? {
        Some(_) => None,
        None => Some(Failure::Told(
            "NOGROUP the consumer group this client was blocked on no longer exists",
        )),
    })
}

pub(super) fn xread<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let reading = Reading::of(line)?;
    let mut after = Vec::with_capacity(reading.keys);
    for (key, id) in reading.each() {
        let stream = data.stream(key)?;
        let id = match id {
            b"$" => stream.map_or(EntryId::MIN, |stream| stream.last),
            b">" => {
                return Err(Failure::Told(
                    "ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option.",
                ));
            }
            id => ids::strict(id)?,
        };
        after.push((stream, id));
    }
    let mut found = Vec::new();
    for ((key, _), (stream, after)) in reading.each().zip(&after) {
        if let (Some(stream), Some(from)) = (stream, after.next()) {
            let range = (from, EntryId::MAX);
            let entries = between(data, stream, range, reading.count, false)?;
            if !entries.is_empty() {
                found.push((Reply::Bulk(key.to_vec()), Reply::Array(entries)));
            }
        }
    }
    if !found.is_empty() {
        return Ok(Reply::Named(found));
    }
    if reading.block.is_some() {
        let ids = after.iter().map(|(_, id)| id.to_string().into_bytes());
        data.effects.listed().waits = Some(reading.waiting(&ids.collect::<Vec<_>>()));
    }
    Ok(Reply::NullArray)
}

/// The entries that a consumer requests of a stream.
#[derive(Clone, Copy, Debug)]
enum Asked {
    /// Entries that the group has not delivered.
    New,
    /// Entries that are pending at the consumer, behind an id.
    Pending(EntryId),
}

pub(super) fn xreadgroup(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let reading = Reading::of(line)?;
    let (group, consumer) = reading.group.unwrap_or_default();
    crate::data::check_key(consumer)?;
    let mut asked = Vec::with_capacity(reading.keys);
    for (key, id) in reading.each() {
        let missing = || no_group(key, group, " in XREADGROUP with GROUP option");
        let stream = data.stream_to_change(key)?.ok_or_else(missing)?;
        data.group(stream.id(), group)?.ok_or_else(missing)?;
        asked.push(match id {
            b"$" => {
                return Err(Failure::Told(
                    "ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the history of this \
                     consumer by specifying a proper ID, or use the > ID to get new messages. The $ ID would just return \
                     an empty result set.",
                ));
            }
            b">" => Asked::New,
            id => match ids::strict(id)? {
                // As Redis has the two in one number.
                EntryId::MAX => Asked::New,
                id => Asked::Pending(id),
            },
        });
    }
    let mut found = Vec::new();
    for ((key, _), asked) in reading.each().zip(asked) {
        // A key may be named twice.
        let Some(stream) = data.stream(key)? else {
            continue;
        };
        let Some(mut own) = data.group(stream.id(), group)? else {
            continue;
        };
        let entries = match asked {
            Asked::Pending(after) => {
                see(data, key, &own, consumer)?;
                pending(data, &stream, &own, consumer, after, reading.count)?
            }
            Asked::New => {
                let new = deliver(data, (key, &stream), &mut own, consumer, &reading)?;
                match new.is_empty() {
                    true => continue,
                    false => new,
                }
            }
        };
        found.push((Reply::Bulk(key.to_vec()), Reply::Array(entries)));
    }
    if !found.is_empty() {
        return Ok(Reply::Named(found));
    }
    if reading.block.is_some() {
        let ids = vec![b">".to_vec(); reading.keys];
        data.effects.listed().waits = Some(reading.waiting(&ids));
    }
    Ok(Reply::NullArray)
}

/// Delivers entries to a consumer that the group has not delivered to any.
fn deliver(
    data: &mut Live<'_, '_>,
    (key, stream): (&[u8], &Stream),
    group: &mut Group,
    consumer: &[u8],
    reading: &Reading<'_>,
) -> Result<Vec<Reply>, Failure> {
    let Some(from) = group.last.next() else {
        return Ok(Vec::new());
    };
    let (mut ids, mut entries, room) = (Vec::new(), Vec::new(), data.room);
    let range = (from, EntryId::MAX);
    data.walk_entries(stream.id(), range, false, &mut |id, fields| {
        let entry = entry_reply(room, id, fields);
        let has_room = entry.is_some();
        entries.extend(entry);
        ids.push(id);
        has_room && ids.len() as u64 != reading.count
    })?;
    room.check()?;
    if ids.is_empty() {
        return Ok(entries);
    }
    see(data, key, group, consumer)?;
    let first = data.first_entry(stream)?;
    for id in ids {
        group.read = match group.read {
            Some(read) if !has_deleted(stream, first, id) => Some(read.saturating_add(1)),
            _ if stream.added > 0 => entries_up_to(stream, first, id),
            read => read,
        };
        group.last = id;
        if !reading.no_ack {
            let new = || Pending::new(id, consumer, 0);
            let mut pending = data.pending(group.number, id)?.unwrap_or_else(new);
            pending.consumer = consumer.to_vec();
            pending.delivered = data.now;
            pending.deliveries = 1;
            data.keep_pending(group.number, &pending)?;
        }
    }
    data.keep_group(group)?;
    Ok(entries)
}

/// Delivers entries once more that are pending at a consumer. Of those that are there no more only the id is known.
fn pending(
    data: &mut Live<'_, '_>,
    stream: &Stream,
    group: &Group,
    consumer: &[u8],
    after: EntryId,
    count: u64,
) -> Result<Vec<Reply>, Failure> {
    let Some(from) = after.next() else {
        return Ok(Vec::new());
    };
    let (mut found, room) = (Vec::new(), data.room);
    let range = (from, EntryId::MAX);
    data.walk_pending(group.number, Some(consumer), range, false, &mut |pending| {
        found.push(pending);
        room.take(consumer.len()) && found.len() as u64 != count
    })?;
    let mut entries = Vec::with_capacity(found.len());
    for mut pending in found {
        let id = pending.entry;
        let entry = between(data, stream, (id, id), 1, false)?.pop();
        if entry.is_some() {
            pending.delivered = data.now;
            pending.deliveries += 1;
            data.keep_pending(group.number, &pending)?;
        }
        let gone = || Reply::Array(vec![id_reply(id), Reply::NullArray]);
        entries.push(entry.unwrap_or_else(gone));
    }
    Ok(entries)
}

/// True if an entry at or behind both `from` and the first existing entry was deleted by its id.
pub(super) fn has_deleted(stream: &Stream, first: EntryId, from: EntryId) -> bool {
    let has_any = stream.length() > 0 && stream.deleted != EntryId::MIN;
    has_any && first <= stream.deleted && from <= stream.deleted
}

/// The number of entries added up to an id, as far as it is known.
pub(super) fn entries_up_to(stream: &Stream, first: EntryId, id: EntryId) -> Option<i64> {
    // A client may have set any number.
    let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let (added, length) = (whole(stream.added), whole(stream.length()));
    let is_whole = stream.deleted == EntryId::MIN || stream.deleted < first;
    match id.cmp(&stream.last) {
        _ if added == 0 => Some(0),
        std::cmp::Ordering::Equal => Some(added),
        std::cmp::Ordering::Less if length == 0 => Some(added),
        std::cmp::Ordering::Less if is_whole && id < first => Some(added.saturating_sub(length)),
        std::cmp::Ordering::Less if is_whole && id == first => {
            Some(added.saturating_sub(length).saturating_add(1))
        }
        _ => None,
    }
}
