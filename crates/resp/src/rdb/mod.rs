//! Values as Redis serialises them: the payloads of `DUMP` and `RESTORE`, and the keys of a file ([`mod@file`]).
//!
//! A payload is a byte of the value's type, the value, the format's version, and a checksum of all bytes before it.
//! Values are written in the forms that every Redis since 7.0 reads (version 10). They are read in all forms of Redis
//! up to 7.2: ziplists, zipmaps, listpacks, sets of integers, quicklists, streams, texts compressed by LZF. Modules'
//! values, and the fields with a time of Redis 7.4, are refused.
//!
//! Invariants: no input makes a reader panic; `DECODED_BYTES_MAX`, `TEXT_BYTES_MAX` and `ELEMENTS_MAX` bound a
//! value's memory, with any lengths in the input. A value that is read has no two equal members. It is not empty unless
//! it is a string or a stream.
//!
//! Source: `rdb.c`, `listpack.c`, `ziplist.c`, `zipmap.c`, `intset.c` and `t_stream.c` of Redis 7.0, for the formats alone.

#![deny(clippy::indexing_slicing)]

mod checksum;
mod extent;
pub mod file;
mod input;
mod lengths;
mod output;
mod packed;
mod streams;

pub use checksum::checksum;

use input::{Input, Taken, number_of};
use lengths::Lengths;
use output::Output;
use packed::{intset, listpack, ziplist, zipmap};
use std::collections::HashSet;

/// The version of the format that is written: that of Redis 7.0.
pub(crate) const VERSION: u16 = 10;
/// The newest version that is read.
const VERSION_MAX: u16 = 12;
/// The most bytes of a value's texts, decompressed.
pub(crate) const DECODED_BYTES_MAX: usize = 64 << 20;
/// The most bytes of one text, decompressed: no value that is stored is longer.
pub(crate) const TEXT_BYTES_MAX: usize = sardonyx::schema::VALUE_BYTES_MAX;
/// The most elements of a value that is read. All clients wait while they are stored, and a payload of some kilobytes may
/// have them: a command that brings each has to be as long as they are.
pub(crate) const ELEMENTS_MAX: usize = 1 << 18;
/// Version and checksum, at the end of a payload.
const FOOTER_BYTES: usize = 10;

/// Types of values, as they are written.
mod kind {
    pub const STRING: u8 = 0;
    pub const LIST: u8 = 1;
    pub const SET: u8 = 2;
    pub const SORTED_SET_TEXT: u8 = 3;
    pub const HASH: u8 = 4;
    pub const SORTED_SET: u8 = 5;
    pub const HASH_ZIPMAP: u8 = 9;
    pub const LIST_ZIPLIST: u8 = 10;
    pub const SET_INTSET: u8 = 11;
    pub const SORTED_SET_ZIPLIST: u8 = 12;
    pub const HASH_ZIPLIST: u8 = 13;
    pub const QUICKLIST: u8 = 14;
    pub const STREAM: u8 = 15;
    pub const HASH_LISTPACK: u8 = 16;
    pub const SORTED_SET_LISTPACK: u8 = 17;
    pub const QUICKLIST_2: u8 = 18;
    pub const STREAM_2: u8 = 19;
    pub const SET_LISTPACK: u8 = 20;
    pub const STREAM_3: u8 = 21;
}

/// Why bytes are no value.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RdbError {
    /// They end too early.
    #[error("the bytes end within a value, at offset {0}")]
    Short(usize),
    /// Something that the format does not have.
    #[error("{what} at offset {at}")]
    Malformed {
        /// Its name.
        what: &'static str,
        /// The offset in the given bytes.
        at: usize,
    },
    /// A type that is not read here.
    #[error("a value of type {0} is not supported")]
    Kind(u8),
    /// The version of another Redis, or another checksum.
    #[error("version {version} or the checksum is wrong")]
    Footer {
        /// The version that they say.
        version: u16,
    },
    /// The value is larger than the bound of a single value.
    #[error(
        "the value has more than {ELEMENTS_MAX} elements, {DECODED_BYTES_MAX} bytes, or {TEXT_BYTES_MAX} bytes in one text"
    )]
    TooLarge,
}

/// The value of a key, of any type, out of a payload or a file.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// A string.
    String(Vec<u8>),
    /// A list's elements.
    List(Vec<Vec<u8>>),
    /// A set's members.
    Set(Vec<Vec<u8>>),
    /// A sorted set's members with their scores.
    SortedSet(Vec<(Vec<u8>, f64)>),
    /// A hash's fields with their values.
    Hash(Vec<(Vec<u8>, Vec<u8>)>),
    /// A stream.
    Stream(StreamValue),
}

