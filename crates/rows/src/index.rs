//! An ordered index of a table, in any store of rows: [`Index`] finds rows by it, [`IndexRange`] gives rows in its order.
//!
//! A store implements [`IndexEntries`]: it finds and walks the entries of an index between two edges, which are bytes of
//! keys. Keys, bounds, errors and verbs are here, once for all stores. Rows come in a [`RowForm`]: as records, or by their
//! columns' names ([`AnyRow`]).
//!
//! Invariants: all dispatch is static, so that a walk in main memory is compiled as if it had been written for it. The first
//! error ends a range.

#[cfg(test)]
mod tests;

use crate::error::TableError;
use crate::key::{BadKey, Edge, KeyShape, KeyValues, SearchKey};
use crate::plain::Plain;
use crate::read::{ReadRow, ScanPlace, ScanRows};
use crate::record::{AnyRow, FoundRow, RowForm};
use crate::schema::Schema;
use sardonyx_base::error::Error;
use std::fmt;
use std::ops::{Bound, RangeBounds};

/// The entries of an ordered index, as their store finds them.
pub trait IndexEntries: Clone {
    /// A row, to read by its columns.
    type Row: ReadRow;
    /// A row as the store finds it.
    type Found: FoundRow<Row = Self::Row>;
    /// A walk over a part of the index, from both ends.
    type Cursor;

    /// The index and its table.
    fn indexed(&self) -> Indexed<'_>;

    /// A walk between two edges; without one to the index's end. If they are not in order, it has no entries.
    ///
    /// # Errors
    /// [`Error::Limit`] if the snapshot was ended, or the transaction keeps too much; the errors of reading pages.
    fn between(&self, from: Option<Edge<'_>>, to: Option<Edge<'_>>) -> Result<Self::Cursor, Error>;

    /// The next row of a walk. The form `T` tells how much of a row will be read.
    ///
    /// # Errors
    /// The errors of [`IndexEntries::between`].
    fn next<T: RowForm<Self::Found>>(
        &self,
        cursor: &mut Self::Cursor,
    ) -> Result<Option<Self::Found>, Error>;

    /// The next row of a walk from its other end.
    ///
    /// # Errors
    /// The errors of [`IndexEntries::between`].
    fn next_back<T: RowForm<Self::Found>>(
        &self,
        cursor: &mut Self::Cursor,
    ) -> Result<Option<Self::Found>, Error>;

    /// Ends a walk: it has no more rows.
    fn finish(&self, cursor: &mut Self::Cursor);

    /// The number of entries between two edges, counted without reading rows where the store can.
    ///
    /// # Errors
    /// The errors of [`IndexEntries::between`].
    fn count(&self, from: Option<Edge<'_>>, to: Option<Edge<'_>>) -> Result<u64, Error>;

    /// The first row with this key, or whose key begins with these values.
    ///
    /// # Errors
    /// [`Error::Refused`] if the index's columns cannot have the values, [`Error::Limit`] if the key is too long; the errors
    /// of [`IndexEntries::between`].
    fn find(&self, key: &(impl KeyValues + ?Sized)) -> Result<Option<Self::Found>, Error> {
        let key = self.indexed().key(key, false)?;
        let (from, to) = around(&key);
        let mut cursor = self.between(Some(from), Some(to))?;
        self.next::<AnyRow>(&mut cursor)
    }

    /// The first row of each of many keys, in the keys' order, each with an error of its own.
    fn find_many<I, T>(self, keys: I) -> impl Iterator<Item = Result<Option<Self::Found>, Error>>
    where
        I: IntoIterator<Item: KeyValues>,
        T: RowForm<Self::Found>,
    {
        keys.into_iter().map(move |key| self.find(&key))
    }

    /// One of the rows between two edges, each as likely as the others; see [`Index::draw`].
    ///
    /// # Errors
    /// The errors of [`IndexEntries::between`].
    fn draw(
        &self,
        from: Edge<'_>,
        to: Edge<'_>,
        below: &mut dyn FnMut(u64) -> u64,
    ) -> Result<Option<Self::Found>, Error> {
        let _ = (from, to, below);
        Ok(None)
    }
}

/// Entries of a state that changes in place: its rows have tokens, by which they are changed without being looked up again.
pub trait TokenEntries: IndexEntries {
    /// The token of a row.
    type Token<R: Plain>;

