//! The representation of values: `OBJECT` and `MEMORY`, for programs that ask.

use super::line::Line;
use super::words::{Words, is};
use super::{Command, reads, subcommands};
use crate::data::{Data, Elements, Entry, Kind, State};
use crate::failure::Failure;
use crate::number::parse_integer;
use crate::reply::Reply;
use crate::settings::Number;

pub(super) const COMMANDS: &[Command] = &[
    reads!(
        "object",
        -2,
        0,
        (2, 2, 1),
        object,
        "Says how a key's value is kept"
    ),
    reads!(
        "memory",
        -2,
        0,
        (2, 2, 1),
        memory,
        "Says about how many bytes a key takes"
    ),
];

/// Numbers that a Redis has once for all keys, and counts no references of.
const SHARED: std::ops::Range<i64> = 0..10_000;

/// About how a Redis of the usual settings would keep it: programs ask to learn whether a value is large.
fn object<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let word = line.part(1);
    if is(word, "help") {
        return Ok(subcommands::help("object"));
    }
    let Some(entry) = data.entry(line.part(2))? else {
        return Ok(Reply::Null);
    };
    if is(word, "freq") {
        return Err(Failure::Told(
            "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching \
             between policies at runtime LRU and LFU data will take some time to adjust.",
        ));
    }
    if is(word, "refcount") {
        let is_shared = |_: &Entry, value: &[u8]| {
            parse_integer(value).is_some_and(|number| SHARED.contains(&number))
        };
        let is_shared =
            entry.kind == Kind::String && data.with_string(line.part(2), is_shared)? == Some(true);
        return Ok(Reply::Int(match is_shared {
            true => i32::MAX.into(),
            false => 1,
        }));
    }
    if is(word, "idletime") {
        return Ok(Reply::Int(0));
    }
    Ok(Reply::Text(encoding(data, line.part(2), &entry)?))
}

/// The encoding that a Redis with these settings would use for a value created as it is now.
fn encoding<S: State>(
    data: &mut Data<'_, S>,
    key: &[u8],
    entry: &Entry,
) -> Result<&'static str, Failure> {
    let settings = &data.shared.settings;
    let [entries, value_bytes] = match entry.kind {
        Kind::Hash => [Number::HashEntries, Number::HashValue],
        Kind::Set => [Number::SetNumbers; 2],
        _ => [Number::SortedSetEntries, Number::SortedSetValue],
    }
    .map(|number| settings.number(number));
    let may_be_small = entry.length <= entries;
    let fits = |bytes: &[u8]| bytes.len() as u64 <= value_bytes;
    let mut is_small = may_be_small;
    match entry.kind {
        Kind::String => {
            let encoding = data.with_string(key, |_, value| match value {
                value if parse_integer(value).is_some() => "int",
                value if value.len() <= 44 => "embstr",
                _ => "raw",
            })?;
            return Ok(encoding.unwrap_or("raw"));
        }
        Kind::List => return Ok("quicklist"),
        Kind::Stream => return Ok("stream"),
        Kind::Unknown => return Ok("unknown"),
        Kind::Hash | Kind::Set | Kind::SortedSet if !may_be_small => {}
        Kind::Hash => data.walk(entry, None, |row| {
            let (field, value) = Elements::field(row)?;
            is_small = fits(field) && fits(value);
            Ok(is_small)
        })?,
        Kind::Set => data.walk(entry, None, |row| {
            is_small = parse_integer(Elements::name(row)?).is_some();
            Ok(is_small)
        })?,
        Kind::SortedSet => data.walk(entry, None, |row| {
            is_small = fits(Elements::name(row)?);
            Ok(is_small)
        })?,
    }
    Ok(match (entry.kind, is_small) {
        (Kind::Set, true) => "intset",
        (_, true) => "listpack",
        (Kind::SortedSet, false) => "skiplist",
        (_, false) => "hashtable",
    })
}

/// Bytes of a row besides its columns: its fixed part, and its entries in indexes.
const ROW_BYTES: i64 = 112;

fn memory<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let word = line.part(1);
    if is(word, "doctor") {
        return Ok(Reply::Text(
            "Values stand in tables; SQL and the server's statistics say how large those are.",
        ));
    }
    if is(word, "help") {
        return Ok(subcommands::help("memory"));
    }
    let mut words = Words::from(line, 3);
    while words.left() > 0 {
        let samples = match words.take("samples") {
            true => words.integer()?,
            false => return Err(Failure::Syntax),
        };
        if samples < 0 {
            return Err(Failure::Syntax);
        }
    }
    let Some(entry) = data.entry(line.part(2))? else {
        return Ok(Reply::Null);
    };
    let value = match entry.kind {
        Kind::String => data
            .with_string(line.part(2), |_, value| value.len() as i64)?
            .unwrap_or(0),
        _ => entry.length as i64 * ROW_BYTES,
    };
    Ok(Reply::Int(ROW_BYTES + line.part(2).len() as i64 + value))
}
