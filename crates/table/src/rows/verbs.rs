//! Changing the rows of a table in a transaction.

use super::find_hashed;
use crate::table::Slot;
use crate::transaction::Transaction;
use sardonyx_base::error::Error;
use sardonyx_rows::constraints::{self, take_row};
use sardonyx_rows::row::RowValues;
use sardonyx_rows::schema::{Schema, Value, ValueRef};
use sardonyx_rows::{RowRef, RowWriter, Rows, TableError, WriteRows};
use sardonyx_storage::page::Address;
use std::sync::Arc;

impl<'a> Transaction<'a> {
    /// The rows of the table with this name, to read and change by their columns' names.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table.
    #[inline]
    pub fn rows(&mut self, table: &str) -> Result<Rows<&mut Transaction<'a>>, Error> {
        Rows::named(self, table)
    }

    /// The rows of the table with this number in the catalogue.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table.
    #[inline]
    pub fn rows_of(&mut self, number: u16) -> Result<Rows<&mut Transaction<'a>>, Error> {
        Rows::numbered(self, number)
    }

    /// Inserts a row of columns by number, unless there is one with its primary key: then nothing changes. Returns the
    /// address of the row that has the key now, and whether it is the new one. A key that is ordered is searched for once.
    ///
    /// # Errors
    /// The errors of [`Rows::insert`], but for a duplicate of the primary key.
    #[inline]
    pub fn insert_or_find_row(
        &mut self,
        table: u16,
        row: RowWriter<'_>,
    ) -> Result<(Address, bool), Error> {
        Ok(self.insert_or_find(table, row)?)
    }
}

/// Rows by values in the order of their columns, and by a hash of their primary key that the caller has computed to prefetch them
/// ([`TableSpace::hash_of`](crate::TableSpace::hash_of), in this process). Nothing checks it: with the hash of another key a row
/// is not found, or is stored where no reader finds it. Redis' commands use this; programs use the verbs without a hash.
impl Transaction<'_> {
    /// The row with this key.
    ///
    /// # Errors
    /// As [`ReadRows::row_by_key`](sardonyx_rows::read::ReadRows::row_by_key).
    #[doc(hidden)]
    #[inline]
    pub fn row_by_hash(
        &self,
        table: u16,
        hash: u64,
        key: &[u8],
    ) -> Result<Option<RowRef<'_>>, Error> {
        let state = self.row_state(table)?;
        let (indexes, bytes) = (&self.space.indexes, self.space.store.bytes());
        match find_hashed(indexes, bytes, state, hash, key)? {
            Some(at) => Ok(Some(self.row_there(table, at)?)),
            None => Ok(None),
        }
    }

    /// Inserts a row whose columns have these values, in their order. If a hash is given, the caller has looked for the key,
    /// and no row has it: a second row of the key would be stored.
    ///
    /// # Errors
    /// The errors of [`WriteRows::insert_row`].
    #[doc(hidden)]
    pub fn insert_columns(
        &mut self,
        table: u16,
        hash: Option<u64>,
        values: &[Option<ValueRef<'_>>],
    ) -> Result<(), TableError> {
        let values = RowValues::new(values);
        self.insert_columns_of(table, values, hash).map(drop)
    }

    /// As [`Transaction::insert_or_find_row`], of a row whose columns have these values, in their order.
    ///
    /// # Errors
    /// As there.
    #[doc(hidden)]
    pub fn insert_or_find_columns(
        &mut self,
        table: u16,
        values: &[Option<ValueRef<'_>>],
    ) -> Result<(Address, bool), Error> {
        Ok(self.insert_or_find_columns_of(table, RowValues::new(values))?)
    }
}

impl WriteRows for Transaction<'_> {
    type Place = Address;

    #[inline]
    fn described(&self, table: u16) -> Result<(Arc<Schema>, Arc<str>), TableError> {
        self.row_table(table)
    }

    #[inline]
    fn find_row(&self, table: u16, key: &[ValueRef<'_>]) -> Result<Option<Address>, TableError> {
        self.row_with_key(table, key)
    }

    #[inline]
    fn has_row(&self, table: u16, at: Address) -> Result<bool, TableError> {
        self.has_row_at(table, at)
    }

    #[inline]
    fn row_at(&self, table: u16, at: Address) -> Result<Option<RowRef<'_>>, TableError> {
        match self.has_row_at(table, at)? {
            true => Ok(Some(self.row_there(table, at)?)),
            false => Ok(None),
        }
    }

    #[inline]
    fn computed_defaults(
        &mut self,
        table: u16,
        row: &RowWriter<'_>,
    ) -> Result<Vec<(usize, Value)>, TableError> {
        let (schema, name) = self.row_table(table)?;
        let is_unsaid = |column| row.get(column).is_none();
        constraints::computed_defaults(self, table, &schema, &name, is_unsaid)
    }

    #[inline]
    fn insert_row(&mut self, table: u16, row: RowWriter<'_>) -> Result<(), TableError> {
        self.insert_row_of(table, row).map(drop)
    }

    #[inline]
    fn update_row(
        &mut self,
        table: u16,
        at: Address,
        row: &RowWriter<'_>,
    ) -> Result<(), TableError> {
        self.update_row_at(table, at, row)
    }

    #[inline]
    fn set_columns(
        &mut self,
        table: u16,
        at: Address,
        columns: &[(usize, ValueRef<'_>)],
    ) -> Result<(), TableError> {
        self.set_columns_at(table, at, columns)
    }

    #[inline]
    fn delete_row(&mut self, table: u16, at: Address) -> Result<(), TableError> {
        self.delete_row_at(table, at)
    }

    #[inline]
    fn take_row(&mut self, table: u16, at: Address) -> Result<(), TableError> {
        match self.row_state(table)?.is_referenced {
            true => take_row(self, table, at),
            false => self.delete_row_alone(table, at),
        }
    }

    #[inline]
    fn row_behind(
        &self,
        table: u16,
        place: Option<Address>,
    ) -> Result<Option<Address>, TableError> {
        let state = self.row_state(table)?;
        let bytes = self.space.store.bytes();
        let from = place.map_or_else(Slot::default, |at| state.slot_behind(bytes, at));
        Ok(state.record_from(bytes, from).map(|(at, _)| at))
    }
}
