//! `LIKE` of bytes, and patterns of `LIKE` with another escape character.
//!
//! `LIKE` of bytes takes each byte as the character of its number, so that `_` is one byte, as in PostgreSQL.
//!
//! Source: `like_match.c` of PostgreSQL.

use super::bytes::bytes;
use super::definition::*;
use super::similar::escape;
use super::texts::check_length;
use crate::expression::evaluate::is_like;
use sardonyx::schema::Value;

pub(super) static TABLE: &[Definition] = functions! {
    bytealike(BYTEA, BYTEA) -> BOOL, |a, _| is_like_bytes(a), "`bytea LIKE bytea`";
    like_escape(BYTEA, BYTEA) -> BYTEA, |a, _| escaped_bytes(a), "a pattern of `LIKE` for bytes with another escape byte, or without one, as a usual one";
    like_escape(TEXT, TEXT) -> TEXT, |a, _| escaped(a), "a pattern of `LIKE` with another escape character, or without one, as a usual one";
};

/// Bytes as the characters of their numbers.
fn characters(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

fn is_like_bytes(a: Arguments<'_>) -> Answer {
    let (of, pattern) = (characters(bytes(a, 0)), characters(bytes(a, 1)));
    Ok(Value::Bool(is_like(&of, &pattern, Some('\\'), false)?))
}

fn escaped(a: Arguments<'_>) -> Answer {
    let pattern = with_backslashes(a.text(0), escape(a.text(1))?);
    check_length(pattern.len())?;
    text(pattern)
}

fn escaped_bytes(a: Arguments<'_>) -> Answer {
    let escape = escape(&characters(bytes(a, 1)))?;
    let pattern = with_backslashes(&characters(bytes(a, 0)), escape);
    check_length(pattern.len())?;
    let bytes = pattern.chars().map(|letter| letter as u32 as u8);
    Ok(Value::Bytes(bytes.collect()))
}

/// A pattern in which backslashes escape.
fn with_backslashes(pattern: &str, escape: Option<char>) -> String {
    let mut made = String::with_capacity(pattern.len() + 8);
    let mut is_escaped = false;
    for letter in pattern.chars() {
        if Some(letter) == escape && !is_escaped {
            made.push('\\');
            is_escaped = true;
            continue;
        }
        if letter == '\\' && !is_escaped {
            made.push('\\');
        }
        made.push(letter);
        is_escaped = false;
    }
    made
}
