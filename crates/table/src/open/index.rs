//! An ordered index of a table, in an open transaction.

use super::reads::Span;
use super::{OpenRange, OpenRow, OpenRows};
use crate::secondary::{Secondary, is_reversed};
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
    #[inline]
    pub(super) fn of(rows: &'r OpenRows, table: u16, index: &'r Secondary) -> Self {
        OpenIndex { rows, table, index }
    }

    #[inline]
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

    #[inline]
    fn walk(&self, span: &Span) -> Result<OpenRange<'r>, TableError> {
        OpenRange::of(self.rows, self.table, self.index, span)
    }

    #[inline]
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

/// Keys are as those of [`Index`](crate::Index).
impl<'r> OpenIndex<'r> {
    /// The first row with this key, or whose key begins with these values.
    ///
    /// # Errors
    /// [`Error::Refused`] if the index's columns cannot have the values; [`Error::Limit`] if the key is too long, the
    /// transaction keeps too much, or its snapshot was ended.
    pub fn get_by(&self, key: impl KeyValues) -> Result<Option<OpenRow<'r>>, Error> {
        self.beginning(&key)?.next().transpose()
    }

    /// The rows whose keys are in a range.
    ///
    /// # Errors
    /// The errors of [`OpenIndex::get_by`]; [`Error::Refused`] if the range ends before it begins.
    pub fn range<K: KeyValues>(&self, range: impl RangeBounds<K>) -> Result<OpenRange<'r>, Error> {
        Ok(self.walk(&self.forward(&range)?)?)
    }

    /// The rows whose keys begin with these values.
    ///
    /// # Errors
    /// The errors of [`OpenIndex::get_by`].
    pub fn prefix(&self, key: impl KeyValues) -> Result<OpenRange<'r>, Error> {
        Ok(self.beginning(&key)?)
    }

    /// The rows whose keys begin with these values, of which the last, a text or bytes, may go on.
    ///
    /// # Errors
    /// The errors of [`OpenIndex::get_by`].
    pub fn starts_with(&self, key: impl KeyValues) -> Result<OpenRange<'r>, Error> {
        let bytes = self.index.what.shape.of_beginning(&key);
        let bytes = bytes.map_err(|bad| self.bad(bad))?.bytes.to_vec();
        Ok(self.walk(&Span::of_beginning(&bytes))?)
    }

    /// All rows, in the order of the index.
    ///
    /// # Errors
    /// [`Error::Limit`] if the transaction keeps too much, or its snapshot was ended.
    #[inline]
    pub fn all(&self) -> Result<OpenRange<'r>, Error> {
        Ok(self.everything()?)
    }

    /// The first row of all.
    ///
    /// # Errors
    /// The errors of [`OpenIndex::all`].
    #[inline]
    pub fn first(&self) -> Result<Option<OpenRow<'r>>, Error> {
        self.all()?.next().transpose()
    }

    /// The last row of all.
    ///
    /// # Errors
    /// The errors of [`OpenIndex::all`].
    #[inline]
    pub fn last(&self) -> Result<Option<OpenRow<'r>>, Error> {
        self.all()?.next_back().transpose()
    }

    /// The number of rows that have keys in a range.
    ///
    /// # Errors
    /// The errors of [`OpenIndex::range`].
    pub fn count_range<K: KeyValues>(&self, range: impl RangeBounds<K>) -> Result<u64, Error> {
        self.count(&self.forward(&range)?)
    }

    /// A range that does not end before it begins.
    fn forward<K: KeyValues>(&self, range: &impl RangeBounds<K>) -> Result<Span, TableError> {
        let span = self.span(range)?;
        match span.edges() {
            (Some(from), Some(to)) if is_reversed(from, to) => Err(TableError::ReversedRange {
                table: self.rows.known(self.table)?.name.to_string(),
                index: self.index.what.definition.name.clone(),
            }),
            _ => Ok(span),
        }
    }

    #[inline]
    fn count(&self, span: &Span) -> Result<u64, Error> {
        if self.rows.changed(self.table).is_some() {
            let rows = self.walk(span)?;
            return rows.map(|row| row.map(|_| 1)).sum();
        }
        let name = &self.index.what.definition.name;
        self.rows.take_bytes_of_range(name, span)?;
        let mut reads = self.rows.reads.borrow_mut();
        reads.note_count_of_range(self.table, name, span);
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

impl<'r> ReadIndex for OpenIndex<'r> {
    type Row = OpenRow<'r>;
    type Range = OpenRange<'r>;

    fn get_by(&self, key: impl KeyValues) -> Result<Option<OpenRow<'r>>, Error> {
        OpenIndex::get_by(self, key)
    }

    fn range<K: KeyValues>(&self, range: impl RangeBounds<K>) -> Result<OpenRange<'r>, Error> {
        Ok(self.walk(&self.span(&range)?)?)
    }

    fn forward_range<K: KeyValues>(
        &self,
        range: impl RangeBounds<K>,
    ) -> Result<OpenRange<'r>, Error> {
        OpenIndex::range(self, range)
    }

    fn prefix(&self, key: impl KeyValues) -> Result<OpenRange<'r>, Error> {
        OpenIndex::prefix(self, key)
    }

    fn starts_with(&self, key: impl KeyValues) -> Result<OpenRange<'r>, Error> {
        OpenIndex::starts_with(self, key)
    }

    #[inline]
    fn all(&self) -> Result<OpenRange<'r>, Error> {
        OpenIndex::all(self)
    }

    fn count_range<K: KeyValues>(&self, range: impl RangeBounds<K>) -> Result<u64, Error> {
        self.count(&self.span(&range)?)
    }
}

impl fmt::Debug for OpenIndex<'_> {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OpenIndex {:?}", self.index.what.definition)
    }
}
