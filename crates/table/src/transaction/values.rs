//! Storing, changing and freeing text and bytes inside a transaction: cells are taken and given back,
//! and bytes written, by the same means as rows, so that they are undone and redone with them.

use super::{OVERHEAD_BYTES, Transaction};
use crate::table::{Slot, page_bytes};
use crate::undo::Step;
use sardonyx_rows::TableError;
use sardonyx_rows::layout::{PageKind, PageLayout, PageUse, word_at};
use sardonyx_rows::schema::VALUE_BYTES_MAX;
use sardonyx_rows::values::{
    CLASS_BYTES_MAX, CLASSES, INLINE_BYTES_MAX, NEXT_BYTES, Reference, layout_of, next_cell,
};
use sardonyx_storage::log::record::{RECORD_HEAD_BYTES, encoded_bytes};
use sardonyx_storage::page::{Address, PAGE_SIZE, PageId};

/// Redo bytes of a cell beside its content: two runs' heads and padding, its bit, its page's trailer and
/// bitmap.
const CELL_OVERHEAD_BYTES: usize = 8 * RECORD_HEAD_BYTES + encoded_bytes(48);
/// Redo bytes of freeing a cell: its bit.
const FREED_BYTES: usize = encoded_bytes(8);

/// A cell of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Cell {
    address: Address,
    class: u8,
}

