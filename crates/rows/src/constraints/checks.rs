//! CHECK: conditions of a table, tested on a row wherever it is.

use crate::condition::{Check, CheckFailure, SqlCheck};
use crate::error::TableError;
use crate::read::ReadRow;
use crate::row::RowError;
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

/// Tests the conditions of a schema on a row of a table.
///
/// # Errors
/// [`RowError::Check`] with the first one that is false; [`RowError::Untested`].
pub fn meets(
    table: &dyn Fn() -> String,
    schema: &Schema,
    conditions: &[Check],
    row: &impl ReadRow,
) -> Result<(), TableError> {
    for (condition, (name, text)) in conditions.iter().zip(&schema.checks) {
        let mut values = vec![ValueRef::Null; schema.columns.len()];
        for column in condition.columns() {
            values[column] = row.value_at(column)?;
        }
        let error = match condition.allows(&values) {
            Ok(true) => continue,
            Ok(false) => RowError::Check {
                table: table(),
                name: name.clone(),
                condition: SqlCheck::shown(text),
            },
            Err(CheckFailure { code, reason }) => RowError::Untested {
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
