//! Keys whose order and equality are those of a type's values, where the stored value's are not. The key of an interval
//! is its length, those of `jsonb`, `hstore` and arrays are bytes. That of a `character` is its text without blanks.
//!
//! Expressions have the same as calls ([`crate::expression::ordered`]); this module takes values.

pub(crate) use super::arrays::order::order_key_of;
use crate::error::{SqlError, code};
use crate::types::SqlType;

/// True if values of a type are compared by their keys alone. Those of a `character` with a length have no blanks.
pub(crate) fn has_order_key(kind: SqlType, has_length: bool) -> bool {
    kind.has_keys() || kind == SqlType::Char && !has_length
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
