//! Intersections, unions and differences of sets.

use super::line::Line;
use super::words::{Words, is, limit};
use super::{ALL_KEYS, Command, MORE, NO_KEYS, WRITE, on_data, reads};
use crate::data::{Data, Elements, Entry, Kind, Live, State};
use crate::event_classes::{GENERIC, SET};
use crate::failure::Failure;
use crate::number::integer;
use crate::reply::Reply;
use sardonyx::Transaction;
use std::collections::BTreeSet;

pub(super) const COMMANDS: &[Command] = &[
    reads!(
        "sinter",
        -2,
        0,
        ALL_KEYS,
        sinter,
        "Returns the members that all sets have"
    ),
    reads!(
        "sunion",
        -2,
        0,
        ALL_KEYS,
        sunion,
        "Returns the members that any set has"
    ),
    reads!(
        "sdiff",
        -2,
        0,
        ALL_KEYS,
        sdiff,
        "Returns the members of a set that no other has"
    ),
    on_data(
        "sinterstore",
        -3,
        WRITE | MORE,
        ALL_KEYS,
        sinterstore,
        "Stores the members that all sets have",
    ),
    on_data(
        "sunionstore",
        -3,
        WRITE | MORE,
        ALL_KEYS,
        sunionstore,
        "Stores the members that any set has",
    ),
    on_data(
        "sdiffstore",
        -3,
        WRITE | MORE,
        ALL_KEYS,
        sdiffstore,
        "Stores the members of a set that no other has",
    ),
    reads!(
        "sintercard",
        -3,
        0,
        NO_KEYS,
        sintercard,
        "Counts the members that all sets have"
    ),
];

/// The sets at keys; `None` for those that are not there.
fn sets<'k, S: State>(
    data: &mut Data<'_, S>,
    keys: impl Iterator<Item = &'k [u8]>,
) -> Result<Vec<Option<Entry>>, Failure> {
    keys.map(|key| data.entry_of(key, Kind::Set)).collect()
}

/// The members that all sets have, in order, up to a limit.
fn intersection<S: State>(
    data: &mut Data<'_, S>,
    sets: &[Option<Entry>],
    most: usize,
) -> Result<Vec<Vec<u8>>, Failure> {
    let Some(mut sets) = sets.iter().copied().collect::<Option<Vec<Entry>>>() else {
        return Ok(Vec::new());
    };
    // The smallest is walked, and looked up in the others.
    sets.sort_by_key(|set| set.length);
    let Some((smallest, others)) = sets.split_first() else {
        return Ok(Vec::new());
    };
    let mut common = Vec::new();
    for member in data.names(smallest)? {
        let mut everywhere = true;
        for other in others {
            if !data.has(Kind::Set, other.id, &member)? {
                everywhere = false;
                break;
            }
        }
        if everywhere {
            common.push(member);
            if common.len() == most {
                break;
            }
        }
    }
    Ok(common)
}

fn union<S: State>(
    data: &mut Data<'_, S>,
    sets: &[Option<Entry>],
) -> Result<Vec<Vec<u8>>, Failure> {
    let (mut all, room) = (BTreeSet::new(), data.room);
    for set in sets.iter().flatten() {
        data.walk(set, None, |row| {
            let member = Elements::name(row)?;
            let is_new = !all.contains(member);
            if is_new {
                all.insert(member.to_vec());
            }
            Ok(!is_new || room.take(member.len()))
        })?;
    }
    Ok(all.into_iter().collect())
}

fn difference<S: State>(
    data: &mut Data<'_, S>,
    sets: &[Option<Entry>],
) -> Result<Vec<Vec<u8>>, Failure> {
    let Some((Some(first), others)) = sets.split_first() else {
        return Ok(Vec::new());
    };
    let mut members = Vec::new();
    for member in data.names(first)? {
        let mut elsewhere = false;
        for other in others.iter().flatten() {
            elsewhere = elsewhere || data.has(Kind::Set, other.id, &member)?;
        }
        if !elsewhere {
            members.push(member);
        }
    }
    Ok(members)
}

/// An operation on sets.
type Operation<S> = fn(&mut Data<'_, S>, &[Option<Entry>]) -> Result<Vec<Vec<u8>>, Failure>;

fn answer<S: State>(
    data: &mut Data<'_, S>,
    line: &Line,
    operation: Operation<S>,
) -> Result<Reply, Failure> {
    let sets = sets(data, line.parts(1))?;
    let members = operation(data, &sets)?;
    Ok(Reply::Set(members.into_iter().map(Reply::Bulk).collect()))
}

fn store<'a>(
    data: &mut Live<'_, 'a>,
    line: &Line,
    event: &'static str,
    operation: Operation<Transaction<'a>>,
) -> Result<Reply, Failure> {
    crate::data::check_key(line.part(1))?;
    let sets = sets(data, line.parts(2))?;
    let members = operation(data, &sets)?;
    let before = data.entry_to_change(line.part(1))?;
    let mut set = data.create(line.part(1), Kind::Set)?;
    for member in &members {
        data.insert_member(set.id, member)?;
    }
    set.length = members.len() as u64;
    data.replace(line.part(1), before.as_ref(), &set)?;
    match (members.is_empty(), before) {
        (false, _) => data.event(SET, event, line.part(1))?,
        (true, Some(_)) => data.event(GENERIC, "del", line.part(1))?,
        (true, None) => {}
    }
    Ok(Reply::count(members.len()))
}

fn whole_intersection<S: State>(
    data: &mut Data<'_, S>,
    sets: &[Option<Entry>],
) -> Result<Vec<Vec<u8>>, Failure> {
    intersection(data, sets, usize::MAX)
}

fn sinter<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    answer(data, line, whole_intersection)
}

fn sunion<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    answer(data, line, union)
}

fn sdiff<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    answer(data, line, difference)
}

fn sinterstore(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    store(data, line, "sinterstore", whole_intersection)
}

fn sunionstore(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    store(data, line, "sunionstore", union)
}

fn sdiffstore(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    store(data, line, "sdiffstore", difference)
}

fn sintercard<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let count = integer(line.part(1)).ok().filter(|count| *count > 0);
    let count = count.ok_or(Failure::Told("ERR numkeys should be greater than 0"))? as usize;
    if count > line.len() - 2 {
        return Err(Failure::Told(
            "ERR Number of keys can't be greater than number of args",
        ));
    }
    let mut most = usize::MAX;
    let mut words = Words::from(line, 2 + count);
    while let Some(word) = words.next() {
        if !is(word, "limit") {
            return Err(Failure::Syntax);
        }
        most = limit(words.wanted()?)?;
    }
    let sets = sets(data, line.parts(2).take(count))?;
    Ok(Reply::count(intersection(data, &sets, most)?.len()))
}
