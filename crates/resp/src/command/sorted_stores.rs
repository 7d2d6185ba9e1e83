//! Unions, intersections and differences of sorted sets and sets; ranges that are stored.

use super::line::Line;
use super::range::{Scored, select};
use super::sorted_reads::{Grammar, Selection, answer};
use super::words::{Words, limit};
use super::{Command, MORE, NO_KEYS, ONE_KEY, TWO_KEYS, WRITE, on_data, reads};
use crate::data::{Data, Elements, Entry, Kind, Live, State, check_key};
use crate::event_classes::{GENERIC, SORTED_SET};
use crate::failure::Failure;
use crate::number::integer;
use crate::reply::Reply;
use std::collections::BTreeMap;

pub(super) const COMMANDS: &[Command] = &[
    reads!(
        "zunion",
        -3,
        0,
        NO_KEYS,
        zunion,
        "Returns the members that any sorted set has"
    ),
    reads!(
        "zinter",
        -3,
        0,
        NO_KEYS,
        zinter,
        "Returns the members that all sorted sets have"
    ),
    reads!(
        "zdiff",
        -3,
        0,
        NO_KEYS,
        zdiff,
        "Returns the members of a sorted set that no other has"
    ),
    reads!(
        "zintercard",
        -3,
        0,
        NO_KEYS,
        zintercard,
        "Counts the members that all sorted sets have"
    ),
    on_data(
        "zunionstore",
        -4,
        WRITE | MORE,
        ONE_KEY,
        zunionstore,
        "Stores the members that any sorted set has",
    ),
    on_data(
        "zinterstore",
        -4,
        WRITE | MORE,
        ONE_KEY,
        zinterstore,
        "Stores the members that all sorted sets have",
    ),
    on_data(
        "zdiffstore",
        -4,
        WRITE | MORE,
        ONE_KEY,
        zdiffstore,
        "Stores the members of a sorted set that no other has",
    ),
    on_data(
        "zrangestore",
        -5,
        WRITE | MORE,
        TWO_KEYS,
        zrangestore,
        "Stores the members in a range",
    ),
];

/// The operations on several sorted sets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Union,
    Intersection,
    Difference,
}

/// The combinations of one member's scores.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Aggregate {
    Sum,
    Least,
    Greatest,
}

impl Aggregate {
    fn of(self, one: f64, other: f64) -> f64 {
        let score = match self {
            Aggregate::Sum => one + other,
            Aggregate::Least => one.min(other),
            Aggregate::Greatest => one.max(other),
        };
        // The infinities together are nothing.
        if score.is_nan() { 0.0 } else { score }
    }
}

/// The parsed words of a command.
struct Asked<'l> {
    keys: Vec<&'l [u8]>,
    weights: Vec<f64>,
    aggregate: Aggregate,
    with_scores: bool,
    most: usize,
}

/// Reads a command whose number of keys is at a part.
fn read<'l, S: State>(
    data: &mut Data<'_, S>,
    line: &'l Line,
    at: usize,
    operation: Operation,
    stores: bool,
    counts: bool,
) -> Result<Asked<'l>, Failure> {
    let name = || String::from_utf8_lossy(line.part(0)).to_ascii_lowercase();
    let count = integer(line.part(at))?;
    if count < 1 {
        return Err(Failure::Said(format!(
            "ERR at least 1 input key is needed for '{}' command",
            name()
        )));
    }
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    if count > line.len() - at - 1 {
        return Err(Failure::Syntax);
    }
    // A key of another type is met before a word that means nothing.
    for key in line.parts(at + 1).take(count) {
        source(data, key)?;
    }
    let mut words = Words::from(line, at + 1 + count);
    let mut asked = Asked {
        keys: line.parts(at + 1).take(count).collect(),
        weights: vec![1.0; count],
        aggregate: Aggregate::Sum,
        with_scores: false,
        most: usize::MAX,
    };
    let aggregates = operation != Operation::Difference && !counts;
    while words.left() > 0 {
        if aggregates && words.left() > count && words.take("weights") {
            for weight in &mut asked.weights {
                *weight = words
                    .float()
                    .map_err(|_| Failure::Told("ERR weight value is not a float"))?;
            }
        } else if aggregates && words.left() > 1 && words.take("aggregate") {
            asked.aggregate = match () {
                () if words.take("sum") => Aggregate::Sum,
                () if words.take("min") => Aggregate::Least,
                () if words.take("max") => Aggregate::Greatest,
                () => return Err(Failure::Syntax),
            };
        } else if counts && words.left() > 1 && words.take("limit") {
            asked.most = limit(words.wanted()?)?;
        } else if !stores && !counts && words.take("withscores") {
            asked.with_scores = true;
        } else {
            return Err(Failure::Syntax);
        }
    }
    Ok(asked)
}

