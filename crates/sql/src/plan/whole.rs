//! Rows of all columns of a table: checks, storage, and errors.

use crate::error::{SqlError, code};
use crate::relation::StoredColumn;
use crate::violations::failing_row;
use crate::write_target::WriteTarget;
use sardonyx::Error;
use sardonyx::rows::RowWriter;
use sardonyx::schema::{Schema, Value, ValueRef};
use sardonyx_rows::TableError;
use std::sync::Arc;

/// Adds the row that could not be stored to the error, if a condition does not hold, as PostgreSQL does.
#[cold]
pub(crate) fn with_row<'c>(
    error: SqlError,
    columns: impl Iterator<Item = &'c StoredColumn>,
    row: &[Value],
) -> SqlError {
    match error.code {
        code::CHECK | code::NOT_NULL if error.detail.is_none() => {
            error.detail(failing_row(columns, row))
        }
        _ => error,
    }
}

/// A row of all columns of a table, by number.
pub(crate) fn whole<'v>(schema: &Schema, values: &'v [Value]) -> RowWriter<'v> {
    let mut writer = RowWriter::new(values.len());
    for (number, _) in schema.live_columns() {
        let value = values.get(number).map_or(ValueRef::Null, Value::as_ref);
        writer.set(number, value);
    }
    writer
}

/// Checks a new row of all columns by number, before its key is looked up.
///
/// # Errors
/// `23502`, `23514`, and other errors of the engine about its values.
pub(crate) fn check_whole(
    tx: &mut dyn WriteTarget,
    number: u16,
    values: &[Value],
) -> Result<(), SqlError> {
    let schema = schema_of(tx, number)?;
    Ok(tx.check_new(number, &whole(&schema, values))?)
}

fn schema_of(tx: &mut dyn WriteTarget, number: u16) -> Result<Arc<Schema>, SqlError> {
    let schema = tx.schema(number);
    Ok(schema.ok_or_else(|| Error::from(TableError::UnknownHandle { number }))?)
}

/// Inserts a row of all columns by number.
pub(crate) fn insert_whole(
    tx: &mut dyn WriteTarget,
    number: u16,
    values: &[Value],
) -> Result<(), SqlError> {
    let schema = schema_of(tx, number)?;
    let inserted = tx.insert(number, &whole(&schema, values));
    inserted.map_err(|error| conditions_first(tx, number, values, error.into()))
}

/// The error of a row whose key exists. If the row violates a condition, that error takes precedence: PostgreSQL tests
/// conditions first.
#[cold]
pub(crate) fn conditions_first(
    tx: &mut dyn WriteTarget,
    number: u16,
    values: &[Value],
    error: SqlError,
) -> SqlError {
    match error.code {
        code::UNIQUE => check_whole(tx, number, values).err().unwrap_or(error),
        _ => error,
    }
}
