//! Generated columns: computed from a row's other columns whenever it is written; values given for them are not used.

use super::references::interrupted;
use crate::condition::{CheckFailure, RowExpression, SqlCheck, compile_expression};
use crate::error::TableError;
use crate::read::ReadRow;
use crate::row::{RowError, RowWriter, same};
use crate::schema::{Schema, Value, ValueRef};
use std::sync::Arc;

/// A generated column, ready to be computed.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The column's number.
    column: usize,
    /// The columns that it is computed of.
    of: Vec<usize>,
    /// The expression; or why it is not compiled.
    expression: Result<Arc<dyn RowExpression>, CheckFailure>,
}

/// The generated columns of a schema, each behind those that it is computed of.
///
/// # Errors
/// [`TableError::Condition`] if a text is no expression on the table's rows.
pub fn generated_of(schema: &Schema) -> Result<Arc<[Generated]>, TableError> {
    let mut generated = Vec::new();
    for declared in &schema.declared {
        let Some(text) = declared.generated() else {
            continue;
        };
        let Some(expression) = SqlCheck::parse(text)? else {
            continue;
        };
        generated.push(Generated {
            column: declared.column,
            of: expression
                .columns
                .iter()
                .map(|column| column.number)
                .collect(),
            // An index finds by the value.
            expression: compile_expression(
                &expression,
                declared,
                schema.is_index_column(declared.column),
            ),
        });
    }
    Ok(generated.into())
}

/// Computes the generated columns of a row of a table of which something changes: themselves, or a column that they are
/// computed of. The row's values are given by the columns' numbers, as they will be.
///
/// # Errors
/// [`RowError::Ungenerated`]; that the statement is to end; the errors of reading the values.
pub fn generated_values<'v>(
    (schema, table): (&Schema, &str),
    generated: &[Generated],
    changes: impl Fn(usize) -> bool,
    value: impl Fn(usize) -> Result<ValueRef<'v>, TableError>,
) -> Result<Vec<(usize, Value)>, TableError> {
    let mut computed: Vec<(usize, Value)> = Vec::new();
    for one in generated {
        let is_computed = |column: &usize| computed.iter().any(|(there, _)| there == column);
        let mut of = one.of.iter();
        if !changes(one.column) && !of.any(|column| changes(*column) || is_computed(column)) {
            continue;
        }
        let mut values = vec![ValueRef::Null; schema.columns.len()];
        for &column in &one.of {
            let mut before = computed.iter();
            values[column] = match before.find(|(there, _)| *there == column) {
                Some((_, value)) => value.as_ref(),
                None => value(column)?,
            };
        }
        let expression = one.expression.as_ref().map_err(Clone::clone);
        let result = expression.and_then(|expression| expression.value(&values));
        let result = result.map_err(|failure| match failure.interrupted {
            Some(reason) => interrupted(reason),
            None => RowError::ungenerated(schema, table, one.column, failure).into(),
        });
        computed.push((one.column, result?));
    }
    Ok(computed)
}

/// Sets the generated columns of a new row, of which all other columns are set.
///
/// # Errors
/// The errors of [`generated_values`].
#[inline]
pub fn generated_of_new(
    (schema, table): (&Schema, &str),
    generated: &[Generated],
    row: &RowWriter<'_>,
) -> Result<Vec<(usize, Value)>, TableError> {
    let value = |column| Ok(row.get(column).unwrap_or_default());
    generated_values((schema, table), generated, |_| true, value)
}

/// The generated columns of a row that changes, as far as they change or are given otherwise. `lacks` returns true for
/// a column that the row has no place for yet.
///
/// # Errors
/// The errors of [`generated_values`].
pub fn generated_of_changed(
    (schema, table): (&Schema, &str),
    generated: &[Generated],
    there: &impl ReadRow,
    change: &RowWriter<'_>,
    lacks: impl Fn(usize) -> bool,
) -> Result<Vec<(usize, Value)>, TableError> {
    let value = |column| match change.get(column) {
        Some(value) => Ok(value),
        None => there.value_at(column),
    };
    let changes = |column| change.get(column).is_some() || lacks(column);
    let mut computed = generated_values((schema, table), generated, changes, value)?;
    let mut failed = None;
    computed.retain(|(column, value)| {
        let is_same = |now| same(schema.columns[*column].kind, now, value.as_ref());
        match there.value_at(*column) {
            // A column without a place is set, so that the row gets one.
            Ok(now) => change.get(*column).is_some() || lacks(*column) || !is_same(now),
            Err(error) => {
                failed = Some(error);
                false
            }
        }
    });
    failed.map_or(Ok(computed), Err)
}
