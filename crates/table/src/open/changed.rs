//! The rows of a table that an open transaction has inserted, changed or deleted, in the order of their keys. Also the
//! entries of its indexes for them.
//!
//! Invariant: each existing row has an entry in every index, and no other row has one.

use sardonyx_rows::key::Span;
use sardonyx_rows::{RowFormat, TableError};
use std::collections::btree_map::{self, BTreeMap};
use std::ops::Bound;
use std::sync::Arc;

/// The primary key of a row, as bytes in the order of the values.
pub(super) type Key = Arc<[u8]>;

/// The transaction's own state of a row.
#[derive(Clone, Debug)]
pub(super) enum Own {
    /// The present row, in the format of rows of their own.
    Row(Arc<[u8]>),
    /// The row is deleted.
    Gone,
}

impl Own {
    /// Bytes that it takes.
    #[inline]
    pub fn bytes(&self) -> usize {
        match self {
            Own::Row(bytes) => bytes.len(),
            Own::Gone => 0,
        }
    }
}

/// The rows of a table that were inserted, changed or deleted.
#[derive(Debug)]
pub(super) struct Changed {
    rows: BTreeMap<Key, Own>,
    /// The entries of each index of the schema, except the primary key, whose entries are the rows themselves.
    entries: Vec<BTreeMap<Vec<u8>, Key>>,
    /// The number of rows beyond the snapshot's.
    pub more: i64,
}

impl Changed {
    /// No changes, of a table with so many indexes.
    #[inline]
    pub fn of(indexes: usize) -> Self {
        Changed {
            rows: BTreeMap::new(),
            entries: (0..indexes).map(|_| BTreeMap::new()).collect(),
            more: 0,
        }
    }

    /// All of them.
    #[inline]
    pub fn rows(&self) -> &BTreeMap<Key, Own> {
        &self.rows
    }

    /// The existing rows, in a part of an index by its number in the schema, or of the primary key.
    #[inline]
    pub fn between(&self, index: Option<usize>, span: &Span) -> OwnRows<'_> {
        let Some((from, to)) = span.keys() else {
            return OwnRows::None;
        };
        let to = match &to {
            Some(to) => Bound::Excluded(&**to),
            None => Bound::Unbounded,
        };
        let bounds = (Bound::Included(&*from), to);
        match index {
            Some(index) => OwnRows::Entries(self.entries[index].range::<[u8], _>(bounds)),
            None => OwnRows::Rows(self.rows.range::<[u8], _>(bounds)),
        }
    }

    /// All of them behind a key, deleted ones included.
    #[inline]
    pub fn behind<'c>(
        &'c self,
        key: Option<&Key>,
    ) -> impl Iterator<Item = (&'c Key, &'c Own)> + use<'c> {
        let from = match key {
            Some(key) => Bound::Excluded(&**key),
            None => Bound::Unbounded,
        };
        let rows = self.rows.range::<[u8], _>((from, Bound::Unbounded));
        rows.inspect(|_| look())
    }

    /// Puts a row in the place of the previous one, which is returned; each with its [entries](entries_of).
    #[inline]
    pub fn put(&mut self, key: Key, own: Own, old: &[Vec<u8>], new: Vec<Vec<u8>>) -> Option<Own> {
        self.replace_entries(&key, old, new);
        self.rows.insert(key, own)
    }

    /// Inserts a row that is not there, with its entries. `Err` with the number of a unique index in which another row has
    /// the same entry.
    #[inline]
    pub fn insert(
        &mut self,
        key: Key,
        own: Own,
        new: Vec<Vec<u8>>,
    ) -> Result<(), (usize, Arc<[u8]>)> {
        for (index, (entries, new)) in self.entries.iter_mut().zip(new).enumerate() {
            if let Some(_other) = entries.insert(new, Arc::clone(&key))
                && let Own::Row(bytes) = own
            {
                return Err((index, bytes));
            }
        }
        self.rows.insert(key, own);
        Ok(())
    }

    /// Bytes that it takes.
    #[inline]
    pub fn bytes(&self) -> usize {
        let rows = self.rows.iter();
        let rows = rows.map(|(key, own)| super::bytes_of_change(key, own, &[]));
        let entries = self.entries.iter().flat_map(BTreeMap::keys);
        let entries = entries.map(|entry| entry.len() + super::ENTRY_BYTES);
        rows.sum::<usize>() + entries.sum::<usize>()
    }

    /// Restores the previous content.
    #[inline]
    pub fn put_back(&mut self, format: &RowFormat, key: Key, before: Option<Own>) {
        // Both were rows before.
        let new = entries_of(format, before.as_ref()).unwrap_or_default();
        let old = entries_of(format, self.rows.get(&key)).unwrap_or_default();
        self.replace_entries(&key, &old, new);
        match before {
            Some(own) => drop(self.rows.insert(key, own)),
            None => drop(self.rows.remove(&key)),
        }
    }

    #[inline]
    fn replace_entries(&mut self, key: &Key, old: &[Vec<u8>], new: Vec<Vec<u8>>) {
        for (entries, old) in self.entries.iter_mut().zip(old) {
            // A row that takes a key over may have it already.
            if entries.get(old).is_some_and(|there| there == key) {
                entries.remove(old);
            }
        }
        for (entries, new) in self.entries.iter_mut().zip(new) {
            entries.insert(new, Arc::clone(key));
        }
    }
}

/// The transaction's own rows in the order of an index, from both ends.
#[derive(Debug)]
pub(super) enum OwnRows<'c> {
    None,
    Rows(btree_map::Range<'c, Key, Own>),
    Entries(btree_map::Range<'c, Vec<u8>, Key>),
}

/// An index entry of a row, and its key.
pub(super) type Entry<'c> = (&'c [u8], &'c Key);

#[inline]
fn entry_of_row<'c>((key, own): (&'c Key, &Own)) -> Option<Entry<'c>> {
    look();
    matches!(own, Own::Row(_)).then_some((&**key, key))
}

#[inline]
fn entry<'c>((entry, key): (&'c Vec<u8>, &'c Key)) -> Entry<'c> {
    look();
    (entry, key)
}

impl<'c> Iterator for OwnRows<'c> {
    type Item = Entry<'c>;

    #[inline]
    fn next(&mut self) -> Option<Entry<'c>> {
        match self {
            OwnRows::None => None,
            OwnRows::Rows(rows) => rows.find_map(entry_of_row),
            OwnRows::Entries(entries) => entries.next().map(entry),
        }
    }
}

impl DoubleEndedIterator for OwnRows<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        match self {
            OwnRows::None => None,
            OwnRows::Rows(rows) => rows.rev().find_map(entry_of_row),
            OwnRows::Entries(entries) => entries.next_back().map(entry),
        }
    }
}

#[inline]
fn look() {
    #[cfg(test)]
    looked_at::ROWS.set(looked_at::ROWS.get() + 1);
}

/// Index entries of a row; empty for a deleted row.
///
/// # Errors
/// [`TableError::DamagedTable`] if the bytes are no row.
#[inline]
pub(super) fn entries_of(
    format: &RowFormat,
    own: Option<&Own>,
) -> Result<Vec<Vec<u8>>, TableError> {
    match own {
        Some(Own::Row(bytes)) => format.index_keys(bytes),
        Some(Own::Gone) | None => Ok(Vec::new()),
    }
}

/// The number of rows of its own that a test's transactions have looked at.
#[cfg(test)]
pub(super) mod looked_at {
    std::thread_local! {
        pub static ROWS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }
}
