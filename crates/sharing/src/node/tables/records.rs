//! Records in a transaction: the verbs that tables have in every way.

use super::super::NodeError;
use super::super::transaction::Transaction;
use super::catalogue::TableInfo;
use super::entries;
use super::view::View;
use sardonyx_rows::{ReadRows, Record, Table, TableError};
use sardonyx_storage::tree::{Intent, KEY_BYTES_MAX};
use std::sync::Arc;

impl TableInfo {
    /// The record of a row.
    pub(super) fn record_of<R: Record>(&self, bytes: &[u8]) -> Result<R, NodeError> {
        if R::PLAIN.is_some_and(|plain| plain.bytes > bytes.len()) {
            let error = TableError::DamagedTable {
                table: self.format.table().to_string(),
                page: self.root.into(),
                offset: 0,
                reason: "a row that is not a record of the table",
            };
            return Err(error.into());
        }
        Ok(self.format.record_of(bytes)?)
    }
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
    /// The table of a handle, and the key as bytes.
    fn record_key<R: Record>(
        &mut self,
        table: Table<R>,
        key: R::Key<'_>,
    ) -> Result<(Arc<TableInfo>, Vec<u8>), NodeError> {
        let info = self.table_of(table)?;
        let key = checked_key(&info, info.format.record_key::<R>(&key)?)?;
        Ok((info, key))
    }

    /// Inserts a record.
    ///
    /// # Errors
    /// [`NodeError::Rows`]: there is one with its key, or a condition of the table is not met; nothing has changed
    /// then. [`NodeError::PagesFull`], [`NodeError::TransactionTooLarge`], and those of [`Transaction::read`].
    pub fn insert<R: Record>(&mut self, table: Table<R>, record: &R) -> Result<(), NodeError> {
        let info = self.table_of(table)?;
        Ok(self.tables()?.insert_record(&info, record)?)
    }

    /// The record with this key.
    ///
    /// # Errors
    /// The errors of [`Transaction::read`].
    pub fn get<R: Record>(
        &mut self,
        table: Table<R>,
        key: R::Key<'_>,
    ) -> Result<Option<R>, NodeError> {
        self.get_as(table, key, Intent::Read)
    }

    /// The record with this key, which will be changed: its page is locked for writing at once. Two transactions that
    /// read a record first and change it later are a deadlock, of which one is run again.
    ///
    /// # Errors
    /// The errors of [`Transaction::read`].
    pub fn get_to_change<R: Record>(
        &mut self,
        table: Table<R>,
        key: R::Key<'_>,
    ) -> Result<Option<R>, NodeError> {
        self.get_as(table, key, Intent::Write)
    }

    fn get_as<R: Record>(
        &mut self,
        table: Table<R>,
        key: R::Key<'_>,
        intent: Intent,
    ) -> Result<Option<R>, NodeError> {
        let (info, key) = self.record_key(table, key)?;
        let found = entries::get(&View::new(self), info.root, &key, intent)?;
        found.map(|bytes| info.record_of(&bytes)).transpose()
    }

    /// Changes the record with this key in a copy of its own; only what differs is written, and columns that are no fields
    /// stay as they are. Returns what `change` returns, or `None` if there is no such record.
    ///
    /// # Errors
    /// [`NodeError::Rows`] if the key changes, or a condition is not met; those of [`Transaction::insert`].
    pub fn update<R: Record, T>(
        &mut self,
        table: Table<R>,
        key: R::Key<'_>,
        change: impl FnOnce(&mut R) -> T,
    ) -> Result<Option<T>, NodeError> {
        let (info, key) = self.record_key(table, key)?;
        Ok(self.tables()?.update_record(&info, &key, change)?)
    }

    /// Puts a record into the table: in the place of the one with its key, if there is one; then columns that are no fields
    /// get their defaults. Returns whether there was one.
    ///
    /// # Errors
    /// The errors of [`Transaction::insert`], except a duplicate.
    pub fn put<R: Record>(&mut self, table: Table<R>, record: &R) -> Result<bool, NodeError> {
        let info = self.table_of(table)?;
        Ok(self.tables()?.put_record(&info, record)?)
    }

    /// Deletes the record with this key and returns it.
    ///
    /// # Errors
    /// [`NodeError::TransactionTooLarge`] and those of [`Transaction::read`].
    pub fn remove<R: Record>(
        &mut self,
        table: Table<R>,
        key: R::Key<'_>,
    ) -> Result<Option<R>, NodeError> {
        let (info, key) = self.record_key(table, key)?;
        let removed = self.tables()?.remove_row(&info, key)?;
        removed.map(|bytes| info.record_of(&bytes)).transpose()
    }

    /// Deletes the record with this key. Returns false if there is none.
    ///
    /// # Errors
    /// As [`Transaction::remove`].
    pub fn delete<R: Record>(
        &mut self,
        table: Table<R>,
        key: R::Key<'_>,
    ) -> Result<bool, NodeError> {
        let (info, key) = self.record_key(table, key)?;
        Ok(self.tables()?.remove_row(&info, key)?.is_some())
    }

    /// The number of records. All leaves are read, and locked.
    ///
    /// # Errors
    /// The errors of [`Transaction::read`].
    pub fn count<R: Record>(&mut self, table: Table<R>) -> Result<u64, NodeError> {
        let info = self.table_of(table)?;
        Ok(self.tables()?.count_rows(info.number)?)
    }
}
