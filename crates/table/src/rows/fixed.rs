//! Rows of a table whose columns' places the caller knows: a key's row is found and read without a value of its own for each
//! column.
//!
//! Redis' commands read the same few columns of the same tables for each command. Found and read in the general way, a row
//! costs a thousand instructions; here it costs a few hundred.
//!
//! Invariant: what is found and read is as in the general way. The caller names the schema from which its places are. Of a
//! table that has another one by now, or rows of several shapes, nothing is found here: [`None`], and the general way is taken.

use crate::space::TableSpace;
use crate::table::TableState;
use crate::transaction::Transaction;
use sardonyx_rows::layout::{PageKind, PageLayout, PageUse, word_at};
use sardonyx_rows::schema::{NullBit, Schema};
use sardonyx_rows::values::{CELL_BYTES_MIN, REFERENCE_BYTES, Reference, layout_of};
use sardonyx_storage::page::{Address, PAGE_SIZE};
use std::cell::Cell;
use std::sync::Arc;

/// A row, to read by the places of its columns.
#[derive(Clone, Copy, Debug)]
pub struct FixedRow<'r> {
    pages: &'r [u8],
    fixed: &'r [u8],
    address: Address,
}

impl<'r> FixedRow<'r> {
    #[inline]
    fn new(pages: &'r [u8], schema: &Schema, address: Address) -> Option<Self> {
        let start = address.0 as usize;
        Some(FixedRow {
            pages,
            fixed: pages.get(start..start.checked_add(schema.row_bytes)?)?,
            address,
        })
    }

    /// Its place.
    #[inline]
    pub fn address(&self) -> Address {
        self.address
    }

    /// The 8 bytes at a place.
    #[inline]
    pub fn word(&self, place: usize) -> u64 {
        word_at(self.fixed, place)
    }

    /// True if a null bit is set.
    #[inline]
    pub fn is_null(&self, NullBit { byte, bit }: NullBit) -> bool {
        self.fixed[byte as usize] >> bit & 1 == 1
    }

    /// The text or bytes whose reference is at a place; `None` if they are not in one piece.
    #[inline]
    pub fn bytes(&self, place: usize) -> Option<&'r [u8]> {
        let reference = Reference::at(self.fixed, place);
        let length = reference.len();
        match reference.cell() {
            None => self.fixed[place + 4..].get(..length),
            Some(cell) => in_one_cell(self.pages, cell, length),
        }
    }

    /// True if the text or bytes whose reference is at a place are these; `None` if that is not known here.
    #[inline]
    pub fn is(&self, place: usize, bytes: &[u8]) -> Option<bool> {
        is_value(self.pages, &self.fixed[place..], bytes)
    }
}

/// A value outside of its row, if one cell has all of it.
#[inline]
fn in_one_cell(pages: &[u8], cell: Address, length: usize) -> Option<&[u8]> {
    if length > CELL_BYTES_MIN {
        let word = word_at(pages, PageLayout::table_word(cell.page()).0 as usize);
        // Opening found that the page of a value is one of cells.
        let stride = layout_of(PageUse::class_of_sound(word)?).stride;
        if stride < length {
            return None;
        }
    }
    pages[cell.0 as usize..].get(..length)
}

/// True if a value is these bytes, given the row from its reference on; `None` if it is not in one piece.
#[inline]
fn is_value(pages: &[u8], row: &[u8], bytes: &[u8]) -> Option<bool> {
    let reference = Reference::at(row, 0);
    let length = reference.len();
    if length != bytes.len() {
        return Some(false);
    }
    match reference.cell() {
        None => Some(row[4..REFERENCE_BYTES].get(..length) == Some(bytes)),
        Some(cell) => Some(in_one_cell(pages, cell, length)? == bytes),
    }
}

impl TableState {
    /// True if the places of a schema are those of all rows.
    #[inline]
    fn has_places_of(&self, schema: &Arc<Schema>) -> bool {
        Arc::ptr_eq(&self.schema, schema) && self.has_one_shape()
    }
}

impl TableSpace {
    #[inline]
    fn placed(&self, table: u16, schema: &Arc<Schema>) -> Option<&TableState> {
        let state = self.tables.get(usize::from(table))?.as_ref()?;
        state.has_places_of(schema).then_some(state)
    }

    /// The row whose primary key are these bytes, of this hash, at this place of a row. [`None`] if that is not known here;
    /// then use `row_by_hash`.
    #[doc(hidden)]
    #[inline]
    pub fn fixed_by_hash(
        &self,
        (table, schema): (u16, &Arc<Schema>),
        hash: u64,
        (key, place): (&[u8], usize),
    ) -> Option<Option<FixedRow<'_>>> {
        let state = self.placed(table, schema)?;
        if !state.is_hashed || state.hashed_key.is_none() {
            return None;
        }
        let (pages, is_unknown) = (self.store.bytes(), Cell::new(false));
        let found = state.index.find(&self.indexes, hash, |at| {
            let is_it = is_value(pages, &pages[at.0 as usize + place..], key);
            if is_it.is_none() {
                is_unknown.set(true);
            }
            is_it == Some(true)
        });
        match found {
            _ if is_unknown.get() => None,
            Some(at) => FixedRow::new(pages, schema, at).map(Some),
            None => Some(None),
        }
    }
}

impl Transaction<'_> {
    #[inline]
    pub(crate) fn placed(&self, table: u16, schema: &Arc<Schema>) -> Option<&TableState> {
        self.space.placed(table, schema)
    }

    /// As [`TableSpace::fixed_by_hash`].
    #[doc(hidden)]
    #[inline]
    pub fn fixed_by_hash(
        &self,
        of: (u16, &Arc<Schema>),
        hash: u64,
        key: (&[u8], usize),
    ) -> Option<Option<FixedRow<'_>>> {
        self.space.fixed_by_hash(of, hash, key)
    }

    /// The row at an address, if there is one of the table. [`None`] if that is not known here.
    #[doc(hidden)]
    #[inline]
    pub fn fixed_at(
        &self,
        (table, schema): (u16, &Arc<Schema>),
        at: Address,
    ) -> Option<Option<FixedRow<'_>>> {
        let state = self.placed(table, schema)?;
        let pages = self.space.store.bytes();
        let (page, offset) = (at.page().address().0 as usize, at.offset_in_page());
        let Some(content) = pages.get(page..page + PAGE_SIZE) else {
            return Some(None);
        };
        let PageLayout {
            stride, records, ..
        } = state.layout;
        // Both are less than a page.
        let slot = (offset as u32 / stride as u32) as usize;
        let is_ours = |of: PageUse| {
            of.table == state.number_in_pages(table)
                && of.life == state.life
                && matches!(of.kind, PageKind::Rows { .. })
        };
        let is_there = slot * stride == offset
            && slot < records
            && PageUse::of(content).is_some_and(is_ours)
            && state.layout.is_occupied(content, slot);
        match is_there {
            true => FixedRow::new(pages, schema, at).map(Some),
            false => Some(None),
        }
    }
}
