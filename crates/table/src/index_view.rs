//! Reading by ordered indexes, live or of a snapshot: [`Index`], a table's index by its name, and [`IndexRange`], rows in its
//! order. Both return rows in a [`RowForm`]: records, or rows by their columns' names ([`AnyRow`]).

mod many;
mod reader;

use crate::ordered::{Cursor, Place};
use crate::row::Row;
use crate::secondary::Secondary;
use crate::space::{TableSpace, View};
use crate::transaction::Transaction;
pub(crate) use reader::Reader;
use sardonyx_base::error::Error;
use sardonyx_base::resident::Resident;
use sardonyx_rows::key::KeyValues;
use sardonyx_rows::record::{Found, Record, RowForm, Table};
use sardonyx_rows::schema::Schema;
use sardonyx_rows::{AnyRow, Plain, ReadIndex, TableError};
use sardonyx_storage::page::Address;
use sardonyx_storage::store::PageRead;
use std::fmt;
use std::ops::RangeBounds;

/// An ordered index of a table, to find rows by it.
///
/// Keys are values of its columns, or of the first ones: a value, a tuple, or a slice of
/// [`Value`](sardonyx_rows::schema::Value)s. A bound of fewer values than the index has columns means all keys that
/// begin with them. A range that ends before it begins is refused.
pub struct Index<'a, T: RowForm<'a, P> = AnyRow, P: PageRead + ?Sized = [u8]> {
    reader: Reader<'a, P>,
    columns: T::Columns,
    origin: Origin,
}

/// Rows of a table in the order of an index, from both ends. The first error ends the range.
pub struct IndexRange<'a, T: RowForm<'a, P> = AnyRow, P: PageRead + ?Sized = [u8]> {
    reader: Reader<'a, P>,
    cursor: Cursor,
    columns: T::Columns,
    origin: Origin,
}

/// The table and the time of an index, for the tokens of its rows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Origin {
    pub table: u16,
    pub epoch: u64,
}

impl<'a> View<'a> {
    /// An ordered index of a table: one of its schema's, or that of its primary key if it is ordered.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such index, or the handle is another database's.
    pub fn index<R: Record>(&self, table: Table<R>, name: &str) -> Result<Index<'a, R>, Error> {
        Ok(Index::live(self.space(), table, name)?)
    }
}

impl Transaction<'_> {
    /// An ordered index of a table: one of its schema's, or that of its primary key if it is ordered.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such index, or the handle is another database's.
    pub fn index<R: Record>(&self, table: Table<R>, name: &str) -> Result<Index<'_, R>, Error> {
        Ok(Index::live(&*self.space, table, name)?)
    }
}

impl<'a, R: Record> Index<'a, R> {
    fn live(space: &'a TableSpace, table: Table<R>, name: &str) -> Result<Self, TableError> {
        let number = table.number();
        let state = space
            .state(table)
            .ok_or(TableError::UnknownHandle { number })?;
        let reader = Reader {
            nodes: space.indexes.bytes(),
            rows: space.store.bytes(),
            index: named(&state.secondary, &state.name, name)?,
            schema: &state.schema,
            table: &state.name,
        };
        let epoch = space.epoch;
        Index::of(
            reader,
            Origin {
                table: number,
                epoch,
            },
        )
    }
}

impl<'a, T: RowForm<'a, P>, P: PageRead + ?Sized> Index<'a, T, P> {
    #[inline]
    pub(crate) fn of(reader: Reader<'a, P>, origin: Origin) -> Result<Self, TableError> {
        Ok(Index {
            columns: T::columns_of(reader.schema, reader.table)?,
            reader,
            origin,
        })
    }

    /// The schema of the rows.
    pub fn schema(&self) -> &'a Schema {
        self.reader.schema
    }
}

