//! The rows of a table, to read without a transaction.

use super::verbs::unknown_table;
use super::{RowRange, RowRef, find_row};
use crate::error::TableError;
use crate::index_store::IndexStore;
use crate::index_view::{Reader, named};
use crate::key::KeyValues;
use crate::schema::{Schema, Value, ValueRef};
use crate::space::View;
use crate::table::TableState;
use sardonyx_base::error::Error;
use sardonyx_storage::page::PAGE_SIZE;
use std::ops::RangeBounds;
use std::sync::Arc;

/// The rows of a table, to read: [`View::rows`].
#[derive(Clone, Copy, Debug)]
pub struct RowsView<'a> {
    indexes: &'a IndexStore,
    bytes: &'a [u8],
    state: &'a TableState,
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

    /// The rows whose keys in an ordered index are in a range; keys are as those of an [`Index`](crate::Index). The
    /// primary key's index has its name if the key is ordered.
    ///
    /// ```
    /// # use sardonyx_table::{View, schema::Value};
    /// # use sardonyx_base::error::Error;
    /// fn newest(view: View<'_>, customer: &str) -> Result<Vec<Vec<Value>>, Error> {
    ///     let orders = view.rows("orders")?.prefix("by_customer", customer)?;
    ///     orders.rev().take(10).map(|order| order?.to_values()).collect()
    /// }
    /// ```
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such index, or the values are none of its columns; [`Error::Limit`] if a key is
    /// too long.
    pub fn range<K: KeyValues>(
        &self,
        index: &str,
        range: impl RangeBounds<K>,
    ) -> Result<RowRange<'a>, Error> {
        let reader = self.reader(index)?;
        Ok(RowRange::new(reader, reader.range(range)?))
    }

    /// The rows whose keys in an ordered index begin with these values.
    ///
    /// # Errors
    /// Those of [`RowsView::range`].
    pub fn prefix(&self, index: &str, key: impl KeyValues) -> Result<RowRange<'a>, Error> {
        let reader = self.reader(index)?;
        Ok(RowRange::new(reader, reader.prefix(&key)?))
    }

    /// The same, where the last value, a text or bytes, may go on.
    ///
    /// # Errors
    /// Those of [`RowsView::range`].
    pub fn starts_with(&self, index: &str, key: impl KeyValues) -> Result<RowRange<'a>, Error> {
        let reader = self.reader(index)?;
        Ok(RowRange::new(reader, reader.starts_with(&key)?))
    }

    /// How many rows have keys in a range of an ordered index, without looking at them.
    ///
    /// # Errors
    /// Those of [`RowsView::range`].
    pub fn count_range<K: KeyValues>(
        &self,
        index: &str,
        range: impl RangeBounds<K>,
    ) -> Result<u64, Error> {
        let reader = self.reader(index)?;
        reader.count(reader.range(range)?)
    }

    fn reader(&self, index: &str) -> Result<Reader<'a, [u8]>, Error> {
        Ok(Reader {
            nodes: self.indexes.bytes(),
            rows: self.bytes,
            index: named(&self.state.secondary, &self.state.name, index)?,
            schema: &self.state.schema,
            table: &self.state.name,
        })
    }

    /// How many rows there are.
    pub fn count(&self) -> u64 {
        self.state.len()
    }

    /// Bytes of the pages that the table uses, for rows and for the values outside of them.
    pub fn bytes(&self) -> u64 {
        let pages = self.state.used_runs().map(|run| run.end - run.start);
        pages.sum::<u64>() * PAGE_SIZE as u64
    }
}
