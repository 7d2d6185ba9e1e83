//! Rows of a transaction: by the names of their columns, for programs that do not know them when they are compiled, and
//! records in the order of an index. Both are those of all stores, over [`NodeTables`].

use super::super::NodeError;
use super::super::transaction::Transaction;
use super::store::{NodeEntries, NodeTables};
use sardonyx_rows::schema::PRIMARY;
use sardonyx_rows::{Index, IndexRange, KeyValues, Record, Rows, Table};
use std::ops::RangeBounds;
use std::rc::Rc;

/// Tables that an index and its ranges share.
type Shared<'t> = Rc<NodeTables<'t>>;

/// Records of a transaction in the order of an index, from both ends. An error is returned once: it is the end.
pub type NodeRecords<'t, R> = IndexRange<NodeEntries<'t, Shared<'t>>, R>;

/// An index of a table in a transaction, to find records by it.
pub type NodeIndex<'t, R> = Index<NodeEntries<'t, Shared<'t>>, R>;

impl Transaction<'_> {
    /// The rows of the table with this name, to read and change by their columns' names. For several tables at a time see
    /// [`Transaction::tables`].
    ///
    /// # Errors
    /// [`NodeError::Rows`] if there is no such table; those of [`Transaction::read`].
    pub fn rows(&mut self, table: &str) -> Result<Rows<NodeTables<'_>>, NodeError> {
        Ok(Rows::named(self.tables()?, table)?)
    }

    /// The records whose keys are in a range, in the keys' order; from both ends. Keys are the values of the key's
    /// columns, or of the first ones: a bound of fewer matches all keys that begin with them. The rows read are locked,
    /// and so are the gaps between.
    ///
    /// # Errors
    /// [`NodeError::Rows`] if these are no values of the key's columns; of each record, those of
    /// [`Transaction::read`].
    pub fn range<R: Record, K: KeyValues>(
        &mut self,
        table: Table<R>,
        range: impl RangeBounds<K>,
    ) -> Result<NodeRecords<'_, R>, NodeError> {
        Ok(self.index(table, PRIMARY)?.range(range)?)
    }

    /// All records, in the keys' order; from both ends.
    ///
    /// # Errors
    /// As [`Transaction::range`].
    pub fn scan<R: Record>(&mut self, table: Table<R>) -> Result<NodeRecords<'_, R>, NodeError> {
        self.range::<R, u64>(table, ..)
    }

    /// An index of a table, by its name; `primary` is that of the primary key. All indexes are ordered.
    ///
    /// # Errors
    /// [`NodeError::Rows`] if there is no such index, or the handle is another database's.
    pub fn index<R: Record>(
        &mut self,
        table: Table<R>,
        name: &str,
    ) -> Result<NodeIndex<'_, R>, NodeError> {
        let tables = self.tables()?;
        let info = tables.info_of(table)?.clone();
        let entries = NodeEntries::named(Rc::new(tables), info, name)?;
        Ok(Index::new(entries)?)
    }
}
