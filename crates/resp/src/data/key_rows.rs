//! Rows of keys as [`Entry`], read and changed by the places of their columns ([`KeyLayout`]).

use super::Kind;
use super::keys::{Entry, micros};
use super::layouts::KeyLayout;
use crate::command::line::PART_BYTES_MAX;
use sardonyx::Transaction;
use sardonyx::low_level::FixedRow;
use sardonyx::schema::NullBit;
use sardonyx_rows::TableError;
use sardonyx_rows::row::LongValues;
use sardonyx_rows::values::{REFERENCE_BYTES, Reference};

/// Rows of keys are shorter.
const ROW_BYTES_MAX: usize = 128;

impl KeyLayout {
    /// Inserts a row of a table of keys for a key of this hash, which has none. [`None`] if that must be done by the columns'
    /// numbers; nothing has changed then.
    #[inline]
    pub fn insert(
        &self,
        state: &mut Transaction<'_>,
        (table, hash): (u16, u64),
        (key, entry, value): (&[u8], &Entry, &[u8]),
    ) -> Option<Result<(), TableError>> {
        if !self.is_whole {
            return None;
        }
        let mut row = [0; ROW_BYTES_MAX];
        let row = row.get_mut(..self.schema.row_bytes)?;
        let mut long = LongValues::default();
        for (place, bytes) in [
            (self.key, key),
            (self.kind, entry.kind.name().as_bytes()),
            (self.value, value),
        ] {
            match Reference::inline(bytes) {
                Some(inline) => row[place..][..REFERENCE_BYTES].copy_from_slice(&inline.0),
                None if bytes.len() <= PART_BYTES_MAX && long.push(place, bytes) => {}
                None => return None,
            }
        }
        let mut put = |place: usize, word: u64| {
            row[place..][..size_of::<u64>()].copy_from_slice(&word.to_le_bytes());
        };
        put(self.id, entry.id);
        put(self.length, entry.length);
        put(self.first, entry.first as u64);
        match entry.expires {
            Some(at) => put(self.expires, micros(at) as u64),
            None => {
                let NullBit { byte, bit } = self.expires_null;
                row[byte as usize] |= 1 << bit;
            }
        }
        state.insert_fixed((table, &self.schema), hash, (row, &long))
    }

    /// Sets the length and the first position in a row of a table of keys. [`None`] if that must be done by the columns'
    /// numbers; nothing has changed then.
    #[inline]
    pub fn set_counts(
        &self,
        state: &mut Transaction<'_>,
        table: u16,
        (before, after): (&Entry, &Entry),
    ) -> Option<Result<(), TableError>> {
        let (length, first) = (after.length.to_le_bytes(), after.first.to_le_bytes());
        let (at, table) = (before.at, (table, &self.schema));
        match (before.length == after.length, before.first == after.first) {
            _ if !self.counts_alone => None,
            (true, true) => Some(Ok(())),
            (false, true) => state.set_fixed(table, (at, self.length), &length),
            (true, false) => state.set_fixed(table, (at, self.first), &first),
            (false, false) if self.length + length.len() == self.first => {
                let mut both = [0; 16];
                both[..8].copy_from_slice(&length);
                both[8..].copy_from_slice(&first);
                state.set_fixed(table, (at, self.length), &both)
            }
            (false, false) => None,
        }
    }

    /// As [`Entry::of`]; `None` of a kind that is not known.
    #[inline]
    pub fn entry(&self, row: &FixedRow<'_>) -> Option<Entry> {
        let kind = Kind::stored([row.word(self.kind), row.word(self.kind + 8)])?;
        let expires = match row.is_null(self.expires_null) {
            true => None,
            false => Some((row.word(self.expires) as i64).div_euclid(1000)),
        };
        let (length, first) = match kind {
            Kind::String => (0, 0),
            _ => (row.word(self.length), row.word(self.first) as i64),
        };
        Some(Entry {
            at: row.address(),
            id: row.word(self.id),
            kind,
            length,
            first,
            expires,
        })
    }
}
