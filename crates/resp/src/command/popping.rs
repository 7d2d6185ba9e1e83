//! Elements taken from the first of several keys that has any, and commands that wait for one.
//!
//! A command that waits is run like any other. If it finds nothing its client waits, and it is run again in the
//! transaction that fills one of its keys: `blocking` says how. In a transaction of several commands, and in a script, it
//! answers at once that there is nothing.

use super::line::Line;
use super::waiting::{counted, time_limit_of};
use super::words::{Words, is};
use super::{
    BLOCKING, COUNTED, Command, FAST, MORE, NO_KEYS, NO_SCRIPT, TWO_KEYS, WRITE, lists, on_data,
    sorted_sets,
};
use crate::data::{Kind, Live};
use crate::failure::Failure;
use crate::number::integer;
use crate::reply::Reply;

/// All parts are keys but the last.
const KEYS_AND_TIME: (i32, i32, i32) = (1, -2, 1);

pub(super) const COMMANDS: &[Command] = &[
    on_data(
        "blpop",
        -3,
        WRITE | NO_SCRIPT | BLOCKING,
        KEYS_AND_TIME,
        blpop,
        "Takes the first element of a list, or waits for one",
    ),
    on_data(
        "brpop",
        -3,
        WRITE | NO_SCRIPT | BLOCKING,
        KEYS_AND_TIME,
        brpop,
        "Takes the last element of a list, or waits for one",
    ),
    on_data(
        "blmove",
        6,
        WRITE | MORE | NO_SCRIPT | BLOCKING,
        TWO_KEYS,
        blmove,
        "Moves an element from a list to another, or waits for one",
    ),
    on_data(
        "brpoplpush",
        4,
        WRITE | MORE | NO_SCRIPT | BLOCKING,
        TWO_KEYS,
        brpoplpush,
        "Moves the last element of a list before another, or waits for one",
    ),
    on_data(
        "lmpop",
        -4,
        WRITE | COUNTED,
        NO_KEYS,
        lmpop,
        "Takes elements from the first list that has any",
    ),
    on_data(
        "blmpop",
        -5,
        WRITE | BLOCKING | COUNTED,
        NO_KEYS,
        blmpop,
        "Takes elements from the first list that has any, or waits for them",
    ),
];

pub(super) const SORTED: &[Command] = &[
    on_data(
        "bzpopmin",
        -3,
        WRITE | FAST | NO_SCRIPT | BLOCKING,
        KEYS_AND_TIME,
        bzpopmin,
        "Takes the member with the lowest score, or waits for one",
    ),
    on_data(
        "bzpopmax",
        -3,
        WRITE | FAST | NO_SCRIPT | BLOCKING,
        KEYS_AND_TIME,
        bzpopmax,
        "Takes the member with the highest score, or waits for one",
    ),
    on_data(
        "zmpop",
        -4,
        WRITE | COUNTED,
        NO_KEYS,
        zmpop,
        "Takes members from the first sorted set that has any",
    ),
    on_data(
        "bzmpop",
        -5,
        WRITE | BLOCKING | COUNTED,
        NO_KEYS,
        bzmpop,
        "Takes members from the first sorted set that has any, or waits for them",
    ),
];

fn pop_first(data: &mut Live<'_, '_>, line: &Line, front: bool) -> Result<Reply, Failure> {
    time_limit_of(line, line.len() - 1)?;
    for key in line.parts(1).take(line.len() - 2) {
        if let Some(list) = data.entry_to_change_of(key, Kind::List)?
            && let Some(value) = lists::take(data, key, &list, 1, front)?.pop()
        {
            let items = vec![Reply::Bulk(key.to_vec()), Reply::Bulk(value)];
            return Ok(Reply::Array(items));
        }
    }
    Ok(Reply::NullArray)
}

fn blmove(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    // Words before times.
    lists::ends(line)?;
    time_limit_of(line, 5)?;
    lists::lmove(data, line)
}

fn brpoplpush(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    time_limit_of(line, 3)?;
    lists::rpoplpush(data, line)
}

fn blpop(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    pop_first(data, line, true)
}

fn brpop(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    pop_first(data, line, false)
}

/// Which elements of several keys are taken.
struct Several {
    keys: usize,
    is_first: bool,
    count: u64,
}

/// Reads the words from the number of keys on.
fn several(line: &Line, place: usize, ends: [&str; 2]) -> Result<Several, Failure> {
    let keys = counted(line, place)?;
    let mut words = Words::from(line, place + 1 + keys);
    let end = words.wanted()?;
    let is_first = match end {
        end if is(end, ends[0]) => true,
        end if is(end, ends[1]) => false,
        _ => return Err(Failure::Syntax),
    };
    let mut count = None;
    while words.left() > 0 {
        if count.is_some() || !words.take("count") {
            return Err(Failure::Syntax);
        }
        let given = integer(words.wanted()?).ok().filter(|given| *given > 0);
        let given = given.ok_or(Failure::Told("ERR count should be greater than 0"))?;
        count = Some(given as u64);
    }
    Ok(Several {
        keys,
        is_first,
        count: count.unwrap_or(1),
    })
}

fn take_elements(data: &mut Live<'_, '_>, line: &Line, place: usize) -> Result<Reply, Failure> {
    let several = several(line, place, ["left", "right"])?;
    for key in line.parts(place + 1).take(several.keys) {
        if let Some(list) = data.entry_to_change_of(key, Kind::List)? {
            let taken = lists::take(data, key, &list, several.count, several.is_first)?;
            let items = vec![Reply::Bulk(key.to_vec()), Reply::bulks(taken)];
            return Ok(Reply::Array(items));
        }
    }
    Ok(Reply::NullArray)
}

fn lmpop(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    take_elements(data, line, 1)
}

fn blmpop(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    time_limit_of(line, 1)?;
    take_elements(data, line, 2)
}

fn pop_scored(data: &mut Live<'_, '_>, line: &Line, highest: bool) -> Result<Reply, Failure> {
    time_limit_of(line, line.len() - 1)?;
    for key in line.parts(1).take(line.len() - 2) {
        if let Some(entry) = data.entry_to_change_of(key, Kind::SortedSet)?
            && let Some((member, score)) = sorted_sets::take(data, key, &entry, 1, highest)?.pop()
        {
            let items = [
                Reply::Bulk(key.to_vec()),
                Reply::Bulk(member),
                Reply::Double(score),
            ];
            return Ok(Reply::Array(items.into()));
        }
    }
    Ok(Reply::NullArray)
}

fn bzpopmin(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    pop_scored(data, line, false)
}

fn bzpopmax(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    pop_scored(data, line, true)
}

fn take_members(data: &mut Live<'_, '_>, line: &Line, place: usize) -> Result<Reply, Failure> {
    let several = several(line, place, ["min", "max"])?;
    for key in line.parts(place + 1).take(several.keys) {
        if let Some(entry) = data.entry_to_change_of(key, Kind::SortedSet)? {
            let taken = sorted_sets::take(data, key, &entry, several.count, !several.is_first)?;
            let pair =
                |(member, score)| Reply::Array(vec![Reply::Bulk(member), Reply::Double(score)]);
            let pairs = Reply::Array(taken.into_iter().map(pair).collect());
            return Ok(Reply::Array(vec![Reply::Bulk(key.to_vec()), pairs]));
        }
    }
    Ok(Reply::NullArray)
}

fn zmpop(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    take_members(data, line, 1)
}

fn bzmpop(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    time_limit_of(line, 1)?;
    take_members(data, line, 2)
}