impl Transaction<'_> {
    /// Stores a value in the place of another one of the same column, [`Reference::default`] if there was
    /// none, and returns its reference, which the caller puts into the row. Cells that fit are used again,
    /// and of them only what differs is written. An empty value gives all cells back.
    ///
    /// # Errors
    /// [`TableError::TransactionTooLarge`] and those of getting more pages; nothing has changed.
    pub(crate) fn replace_value(
        &mut self,
        table: u16,
        before: Reference,
        value: &[u8],
    ) -> Result<Reference, TableError> {
        debug_assert!(value.len() <= VALUE_BYTES_MAX, "checked by the caller");
        let inline = Reference::inline(value);
        if let (None, Some(reference)) = (before.cell(), inline) {
            return Ok(reference);
        }
        let mut cells = self.cells_of(before);
        let wanted = if inline.is_some() { 0 } else { value.len() };
        let kept = kept(&cells, wanted);
        let freed = cells.len() - kept;
        let more = wanted
            + (kept + wanted.div_ceil(CLASS_BYTES_MAX - NEXT_BYTES) + 1) * CELL_OVERHEAD_BYTES
            + freed * FREED_BYTES;
        self.check_room(more + OVERHEAD_BYTES)?;
        let savepoint = self.savepoint();
        for cell in cells.drain(kept..) {
            self.free_cell(table, cell);
        }
        if let Some(reference) = inline {
            return Ok(reference);
        }
        if let Err(error) = self.take_cells(table, &mut cells, value.len()) {
            self.roll_back_to(savepoint);
            return Err(error);
        }
        self.fill_cells(&cells, kept, value);
        let first = cells.first().expect("a long value has cells");
        Ok(Reference::outside(value, first.address))
    }

    /// Gives back what a value of a row that goes away has.
    ///
    /// # Errors
    /// [`TableError::TransactionTooLarge`]; nothing has changed.
    pub(crate) fn free_value(&mut self, table: u16, before: Reference) -> Result<(), TableError> {
        self.replace_value(table, before, &[]).map(drop)
    }

    /// The cells of a value. Opening found that they are sound.
    fn cells_of(&self, reference: Reference) -> Vec<Cell> {
        let bytes = self.space.store.bytes();
        let mut cells = Vec::new();
        let Some(mut address) = reference.cell() else {
            return cells;
        };
        let mut left = reference.len();
        loop {
            let class = match PageUse::of(page_bytes(bytes, address.page())).map(|of| of.kind) {
                Some(PageKind::Values { class }) => class,
                other => unreachable!("a value stands in a page of values: {other:?}"),
            };
            cells.push(Cell { address, class });
            let stride = layout_of(class).stride;
            if left <= stride {
                return cells;
            }
            left -= stride - NEXT_BYTES;
            address = Address(word_at(bytes, address.0 as usize));
        }
    }

    /// Takes the cells that a value of this length needs behind those that it has.
    fn take_cells(
        &mut self,
        table: u16,
        cells: &mut Vec<Cell>,
        length: usize,
    ) -> Result<(), TableError> {
        let mut left = length;
        let mut at = 0;
        while left > 0 {
            let (class, bytes) = next_cell(left);
            if at == cells.len() {
                let address = self.take_cell(table, class)?;
                cells.push(Cell { address, class });
            }
            debug_assert_eq!(cells[at].class, class);
            left -= bytes;
            at += 1;
        }
        Ok(())
    }

    /// Writes a value into its cells, of which the first `kept` have content that may be the same.
    fn fill_cells(&mut self, cells: &[Cell], kept: usize, value: &[u8]) {
        if let ([cell], 0) = (cells, kept) {
            return self.write(cell.address, value);
        }
        let mut content = [0; CLASS_BYTES_MAX];
        let mut left = value;
        for (number, cell) in cells.iter().enumerate() {
            let mut length = 0;
            if let Some(next) = cells.get(number + 1) {
                content[..NEXT_BYTES].copy_from_slice(&next.address.0.to_le_bytes());
                length = NEXT_BYTES;
            }
            let (_, bytes) = next_cell(left.len());
            let (part, rest) = left.split_at(bytes);
            content[length..length + bytes].copy_from_slice(part);
            length += bytes;
            left = rest;
            if number >= kept {
                self.write(cell.address, &content[..length]);
                continue;
            }
            // Whole words are compared; what stands behind the value stays.
            let words = length.next_multiple_of(8);
            let behind = cell.address.0 as usize + length;
            let there = &self.space.store.bytes()[behind..][..words - length];
            content[length..words].copy_from_slice(there);
            self.write_differences(cell.address, &content[..words]);
        }
        debug_assert!(left.is_empty());
    }

    /// Takes a free cell of a class.
    fn take_cell(&mut self, table: u16, class: u8) -> Result<Address, TableError> {
        let page = match self.state(table).values.with_room(class) {
            Some(page) => page,
            None => self.value_page(table, class)?,
        };
        let layout = layout_of(class);
        let content = page_bytes(self.space.store.bytes(), page);
        let slot = layout.vacant(content).next().expect("the page has room");
        self.set_cell(table, page, class, slot, true);
        Ok(layout.record(page, slot))
    }

    fn free_cell(&mut self, table: u16, cell: Cell) {
        let slot = layout_of(cell.class).slot(cell.address);
        self.set_cell(table, cell.address.page(), cell.class, slot, false);
    }

    fn set_cell(&mut self, table: u16, page: PageId, class: u8, slot: usize, occupied: bool) {
        self.space.undo.push(Step::Values { table, page, class });
        self.set_occupied_in(layout_of(class), page, slot, occupied);
        self.refresh(table, page, class);
    }

    fn refresh(&mut self, table: u16, page: PageId, class: u8) {
        let (bytes, state) = self.parts(table);
        let named = state.number_in_pages(table);
        state.values.refresh(bytes, named, page, class);
    }

    /// A page without occupied cells, made one of a class: one that was of another, or a fresh one.
    fn value_page(&mut self, table: u16, class: u8) -> Result<PageId, TableError> {
        let empty = self.state(table).values.empty_page();
        let (page, class_before) = match empty {
            Some(page) => {
                let content = page_bytes(self.space.store.bytes(), page);
                let before = match PageUse::of(content).map(|of| of.kind) {
                    Some(PageKind::Values { class }) => class,
                    other => unreachable!("an empty page of values: {other:?}"),
                };
                (page, before)
            }
            None => (self.fresh_page(table)?, class),
        };
        debug_assert!(usize::from(class) < CLASSES);
        self.space.undo.push(Step::Values { table, page, class });
        let kind = PageKind::Values { class };
        let state = self.state(table);
        let page_use = PageUse {
            table: state.number_in_pages(table),
            life: state.life,
            kind,
        };
        self.set_page_use(page, layout_of(class), page_use);
        self.refresh(table, page, class_before);
        Ok(page)
    }

    /// Says what a page without anything in it is for, with an empty bitmap. What stood there may be
    /// another table's.
    pub(super) fn set_page_use(&mut self, page: PageId, layout: PageLayout, page_use: PageUse) {
        let at = layout.bitmap_offset;
        let mut trailer = [0; PAGE_SIZE / 32];
        let trailer = &mut trailer[..PAGE_SIZE - at];
        let word = trailer.len() - 8;
        let with_sum = self.space.catalogue.version() > 1;
        trailer[word..].copy_from_slice(&page_use.word(with_sum).to_le_bytes());
        let address = Address(page.address().0 + at as u64);
        self.write_differences(address, trailer);
    }

    /// Takes the first page that was never used. The free places of the page before it go to the free
    /// list.
    fn fresh_page(&mut self, table: u16) -> Result<PageId, TableError> {
        let state = self.parts(table).1;
        let fresh_before = state.fresh;
        if fresh_before.slot > 0 {
            let extent = state.extents[fresh_before.extent];
            let page = PageId(extent.first_page.0 + fresh_before.page);
            let layout = state.layout;
            let rest = (fresh_before.slot..layout.records).rev();
            let places = rest.len() as u32;
            state
                .free
                .extend(rest.map(|slot| layout.record(page, slot)));
            state.next_fresh_page();
            self.space.undo.push(Step::PageTaken {
                table,
                places,
                fresh_before,
            });
        }
        if self.state(table).fresh.extent == self.state(table).extents.len() {
            self.extend(table)?;
        }
        let state = self.parts(table).1;
        let fresh_before = state.fresh;
        let Slot { extent, page, .. } = fresh_before;
        let page = PageId(state.extents[extent].first_page.0 + page);
        state.next_fresh_page();
        self.space.store.back(page);
        self.space.undo.push(Step::PageTaken {
            table,
            places: 0,
            fresh_before,
        });
        Ok(page)
    }
}

/// How many of a value's cells are of use for one of this length: the first ones.
fn kept(cells: &[Cell], length: usize) -> usize {
    let mut left = length;
    let is_kept = |cell: &&Cell| {
        if left == 0 {
            return false;
        }
        let (class, bytes) = next_cell(left);
        left -= bytes;
        cell.class == class
    };
    cells.iter().take_while(is_kept).count()
}

const _: () = assert!(INLINE_BYTES_MAX > 4, "a long value has a prefix");
