//! A row as an open transaction sees it: of its snapshot, or its own.

use sardonyx_base::error::Error;
use sardonyx_rows::schema::ValueRef;
use sardonyx_rows::{FoundRow, OneRow, ReadRow, Record, RecordRow, RowFormat, RowRef, TableError};
use sardonyx_storage::store::PageSnapshot;
use std::fmt;
use std::sync::Arc;

/// A row of an open transaction.
pub struct OpenRow<'r>(Of<'r>);

enum Of<'r> {
    Snapshot(RowRef<'r, PageSnapshot>),
    Own(RowRef<'r, OneRow>),
}

impl<'r> OpenRow<'r> {
    #[inline]
    pub(super) fn frozen(row: RowRef<'r, PageSnapshot>) -> Self {
        OpenRow(Of::Snapshot(row))
    }

    #[inline]
    pub(super) fn own(row: RowRef<'r, OneRow>) -> Self {
        OpenRow(Of::Own(row))
    }
}

impl OpenRow<'_> {
    #[inline]
    pub(super) fn to_bytes(&self, format: &RowFormat) -> Result<Arc<[u8]>, TableError> {
        match &self.0 {
            // The fixed part is the whole row, and has the same bytes in both.
            Of::Snapshot(row)
                if format.is_fixed() && row.fixed().len() == format.schema().row_bytes =>
            {
                Ok(row.fixed().into())
            }
            _ => Ok(format.copy_of(self)?.into()),
        }
    }
}

impl FoundRow for OpenRow<'_> {
    type Row = Self;

    #[inline]
    fn into_row(self) -> Result<Self, TableError> {
        Ok(self)
    }
}

impl RecordRow for OpenRow<'_> {
    fn to_record<R: Record>(&self, columns: &R::Columns) -> Result<R, TableError> {
        match &self.0 {
            Of::Snapshot(row) => R::read_row(columns, row),
            Of::Own(row) => R::read_row(columns, row),
        }
    }
}

impl ReadRow for OpenRow<'_> {
    #[inline]
    fn value_at(&self, column: usize) -> Result<ValueRef<'_>, TableError> {
        match &self.0 {
            Of::Snapshot(row) => row.get_at(column),
            Of::Own(row) => row.get_at(column),
        }
    }

    #[inline]
    fn newest_fixed(&self) -> Option<&[u8]> {
        match &self.0 {
            Of::Snapshot(row) => row.newest_fixed(),
            Of::Own(row) => row.newest_fixed(),
        }
    }

    #[inline]
    fn value_of(&self, column: &str) -> Result<ValueRef<'_>, Error> {
        match &self.0 {
            Of::Snapshot(row) => row.get(column),
            Of::Own(row) => row.get(column),
        }
    }
}

impl fmt::Debug for OpenRow<'_> {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Of::Snapshot(row) => row.fmt(f),
            Of::Own(row) => row.fmt(f),
        }
    }
}
