//! Reading the rows of nodes' tables.

use super::super::range::OwnedRow;
use super::{NodeEntries, NodeTables};
use sardonyx_base::error::Error;
use sardonyx_rows::schema::{Schema, Value, ValueRef};
use sardonyx_rows::{
    FoundRow, Index, IndexRange, ReadRow, ReadRows, Record, RecordRow, Relations, ScanPlace,
    TableError,
};
use sardonyx_storage::catalogue::Definitions;
use sardonyx_storage::tree::Intent;
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

impl FoundRow for OwnedRow {
    type Row = Self;

    fn into_row(self) -> Result<Self, TableError> {
        Ok(self)
    }
}

impl RecordRow for OwnedRow {
    /// The columns are looked up in the row's format.
    fn to_record<R: Record>(&self, _: &R::Columns) -> Result<R, TableError> {
        self.info.format.record_of(&self.bytes)
    }
}

impl<'t> ReadRows for NodeTables<'t> {
    type Row<'r>
        = OwnedRow
    where
        Self: 'r;
    type Scan<'r>
        = IndexRange<NodeEntries<'t, &'r NodeTables<'t>>>
    where
        Self: 'r;
    type Entries<'r>
        = NodeEntries<'t, &'r NodeTables<'t>>
    where
        Self: 'r;

    fn definitions(&self) -> &Definitions {
        self.tables.definitions()
    }

    fn relations(&self) -> &Relations {
        self.tables.relations()
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
        let entries = NodeEntries::numbered(self, self.info(table)?.clone(), None);
        Index::new(entries)?.all()
    }

    fn row_index(&self, table: u16, name: &str) -> Result<Index<Self::Entries<'_>>, Error> {
        let info = self.info(table)?;
        Ok(Index::new(NodeEntries::named(self, info.clone(), name)?)?)
    }
}
