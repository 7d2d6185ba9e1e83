//! Records: rows as values. A value is bytes with the names and types of its fields and their values, so that every
//! function that takes a record finds them there. Tables store no records.
//!
//! Source: PostgreSQL 15, `src/backend/utils/adt/rowtypes.c`.

use super::arrays::Array;
use super::arrays::order::push as push_key;
use super::order_keys::order_key_of;
use super::zones::SessionZone;
use crate::binary::encode_field;
use crate::error::{SqlError, code};
use crate::text::text_in;
use crate::types::SqlType;
use sardonyx::schema::{NonFinite, Value, ValueRef};
use std::cmp::Ordering;

/// The most fields of a row, as in PostgreSQL.
pub(crate) const FIELDS_MAX: usize = 1664;
/// The most levels of records in records. Each level doubles the quotes in the text of the innermost.
const DEPTH_MAX: u8 = 16;

/// A field of a record.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Field<'a> {
    pub name: &'a str,
    pub kind: SqlType,
    pub value: ValueRef<'a>,
}

/// The names and types of a record's fields, which precede the values in its bytes.
pub(crate) fn described<'f>(fields: impl Iterator<Item = (&'f str, SqlType)>) -> Vec<u8> {
    let mut bytes = vec![0; 2];
    let mut count = 0_u16;
    for (name, kind) in fields.take(u16::MAX.into()) {
        bytes.extend(kind.number().to_le_bytes());
        push_sized(name.as_bytes(), &mut bytes);
        count += 1;
    }
    if let Some(place) = bytes.get_mut(..2) {
        place.copy_from_slice(&count.to_le_bytes());
    }
    bytes
}

/// The names and types of [`described`].
///
/// # Errors
/// `XX001` if the bytes are none.
pub(crate) fn fields_of(description: &[u8]) -> Result<Vec<(&str, SqlType)>, SqlError> {
    Reader(description).description()
}

/// The record of a description and its values.
///
/// # Errors
/// `54001` if records are nested too deep.
pub(crate) fn made<'v>(
    description: &[u8],
    values: impl Iterator<Item = ValueRef<'v>>,
) -> Result<Value, SqlError> {
    let kinds = fields_of(description)?.into_iter().map(|(_, kind)| kind);
    let mut bytes = Vec::with_capacity(1 + 2 * description.len());
    bytes.push(0);
    bytes.extend(description);
    let mut depth = 0;
    for (kind, value) in kinds.zip(values) {
        depth = depth.max(depth_of(kind, value)?);
        push_value(value, &mut bytes);
    }
    if depth >= DEPTH_MAX {
        let text = format!("records may be nested {DEPTH_MAX} deep");
        return Err(SqlError::new(code::TOO_COMPLEX, text));
    }
    if let Some(first) = bytes.first_mut() {
        *first = depth + 1;
    }
    Ok(Value::Bytes(bytes))
}

/// The levels of records, and of arrays of them, in a value.
fn depth_of(kind: SqlType, value: ValueRef<'_>) -> Result<u8, SqlError> {
    Ok(match (kind, value) {
        (SqlType::Record, ValueRef::Bytes(bytes)) => bytes.first().copied().unwrap_or(0),
        (SqlType::RecordArray, ValueRef::Text(text)) => {
            let mut depth = 0;
            for element in Array::known(text).elements.into_iter().flatten() {
                depth = depth.max(of_element(&element)?.first().copied().unwrap_or(0));
            }
            depth.saturating_add(1)
        }
        _ => 0,
    })
}

/// The fields of a record.
///
/// # Errors
/// `XX001` if the bytes are none.
pub(crate) fn fields(record: &[u8]) -> Result<Vec<Field<'_>>, SqlError> {
    let mut rest = Reader(record);
    rest.taken(1)?;
    let described = rest.description()?.into_iter();
    let fields = described.map(|(name, kind)| {
        let value = rest.value()?;
        Ok(Field { name, kind, value })
    });
    fields.collect()
}

/// True if all fields are null, or if none is. A record in a field counts as a value, whatever it has.
///
/// # Errors
/// As [`fields`].
pub(crate) fn are_null(record: &[u8], are: bool) -> Result<bool, SqlError> {
    let fields = fields(record)?;
    let mut fields = fields.iter();
    Ok(fields.all(|field| (field.value == ValueRef::Null) == are))
}

