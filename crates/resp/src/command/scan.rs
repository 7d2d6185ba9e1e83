//! Walking over keys and elements a part at a time: `SCAN` and its family; and `KEYS`, which takes all.
//!
//! `SCAN`'s cursor is an id, so that it holds across restarts and needs no memory. A key that exists from the
//! beginning of a scan to its end is returned once, also if it is renamed. A scan of a value returns a small one
//! whole; for a large one see [`Cursors`](crate::cursors::Cursors).

use super::line::Line;
use super::words::{Words, is};
use super::{Command, NO_KEYS, ONE_KEY, reads};
use crate::data::{Data, Elements, Entry, Kind, State};
use crate::failure::Failure;
use crate::number::float_text;
use crate::pattern::matches;
use crate::reply::Reply;
use sardonyx::rows::ReadRow;
use std::sync::PoisonError;

pub(super) const COMMANDS: &[Command] = &[
    reads!(
        "scan",
        -2,
        0,
        NO_KEYS,
        scan,
        "Returns some keys and where to go on"
    ),
    reads!(
        "keys",
        2,
        0,
        NO_KEYS,
        keys,
        "Returns all keys that match a pattern"
    ),
    reads!(
        "hscan",
        -3,
        0,
        ONE_KEY,
        hscan,
        "Returns some fields of a hash and where to go on"
    ),
    reads!(
        "sscan",
        -3,
        0,
        ONE_KEY,
        sscan,
        "Returns some members of a set and where to go on"
    ),
    reads!(
        "zscan",
        -3,
        0,
        ONE_KEY,
        zscan,
        "Returns some members of a sorted set and where to go on"
    ),
];

/// The most elements of a value that are returned whole.
const WHOLE_MAX: u64 = 512;

/// The most that one call looks at.
const COUNT_MAX: i64 = 1 << 20;

/// The options of a scan.
struct Wanted<'l> {
    pattern: Option<&'l [u8]>,
    count: usize,
    kind: Option<&'l [u8]>,
    only_names: bool,
}

impl<'l> Wanted<'l> {
    fn of(line: &'l Line, from: usize) -> Result<Self, Failure> {
        let mut wanted = Wanted {
            pattern: None,
            count: 10,
            kind: None,
            only_names: false,
        };
        let mut words = Words::from(line, from);
        while let Some(word) = words.next() {
            if is(word, "match") {
                wanted.pattern = Some(words.wanted()?);
            } else if is(word, "count") {
                let count = words.integer()?;
                if count < 1 {
                    return Err(Failure::Syntax);
                }
                wanted.count = count.min(COUNT_MAX) as usize;
            } else if is(word, "type") && from == 2 {
                wanted.kind = Some(words.wanted()?);
            } else if is(word, "novalues")
                && from == 3
                && line.part(0).eq_ignore_ascii_case(b"hscan")
            {
                wanted.only_names = true;
            } else {
                return Err(Failure::Syntax);
            }
        }
        Ok(wanted)
    }

    fn has(&self, name: &[u8]) -> bool {
        self.pattern.is_none_or(|pattern| matches(pattern, name))
    }
}

/// A cursor, read as Redis does: an empty text is 0, and a negative number is cast to an unsigned one.
fn cursor(text: &[u8]) -> Result<u64, Failure> {
    let (digits, negative) = match text {
        [b'-', digits @ ..] => (digits, true),
        [b'+', digits @ ..] => (digits, false),
        digits => (digits, false),
    };
    let number = match digits {
        [] if text.is_empty() => Some(0),
        digits if digits.iter().all(u8::is_ascii_digit) => {
            let digits = std::str::from_utf8(digits).ok();
            digits.and_then(|digits| digits.parse::<u64>().ok())
        }
        _ => None,
    };
    match number.ok_or(Failure::Told("ERR invalid cursor"))? {
        number if negative => Ok(number.wrapping_neg()),
        number => Ok(number),
    }
}

