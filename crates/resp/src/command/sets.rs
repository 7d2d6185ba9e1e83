//! Sets: members without an order.

use super::line::Line;
use super::pairs::random_elements;
use super::words::{count as count_of, random_count};
use super::{COUNTED, Command, ELEMENT, FAST, MORE, ONE_KEY, TWO_KEYS, WRITE, on_data, reads};
use crate::data::{Data, Kind, Live, State, check_key};
use crate::event_classes::{SET, SORTED_SET};
use crate::failure::Failure;
use crate::reply::Reply;

pub(super) const COMMANDS: &[Command] = &[
    on_data(
        "sadd",
        -3,
        WRITE | MORE | FAST | ELEMENT,
        ONE_KEY,
        sadd,
        "Adds members to a set",
    ),
    on_data(
        "srem",
        -3,
        WRITE | FAST | ELEMENT,
        ONE_KEY,
        srem,
        "Deletes members of a set",
    ),
    reads!(
        "smembers",
        2,
        0,
        ONE_KEY,
        smembers,
        "Returns all members of a set"
    ),
    reads!(
        "sismember",
        3,
        FAST | ELEMENT,
        ONE_KEY,
        sismember,
        "Says whether a member is there"
    ),
    reads!(
        "smismember",
        -3,
        FAST | ELEMENT,
        ONE_KEY,
        smismember,
        "Says which members are there"
    ),
    reads!(
        "scard",
        2,
        FAST,
        ONE_KEY,
        scard,
        "Counts the members of a set"
    ),
    on_data(
        "spop",
        -2,
        WRITE | FAST | COUNTED,
        ONE_KEY,
        spop,
        "Takes some members of a set",
    ),
    reads!(
        "srandmember",
        -2,
        0,
        ONE_KEY,
        srandmember,
        "Returns some members of a set"
    ),
    on_data(
        "smove",
        4,
        WRITE | FAST,
        TWO_KEYS,
        smove,
        "Takes a member of a set and puts it into another",
    ),
];

/// Adds members to the set at a key. Returns how many are new.
pub(super) fn add<'v>(
    data: &mut Live<'_, '_>,
    key: &[u8],
    members: impl Iterator<Item = &'v [u8]>,
) -> Result<u64, Failure> {
    let before = data.entry_to_change_of(key, Kind::Set)?;
    let mut set = match before {
        Some(set) => set,
        None => data.create(key, Kind::Set)?,
    };
    let length = set.length;
    for member in members {
        set.length += u64::from(data.add_member(set.id, member)?);
    }
    data.resize(key, before.as_ref(), &set)?;
    if set.length > length {
        data.event(SET, "sadd", key)?;
    }
    Ok(set.length - length)
}

/// Deletes members of the set, or sorted set, at a key. Returns how many there were.
pub(super) fn delete<'v>(
    data: &mut Live<'_, '_>,
    key: &[u8],
    kind: Kind,
    event: &'static str,
    members: impl Iterator<Item = &'v [u8]>,
) -> Result<u64, Failure> {
    let Some(before) = data.entry_to_change_of(key, kind)? else {
        return Ok(0);
    };
    let mut set = before;
    for member in members {
        set.length -= u64::from(data.delete_element(kind, set.id, member)?);
    }
    data.resize(key, Some(&before), &set)?;
    if set.length < before.length {
        let class = if kind == Kind::Set { SET } else { SORTED_SET };
        data.changed(class, event, key, set.length)?;
    }
    Ok(before.length - set.length)
}

fn sadd(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    line.parts(2).try_for_each(check_key)?;
    add(data, line.part(1), line.parts(2)).map(Reply::count)
}

fn srem(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    line.parts(2).try_for_each(check_key)?;
    delete(data, line.part(1), Kind::Set, "srem", line.parts(2)).map(Reply::count)
}

fn smembers<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let members = match data.entry_of(line.part(1), Kind::Set)? {
        Some(set) => data.names(&set)?,
        None => Vec::new(),
    };
    Ok(Reply::Set(members.into_iter().map(Reply::Bulk).collect()))
}

fn sismember<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let there = match data.entry_of(line.part(1), Kind::Set)? {
        Some(set) => data.has(Kind::Set, set.id, line.part(2))?,
        None => false,
    };
    Ok(Reply::flag(there))
}

fn smismember<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let set = data.entry_of(line.part(1), Kind::Set)?;
    let mut there = Vec::with_capacity(line.len() - 2);
    for member in line.parts(2) {
        there.push(Reply::flag(match &set {
            Some(set) => data.has(Kind::Set, set.id, member)?,
            None => false,
        }));
    }
    Ok(Reply::Array(there))
}

fn scard<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let set = data.entry_of(line.part(1), Kind::Set)?;
    Ok(Reply::count(set.map_or(0, |set| set.length)))
}

fn spop(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let count = match line.len() {
        2 => None,
        3 => Some(count_of(line.part(2))? as i64),
        _ => return Err(Failure::Syntax),
    };
    let Some(set) = data.entry_to_change_of(line.part(1), Kind::Set)? else {
        return Ok(if count.is_some() {
            Reply::Set(Vec::new())
        } else {
            Reply::Null
        });
    };
    let mut chosen = match count {
        Some(count) => random_elements(data, &set, count)?,
        None => data.any_name(&set)?.into_iter().collect(),
    };
    delete(
        data,
        line.part(1),
        Kind::Set,
        "spop",
        chosen.iter().map(Vec::as_slice),
    )?;
    Ok(match count {
        Some(_) => Reply::Set(chosen.into_iter().map(Reply::Bulk).collect()),
        None => Reply::optional(chosen.pop()),
    })
}

fn srandmember<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let count = match line.len() {
        2 => None,
        3 => Some(random_count(line.part(2))?),
        _ => return Err(Failure::Syntax),
    };
    let set = data.entry_of(line.part(1), Kind::Set)?;
    match (set, count) {
        (None, None) => Ok(Reply::Null),
        (None, Some(_)) => Ok(Reply::Array(Vec::new())),
        (Some(set), None) => Ok(Reply::optional(data.any_name(&set)?)),
        (Some(set), Some(count)) => Ok(Reply::bulks(random_elements(data, &set, count)?)),
    }
}

fn smove(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let (from, to, member) = (line.part(1), line.part(2), line.part(3));
    check_key(to)?;
    check_key(member)?;
    // If the source is missing, the destination does not matter.
    let Some(source) = data.entry_to_change(from)? else {
        return Ok(Reply::Int(0));
    };
    let target = data.entry_to_change(to)?;
    if [Some(source), target]
        .iter()
        .flatten()
        .any(|entry| entry.kind != Kind::Set)
    {
        return Err(Failure::WrongType);
    }
    if !data.has(Kind::Set, source.id, member)? {
        return Ok(Reply::Int(0));
    }
    if from != to {
        delete(data, from, Kind::Set, "srem", std::iter::once(member))?;
        add(data, to, std::iter::once(member))?;
    }
    Ok(Reply::Int(1))
}
