//! The rows that a group of the log touches, and the indexes that this concerns: found in its records and in the pages
//! before the group.
//!
//! A row counts as touched by an index if bytes of its key are written, or if it is inserted or deleted. Its bit in
//! the page's bitmap may flip and flip back within one group. So flips are counted against the bitmap as the group's
//! own earlier records left it. A page whose last word is written may have another use afterwards: all of its rows are
//! touched.
//!
//! Long values are stored outside of their row. The writer logs the reference of an indexed one with every change of
//! it, even an unchanged reference (`crate::transaction`). So a change of a key is always a write to its row.

use super::described::Owners;
use crate::space::TableSpace;
use crate::table::{TableState, page_bytes};
use sardonyx_base::hash::{IntegerMap, IntegerSet};
use sardonyx_rows::layout::{PageKind, PageLayout, word_at};
use sardonyx_storage::log::record::{Body, RecordError, Records};
use sardonyx_storage::page::{Address, PAGE_SIZE, PageId};

/// The index by the hash of the primary key, beside the bits of the ordered indexes.
pub(super) const HASH: u64 = 1 << 32;
/// All indexes.
pub(super) const ALL: u64 = HASH | u32::MAX as u64;

/// Maps with room for more entries are made anew: to clear one, and to walk it, takes as long as its room is large.
const KEPT_MAX: usize = 64 << 10;

/// Bytes of the word at a page's end.
const WORD_BYTES: usize = 8;

/// The rows and pages that a group touches.
#[derive(Debug, Default)]
pub(super) struct Touched {
    /// By the row's address: its table, and the indexes concerned.
    pub rows: IntegerMap<u64, (u16, u64)>,
    /// Pages that may be for something else afterwards. None of their rows is among `rows`.
    pub pages: Vec<PageId>,
    /// True if the catalogue or schemas change.
    pub describes: bool,
    /// Words of bitmaps as the group has made them so far, by their address.
    bitmaps: IntegerMap<u64, u64>,
    changed_use: IntegerSet<u64>,
}

impl Touched {
    /// Looks at a group, of which nothing was applied yet.
    pub fn look(
        &mut self,
        payload: &[u8],
        space: &TableSpace,
        owners: &Owners,
    ) -> Result<(), RecordError> {
        if [
            self.rows.capacity(),
            self.bitmaps.capacity(),
            self.changed_use.capacity(),
        ]
        .into_iter()
        .any(|entries| entries > KEPT_MAX)
        {
            *self = Touched::default();
        }
        self.rows.clear();
        self.pages.clear();
        self.bitmaps.clear();
        self.changed_use.clear();
        self.describes = false;
        for record in Records::new(payload) {
            if let Body::Write { address, bytes } = record?.body {
                self.write(space, owners, address, bytes);
            }
        }
        if !self.changed_use.is_empty() {
            let changed = &self.changed_use;
            self.rows
                .retain(|at, _| !changed.contains(&Address(*at).page().0));
            self.pages
                .extend(self.changed_use.iter().copied().map(PageId));
            self.pages.sort_unstable_by_key(|page| page.0);
        }
        Ok(())
    }

    fn write(&mut self, space: &TableSpace, owners: &Owners, address: Address, bytes: &[u8]) {
        let page = address.page();
        if owners.is_catalogue(page) {
            self.describes = true;
            return;
        }
        let offset = address.offset_in_page();
        if offset + bytes.len() > PAGE_SIZE - WORD_BYTES {
            self.changed_use.insert(page.0);
        }
        let Some(table) = owners.of_page(page) else {
            return;
        };
        self.describes |= owners.has_descriptions(table);
        let Some(state) = &space.tables[usize::from(table)] else {
            return;
        };
        if self.changed_use.contains(&page.0) {
            return;
        }
        if let Some(layout) = layout_before(state, table, space.store.bytes(), page) {
            let place = Written {
                table,
                page,
                layout,
                offset,
                bytes,
            };
            self.fields(state, &place);
            self.bitmap(space.store.bytes(), &place);
        }
    }

    /// Notes the indexes in whose keys bytes of rows are.
    fn fields(&mut self, state: &TableState, written: &Written<'_>) {
        let layout = written.layout;
        let end = (written.offset + written.bytes.len()).min(layout.records * layout.stride);
        let mut at = written.offset;
        while at < end {
            let slot = at / layout.stride;
            let (start, behind) = (slot * layout.stride, (slot + 1) * layout.stride);
            let to = end.min(behind);
            let bits = concerned(state, at - start, to - at);
            if bits != 0 {
                self.note(written.table, layout.record(written.page, slot), bits);
            }
            at = to;
        }
    }

    /// Notes the rows whose bits are flipped.
    fn bitmap(&mut self, pages: &[u8], written: &Written<'_>) {
        let layout = written.layout;
        let end = written.offset + written.bytes.len();
        let mut word = written.offset.max(layout.bitmap_offset) / WORD_BYTES * WORD_BYTES;
        while word < end.min(PAGE_SIZE - WORD_BYTES) {
            let at = written.page.address().0 + word as u64;
            let before = *(self.bitmaps.entry(at)).or_insert_with(|| word_at(pages, at as usize));
            let mut image = before.to_le_bytes();
            for (number, byte) in image.iter_mut().enumerate() {
                let place = (word + number).checked_sub(written.offset);
                if let Some(new) = place.and_then(|place| written.bytes.get(place)) {
                    *byte = *new;
                }
            }
            let after = u64::from_le_bytes(image);
            self.bitmaps.insert(at, after);
            let first = (word - layout.bitmap_offset) * 8;
            let mut flipped = before ^ after;
            while flipped != 0 {
                let slot = first + flipped.trailing_zeros() as usize;
                flipped &= flipped - 1;
                if slot < layout.records {
                    self.note(written.table, layout.record(written.page, slot), ALL);
                }
            }
            word += WORD_BYTES;
        }
    }

    fn note(&mut self, table: u16, row: Address, bits: u64) {
        let (_, noted) = self.rows.entry(row.0).or_insert((table, 0));
        *noted |= bits;
    }
}

/// A write to a page of rows.
struct Written<'a> {
    table: u16,
    page: PageId,
    layout: PageLayout,
    /// The offset in the page.
    offset: usize,
    bytes: &'a [u8],
}

/// The layout of a page's rows before the group; `None` if it has none of this table.
fn layout_before(state: &TableState, table: u16, pages: &[u8], page: PageId) -> Option<PageLayout> {
    match super::own_use(state, table, pages, page)? {
        PageKind::Rows { .. } => Some(state.layout_of(page_bytes(pages, page))),
        PageKind::Values { .. } => None,
    }
}

/// The indexes in whose keys bytes of a row's fixed part are.
fn concerned(state: &TableState, offset: usize, length: usize) -> u64 {
    let key = state.key_offset..state.key_offset + state.key_bytes;
    let is_key = match &state.hashed_key {
        Some(shape) => shape.touches(offset, length),
        None => state.is_hashed && offset < key.end && key.start < offset + length,
    };
    let secondary = state.secondary.iter().enumerate();
    secondary.fold(if is_key { HASH } else { 0 }, |bits, (number, index)| {
        bits | u64::from(index.what.shape.touches(offset, length)) << number
    })
}
