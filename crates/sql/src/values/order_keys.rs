//! Keys whose order and equality are those of a type's values, where the stored value's are not. The key of an interval
//! is its length, those of `jsonb`, `hstore` and arrays are bytes. That of a `character` is its text without blanks.
//!
//! Expressions have the same as calls ([`crate::expression::ordered`]); this module takes values.

use super::arrays::order_key;
use super::hstore::Hstore;
use super::intervals::Interval;
use super::json_tree::Json;
use super::records;
use super::search::Vector;
use crate::error::{SqlError, code};
use crate::types::SqlType;
use sardonyx::schema::{Value, ValueRef};

/// True if values of a type are compared by their keys alone. Those of a `character` with a length have no blanks.
pub(crate) fn has_order_key(kind: SqlType, has_length: bool) -> bool {
    kind.has_keys() || kind == SqlType::Char && !has_length
}

/// The key of a value; none if the value is its own.
///
/// # Errors
/// `22P02` if a text is no value of the type.
pub(crate) fn order_key_of(kind: SqlType, value: ValueRef<'_>) -> Result<Option<Value>, SqlError> {
    let text = match (kind, value) {
        (_, ValueRef::Text(text)) => text,
        (SqlType::Record, ValueRef::Bytes(record)) => {
            return Ok(Some(Value::Bytes(records::order_key(record)?)));
        }
        _ => return Ok(None),
    };
    Ok(match (kind, kind.element()) {
        (_, Some(element)) => Some(Value::Bytes(order_key(text, element)?)),
        (SqlType::Interval, _) => Some(Value::Int(Interval::known(text).length())),
        (SqlType::Jsonb, _) => Some(Value::Bytes(Json::known(text)?.key())),
        (SqlType::Tsvector, _) => Some(Value::Bytes(Vector::known(text)?.key())),
        (SqlType::Hstore, _) => Some(Value::Bytes(Hstore::known(text)?.key())),
        (SqlType::Char, _) => Some(Value::Text(text.trim_end_matches(' ').to_string())),
        _ => None,
    })
}

/// Refuses a type whose values have neither order nor equality.
///
/// # Errors
/// `42883` with the kind of operator that is missing, as in PostgreSQL.
pub(crate) fn check_comparable(kind: SqlType, operator: &str) -> Result<(), SqlError> {
    match kind.element().unwrap_or(kind) {
        SqlType::Json | SqlType::Jsonpath => Err(SqlError::new(
            code::UNKNOWN_FUNCTION,
            format!(
                "could not identify an {operator} operator for type {}",
                kind.name()
            ),
        )),
        _ => Ok(()),
    }
}
