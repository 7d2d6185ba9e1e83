//! Storing, changing and freeing text and bytes inside a transaction: cells are taken and given back,
//! and bytes written, by the same means as rows, so that they are undone and redone with them.

use super::{OVERHEAD_BYTES, Transaction};
use crate::table::{Slot, page_bytes};
use crate::undo::Step;
use sardonyx_rows::TableError;
use sardonyx_rows::layout::{PageKind, PageLayout, PageUse, word_at};
use sardonyx_rows::schema::VALUE_BYTES_MAX;
use sardonyx_rows::values::{
    CLASS_BYTES_MAX, CLASSES, Cell, CellStore, INLINE_BYTES_MAX, NEXT_BYTES, Overwriting,
    Reference, Replacement, alone, layout_of, put_alone,
};
use sardonyx_storage::log::record::{RECORD_HEAD_BYTES, encoded_bytes};
use sardonyx_storage::page::{Address, PAGE_SIZE, PageId};

/// Redo bytes of a cell beside its content: two runs' heads and padding, its bit, its page's trailer and
/// bitmap.
const CELL_OVERHEAD_BYTES: usize = 8 * RECORD_HEAD_BYTES + encoded_bytes(48);
/// Redo bytes of freeing a cell: its bit.
const FREED_BYTES: usize = encoded_bytes(8);

/// Cells up to this length are changed by a copy of that length.
const SHORT_CELL_BYTES_MAX: usize = 128;

/// The cells of a table in a transaction.
struct TableCells<'t, 's> {
    tx: &'t mut Transaction<'s>,
    table: u16,
}

impl CellStore for TableCells<'_, '_> {
    type Error = TableError;

    /// Opening found that the cells are sound.
    fn class_of(&self, cell: Address) -> Result<u8, TableError> {
        let content = page_bytes(self.tx.space.store.bytes(), cell.page());
        match PageUse::of(content).map(|of| of.kind) {
            Some(PageKind::Values { class }) => Ok(class),
            other => unreachable!("a value stands in a page of values: {other:?}"),
        }
    }

    fn first_word(&self, cell: Address) -> Result<u64, TableError> {
        Ok(word_at(self.tx.space.store.bytes(), cell.0 as usize))
    }

    fn take_cell(&mut self, class: u8) -> Result<Address, TableError> {
        self.tx.take_cell(self.table, class)
    }

    fn free_cell(&mut self, cell: Cell) -> Result<(), TableError> {
        self.tx.free_cell(self.table, cell);
        Ok(())
    }

    fn write_cell(&mut self, cell: Address, content: &[u8]) -> Result<(), TableError> {
        self.tx.write(cell, content);
        Ok(())
    }

    fn change_cell(&mut self, cell: Address, content: &[u8]) -> Result<(), TableError> {
        // Whole words are compared; the bytes behind the value stay.
        let words = content.len().next_multiple_of(8);
        let behind = cell.0 as usize + content.len();
        // To clear a whole page's bytes takes longer than to change a short value.
        let (mut short, mut long);
        let whole: &mut [u8] = match words <= SHORT_CELL_BYTES_MAX {
            true => {
                short = [0; SHORT_CELL_BYTES_MAX];
                &mut short
            }
            false => {
                long = [0; CLASS_BYTES_MAX];
                &mut long
            }
        };
        whole[..content.len()].copy_from_slice(content);
        let there = &self.tx.space.store.bytes()[behind..][..words - content.len()];
        whole[content.len()..words].copy_from_slice(there);
        self.tx.write_differences(cell, &whole[..words]);
        Ok(())
    }
}

