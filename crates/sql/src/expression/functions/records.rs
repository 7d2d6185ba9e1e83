//! Records: the functions that make and compare rows as values. Expressions call them; they have no names in SQL.

use super::definition::*;
use crate::error::SqlError;
use crate::values::arrays::order::{record_key, record_order};
use crate::values::records;
use sardonyx::schema::{Value, ValueRef};

/// A row as a value: a description of the fields, a value that is null for a row that is missing in an outer join, and
/// the fields' values. It is stable since its text and its JSON depend on the session's time zone.
pub(crate) static ROW: Definition = Definition::new(
    "row",
    &[BYTEA, ANY, ANY],
    RECORD,
    |a, _| match (a.value(0), a.value(1)) {
        (_, ValueRef::Null) => Ok(Value::Null),
        (ValueRef::Bytes(described), _) => records::made(described, a.all().skip(2)),
        _ => Ok(Value::Null),
    },
    "",
)
.on_null()
.stable();

/// Bytes that order records, and are equal for equal ones.
pub(crate) static ROW_KEY: Definition = Definition::new(
    "row_key",
    &[RECORD],
    BYTEA,
    |a, _| record_key(record(a, 0)).map(Value::Bytes),
    "",
);

/// The order of two records as a number below, at or above zero.
pub(crate) static ROW_ORDER: Definition = Definition::new(
    "row_order",
    &[RECORD, RECORD],
    INT4,
    |a, _| {
        let order = record_order(record(a, 0), record(a, 1))?;
        int(order as i8)
    },
    "",
);

/// `IS NULL` of a record, or `IS NOT NULL`: all fields are null, or none is.
pub(crate) static ROW_IS_NULL: Definition = Definition::new(
    "row_is_null",
    &[RECORD, BOOL],
    BOOL,
    |a, _| {
        let wanted = a.is_true(1);
        let found: Result<bool, SqlError> = match a.value(0) {
            ValueRef::Bytes(record) => records::are_null(record, wanted),
            _ => Ok(wanted),
        };
        found.map(Value::Bool)
    },
    "",
)
.on_null();

/// The field of a record at a place.
pub(crate) static ROW_FIELD: Definition = Definition::new(
    "row_field",
    &[RECORD, INT4],
    ANY,
    |a, _| {
        let at = usize::try_from(a.int(1)).unwrap_or(usize::MAX);
        let fields = records::fields(record(a, 0))?;
        let field = fields.get(at);
        Ok(field.map_or(Value::Null, |field| field.value.to_value()))
    },
    "",
);

fn record(a: Arguments<'_>, at: usize) -> &[u8] {
    match a.value(at) {
        ValueRef::Bytes(record) => record,
        _ => &[],
    }
}
