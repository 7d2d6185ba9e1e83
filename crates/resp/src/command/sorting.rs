//! `SORT`: the elements of a list, a set or a sorted set, in an order that other keys may say.

use super::line::Line;
use super::words::{Words, is};
use super::{Command, MORE, ONE_KEY, WRITE, on_data, reads};
use crate::data::{Data, Elements, Entry, Kind, Live, State, check_key};
use crate::event_classes::{GENERIC, LIST};
use crate::failure::Failure;
use crate::number::parse_float;
use crate::reply::Reply;
use std::cmp::Ordering;

pub(super) const COMMANDS: &[Command] = &[
    on_data(
        "sort",
        -2,
        WRITE | MORE,
        ONE_KEY,
        sort,
        "Sorts the elements of a list, a set or a sorted set",
    ),
    reads!(
        "sort_ro",
        -2,
        0,
        ONE_KEY,
        sort_ro,
        "Sorts the elements of a list, a set or a sorted set, and stores nothing"
    ),
];

/// The parsed words of a sort.
#[derive(Default)]
struct Asked<'l> {
    /// Keys that say the order; the same for all if it has no `*`.
    by: Option<&'l [u8]>,
    /// Keys whose values are returned in the place of the elements.
    get: Vec<&'l [u8]>,
    limit: Option<(i64, i64)>,
    descends: bool,
    as_texts: bool,
    to: Option<&'l [u8]>,
}

impl<'l> Asked<'l> {
    fn of(line: &'l Line, may_store: bool) -> Result<Self, Failure> {
        let mut asked = Asked::default();
        let mut words = Words::from(line, 2);
        while let Some(word) = words.next() {
            match word {
                word if is(word, "asc") => asked.descends = false,
                word if is(word, "desc") => asked.descends = true,
                word if is(word, "alpha") => asked.as_texts = true,
                word if is(word, "limit") && words.left() >= 2 => {
                    asked.limit = Some((words.integer()?, words.integer()?));
                }
                word if is(word, "store") && may_store && words.left() >= 1 => {
                    asked.to = words.next();
                }
                word if is(word, "by") && words.left() >= 1 => asked.by = words.next(),
                word if is(word, "get") && words.left() >= 1 => asked.get.extend(words.next()),
                _ => return Err(Failure::Syntax),
            }
        }
        Ok(asked)
    }

    /// The places of the elements that are wanted, of so many.
    fn range(&self, count: usize) -> std::ops::Range<usize> {
        let Some((offset, most)) = self.limit else {
            return 0..count;
        };
        let start = usize::try_from(offset).unwrap_or(0).min(count);
        let end = match usize::try_from(most) {
            Ok(most) => start.saturating_add(most).min(count),
            Err(_) => count,
        };
        start..end
    }
}

/// An element, and its sort key.
struct Sorted {
    element: Vec<u8>,
    weight: Weight,
}

enum Weight {
    Number(f64),
    Text(Option<Vec<u8>>),
    Element,
}

impl Sorted {
    fn cmp(&self, other: &Sorted) -> Ordering {
        match (&self.weight, &other.weight) {
            (Weight::Number(one), Weight::Number(two)) => (one.partial_cmp(two))
                .unwrap_or(Ordering::Equal)
                .then_with(|| self.element.cmp(&other.element)),
            // One that is not there comes first.
            (Weight::Text(one), Weight::Text(two)) => one.cmp(two),
            _ => self.element.cmp(&other.element),
        }
    }
}

/// The value of a key, or of a field, that a pattern names for an element.
fn looked_up<S: State>(
    data: &mut Data<'_, S>,
    pattern: &[u8],
    element: &[u8],
) -> Result<Option<Vec<u8>>, Failure> {
    if pattern == b"#" {
        return Ok(Some(element.to_vec()));
    }
    let Some(star) = pattern.iter().position(|byte| *byte == b'*') else {
        return Ok(None);
    };
    let (before, behind) = (&pattern[..star], &pattern[star + 1..]);
    let arrow = behind.windows(2).position(|two| two == b"->");
    let (behind, field) = match arrow.map(|at| (&behind[..at], &behind[at + 2..])) {
        Some((behind, field)) if !field.is_empty() => (behind, Some(field)),
        _ => (behind, None),
    };
    let key = [before, element, behind].concat();
    let Some(entry) = data.entry(&key)? else {
        return Ok(None);
    };
    match (field, entry.kind) {
        (Some(field), Kind::Hash) => data.field(entry.id, field),
        (None, Kind::String) => data.string(&key),
        _ => Ok(None),
    }
}

