//! Reading by ordered indexes in a snapshot: as in a transaction, with copies of the records.

use super::reader::Reader;
use super::{ask, named};
use crate::ordered::{Cursor, Place};
use crate::secondary::Secondary;
use crate::snapshot::{FrozenTable, SpaceSnapshot, record};
use sardonyx_base::error::Error;
use sardonyx_rows::TableError;
use sardonyx_rows::key::KeyValues;
use sardonyx_rows::record::{Record, Table};
use sardonyx_storage::page::Address;
use sardonyx_storage::store::{PageSnapshot, SnapshotEnded};
use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;

/// An ordered index of a table in a snapshot. Keys are as those of an [`Index`](crate::Index).
pub struct SnapshotIndex<'a, R> {
    snapshot: &'a SpaceSnapshot,
    table: &'a FrozenTable,
    name: &'a str,
    index: &'a Secondary,
    of: PhantomData<fn() -> R>,
}

/// Records of a table in the order of an index, from both ends.
pub struct SnapshotRange<'a, R> {
    snapshot: &'a SpaceSnapshot,
    cursor: Cursor,
    of: PhantomData<fn() -> R>,
}

impl SpaceSnapshot {
    /// An ordered index of a table, as it was.
    ///
    /// # Errors
    /// [`Error::Refused`] if there was no such index, or the handle is another database's.
    pub fn index<R: Record>(
        &self,
        table: Table<R>,
        name: &str,
    ) -> Result<SnapshotIndex<'_, R>, Error> {
        let number = table.number();
        let state = self.state(table);
        let table = state.ok_or(TableError::UnknownHandle { number })?;
        let of_table = self.definitions().get(usize::from(number));
        let of_table = of_table.map_or("", |definition| &definition.name);
        Ok(SnapshotIndex {
            snapshot: self,
            table,
            name: of_table,
            index: named(&table.secondary, of_table, name)?,
            of: PhantomData,
        })
    }
}

impl<'a, R: Record> SnapshotIndex<'a, R> {
    #[inline]
    fn reader(&self) -> Reader<'a, PageSnapshot> {
        Reader {
            nodes: &self.snapshot.indexes,
            rows: &self.snapshot.rows,
            index: self.index,
            schema: &self.table.schema,
            table: self.name,
        }
    }

    /// The first record with this key, or whose key begins with these values.
    ///
    /// # Errors
    /// [`Error::Refused`] if the values are none of the index's columns, [`Error::Limit`] if the key is too long or the
    /// snapshot was ended.
    #[inline]
    pub fn get_by(&self, key: impl KeyValues) -> Result<Option<R>, Error> {
        let Some(at) = self.reader().find(&key)? else {
            return Ok(None);
        };
        let record = record(&self.snapshot.rows, at);
        Ok(Some(record.map_err(TableError::from)?))
    }

    /// The first record of each of many keys, in the keys' order. Takes a fraction of the time of one
    /// [`get_by`](SnapshotIndex::get_by) after another where the index's columns are integers, or the like, of 8 bytes
    /// together: then the processor waits for several at once.
    ///
    /// Each is an error for itself, as [`SnapshotIndex::get_by`] says.
    pub fn get_many<I>(
        &self,
        keys: I,
    ) -> impl Iterator<Item = Result<Option<R>, Error>> + use<'a, I, R>
    where
        I: IntoIterator<Item: KeyValues>,
    {
        let rows = &*self.snapshot.rows;
        let found = self.reader().find_many(keys, |at| ask::<R>(rows, at));
        found.map(|found| match found? {
            Some(at) => Ok(Some(record(rows, at).map_err(TableError::from)?)),
            None => Ok(None),
        })
    }

    /// The records whose keys are in a range.
    ///
    /// # Errors
    /// Those of [`SnapshotIndex::get_by`].
    pub fn range<K: KeyValues>(
        &self,
        range: impl RangeBounds<K>,
    ) -> Result<SnapshotRange<'a, R>, Error> {
        Ok(self.walk(self.reader().range(range)?))
    }

    /// The records whose keys begin with these values.
    ///
    /// # Errors
    /// Those of [`SnapshotIndex::get_by`].
    pub fn prefix(&self, key: impl KeyValues) -> Result<SnapshotRange<'a, R>, Error> {
        Ok(self.walk(self.reader().prefix(&key)?))
    }

    /// The records whose keys begin with these values, of which the last, a text or bytes, may go on.
    ///
    /// # Errors
    /// Those of [`SnapshotIndex::get_by`].
    pub fn starts_with(&self, key: impl KeyValues) -> Result<SnapshotRange<'a, R>, Error> {
        Ok(self.walk(self.reader().starts_with(&key)?))
    }

    /// All records, in the order of the index.
    ///
    /// # Errors
    /// [`Error::Limit`] if the snapshot was ended.
    pub fn all(&self) -> Result<SnapshotRange<'a, R>, Error> {
        Ok(self.walk(self.reader().all()?))
    }

    /// How many records have keys in a range, without looking at them.
    ///
    /// # Errors
    /// Those of [`SnapshotIndex::get_by`].
    pub fn count_range<K: KeyValues>(&self, range: impl RangeBounds<K>) -> Result<u64, Error> {
        let reader = self.reader();
        reader.count(reader.range(range)?)
    }

    fn walk(&self, places: (Place, Place)) -> SnapshotRange<'a, R> {
        SnapshotRange {
            snapshot: self.snapshot,
            cursor: self.index.cursor(places),
            of: PhantomData,
        }
    }
}

impl<R: Record> SnapshotRange<'_, R> {
    /// The record of what the cursor found. An error is told once: it is the end.
    #[inline]
    fn give(&mut self, found: Result<Option<Address>, SnapshotEnded>) -> Option<Result<R, Error>> {
        let read = match found {
            Ok(None) => return None,
            Ok(Some(at)) => record(&self.snapshot.rows, at),
            Err(error) => Err(error),
        };
        Some(read.map_err(|error| {
            self.cursor.finish();
            TableError::from(error).into()
        }))
    }
}

impl<R: Record> Iterator for SnapshotRange<'_, R> {
    type Item = Result<R, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let found = self.cursor.next(&*self.snapshot.indexes, |at| {
            ask::<R>(&*self.snapshot.rows, at)
        });
        self.give(found)
    }
}

impl<R: Record> DoubleEndedIterator for SnapshotRange<'_, R> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let found = self.cursor.next_back(&*self.snapshot.indexes, |at| {
            ask::<R>(&*self.snapshot.rows, at)
        });
        self.give(found)
    }
}

impl<R> fmt::Debug for SnapshotIndex<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SnapshotIndex {:?}", self.index.what.definition)
    }
}

impl<R> fmt::Debug for SnapshotRange<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SnapshotRange")
    }
}
