//! Memory that is asked for ahead: of rows whose keys are found by a hash that the caller keeps, and of rows that may be at an
//! address.
//!
//! Commands that arrived together ask for all their rows first, so that their cache misses overlap. Nothing here tells if a
//! row exists: any address may be asked for, and a row of an earlier shape may have other bytes where columns are looked for.

use crate::rows::find_hashed;
use crate::space::{LINE, Prefetch, TableSpace};
use crate::table::TableState;
use sardonyx_rows::values::{CELL_BYTES_MIN, REFERENCE_BYTES, Reference};
use sardonyx_rows::{KeyValues, RowRef};
use sardonyx_storage::page::{Address, PAGE_SIZE};
use sardonyx_storage::prefetch::prefetch;

impl TableSpace {
    fn state_numbered(&self, table: u16) -> Option<&TableState> {
        self.tables.get(usize::from(table))?.as_ref()
    }

    /// The hash of a primary key of these values, of a key that is hashed but does not stand in the row as it is; `None`
    /// of other keys. It prefetches, and finds nothing.
    #[inline]
    pub fn hash_of(&self, table: u16, key: &(impl KeyValues + ?Sized)) -> Option<u64> {
        let state = self.state_numbered(table)?;
        let shape = state.hashed_key.as_ref()?;
        if let Some(ended) = shape.bytes_before_end(key) {
            return Some(state.hash.of_ended(ended));
        }
        let encoded = (shape.of_bytes(key)).or_else(|| Some(shape.of_values(key).ok()?.bytes))?;
        Some(state.hash.of(&encoded))
    }

    /// The row whose primary key are these bytes, of this hash; `None` also if it cannot be read.
    #[doc(hidden)]
    pub fn row_by_hash(&self, table: u16, hash: u64, key: &[u8]) -> Option<RowRef<'_>> {
        let (state, bytes) = (self.state_numbered(table)?, self.store.bytes());
        let at = find_hashed(&self.indexes, bytes, state, hash, key).ok()??;
        RowRef::new(bytes, &state.schema, &state.name, at).ok()
    }

    /// As [`TableSpace::prefetch`], for finding the row with a primary key of this [hash](TableSpace::hash_of).
    #[inline]
    pub fn prefetch_hashed(&self, what: Prefetch, table: u16, hash: u64) {
        let Some(state) = self.state_numbered(table) else {
            return;
        };
        match what {
            Prefetch::Index => state.index.prefetch(&self.indexes, hash),
            Prefetch::Record => {
                if let Some(address) = state.index.candidate(&self.indexes, hash) {
                    self.prefetch_at(address);
                }
            }
        }
    }

    /// Prefetches the texts and bytes that the row with a primary key of this hash has outside of it, once the row itself
    /// has been prefetched.
    pub fn prefetch_values(&self, table: u16, hash: u64) {
        if let Some(state) = self.state_numbered(table)
            && let Some(at) = state.index.candidate(&self.indexes, hash)
        {
            self.prefetch_values_of(state, at);
        }
    }

    /// The same of the row that may be at an address.
    #[inline]
    pub fn prefetch_values_at(&self, table: u16, address: Address) {
        if let Some(state) = self.state_numbered(table) {
            self.prefetch_values_of(state, address);
        }
    }

    fn prefetch_values_of(&self, state: &TableState, at: Address) {
        let bytes = self.store.bytes();
        for column in state.schema.variable_columns() {
            let place = (at.0 as usize).wrapping_add(column.offset);
            let Some(reference) = bytes.get(place..place.wrapping_add(REFERENCE_BYTES)) else {
                return;
            };
            // Of a row of an earlier shape, these may be other bytes: to ask for any address does no harm.
            let reference = Reference::at(reference, 0);
            if let Some(cell) = reference.cell() {
                prefetch(bytes, cell.0 as usize);
                if reference.len() > CELL_BYTES_MIN {
                    // The page's last word, which has the size of its cells.
                    prefetch(bytes, cell.0 as usize | (PAGE_SIZE - 1));
                }
            }
        }
    }

    /// Prefetches the row that may be at an address: its first two cache lines.
    #[inline]
    pub fn prefetch_at(&self, address: Address) {
        let at = address.0 as usize;
        prefetch(self.store.bytes(), at);
        prefetch(self.store.bytes(), at.wrapping_add(LINE));
    }

    /// The same with the end of its page, which says whose page it is and if there is a row.
    #[inline]
    pub fn prefetch_row_at(&self, address: Address) {
        self.prefetch_at(address);
        prefetch(self.store.bytes(), address.0 as usize | (PAGE_SIZE - 1));
    }
}
