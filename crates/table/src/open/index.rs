//! An ordered index of a table, in an open transaction.

use super::{OpenRange, OpenRow, OpenRows};
use crate::secondary::Secondary;
use sardonyx_base::error::Error;
use sardonyx_rows::TableError;
use sardonyx_rows::key::{BadKey, KeyValues, Span};
use sardonyx_rows::read::ReadIndex;
use sardonyx_rows::schema::Schema;
use std::fmt;
use std::ops::RangeBounds;

/// An ordered index of a table, to find rows of an open transaction by it: see [`ReadIndex`].
pub struct OpenIndex<'r> {
    rows: &'r OpenRows,
    table: u16,
    index: &'r Secondary,
}

impl<'r> OpenIndex<'r> {
    #[inline]
    pub(super) fn of(rows: &'r OpenRows, table: u16, index: &'r Secondary) -> Self {
        OpenIndex { rows, table, index }
    }

    #[inline]
    fn schema(&self) -> Result<&'r Schema, TableError> {
        Ok(&self.rows.known(self.table)?.schema)
    }

    fn span_beginning(
        &self,
        values: &(impl KeyValues + ?Sized),
        goes_on: bool,
    ) -> Result<Span, TableError> {
        let span = self.index.what.shape.span_beginning(values, goes_on);
        span.map_err(|bad| self.bad(bad))
    }

    #[cold]
    fn bad(&self, bad: BadKey) -> TableError {
        let known = self.rows.known(self.table);
        let name = known.map_or("", |known| &known.name);
        self.index.bad_key(bad, name, self.schema().ok())
    }

    /// The rows whose keys begin with these values.
    pub(super) fn rows_beginning(
        &self,
        values: &(impl KeyValues + ?Sized),
    ) -> Result<OpenRange<'r>, TableError> {
        self.rows_of(&self.span_beginning(values, false)?)
    }

    #[inline]
    pub(super) fn rows_of(&self, span: &Span) -> Result<OpenRange<'r>, TableError> {
        OpenRange::of(self.rows, self.table, self.index, span)
    }

    #[cold]
    fn reversed(&self) -> TableError {
        let known = self.rows.known(self.table);
        TableError::ReversedRange {
            table: known.map_or("", |known| &known.name).to_string(),
            index: self.index.what.definition.name.clone(),
        }
    }
}

impl<'r> ReadIndex for OpenIndex<'r> {
    type Row = OpenRow<'r>;
    type Range = OpenRange<'r>;
    type Span = Span;

    fn span<K: KeyValues>(
        &self,
        range: impl RangeBounds<K>,
        refuses_reversed: bool,
    ) -> Result<Span, Error> {
        let span = self.index.what.shape.span(&range);
        let span = span.map_err(|bad| self.bad(bad))?;
        match refuses_reversed && span.is_reversed() {
            true => Err(self.reversed().into()),
            false => Ok(span),
        }
    }

    fn beginning(&self, key: impl KeyValues, goes_on: bool) -> Result<Span, Error> {
        Ok(self.span_beginning(&key, goes_on)?)
    }

    #[inline]
    fn everything(&self) -> Result<Span, Error> {
        Ok(Span::default())
    }

    #[inline]
    fn walk(&self, span: Span) -> Result<OpenRange<'r>, Error> {
        Ok(self.rows_of(&span)?)
    }

    #[inline]
    fn count(&self, span: Span) -> Result<u64, Error> {
        if self.rows.changed(self.table).is_some() {
            let rows = self.rows_of(&span)?;
            return rows.map(|row| row.map(|_| 1)).sum();
        }
        let name = &self.index.what.definition.name;
        self.rows.take_bytes_of_range(name, &span)?;
        let mut reads = self.rows.reads.borrow_mut();
        reads.note_count_of_range(self.table, name, &span);
        let snapshot = self.rows.snapshot();
        let (from, to) = span.edges();
        let places = self
            .index
            .walk(&*snapshot.indexes, &*snapshot.rows, from, to)?;
        let count = self
            .index
            .tree
            .count(&*snapshot.indexes, places.0, places.1);
        Ok(count.map_err(TableError::from)?)
    }
}

impl fmt::Debug for OpenIndex<'_> {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OpenIndex {:?}", self.index.what.definition)
    }
}
