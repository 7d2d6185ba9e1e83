//! Structs of a program's own with `#[derive(Record)]` in a transaction.

use super::super::NodeError;
use super::super::transaction::Transaction;
use super::entries;
use super::handle::NodeStoredTable;
use super::range::NodeRange;
use super::records::checked_key;
use super::view::View;
use sardonyx_rows::{KeyValues, RowWriter, Stored};
use sardonyx_storage::tree::Intent;
use std::ops::RangeBounds;

fn values_of<'v, T: Stored>(table: &NodeStoredTable<T>, row: &'v T) -> RowWriter<'v> {
    let columns = table.columns.iter().max().map_or(0, |last| last + 1);
    let mut values = RowWriter::new(columns);
    row.write(&table.columns, &mut values);
    values
}

impl Transaction<'_> {
    fn stored_key<T: Stored>(
        &self,
        of: &NodeStoredTable<T>,
        key: &impl KeyValues,
    ) -> Result<Vec<u8>, NodeError> {
        self.check_handle(&of.info)?;
        checked_key(&of.info, of.info.format.key(key)?)
    }

    /// Inserts a struct as a row.
    ///
    /// # Errors
    /// [`NodeError::Rows`]: there is one with its key, or a condition is not met; nothing has changed then. Those of
    /// [`Transaction::insert`].
    pub fn insert_stored<T: Stored>(
        &mut self,
        to: &NodeStoredTable<T>,
        row: &T,
    ) -> Result<(), NodeError> {
        self.check_handle(&to.info)?;
        let row = to.info.format.new_row(&values_of(to, row))?;
        let key = checked_key(&to.info, to.info.format.key_of(&row)?)?;
        self.insert_entry(&to.info, &key, &row)
    }

    /// Puts a struct in the place of the row with its key, if there is one; then columns that are no fields get their
    /// defaults. Returns whether there was one.
    ///
    /// # Errors
    /// Those of [`Transaction::insert_stored`], but for a duplicate.
    pub fn put_stored<T: Stored>(
        &mut self,
        to: &NodeStoredTable<T>,
        row: &T,
    ) -> Result<bool, NodeError> {
        self.check_handle(&to.info)?;
        let row = to.info.format.new_row(&values_of(to, row))?;
        let key = checked_key(&to.info, to.info.format.key_of(&row)?)?;
        self.put_entry(&to.info, &key, &row)
    }

    /// The row with this key.
    ///
    /// # Errors
    /// [`NodeError::Rows`] if these are no values of the key's columns; those of [`Transaction::read`].
    pub fn get_stored<T: Stored>(
        &mut self,
        of: &NodeStoredTable<T>,
        key: impl KeyValues,
    ) -> Result<Option<T>, NodeError> {
        let key = self.stored_key(of, &key)?;
        let found = entries::get(&View::new(self), of.info.root, &key, Intent::Read)?;
        let Some(bytes) = found else {
            return Ok(None);
        };
        Ok(Some(T::read(&of.columns, &of.info.format.row(&bytes)?)?))
    }

    /// Changes the row with this key in a struct of its own; only what differs is written. Columns that are no
    /// fields stay as they are. Returns what `change` does, or `None` if there is no such row.
    ///
    /// # Errors
    /// [`NodeError::Rows`] if the key changes; those of [`Transaction::insert_stored`].
    pub fn update_stored<T: Stored, R>(
        &mut self,
        of: &NodeStoredTable<T>,
        key: impl KeyValues,
        change: impl FnOnce(&mut T) -> R,
    ) -> Result<Option<R>, NodeError> {
        let key = self.stored_key(of, &key)?;
        let mut view = View::new(self);
        let Some(before) = of.info.row_to_change(&view, &key)? else {
            return Ok(None);
        };
        let mut changed = T::read(&of.columns, &of.info.format.row(&before)?)?;
        let result = change(&mut changed);
        let row = of
            .info
            .format
            .changed_row(&before, &values_of(of, &changed))?;
        of.info.put_row(&mut view, &key, Some(&before), &row)?;
        view.finish()?;
        Ok(Some(result))
    }

    /// Deletes the row with this key. Returns false if there is none.
    ///
    /// # Errors
    /// As [`Transaction::get_stored`], and [`NodeError::TransactionTooLarge`].
    pub fn delete_stored<T: Stored>(
        &mut self,
        of: &NodeStoredTable<T>,
        key: impl KeyValues,
    ) -> Result<bool, NodeError> {
        let key = self.stored_key(of, &key)?;
        Ok(self.remove_entry(&of.info, &key)?.is_some())
    }
}

impl<'a> Transaction<'a> {
    /// All rows, in the keys' order; from both ends.
    ///
    /// # Errors
    /// As [`Transaction::range_stored`].
    pub fn scan_stored<'t, T: Stored>(
        &'t mut self,
        of: &NodeStoredTable<T>,
    ) -> Result<NodeRange<'t, 'a, T>, NodeError> {
        self.range_stored::<T, u64>(of, ..)
    }

    /// The rows whose keys are in a range, in the keys' order; from both ends: see [`Transaction::range`].
    ///
    /// # Errors
    /// As [`Transaction::range`].
    pub fn range_stored<'t, T: Stored, K: KeyValues>(
        &'t mut self,
        of: &NodeStoredTable<T>,
        range: impl RangeBounds<K>,
    ) -> Result<NodeRange<'t, 'a, T>, NodeError> {
        self.check_handle(&of.info)?;
        let keys = of.info.format.key_range(None, &range)?;
        let columns = of.columns.clone();
        let info = of.info.clone();
        Ok(NodeRange::new(self, info, keys, move |row| {
            Ok(T::read(&columns, &row.info.format.row(&row.bytes)?)?)
        }))
    }
}
