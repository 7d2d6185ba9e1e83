//! JSON: values as text, as PostgreSQL writes them. Numbers, booleans, nulls and JSON are written unchanged, arrays as
//! arrays, and all others in quotes.
//!
//! Source: PostgreSQL's documentation, 9.16 (table 9.47).

use super::arrays::{Array, element_value};
use super::hstore::Hstore;
use super::json_text::push_text;
use super::zones::SessionZone;
use super::{composites, records};
use crate::error::{SqlError, code};
use crate::text::{text_in, text_of};
use crate::types::SqlType;
use sardonyx::schema::{Value, ValueRef};

fn is_number(kind: SqlType) -> bool {
    kind.is_number() && kind != SqlType::Oid && !kind.is_object()
}

/// Writes a value of a type, with moments in a session's time zone, which is UTC if there is none.
///
/// # Errors
/// `22P02` if an array's element is none of its type.
pub(crate) fn push_value(
    kind: SqlType,
    value: ValueRef<'_>,
    zone: Option<&SessionZone>,
    out: &mut String,
) -> Result<(), SqlError> {
    let text = || text_in(kind, value, zone).unwrap_or_default();
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
            push_array(element, &Array::known(text), zone, out)?;
        }
        (ValueRef::Text(text), SqlType::Composite(of)) => {
            let record = composites::to_record(of, text)?;
            push_value(SqlType::Record, record.as_ref(), zone, out)?;
        }
        (ValueRef::Bytes(record), SqlType::Record) => {
            out.push('{');
            for (at, field) in records::fields(record)?.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                push_text(field.name, out);
                out.push(':');
                push_value(field.kind, field.value, zone, out)?;
            }
            out.push('}');
        }
        (ValueRef::Timestamp(_), SqlType::Timestamptz) => push_text(&moment(&text()), out),
        (ValueRef::Timestamp(_), _) => push_text(&text().replacen(' ', "T", 1), out),
        _ => push_text(&text(), out),
    }
    Ok(())
}

/// The text of a moment, with its distance from UTC, in JSON.
pub(crate) fn moment(text: &str) -> String {
    let (moment, era) = match text.strip_suffix(" BC") {
        Some(moment) => (moment, " BC"),
        None => (text, ""),
    };
    let mut shown = moment.replacen(' ', "T", 1);
    // The minutes of the distance are always written.
    let is_short = |at: usize| shown.as_bytes().get(at).is_some_and(|c| b"+-".contains(c));
    if shown.len().checked_sub(3).is_some_and(is_short) {
        shown.push_str(":00");
    }
    shown + era
}

fn push_array(
    kind: SqlType,
    array: &Array,
    zone: Option<&SessionZone>,
    out: &mut String,
) -> Result<(), SqlError> {
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
            Some(text) => element_value(kind, text)?,
            None => Value::Null,
        };
        push_value(kind, value.as_ref(), zone, out)?;
    }
    *out += &"]".repeat(array.bounds.len());
    Ok(())
}

/// True for a type whose values are no names of fields.
pub(crate) fn is_no_name(kind: SqlType) -> bool {
    let has_parts = matches!(
        kind,
        SqlType::Json | SqlType::Jsonb | SqlType::Hstore | SqlType::Record | SqlType::Composite(_)
    );
    has_parts || kind.element().is_some()
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
    if is_no_name(kind) {
        let text = "key value must be scalar, not array, composite, or json";
        return Err(wrong(text.into()));
    }
    match value {
        ValueRef::Bool(value) => push_text(if value { "true" } else { "false" }, out),
        value @ ValueRef::Timestamp(_) => push_value(kind, value, None, out)?,
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
