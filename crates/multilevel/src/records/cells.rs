//! Cells of long texts and bytes in the pages of a table, for an operation: each page is locked when it is looked at.

use super::RecordError;
use super::memory::TableMemory;
use super::rows::{overwrite_bytes, set_occupied};
use crate::pages::Pages;
use sardonyx_rows::TableError;
use sardonyx_rows::layout::{PageKind, PageUse, word_at};
use sardonyx_rows::values::{CLASSES, Cell, CellStore, layout_of};
use sardonyx_storage::page::{Address, PAGE_SIZE};

pub(super) struct TableCells<'p> {
    pub pages: &'p mut dyn Pages,
    pub table: &'p TableMemory,
}

impl CellStore for TableCells<'_> {
    type Error = RecordError;

    fn class_of(&self, cell: Address) -> Result<u8, RecordError> {
        let page = self.pages.read_to_write(cell.page())?;
        match PageUse::of(page).map(|of| of.kind) {
            Some(PageKind::Values { class }) if usize::from(class) < CLASSES => Ok(class),
            _ => Err(TableError::DamagedTable {
                table: self.table.name().to_string(),
                page: cell.page().0,
                offset: cell.offset_in_page(),
                reason: "the value is not in a page of values",
            }
            .into()),
        }
    }

    fn first_word(&self, cell: Address) -> Result<u64, RecordError> {
        let page = self.pages.read_to_write(cell.page())?;
        Ok(word_at(page, cell.offset_in_page()))
    }

    fn take_cell(&mut self, class: u8) -> Result<Address, RecordError> {
        let kind = PageKind::Values { class };
        let (page, slot) = self.table.allocate(self.pages, kind)?;
        let layout = layout_of(class);
        set_occupied(self.pages, &layout, (page, slot), true)?;
        Ok(layout.record(page, slot))
    }

    fn free_cell(&mut self, Cell { address, class }: Cell) -> Result<(), RecordError> {
        let (page, layout) = (address.page(), layout_of(class));
        set_occupied(self.pages, &layout, (page, layout.slot(address)), false)?;
        self.table.has_room(page, self.pages.read_to_write(page)?);
        Ok(())
    }

    fn write_cell(&mut self, cell: Address, content: &[u8]) -> Result<(), RecordError> {
        Ok(self
            .pages
            .write_bytes(cell.page(), cell.offset_in_page(), content)?)
    }

    fn change_cell(&mut self, cell: Address, content: &[u8]) -> Result<(), RecordError> {
        // Whole words are compared; the bytes behind the value stay.
        let (at, words) = (cell.offset_in_page(), content.len().next_multiple_of(8));
        let mut whole = [0; PAGE_SIZE];
        let page = self.pages.read_to_write(cell.page())?;
        whole[..words].copy_from_slice(&page[at..][..words]);
        whole[..content.len()].copy_from_slice(content);
        overwrite_bytes(self.pages, cell.page(), at, &whole[..words])
    }
}
