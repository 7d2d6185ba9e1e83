//! Defaults that are computed for each row, by a program that speaks SQL, which registers for each opened database.

use super::references::interrupted;
use super::{ConstrainedRows, DefaultFailure};
use crate::error::TableError;
use crate::read::ReadRow;
use crate::row::{RowError, RowWriter};
use crate::schema::{Declared, DeclaredDefault, Schema, Value, ValueRef};
use std::fmt::Debug;

/// Computes defaults in SQL.
pub trait ComputeDefaults: Debug + Send + Sync {
    /// The values of columns that a new row omits, in their order.
    ///
    /// # Errors
    /// The first failure, with the number of its column among these.
    fn compute(
        &self,
        declared: &[&Declared],
        objects: &mut dyn Objects,
    ) -> Result<Vec<Value>, (usize, DefaultFailure)>;
}

/// A table of texts, in the transaction that the row is a part of. A default may change a text, such as the last
/// number of a sequence.
pub trait Objects {
    /// The text in a column of the row with a key; `None` if there is no such row, or no such table.
    ///
    /// # Errors
    /// [`TableError::DamagedTable`].
    fn text(&self, table: &str, key: &[Value], column: usize)
    -> Result<Option<String>, TableError>;

    /// Sets a column of the row with a key.
    ///
    /// # Errors
    /// The errors of [`WriteRows::update_row`](crate::WriteRows::update_row).
    fn set_text(
        &mut self,
        table: &str,
        key: &[Value],
        column: usize,
        text: &str,
    ) -> Result<(), TableError>;
}

/// The texts of a transaction.
pub fn objects<S: ConstrainedRows>(store: &mut S) -> impl Objects {
    Own(store)
}

struct Own<'s, S>(&'s mut S);

impl<S: ConstrainedRows> Own<'_, S> {
    fn place(&self, table: &str, key: &[Value]) -> Result<Option<(u16, S::Place)>, TableError> {
        let Some(number) = self.0.definitions().named(table) else {
            return Ok(None);
        };
        let key: Vec<ValueRef<'_>> = key.iter().map(Value::as_ref).collect();
        let found = self.0.find_row(number, &key)?;
        Ok(found.map(|at| (number, at)))
    }
}

impl<S: ConstrainedRows> Objects for Own<'_, S> {
    fn text(
        &self,
        table: &str,
        key: &[Value],
        column: usize,
    ) -> Result<Option<String>, TableError> {
        let Some((number, at)) = self.place(table, key)? else {
            return Ok(None);
        };
        let row = self.0.row_there(number, at)?;
        Ok(match row.value_at(column)? {
            ValueRef::Text(text) => Some(text.to_string()),
            _ => None,
        })
    }

    fn set_text(
        &mut self,
        table: &str,
        key: &[Value],
        column: usize,
        text: &str,
    ) -> Result<(), TableError> {
        let Some((number, at)) = self.place(table, key)? else {
            return Ok(());
        };
        let mut change = RowWriter::new(column + 1);
        change.set(column, ValueRef::Text(text));
        self.0.update_row(number, at, &change)
    }
}

/// The values of columns with computed defaults that are wanted for a new row of a table, by the columns' numbers.
///
/// # Errors
/// [`RowError::Uncomputed`]; that the statement is to end.
pub fn computed_defaults<S: ConstrainedRows>(
    store: &mut S,
    table: u16,
    schema: &Schema,
    name: &str,
    is_wanted: impl Fn(usize) -> bool,
) -> Result<Vec<(usize, Value)>, TableError> {
    let (mut computed, mut in_sql) = (Vec::new(), Vec::new());
    // Of most tables nothing is declared.
    for declared in &schema.declared {
        if !is_wanted(declared.column) {
            continue;
        }
        match &declared.default {
            Some(DeclaredDefault::NextNumber) => {
                computed.push((declared.column, next_number(store, table, declared.column)?));
            }
            Some(DeclaredDefault::Sql(_)) => in_sql.push(declared),
            _ => {}
        }
    }
    if in_sql.is_empty() {
        return Ok(computed);
    }
    // Without a program that computes them they are missing, and `RowWriter::complete` reports that.
    let Some(computes) = store.computes_defaults() else {
        return Ok(computed);
    };
    let values = store.whole(|store| {
        let values = computes.compute(&in_sql, &mut Own(store));
        values.map_err(|(at, failure)| {
            let column = in_sql.get(at).map_or(0, |declared| declared.column);
            match failure.interrupted {
                Some(reason) => interrupted(reason),
                None => RowError::uncomputed(schema, name, column, failure).into(),
            }
        })
    })?;
    computed.extend(in_sql.iter().map(|declared| declared.column).zip(values));
    Ok(computed)
}

/// One more than the largest number in a column, which is an ordered primary key.
fn next_number<S: ConstrainedRows>(
    store: &S,
    table: u16,
    column: usize,
) -> Result<Value, TableError> {
    let Some(at) = store.last_by_key(table)? else {
        return Ok(Value::Int(1));
    };
    let row = store.row_there(table, at)?;
    Ok(match row.value_at(column)? {
        ValueRef::Int(number) => Value::Int(number + 1),
        _ => Value::Int(1),
    })
}
