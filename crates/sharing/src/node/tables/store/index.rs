//! An index of a table, to find rows by it. All indexes of nodes' tables are ordered, that of the primary key among them.

use super::super::super::NodeError;
use super::super::catalogue::TableInfo;
use super::super::entries::{self, Keys};
use super::super::range::{OwnedRow, Walk};
use super::{NodeTables, TableRange};
use sardonyx_base::error::Error;
use sardonyx_rows::{KeyRange, KeyValues, ReadIndex, TableError};
use std::fmt;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

/// The number of entries counted at a time: their pages are copied.
const PIECE: usize = 4096;

/// An index of a table, to find rows by it.
pub struct TableIndex<'r, 't> {
    tables: &'r NodeTables<'t>,
    info: Arc<TableInfo>,
    /// `None`: that of the primary key.
    number: Option<usize>,
}

impl<'t> NodeTables<'t> {
    /// The number of entries of a tree in a range.
    pub(super) fn count(&self, tree: u32, (lower, upper): KeyRange) -> Result<u64, NodeError> {
        let (mut keys, mut all) = (Keys { lower, upper }, 0);
        loop {
            let (count, last) = self.look(|view| entries::count(view, tree, &keys, PIECE))?;
            all += count as u64;
            match last {
                Some(last) => keys.lower = Bound::Excluded(last),
                None => return Ok(all),
            }
        }
    }
}

impl<'r, 't> TableIndex<'r, 't> {
    pub(super) fn of(
        tables: &'r NodeTables<'t>,
        info: Arc<TableInfo>,
        number: Option<usize>,
    ) -> Self {
        TableIndex {
            tables,
            info,
            number,
        }
    }

    fn walk(&self, keys: KeyRange) -> TableRange<'r, 't> {
        TableRange::of(self.tables, Walk::new(self.info.clone(), self.number, keys))
    }

    /// The keys of a range; of one that ends before it begins, none.
    fn keys<K: KeyValues>(&self, range: &impl RangeBounds<K>) -> Result<KeyRange, TableError> {
        match self.info.format.key_range(self.number, range) {
            Err(TableError::ReversedRange { .. }) => {
                Ok((Bound::Included(vec![1]), Bound::Excluded(vec![0])))
            }
            keys => keys,
        }
    }
}

impl<'r, 't> ReadIndex for TableIndex<'r, 't> {
    type Row = OwnedRow;
    type Range = TableRange<'r, 't>;

    fn get_by(&self, key: impl KeyValues) -> Result<Option<OwnedRow>, Error> {
        self.prefix(key)?.next().transpose()
    }

    fn range<K: KeyValues>(&self, range: impl RangeBounds<K>) -> Result<TableRange<'r, 't>, Error> {
        Ok(self.walk(self.keys(&range)?))
    }

    fn forward_range<K: KeyValues>(
        &self,
        range: impl RangeBounds<K>,
    ) -> Result<TableRange<'r, 't>, Error> {
        Ok(self.walk(self.info.format.key_range(self.number, &range)?))
    }

    fn prefix(&self, key: impl KeyValues) -> Result<TableRange<'r, 't>, Error> {
        let keys = self.info.format.keys_beginning(self.number, &key, false);
        Ok(self.walk(keys?))
    }

    fn starts_with(&self, key: impl KeyValues) -> Result<TableRange<'r, 't>, Error> {
        let keys = self.info.format.keys_beginning(self.number, &key, true);
        Ok(self.walk(keys?))
    }

    fn all(&self) -> Result<TableRange<'r, 't>, Error> {
        Ok(self.walk((Bound::Unbounded, Bound::Unbounded)))
    }

    fn count_range<K: KeyValues>(&self, range: impl RangeBounds<K>) -> Result<u64, Error> {
        let keys = self.keys(&range)?;
        Ok(self.tables.count(self.info.tree(self.number), keys)?)
    }
}

impl fmt::Debug for TableIndex<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TableIndex of {:?}", self.info.format.table())
    }
}
