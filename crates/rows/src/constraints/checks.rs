//! CHECK: conditions of a table, tested on a row wherever it is.

use super::ConstrainedRows;
use super::references::{check_interruption, interrupted};
use crate::condition::{Check, CheckFailure, SqlCheck};
use crate::error::TableError;
use crate::read::ReadRow;
use crate::row::{RowError, RowWriter};
use crate::schema::{Schema, ValueRef};
use std::sync::Arc;

/// The conditions of a schema, ready to be tested.
///
/// # Errors
/// [`TableError::Condition`] if a text is no condition on the table's rows.
pub fn conditions_of(schema: &Schema) -> Result<Arc<[Check]>, TableError> {
    let texts = schema.checks.iter();
    let conditions = texts.map(|(_, text)| Check::parse(text, schema));
    Ok(conditions.collect::<Result<_, _>>()?)
}

/// Tests the conditions of a schema on a row of a table, whose values are given by the columns' numbers.
///
/// # Errors
/// [`RowError::Check`] with the first one that is false; [`RowError::Untested`]; that the statement is to end.
pub fn meets<'v>(
    table: &dyn Fn() -> String,
    schema: &Schema,
    conditions: &[Check],
    value: impl Fn(usize) -> Result<ValueRef<'v>, TableError>,
) -> Result<(), TableError> {
    let all = conditions.iter().zip(&schema.checks);
    meets_each(table, schema, all, value)
}

/// The same of some of the conditions, with their names and texts.
fn meets_each<'v, 'c>(
    table: &dyn Fn() -> String,
    schema: &Schema,
    conditions: impl Iterator<Item = (&'c Check, &'c (String, String))>,
    value: impl Fn(usize) -> Result<ValueRef<'v>, TableError>,
) -> Result<(), TableError> {
    // Each condition looks at the columns that it reads alone.
    let mut values = vec![ValueRef::Null; schema.columns.len()];
    for (condition, (name, text)) in conditions {
        for &column in condition.columns() {
            values[column] = value(column)?;
        }
        let error = match condition.allows(&values) {
            Ok(true) => continue,
            Ok(false) => RowError::Check {
                table: table(),
                name: name.clone(),
                condition: SqlCheck::shown(text),
            },
            Err(CheckFailure {
                interrupted: Some(reason),
                ..
            }) => return Err(interrupted(reason)),
            Err(CheckFailure { code, reason, .. }) => RowError::Untested {
                table: table(),
                name: name.clone(),
                code,
                reason,
            },
        };
        return Err(error.into());
    }
    Ok(())
}

/// Checks that all rows of a table meet its last condition, which is new. Rows need not meet earlier ones.
///
/// # Errors
/// The errors of [`meets`]; that the statement is to end.
pub fn check_added_condition<S: ConstrainedRows>(
    store: &mut S,
    table: u16,
) -> Result<(), TableError> {
    let (schema, name) = store.described(table)?;
    let conditions = store.conditions(table)?;
    if store.are_checked(table) || schema.checks.is_empty() {
        return Ok(());
    }
    for (number, at) in store.places(table).enumerate() {
        let at = at?;
        check_interruption(number)?;
        let row = store.row_there(table, at)?;
        let value = |column| row.value_at(column);
        let last = conditions
            .iter()
            .zip(&schema.checks)
            .skip(schema.checks.len() - 1);
        meets_each(&|| name.to_string(), &schema, last, value)?;
    }
    Ok(())
}

/// Checks a new row, whose columns are all given, before any stored row is read: its values, and the conditions of its
/// table.
///
/// # Errors
/// The errors of [`RowWriter::check`] and [`meets`].
pub fn check_new_row<S: ConstrainedRows>(
    store: &mut S,
    table: u16,
    row: &RowWriter<'_>,
) -> Result<(), TableError> {
    let (schema, name) = store.described(table)?;
    let row = row.as_stored(&schema, &name)?;
    row.check(&schema, &name)?;
    if schema.checks.is_empty() {
        return Ok(());
    }
    let conditions = store.conditions(table)?;
    let value = |column| Ok(row.get(column).unwrap_or_default());
    meets(&|| name.to_string(), &schema, &conditions, value)
}
