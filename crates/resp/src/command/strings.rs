//! Strings: one row each.

use super::line::{Line, PART_BYTES_MAX};
use super::words::{Words, is, point_in_time};
use super::{ALL_KEYS, Command, FAST, MORE, ONE_KEY, SHORT, WRITE, on_data, reads};
use crate::data::{Data, Entry, Expiry, Kind, Live, State};
use crate::event_classes::{GENERIC, STRING};
use crate::failure::Failure;
use crate::number::integer;
use crate::reply::Reply;

const PAIRS: (i32, i32, i32) = (1, -1, 2);

pub(super) const COMMANDS: &[Command] = &[
    reads!("get", 2, FAST, ONE_KEY, get, "Returns the string of a key"),
    on_data(
        "set",
        -3,
        WRITE | MORE | SHORT,
        ONE_KEY,
        set,
        "Gives a key a string, whatever it had",
    ),
    on_data(
        "setnx",
        3,
        WRITE | MORE | FAST,
        ONE_KEY,
        setnx,
        "Gives a key a string if it is not there",
    ),
    on_data(
        "setex",
        4,
        WRITE | MORE | SHORT,
        ONE_KEY,
        setex,
        "Gives a key a string for so many seconds",
    ),
    on_data(
        "psetex",
        4,
        WRITE | MORE | SHORT,
        ONE_KEY,
        psetex,
        "Gives a key a string for so many milliseconds",
    ),
    on_data(
        "getset",
        3,
        WRITE | MORE | FAST,
        ONE_KEY,
        getset,
        "Gives a key a string and returns the one before",
    ),
    on_data(
        "getdel",
        2,
        WRITE | FAST,
        ONE_KEY,
        getdel,
        "Returns the string of a key and deletes the key",
    ),
    on_data(
        "getex",
        -2,
        WRITE | FAST,
        ONE_KEY,
        getex,
        "Returns the string of a key and gives it another time",
    ),
    reads!(
        "mget",
        -2,
        FAST,
        ALL_KEYS,
        mget,
        "Returns the strings of keys"
    ),
    on_data(
        "mset",
        -3,
        WRITE | MORE | SHORT,
        PAIRS,
        mset,
        "Gives keys strings",
    ),
    on_data(
        "msetnx",
        -3,
        WRITE | MORE | SHORT,
        PAIRS,
        msetnx,
        "Gives keys strings if none of them is there",
    ),
    on_data(
        "append",
        3,
        WRITE | MORE | FAST,
        ONE_KEY,
        append,
        "Appends to the string of a key",
    ),
    reads!(
        "strlen",
        2,
        FAST,
        ONE_KEY,
        strlen,
        "Returns the length of a string"
    ),
    reads!(
        "getrange",
        4,
        0,
        ONE_KEY,
        getrange,
        "Returns a part of a string"
    ),
    reads!(
        "substr",
        4,
        0,
        ONE_KEY,
        getrange,
        "Returns a part of a string"
    ),
    on_data(
        "setrange",
        4,
        WRITE | MORE,
        ONE_KEY,
        setrange,
        "Overwrites a part of a string",
    ),
];

fn get<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let room = data.room;
    let value = data.with_string(line.part(1), |_, value| {
        room.take(value.len()).then(|| Reply::of_bytes(value))
    })?;
    room.check()?;
    Ok(value.flatten().unwrap_or(Reply::Null))
}

/// The words about time of `SET` and `GETEX`.
#[derive(Clone, Copy)]
enum Time<'l> {
    Keep,
    Never,
    /// An amount of seconds or milliseconds, from now or since 1970.
    Of(&'l [u8], bool, bool),
}

