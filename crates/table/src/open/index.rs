//! The entries of a table's ordered index, in an open transaction: those of its snapshot and its own.

use super::range::OpenCursor;
use super::{Known, OpenRow, OpenRows};
use crate::secondary::Secondary;
use sardonyx_base::error::Error;
use sardonyx_rows::key::{Edge, KeyValues, Span};
use sardonyx_rows::{IndexEntries, Indexed, RowForm, TableError};
use std::fmt;

/// The entries of an ordered index, as an open transaction sees them.
#[derive(Clone, Copy)]
pub struct OpenEntries<'r> {
    rows: &'r OpenRows,
    known: &'r Known,
    table: u16,
    index: &'r Secondary,
}

impl<'r> OpenEntries<'r> {
    #[inline]
    pub(super) fn of(
        rows: &'r OpenRows,
        known: &'r Known,
        table: u16,
        index: &'r Secondary,
    ) -> Self {
        OpenEntries {
            rows,
            known,
            table,
            index,
        }
    }

    /// The rows whose keys begin with these values.
    pub(super) fn rows_beginning(
        &self,
        values: &(impl KeyValues + ?Sized),
    ) -> Result<OpenCursor<'r>, TableError> {
        let key = self.indexed().key(values, false)?;
        self.rows_of(&Span::of_beginning(&key.bytes))
    }

    #[inline]
    pub(super) fn rows_of(&self, span: &Span) -> Result<OpenCursor<'r>, TableError> {
        OpenCursor::of(self.rows, self.table, self.index, span)
    }
}

impl<'r> IndexEntries for OpenEntries<'r> {
    type Row = OpenRow<'r>;
    type Found = OpenRow<'r>;
    type Cursor = OpenCursor<'r>;

    #[inline]
    fn indexed(&self) -> Indexed<'_> {
        let what = &*self.index.what;
        Indexed {
            shape: &what.shape,
            index: &what.definition.name,
            table: &self.known.name,
            schema: &self.known.schema,
        }
    }

    #[inline]
    fn between(
        &self,
        from: Option<Edge<'_>>,
        to: Option<Edge<'_>>,
    ) -> Result<OpenCursor<'r>, Error> {
        Ok(self.rows_of(&Span::of(from, to))?)
    }

    #[inline]
    fn next<T: RowForm<OpenRow<'r>>>(
        &self,
        cursor: &mut OpenCursor<'r>,
    ) -> Result<Option<OpenRow<'r>>, Error> {
        Ok(cursor.step(false)?.map(|(_, row)| row))
    }

    #[inline]
    fn next_back<T: RowForm<OpenRow<'r>>>(
        &self,
        cursor: &mut OpenCursor<'r>,
    ) -> Result<Option<OpenRow<'r>>, Error> {
        Ok(cursor.step(true)?.map(|(_, row)| row))
    }

    fn finish(&self, cursor: &mut OpenCursor<'r>) {
        cursor.finish();
    }

    #[inline]
    fn count(&self, from: Option<Edge<'_>>, to: Option<Edge<'_>>) -> Result<u64, Error> {
        if self.rows.changed(self.table).is_some() {
            let mut cursor = self.rows_of(&Span::of(from, to))?;
            let mut count = 0;
            while cursor.step(false)?.is_some() {
                count += 1;
            }
            return Ok(count);
        }
        let (name, span) = (&self.index.what.definition.name, Span::of(from, to));
        self.rows.take_bytes_of_range(name, &span)?;
        let snapshot = self.rows.snapshot();
        let (nodes, rows) = (&*snapshot.indexes, &*snapshot.rows);
        let places = self.index.walk(nodes, rows, from, to)?;
        let count = self.index.tree.count(nodes, places.0, places.1);
        let count = count.map_err(TableError::from)?;
        let mut reads = self.rows.reads.borrow_mut();
        reads.note_count_of_range(self.table, name, &span, count);
        Ok(count)
    }
}

impl fmt::Debug for OpenEntries<'_> {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OpenEntries of {:?}", self.index.what.definition)
    }
}
