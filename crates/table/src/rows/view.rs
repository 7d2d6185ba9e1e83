//! The rows of a table, to read without a transaction.

use super::find_row;
use super::verbs::unknown_table;
use crate::index_store::IndexStore;
use crate::space::View;
use crate::table::TableState;
use sardonyx_base::error::Error;
use sardonyx_rows::RowRef;
use sardonyx_rows::TableError;
use sardonyx_rows::schema::{Schema, Value, ValueRef};
use sardonyx_storage::page::PAGE_SIZE;
use std::sync::Arc;

/// The rows of a table, to read: [`View::rows`].
#[derive(Clone, Copy, Debug)]
pub struct RowsView<'a> {
    pub(super) indexes: &'a IndexStore,
    pub(super) bytes: &'a [u8],
    pub(super) state: &'a TableState,
    number: u16,
}

impl<'a> View<'a> {
    /// The rows of the table with this name, to read by their columns' names.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table.
    pub fn rows(&self, table: &str) -> Result<RowsView<'a>, Error> {
        let is_it = |definition: &sardonyx_storage::catalogue::Definition| definition.name == table;
        let number = self.definitions().iter().position(is_it);
        number
            .and_then(|number| self.rows_of(number as u16).ok())
            .ok_or_else(|| unknown_table(table))
    }

    /// The rows of the table with this number in the catalogue.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table.
    pub fn rows_of(&self, number: u16) -> Result<RowsView<'a>, Error> {
        let state = self.state_of(number);
        let state = state.ok_or(TableError::UnknownHandle { number })?;
        Ok(RowsView {
            indexes: self.indexes(),
            bytes: self.pages(),
            state,
            number,
        })
    }
}

impl<'a> RowsView<'a> {
    /// What the rows are.
    pub fn schema(&self) -> &'a Arc<Schema> {
        &self.state.schema
    }

    /// The table's number in the catalogue.
    pub fn number(&self) -> u16 {
        self.number
    }

    /// The row with this key: the values of the primary key's columns, in its order.
    ///
    /// # Errors
    /// [`Error::Refused`] if these are no values of the key's columns; [`Error::Damaged`].
    pub fn get(&self, key: &[Value]) -> Result<Option<RowRef<'a>>, Error> {
        let key: Vec<ValueRef<'_>> = key.iter().map(Value::as_ref).collect();
        let found = find_row(self.indexes, self.bytes, self.state, &self.state.name, &key)?;
        Ok(found.map(|at| self.row(at)).transpose()?)
    }

    fn row(&self, at: sardonyx_storage::page::Address) -> Result<RowRef<'a>, TableError> {
        RowRef::new(self.bytes, &self.state.schema, &self.state.name, at)
    }

    /// All rows, in no particular order.
    pub fn scan(&self) -> impl Iterator<Item = Result<RowRef<'a>, Error>> + use<'a> {
        let this = *self;
        let rows = this.state.records(this.bytes);
        rows.map(move |at| Ok(this.row(at)?))
    }

    /// How many rows there are.
    pub fn count(&self) -> u64 {
        self.state.len()
    }

    /// Rows inserted, changed and deleted since the database was opened, also by transactions that were undone.
    pub fn changes(&self) -> u64 {
        self.state.changes
    }

    /// Bytes of the pages that the table uses, for rows and for the values outside of them.
    pub fn bytes(&self) -> u64 {
        let pages = self.state.used_runs().map(|run| run.end - run.start);
        pages.sum::<u64>() * PAGE_SIZE as u64
    }
}
