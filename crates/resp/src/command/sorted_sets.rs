//! Sorted sets: members with scores, changed.

use super::line::Line;
use super::pairs::random_elements;
use super::range::{By, Limit, Range, Scored, select};
use super::sets::delete;
use super::words::{Words, check_random_pairs, count as count_of, random_count};
use super::{
    COUNTED, Command, ELEMENT, ELEMENT_BEHIND, FAST, MORE, ONE_KEY, WRITE, on_data, reads,
};
use crate::data::{Data, Entry, Kind, Live, State, check_key};
use crate::event_classes::SORTED_SET;
use crate::failure::Failure;
use crate::number::float;
use crate::reply::Reply;

pub(super) const COMMANDS: &[Command] = &[
    on_data(
        "zadd",
        -4,
        WRITE | MORE | FAST | ELEMENT_BEHIND,
        ONE_KEY,
        zadd,
        "Adds members to a sorted set, or changes their scores",
    ),
    on_data(
        "zincrby",
        4,
        WRITE | MORE | FAST | ELEMENT_BEHIND,
        ONE_KEY,
        zincrby,
        "Adds to the score of a member",
    ),
    on_data(
        "zrem",
        -3,
        WRITE | FAST | ELEMENT,
        ONE_KEY,
        zrem,
        "Deletes members of a sorted set",
    ),
    on_data(
        "zremrangebyrank",
        4,
        WRITE,
        ONE_KEY,
        zremrangebyrank,
        "Deletes members by rank",
    ),
    on_data(
        "zremrangebyscore",
        4,
        WRITE,
        ONE_KEY,
        zremrangebyscore,
        "Deletes members by score",
    ),
    on_data(
        "zremrangebylex",
        4,
        WRITE,
        ONE_KEY,
        zremrangebylex,
        "Deletes members by name",
    ),
    on_data(
        "zpopmin",
        -2,
        WRITE | FAST | COUNTED,
        ONE_KEY,
        zpopmin,
        "Takes the members with the lowest scores",
    ),
    on_data(
        "zpopmax",
        -2,
        WRITE | FAST | COUNTED,
        ONE_KEY,
        zpopmax,
        "Takes the members with the highest scores",
    ),
    reads!(
        "zrandmember",
        -2,
        0,
        ONE_KEY,
        zrandmember,
        "Returns some members of a sorted set"
    ),
];

/// When `ZADD` changes a member.
#[derive(Clone, Copy, Default, Debug)]
struct Conditions {
    only_new: bool,
    only_there: bool,
    only_greater: bool,
    only_less: bool,
    adds: bool,
}

/// The outcome for a member.
enum Became {
    New(f64),
    Changed(f64),
    Same(f64),
    /// The conditions were not met.
    Left,
}

/// Sets or raises a member's score.
fn put(
    data: &mut Live<'_, '_>,
    id: u64,
    member: &[u8],
    score: f64,
    when: Conditions,
) -> Result<Became, Failure> {
    let there = match when.only_there {
        true => data.score_at(id, member)?,
        false => data.score_or_insert(id, member, score)?,
    };
    let Some((before, at)) = there else {
        return Ok(match when.only_there {
            true => Became::Left,
            false => Became::New(score),
        });
    };
    if when.only_new {
        return Ok(Became::Left);
    }
    let score = if when.adds { before + score } else { score };
    if score.is_nan() {
        return Err(Failure::Told("ERR resulting score is not a number (NaN)"));
    }
    if (when.only_greater && score <= before) || (when.only_less && score >= before) {
        return Ok(Became::Left);
    }
    if score == before {
        return Ok(Became::Same(score));
    }
    data.change_score(at, score)?;
    Ok(Became::Changed(score))
}

/// The sorted set at a key, to be changed, or the beginning of one.
fn open(data: &mut Live<'_, '_>, key: &[u8]) -> Result<(Option<Entry>, Entry), Failure> {
    let before = data.entry_to_change_of(key, Kind::SortedSet)?;
    let after = match before {
        Some(entry) => entry,
        None => data.create(key, Kind::SortedSet)?,
    };
    Ok((before, after))
}

pub(super) fn zadd(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let (mut when, mut counts_changed) = (Conditions::default(), false);
    let mut words = Words::from(line, 2);
    loop {
        match () {
            () if words.take("nx") => when.only_new = true,
            () if words.take("xx") => when.only_there = true,
            () if words.take("gt") => when.only_greater = true,
            () if words.take("lt") => when.only_less = true,
            () if words.take("ch") => counts_changed = true,
            () if words.take("incr") => when.adds = true,
            () => break,
        }
    }
    if words.left() == 0 || !words.left().is_multiple_of(2) {
        return Err(Failure::Syntax);
    }
    if when.only_new && when.only_there {
        return Err(Failure::Told(
            "ERR XX and NX options at the same time are not compatible",
        ));
    }
    if (when.only_greater && (when.only_less || when.only_new)) || (when.only_less && when.only_new)
    {
        return Err(Failure::Told(
            "ERR GT, LT, and/or NX options at the same time are not compatible",
        ));
    }
    if when.adds && words.left() > 2 {
        return Err(Failure::Told(
            "ERR INCR option supports a single increment-element pair",
        ));
    }
    let places = (words.place()..line.len()).step_by(2);
    for place in places.clone() {
        float(line.part(place))?;
        check_key(line.part(place + 1))?;
    }
    let (before, mut after) = open(data, line.part(1))?;
    let (mut new, mut changed, mut last) = (0, 0, Reply::Null);
    for place in places {
        let score = float(line.part(place))?;
        let became = put(data, after.id, line.part(place + 1), score, when)?;
        new += u64::from(matches!(became, Became::New(_)));
        changed += u64::from(matches!(became, Became::Changed(_)));
        last = match became {
            Became::New(score) | Became::Changed(score) | Became::Same(score) => {
                Reply::Double(score)
            }
            Became::Left => Reply::Null,
        };
    }
    after.length += new;
    data.resize(line.part(1), before.as_ref(), &after)?;
    if new + changed > 0 {
        let event = if when.adds { "zincr" } else { "zadd" };
        data.event(SORTED_SET, event, line.part(1))?;
    }
    Ok(match when.adds {
        true => last,
        false => Reply::count(new + if counts_changed { changed } else { 0 }),
    })
}