/// The elements of a key, in their own order.
fn elements<S: State>(
    data: &mut Data<'_, S>,
    entry: &Entry,
    descends: bool,
) -> Result<Vec<Vec<u8>>, Failure> {
    let (mut elements, room) = (Vec::new(), data.room);
    match entry.kind {
        Kind::List => {
            data.walk_list(entry.id, entry.first, entry.end(), descends, |_, value| {
                elements.push(value.to_vec());
                room.take(value.len())
            })?
        }
        Kind::SortedSet => {
            let all = (std::ops::Bound::Unbounded, std::ops::Bound::Unbounded);
            data.walk_scores(entry.id, all, descends, &mut |member, _| {
                elements.push(member.to_vec());
                room.take(member.len())
            })?;
        }
        Kind::Set => data.walk(entry, None, |row| {
            let member = Elements::name(row)?;
            elements.push(member.to_vec());
            Ok(room.take(member.len()))
        })?,
        _ => return Err(Failure::WrongType),
    }
    room.check()?;
    Ok(elements)
}

/// The elements in their order, those that are wanted.
fn sorted<S: State>(
    data: &mut Data<'_, S>,
    key: &[u8],
    asked: &Asked<'_>,
) -> Result<Vec<Vec<u8>>, Failure> {
    let Some(entry) = data.entry(key)? else {
        return Ok(Vec::new());
    };
    let mut by = asked.by;
    let (mut is_sorted, mut as_texts) = (false, asked.as_texts);
    if by.is_some_and(|by| !by.contains(&b'*')) {
        // The order of a stored result must not depend on the representation of a set.
        (is_sorted, as_texts, by) = match (entry.kind, asked.to) {
            (Kind::Set, Some(_)) => (false, true, None),
            _ => (true, as_texts, by),
        };
    }
    let mut found = elements(data, &entry, is_sorted && asked.descends)?;
    if !is_sorted {
        let mut weighed = Vec::with_capacity(found.len());
        let mut is_wrong = false;
        for element in found {
            let said = match by {
                Some(by) => Some(looked_up(data, by, &element)?),
                None => None,
            };
            let weight = match (as_texts, said) {
                (true, None) => Weight::Element,
                (true, Some(said)) => Weight::Text(said),
                (false, Some(None)) => Weight::Number(0.0),
                (false, said) => {
                    let text = said.flatten();
                    let number = parse_float(text.as_deref().unwrap_or(&element));
                    is_wrong |= number.is_none();
                    Weight::Number(number.unwrap_or(0.0))
                }
            };
            weighed.push(Sorted { element, weight });
        }
        if is_wrong {
            return Err(Failure::Told(
                "ERR One or more scores can't be converted into double",
            ));
        }
        weighed.sort_by(|one, other| match asked.descends {
            true => other.cmp(one),
            false => one.cmp(other),
        });
        found = weighed.into_iter().map(|sorted| sorted.element).collect();
    }
    let range = asked.range(found.len());
    Ok(found.drain(range).collect())
}

/// The values to return for the elements.
fn gotten<S: State>(
    data: &mut Data<'_, S>,
    elements: Vec<Vec<u8>>,
    get: &[&[u8]],
) -> Result<Vec<Option<Vec<u8>>>, Failure> {
    if get.is_empty() {
        return Ok(elements.into_iter().map(Some).collect());
    }
    // The client chooses their number: they take room before they take memory.
    let (mut gotten, room) = (Vec::new(), data.room);
    for element in &elements {
        for pattern in get {
            let value = looked_up(data, pattern, element)?;
            match &value {
                None => room.take(0),
                Some(element) if *pattern == b"#" => room.take(element.len()),
                // It has taken its own.
                Some(_) => true,
            };
            room.check()?;
            gotten.push(value);
        }
    }
    Ok(gotten)
}

fn found<S: State>(
    data: &mut Data<'_, S>,
    key: &[u8],
    asked: &Asked<'_>,
) -> Result<Vec<Option<Vec<u8>>>, Failure> {
    let elements = sorted(data, key, asked)?;
    gotten(data, elements, &asked.get)
}

fn sort_ro<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let asked = Asked::of(line, false)?;
    let found = found(data, line.part(1), &asked)?.into_iter();
    Ok(Reply::Array(found.map(Reply::optional).collect()))
}

fn sort(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let asked = Asked::of(line, true)?;
    if let Some(to) = asked.to {
        check_key(to)?;
    }
    let found = found(data, line.part(1), &asked)?;
    let Some(to) = asked.to else {
        let found = found.into_iter();
        return Ok(Reply::Array(found.map(Reply::optional).collect()));
    };
    let before = data.entry_to_change(to)?;
    let mut list = data.create(to, Kind::List)?;
    for value in &found {
        data.insert_at(list.id, list.end(), value.as_deref().unwrap_or_default())?;
        list.length += 1;
    }
    data.replace(to, before.as_ref(), &list)?;
    match (list.length, before) {
        (1.., _) => data.event(LIST, "sortstore", to)?,
        (0, Some(_)) => data.event(GENERIC, "del", to)?,
        (0, None) => {}
    }
    Ok(Reply::count(list.length))
}
