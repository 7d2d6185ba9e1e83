//! Reading the rows of nodes' tables.

use super::super::super::NodeError;
use super::super::range::{OwnedRow, Walk};
use super::{NodeTables, TableIndex};
use sardonyx_base::error::Error;
use sardonyx_rows::schema::{Schema, Value, ValueRef};
use sardonyx_rows::{ReadRow, ReadRows, Record, RecordRow, ScanPlace, ScanRows, TableError};
use sardonyx_storage::catalogue::Definitions;
use sardonyx_storage::tree::Intent;
use std::borrow::Borrow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Bound;
use std::sync::Arc;

impl ReadRow for OwnedRow {
    fn value_at(&self, column: usize) -> Result<ValueRef<'_>, TableError> {
        self.info.format.value_at(&self.bytes, column)
    }

    fn value_of(&self, column: &str) -> Result<ValueRef<'_>, Error> {
        let number = self.info.format.column(column)?;
        Ok(self.value_at(number)?)
    }
}

impl RecordRow for OwnedRow {
    /// The columns are looked up in the row's format.
    fn to_record<R: Record>(&self, _: &R::Columns) -> Result<R, TableError> {
        Ok(self.info.record_of(&self.bytes)?)
    }
}

impl<'t> ReadRows for NodeTables<'t> {
    type Row<'r>
        = OwnedRow
    where
        Self: 'r;
    type Scan<'r>
        = TableRange<'t, &'r NodeTables<'t>>
    where
        Self: 'r;
    type Index<'r>
        = TableIndex<'t, &'r NodeTables<'t>>
    where
        Self: 'r;

    fn definitions(&self) -> &Definitions {
        self.tables.definitions()
    }

    fn row_schema(&self, table: u16) -> Option<&Arc<Schema>> {
        self.tables.info(table).map(|info| info.format.schema())
    }

    /// Reads all leaves, and locks them.
    fn count_rows(&self, table: u16) -> Result<u64, Error> {
        let info = self.info(table)?;
        let all = (Bound::Unbounded, Bound::Unbounded);
        Ok(self.count(info.root, all)?)
    }

    fn knows_counts(&self) -> bool {
        false
    }

    fn get_row(&self, table: u16, key: &[Value]) -> Result<Option<OwnedRow>, Error> {
        let info = self.info(table)?;
        let key = info.format.key(key)?;
        let intent = match self.changes_found {
            true => Intent::Write,
            false => Intent::Read,
        };
        Ok(self.row_with_key(info, &key, intent)?)
    }

    fn scan_rows(&self, table: u16, _: ScanPlace) -> Result<Self::Scan<'_>, Error> {
        let all = (Bound::Unbounded, Bound::Unbounded);
        let walk = Walk::new(self.info(table)?.clone(), None, all);
        Ok(TableRange::of(self, walk))
    }

    fn row_index(&self, table: u16, name: &str) -> Result<Self::Index<'_>, Error> {
        let info = self.info(table)?;
        Ok(TableIndex::named(self, info.clone(), name)?)
    }
}

/// Rows in the order of an index, from both ends. An error is returned once: it is the end. `S` is the tables, borrowed
/// or shared.
pub struct TableRange<'t, S> {
    tables: S,
    walk: Walk,
    of: PhantomData<NodeTables<'t>>,
}

impl<'t, S: Borrow<NodeTables<'t>>> TableRange<'t, S> {
    pub(in super::super) fn of(tables: S, walk: Walk) -> Self {
        TableRange {
            tables,
            walk,
            of: PhantomData,
        }
    }

    fn give(&mut self, descends: bool) -> Option<Result<OwnedRow, Error>> {
        let tables: &NodeTables<'t> = self.tables.borrow();
        let mut access = tables.access.borrow_mut();
        let row: Result<OwnedRow, NodeError> = self.walk.give(&mut **access, descends)?;
        Some(row.map_err(Error::from))
    }
}

impl<'t, S: Borrow<NodeTables<'t>>> Iterator for TableRange<'t, S> {
    type Item = Result<OwnedRow, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.give(false)
    }
}

impl<'t, S: Borrow<NodeTables<'t>>> DoubleEndedIterator for TableRange<'t, S> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.give(true)
    }
}

impl<'t, S: Borrow<NodeTables<'t>>> ScanRows for TableRange<'t, S> {
    type Row = OwnedRow;

    /// It is read to its end.
    fn place(&self) -> Option<ScanPlace> {
        None
    }
}

impl<S> fmt::Debug for TableRange<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TableRange of {:?}", self.walk.table())
    }
}
