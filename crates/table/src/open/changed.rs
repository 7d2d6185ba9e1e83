//! The rows of a table that an open transaction has inserted, changed or deleted, in the order of their keys, and the
//! entries of its indexes for them.
//!
//! Invariant: each row that is there has an entry in every index, and no other row has one.

use sardonyx_rows::{RowFormat, TableError};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The primary key of a row, as bytes in the order of the values.
pub(super) type Key = Arc<[u8]>;

/// What the transaction has of a row.
#[derive(Clone, Debug)]
pub(super) enum Own {
    /// The row as it is now, in the format of rows of their own.
    Row(Arc<[u8]>),
    /// There is none any more.
    Gone,
}

impl Own {
    /// Bytes that it takes.
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
    /// Of each index of the schema, but that of the primary key, which the rows themselves are.
    entries: Vec<BTreeMap<Vec<u8>, Key>>,
    /// The number of rows that there are more than in the snapshot.
    pub more: i64,
}

impl Changed {
    /// None, of a table with so many indexes.
    pub fn of(indexes: usize) -> Self {
        Changed {
            rows: BTreeMap::new(),
            entries: (0..indexes).map(|_| BTreeMap::new()).collect(),
            more: 0,
        }
    }

    /// All of them.
    pub fn rows(&self) -> &BTreeMap<Key, Own> {
        &self.rows
    }

    /// The entries of an index by its number in the schema.
    pub fn entries(&self, index: usize) -> &BTreeMap<Vec<u8>, Key> {
        &self.entries[index]
    }

    /// Has a row in the place of what was there, which is returned.
    ///
    /// # Errors
    /// [`TableError::DamagedTable`] if the bytes are no row. Nothing has changed then.
    pub fn put(
        &mut self,
        format: &RowFormat,
        key: Key,
        own: Own,
    ) -> Result<Option<Own>, TableError> {
        let new = keys(format, Some(&own))?;
        let old = keys(format, self.rows.get(&key))?;
        self.replace_entries(&key, &old, new);
        Ok(self.rows.insert(key, own))
    }

    /// Has again what was there.
    pub fn put_back(&mut self, format: &RowFormat, key: Key, before: Option<Own>) {
        // Both were rows before.
        let new = keys(format, before.as_ref()).unwrap_or_default();
        let old = keys(format, self.rows.get(&key)).unwrap_or_default();
        self.replace_entries(&key, &old, new);
        match before {
            Some(own) => drop(self.rows.insert(key, own)),
            None => drop(self.rows.remove(&key)),
        }
    }

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

/// What a row is known by in each index; nothing of one that is not there.
fn keys(format: &RowFormat, own: Option<&Own>) -> Result<Vec<Vec<u8>>, TableError> {
    match own {
        Some(Own::Row(bytes)) => format.index_keys(bytes),
        Some(Own::Gone) | None => Ok(Vec::new()),
    }
}
