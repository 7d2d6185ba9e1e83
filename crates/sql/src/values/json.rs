//! JSON: texts of values, as PostgreSQL writes them: numbers, booleans and nulls as they are, arrays as arrays, JSON
//! as it stands, and all others in quotes.
//!
//! Source: PostgreSQL's documentation, 9.16 (table 9.47).

use super::arrays::Array;
use crate::error::{SqlError, code};
use crate::text::{decode_text, text_of};
use crate::types::SqlType;
use sardonyx::schema::{Value, ValueRef};

/// Checks that a text is JSON.
///
/// # Errors
/// `22P02`
pub(crate) fn check(text: &str) -> Result<(), SqlError> {
    match serde_json::from_str::<serde::de::IgnoredAny>(text) {
        Ok(_) => Ok(()),
        Err(error) => Err(
            SqlError::new(code::INVALID_TEXT, "invalid input syntax for type json")
                .detail(error.to_string()),
        ),
    }
}

pub(crate) fn push_text(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            low if low < ' ' => *out += &format!("\\u{:04x}", u32::from(low)),
            other => out.push(other),
        }
    }
    out.push('"');
}

fn is_number(kind: SqlType) -> bool {
    kind.is_number() && !matches!(kind, SqlType::Oid | SqlType::Regclass)
}

/// Writes a value of a type.
///
/// # Errors
/// `22P02` if an array's element is none of its type.
pub(crate) fn push_value(
    kind: SqlType,
    value: ValueRef<'_>,
    out: &mut String,
) -> Result<(), SqlError> {
    let text = || text_of(kind, value).unwrap_or_default();
    match (value, kind) {
        (ValueRef::Null, _) => out.push_str("null"),
        (ValueRef::Bool(value), _) => out.push_str(if value { "true" } else { "false" }),
        (ValueRef::Float(value), _) if !value.is_finite() => push_text(&text(), out),
        (_, kind) if is_number(kind) => out.push_str(&text()),
        (ValueRef::Text(text), SqlType::Json | SqlType::Jsonb) => out.push_str(text),
        (ValueRef::Text(text), kind) if kind.element().is_some() => {
            let element = kind.element().unwrap_or(SqlType::Text);
            push_array(element, &Array::known(text), out)?;
        }
        (ValueRef::Timestamp(_), kind) => {
            let mut text = text().replacen(' ', "T", 1);
            if kind == SqlType::Timestamptz {
                text += ":00";
            }
            push_text(&text, out);
        }
        _ => push_text(&text(), out),
    }
    Ok(())
}

fn push_array(kind: SqlType, array: &Array, out: &mut String) -> Result<(), SqlError> {
    if array.bounds.is_empty() {
        out.push_str("[]");
        return Ok(());
    }
    for (at, element) in array.elements.iter().enumerate() {
        let (mut size, mut opened) = (1, 0);
        for (_, length) in array.bounds.iter().rev() {
            size *= *length;
            opened += usize::from(at.is_multiple_of(size));
        }
        if at > 0 {
            *out += &"]".repeat(opened);
            out.push(',');
        }
        *out += &"[".repeat(opened);
        let value = match element {
            Some(text) => decode_text(kind, text)?,
            None => Value::Null,
        };
        push_value(kind, value.as_ref(), out)?;
    }
    *out += &"]".repeat(array.bounds.len());
    Ok(())
}

/// A value's text as the name of a field.
pub(crate) fn push_name(
    kind: SqlType,
    value: ValueRef<'_>,
    number: usize,
    out: &mut String,
) -> Result<(), SqlError> {
    let wrong = |message: String| SqlError::new(code::INVALID_PARAMETER_VALUE, message);
    if value == ValueRef::Null {
        let error = wrong(format!("argument {number} cannot be null"));
        return Err(error.hint("Object keys should be text."));
    }
    if matches!(kind, SqlType::Json | SqlType::Jsonb) || kind.element().is_some() {
        let text = "key value must be scalar, not array, composite, or json";
        return Err(wrong(text.into()));
    }
    match value {
        ValueRef::Bool(value) => push_text(if value { "true" } else { "false" }, out),
        value @ ValueRef::Timestamp(_) => push_value(kind, value, out)?,
        value => push_text(&text_of(kind, value).unwrap_or_default(), out),
    }
    Ok(())
}

/// A field of what `json_object_agg` gives: its name.
///
/// # Errors
/// `22023` if it is null.
pub(crate) fn push_field(name: &Value, out: &mut String) -> Result<(), SqlError> {
    match name {
        Value::Text(name) => push_text(name, out),
        _ => {
            let text = "field name must not be null";
            return Err(SqlError::new(code::INVALID_PARAMETER_VALUE, text));
        }
    }
    Ok(())
}
