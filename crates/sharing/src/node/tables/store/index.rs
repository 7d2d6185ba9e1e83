//! The entries of an index of a table. All indexes of nodes' tables are ordered, that of the primary key among them.

use super::super::super::NodeError;
use super::super::catalogue::TableInfo;
use super::super::entries::{self, Keys};
use super::super::range::{OwnedRow, Walk};
use super::NodeTables;
use sardonyx_base::error::Error;
use sardonyx_rows::key::{Edge, Span};
use sardonyx_rows::{IndexEntries, Indexed, KeyRange, RowForm, TableError};
use std::borrow::Borrow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Bound;
use std::sync::Arc;

/// The number of entries counted at a time: their pages are copied.
const PIECE: usize = 4096;

/// The entries of an index of a table, in trees on locked pages. `S` is the tables, borrowed or shared.
#[derive(Clone)]
pub struct NodeEntries<'t, S> {
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

impl<'t, S: Borrow<NodeTables<'t>> + Clone> NodeEntries<'t, S> {
    pub(in super::super) fn named(
        tables: S,
        info: Arc<TableInfo>,
        name: &str,
    ) -> Result<Self, TableError> {
        let number = info.format.index(name)?;
        Ok(NodeEntries::numbered(tables, info, number))
    }

    /// The index of a number in the schema; `None`: that of the primary key.
    pub(super) fn numbered(tables: S, info: Arc<TableInfo>, number: Option<usize>) -> Self {
        NodeEntries {
            tables,
            info,
            number,
            of: PhantomData,
        }
    }

    fn step(&self, walk: &mut Walk, descends: bool) -> Result<Option<OwnedRow>, Error> {
        let tables: &NodeTables<'t> = self.tables.borrow();
        let mut access = tables.access.borrow_mut();
        Ok(walk.give(&mut **access, descends).transpose()?)
    }
}

impl<'t, S: Borrow<NodeTables<'t>> + Clone> IndexEntries for NodeEntries<'t, S> {
    type Row = OwnedRow;
    type Found = OwnedRow;
    type Cursor = Walk;

    fn indexed(&self) -> Indexed<'_> {
        self.info.format.indexed(self.number)
    }

    fn between(&self, from: Option<Edge<'_>>, to: Option<Edge<'_>>) -> Result<Walk, Error> {
        let keys = Span::of(from, to).into_range();
        Ok(Walk::new(self.info.clone(), self.number, keys))
    }

    fn next<T: RowForm<OwnedRow>>(&self, walk: &mut Walk) -> Result<Option<OwnedRow>, Error> {
        self.step(walk, false)
    }

    fn next_back<T: RowForm<OwnedRow>>(&self, walk: &mut Walk) -> Result<Option<OwnedRow>, Error> {
        self.step(walk, true)
    }

    fn finish(&self, walk: &mut Walk) {
        walk.end();
    }

    /// Reads all leaves of the range, and locks them.
    fn count(&self, from: Option<Edge<'_>>, to: Option<Edge<'_>>) -> Result<u64, Error> {
        let tables: &NodeTables<'t> = self.tables.borrow();
        let keys = Span::of(from, to).into_range();
        Ok(tables.count(self.info.tree(self.number), keys)?)
    }
}

impl<S> fmt::Debug for NodeEntries<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeEntries of {:?}", self.info.format.table())
    }
}