    /// The token of a row that was found.
    fn token<R: Plain>(&self, found: Self::Found) -> Self::Token<R>;

    /// The token of the next row of a walk.
    fn next_token<R: Plain>(&self, cursor: &mut Self::Cursor) -> Option<Self::Token<R>>;
}

/// An index and its table: what keys and errors need of them.
#[derive(Clone, Copy, Debug)]
pub struct Indexed<'a> {
    /// Its keys.
    pub shape: &'a KeyShape,
    /// The index's name.
    pub index: &'a str,
    /// The table's name.
    pub table: &'a str,
    /// The table's schema.
    pub schema: &'a Schema,
}

impl Indexed<'_> {
    /// The key of these values; if it `goes_on`, the last of them, a text or bytes, may be longer.
    ///
    /// # Errors
    /// [`TableError::KeyValue`], [`TableError::KeyColumns`], [`TableError::KeyTooLong`].
    #[inline]
    pub fn key(
        &self,
        values: &(impl KeyValues + ?Sized),
        goes_on: bool,
    ) -> Result<SearchKey, TableError> {
        let key = match goes_on {
            false => self.shape.of_values(values),
            true => self.shape.of_beginning(values),
        };
        key.map_err(|bad| self.bad_key(bad))
    }

    #[cold]
    fn bad_key(&self, bad: BadKey) -> TableError {
        bad.into_error(
            self.table,
            self.index,
            self.shape.width(),
            Some(self.schema),
        )
    }

    #[cold]
    fn reversed(&self) -> TableError {
        TableError::ReversedRange {
            table: self.table.to_string(),
            index: self.index.to_string(),
        }
    }
}

/// The edges around all keys that begin with this one.
#[inline]
fn around(key: &SearchKey) -> (Edge<'_>, Edge<'_>) {
    let edge = |behind| Edge {
        bytes: &key.bytes,
        behind,
    };
    (edge(false), edge(true))
}

/// An ordered index of a table, to find rows by it.
///
/// Keys are values of its columns, or of the first ones: a value, a tuple, or a slice of
/// [`Value`](crate::schema::Value)s. A bound of fewer values than the index has columns means all keys that begin with
/// them. A range that ends before it begins is refused.
pub struct Index<E: IndexEntries, T: RowForm<E::Found> = AnyRow> {
    entries: E,
    columns: T::Columns,
}

/// Rows of a table in the order of an index, from both ends. The first error ends the range.
pub struct IndexRange<E: IndexEntries, T: RowForm<E::Found> = AnyRow> {
    entries: E,
    cursor: E::Cursor,
    columns: T::Columns,
}

impl<E: IndexEntries, T: RowForm<E::Found>> Index<E, T> {
    /// The index that has these entries, for stores of rows.
    ///
    /// # Errors
    /// The errors of [`Record::columns_in`](crate::Record::columns_in).
    #[doc(hidden)]
    #[inline]
    pub fn new(entries: E) -> Result<Self, TableError> {
        let Indexed { schema, table, .. } = entries.indexed();
        let columns = T::columns_of(schema, table)?;
        Ok(Index { entries, columns })
    }

    /// The schema of the rows.
    pub fn schema(&self) -> &Schema {
        self.entries.indexed().schema
    }

    /// The first row with this key, or whose key begins with these values.
    ///
    /// # Errors
    /// [`Error::Refused`] if the index's columns cannot have the values; [`Error::Limit`] if the key is too long, the
    /// transaction keeps too much, or its snapshot was ended; the errors of reading a row.
    #[inline]
    pub fn get_by(&self, key: impl KeyValues) -> Result<Option<T::Item>, Error> {
        match self.entries.find(&key)? {
            Some(found) => Ok(Some(T::give(found, &self.columns)?)),
            None => Ok(None),
        }
    }

    /// The first row of each of many keys, in the keys' order. In main memory it takes a fraction of the time of one
    /// [`get_by`](Index::get_by) after another, where the index's columns are integers, or the like, of 8 bytes together:
    /// then the processor waits for several at once.
    ///
    /// Each key has an error of its own, as in [`Index::get_by`].
    pub fn get_many<I>(
        &self,
        keys: I,
    ) -> impl Iterator<Item = Result<Option<T::Item>, Error>> + use<E, I, T>
    where
        I: IntoIterator<Item: KeyValues>,
    {
        let columns = self.columns;
        let found = self.entries.clone().find_many::<I, T>(keys);
        found.map(move |found| match found? {
            Some(found) => Ok(Some(T::give(found, &columns)?)),
            None => Ok(None),
        })
    }

