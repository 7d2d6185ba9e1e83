//! An index of a table, to find rows by it. All indexes of nodes' tables are ordered, that of the primary key among them.

use super::super::super::NodeError;
use super::super::catalogue::TableInfo;
use super::super::entries::{self, Keys};
use super::super::range::{OwnedRow, Walk};
use super::{NodeTables, TableRange};
use sardonyx_base::error::Error;
use sardonyx_rows::{KeyRange, KeyValues, ReadIndex, TableError};
use std::borrow::Borrow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

/// The number of entries counted at a time: their pages are copied.
const PIECE: usize = 4096;

/// An index of a table, to find rows by it: see [`ReadIndex`]. `S` is the tables, borrowed or shared.
pub struct TableIndex<'t, S> {
    tables: S,
    info: Arc<TableInfo>,
    /// `None`: that of the primary key.
    number: Option<usize>,
    of: PhantomData<NodeTables<'t>>,
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

impl<'t, S: Borrow<NodeTables<'t>> + Clone> TableIndex<'t, S> {
    pub(in super::super) fn named(
        tables: S,
        info: Arc<TableInfo>,
        name: &str,
    ) -> Result<Self, TableError> {
        Ok(TableIndex {
            number: info.format.index(name)?,
            tables,
            info,
            of: PhantomData,
        })
    }
}

impl<'t, S: Borrow<NodeTables<'t>> + Clone> ReadIndex for TableIndex<'t, S> {
    type Row = OwnedRow;
    type Range = TableRange<'t, S>;
    type Span = KeyRange;

    fn span<K: KeyValues>(
        &self,
        range: impl RangeBounds<K>,
        refuses_reversed: bool,
    ) -> Result<KeyRange, Error> {
        let format = &self.info.format;
        Ok(format.key_range(self.number, &range, refuses_reversed)?)
    }

    fn beginning(&self, key: impl KeyValues, goes_on: bool) -> Result<KeyRange, Error> {
        Ok((self.info.format).keys_beginning(self.number, &key, goes_on)?)
    }

    fn everything(&self) -> Result<KeyRange, Error> {
        Ok((Bound::Unbounded, Bound::Unbounded))
    }

    fn walk(&self, keys: KeyRange) -> Result<TableRange<'t, S>, Error> {
        let walk = Walk::new(self.info.clone(), self.number, keys);
        Ok(TableRange::of(self.tables.clone(), walk))
    }

    fn count(&self, keys: KeyRange) -> Result<u64, Error> {
        let tables: &NodeTables<'t> = self.tables.borrow();
        Ok(tables.count(self.info.tree(self.number), keys)?)
    }
}

impl<S> fmt::Debug for TableIndex<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TableIndex of {:?}", self.info.format.table())
    }
}