impl<'l> Time<'l> {
    /// Parses a word about time; `None` if it is another word.
    fn read(word: &[u8], words: &mut Words<'l>) -> Result<Option<Time<'l>>, Failure> {
        let (seconds, absolute) = match word {
            word if is(word, "ex") => (true, false),
            word if is(word, "px") => (false, false),
            word if is(word, "exat") => (true, true),
            word if is(word, "pxat") => (false, true),
            _ => return Ok(None),
        };
        Ok(Some(Time::Of(words.wanted()?, seconds, absolute)))
    }

    /// This one, said behind another: the same word may come again, and the last one counts.
    fn after(self, before: Option<Time<'l>>) -> Result<Time<'l>, Failure> {
        match (before, self) {
            (None, _) | (Some(Time::Keep), Time::Keep) | (Some(Time::Never), Time::Never) => {
                Ok(self)
            }
            (Some(Time::Of(_, seconds, absolute)), Time::Of(_, again, also))
                if (seconds, absolute) == (again, also) =>
            {
                Ok(self)
            }
            _ => Err(Failure::Syntax),
        }
    }

    fn expiry(&self, now: i64, name: &str) -> Result<Expiry, Failure> {
        match *self {
            Time::Keep => Ok(Expiry::Keep),
            Time::Never => Ok(Expiry::Never),
            Time::Of(amount, seconds, absolute) => {
                let at = later(integer(amount)?, seconds, absolute, now, name)?;
                Ok(Expiry::At(at))
            }
        }
    }
}

/// A time to live, which is not over at once, as a point in time.
fn later(amount: i64, seconds: bool, absolute: bool, now: i64, name: &str) -> Result<i64, Failure> {
    match amount > 0 {
        true => point_in_time(amount, seconds, absolute, now, name),
        false => Err(Failure::Said(format!(
            "ERR invalid expire time in '{name}' command"
        ))),
    }
}

fn set(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let (key, value) = (line.part(1), line.part(2));
    let (mut only_new, mut only_there, mut returns) = (false, false, false);
    let mut time = None;
    let mut words = Words::from(line, 3);
    while let Some(word) = words.next() {
        if is(word, "nx") && !only_there {
            only_new = true;
        } else if is(word, "xx") && !only_new {
            only_there = true;
        } else if is(word, "get") {
            returns = true;
        } else {
            let said = match is(word, "keepttl") {
                true => Time::Keep,
                false => Time::read(word, &mut words)?.ok_or(Failure::Syntax)?,
            };
            time = Some(said.after(time)?);
        }
    }
    let time = time.unwrap_or(Time::Never).expiry(data.now, "set")?;
    let before = data.entry_to_change(key)?;
    let mut old = Reply::Null;
    if returns && let Some(entry) = before {
        if entry.kind != Kind::String {
            return Err(Failure::WrongType);
        }
        old = Reply::optional(data.string(key)?);
    }
    if (only_new && before.is_some()) || (only_there && before.is_none()) {
        return Ok(old);
    }
    data.set_string(key, before, value, time)?;
    data.event(STRING, "set", key)?;
    if matches!(time, Expiry::At(_)) {
        data.event(GENERIC, "expire", key)?;
    }
    Ok(if returns { old } else { Reply::Ok })
}

fn setnx(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    if data.entry_to_change(line.part(1))?.is_some() {
        return Ok(Reply::Int(0));
    }
    data.set_string(line.part(1), None, line.part(2), Expiry::Never)?;
    data.event(STRING, "set", line.part(1))?;
    Ok(Reply::Int(1))
}

fn set_for(
    data: &mut Live<'_, '_>,
    line: &Line,
    seconds: bool,
    name: &str,
) -> Result<Reply, Failure> {
    let at = later(integer(line.part(2))?, seconds, false, data.now, name)?;
    let before = data.entry_to_change(line.part(1))?;
    data.set_string(line.part(1), before, line.part(3), Expiry::At(at))?;
    data.event(STRING, "set", line.part(1))?;
    data.event(GENERIC, "expire", line.part(1))?;
    Ok(Reply::Ok)
}

fn setex(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    set_for(data, line, true, "setex")
}

fn psetex(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    set_for(data, line, false, "psetex")
}

fn getset(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let before = data.entry_to_change_of(line.part(1), Kind::String)?;
    let old = data.string(line.part(1))?;
    data.set_string(line.part(1), before, line.part(2), Expiry::Never)?;
    data.event(STRING, "set", line.part(1))?;
    Ok(Reply::optional(old))
}

fn getdel(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let Some(entry) = data.entry_to_change_of(line.part(1), Kind::String)? else {
        return Ok(Reply::Null);
    };
    let old = data.string(line.part(1))?;
    data.remove(line.part(1), &entry)?;
    data.event(GENERIC, "del", line.part(1))?;
    Ok(Reply::optional(old))
}

fn getex(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let mut words = Words::from(line, 2);
    let mut time = None;
    while let Some(word) = words.next() {
        let said = match is(word, "persist") {
            true => Time::Never,
            false => Time::read(word, &mut words)?.ok_or(Failure::Syntax)?,
        };
        time = Some(said.after(time)?);
    }
    let Some(entry) = data.entry_to_change_of(line.part(1), Kind::String)? else {
        return Ok(Reply::Null);
    };
    let time = time
        .map(|time| time.expiry(data.now, "getex"))
        .transpose()?;
    let value = data.string(line.part(1))?;
    match time {
        Some(Expiry::At(at)) if at <= data.now => {
            data.remove(line.part(1), &entry)?;
            data.event(GENERIC, "del", line.part(1))?;
        }
        Some(Expiry::At(at)) => {
            data.set_expiry(line.part(1), &entry, Some(at))?;
            data.event(GENERIC, "expire", line.part(1))?;
        }
        Some(Expiry::Never) if entry.expires.is_some() => {
            data.set_expiry(line.part(1), &entry, None)?;
            data.event(GENERIC, "persist", line.part(1))?;
        }
        Some(Expiry::Never | Expiry::Keep) | None => {}
    }
    Ok(Reply::optional(value))
}

fn mget<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let value = |key| match data.string(key) {
        Err(Failure::WrongType) => Ok(Reply::Null),
        value => Ok(Reply::optional(value?)),
    };
    Ok(Reply::Array(
        line.parts(1).map(value).collect::<Result<_, Failure>>()?,
    ))
}

fn check_pairs(line: &Line, name: &str) -> Result<(), Failure> {
    match line.len() % 2 {
        1 => Ok(()),
        _ => Err(Failure::Arguments(name.to_string())),
    }
}

fn set_pairs(data: &mut Live<'_, '_>, line: &Line) -> Result<(), Failure> {
    for number in (1..line.len()).step_by(2) {
        let before = data.entry_to_change(line.part(number))?;
        data.set_string(
            line.part(number),
            before,
            line.part(number + 1),
            Expiry::Never,
        )?;
        data.event(STRING, "set", line.part(number))?;
    }
    Ok(())
}

fn check_keys(line: &Line) -> Result<(), Failure> {
    (1..line.len())
        .step_by(2)
        .try_for_each(|number| crate::data::check_key(line.part(number)))
}

fn mset(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    check_pairs(line, "mset")?;
    check_keys(line)?;
    set_pairs(data, line)?;
    Ok(Reply::Ok)
}

fn msetnx(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    check_pairs(line, "msetnx")?;
    check_keys(line)?;
    for number in (1..line.len()).step_by(2) {
        if data.entry(line.part(number))?.is_some() {
            return Ok(Reply::Int(0));
        }
    }
    set_pairs(data, line)?;
    Ok(Reply::Int(1))
}

fn too_long() -> Failure {
    Failure::Told("ERR string exceeds maximum allowed size (proto-max-bulk-len)")
}

/// A string to be changed, with its length.
pub(super) fn open(data: &mut Live<'_, '_>, key: &[u8]) -> Result<Option<(Entry, usize)>, Failure> {
    data.text_to_change(key, |text| text.len())
}

fn append(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let before = open(data, line.part(1))?;
    let length = before.map_or(0, |(_, length)| length);
    if length + line.part(2).len() > PART_BYTES_MAX {
        return Err(too_long());
    }
    let length = data.overwrite(line.part(1), before, (length, line.part(2)))?;
    data.event(STRING, "append", line.part(1))?;
    Ok(Reply::count(length))
}

fn strlen<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    data.string_length(line.part(1)).map(Reply::count)
}