    /// The rows whose keys are in a range.
    ///
    /// # Errors
    /// The errors of [`Index::get_by`]; [`Error::Refused`] if the range ends before it begins.
    #[inline]
    pub fn range<K: KeyValues>(
        &self,
        range: impl RangeBounds<K>,
    ) -> Result<IndexRange<E, T>, Error> {
        self.with_range(range, true, |from, to| self.walk(from, to))
    }

    /// The rows whose keys are in a range; of one that ends before it begins, none.
    ///
    /// # Errors
    /// The errors of [`Index::get_by`].
    #[inline]
    pub fn range_or_none<K: KeyValues>(
        &self,
        range: impl RangeBounds<K>,
    ) -> Result<IndexRange<E, T>, Error> {
        self.with_range(range, false, |from, to| self.walk(from, to))
    }

    /// The rows whose keys begin with these values.
    ///
    /// # Errors
    /// The errors of [`Index::get_by`].
    #[inline]
    pub fn prefix(&self, key: impl KeyValues) -> Result<IndexRange<E, T>, Error> {
        self.beginning(&key, false)
    }

    /// The rows whose keys begin with these values, of which the last, a text or bytes, may go on.
    ///
    /// # Errors
    /// The errors of [`Index::get_by`].
    #[inline]
    pub fn starts_with(&self, key: impl KeyValues) -> Result<IndexRange<E, T>, Error> {
        self.beginning(&key, true)
    }

    /// All rows, in the order of the index.
    ///
    /// # Errors
    /// [`Error::Limit`] if the transaction keeps too much, or its snapshot was ended.
    #[inline]
    pub fn all(&self) -> Result<IndexRange<E, T>, Error> {
        self.walk(None, None)
    }

    /// The first row of all.
    ///
    /// # Errors
    /// The errors of [`Index::all`].
    #[inline]
    pub fn first(&self) -> Result<Option<T::Item>, Error> {
        self.all()?.next().transpose()
    }

    /// The last row of all.
    ///
    /// # Errors
    /// The errors of [`Index::all`].
    #[inline]
    pub fn last(&self) -> Result<Option<T::Item>, Error> {
        self.all()?.next_back().transpose()
    }

    /// The number of rows whose keys are in a range. In main memory it is counted without reading the rows, in a few
    /// nanoseconds for a leaf of about twenty.
    ///
    /// # Errors
    /// The errors of [`Index::range`].
    #[inline]
    pub fn count_range<K: KeyValues>(&self, range: impl RangeBounds<K>) -> Result<u64, Error> {
        self.with_range(range, true, |from, to| self.entries.count(from, to))
    }

    /// The same; of a range that ends before it begins, none.
    ///
    /// # Errors
    /// The errors of [`Index::get_by`].
    #[inline]
    pub fn count_range_or_none<K: KeyValues>(
        &self,
        range: impl RangeBounds<K>,
    ) -> Result<u64, Error> {
        self.with_range(range, false, |from, to| self.entries.count(from, to))
    }

    /// One of the rows whose keys begin with these values, each as likely as the others. `below` returns numbers below
    /// a bound, all alike likely. `None` if there is no row, or if the index finds none in a time that does not grow with
    /// their number: then the caller walks.
    ///
    /// # Errors
    /// The errors of [`Index::get_by`].
    pub fn draw(
        &self,
        key: impl KeyValues,
        below: &mut dyn FnMut(u64) -> u64,
    ) -> Result<Option<T::Item>, Error> {
        let key = self.entries.indexed().key(&key, false)?;
        let (from, to) = around(&key);
        match self.entries.draw(from, to, below)? {
            Some(found) => Ok(Some(T::give(found, &self.columns)?)),
            None => Ok(None),
        }
    }

    #[inline]
    fn walk(
        &self,
        from: Option<Edge<'_>>,
        to: Option<Edge<'_>>,
    ) -> Result<IndexRange<E, T>, Error> {
        Ok(IndexRange {
            cursor: self.entries.between(from, to)?,
            entries: self.entries.clone(),
            columns: self.columns,
        })
    }

