//! The hash of a record's primary key, from the record's bytes; and the way in which a table finds its rows by their keys.

use super::TableState;
use crate::hash::KeyHash;
use crate::index::Ahead;
use sardonyx_rows::key::{KeyBytes, KeyShape};
use sardonyx_rows::schema::IndexKind;
use sardonyx_storage::page::Address;
use sardonyx_storage::prefetch::prefetch;
use std::sync::Arc;

/// The hashing of a record's primary key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HashedKey<'s> {
    pub hash: KeyHash,
    pub offset: usize,
    pub length: usize,
    /// `None` if its bytes stand in the record.
    pub shape: Option<&'s KeyShape>,
}

impl HashedKey<'_> {
    /// The bytes of a record's key, which stand there.
    #[inline]
    pub(super) fn plain(self, bytes: &[u8], at: Address) -> &[u8] {
        &bytes[at.0 as usize + self.offset..][..self.length]
    }

    /// Asks the processor for a record's key.
    #[inline]
    pub fn prefetch(self, bytes: &[u8], at: Address) {
        prefetch(bytes, at.0 as usize + self.offset);
    }

    /// Asks the processor for a record, or what its key has outside of it.
    #[inline]
    pub fn ask(self, bytes: &[u8], at: Address, what: Ahead) {
        match (what, self.shape) {
            (Ahead::Row, _) => self.prefetch(bytes, at),
            (Ahead::Value, Some(shape)) => shape.each_cell(bytes, at, |cell| {
                prefetch(bytes, cell.0 as usize);
            }),
            (Ahead::Value, None) => {}
        }
    }

    /// The hash of a record's key.
    #[inline]
    pub fn hash(self, bytes: &[u8], at: Address) -> u64 {
        match self.shape {
            None => self.hash.of(self.plain(bytes, at)),
            Some(shape) => self.hash_of_columns(shape, bytes, at),
        }
    }

    #[inline(never)]
    fn hash_of_columns(self, shape: &KeyShape, bytes: &[u8], at: Address) -> u64 {
        let plain = shape.bytes_of(bytes, at);
        if let Some(ended) = plain.and_then(|plain| shape.bytes_before_end(plain)) {
            return self.hash.of_ended(ended);
        }
        if let Some(key) = plain.and_then(|plain| shape.of_bytes(plain)) {
            return self.hash.of(&key);
        }
        let mut key = KeyBytes::default();
        // Opening found that the rows' values are sound.
        match shape.of_row(bytes, at, &mut key) {
            Ok(_) => self.hash.of(&key),
            Err(_) => 0,
        }
    }

    /// True if two records have one key.
    #[inline]
    pub fn is_same(self, bytes: &[u8], one: Address, other: Address) -> bool {
        let Some(shape) = self.shape else {
            return self.plain(bytes, one) == self.plain(bytes, other);
        };
        let mut key = KeyBytes::default();
        let read = shape.of_row(bytes, other, &mut key);
        read.is_ok() && shape.shares(bytes, one, &key).unwrap_or(false)
    }
}

impl TableState {
    /// Notes how rows are found by their primary key: by a hash of its bytes in the row, whose place the catalogue or the
    /// schema has; by a hash of bytes that are made of its columns; or by a tree.
    pub fn note_hashed(&mut self) {
        let schema = &self.schema;
        let whole_row = schema.row_bytes_of_shape(0).unwrap_or(schema.row_bytes);
        let is_plain =
            schema.plain_key().is_some() || (self.key_offset, self.key_bytes) != (0, whole_row);
        let of_columns = !is_plain && schema.primary.kind == IndexKind::Hash;
        let shape = || Arc::new(KeyShape::new(schema, &schema.primary));
        self.hashed_key = of_columns.then(shape);
        self.is_hashed = is_plain || of_columns;
    }
}
