//! Rows by their columns, found by an ordered index, live or of a snapshot: [`RowIndex`], a table's index by its
//! name, and [`RowRange`], rows in its order.

use crate::index_view::Reader;
use crate::ordered::{Cursor, Place};
use sardonyx_base::error::Error;
use sardonyx_rows::TableError;
use sardonyx_rows::key::KeyValues;
use sardonyx_rows::schema::Schema;
use sardonyx_rows::{ReadIndex, RowRef};
use sardonyx_storage::page::Address;
use sardonyx_storage::store::PageRead;
use std::fmt;
use std::ops::RangeBounds;

/// An ordered index of a table, to find rows by it: [`Rows::index`](sardonyx_rows::Rows::index).
///
/// Keys are values of its columns, or of the first ones: a value, a tuple, or a slice of
/// [`Value`](sardonyx_rows::schema::Value)s. A bound of fewer values than the index has columns stands for all keys that
/// begin with them.
pub struct RowIndex<'a, P: PageRead + ?Sized = [u8]> {
    reader: Reader<'a, P>,
}

/// Rows of a table in the order of an index, from both ends. An error is told once: it is the end.
pub struct RowRange<'a, P: PageRead + ?Sized = [u8]> {
    reader: Reader<'a, P>,
    cursor: Cursor,
}

impl<'a, P: PageRead + ?Sized> RowIndex<'a, P> {
    pub(super) fn of(reader: Reader<'a, P>) -> Self {
        RowIndex { reader }
    }
}

impl<'a, P: PageRead + ?Sized> RowIndex<'a, P>
where
    TableError: From<P::Error>,
{
    /// What the rows are.
    pub fn schema(&self) -> &'a Schema {
        self.reader.schema
    }

    /// The first row with this key, or whose key begins with these values.
    ///
    /// # Errors
    /// [`Error::Refused`] if the values are none of the index's columns, [`Error::Limit`] if the key is too long or
    /// the snapshot was ended.
    pub fn get_by(&self, key: impl KeyValues) -> Result<Option<RowRef<'a, P>>, Error> {
        let found = self.reader.find(&key)?;
        Ok(found.map(|at| row(&self.reader, at)).transpose()?)
    }

    /// The first row of each of many keys, in the keys' order. Takes a fraction of the time of one
    /// [`get_by`](RowIndex::get_by) after another where the index's columns are integers, or the like, of 8 bytes
    /// together: then the processor waits for several at once.
    ///
    /// Each is an error for itself, as [`RowIndex::get_by`] says.
    pub fn get_many<I>(
        &self,
        keys: I,
    ) -> impl Iterator<Item = Result<Option<RowRef<'a, P>>, Error>> + use<'a, I, P>
    where
        I: IntoIterator<Item: KeyValues>,
    {
        let reader = self.reader;
        let found = reader.find_many(keys, |at| reader.rows.prefetch(at));
        found.map(move |found| Ok(found?.map(|at| row(&reader, at)).transpose()?))
    }

    /// The rows whose keys are in a range.
    ///
    /// # Errors
    /// Those of [`RowIndex::get_by`].
    pub fn range<K: KeyValues>(
        &self,
        range: impl RangeBounds<K>,
    ) -> Result<RowRange<'a, P>, Error> {
        Ok(self.walk(self.reader.range(range)?))
    }

    /// The rows whose keys begin with these values.
    ///
    /// # Errors
    /// Those of [`RowIndex::get_by`].
    pub fn prefix(&self, key: impl KeyValues) -> Result<RowRange<'a, P>, Error> {
        Ok(self.walk(self.reader.prefix(&key)?))
    }

    /// The rows whose keys begin with these values, of which the last, a text or bytes, may go on.
    ///
    /// # Errors
    /// Those of [`RowIndex::get_by`].
    pub fn starts_with(&self, key: impl KeyValues) -> Result<RowRange<'a, P>, Error> {
        Ok(self.walk(self.reader.starts_with(&key)?))
    }

    /// All rows, in the order of the index.
    ///
    /// # Errors
    /// [`Error::Limit`] if the snapshot was ended.
    pub fn all(&self) -> Result<RowRange<'a, P>, Error> {
        Ok(self.walk(self.reader.all()?))
    }

    /// How many rows have keys in a range, without looking at them.
    ///
    /// # Errors
    /// Those of [`RowIndex::get_by`].
    pub fn count_range<K: KeyValues>(&self, range: impl RangeBounds<K>) -> Result<u64, Error> {
        self.reader.count(self.reader.range(range)?)
    }

    fn walk(&self, places: (Place, Place)) -> RowRange<'a, P> {
        RowRange {
            reader: self.reader,
            cursor: self.reader.index.cursor(places),
        }
    }
}

impl<'a, P: PageRead + ?Sized> ReadIndex for RowIndex<'a, P>
where
    TableError: From<P::Error>,
{
    type Row = RowRef<'a, P>;
    type Range = RowRange<'a, P>;

    fn get_by(&self, key: impl KeyValues) -> Result<Option<RowRef<'a, P>>, Error> {
        RowIndex::get_by(self, key)
    }

    fn range<K: KeyValues>(&self, range: impl RangeBounds<K>) -> Result<RowRange<'a, P>, Error> {
        RowIndex::range(self, range)
    }

    fn prefix(&self, key: impl KeyValues) -> Result<RowRange<'a, P>, Error> {
        RowIndex::prefix(self, key)
    }

    fn starts_with(&self, key: impl KeyValues) -> Result<RowRange<'a, P>, Error> {
        RowIndex::starts_with(self, key)
    }

    fn all(&self) -> Result<RowRange<'a, P>, Error> {
        RowIndex::all(self)
    }

    fn count_range<K: KeyValues>(&self, range: impl RangeBounds<K>) -> Result<u64, Error> {
        RowIndex::count_range(self, range)
    }
}

impl<'a, P: PageRead + ?Sized> RowRange<'a, P>
where
    TableError: From<P::Error>,
{
    fn give(
        &mut self,
        found: Result<Option<Address>, P::Error>,
    ) -> Option<Result<RowRef<'a, P>, Error>> {
        let found = found.map_err(TableError::from).transpose()?;
        let row = found.and_then(|at| row(&self.reader, at));
        if row.is_err() {
            self.cursor.finish();
        }
        Some(row.map_err(Error::from))
    }
}

impl<'a, P: PageRead + ?Sized> Iterator for RowRange<'a, P>
where
    TableError: From<P::Error>,
{
    type Item = Result<RowRef<'a, P>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let rows = self.reader.rows;
        let found = self.cursor.next(self.reader.nodes, |at| rows.prefetch(at));
        self.give(found)
    }
}

impl<P: PageRead + ?Sized> DoubleEndedIterator for RowRange<'_, P>
where
    TableError: From<P::Error>,
{
    fn next_back(&mut self) -> Option<Self::Item> {
        let rows = self.reader.rows;
        let nodes = self.reader.nodes;
        let found = self.cursor.next_back(nodes, |at| rows.prefetch(at));
        self.give(found)
    }
}

fn row<'a, P: PageRead + ?Sized>(
    reader: &Reader<'a, P>,
    at: Address,
) -> Result<RowRef<'a, P>, TableError>
where
    TableError: From<P::Error>,
{
    RowRef::new(reader.rows, reader.schema, reader.table, at)
}

impl<P: PageRead + ?Sized> fmt::Debug for RowIndex<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RowIndex {:?}", self.reader.index.what.definition)
    }
}

impl<P: PageRead + ?Sized> fmt::Debug for RowRange<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RowRange of {:?}", self.reader.table)
    }
}