    #[inline]
    fn beginning(
        &self,
        key: &(impl KeyValues + ?Sized),
        goes_on: bool,
    ) -> Result<IndexRange<E, T>, Error> {
        let key = self.entries.indexed().key(key, goes_on)?;
        let (from, to) = around(&key);
        self.walk(Some(from), Some(to))
    }

    /// Calls `then` with the edges of a range of values.
    #[inline]
    fn with_range<K: KeyValues, A>(
        &self,
        range: impl RangeBounds<K>,
        refuses_reversed: bool,
        then: impl FnOnce(Option<Edge<'_>>, Option<Edge<'_>>) -> Result<A, Error>,
    ) -> Result<A, Error> {
        let indexed = self.entries.indexed();
        let key = |bound: Bound<&K>| match bound {
            Bound::Unbounded => Ok(None),
            Bound::Included(values) => Ok(Some((indexed.key(values, false)?, true))),
            Bound::Excluded(values) => {
                Ok::<_, TableError>(Some((indexed.key(values, false)?, false)))
            }
        };
        let (start, end) = (key(range.start_bound())?, key(range.end_bound())?);
        let from = start.as_ref().map(|(key, included)| Edge {
            bytes: &key.bytes,
            behind: !included,
        });
        let to = end.as_ref().map(|(key, included)| Edge {
            bytes: &key.bytes,
            behind: *included,
        });
        if refuses_reversed
            && let (Some(from), Some(to)) = (from, to)
            && from.is_reversed(to)
        {
            return Err(indexed.reversed().into());
        }
        then(from, to)
    }
}

impl<E: TokenEntries, R: Plain + RowForm<E::Found>> Index<E, R> {
    /// The row of the first record with this key, to change it without looking it up again.
    ///
    /// # Errors
    /// The errors of [`Index::get_by`].
    pub fn find(&self, key: impl KeyValues) -> Result<Option<E::Token<R>>, Error> {
        let found = self.entries.find(&key)?;
        Ok(found.map(|found| self.entries.token(found)))
    }
}

impl<E: TokenEntries, R: Plain + RowForm<E::Found>> IndexRange<E, R> {
    /// The rows instead of the records, to change them; take them out of the transaction first.
    pub fn rows(mut self) -> impl Iterator<Item = E::Token<R>> + use<E, R> {
        std::iter::from_fn(move || self.entries.next_token(&mut self.cursor))
    }
}

impl<E: IndexEntries, T: RowForm<E::Found>> IndexRange<E, T> {
    /// The row that the cursor found, in the reader's form.
    #[inline]
    fn give(&mut self, found: Result<Option<E::Found>, Error>) -> Option<Result<T::Item, Error>> {
        let row = match found {
            Ok(None) => return None,
            Ok(Some(found)) => T::give(found, &self.columns).map_err(Error::from),
            Err(error) => Err(error),
        };
        Some(row.inspect_err(|_| self.entries.finish(&mut self.cursor)))
    }
}

impl<E: IndexEntries, T: RowForm<E::Found>> Iterator for IndexRange<E, T> {
    type Item = Result<T::Item, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let found = self.entries.next::<T>(&mut self.cursor);
        self.give(found)
    }
}

impl<E: IndexEntries, T: RowForm<E::Found>> DoubleEndedIterator for IndexRange<E, T> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        let found = self.entries.next_back::<T>(&mut self.cursor);
        self.give(found)
    }
}

/// A store whose rows lie in the order of their keys scans them by that index.
impl<E: IndexEntries, T: RowForm<E::Found>> ScanRows for IndexRange<E, T> {
    type Row = T::Item;

    /// It is read to its end.
    fn place(&self) -> Option<ScanPlace> {
        None
    }
}

impl<E: IndexEntries, T: RowForm<E::Found>> fmt::Debug for Index<E, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Indexed { index, table, .. } = self.entries.indexed();
        write!(f, "Index {index:?} of table {table:?}")
    }
}

impl<E: IndexEntries, T: RowForm<E::Found>> fmt::Debug for IndexRange<E, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Indexed { index, table, .. } = self.entries.indexed();
        write!(f, "IndexRange of {index:?} of table {table:?}")
    }
}
