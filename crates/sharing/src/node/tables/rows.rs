//! Rows by the names of their columns in a transaction: for those who do not know them when they are compiled.

use super::super::NodeError;
use super::super::transaction::Transaction;
use super::catalogue::TableInfo;
use super::entries::{self, Keys};
use super::range::{NodeRange, OwnedRow};
use super::records::checked_key;
use super::view::View;
use sardonyx_rows::schema::{Schema, Value};
use sardonyx_rows::{KeyValues, RowWriter};
use sardonyx_storage::tree::Intent;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

/// How many entries are counted at a time.
const PIECE: usize = 4096;

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

    pub(super) fn put_entry(
        &mut self,
        info: &TableInfo,
        key: &[u8],
        row: &[u8],
    ) -> Result<bool, NodeError> {
        let mut view = View::new(self);
        let before = info.row_to_change(&view, key)?;
        info.put_row(&mut view, key, before.as_deref(), row)?;
        view.finish()?;
        Ok(before.is_some())
    }

    pub(super) fn count_entries(&mut self, info: &TableInfo) -> Result<u64, NodeError> {
        let mut keys = Keys {
            lower: Bound::Unbounded,
            upper: Bound::Unbounded,
        };
        let mut all = 0;
        loop {
            // In pieces, as each has copies of its pages.
            let (count, last) = entries::count(&View::new(self), info.root, &keys, PIECE)?;
            all += count as u64;
            match last {
                Some(last) => keys.lower = Bound::Excluded(last),
                None => return Ok(all),
            }
        }
    }
}

impl<'a> NodeRows<'_, 'a> {
    /// What the rows are.
    pub fn schema(&self) -> &Arc<Schema> {
        self.info.format.schema()
    }

    /// The table's number in the catalogue.
    pub fn number(&self) -> u16 {
        self.info.number
    }

    fn key(&self, key: &[Value]) -> Result<Vec<u8>, NodeError> {
        checked_key(&self.info, self.info.format.key(key)?)
    }

    fn key_of(&self, row: &[u8]) -> Result<Vec<u8>, NodeError> {
        checked_key(&self.info, self.info.format.key_of(row)?)
    }

    /// The row with this key.
    ///
    /// # Errors
    /// [`NodeError::Rows`] if these are no values of the key's columns; those of [`Transaction::read`].
    pub fn get(&mut self, key: &[Value]) -> Result<Option<OwnedRow>, NodeError> {
        let key = self.key(key)?;
        let found = entries::get(
            &View::new(self.transaction),
            self.info.root,
            &key,
            Intent::Read,
        )?;
        Ok(found.map(|bytes| OwnedRow {
            info: self.info.clone(),
            bytes,
        }))
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
        Ok(NodeRange::new(self.transaction, info, keys, Ok))
    }

    /// How many rows there are. All leaves are read, and locked.
    ///
    /// # Errors
    /// Those of [`Transaction::read`].
    pub fn count(&mut self) -> Result<u64, NodeError> {
        self.transaction.count_entries(&self.info)
    }

    /// Inserts a row of columns by name. A column that is not named gets its default.
    ///
    /// # Errors
    /// [`NodeError::Rows`]: there is a row with its key; a value does not fit its column, or the row a condition; a
    /// column is missing or unknown. Nothing has changed then. Those of [`Transaction::insert`].
    pub fn insert(&mut self, values: &[(&str, Value)]) -> Result<(), NodeError> {
        let row = self.info.format.named(values)?;
        self.insert_row(&row)
    }

    /// Inserts a row of columns by number.
    ///
    /// # Errors
    /// Those of [`NodeRows::insert`].
    pub fn insert_row(&mut self, row: &RowWriter<'_>) -> Result<(), NodeError> {
        let row = self.info.format.new_row(row)?;
        let key = self.key_of(&row)?;
        self.transaction.insert_entry(&self.info, &key, &row)
    }

    /// Puts a row of columns by name in the place of the one with its key, if there is one: then of columns that are
    /// not named the defaults, too. Returns whether there was one.
    ///
    /// # Errors
    /// Those of [`NodeRows::insert`], but for a duplicate.
    pub fn put(&mut self, values: &[(&str, Value)]) -> Result<bool, NodeError> {
        let row = self.info.format.named(values)?;
        let row = self.info.format.new_row(&row)?;
        let key = self.key_of(&row)?;
        self.transaction.put_entry(&self.info, &key, &row)
    }

    /// Changes columns, by name, of the row with this key. Only what differs is written. Returns false if there is
    /// no such row.
    ///
    /// # Errors
    /// [`NodeError::Rows`] also if the key would change, otherwise those of [`NodeRows::insert`].
    pub fn update(&mut self, key: &[Value], changes: &[(&str, Value)]) -> Result<bool, NodeError> {
        let change = self.info.format.named(changes)?;
        let key = self.key(key)?;
        let mut view = View::new(self.transaction);
        let Some(before) = self.info.row_to_change(&view, &key)? else {
            return Ok(false);
        };
        let row = self.info.format.changed_row(&before, &change)?;
        self.info.put_row(&mut view, &key, Some(&before), &row)?;
        view.finish()?;
        Ok(true)
    }

    /// Deletes the row with this key. Returns false if there is no such row.
    ///
    /// # Errors
    /// [`NodeError::Rows`] if these are no values of the key's columns; [`NodeError::TransactionTooLarge`].
    pub fn delete(&mut self, key: &[Value]) -> Result<bool, NodeError> {
        let key = self.key(key)?;
        Ok(self.transaction.remove_entry(&self.info, &key)?.is_some())
    }
}
