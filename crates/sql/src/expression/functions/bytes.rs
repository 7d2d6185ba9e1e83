//! Functions of bytes: parts of them, searches, and texts in an encoding.

use super::definition::*;
use super::texts::check_length;
use crate::error::{SqlError, code};
use crate::values::arithmetic::float_of;
use sardonyx::schema::{Value, ValueRef};

pub(super) static TABLE: &[Definition] = functions! {
    bit_count(BYTEA) -> INT8, |a, _| int(bytes(a, 0).iter().map(|byte| i64::from(byte.count_ones())).sum::<i64>()), "number of bits that are set";
    btrim(BYTEA, BYTEA) -> BYTEA, |a, _| Ok(trimmed(a, true, true)), "without these bytes at both ends";
    byteacat(BYTEA, BYTEA) -> BYTEA, |a, _| concatenated(a), "bytes of both, one behind the other";
    convert_from(BYTEA, TEXT) -> TEXT, |a, _| from_encoding(a), "text that bytes are in UTF8";
    convert_to(TEXT, TEXT) -> BYTEA, |a, _| to_encoding(a), "bytes of a text in UTF8";
    float4send(FLOAT4) -> BYTEA, |a, _| Ok(Value::Bytes((float_of(a.value(0)) as f32).to_be_bytes().to_vec())), "bytes of a float, as it is sent in binary";
    float8send(FLOAT8) -> BYTEA, |a, _| Ok(Value::Bytes(float_of(a.value(0)).to_be_bytes().to_vec())), "bytes of a float, as it is sent in binary";
    get_bit(BYTEA, INT8) -> INT4, |a, _| bit_at(a), "bit at a place, from 0; the first of a byte is its lowest";
    get_byte(BYTEA, INT4) -> INT4, |a, _| byte_at(a), "byte at a place, from 0";
    ltrim(BYTEA, BYTEA) -> BYTEA, |a, _| Ok(trimmed(a, true, false)), "without these bytes before it";
    position(BYTEA, BYTEA) -> INT4, |a, _| place(bytes(a, 0), bytes(a, 1)), "place of the second bytes, from 1; 0 if they are not found";
    rtrim(BYTEA, BYTEA) -> BYTEA, |a, _| Ok(trimmed(a, false, true)), "without these bytes behind it";
    set_bit(BYTEA, INT8, INT4) -> BYTEA, |a, _| with_bit(a), "with another bit at a place, from 0";
    set_byte(BYTEA, INT4, INT4) -> BYTEA, |a, _| with_byte(a), "with another byte at a place, from 0";
    substr(BYTEA, INT4) -> BYTEA, |a, _| part(a, None), "bytes from a place on, from 1";
    substr(BYTEA, INT4, INT4) -> BYTEA, |a, _| part(a, Some(a.int(2))), "so many bytes from a place on, from 1";
    substring(BYTEA, INT4) -> BYTEA, |a, _| part(a, None), "bytes from a place on, from 1";
    substring(BYTEA, INT4, INT4) -> BYTEA, |a, _| part(a, Some(a.int(2))), "so many bytes from a place on, from 1";
};

pub(super) fn bytes<'v>(a: Arguments<'v>, at: usize) -> &'v [u8] {
    match a.value(at) {
        ValueRef::Bytes(bytes) => bytes,
        _ => &[],
    }
}

/// The place of bytes in others, from 1.
fn place(of: &[u8], sought: &[u8]) -> Answer {
    if sought.is_empty() {
        return int(1);
    }
    let found = of.windows(sought.len()).position(|part| part == sought);
    int(found.map_or(0, |at| at + 1))
}

/// Removes the given bytes at the ends.
fn trimmed(a: Arguments<'_>, is_before: bool, is_behind: bool) -> Value {
    let (mut of, cut) = (bytes(a, 0), bytes(a, 1));
    while let (true, [first, rest @ ..]) = (is_before, of)
        && cut.contains(first)
    {
        of = rest;
    }
    while let (true, [rest @ .., last]) = (is_behind, of)
        && cut.contains(last)
    {
        of = rest;
    }
    Value::Bytes(of.to_vec())
}

