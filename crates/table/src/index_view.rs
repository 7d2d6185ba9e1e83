//! Reading by ordered indexes: [`Index`], a table's index by its name, and [`IndexRange`], rows in its order.

mod many;
mod reader;
mod snapshot;

pub use snapshot::{SnapshotIndex, SnapshotRange};

use crate::ordered::{Cursor, Place};
use crate::row::Row;
use crate::secondary::Secondary;
use crate::space::{TableSpace, View, record_at};
use crate::transaction::Transaction;
pub(crate) use reader::Reader;
use sardonyx_base::error::Error;
use sardonyx_rows::TableError;
use sardonyx_rows::key::KeyValues;
use sardonyx_rows::record::{Record, Table};
use sardonyx_storage::page::Address;
use sardonyx_storage::store::PageRead;
use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;
use zerocopy::FromBytes;

/// An ordered index of a table, to find rows by it.
///
/// Keys are values of its columns, or of the first ones: a value, a tuple, or a slice of [`Value`](sardonyx_rows::schema::Value)s.
/// A bound of fewer values than the index has columns stands for all keys that begin with them.
pub struct Index<'a, R> {
    space: &'a TableSpace,
    table: u16,
    index: &'a Secondary,
    of: PhantomData<fn() -> R>,
}

/// Rows of a table in the order of an index, from both ends.
pub struct IndexRange<'a, R> {
    space: &'a TableSpace,
    table: u16,
    cursor: Cursor,
    of: PhantomData<fn() -> R>,
}

impl<'a> View<'a> {
    /// An ordered index of a table: one of its schema's, or that of its primary key if it is ordered.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such index, or the handle is another database's.
    pub fn index<R: Record>(&self, table: Table<R>, name: &str) -> Result<Index<'a, R>, Error> {
        Ok(Index::of(self.space(), table, name)?)
    }
}

impl Transaction<'_> {
    /// An ordered index of a table: one of its schema's, or that of its primary key if it is ordered.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such index, or the handle is another database's.
    pub fn index<R: Record>(&self, table: Table<R>, name: &str) -> Result<Index<'_, R>, Error> {
        Ok(Index::of(&*self.space, table, name)?)
    }
}

impl<'a, R: Record> Index<'a, R> {
    fn of(space: &'a TableSpace, table: Table<R>, name: &str) -> Result<Self, TableError> {
        let number = table.number();
        let state = space
            .state(table)
            .ok_or(TableError::UnknownHandle { number })?;
        Ok(Index {
            space,
            table: number,
            index: named(&state.secondary, &state.name, name)?,
            of: PhantomData,
        })
    }

