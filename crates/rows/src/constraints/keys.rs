//! Deferrable unique keys: two rows may have one key until a statement, or the transaction, ends.
//!
//! Their indexes are not unique. So a row is looked up when it is there, and the values that several rows have are
//! noted as those of held references are, or refused at once.
//!
//! Invariant: each key that several rows have is noted. So a noted one need not be looked up again, and a transaction that
//! gives many rows one key takes no time that grows with their number.

use super::ConstrainedRows;
use super::references::{text_of, values_of};
use crate::error::TableError;
use crate::read::ReadRow;
use crate::schema::{IndexDefinition, Schema, Value, ValueRef};

/// A key that several rows have, and its values.
pub(super) type Shared<'k> = (&'k IndexDefinition, Vec<Value>);

/// The deferrable keys of a row, which is there, that another row has, too.
///
/// # Errors
/// [`TableError::DuplicateValue`] where they are refused.
pub(super) fn find_shared<'k, S: ConstrainedRows>(
    store: &S,
    table: u16,
    schema: &'k Schema,
    row: &impl ReadRow,
) -> Result<Vec<Shared<'k>>, TableError> {
    let mut shared = Vec::new();
    for index in schema.indexes.iter().filter(|index| index.deferrable) {
        let values = values_of(row, &index.columns())?;
        if values.contains(&ValueRef::Null) && !index.nulls_equal
            || store.held().has_key(table, schema, index, &values)
            || rows_of_key(store, table, index, &values)? < 2
        {
            continue;
        }
        if !store.held().holds() {
            return Err(duplicate(store, table, index, &values));
        }
        shared.push((index, values.iter().map(|value| value.to_value()).collect()));
    }
    Ok(shared)
}

/// Notes keys that several rows have.
pub(super) fn note_shared<S: ConstrainedRows>(
    store: &mut S,
    table: u16,
    schema: &Schema,
    shared: Vec<Shared<'_>>,
) {
    for (index, values) in shared {
        store.held_mut().note_key(table, schema, index, values);
    }
}

pub(super) fn rows_of_key<S: ConstrainedRows>(
    store: &S,
    table: u16,
    index: &IndexDefinition,
    values: &[ValueRef<'_>],
) -> Result<usize, TableError> {
    let found = store.rows_with(table, &index.columns(), values)?;
    Ok(found.map_or(0, |found| found.len()))
}

/// The error of a key that several rows have.
pub(super) fn duplicate<S: ConstrainedRows>(
    store: &S,
    table: u16,
    index: &IndexDefinition,
    values: &[ValueRef<'_>],
) -> TableError {
    TableError::DuplicateValue {
        table: store.name_of(table),
        index: index.name.clone(),
        key: text_of(values),
        values: values.iter().map(|value| value.to_value()).collect(),
    }
}
