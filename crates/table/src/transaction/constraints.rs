//! References and conditions of tables: the interface of the store in main memory for the [`constraints`] of rows, and
//! the programs' calls.

use super::Transaction;
use crate::index_view::named;
use crate::rows::find_row;
use sardonyx_base::error::Error;
use sardonyx_rows::condition::Check;
use sardonyx_rows::constraints::{
    self, ComputeDefaults, ConstrainedRows, Due, HeldReference, HeldReferences, conditions_of,
};
use sardonyx_rows::key::Edge;
use sardonyx_rows::row::check_declared;
use sardonyx_rows::schema::{Declared, ForeignKey, IndexDefinition, PRIMARY, ValueRef};
use sardonyx_rows::{DefineRows, RowRef, TableError};
use sardonyx_storage::page::Address;
use std::sync::Arc;

fn has_columns(index: &IndexDefinition, columns: &[usize]) -> bool {
    let key = index.key.iter().map(|part| part.column);
    key.eq(columns.iter().copied())
}

/// True if the first columns of an index are these, in their order.
fn begins_with(index: &IndexDefinition, columns: &[usize]) -> bool {
    let key = index.key.iter().map(|part| part.column);
    key.take(columns.len()).eq(columns.iter().copied())
}

impl ConstrainedRows for Transaction<'_> {
    fn row_there(&self, table: u16, at: Address) -> Result<RowRef<'_>, TableError> {
        let state = self.state(table);
        RowRef::new(self.space.store.bytes(), &state.schema, &state.name, at)
    }

    fn conditions(&mut self, table: u16) -> Result<Arc<[Check]>, TableError> {
        let state = self.parts(table).1;
        if let Some((schema, conditions)) = &state.checks
            && Arc::ptr_eq(schema, &state.schema)
        {
            return Ok(Arc::clone(conditions));
        }
        let conditions = conditions_of(&state.schema)?;
        state.checks = Some((Arc::clone(&state.schema), Arc::clone(&conditions)));
        Ok(conditions)
    }

    fn row_with(
        &self,
        table: u16,
        columns: &[usize],
        values: &[ValueRef<'_>],
    ) -> Result<Option<Address>, TableError> {
        let (nodes, rows) = (&self.space.indexes, self.space.store.bytes());
        let state = self.state(table);
        if has_columns(&state.schema.primary, columns) {
            // No row has a value that the columns cannot have.
            return Ok(find_row(nodes, rows, state, &state.name, values)
                .ok()
                .flatten());
        }
        let mut indexes = state.secondary.iter();
        let index = indexes.find(|index| has_columns(&index.what.definition, columns));
        let index = index.expect("checked when the schema was stored");
        match index.what.shape.of_values(values) {
            Ok(key) => index.find(nodes.bytes(), rows, &key.bytes),
            Err(_) => Ok(None),
        }
    }

    fn has_index_of(&self, table: u16, columns: &[usize]) -> bool {
        let mut indexes = self.state(table).secondary.iter();
        indexes.any(|index| begins_with(&index.what.definition, columns))
    }

    fn rows_with(
        &self,
        table: u16,
        columns: &[usize],
        values: &[ValueRef<'_>],
    ) -> Result<Option<Vec<Address>>, TableError> {
        let (nodes, rows) = (self.space.indexes.bytes(), self.space.store.bytes());
        let mut indexes = self.state(table).secondary.iter();
        let index = indexes.find(|index| begins_with(&index.what.definition, columns));
        let Some(index) = index else {
            return Ok(None);
        };
        let Ok(key) = index.what.shape.of_values(values) else {
            return Ok(Some(Vec::new()));
        };
        let edge = |behind| Edge {
            bytes: &key.bytes,
            behind,
        };
        let places = index.walk(nodes, rows, Some(edge(false)), Some(edge(true)))?;
        let mut cursor = index.cursor(places);
        let next = || {
            cursor
                .next(nodes, |_| {})
                .unwrap_or_else(|never| match never {})
        };
        Ok(Some(std::iter::from_fn(next).collect()))
    }

    fn last_by_key(&self, table: u16) -> Result<Option<Address>, TableError> {
        let (nodes, rows) = (self.space.indexes.bytes(), self.space.store.bytes());
        let state = self.state(table);
        let index = named(&state.secondary, &state.name, PRIMARY)?;
        let places = index.walk(nodes, rows, None, None)?;
        let last = index.cursor(places).next_back(nodes, |_| {});
        Ok(last.unwrap_or_else(|never| match never {}))
    }

    fn computes_defaults(&self) -> Option<Arc<dyn ComputeDefaults>> {
        self.space.computes_defaults.lock().clone()
    }

    fn are_checked(&self, table: u16) -> bool {
        self.space.checked == Some(table) || self.held.skips_rows(table)
    }

    fn places(&self, table: u16) -> impl Iterator<Item = Result<Address, TableError>> {
        self.state(table).records(self.space.store.bytes()).map(Ok)
    }

    fn delete_alone(&mut self, table: u16, at: Address) -> Result<(), TableError> {
        self.delete_row_alone(table, at)
    }

    fn whole<T>(
        &mut self,
        steps: impl FnOnce(&mut Self) -> Result<T, TableError>,
    ) -> Result<T, TableError> {
        Transaction::whole(self, steps)
    }

    fn held(&self) -> &HeldReferences {
        &self.held
    }

    fn held_mut(&mut self) -> &mut HeldReferences {
        &mut self.held
    }
}

impl Transaction<'_> {
    /// Runs steps that give a table constraints which all its rows are known to meet: they are not looked at.
    #[doc(hidden)]
    pub fn with_checked_rows<T>(&mut self, table: u16, steps: impl FnOnce(&mut Self) -> T) -> T {
        self.space.checked = Some(table);
        let done = steps(self);
        self.space.checked = None;
        done
    }

    /// True within [`Transaction::with_checked_rows`] of a table.
    #[doc(hidden)]
    pub fn has_checked_rows(&self, table: u16) -> bool {
        self.space.checked == Some(table)
    }

    /// Gives a table a reference to another, or to itself.
    ///
    /// # Errors
    /// [`Error::Refused`] if no unique index of the other table has just these columns, or a row refers to a row that is
    /// not there; [`Error::Limit`]. Nothing has changed then.
    #[inline]
    pub fn add_reference(&mut self, table: u16, reference: ForeignKey) -> Result<(), Error> {
        DefineRows::add_reference(self, table, reference)
    }

    /// Takes a reference from a table.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table; [`Error::Limit`]. Nothing has changed then.
    #[inline]
    pub fn drop_reference(&mut self, table: u16, name: &str) -> Result<(), Error> {
        DefineRows::drop_reference(self, table, name)
    }

    /// Gives a table another condition, in the language of [`condition`](sardonyx_rows::condition).
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table, the name is taken, or the text is no condition on its rows;
    /// [`Error::Refused`] if a row does not meet it ([`RowError::Check`](sardonyx_rows::RowError::Check));
    /// [`Error::Limit`]. Nothing has changed then.
    #[inline]
    pub fn add_check(&mut self, table: u16, name: &str, condition: &str) -> Result<(), Error> {
        DefineRows::add_check(self, table, name, condition)
    }

    /// Takes a condition from a table.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table; [`Error::Limit`]. Nothing has changed then.
    #[inline]
    pub fn drop_check(&mut self, table: u16, name: &str) -> Result<(), Error> {
        DefineRows::drop_check(self, table, name)
    }

    /// Replaces the declarations of a table's columns beside their types. Existing rows are not checked.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table, or a column cannot be declared so; [`Error::Limit`]. Nothing has changed
    /// then.
    #[inline]
    pub fn declare_columns(&mut self, table: u16, declared: Vec<Declared>) -> Result<(), Error> {
        DefineRows::declare_columns(self, table, declared)
    }

    /// Checks that a record of a table, whole or changed, is as its columns are declared.
    ///
    /// # Errors
    /// [`RowError::Declared`](sardonyx_rows::RowError::Declared), [`RowError::Null`](sardonyx_rows::RowError::Null).
    #[cold]
    pub(crate) fn check_declared(&self, table: u16, record: &[u8]) -> Result<(), TableError> {
        let state = self.state(table);
        match state.is_declared {
            true => Ok(check_declared(&state.schema, &state.name, record)?),
            false => Ok(()),
        }
    }

    /// From now on, references that do not hold are noted, or refused at once again.
    pub fn hold_references(&mut self, holds: bool) {
        self.held.hold(holds);
    }

    /// The references with notes, in the order of their tables' numbers and their names.
    #[inline]
    pub fn held_references(&self) -> Vec<HeldReference> {
        self.held.references()
    }

    /// Checks held references against the current rows, as far as they are due.
    ///
    /// # Errors
    /// [`Error::Refused`] ([`TableError::NoSuchReference`], [`TableError::Referenced`]) with the first values that violate
    /// one.
    pub fn check_held(&mut self, due: impl Fn(&HeldReference) -> Due) -> Result<(), Error> {
        Ok(constraints::check_held(self, due)?)
    }
}