    #[inline]
    fn reader(&self) -> Reader<'a, [u8]> {
        let state = self.space.tables[usize::from(self.table)].as_ref();
        let state = state.expect("it is a table");
        Reader {
            nodes: self.space.indexes.bytes(),
            rows: self.space.store.bytes(),
            index: self.index,
            schema: &state.schema,
            table: &state.name,
        }
    }

    /// The first record with this key, or whose key begins with these values.
    ///
    /// # Errors
    /// [`Error::Refused`] if the values are none of the index's columns, [`Error::Limit`] if the key is too long.
    #[inline]
    pub fn get_by(&self, key: impl KeyValues) -> Result<Option<&'a R>, Error> {
        let found = self.reader().find(&key)?;
        Ok(found.map(|at| record_at(self.space.store.bytes(), at)))
    }

    /// The first record of each of many keys, in the keys' order. Takes a fraction of the time of one
    /// [`get_by`](Index::get_by) after another where the index's columns are integers, or the like, of 8 bytes together:
    /// then the processor waits for several at once.
    ///
    /// Each is an error for itself, as [`Index::get_by`] says.
    pub fn get_many<I>(
        &self,
        keys: I,
    ) -> impl Iterator<Item = Result<Option<&'a R>, Error>> + use<'a, I, R>
    where
        I: IntoIterator<Item: KeyValues>,
    {
        let rows = self.space.store.bytes();
        let found = self.reader().find_many(keys, |at| ask::<R>(rows, at));
        found.map(|found| Ok(found?.map(|at| record_at(rows, at))))
    }

    /// The row of that record, to change it without looking it up again.
    ///
    /// # Errors
    /// Those of [`Index::get_by`].
    pub fn find(&self, key: impl KeyValues) -> Result<Option<Row<R>>, Error> {
        let found = self.reader().find(&key)?;
        Ok(found.map(|at| row_at(self.space, self.table, at)))
    }

    /// The records whose keys are in a range.
    ///
    /// # Errors
    /// Those of [`Index::get_by`].
    #[inline]
    pub fn range<K: KeyValues>(
        &self,
        range: impl RangeBounds<K>,
    ) -> Result<IndexRange<'a, R>, Error> {
        Ok(self.walk(self.reader().range(range)?))
    }

    /// The records whose keys begin with these values.
    ///
    /// # Errors
    /// Those of [`Index::get_by`].
    pub fn prefix(&self, key: impl KeyValues) -> Result<IndexRange<'a, R>, Error> {
        Ok(self.walk(self.reader().prefix(&key)?))
    }

    /// The records whose keys begin with these values, of which the last, a text or bytes, may go on.
    ///
    /// # Errors
    /// Those of [`Index::get_by`].
    pub fn starts_with(&self, key: impl KeyValues) -> Result<IndexRange<'a, R>, Error> {
        Ok(self.walk(self.reader().starts_with(&key)?))
    }

    /// All records, in the order of the index.
    pub fn all(&self) -> IndexRange<'a, R> {
        let Ok(start) = self.index.tree.start(self.space.indexes.bytes());
        self.walk((start, Place::END))
    }

    /// The first record of all.
    pub fn first(&self) -> Option<&'a R> {
        self.all().next()
    }

    /// The last record of all.
    pub fn last(&self) -> Option<&'a R> {
        self.all().next_back()
    }

    /// How many records have keys in a range, without looking at them. Costs time with the range's length, a few
    /// nanoseconds for a leaf of about twenty.
    ///
    /// # Errors
    /// Those of [`Index::get_by`].
    pub fn count_range<K: KeyValues>(&self, range: impl RangeBounds<K>) -> Result<u64, Error> {
        let reader = self.reader();
        reader.count(reader.range(range)?)
    }

    #[inline]
    fn walk(&self, places: (Place, Place)) -> IndexRange<'a, R> {
        IndexRange {
            space: self.space,
            table: self.table,
            cursor: self.index.cursor(places),
            of: PhantomData,
        }
    }
}

impl<'a, R: Record> IndexRange<'a, R> {
    /// The rows instead of the records, to change them; take them out of the transaction first.
    pub fn rows(mut self) -> impl Iterator<Item = Row<R>> + use<'a, R> {
        std::iter::from_fn(move || {
            let at = self.next_address()?;
            Some(row_at(self.space, self.table, at))
        })
    }

    #[inline]
    fn next_address(&mut self) -> Option<Address> {
        let rows = self.space.store.bytes();
        let Ok(next) = (self.cursor).next(self.space.indexes.bytes(), |at| ask::<R>(rows, at));
        next
    }
}

impl<'a, R: Record> Iterator for IndexRange<'a, R> {
    type Item = &'a R;

    #[inline]
    fn next(&mut self) -> Option<&'a R> {
        let at = self.next_address()?;
        Some(record_at(self.space.store.bytes(), at))
    }
}

impl<R: Record> DoubleEndedIterator for IndexRange<'_, R> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let rows = self.space.store.bytes();
        let nodes = self.space.indexes.bytes();
        let Ok(next) = self.cursor.next_back(nodes, |at| ask::<R>(rows, at));
        Some(record_at(rows, next?))
    }
}

/// Bytes that come from memory at once.
const CACHE_LINE: usize = 64;

/// A table's ordered index with this name.
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

/// Bytes of a record for which the processor is asked: it fetches what follows by itself.
const ASKED_BYTES_MAX: usize = 256;

/// Asks the processor for a record's cache lines.
#[inline]
fn ask<R>(rows: &(impl PageRead + ?Sized), at: Address) {
    let bytes = size_of::<R>().min(ASKED_BYTES_MAX) as u64;
    let step = (0..bytes).step_by(CACHE_LINE);
    // The record's last byte may be in one line more.
    for offset in step.chain([bytes - 1]) {
        rows.prefetch(Address(at.0 + offset));
    }
}

fn row_at<R: Record>(space: &TableSpace, table: u16, at: Address) -> Row<R> {
    let key = &space.store.bytes()[at.0 as usize + R::KEY_OFFSET..][..size_of::<R::Key>()];
    let key = R::Key::read_from_bytes(key).expect("the bytes of a key");
    Row::new(at, table, space.epoch, key)
}

impl<R> fmt::Debug for Index<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Index {:?}", self.index.what.definition)
    }
}

impl<R> fmt::Debug for IndexRange<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IndexRange of table {}", self.table)
    }
}