impl<'a, T: RowForm<'a, P>, P: PageRead + ?Sized> Index<'a, T, P>
where
    TableError: From<P::Error>,
{
    /// The first row with this key, or whose key begins with these values.
    ///
    /// # Errors
    /// [`Error::Refused`] if the index's columns cannot have the values, [`Error::Limit`] if the key is too long or
    /// the snapshot was ended.
    #[inline]
    pub fn get_by(&self, key: impl KeyValues) -> Result<Option<T::Item>, Error> {
        match self.reader.find(&key)? {
            Some(at) => Ok(Some(give::<T, P>(&self.reader, at, &self.columns)?)),
            None => Ok(None),
        }
    }

    /// The first row of each of many keys, in the keys' order. Takes a fraction of the time of one
    /// [`get_by`](Index::get_by) after another where the index's columns are integers, or the like, of 8 bytes
    /// together: then the processor waits for several at once.
    ///
    /// Each key has an error of its own, as in [`Index::get_by`].
    pub fn get_many<I>(
        &self,
        keys: I,
    ) -> impl Iterator<Item = Result<Option<T::Item>, Error>> + use<'a, I, T, P>
    where
        I: IntoIterator<Item: KeyValues>,
    {
        let (reader, columns) = (self.reader, self.columns);
        let found = reader.find_many(keys, move |at| ask(reader.rows, at, T::BYTES));
        found.map(move |found| match found? {
            Some(at) => Ok(Some(give::<T, P>(&reader, at, &columns)?)),
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
    ) -> Result<IndexRange<'a, T, P>, Error> {
        Ok(self.walk(self.reader.range(range, true)?))
    }

    /// The rows whose keys begin with these values.
    ///
    /// # Errors
    /// The errors of [`Index::get_by`].
    pub fn prefix(&self, key: impl KeyValues) -> Result<IndexRange<'a, T, P>, Error> {
        Ok(self.walk(self.reader.prefix(&key)?))
    }

    /// The rows whose keys begin with these values, of which the last, a text or bytes, may go on.
    ///
    /// # Errors
    /// The errors of [`Index::get_by`].
    pub fn starts_with(&self, key: impl KeyValues) -> Result<IndexRange<'a, T, P>, Error> {
        Ok(self.walk(self.reader.starts_with(&key)?))
    }

    /// All rows, in the order of the index.
    ///
    /// # Errors
    /// [`Error::Limit`] if the snapshot was ended.
    #[inline]
    pub fn all(&self) -> Result<IndexRange<'a, T, P>, Error> {
        Ok(self.walk(self.reader.all()?))
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

    /// The number of rows whose keys are in a range, counted without reading the rows. Costs time with the range's
    /// length, a few nanoseconds for a leaf of about twenty.
    ///
    /// # Errors
    /// The errors of [`Index::range`].
    pub fn count_range<K: KeyValues>(&self, range: impl RangeBounds<K>) -> Result<u64, Error> {
        self.reader.count(self.reader.range(range, true)?)
    }

    #[inline]
    fn walk(&self, places: (Place, Place)) -> IndexRange<'a, T, P> {
        IndexRange {
            cursor: self.reader.index.cursor(places),
            reader: self.reader,
            columns: self.columns,
            origin: self.origin,
        }
    }
}

impl<R: Plain> Index<'_, R> {
    /// The row of the first record with this key, to change it without looking it up again.
    ///
    /// # Errors
    /// The errors of [`Index::get_by`].
    pub fn find(&self, key: impl KeyValues) -> Result<Option<Row<R>>, Error> {
        let found = self.reader.find(&key)?;
        Ok(found.map(|at| row_at(self.reader.rows, self.origin, at)))
    }
}

impl<'a, T: RowForm<'a, P>, P: PageRead + ?Sized> ReadIndex for Index<'a, T, P>
where
    TableError: From<P::Error>,
{
    type Row = T::Item;
    type Range = IndexRange<'a, T, P>;
    type Span = (Place, Place);

    #[inline]
    fn span<K: KeyValues>(
        &self,
        range: impl RangeBounds<K>,
        refuses_reversed: bool,
    ) -> Result<(Place, Place), Error> {
        self.reader.range(range, refuses_reversed)
    }

    #[inline]
    fn beginning(&self, key: impl KeyValues, goes_on: bool) -> Result<(Place, Place), Error> {
        match goes_on {
            true => self.reader.starts_with(&key),
            false => self.reader.prefix(&key),
        }
    }

    #[inline]
    fn everything(&self) -> Result<(Place, Place), Error> {
        self.reader.all()
    }

    #[inline]
    fn walk(&self, span: (Place, Place)) -> Result<IndexRange<'a, T, P>, Error> {
        Ok(Index::walk(self, span))
    }

    fn count(&self, span: (Place, Place)) -> Result<u64, Error> {
        self.reader.count(span)
    }

    fn draw(
        &self,
        key: impl KeyValues,
        below: &mut dyn FnMut(u64) -> u64,
    ) -> Result<Option<T::Item>, Error> {
        match self.reader.draw(&key, below)? {
            Some(at) => Ok(Some(give::<T, P>(&self.reader, at, &self.columns)?)),
            None => Ok(None),
        }
    }

    /// Without a walk.
    fn get_by(&self, key: impl KeyValues) -> Result<Option<T::Item>, Error> {
        Index::get_by(self, key)
    }
}

