//! Records of [`record!`](sardonyx_rows::record) in a transaction: the verbs that tables have in every way.

use super::super::NodeError;
use super::super::transaction::Transaction;
use super::catalogue::TableInfo;
use super::entries;
use super::handle::NodeTable;
use super::range::{NodeRange, OwnedRow};
use super::view::View;
use sardonyx_rows::{KeyValues, Record, TableError};
use sardonyx_storage::tree::{Intent, KEY_BYTES_MAX};
use std::ops::RangeBounds;

/// That the bytes in a tree are no record.
#[cold]
fn no_record(info: &TableInfo) -> NodeError {
    TableError::DamagedTable {
        table: info.format.table().to_string(),
        page: info.root.into(),
        offset: 0,
        reason: "a row that is not a record of the table",
    }
    .into()
}

pub(super) fn record_of<R: Record>(info: &TableInfo, bytes: &[u8]) -> Result<R, NodeError> {
    R::read_from_bytes(bytes).map_err(|_| no_record(info))
}

/// Refuses a key that is too long for a tree.
pub(super) fn checked_key(info: &TableInfo, key: Vec<u8>) -> Result<Vec<u8>, NodeError> {
    match key.len() <= KEY_BYTES_MAX {
        true => Ok(key),
        false => Err(NodeError::KeyTooLong {
            table: info.format.table().to_string(),
            bytes: key.len(),
        }),
    }
}

impl Transaction<'_> {
    fn record_key<R: Record>(
        &self,
        table: &NodeTable<R>,
        key: &R::Key,
    ) -> Result<Vec<u8>, NodeError> {
        self.check_handle(&table.info)?;
        let key = table.info.format.record_key::<R>(key)?;
        checked_key(&table.info, key)
    }

    /// The key and the row of a record.
    fn record_row<R: Record>(
        &self,
        table: &NodeTable<R>,
        record: &R,
    ) -> Result<(Vec<u8>, Vec<u8>), NodeError> {
        self.check_handle(&table.info)?;
        let format = &table.info.format;
        let row = format.record_row(record.as_bytes())?;
        let key = checked_key(&table.info, format.key_of(&row)?)?;
        Ok((key, row))
    }

    /// Inserts a record.
    ///
    /// # Errors
    /// [`NodeError::Rows`]: there is one with its key, or a condition of the table is not met; nothing has changed
    /// then. [`NodeError::PagesFull`], [`NodeError::TransactionTooLarge`], and those of [`Transaction::read`].
    pub fn insert<R: Record>(&mut self, table: &NodeTable<R>, record: &R) -> Result<(), NodeError> {
        let (key, row) = self.record_row(table, record)?;
        self.insert_entry(&table.info, &key, &row)
    }

    pub(super) fn insert_entry(
        &mut self,
        info: &TableInfo,
        key: &[u8],
        row: &[u8],
    ) -> Result<(), NodeError> {
        let mut view = View::new(self);
        info.insert_row(&mut view, key, row)?;
        view.finish()
    }

    /// The record with this key.
    ///
    /// # Errors
    /// Those of [`Transaction::read`].
    pub fn get<R: Record>(
        &mut self,
        table: &NodeTable<R>,
        key: &R::Key,
    ) -> Result<Option<R>, NodeError> {
        self.get_as(table, key, Intent::Read)
    }

    /// The record with this key, which will be changed: its page is locked for writing at once. Two transactions that
    /// read a record first and change it later are a deadlock, of which one is run again.
    ///
    /// # Errors
    /// Those of [`Transaction::read`].
    pub fn get_to_change<R: Record>(
        &mut self,
        table: &NodeTable<R>,
        key: &R::Key,
    ) -> Result<Option<R>, NodeError> {
        self.get_as(table, key, Intent::Write)
    }

    fn get_as<R: Record>(
        &mut self,
        table: &NodeTable<R>,
        key: &R::Key,
        intent: Intent,
    ) -> Result<Option<R>, NodeError> {
        let key = self.record_key(table, key)?;
        let found = entries::get(&View::new(self), table.info.root, &key, intent)?;
        let record = found.map(|bytes| record_of(&table.info, &bytes));
        record.transpose()
    }

    /// Changes the record with this key. Only what differs is written. Returns false if there is none.
    ///
    /// # Errors
    /// [`NodeError::Rows`] if the key changes, or a condition is not met; those of [`Transaction::insert`].
    pub fn update<R: Record>(
        &mut self,
        table: &NodeTable<R>,
        key: &R::Key,
        change: impl FnOnce(&mut R),
    ) -> Result<bool, NodeError> {
        let key = self.record_key(table, key)?;
        let mut view = View::new(self);
        let Some(before) = table.info.row_to_change(&view, &key)? else {
            return Ok(false);
        };
        let mut record: R = record_of(&table.info, &before)?;
        change(&mut record);
        let format = &table.info.format;
        let row = format.record_row(record.as_bytes())?;
        if format.key_of(&row)? != key {
            return Err(format.key_changed().into());
        }
        table.info.put_row(&mut view, &key, Some(&before), &row)?;
        view.finish()?;
        Ok(true)
    }

    /// Puts a record into the table: in the place of the one with its key, if there is one, which is returned.
    ///
    /// # Errors
    /// Those of [`Transaction::insert`], but for a duplicate.
    pub fn put<R: Record>(
        &mut self,
        table: &NodeTable<R>,
        record: &R,
    ) -> Result<Option<R>, NodeError> {
        let (key, row) = self.record_row(table, record)?;
        let mut view = View::new(self);
        let before = table.info.row_to_change(&view, &key)?;
        let there = before.as_ref().map(|bytes| record_of(&table.info, bytes));
        let there = there.transpose()?;
        table
            .info
            .put_row(&mut view, &key, before.as_deref(), &row)?;
        view.finish()?;
        Ok(there)
    }

    /// Deletes the record with this key and returns it.
    ///
    /// # Errors
    /// [`NodeError::TransactionTooLarge`] and those of [`Transaction::read`].
    pub fn remove<R: Record>(
        &mut self,
        table: &NodeTable<R>,
        key: &R::Key,
    ) -> Result<Option<R>, NodeError> {
        let key = self.record_key(table, key)?;
        let removed = self.remove_entry(&table.info, &key)?;
        let record = removed.map(|bytes| record_of(&table.info, &bytes));
        record.transpose()
    }

    /// Deletes the record with this key. Returns false if there is none.
    ///
    /// # Errors
    /// As [`Transaction::remove`].
    pub fn delete<R: Record>(
        &mut self,
        table: &NodeTable<R>,
        key: &R::Key,
    ) -> Result<bool, NodeError> {
        let key = self.record_key(table, key)?;
        Ok(self.remove_entry(&table.info, &key)?.is_some())
    }

    pub(super) fn remove_entry(
        &mut self,
        info: &TableInfo,
        key: &[u8],
    ) -> Result<Option<Vec<u8>>, NodeError> {
        let mut view = View::new(self);
        let removed = info.remove_row(&mut view, key)?;
        view.finish()?;
        Ok(removed)
    }
}

