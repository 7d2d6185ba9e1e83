//! Rows by an index: in the order of another key than the primary one, or found by it.

use super::super::NodeError;
use super::super::transaction::Transaction;
use super::catalogue::TableInfo;
use super::range::{Decode, NodeRange, OwnedRow, Walk};
use super::rows::NodeRows;
use sardonyx_rows::{KeyValues, Record, Table};
use std::fmt;
use std::ops::RangeBounds;
use std::sync::Arc;

/// An index of a table in a transaction: [`Transaction::index`], [`NodeRows::index`].
///
/// Keys are values of its columns, or of the first ones: a value, a tuple, or a slice of values. A bound of fewer
/// values than the index has columns matches all keys that begin with them. All indexes are ordered.
pub struct NodeIndex<'t, 'a, T> {
    transaction: &'t mut Transaction<'a>,
    info: Arc<TableInfo>,
    /// `None`: that of the primary key.
    number: Option<usize>,
    decode: Decode<T>,
}

impl<'a> Transaction<'a> {
    /// An index of a table, by its name; `primary` is that of the primary key.
    ///
    /// # Errors
    /// [`NodeError::Rows`] if there is no such index, or the handle is another database's.
    pub fn index<R: Record>(
        &mut self,
        table: Table<R>,
        name: &str,
    ) -> Result<NodeIndex<'_, 'a, R>, NodeError> {
        let info = self.table_of(table)?;
        let number = info.format.index(name)?;
        Ok(NodeIndex {
            transaction: self,
            info,
            number,
            decode: OwnedRow::record,
        })
    }
}

impl<'a> NodeRows<'_, 'a> {
    /// An index of the table, by its name; `primary` is that of the primary key.
    ///
    /// # Errors
    /// [`NodeError::Rows`] if there is no such index.
    pub fn index(&mut self, name: &str) -> Result<NodeIndex<'_, 'a, OwnedRow>, NodeError> {
        let number = self.info.format.index(name)?;
        Ok(NodeIndex {
            transaction: self.transaction,
            info: self.info.clone(),
            number,
            decode: Ok,
        })
    }
}

impl<'a, T> NodeIndex<'_, 'a, T> {
    /// The first row with this key, or whose key begins with these values.
    ///
    /// # Errors
    /// [`NodeError::Rows`] if the values are none of the index's columns; those of [`Transaction::read`].
    pub fn get_by<K: KeyValues>(&mut self, key: K) -> Result<Option<T>, NodeError> {
        self.range::<&K>(&key..=&key)?.next().transpose()
    }

    /// The rows whose keys are in a range, in the keys' order; from both ends.
    ///
    /// # Errors
    /// As [`NodeIndex::get_by`].
    pub fn range<K: KeyValues>(
        &mut self,
        range: impl RangeBounds<K>,
    ) -> Result<NodeRange<'_, 'a, T>, NodeError> {
        let keys = self.info.format.key_range(self.number, &range)?;
        let walk = Walk::new(self.info.clone(), self.number, keys);
        Ok(NodeRange::new(self.transaction, walk, self.decode))
    }
}

impl<T> fmt::Debug for NodeIndex<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeIndex of {:?}", self.info.format.table())
    }
}