impl<'a, R: Plain> IndexRange<'a, R> {
    /// The rows instead of the records, to change them; take them out of the transaction first.
    pub fn rows(mut self) -> impl Iterator<Item = Row<R>> + use<'a, R> {
        std::iter::from_fn(move || {
            let rows = self.reader.rows;
            let Ok(next) = self
                .cursor
                .next(self.reader.nodes, |at| ask(rows, at, size_of::<R>()));
            Some(row_at(rows, self.origin, next?))
        })
    }
}

impl<'a, T: RowForm<'a, P>, P: PageRead + ?Sized> IndexRange<'a, T, P>
where
    TableError: From<P::Error>,
{
    /// The row that the cursor found, in the reader's form.
    #[inline]
    fn give(&mut self, found: Result<Option<Address>, P::Error>) -> Option<Result<T::Item, Error>> {
        let row = match found {
            Ok(None) => return None,
            Ok(Some(at)) => give::<T, P>(&self.reader, at, &self.columns),
            Err(error) => Err(error.into()),
        };
        Some(row.map_err(|error| {
            self.cursor.finish();
            error.into()
        }))
    }
}

impl<'a, T: RowForm<'a, P>, P: PageRead + ?Sized> Iterator for IndexRange<'a, T, P>
where
    TableError: From<P::Error>,
{
    type Item = Result<T::Item, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let Reader { rows, nodes, .. } = self.reader;
        let found = self.cursor.next(nodes, |at| ask(rows, at, T::BYTES));
        self.give(found)
    }
}

impl<'a, T: RowForm<'a, P>, P: PageRead + ?Sized> DoubleEndedIterator for IndexRange<'a, T, P>
where
    TableError: From<P::Error>,
{
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        let Reader { rows, nodes, .. } = self.reader;
        let found = self.cursor.next_back(nodes, |at| ask(rows, at, T::BYTES));
        self.give(found)
    }
}

/// Bytes that come from memory at once.
const CACHE_LINE: usize = 64;

/// A table's ordered index with this name.
#[inline]
pub(crate) fn named<'a>(
    indexes: &'a [Secondary],
    table: &str,
    name: &str,
) -> Result<&'a Secondary, TableError> {
    let mut indexes = indexes.iter();
    let index = indexes.find(|index| index.what.definition.name == name);
    index.ok_or_else(|| TableError::UnknownIndex {
        table: table.to_string(),
        index: name.to_string(),
    })
}

#[inline(always)]
fn give<'a, T: RowForm<'a, P>, P: PageRead + ?Sized>(
    reader: &Reader<'a, P>,
    at: Address,
    columns: &T::Columns,
) -> Result<T::Item, TableError> {
    let found = Found {
        pages: reader.rows,
        schema: reader.schema,
        table: reader.table,
        at,
    };
    T::give(found, columns)
}

/// Bytes of a record that are prefetched: the processor fetches the following ones by itself.
const ASKED_BYTES_MAX: usize = 256;

/// Asks the processor for the cache lines of so many bytes of a row.
#[inline(always)]
fn ask(rows: &(impl PageRead + ?Sized), at: Address, bytes: usize) {
    let bytes = bytes.clamp(1, ASKED_BYTES_MAX) as u64;
    let step = (0..bytes).step_by(CACHE_LINE);
    // The record's last byte may be in one line more.
    for offset in step.chain([bytes - 1]) {
        rows.prefetch(Address(at.0 + offset));
    }
}

fn row_at<R: Plain>(bytes: &[u8], origin: Origin, at: Address) -> Row<R> {
    let key = &bytes[at.0 as usize + R::KEY_OFFSET..][..size_of::<R::Key>()];
    let key = R::Key::read_from_bytes(key).expect("the bytes of a key");
    Row::new(at, origin.table, origin.epoch, key)
}

impl<'a, T: RowForm<'a, P>, P: PageRead + ?Sized> fmt::Debug for Index<'a, T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Index {:?}", self.reader.index.what.definition)
    }
}

impl<'a, T: RowForm<'a, P>, P: PageRead + ?Sized> fmt::Debug for IndexRange<'a, T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IndexRange of table {:?}", self.reader.table)
    }
}
