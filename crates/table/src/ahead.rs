//! Memory that is asked for ahead: of rows whose keys are found by a hash that the caller keeps, and of rows that may be at an
//! address.
//!
//! Commands that arrived together ask for all their rows first, so that their cache misses overlap. Nothing here tells if a
//! row exists: any address may be asked for, and a row of an earlier shape may have other bytes where columns are looked for.

use crate::rows::find_hashed;
use crate::space::{LINE, TableSpace};
use crate::table::TableState;
use sardonyx_rows::values::{CELL_BYTES_MIN, REFERENCE_BYTES, Reference};
use sardonyx_rows::{KeyValues, RowRef};
use sardonyx_storage::page::{Address, PAGE_SIZE};
use sardonyx_storage::prefetch::prefetch;

/// The values of a row beyond so many are not asked for.
const PLACES_MAX: usize = 6;

/// The places of a table's texts and bytes in its rows: of the first ones.
#[derive(Clone, Copy, Default, Debug)]
pub struct ValuePlaces {
    offsets: [usize; PLACES_MAX],
    count: usize,
}

impl TableSpace {
    #[inline]
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

    /// Prefetches the index's place for a primary key of this [hash](TableSpace::hash_of).
    #[inline]
    pub fn prefetch_place(&self, table: u16, hash: u64) {
        if let Some(state) = self.state_numbered(table) {
            state.index.prefetch(&self.indexes, hash);
        }
    }

    /// Prefetches the row that the index's place most likely names, which was asked for before. Returns its address.
    #[inline]
    pub fn prefetch_candidate(&self, table: u16, hash: u64) -> Option<Address> {
        let state = self.state_numbered(table)?;
        let at = state.index.candidate(&self.indexes, hash)?;
        self.prefetch_at(at);
        Some(at)
    }

    /// The places of a table's texts and bytes in its rows.
    pub fn value_places(&self, table: u16) -> ValuePlaces {
        let mut places = ValuePlaces::default();
        let columns = self.state_numbered(table).into_iter();
        let columns = columns.flat_map(|state| state.schema.variable_columns());
        for (place, column) in places.offsets.iter_mut().zip(columns) {
            *place = column.offset;
            places.count += 1;
        }
        places
    }

    /// Prefetches the texts and bytes that the row that may be at an address has outside of it, once the row itself has been
    /// prefetched.
    #[inline]
    pub fn prefetch_values_at(&self, places: &ValuePlaces, at: Address) {
        let bytes = self.store.bytes();
        for offset in places.offsets.iter().take(places.count) {
            let place = (at.0 as usize).wrapping_add(*offset);
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
