//! Declaring tables and taking their pages into use, by the log's owner, in units of their own.
//!
//! The serial way wants the pages of a table to be used from the first on: each begins to be by the word
//! that names its table. If operations wrote those words, one that ends late could leave a gap. So the
//! words are written here, in order, before any operation can name the page; and like all growth they
//! stay, whatever becomes of the operation that asked for it.

use super::memory::TableMemory;
use crate::error::DatabaseError;
use crate::undo::area::WriteBytes;
use crate::unit_log::UnitLog;
use crate::unit_log::reserve::Growth;
use sardonyx_rows::layout::{PageLayout, PageUse};
use sardonyx_storage::catalogue::{Definition, EXTENT_PAGES_MAX, EXTENT_PAGES_MIN, Extent, Kind};
use sardonyx_storage::page::{PAGE_SIZE, PageId};
use std::sync::Arc;

impl UnitLog<'_> {
    /// Declares a table.
    pub fn declare_table(&mut self, definition: Definition) -> Result<u16, DatabaseError> {
        let Kind::Table {
            key_offset,
            key_bytes,
        } = definition.kind
        else {
            unreachable!("a record type declares a table");
        };
        let layout = PageLayout::new(&definition.name, definition.record_bytes)?;
        let mut catalogue = self.catalogue.clone();
        let (number, writes) = catalogue.declare(definition)?;
        self.admit_declaration(&writes)?;
        self.change_catalogue(catalogue, &writes)?;
        let key = key_offset..key_offset + key_bytes;
        let table = TableMemory::new(number, layout, key);
        self.tables.insert(number, Arc::new(table));
        Ok(number)
    }

    /// Makes a table use so many pages.
    pub fn grow_table(
        &mut self,
        table: &TableMemory,
        pages: u64,
        growth: Growth,
    ) -> Result<(), DatabaseError> {
        let (number, used) = (table.area.0, table.pages_used());
        if used >= pages {
            return Ok(());
        }
        self.admit_growth(growth)?;
        let there: u64 = self.catalogue.extents_of(number).map(|e| e.pages).sum();
        if there < pages {
            let pages_max = self.frames.pages_max();
            let usual_max = self.reserve.pages_max(pages_max, Growth::OfWork);
            let usual = there.clamp(EXTENT_PAGES_MIN, EXTENT_PAGES_MAX);
            let room = usual_max.saturating_sub(self.catalogue.pages);
            let mut catalogue = self.catalogue.clone();
            let more = usual.min(room).max(pages - there);
            let (_, writes) = catalogue.extend_table(number, more)?;
            if catalogue.pages > self.reserve.pages_max(pages_max, growth) {
                return Err(self.reserve.full(catalogue.pages, pages_max));
            }
            self.frames.grow_to(catalogue.pages)?;
            self.catalogue = catalogue;
            self.store(&writes);
        }
        let all = self.catalogue.extents_of(number).flat_map(pages_in);
        let new: Vec<PageId> = all.take(pages as usize).skip(used as usize).collect();
        let with_sum = self.catalogue.version() > 1;
        let word = PageUse::rows(number, self.catalogue.life(number)).word(with_sum);
        // What another table had there is told from records by the bitmap, which is empty.
        let reused = self
            .catalogue
            .extents_of(number)
            .any(|extent| extent.reused);
        let at = match reused {
            true => table.layout.bitmap_offset,
            false => PageLayout::table_word(PageId(0)).offset_in_page(),
        };
        let mut trailer = vec![0; PAGE_SIZE - at];
        let word_at = trailer.len() - size_of::<u64>();
        trailer[word_at..].copy_from_slice(&word.to_le_bytes());
        let mut writer = self.writer();
        for page in new {
            writer.write(page, at, &trailer);
        }
        drop(writer);
        self.end_unit(0, false);
        table.set_pages_used(pages);
        Ok(())
    }
}

fn pages_in(extent: Extent) -> impl Iterator<Item = PageId> {
    (extent.first_page.0..extent.end()).map(PageId)
}
