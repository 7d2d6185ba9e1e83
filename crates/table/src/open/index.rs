//! An ordered index of a table, in an open transaction.

use super::reads::Span;
use super::{OpenRange, OpenRow, OpenRows};
use crate::secondary::Secondary;
use sardonyx_base::error::Error;
use sardonyx_rows::TableError;
use sardonyx_rows::key::{BadKey, KeyValues};
use sardonyx_rows::read::ReadIndex;
use sardonyx_rows::schema::Schema;
use std::fmt;
use std::ops::{Bound, RangeBounds};

/// An ordered index of a table, to find rows of an open transaction by it.
pub struct OpenIndex<'r> {
    rows: &'r OpenRows,
    table: u16,
    index: &'r Secondary,
}

impl<'r> OpenIndex<'r> {
    pub(super) fn of(rows: &'r OpenRows, table: u16, index: &'r Secondary) -> Self {
        OpenIndex { rows, table, index }
    }

    fn schema(&self) -> Result<&'r Schema, TableError> {
        Ok(&self.rows.known(self.table)?.schema)
    }

    fn bytes(&self, values: &(impl KeyValues + ?Sized)) -> Result<Vec<u8>, TableError> {
        let key = self.index.what.shape.of_values(values);
        let key = key.map_err(|bad| self.bad(bad))?;
        Ok(key.bytes.to_vec())
    }

    #[cold]
    fn bad(&self, bad: BadKey) -> TableError {
        let known = self.rows.known(self.table);
        let name = known.map_or("", |known| &known.name);
        self.index.bad_key(bad, name, self.schema().ok())
    }

    pub(super) fn beginning(
        &self,
        values: &(impl KeyValues + ?Sized),
    ) -> Result<OpenRange<'r>, TableError> {
        self.walk(&Span::of_beginning(&self.bytes(values)?))
    }

    fn walk(&self, span: &Span) -> Result<OpenRange<'r>, TableError> {
        OpenRange::of(self.rows, self.table, self.index, span)
    }

    pub(super) fn everything(&self) -> Result<OpenRange<'r>, TableError> {
        self.walk(&Span::default())
    }

    fn span<K: KeyValues>(&self, range: &impl RangeBounds<K>) -> Result<Span, TableError> {
        let edge = |bound: Bound<&K>, behind_included: bool| {
            Ok::<_, TableError>(match bound {
                Bound::Unbounded => None,
                Bound::Included(values) => Some((self.bytes(values)?, behind_included)),
                Bound::Excluded(values) => Some((self.bytes(values)?, !behind_included)),
            })
        };
        Ok(Span {
            from: edge(range.start_bound(), false)?,
            to: edge(range.end_bound(), true)?,
        })
    }
}

impl<'r> ReadIndex for OpenIndex<'r> {
    type Row = OpenRow<'r>;
    type Range = OpenRange<'r>;

    fn get_by(&self, key: impl KeyValues) -> Result<Option<OpenRow<'r>>, Error> {
        self.beginning(&key)?.next().transpose()
    }

    fn range<K: KeyValues>(&self, range: impl RangeBounds<K>) -> Result<OpenRange<'r>, Error> {
        Ok(self.walk(&self.span(&range)?)?)
    }

    fn prefix(&self, key: impl KeyValues) -> Result<OpenRange<'r>, Error> {
        Ok(self.beginning(&key)?)
    }

    fn starts_with(&self, key: impl KeyValues) -> Result<OpenRange<'r>, Error> {
        let bytes = self.index.what.shape.of_beginning(&key);
        let bytes = bytes.map_err(|bad| self.bad(bad))?.bytes.to_vec();
        Ok(self.walk(&Span::of_beginning(&bytes))?)
    }

    fn all(&self) -> Result<OpenRange<'r>, Error> {
        Ok(self.everything()?)
    }

    fn count_range<K: KeyValues>(&self, range: impl RangeBounds<K>) -> Result<u64, Error> {
        let span = self.span(&range)?;
        if self.rows.changed(self.table).is_some() {
            let mut count = 0;
            for row in self.walk(&span)? {
                row?;
                count += 1;
            }
            return Ok(count);
        }
        let name = &self.index.what.definition.name;
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
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OpenIndex {:?}", self.index.what.definition)
    }
}
