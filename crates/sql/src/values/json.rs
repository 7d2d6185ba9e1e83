//! JSON: values as text, as PostgreSQL writes them. Numbers, booleans, nulls and JSON are written unchanged, arrays as
//! arrays, and all others in quotes.
//!
//! Source: PostgreSQL's documentation, 9.16 (table 9.47).

use super::arrays::Array;
use super::hstore::Hstore;
use crate::error::{SqlError, code};
use crate::text::{decode_text, text_of};
use crate::types::SqlType;
use crate::values::infinity::is_infinite;
use sardonyx::schema::{Value, ValueRef};

/// Checks that a text is JSON.
///
/// # Errors
/// `22P02`
pub(crate) fn check(text: &str) -> Result<(), SqlError> {
    match serde_json::from_str::<serde::de::IgnoredAny>(text) {
        Ok(_) => check_depth(text),
        Err(error) => Err(
            SqlError::new(code::INVALID_TEXT, "invalid input syntax for type json")
                .detail(error.to_string()),
        ),
    }
}

/// The most levels of nested arrays and objects: trees of them are walked by recursion.
pub(crate) const DEPTH_MAX: usize = 1000;

/// The error of a value deeper than [`DEPTH_MAX`].
pub(crate) fn too_deep() -> SqlError {
    SqlError::new(code::TOO_COMPLEX, "stack depth limit exceeded").detail(format!(
        "Arrays and objects of JSON are nested more than {DEPTH_MAX} deep."
    ))
}

/// Checks the depth of a text, without recursion.
fn check_depth(text: &str) -> Result<(), SqlError> {
    let (mut depth, mut is_quoted) = (0_usize, false);
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'\\' if is_quoted => drop(bytes.next()),
            b'[' | b'{' if !is_quoted => depth += 1,
            b']' | b'}' if !is_quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEPTH_MAX {
            return Err(too_deep());
        }
    }
    Ok(())
}

/// Checks that the escapes of a JSON text are valid characters of a text.
///
/// # Errors
/// `22P02` for half of a surrogate pair; `22P05` for the character zero.
pub(crate) fn check_escapes(text: &str) -> Result<(), SqlError> {
    let wrong = |detail: &str| {
        Err(SqlError::new(code::INVALID_TEXT, "invalid input syntax for type json").detail(detail))
    };
    const LOW: &str = "Unicode low surrogate must follow a high surrogate.";
    let (mut at, mut is_high) = (0, false);
    while at < text.len() {
        let escaped = match text.as_bytes().get(at..at + 2) {
            Some(b"\\u") => text.get(at + 2..at + 6),
            _ => None,
        };
        let unit = escaped.and_then(|digits| u16::from_str_radix(digits, 16).ok());
        match unit {
            Some(0xd800..=0xdbff) if is_high => {
                return wrong("Unicode high surrogate must not follow a high surrogate.");
            }
            Some(0xdc00..=0xdfff) if !is_high => return wrong(LOW),
            Some(0xdc00..=0xdfff) => is_high = false,
            _ if is_high => return wrong(LOW),
            Some(0) => {
                let message = "unsupported Unicode escape sequence";
                let error = SqlError::new("22P05", message);
                return Err(error.detail("\\u0000 cannot be converted to text."));
            }
            Some(unit) => is_high = matches!(unit, 0xd800..=0xdbff),
            None => {}
        }
        at += match (unit, text.as_bytes()[at]) {
            (Some(_), _) => 6,
            (None, b'\\') => 2,
            (None, _) => 1,
        };
    }
    Ok(())
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
    kind.is_number() && kind != SqlType::Oid && !kind.is_object()
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
        (ValueRef::NonFinite(_), _) => push_text(&text(), out),
        (_, kind) if is_number(kind) => out.push_str(&text()),
        (ValueRef::Text(text), SqlType::Json | SqlType::Jsonb) => out.push_str(text),
        (ValueRef::Text(text), SqlType::Hstore) => *out += &Hstore::known(text)?.json(false),
        (ValueRef::Text(text), kind) if kind.element().is_some() => {
            let element = kind.element().unwrap_or(SqlType::Text);
            push_array(element, &Array::known(text), out)?;
        }
        (ValueRef::Timestamp(_), kind) => {
            let mut text = text().replacen(' ', "T", 1);
            if kind == SqlType::Timestamptz && !is_infinite(value) {
                let era = text.len() - if text.ends_with(" BC") { 3 } else { 0 };
                text.insert_str(era, ":00");
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
    if matches!(kind, SqlType::Json | SqlType::Jsonb | SqlType::Hstore) || kind.element().is_some()
    {
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

/// Writes the name of a field of `json_object_agg`.
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
