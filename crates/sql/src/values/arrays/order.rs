//! The order of arrays, by bytes: element by element, nulls last, the shorter one first, then by dimensions, as in
//! PostgreSQL (`array_cmp`). Records are ordered so by their fields (`record_cmp`), and other values by their keys.

use super::{Array, element_value};
use crate::error::{SqlError, code};
use crate::types::SqlType;
use crate::values::composites;
use crate::values::hstore::Hstore;
use crate::values::intervals::Interval;
use crate::values::json_tree::Json;
use crate::values::order_bytes::{push, push_decimal, push_large, push_number};
use crate::values::records;
use crate::values::search::Vector;
use sardonyx::schema::{Value, ValueRef};
use std::cmp::Ordering;

const END: u8 = 0;
const ELEMENT: u8 = 1;
const NULL: u8 = 2;

/// Bytes in the order of arrays of a type's elements.
///
/// # Errors
/// `22P02` if an element is none of the type.
pub(crate) fn order_key(text: &str, kind: SqlType) -> Result<Vec<u8>, SqlError> {
    let array = Array::known(text);
    let mut key = Vec::new();
    for element in &array.elements {
        match element {
            None => key.push(NULL),
            Some(text) => {
                key.push(ELEMENT);
                push_element(text, kind, &mut key)?;
            }
        }
    }
    key.push(END);
    key.push(array.bounds.len() as u8);
    for (first, length) in &array.bounds {
        key.extend((*length as u64).to_be_bytes());
        push_number((*first).into(), &mut key);
    }
    Ok(key)
}

/// Appends the key of an element. Types whose values are texts have keys of these.
fn push_element(text: &str, kind: SqlType, key: &mut Vec<u8>) -> Result<(), SqlError> {
    if let Some(own) = order_key_of(kind, ValueRef::Text(text))? {
        push(&own, key);
        return Ok(());
    }
    let value = element_value(kind, text)?;
    let own = order_key_of(kind, value.as_ref())?;
    push(own.as_ref().unwrap_or(&value), key);
    Ok(())
}

/// The key of a value; none if the value is its own.
///
/// # Errors
/// `22P02` if a text is no value of the type.
pub(crate) fn order_key_of(kind: SqlType, value: ValueRef<'_>) -> Result<Option<Value>, SqlError> {
    let text = match (kind, value) {
        (_, ValueRef::Text(text)) => text,
        (SqlType::Record, ValueRef::Bytes(record)) => {
            return Ok(Some(Value::Bytes(record_key(record)?)));
        }
        _ => return Ok(None),
    };
    Ok(match (kind, kind.element()) {
        (_, Some(element)) => Some(Value::Bytes(order_key(text, element)?)),
        (SqlType::Interval, _) => Some(Value::Int(Interval::known(text).length())),
        (SqlType::Jsonb, _) => Some(Value::Bytes(Json::known(text)?.key())),
        (SqlType::Tsvector, _) => Some(Value::Bytes(Vector::known(text)?.key())),
        (SqlType::Hstore, _) => Some(Value::Bytes(Hstore::known(text)?.key())),
        (SqlType::Composite(of), _) => match composites::to_record(of, text)? {
            Value::Bytes(record) => Some(Value::Bytes(record_key(&record)?)),
            _ => None,
        },
        (SqlType::Char, _) => Some(Value::Text(text.trim_end_matches(' ').to_string())),
        _ => None,
    })
}

/// Bytes in the order of records: field by field, nulls last. Records of other types differ.
///
/// # Errors
/// `XX001` if the bytes are no record; `42883` for a field of a type without an order.
pub(crate) fn record_key(record: &[u8]) -> Result<Vec<u8>, SqlError> {
    let mut key = Vec::new();
    let fields = records::fields(record)?;
    for field in &fields {
        check_order(field.kind)?;
        if field.value == ValueRef::Null {
            key.push(NULL);
            continue;
        }
        key.push(ELEMENT);
        match (field.kind, field.value) {
            // Columns of 64 and 128 bits without a sign are numeric here.
            (SqlType::Numeric, ValueRef::Int(number)) => push_decimal(number, 0, &mut key),
            (SqlType::Numeric, ValueRef::U128(number)) => push_large(number, &mut key),
            (kind, value) => match order_key_of(kind, value)? {
                Some(own) => push(&own, &mut key),
                None => push(&value.to_value(), &mut key),
            },
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
/// As [`record_key`]; `42804` if they have other numbers, or types, of fields.
pub(crate) fn record_order(left: &[u8], right: &[u8]) -> Result<Ordering, SqlError> {
    let (one, other) = (records::fields(left)?, records::fields(right)?);
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
    Ok(record_key(left)?.cmp(&record_key(right)?))
}
