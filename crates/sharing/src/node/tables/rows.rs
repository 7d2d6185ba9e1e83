//! Rows by the names of their columns in a transaction: for programs that do not know them when they are compiled.

use super::super::NodeError;
use super::super::transaction::Transaction;
use super::catalogue::TableInfo;
use super::range::{NodeRange, OwnedRow, Walk};
use super::store::NodeTables;
use sardonyx_rows::schema::{Schema, Value};
use sardonyx_rows::{KeyValues, ReadRows, RowWriter, Rows};
use std::ops::RangeBounds;
use std::sync::Arc;

/// The rows of a table in a transaction: [`Transaction::rows`].
///
/// A key is the values of the primary key's columns, in its order. Integers are good for every column of
/// numbers that has them; other values are of the column's type.
#[derive(Debug)]
pub struct NodeRows<'t, 'a> {
    pub(super) transaction: &'t mut Transaction<'a>,
    pub(super) info: Arc<TableInfo>,
}

impl<'a> Transaction<'a> {
    /// The rows of the table with this name, to read and change by their columns' names.
    ///
    /// # Errors
    /// [`NodeError::Rows`] if there is no such table; those of [`Transaction::read`].
    pub fn rows(&mut self, table: &str) -> Result<NodeRows<'_, 'a>, NodeError> {
        let info = self.table_named(table)?;
        Ok(NodeRows {
            transaction: self,
            info,
        })
    }
}

impl<'a> NodeRows<'_, 'a> {
    /// The rows' columns.
    pub fn schema(&self) -> &Arc<Schema> {
        self.info.format.schema()
    }

    /// The table's number in the catalogue.
    pub fn number(&self) -> u16 {
        self.info.number
    }

    /// The same rows, in the store of all tables.
    fn stored(&mut self) -> Result<Rows<NodeTables<'_>>, NodeError> {
        let number = self.info.number;
        Ok(Rows::numbered(self.transaction.tables()?, number)?)
    }

    /// The row with this key.
    ///
    /// # Errors
    /// [`NodeError::Rows`] if these are no values of the key's columns; those of [`Transaction::read`].
    pub fn get(&mut self, key: &[Value]) -> Result<Option<OwnedRow>, NodeError> {
        Ok(self.stored()?.get(key)?)
    }

    /// All rows, in the keys' order; from both ends.
    ///
    /// # Errors
    /// As [`Transaction::range`].
    pub fn scan(&mut self) -> Result<NodeRange<'_, 'a, OwnedRow>, NodeError> {
        self.range::<u64>(..)
    }

    /// The rows whose keys are in a range, in the keys' order; from both ends: see [`Transaction::range`].
    ///
    /// # Errors
    /// As [`Transaction::range`].
    pub fn range<K: KeyValues>(
        &mut self,
        range: impl RangeBounds<K>,
    ) -> Result<NodeRange<'_, 'a, OwnedRow>, NodeError> {
        let keys = self.info.format.key_range(None, &range)?;
        let info = self.info.clone();
        Ok(NodeRange::new(
            self.transaction,
            Walk::new(info, None, keys),
            Ok,
        ))
    }

    /// The number of rows. All leaves are read, and locked.
    ///
    /// # Errors
    /// The errors of [`Transaction::read`].
    pub fn count(&mut self) -> Result<u64, NodeError> {
        let number = self.info.number;
        Ok(self.transaction.tables()?.count_rows(number)?)
    }

    /// Inserts a row of columns by name. A column that is not named gets its default.
    ///
    /// # Errors
    /// [`NodeError::Rows`]: there is a row with its key; a value does not fit its column, or the row a condition; a
    /// column is missing or unknown. Nothing has changed then. The errors of [`Transaction::insert`].
    pub fn insert(&mut self, values: &[(&str, Value)]) -> Result<(), NodeError> {
        Ok(self.stored()?.insert(values)?)
    }

    /// Inserts a row of columns by number.
    ///
    /// # Errors
    /// The errors of [`NodeRows::insert`].
    pub fn insert_row(&mut self, row: &RowWriter<'_>) -> Result<(), NodeError> {
        Ok(self.stored()?.insert_row(row)?)
    }

    /// Puts a row of columns by name in the place of the one with its key, if there is one: then of columns that are
    /// not named the defaults, too. Returns whether there was one.
    ///
    /// # Errors
    /// The errors of [`NodeRows::insert`], except a duplicate.
    pub fn put(&mut self, values: &[(&str, Value)]) -> Result<bool, NodeError> {
        Ok(self.stored()?.put(values)?)
    }

    /// Changes columns, by name, of the row with this key. Only what differs is written. Returns false if there is
    /// no such row.
    ///
    /// # Errors
    /// [`NodeError::Rows`] also if the key would change, otherwise those of [`NodeRows::insert`].
    pub fn update(&mut self, key: &[Value], changes: &[(&str, Value)]) -> Result<bool, NodeError> {
        Ok(self.stored()?.update(key, changes)?)
    }

    /// Deletes the row with this key. Returns false if there is no such row.
    ///
    /// # Errors
    /// [`NodeError::Rows`] if these are no values of the key's columns; [`NodeError::TransactionTooLarge`].
    pub fn delete(&mut self, key: &[Value]) -> Result<bool, NodeError> {
        Ok(self.stored()?.delete(key)?)
    }
}