fn zincrby(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let amount = float(line.part(2))?;
    check_key(line.part(3))?;
    let (before, mut after) = open(data, line.part(1))?;
    let when = Conditions {
        adds: true,
        ..Conditions::default()
    };
    let became = put(data, after.id, line.part(3), amount, when)?;
    after.length += u64::from(matches!(became, Became::New(_)));
    data.resize(line.part(1), before.as_ref(), &after)?;
    if matches!(became, Became::New(_) | Became::Changed(_)) {
        data.event(SORTED_SET, "zincr", line.part(1))?;
    }
    Ok(match became {
        Became::New(score) | Became::Changed(score) | Became::Same(score) => Reply::Double(score),
        Became::Left => Reply::Null,
    })
}

fn zrem(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    line.parts(2).try_for_each(check_key)?;
    delete(data, line.part(1), Kind::SortedSet, "zrem", line.parts(2)).map(Reply::count)
}

fn remove_range(
    data: &mut Live<'_, '_>,
    line: &Line,
    by: By,
    event: &'static str,
) -> Result<Reply, Failure> {
    let range = Range::between(by, line.part(2), line.part(3))?;
    let Some(entry) = data.entry_to_change_of(line.part(1), Kind::SortedSet)? else {
        return Ok(Reply::Int(0));
    };
    let gone = select(data, &entry, &range, false, Limit::NONE)?;
    remove_members(data, line.part(1), event, &gone).map(Reply::count)
}

fn remove_members(
    data: &mut Live<'_, '_>,
    key: &[u8],
    event: &'static str,
    gone: &[Scored],
) -> Result<u64, Failure> {
    delete(
        data,
        key,
        Kind::SortedSet,
        event,
        gone.iter().map(|(member, _)| &member[..]),
    )
}

fn zremrangebyrank(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    remove_range(data, line, By::Rank, "zremrangebyrank")
}

fn zremrangebyscore(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    remove_range(data, line, By::Score, "zremrangebyscore")
}

fn zremrangebylex(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    remove_range(data, line, By::Member, "zremrangebylex")
}

/// Takes the members with the lowest, or the highest, scores: so many at most, the extreme one first.
pub(super) fn take(
    data: &mut Live<'_, '_>,
    key: &[u8],
    entry: &Entry,
    count: u64,
    highest: bool,
) -> Result<Vec<Scored>, Failure> {
    let last = count as i64 - 1;
    let taken = match last < 0 {
        true => Vec::new(),
        false => {
            let (from, to) = if highest { (-1 - last, -1) } else { (0, last) };
            select(data, entry, &Range::Rank(from, to), highest, Limit::NONE)?
        }
    };
    let event = if highest { "zpopmax" } else { "zpopmin" };
    remove_members(data, key, event, &taken)?;
    Ok(taken)
}

fn pop(data: &mut Live<'_, '_>, line: &Line, highest: bool) -> Result<Reply, Failure> {
    if line.len() > 3 {
        return Err(Failure::Syntax);
    }
    let count = (line.len() == 3)
        .then(|| count_of(line.part(2)))
        .transpose()?;
    let Some(entry) = data.entry_to_change_of(line.part(1), Kind::SortedSet)? else {
        return Ok(Reply::Array(Vec::new()));
    };
    let taken = take(data, line.part(1), &entry, count.unwrap_or(1), highest)?;
    let mut pairs = taken
        .into_iter()
        .map(|(member, score)| (Reply::Bulk(member), Reply::Double(score)));
    Ok(match count {
        Some(_) => Reply::Pairs(pairs.collect()),
        None => match pairs.next() {
            Some((member, score)) => Reply::Array(vec![member, score]),
            None => Reply::Array(Vec::new()),
        },
    })
}

fn zpopmin(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    pop(data, line, false)
}

fn zpopmax(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    pop(data, line, true)
}

fn zrandmember<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let mut words = Words::from(line, 2);
    let count = (words.left() > 0)
        .then(|| random_count(words.wanted()?))
        .transpose()?;
    let with_scores = words.take("withscores");
    if words.left() > 0 {
        return Err(Failure::Syntax);
    }
    if let (true, Some(count)) = (with_scores, count) {
        check_random_pairs(count)?;
    }
    let entry = data.entry_of(line.part(1), Kind::SortedSet)?;
    let (entry, count) = match (entry, count) {
        (None, None) => return Ok(Reply::Null),
        (None, Some(_)) => return Ok(Reply::Array(Vec::new())),
        (Some(entry), None) => return Ok(Reply::optional(data.any_name(&entry)?)),
        (Some(entry), Some(count)) => (entry, count),
    };
    let chosen = random_elements(data, &entry, count)?;
    Ok(super::sorted_reads::answer(chosen, with_scores))
}
