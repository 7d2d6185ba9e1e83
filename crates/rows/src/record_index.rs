//! Records of a program's types by an ordered index of any store of rows: the verbs of [`ReadIndex`], whose rows are given
//! as records.
//!
//! All dispatch is static. A store whose rows can be borrowed as records has an index of its own instead, since it copies
//! nothing.

use crate::key::KeyValues;
use crate::read::ReadIndex;
use crate::record::Record;
use crate::records::{RecordRow, RecordsOf};
use sardonyx_base::error::Error;
use std::fmt;
use std::ops::RangeBounds;

/// An ordered index of a table, to find records by it.
///
/// Keys are values of its columns, or of the first ones: a value, a tuple, or a slice of
/// [`Value`](crate::schema::Value)s. A bound of fewer values than the index has columns means all keys that begin with
/// them. A range that ends before it begins is refused.
pub struct RecordIndex<I, R: Record> {
    index: I,
    columns: R::Columns,
}

impl<I: ReadIndex<Row: RecordRow>, R: Record> RecordIndex<I, R> {
    /// Records by this index; `columns` are the record's fields.
    #[doc(hidden)]
    #[inline]
    pub fn new(index: I, columns: R::Columns) -> Self {
        RecordIndex { index, columns }
    }

    #[inline]
    fn records(&self, rows: I::Range) -> RecordsOf<I::Range, R> {
        RecordsOf::new(rows, self.columns)
    }

    /// The first record with this key, or whose key begins with these values.
    ///
    /// # Errors
    /// [`Error::Refused`] if the index's columns cannot have the values; [`Error::Limit`] if the key is too long, the
    /// transaction keeps too much, or its snapshot was ended; the errors of reading a row.
    pub fn get_by(&self, key: impl KeyValues) -> Result<Option<R>, Error> {
        let found = self.index.get_by(key)?;
        Ok(found.map(|row| row.to_record(&self.columns)).transpose()?)
    }

    /// The records whose keys are in a range.
    ///
    /// # Errors
    /// The errors of [`RecordIndex::get_by`]; [`Error::Refused`] if the range ends before it begins.
    pub fn range<K: KeyValues>(
        &self,
        range: impl RangeBounds<K>,
    ) -> Result<RecordsOf<I::Range, R>, Error> {
        Ok(self.records(self.index.range(range)?))
    }

    /// The records whose keys begin with these values.
    ///
    /// # Errors
    /// The errors of [`RecordIndex::get_by`].
    pub fn prefix(&self, key: impl KeyValues) -> Result<RecordsOf<I::Range, R>, Error> {
        Ok(self.records(self.index.prefix(key)?))
    }

    /// The records whose keys begin with these values, of which the last, a text or bytes, may go on.
    ///
    /// # Errors
    /// The errors of [`RecordIndex::get_by`].
    pub fn starts_with(&self, key: impl KeyValues) -> Result<RecordsOf<I::Range, R>, Error> {
        Ok(self.records(self.index.starts_with(key)?))
    }

    /// All records, in the order of the index.
    ///
    /// # Errors
    /// [`Error::Limit`] if the transaction keeps too much, or its snapshot was ended.
    pub fn all(&self) -> Result<RecordsOf<I::Range, R>, Error> {
        Ok(self.records(self.index.all()?))
    }

    /// The first record of all.
    ///
    /// # Errors
    /// The errors of [`RecordIndex::all`].
    pub fn first(&self) -> Result<Option<R>, Error> {
        self.all()?.next().transpose()
    }

    /// The last record of all.
    ///
    /// # Errors
    /// The errors of [`RecordIndex::all`].
    pub fn last(&self) -> Result<Option<R>, Error> {
        self.all()?.next_back().transpose()
    }

    /// The number of records that have keys in a range.
    ///
    /// # Errors
    /// The errors of [`RecordIndex::range`].
    pub fn count_range<K: KeyValues>(&self, range: impl RangeBounds<K>) -> Result<u64, Error> {
        self.index.count_range(range)
    }
}

impl<I: fmt::Debug, R: Record> fmt::Debug for RecordIndex<I, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {}", self.index, R::TABLE)
    }
}
