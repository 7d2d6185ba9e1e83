//! Functions of texts.

use super::Datum;
use super::datum::{int_at, text_at};
use super::function::Function;
use crate::error::{SqlError, code};
use crate::text::text_of;
use crate::types::SqlType;
use sardonyx::schema::{VALUE_BYTES_MAX, Value, ValueRef};

pub(super) fn texts<'v>(values: &'v [Datum<'_>]) -> impl Iterator<Item = String> + 'v {
    values
        .iter()
        .map(Datum::as_ref)
        .filter_map(|value| match value {
            ValueRef::Bool(_) => text_of(SqlType::Bool, value),
            _ => text_of(SqlType::Text, value),
        })
}

pub(super) fn check_length(bytes: usize) -> Result<(), SqlError> {
    match bytes <= VALUE_BYTES_MAX {
        true => Ok(()),
        false => Err(SqlError::new(
            code::PROGRAM_LIMIT,
            format!("a text of {bytes} bytes is too long: {VALUE_BYTES_MAX} are allowed"),
        )),
    }
}

/// The character that is the only one of the other case; itself if there are several.
fn in_case(character: char, mut others: impl Iterator<Item = char>) -> char {
    match (others.next(), others.next()) {
        (Some(other), None) => other,
        _ => character,
    }
}

pub(super) fn lower(character: char) -> char {
    in_case(character, character.to_lowercase())
}

pub(super) fn upper(character: char) -> char {
    in_case(character, character.to_uppercase())
}

pub(super) fn init_cap(text: &str) -> String {
    let mut inside = false;
    let mut result = String::with_capacity(text.len());
    for character in text.chars() {
        match inside {
            true => result.push(lower(character)),
            false => result.push(upper(character)),
        }
        inside = character.is_alphanumeric();
    }
    result
}

pub(super) fn substring(text: &str, values: &[Datum<'_>]) -> Result<Value, SqlError> {
    let start = int_at(values, 1).unwrap_or(1);
    let end = match values.len() {
        3.. => {
            let length = int_at(values, 2).unwrap_or(0);
            if length < 0 {
                return Err(SqlError::new(
                    "22011",
                    "negative substring length not allowed",
                ));
            }
            start.saturating_add(length)
        }
        _ => i64::MAX,
    };
    let first = start.max(1);
    let taken = usize::try_from(end.saturating_sub(first)).unwrap_or(0);
    let skipped = usize::try_from(first - 1).unwrap_or(usize::MAX);
    Ok(Value::Text(
        text.chars().skip(skipped).take(taken).collect(),
    ))
}

pub(super) fn padded(function: Function, values: &[Datum<'_>]) -> Result<Value, SqlError> {
    let text = text_at(values, 0).unwrap_or_default();
    let width = usize::try_from(int_at(values, 1).unwrap_or(0)).unwrap_or(0);
    let fill = text_at(values, 2).unwrap_or(" ");
    check_length(width.saturating_mul(4))?;
    let length = text.chars().count();
    let missing = width.saturating_sub(length);
    let filling: String = match fill.is_empty() {
        true => String::new(),
        false => fill.chars().cycle().take(missing).collect(),
    };
    let kept: String = text.chars().take(width).collect();
    Ok(Value::Text(match function {
        Function::Lpad => filling + &kept,
        _ => kept + &filling,
    }))
}

pub(super) fn split_part(values: &[Datum<'_>]) -> Result<Value, SqlError> {
    let (text, separator) = (
        text_at(values, 0).unwrap_or_default(),
        text_at(values, 1).unwrap_or_default(),
    );
    let parts: Vec<&str> = match separator.is_empty() {
        true => vec![text],
        false => text.split(separator).collect(),
    };
    let part = match int_at(values, 2).unwrap_or(0) {
        0 => {
            return Err(SqlError::new(
                code::INVALID_PARAMETER_VALUE,
                "field position must not be zero",
            ));
        }
        at @ 1.. => parts.get(at as usize - 1),
        back => parts
            .len()
            .checked_sub(back.unsigned_abs() as usize)
            .and_then(|at| parts.get(at)),
    };
    Ok(Value::Text(part.copied().unwrap_or_default().to_string()))
}
