//! Ranges of sorted sets: by rank, by score, by member; and the members in one.

use super::strings::places;
use crate::data::{Data, Entry, State};
use crate::failure::Failure;
use crate::number::{integer, parse_float};
use sardonyx::schema::ValueRef;
use std::ops::Bound;

/// A range of a sorted set.
#[derive(Clone, Copy, Debug)]
pub(super) enum Range<'l> {
    /// By rank; counted from the end if negative.
    Rank(i64, i64),
    Score(Bound<f64>, Bound<f64>),
    Member(End<'l>, End<'l>),
}

/// An end of a range by member.
#[derive(Clone, Copy, Debug)]
pub(super) enum End<'l> {
    /// `-`
    Lowest,
    /// `+`
    Highest,
    /// `[member` or `(member`
    At(Bound<&'l [u8]>),
}

/// The order of a range's bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum By {
    Rank,
    Score,
    Member,
}

/// The number of members of a range to skip, and the number to take after them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    pub offset: i64,
    /// All, if negative.
    pub count: i64,
}

impl Limit {
    pub const NONE: Limit = Limit {
        offset: 0,
        count: -1,
    };
}

fn score_end(text: &[u8]) -> Result<Bound<f64>, Failure> {
    let (number, excluded) = match text {
        [b'(', number @ ..] => (number, true),
        number => (number, false),
    };
    // Redis passes over blanks before it, and reads nothing as 0.
    let number = match number.trim_ascii_start() {
        [] => Some(0.0),
        number => parse_float(number),
    };
    let number = number.ok_or(Failure::Told("ERR min or max is not a float"))?;
    Ok(if excluded {
        Bound::Excluded(number)
    } else {
        Bound::Included(number)
    })
}

fn member_end(text: &[u8]) -> Result<End<'_>, Failure> {
    match text {
        b"-" => Ok(End::Lowest),
        b"+" => Ok(End::Highest),
        [b'[', member @ ..] => Ok(End::At(Bound::Included(member))),
        [b'(', member @ ..] => Ok(End::At(Bound::Excluded(member))),
        _ => Err(Failure::Told("ERR min or max not valid string range item")),
    }
}

impl<'l> Range<'l> {
    /// The range between two words.
    pub fn between(by: By, from: &'l [u8], to: &'l [u8]) -> Result<Self, Failure> {
        Ok(match by {
            By::Rank => Range::Rank(integer(from)?, integer(to)?),
            By::Score => Range::Score(score_end(from)?, score_end(to)?),
            By::Member => Range::Member(member_end(from)?, member_end(to)?),
        })
    }

    /// True if no value can be in it.
    fn is_empty(&self) -> bool {
        fn crossed<T: PartialOrd>(from: Bound<T>, to: Bound<T>) -> bool {
            match (from, to) {
                (Bound::Included(from), Bound::Included(to)) => from > to,
                (
                    Bound::Included(from) | Bound::Excluded(from),
                    Bound::Included(to) | Bound::Excluded(to),
                ) => from >= to,
                _ => false,
            }
        }
        match *self {
            Range::Rank(..) => false,
            Range::Score(from, to) => crossed(from, to),
            Range::Member(End::Highest, _) | Range::Member(_, End::Lowest) => true,
            Range::Member(End::At(from), End::At(to)) => crossed(from, to),
            Range::Member(..) => false,
        }
    }
}

/// A bound of keys of an index.
type KeyBound<'v> = Bound<Vec<ValueRef<'v>>>;

fn score_key<'v>(end: Bound<f64>) -> KeyBound<'v> {
    end.map(|score| vec![ValueRef::Float(score)])
}

fn member_key(end: End<'_>) -> KeyBound<'_> {
    match end {
        End::Lowest | End::Highest => Bound::Unbounded,
        End::At(end) => end.map(|member| vec![ValueRef::Bytes(member)]),
    }
}

/// A member and its score.
pub(super) type Scored = (Vec<u8>, f64);

/// The members of a sorted set in a range, in order or against it.
pub(super) fn select<S: State>(
    data: &mut Data<'_, S>,
    entry: &Entry,
    range: &Range<'_>,
    reverse: bool,
    limit: Limit,
) -> Result<Vec<Scored>, Failure> {
    if range.is_empty() || limit.offset < 0 {
        return Ok(Vec::new());
    }
    if let Range::Rank(start, end) = *range {
        return by_rank(data, entry, places(start, end, entry.length), reverse);
    }
    let most = if limit.count < 0 {
        usize::MAX
    } else {
        limit.count as usize
    };
    let (mut skipped, mut found, room) = (0, Vec::new(), data.room);
    if most == 0 {
        return Ok(found);
    }
    let mut each = |member: &[u8], score: f64| {
        if skipped < limit.offset {
            skipped += 1;
        } else {
            found.push((member.to_vec(), score));
        }
        let has_room = found.is_empty() || room.take(member.len());
        has_room && found.len() < most
    };
    match *range {
        Range::Rank(..) => {}
        Range::Score(from, to) => {
            let bounds = (score_key(from), score_key(to));
            data.walk_scores(entry.id, bounds, reverse, &mut each)?;
        }
        Range::Member(from, to) => {
            let bounds = (member_key(from), member_key(to));
            data.walk_members(entry.id, bounds, reverse, &mut each)?;
        }
    }
    Ok(found)
}

/// The members at places in order, or against it: walked to from the nearer end.
fn by_rank<S: State>(
    data: &mut Data<'_, S>,
    entry: &Entry,
    places: std::ops::Range<u64>,
    reverse: bool,
) -> Result<Vec<Scored>, Failure> {
    if places.is_empty() {
        return Ok(Vec::new());
    }
    let behind = entry.length - places.end;
    let backwards = behind < places.start;
    let skip = places.start.min(behind);
    let count = (places.end - places.start) as usize;
    let (mut skipped, mut found, room) = (0, Vec::with_capacity(count), data.room);
    let all = (Bound::Unbounded, Bound::Unbounded);
    data.walk_scores(entry.id, all, backwards, &mut |member, score| {
        if skipped < skip {
            skipped += 1;
        } else {
            found.push((member.to_vec(), score));
        }
        let has_room = found.is_empty() || room.take(member.len());
        has_room && found.len() < count
    })?;
    if backwards != reverse {
        found.reverse();
    }
    Ok(found)
}

/// The number of members of a sorted set in a range by score or member.
pub(super) fn count<S: State>(
    data: &mut Data<'_, S>,
    entry: &Entry,
    range: &Range<'_>,
) -> Result<u64, Failure> {
    match *range {
        _ if range.is_empty() => Ok(0),
        Range::Rank(start, end) => {
            let places = places(start, end, entry.length);
            Ok(places.end - places.start)
        }
        Range::Score(from, to) => data.count_scores(entry.id, (score_key(from), score_key(to))),
        Range::Member(from, to) => data.count_members(entry.id, (member_key(from), member_key(to))),
    }
}

/// The number of members before a member.
pub(super) fn rank<S: State>(
    data: &mut Data<'_, S>,
    entry: &Entry,
    member: &[u8],
    score: f64,
) -> Result<u64, Failure> {
    let end = vec![ValueRef::Float(score), ValueRef::Bytes(member)];
    data.count_scores(entry.id, (Bound::Unbounded, Bound::Excluded(end)))
}