fn concatenated(a: Arguments<'_>) -> Answer {
    let (left, right) = (bytes(a, 0), bytes(a, 1));
    check_length(left.len().saturating_add(right.len()))?;
    Ok(Value::Bytes([left, right].concat()))
}

/// Refuses encodings other than that of all texts.
fn check_encoding(name: &str, what: &str) -> Result<(), SqlError> {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    match plain.to_ascii_lowercase().as_str() {
        "utf8" | "unicode" => Ok(()),
        "latin1" | "iso88591" | "sqlascii" | "win1252" | "windows1252" => Err(
            SqlError::unsupported(format!("the encoding \"{name}\" is not supported")),
        ),
        _ => Err(SqlError::new(
            code::INVALID_PARAMETER_VALUE,
            format!("invalid {what}encoding name \"{name}\""),
        )),
    }
}

fn to_encoding(a: Arguments<'_>) -> Answer {
    check_encoding(a.text(1), "destination ")?;
    Ok(Value::Bytes(a.text(0).as_bytes().to_vec()))
}

fn from_encoding(a: Arguments<'_>) -> Answer {
    check_encoding(a.text(1), "source ")?;
    read(a).map(|read| Value::Text(read.to_string()))
}

/// The text that the first argument's bytes are.
fn read<'v>(a: Arguments<'v>) -> Result<&'v str, SqlError> {
    let read = std::str::from_utf8(bytes(a, 0)).ok();
    read.filter(|text| !text.contains('\0'))
        .ok_or_else(|| SqlError::new("22021", "invalid byte sequence for encoding \"UTF8\""))
}

/// The number of characters of bytes in an encoding.
pub(super) fn characters(a: Arguments<'_>) -> Answer {
    check_encoding(a.text(1), "")?;
    int(read(a)?.chars().count())
}

/// The second argument as a place of so many.
///
/// # Errors
/// `2202E` if there is none.
fn place_of(a: Arguments<'_>, count: usize) -> Result<usize, SqlError> {
    let place = usize::try_from(a.int(1)).ok().filter(|at| *at < count);
    place.ok_or_else(|| {
        let (given, last) = (a.int(1), count as i64 - 1);
        SqlError::new(
            "2202E",
            format!("index {given} out of valid range, 0..{last}"),
        )
    })
}

fn byte_at(a: Arguments<'_>) -> Answer {
    let bytes = bytes(a, 0);
    int(bytes[place_of(a, bytes.len())?])
}

fn bit_at(a: Arguments<'_>) -> Answer {
    let bytes = bytes(a, 0);
    let at = place_of(a, bytes.len() * 8)?;
    int(bytes[at / 8] >> (at % 8) & 1)
}

fn with_bit(a: Arguments<'_>) -> Answer {
    let mut changed = bytes(a, 0).to_vec();
    let at = place_of(a, changed.len() * 8)?;
    let bit = 1 << (at % 8);
    match a.int(2) {
        0 => changed[at / 8] &= !bit,
        1 => changed[at / 8] |= bit,
        _ => {
            let text = "new bit must be 0 or 1";
            return Err(SqlError::new(code::INVALID_PARAMETER_VALUE, text));
        }
    }
    Ok(Value::Bytes(changed))
}

fn with_byte(a: Arguments<'_>) -> Answer {
    let mut changed = bytes(a, 0).to_vec();
    let at = place_of(a, changed.len())?;
    // As PostgreSQL: the lowest byte of the number.
    changed[at] = a.int(2) as u8;
    Ok(Value::Bytes(changed))
}

fn part(a: Arguments<'_>, length: Option<i64>) -> Answer {
    let start = a.int(1);
    if length.is_some_and(|length| length < 0) {
        return Err(SqlError::new(
            "22011",
            "negative substring length not allowed",
        ));
    }
    let end = length.map_or(i64::MAX, |length| start.saturating_add(length));
    let first = start.max(1);
    let taken = usize::try_from(end.saturating_sub(first)).unwrap_or(0);
    let skipped = usize::try_from(first - 1).unwrap_or(usize::MAX);
    let part = bytes(a, 0).iter().skip(skipped).take(taken);
    Ok(Value::Bytes(part.copied().collect()))
}