/// Appends the text: `(1,"a b",)`, with moments in a session's time zone.
pub(crate) fn push_text(record: &[u8], zone: Option<&SessionZone>, out: &mut String) {
    out.push('(');
    for (at, field) in fields(record).unwrap_or_default().iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        let Some(text) = text_in(field.kind, field.value, zone) else {
            continue;
        };
        let is_special = |c: char| {
            matches!(c, '"' | '\\' | '(' | ')' | ',' | '\u{b}') || c.is_ascii_whitespace()
        };
        if !text.is_empty() && !text.contains(is_special) {
            out.push_str(&text);
            continue;
        }
        out.push('"');
        for letter in text.chars() {
            if matches!(letter, '"' | '\\') {
                out.push(letter);
            }
            out.push(letter);
        }
        out.push('"');
    }
    out.push(')');
}

/// Appends the binary format: the number of fields, and of each its type, its length and its bytes.
///
/// # Errors
/// As [`fields`]; those of a field.
pub(crate) fn send(record: &[u8], scratch: &mut String, out: &mut Vec<u8>) -> Result<(), SqlError> {
    let fields = fields(record)?;
    out.extend((fields.len() as i32).to_be_bytes());
    for field in fields {
        out.extend(field.kind.oid().to_be_bytes());
        encode_field(field.kind, &field.value, scratch, out)?;
    }
    Ok(())
}

/// Bytes in the order of records: field by field, nulls last. Records of other types differ.
///
/// # Errors
/// As [`fields`]; `42883` for a field of a type without an order.
pub(crate) fn order_key(record: &[u8]) -> Result<Vec<u8>, SqlError> {
    const END: u8 = 0;
    const VALUE: u8 = 1;
    const NULL: u8 = 2;
    let mut key = Vec::new();
    let fields = fields(record)?;
    for field in &fields {
        check_order(field.kind)?;
        if field.value == ValueRef::Null {
            key.push(NULL);
            continue;
        }
        key.push(VALUE);
        match order_key_of(field.kind, field.value)? {
            Some(own) => push_key(&own, &mut key),
            None => push_key(&field.value.to_value(), &mut key),
        }
    }
    key.push(END);
    for field in &fields {
        key.extend(field.kind.number().to_be_bytes());
    }
    Ok(key)
}

fn check_order(kind: SqlType) -> Result<(), SqlError> {
    match kind.element().unwrap_or(kind) {
        SqlType::Json | SqlType::Jsonpath => Err(SqlError::new(
            code::UNKNOWN_FUNCTION,
            format!(
                "could not identify a comparison function for type {}",
                kind.name()
            ),
        )),
        _ => Ok(()),
    }
}

/// The order of two records.
///
/// # Errors
/// As [`order_key`]; `42804` if they have other numbers, or types, of fields.
pub(crate) fn order(left: &[u8], right: &[u8]) -> Result<Ordering, SqlError> {
    let (one, other) = (fields(left)?, fields(right)?);
    let mut pairs = one.iter().zip(&other).zip(1..);
    if let Some(((a, b), column)) = pairs.find(|((a, b), _)| a.kind != b.kind) {
        return Err(SqlError::new(
            code::DATATYPE_MISMATCH,
            format!(
                "cannot compare dissimilar column types {} and {} at record column {column}",
                a.kind.name(),
                b.kind.name()
            ),
        ));
    }
    if one.len() != other.len() {
        return Err(SqlError::new(
            code::DATATYPE_MISMATCH,
            "cannot compare record types with different numbers of columns",
        ));
    }
    Ok(order_key(left)?.cmp(&order_key(right)?))
}

/// The text that an array has for a record: hexadecimal digits, since the record's own text has no types.
pub(crate) fn element_text(record: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(half.into(), 16).unwrap_or('0');
    let digits = record
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]);
    digits.collect()
}

/// The record of [`element_text`].
///
/// # Errors
/// `XX001` if it is none.
pub(crate) fn of_element(text: &str) -> Result<Vec<u8>, SqlError> {
    crate::text::decode_hexadecimal(text).map_err(|_| damaged())
}

#[cold]
fn damaged() -> SqlError {
    SqlError::new(code::DATA_CORRUPTED, "these bytes are no record")
}

fn push_sized(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend((bytes.len() as u32).to_le_bytes());
    out.extend(bytes);
}