fn found(cursor: u64, items: Vec<Reply>) -> Reply {
    Reply::Array(vec![
        Reply::Bulk(cursor.to_string().into_bytes()),
        Reply::Array(items),
    ])
}

fn scan<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let after = cursor(line.part(1))?;
    let wanted = Wanted::of(line, 2)?;
    let (mut keys, room) = (Vec::new(), data.room);
    let next = data.walk_ids(after, wanted.count, |key, entry| {
        let is_kind = wanted.kind.is_none_or(|kind| is(kind, entry.kind.name()));
        if is_kind && wanted.has(key) {
            keys.push(Reply::Bulk(key.to_vec()));
            return room.take(key.len());
        }
        true
    })?;
    Ok(found(next.unwrap_or(0), keys))
}

fn keys<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let pattern = line.part(1);
    let (mut keys, room) = (Vec::new(), data.room);
    data.walk_keys(|key| {
        if matches(pattern, key) && room.take(key.len()) {
            keys.push(key.to_vec());
        }
    })?;
    keys.sort_unstable();
    Ok(Reply::bulks(keys))
}

/// Scans the elements of a value.
fn scan_value<S: State>(
    data: &mut Data<'_, S>,
    line: &Line,
    kind: Kind,
    push: fn(&mut Vec<Reply>, &dyn ReadRow, bool) -> Result<(), Failure>,
) -> Result<Reply, Failure> {
    let number = cursor(line.part(2))?;
    let Some(entry) = data.entry_of(line.part(1), kind)? else {
        return Ok(found(0, Vec::new()));
    };
    let wanted = Wanted::of(line, 3)?;
    let after = place(data, number, &entry)?;
    let most = match entry.length <= WHOLE_MAX {
        true => usize::MAX,
        false => wanted.count,
    };
    let (mut items, mut seen, mut last) = (Vec::new(), 0, None);
    let room = data.room;
    data.walk(&entry, after.as_deref(), |row| {
        let name = Elements::name(row)?;
        if seen == most {
            return Ok(false);
        }
        seen += 1;
        if wanted.has(name) {
            push(&mut items, row, wanted.only_names)?;
            room.take(name.len());
            if let Some(Reply::Bulk(last)) = items.last() {
                room.take(last.len());
            }
            room.check()?;
        }
        if seen == most {
            last = Some(name.to_vec());
        }
        Ok(true)
    })?;
    let next = match last {
        Some(last) => {
            let cursors = data.shared.cursors.lock();
            cursors
                .unwrap_or_else(PoisonError::into_inner)
                .keep(entry.id, last)
        }
        None => 0,
    };
    Ok(found(next, items))
}

/// Behind which element a scan goes on.
fn place<S: State>(
    data: &Data<'_, S>,
    number: u64,
    entry: &Entry,
) -> Result<Option<Vec<u8>>, Failure> {
    if number == 0 {
        return Ok(None);
    }
    let cursors = data
        .shared
        .cursors
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    match cursors.place(number, entry.id) {
        Some(name) => Ok(Some(name.to_vec())),
        // A small value is returned whole, for any cursor.
        None if entry.length <= WHOLE_MAX => Ok(None),
        None => Err(Failure::Told(
            "ERR the cursor is none of this value, or too old: scan from 0",
        )),
    }
}

fn hscan<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    scan_value(data, line, Kind::Hash, |items, row, only_names| {
        let (field, value) = Elements::field(row)?;
        items.push(Reply::Bulk(field.to_vec()));
        if !only_names {
            items.push(Reply::Bulk(value.to_vec()));
        }
        Ok(())
    })
}

fn sscan<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    scan_value(data, line, Kind::Set, |items, row, _| {
        items.push(Reply::Bulk(Elements::name(row)?.to_vec()));
        Ok(())
    })
}

fn zscan<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    scan_value(data, line, Kind::SortedSet, |items, row, _| {
        let (member, score) = Elements::scored(row)?;
        items.push(Reply::Bulk(member.to_vec()));
        items.push(Reply::Bulk(float_text(score)));
        Ok(())
    })
}
