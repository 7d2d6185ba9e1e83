//! Records in a transaction: the verbs that tables have in every way, of [`NodeTables`](super::NodeTables).

use super::super::NodeError;
use super::super::transaction::Transaction;
use sardonyx_rows::{ReadRows, Record, RecordRows, Table, records};
use sardonyx_storage::tree::Intent;

impl Transaction<'_> {
    /// Inserts a record.
    ///
    /// # Errors
    /// [`NodeError::Rows`]: there is one with its key, or a condition of the table is not met; nothing has changed
    /// then. [`NodeError::PagesFull`], [`NodeError::TransactionTooLarge`], and those of [`Transaction::read`].
    pub fn insert<R: Record>(&mut self, table: Table<R>, record: &R) -> Result<(), NodeError> {
        Ok(self.tables()?.insert_record(table, record)?)
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
        self.tables()?.record(table, &key, Intent::Read)
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
        self.tables()?.record(table, &key, Intent::Write)
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
        self.try_update(table, key, |record| Ok(change(record)))
    }

    /// As [`Transaction::update`], with a change that may fail.
    ///
    /// # Errors
    /// The error of `change`, and the errors of [`Transaction::update`]. The record is then as before.
    pub fn try_update<R: Record, T>(
        &mut self,
        table: Table<R>,
        key: R::Key<'_>,
        change: impl FnOnce(&mut R) -> Result<T, NodeError>,
    ) -> Result<Option<T>, NodeError> {
        records::try_update(&mut self.tables()?, table, &key, change)
    }

    /// Puts a record into the table: in the place of the one with its key, if there is one. Then columns that are no fields
    /// get their defaults, or stay as they are beside a plain record. Returns whether there was one.
    ///
    /// # Errors
    /// The errors of [`Transaction::insert`], except a duplicate.
    pub fn put<R: Record>(&mut self, table: Table<R>, record: &R) -> Result<bool, NodeError> {
        Ok(records::put(&mut self.tables()?, table, record)?)
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
        Ok(records::remove(&mut self.tables()?, table, &key)?)
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
        Ok(records::delete(&mut self.tables()?, table, &key)?)
    }

    /// Deletes the records of a table for which `keep` returns false. Returns their number. All leaves are locked for
    /// writing, also those whose records are kept.
    ///
    /// # Errors
    /// As [`Transaction::remove`]: some records are deleted then, and the transaction should be given up.
    pub fn retain<R: Record>(
        &mut self,
        table: Table<R>,
        keep: impl FnMut(&R) -> bool,
    ) -> Result<u64, NodeError> {
        Ok(records::retain(&mut self.tables()?, table, keep)?)
    }

    /// Deletes all records of a table. Returns their number.
    ///
    /// # Errors
    /// As [`Transaction::retain`].
    pub fn clear<R: Record>(&mut self, table: Table<R>) -> Result<u64, NodeError> {
        self.retain(table, |_| false)
    }

    /// The number of records. All leaves are read, and locked.
    ///
    /// # Errors
    /// The errors of [`Transaction::read`].
    pub fn count<R: Record>(&mut self, table: Table<R>) -> Result<u64, NodeError> {
        let tables = self.tables()?;
        tables.check_handle(table)?;
        Ok(tables.count_rows(table.number())?)
    }
}