fn push_value(value: ValueRef<'_>, out: &mut Vec<u8>) {
    match value {
        ValueRef::Bool(value) => out.extend([1, value.into()]),
        ValueRef::Int(value) => {
            // Most are small.
            match i64::try_from(value) {
                Ok(value) => {
                    out.push(2);
                    out.extend(value.to_le_bytes());
                }
                Err(_) => {
                    out.push(3);
                    out.extend(value.to_le_bytes());
                }
            }
        }
        ValueRef::U128(value) => {
            out.push(4);
            out.extend(value.to_le_bytes());
        }
        ValueRef::Float(value) => {
            out.push(5);
            out.extend(value.to_le_bytes());
        }
        ValueRef::Decimal(units, scale) => {
            out.extend([6, scale]);
            out.extend(units.to_le_bytes());
        }
        ValueRef::NonFinite(value) => {
            out.push(7);
            out.extend(value.units().to_le_bytes());
        }
        ValueRef::Text(text) => {
            out.push(8);
            push_sized(text.as_bytes(), out);
        }
        ValueRef::Bytes(bytes) => {
            out.push(9);
            push_sized(bytes, out);
        }
        ValueRef::Date(days) => {
            out.push(10);
            out.extend(days.to_le_bytes());
        }
        ValueRef::Time(time) => {
            out.push(11);
            out.extend(time.to_le_bytes());
        }
        ValueRef::Timestamp(time) => {
            out.push(12);
            out.extend(time.to_le_bytes());
        }
        ValueRef::Uuid(bytes) => {
            out.push(13);
            out.extend(bytes);
        }
        _ => out.push(0),
    }
}

/// The rest of a record's bytes.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn taken(&mut self, count: usize) -> Result<&'a [u8], SqlError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or_else(damaged)?;
        self.0 = rest;
        Ok(taken)
    }

    fn exactly<const COUNT: usize>(&mut self) -> Result<&'a [u8; COUNT], SqlError> {
        self.taken(COUNT)?.try_into().map_err(|_| damaged())
    }

    fn sized(&mut self) -> Result<&'a [u8], SqlError> {
        let length = u32::from_le_bytes(*self.exactly()?);
        self.taken(length as usize)
    }

    fn text(&mut self) -> Result<&'a str, SqlError> {
        std::str::from_utf8(self.sized()?).map_err(|_| damaged())
    }

    fn description(&mut self) -> Result<Vec<(&'a str, SqlType)>, SqlError> {
        let count = u16::from_le_bytes(*self.exactly()?);
        let mut fields = Vec::with_capacity(count.into());
        for _ in 0..count {
            let kind = SqlType::from_number(u32::from_le_bytes(*self.exactly()?));
            fields.push((self.text()?, kind.ok_or_else(damaged)?));
        }
        Ok(fields)
    }

    fn value(&mut self) -> Result<ValueRef<'a>, SqlError> {
        let [tag] = *self.exactly()?;
        Ok(match tag {
            0 => ValueRef::Null,
            1 => ValueRef::Bool(*self.exactly::<1>()? == [1]),
            2 => ValueRef::Int(i64::from_le_bytes(*self.exactly()?).into()),
            3 => ValueRef::Int(i128::from_le_bytes(*self.exactly()?)),
            4 => ValueRef::U128(u128::from_le_bytes(*self.exactly()?)),
            5 => ValueRef::Float(f64::from_le_bytes(*self.exactly()?)),
            6 => {
                let [scale] = *self.exactly()?;
                ValueRef::Decimal(i128::from_le_bytes(*self.exactly()?), scale)
            }
            7 => {
                let units = i128::from_le_bytes(*self.exactly()?);
                ValueRef::NonFinite(NonFinite::of_units(units).ok_or_else(damaged)?)
            }
            8 => ValueRef::Text(self.text()?),
            9 => ValueRef::Bytes(self.sized()?),
            10 => ValueRef::Date(i32::from_le_bytes(*self.exactly()?)),
            11 => ValueRef::Time(i64::from_le_bytes(*self.exactly()?)),
            12 => ValueRef::Timestamp(i64::from_le_bytes(*self.exactly()?)),
            13 => ValueRef::Uuid(self.exactly()?),
            _ => return Err(damaged()),
        })
    }
}

#[cfg(test)]
mod tests;