impl<'a> Transaction<'a> {
    /// The records whose keys are in a range, in the keys' order; from both ends. Keys are the values of the key's
    /// columns, or of the first ones: a bound of fewer stands for all keys that begin with them. What was read
    /// is locked, and so are the gaps between.
    ///
    /// # Errors
    /// [`NodeError::Rows`] if these are no values of the key's columns; of each record, those of
    /// [`Transaction::read`].
    pub fn range<'t, R: Record, K: KeyValues>(
        &'t mut self,
        table: &NodeTable<R>,
        range: impl RangeBounds<K>,
    ) -> Result<NodeRange<'t, 'a, R>, NodeError> {
        self.check_handle(&table.info)?;
        let keys = table.info.format.key_range(None, &range)?;
        let info = table.info.clone();
        let decode = |row: OwnedRow| record_of(&row.info, &row.bytes);
        Ok(NodeRange::new(self, info, keys, decode))
    }

    /// All records, in the keys' order; from both ends.
    ///
    /// # Errors
    /// As [`Transaction::range`].
    pub fn scan<'t, R: Record>(
        &'t mut self,
        table: &NodeTable<R>,
    ) -> Result<NodeRange<'t, 'a, R>, NodeError> {
        self.range::<R, u64>(table, ..)
    }

    /// How many records there are. All leaves are read, and locked.
    ///
    /// # Errors
    /// Those of [`Transaction::read`].
    pub fn count<R: Record>(&mut self, table: &NodeTable<R>) -> Result<u64, NodeError> {
        self.check_handle(&table.info)?;
        self.count_entries(&table.info)
    }
}