/// The places of a range whose ends may count from the end, among so many; empty if there are none.
pub(super) fn places(start: i64, end: i64, count: u64) -> std::ops::Range<u64> {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let place = |number: i64| {
        if number < 0 {
            number.saturating_add(count).max(0)
        } else {
            number
        }
    };
    // An end before the first is none, not the first.
    if end < 0 && end.saturating_add(count) < 0 {
        return 0..0;
    }
    let (start, end) = (place(start), place(end).min(count - 1));
    match start > end || start >= count {
        true => 0..0,
        false => start as u64..end as u64 + 1,
    }
}

fn getrange<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let (start, end) = (integer(line.part(2))?, integer(line.part(3))?);
    let part = data.with_text(line.part(1), |_, text| {
        if start < 0 && end < start {
            return Ok(Vec::new());
        }
        let length = text.len()?;
        // An end before the first byte is the first byte here.
        let place = |at: i64| match at < 0 {
            true => at.saturating_add(length as i64).max(0),
            false => at,
        };
        let (start, end) = (place(start), place(end));
        let range = places(start, end, length as u64);
        text.part(range.start as usize..range.end as usize)
    })?;
    Ok(Reply::Bulk(part.unwrap_or_default()))
}

fn setrange(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    let offset = integer(line.part(2))?;
    let offset =
        usize::try_from(offset).map_err(|_| Failure::Told("ERR offset is out of range"))?;
    let before = open(data, line.part(1))?;
    let new = line.part(3);
    if new.is_empty() {
        return Ok(Reply::count(before.map_or(0, |(_, length)| length)));
    }
    let end = offset.checked_add(new.len());
    if end.is_none_or(|end| end > PART_BYTES_MAX) {
        return Err(too_long());
    }
    let length = data.overwrite(line.part(1), before, (offset, new))?;
    data.event(STRING, "setrange", line.part(1))?;
    Ok(Reply::count(length))
}