impl Transaction<'_> {
    /// Stores a value in the place of another one of the same column, [`Reference::default`] if there was none.
    /// Returns its reference, which the caller puts into the row. Cells that fit are used again, and only their
    /// differing bytes are written. An empty value frees all cells.
    ///
    /// # Errors
    /// [`TableError::TransactionTooLarge`] and the errors of getting more pages; nothing has changed.
    pub(crate) fn replace_value(
        &mut self,
        table: u16,
        before: Reference,
        value: &[u8],
    ) -> Result<Reference, TableError> {
        debug_assert!(value.len() <= VALUE_BYTES_MAX, "checked by the caller");
        if before.cell().is_none()
            && let Some(reference) = Reference::inline(value)
        {
            return Ok(reference);
        }
        let mut cells = TableCells { tx: self, table };
        if let Some(class) = alone(&cells, before, value)? {
            let more = value.len() + CELL_OVERHEAD_BYTES + OVERHEAD_BYTES;
            cells.tx.check_room(more)?;
            let point = cells.tx.undo_point();
            let put = put_alone(&mut cells, class, before, value);
            return put.inspect_err(|_| self.undo_to(point));
        }
        let replacement = Replacement::of(&cells, before, value)?;
        let wanted = match replacement.inline() {
            Some(_) => 0,
            None => value.len(),
        };
        let taken = replacement.kept() + wanted.div_ceil(CLASS_BYTES_MAX - NEXT_BYTES) + 1;
        let more = wanted + taken * CELL_OVERHEAD_BYTES + replacement.freed() * FREED_BYTES;
        cells.tx.check_room(more + OVERHEAD_BYTES)?;
        let point = cells.tx.undo_point();
        let replaced = replacement.carry_out(&mut cells, value);
        if replaced.is_err() {
            self.undo_to(point);
        }
        replaced
    }

    /// Overwrites bytes of a value from a place on, and returns its reference, which the caller puts into the row. If the
    /// value ends before the place, zeroes come between. `None` of a value that is in its reference.
    ///
    /// # Errors
    /// As [`Transaction::replace_value`]; nothing has changed.
    pub(crate) fn overwrite_value(
        &mut self,
        table: u16,
        before: Reference,
        (place, part): (usize, &[u8]),
    ) -> Result<Option<Reference>, TableError> {
        debug_assert!(
            place + part.len() <= VALUE_BYTES_MAX,
            "checked by the caller"
        );
        let cells = TableCells { tx: self, table };
        let Some(overwriting) = Overwriting::of(&cells, before, (place, part.len()))? else {
            return Ok(None);
        };
        let (pages, name) = (self.space.store.bytes(), &self.state(table).name);
        let content = overwriting.content(pages, name, part)?;
        // Half a page may be cut off for the last two cells.
        let written = content.len().div_ceil(CLASS_BYTES_MAX - NEXT_BYTES) + 2;
        let freed = overwriting.freed() * FREED_BYTES;
        self.check_room(content.len() + written * CELL_OVERHEAD_BYTES + freed + OVERHEAD_BYTES)?;
        let point = self.undo_point();
        let mut cells = TableCells { tx: self, table };
        let overwritten = overwriting.carry_out(&mut cells, &content);
        if overwritten.is_err() {
            self.undo_to(point);
        }
        overwritten.map(Some)
    }

    /// Frees the cells of a value of a row that is deleted.
    ///
    /// # Errors
    /// [`TableError::TransactionTooLarge`]; nothing has changed.
    pub(crate) fn free_value(&mut self, table: u16, before: Reference) -> Result<(), TableError> {
        self.replace_value(table, before, &[]).map(drop)
    }

    /// Takes a free cell of a class.
    fn take_cell(&mut self, table: u16, class: u8) -> Result<Address, TableError> {
        let with_room = self.state(table).values.with_room(class);
        let page = match with_room {
            Some(page) => page,
            None => self.value_page(table, class)?,
        };
        let layout = layout_of(class);
        let content = page_bytes(self.space.store.bytes(), page);
        let (slot, has_more) = layout.first_vacant(content).expect("the page has room");
        // Most pages that had room still have some.
        let is_as_before = with_room.is_some() && has_more;
        self.mark_cell(table, page, class, slot, true);
        if !is_as_before {
            self.refresh(table, page, class);
        }
        Ok(layout.record(page, slot))
    }

    fn free_cell(&mut self, table: u16, cell: Cell) {
        let slot = layout_of(cell.class).slot(cell.address);
        let page = cell.address.page();
        self.mark_cell(table, page, cell.class, slot, false);
        self.refresh(table, page, cell.class);
    }

    fn mark_cell(&mut self, table: u16, page: PageId, class: u8, slot: usize, occupied: bool) {
        self.space.undo.push(Step::Values { table, page, class });
        self.set_occupied_in(layout_of(class), page, slot, occupied);
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

    /// Sets the use of a page without content, with an empty bitmap. Its old bytes may be another table's.
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

const _: () = assert!(INLINE_BYTES_MAX > 4, "a long value has a prefix");