/// The id of an entry: milliseconds, and a number.
pub type Id = (u64, u64);

/// A stream's entries and groups.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct StreamValue {
    /// Each with its fields and values, one after the other.
    pub entries: Vec<(Id, Vec<Vec<u8>>)>,
    /// The greatest id that an entry has had.
    pub last: Id,
    /// The greatest id of an entry that was deleted.
    pub deleted: Id,
    /// The number of entries added.
    pub added: u64,
    /// Groups of consumers.
    pub groups: Vec<GroupValue>,
}

/// A group of consumers.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct GroupValue {
    /// Its name.
    pub name: Vec<u8>,
    /// The last entry that it delivered.
    pub last: Id,
    /// The number of entries delivered, if known.
    pub read: Option<i64>,
    /// Consumers, and when each was seen last, in milliseconds since 1970.
    pub consumers: Vec<(Vec<u8>, i64)>,
    /// Entries that were delivered and are not acknowledged.
    pub pending: Vec<PendingValue>,
}

/// An entry that a consumer has not acknowledged.
#[derive(Clone, PartialEq, Debug)]
pub struct PendingValue {
    /// The entry.
    pub id: Id,
    /// The consumer's place in [`GroupValue::consumers`].
    pub consumer: usize,
    /// When it was delivered last, in milliseconds since 1970.
    pub delivered: i64,
    /// Deliveries so far: one, and those by `XCLAIM` and the like.
    pub deliveries: u64,
}

/// The payload between its beginning and its footer, which is right.
///
/// # Errors
/// [`RdbError::Footer`].
pub(crate) fn unsealed(payload: &[u8]) -> Result<&[u8], RdbError> {
    let wrong = RdbError::Footer { version: 0 };
    let end = payload.len().checked_sub(FOOTER_BYTES);
    let (body, footer) = end
        .and_then(|end| payload.split_at_checked(end))
        .ok_or(wrong.clone())?;
    let (version, sum) = footer.split_first_chunk::<2>().ok_or(wrong.clone())?;
    let version = u16::from_le_bytes(*version);
    let wrong = RdbError::Footer { version };
    let sum = u64::from_le_bytes(sum.try_into().map_err(|_| wrong.clone())?);
    let summed = payload.get(..payload.len() - size_of::<u64>());
    match version <= VERSION_MAX && summed.is_some_and(|bytes| checksum(0, bytes) == sum) {
        true => Ok(body),
        false => Err(wrong),
    }
}

/// The value of a payload of `DUMP`.
///
/// # Errors
/// Why it is none.
pub fn decode(payload: &[u8]) -> Result<Value, RdbError> {
    measured(payload).map(|(value, _)| value)
}

/// The same, with what the value has taken of its bounds.
pub(crate) fn measured(payload: &[u8]) -> Result<(Value, Taken), RdbError> {
    let body = unsealed(payload)?;
    let mut input = Input::new(body);
    let kind = input.byte()?;
    let value = value(&mut input, kind)?;
    match input.is_empty() {
        true => Ok((value, input.taken())),
        false => Err(input.wrong("bytes behind the value")),
    }
}

/// The payload of a value, as `DUMP` answers it.
pub fn encode(value: &Value) -> Vec<u8> {
    let mut output = Output::default();
    match value {
        Value::String(text) => {
            output.byte(kind::STRING);
            output.text(text);
        }
        Value::List(elements) => texts(&mut output, kind::LIST, elements),
        Value::Set(members) => texts(&mut output, kind::SET, members),
        Value::Hash(fields) => {
            output.byte(kind::HASH);
            output.length(fields.len() as u64);
            for (field, value) in fields {
                output.text(field);
                output.text(value);
            }
        }
        Value::SortedSet(members) => {
            output.byte(kind::SORTED_SET);
            output.length(members.len() as u64);
            for (member, score) in members {
                output.text(member);
                output.bytes(&score.to_le_bytes());
            }
        }
        Value::Stream(stream) => {
            output.byte(kind::STREAM_2);
            streams::write(&mut output, stream);
        }
    }
    output.sealed()
}

fn texts(output: &mut Output, kind: u8, texts: &[Vec<u8>]) {
    output.byte(kind);
    output.length(texts.len() as u64);
    texts.iter().for_each(|text| output.text(text));
}

/// The mark before a library of functions.
const LIBRARY: u8 = 245;

/// The payload of libraries, as `FUNCTION DUMP` answers it.
pub(crate) fn encode_libraries<'c>(codes: impl Iterator<Item = &'c [u8]>) -> Vec<u8> {
    let mut output = Output::default();
    for code in codes {
        output.byte(LIBRARY);
        output.text(code);
    }
    output.sealed()
}

