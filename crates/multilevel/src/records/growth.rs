//! Declaring tables and taking their pages into use, by the log's owner, in units of their own.
//!
//! The serial way wants the pages of a table to be used from the first on: each begins to be by the word
//! that names its table. If operations wrote those words, one that ends late could leave a gap. So the
//! words are written here, in order, before any operation can name the page; and like all growth they
//! stay, even if the operation that asked for it is undone.

use super::RowsOf;
use super::memory::TableMemory;
use crate::error::DatabaseError;
use crate::undo::area::WriteBytes;
use crate::unit_log::UnitLog;
use crate::unit_log::reserve::Growth;
use sardonyx_rows::TableError;
use sardonyx_rows::layout::{PageLayout, PageUse, word_at};
use sardonyx_rows::schema::Schema;
use sardonyx_storage::catalogue::{Definition, EXTENT_PAGES_MAX, Extent, Write};
use sardonyx_storage::page::{PAGE_SIZE, PageId};
use sardonyx_table::{definition_of_schemas, schema_pieces};
use std::sync::Arc;

impl UnitLog<'_> {
    /// Declares a table; with a schema, if its columns are to be known.
    pub fn declare_table(
        &mut self,
        definition: Definition,
        schema: Option<Schema>,
    ) -> Result<u16, DatabaseError> {
        let rows = RowsOf::new(&definition, schema.as_ref())?;
        let Some(schema) = schema else {
            let mut catalogue = self.catalogue.clone();
            let (number, writes) = catalogue.declare(definition)?;
            self.admit_declaration(&writes)?;
            self.change_catalogue(catalogue, &writes)?;
            self.know_table(number, rows);
            return Ok(number);
        };
        let pieces = schema_pieces(&definition.name, &schema)?;
        let places = self.places_for_pieces(pieces.len())?;
        // From here on one unit: the table exists with its schema, or not at all.
        let mut catalogue = self.catalogue.clone();
        let mut writes = match schema.beyond_records() {
            // Programs of version 0.1 know no more than records.
            Some(_) => catalogue.require_newer(),
            None => Vec::new(),
        };
        let (number, declared) = catalogue.declare(definition)?;
        writes.extend(declared);
        for ((page, slot), piece) in places.into_iter().zip(pieces) {
            let layout = PageLayout::of(piece.bytes().len());
            let address = layout.record(page, slot);
            let bytes = piece.of_table(number);
            writes.push(Write { address, bytes });
            let (address, bit) = layout.occupancy(page, slot);
            // SAFETY: right of the pen: no operation can name the engine's own tables.
            let bytes = unsafe { self.frames.page(page) };
            let noted = writes.iter().rev().find(|write| write.address == address);
            let word = match noted {
                Some(write) => word_at(&write.bytes, 0),
                None => word_at(bytes, address.offset_in_page()),
            };
            let bytes = (word | bit).to_le_bytes().to_vec();
            writes.push(Write { address, bytes });
        }
        self.admit_declaration(&writes)?;
        self.change_catalogue(catalogue, &writes)?;
        self.know_table(number, rows);
        self.schemas.insert(number, schema);
        Ok(number)
    }

    fn know_table(&mut self, number: u16, rows: RowsOf) {
        let table = TableMemory::new(number, rows);
        self.tables.insert(number, Arc::new(table));
    }

    /// So many free places of the table of schemas, which is declared, and grows, if need be.
    fn places_for_pieces(&mut self, pieces: usize) -> Result<Vec<(PageId, usize)>, DatabaseError> {
        let definition = definition_of_schemas();
        let number = match self.catalogue.number_of(&definition)? {
            Some(number) => number,
            None => self.declare_table(definition, None)?,
        };
        let table = self.tables.get(&number).cloned();
        let table = table.ok_or(TableError::UnknownHandle { number })?;
        let layout = table.layout();
        loop {
            let used = table.pages_used() as usize;
            let pages = self.catalogue.extents_of(number).flat_map(pages_in);
            let free = pages.take(used).flat_map(|page| {
                // SAFETY: right of the pen: no operation can name the engine's own tables.
                let bytes = unsafe { self.frames.page(page) };
                layout.vacant(bytes).map(move |slot| (page, slot))
            });
            let places: Vec<_> = free.take(pieces).collect();
            if places.len() == pieces {
                return Ok(places);
            }
            self.grow_table(&table, used as u64 + 1, Growth::OfWork)?;
        }
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
            let usual = there.clamp(self.catalogue.extent_pages_min(), EXTENT_PAGES_MAX);
            let room = usual_max.saturating_sub(self.catalogue.pages);
            let mut catalogue = self.catalogue.clone();
            let more = usual.min(room).max(pages - there);
            let (_, writes) = catalogue.extend_table(number, more)?;
            if catalogue.pages > self.reserve.pages_max(pages_max, growth) {
                return Err(self.reserve.full(catalogue.pages, pages_max));
            }
            self.frames.grow_to(catalogue.pages)?;
            if catalogue.pages > usual_max {
                let more = catalogue.pages - self.catalogue.pages;
                self.reserve.grown(growth, more);
            }
            self.catalogue = catalogue;
            self.store(&writes);
        }
        let all = self.catalogue.extents_of(number).flat_map(pages_in);
        let new: Vec<PageId> = all.take(pages as usize).skip(used as usize).collect();
        let with_sum = self.catalogue.version() > 1;
        let word = PageUse::rows(number, self.catalogue.life(number)).word(with_sum);
        // The bitmap, which is empty, distinguishes another table's content from records.
        let reused = self
            .catalogue
            .extents_of(number)
            .any(|extent| extent.reused);
        let at = match reused {
            true => table.layout().bitmap_offset,
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