/// A sorted set, or a set, whose members have the score 1.
fn source<S: State>(data: &mut Data<'_, S>, key: &[u8]) -> Result<Option<Entry>, Failure> {
    match data.entry(key)? {
        Some(entry) if !matches!(entry.kind, Kind::Set | Kind::SortedSet) => {
            Err(Failure::WrongType)
        }
        entry => Ok(entry),
    }
}

fn members<S: State>(
    data: &mut Data<'_, S>,
    source: &Option<Entry>,
    weight: f64,
) -> Result<Vec<Scored>, Failure> {
    let (mut all, room) = (Vec::new(), data.room);
    if let Some(entry) = source {
        data.walk(entry, None, |row| {
            let (member, score) = match entry.kind {
                Kind::SortedSet => Elements::scored(row)?,
                _ => (Elements::name(row)?, 1.0),
            };
            let score = score * weight;
            all.push((member.to_vec(), if score.is_nan() { 0.0 } else { score }));
            Ok(room.take(member.len()))
        })?;
    }
    Ok(all)
}

/// The members that an operation gives, in order of score, then of name.
fn run<S: State>(
    data: &mut Data<'_, S>,
    asked: &Asked<'_>,
    operation: Operation,
) -> Result<Vec<Scored>, Failure> {
    let mut sources = Vec::with_capacity(asked.keys.len());
    for key in &asked.keys {
        sources.push(source(data, key)?);
    }
    let mut found: BTreeMap<Vec<u8>, f64> = BTreeMap::new();
    for (number, (source, weight)) in sources.iter().zip(&asked.weights).enumerate() {
        let members = members(data, source, *weight)?;
        match operation {
            _ if number == 0 => found = members.into_iter().collect(),
            Operation::Union => {
                for (member, score) in members {
                    let entry = found.entry(member);
                    entry
                        .and_modify(|there| *there = asked.aggregate.of(*there, score))
                        .or_insert(score);
                }
            }
            Operation::Intersection => {
                let mut both = BTreeMap::new();
                for (member, score) in members {
                    if let Some(there) = found.get(&member) {
                        let score = asked.aggregate.of(*there, score);
                        both.insert(member, score);
                    }
                }
                found = both;
            }
            Operation::Difference => members.iter().for_each(|(member, _)| {
                found.remove(member);
            }),
        }
    }
    let mut found: Vec<Scored> = found.into_iter().collect();
    found.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    Ok(found)
}

fn show<S: State>(
    data: &mut Data<'_, S>,
    line: &Line,
    operation: Operation,
) -> Result<Reply, Failure> {
    let asked = read(data, line, 1, operation, false, false)?;
    let found = run(data, &asked, operation)?;
    Ok(answer(found, asked.with_scores))
}

fn zunion<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    show(data, line, Operation::Union)
}

fn zinter<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    show(data, line, Operation::Intersection)
}

fn zdiff<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    show(data, line, Operation::Difference)
}

fn zintercard<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let asked = read(data, line, 1, Operation::Intersection, false, true)?;
    let found = run(data, &asked, Operation::Intersection)?;
    Ok(Reply::count(found.len().min(asked.most)))
}

/// Replaces any value of a key by a sorted set.
pub(super) fn store_members(
    data: &mut Live<'_, '_>,
    key: &[u8],
    event: &'static str,
    members: &[Scored],
) -> Result<Reply, Failure> {
    let before = data.entry_to_change(key)?;
    let mut entry = data.create(key, Kind::SortedSet)?;
    for (member, score) in members {
        data.insert_score(entry.id, member, *score)?;
    }
    entry.length = members.len() as u64;
    data.replace(key, before.as_ref(), &entry)?;
    match (members.is_empty(), before) {
        (false, _) => data.event(SORTED_SET, event, key)?,
        (true, Some(_)) => data.event(GENERIC, "del", key)?,
        (true, None) => {}
    }
    Ok(Reply::count(members.len()))
}

fn store(data: &mut Live<'_, '_>, line: &Line, operation: Operation) -> Result<Reply, Failure> {
    check_key(line.part(1))?;
    let asked = read(data, line, 2, operation, true, false)?;
    let found = run(data, &asked, operation)?;
    let event = match operation {
        Operation::Union => "zunionstore",
        Operation::Intersection => "zinterstore",
        Operation::Difference => "zdiffstore",
    };
    store_members(data, line.part(1), event, &found)
}

fn zunionstore(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    store(data, line, Operation::Union)
}

fn zinterstore(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    store(data, line, Operation::Intersection)
}

fn zdiffstore(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    store(data, line, Operation::Difference)
}

fn zrangestore(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    check_key(line.part(1))?;
    let Selection {
        range,
        reverse,
        limit,
        ..
    } = Grammar::STORED.read(line, 3)?;
    let members = match data.entry_of(line.part(2), Kind::SortedSet)? {
        Some(entry) => select(data, &entry, &range, reverse, limit)?,
        None => Vec::new(),
    };
    store_members(data, line.part(1), "zrangestore", &members)
}