/// The codes of the libraries of a payload.
///
/// # Errors
/// Why it has none.
pub fn decode_libraries(payload: &[u8]) -> Result<Vec<Vec<u8>>, RdbError> {
    let mut input = Input::new(unsealed(payload)?);
    let mut codes = Vec::new();
    while !input.is_empty() {
        match input.byte()? {
            LIBRARY => codes.push(input.element()?),
            kind => return Err(RdbError::Kind(kind)),
        }
    }
    Ok(codes)
}

/// Reads a value of a type.
fn value(input: &mut Input<'_>, kind: u8) -> Result<Value, RdbError> {
    let value = match kind {
        kind::STRING => Value::String(input.text()?),
        kind::LIST => Value::List(input.texts(1)?),
        kind::LIST_ZIPLIST => Value::List(input.packed(ziplist)?),
        kind::QUICKLIST => {
            let mut elements = Vec::new();
            for _ in 0..input.length()? {
                elements.extend(input.packed(ziplist)?);
            }
            Value::List(elements)
        }
        kind::QUICKLIST_2 => {
            let mut elements = Vec::new();
            for _ in 0..input.length()? {
                match input.length()? {
                    1 => elements.push(input.element()?),
                    2 => elements.extend(input.packed(listpack)?),
                    _ => return Err(input.wrong("a quicklist's node of no kind")),
                }
            }
            Value::List(elements)
        }
        kind::SET => Value::Set(input.texts(1)?),
        kind::SET_INTSET => Value::Set(input.packed(intset)?),
        kind::SET_LISTPACK => Value::Set(input.packed(listpack)?),
        kind::HASH => Value::Hash(pairs(input.texts(2)?)),
        kind::HASH_ZIPMAP => Value::Hash(pairs(input.packed(zipmap)?)),
        kind::HASH_ZIPLIST => Value::Hash(pairs(input.even(ziplist)?)),
        kind::HASH_LISTPACK => Value::Hash(pairs(input.even(listpack)?)),
        kind::SORTED_SET | kind::SORTED_SET_TEXT => {
            let mut members = Vec::new();
            for _ in 0..input.length()? {
                let member = input.element()?;
                let score = match kind {
                    kind::SORTED_SET => f64::from_le_bytes(input.array()?),
                    _ => input.score_text()?,
                };
                members.push((member, score));
            }
            Value::SortedSet(members)
        }
        kind::SORTED_SET_ZIPLIST => scored(input, ziplist)?,
        kind::SORTED_SET_LISTPACK => scored(input, listpack)?,
        kind::STREAM | kind::STREAM_2 | kind::STREAM_3 => {
            Value::Stream(streams::read(input, kind)?)
        }
        kind => return Err(RdbError::Kind(kind)),
    };
    check(&value, input)?;
    Ok(value)
}

fn pairs(texts: Vec<Vec<u8>>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut pairs = Vec::with_capacity(texts.len() / 2);
    let mut texts = texts.into_iter();
    while let (Some(field), Some(value)) = (texts.next(), texts.next()) {
        pairs.push((field, value));
    }
    pairs
}

type Packed = fn(&mut Input<'_>) -> Result<Vec<Vec<u8>>, RdbError>;

fn scored(input: &mut Input<'_>, packed: Packed) -> Result<Value, RdbError> {
    let mut members = Vec::new();
    for (member, score) in pairs(input.even(packed)?) {
        let score = number_of(&score).ok_or_else(|| input.wrong("a score that is no number"))?;
        members.push((member, score));
    }
    Ok(Value::SortedSet(members))
}

/// True if no two names are equal. A payload may have many, so a set finds equal ones.
fn are_once<'v>(mut names: impl Iterator<Item = &'v Vec<u8>>) -> bool {
    let mut seen = HashSet::new();
    names.all(|name| seen.insert(name))
}

/// A value of elements has some, each once, and scores are numbers.
fn check(value: &Value, input: &Input<'_>) -> Result<(), RdbError> {
    let (count, is_right) = match value {
        Value::String(_) | Value::Stream(_) => return Ok(()),
        Value::List(elements) => (elements.len(), true),
        Value::Set(members) => (members.len(), are_once(members.iter())),
        Value::Hash(fields) => (fields.len(), are_once(fields.iter().map(|(name, _)| name))),
        Value::SortedSet(members) => {
            let are_numbers = members.iter().all(|(_, score)| !score.is_nan());
            let names = members.iter().map(|(name, _)| name);
            (members.len(), are_numbers && are_once(names))
        }
    };
    match (count, is_right) {
        (0, _) => Err(input.wrong("a value without elements")),
        (_, false) => {
            Err(input.wrong("a member that is there twice, or a score that is no number"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "a test's own bytes")]
mod tests;
