//! Tables and journals declared inside transactions, and the extents that tables get: changes of the catalogue, logged
//! and undone as those of records are.

use super::Transaction;
use crate::table::TableState;
use crate::undo::{Replaced, Was};
use sardonyx_base::error::Error;
use sardonyx_rows::TableError;
use sardonyx_rows::check_name;
use sardonyx_rows::columns::schema_of;
use sardonyx_rows::record::{Record, Table, definition_of_plain};
use sardonyx_rows::{Journal, JournalRow, definition_of_journal};
use sardonyx_storage::catalogue::{Catalogue, Definition, Extent, Write as CatalogueWrite};

impl Transaction<'_> {
    /// The table of this record type, created if it does not exist yet. If no schema of it is stored, as in an older
    /// database, and the type declares its fields, these are stored as its columns.
    ///
    /// # Errors
    /// [`Error::Refused`] if it has other columns, or another layout, or [`Error::Limit`].
    pub fn declare_table<R: Record>(&mut self) -> Result<Table<R>, Error> {
        const {
            assert!(
                R::PLAIN.is_none() || align_of::<R>() <= 8,
                "records are aligned to 8 bytes at most"
            )
        };
        let table = match (self.space.table::<R>()?, R::PLAIN) {
            (Some(table), _) => table,
            (None, Some(plain)) => Table::new(self.declare(definition_of_plain(R::TABLE, &plain))?),
            (None, None) => Table::new(self.create_table(R::TABLE, R::declared())?),
        };
        if !self.space.has_stored_schema(table.number())
            && let Some(schema) = schema_of::<R>()
        {
            self.store_schema(table.number(), schema)?;
        }
        Ok(table)
    }

    /// The journal of this row type, declared if it is not yet.
    ///
    /// # Errors
    /// [`Error::Refused`] if it is declared with another layout, or [`Error::Limit`].
    pub fn declare_journal<J: JournalRow>(&mut self) -> Result<Journal<J>, Error> {
        check_name(J::NAME)?;
        Ok(Journal::new(self.declare(definition_of_journal::<J>())?))
    }

    pub(crate) fn declare(&mut self, definition: Definition) -> Result<u16, TableError> {
        if let Some(number) = self.space.catalogue.number_of(&definition)? {
            return Ok(number);
        }
        definition.check()?;
        if let Some(number) = self.adopt(&definition)? {
            return Ok(number);
        }
        let state = TableState::new(&definition, self.space.hash)?;
        let mut catalogue = self.space.catalogue.clone();
        let (number, writes) = catalogue.declare(definition)?;
        self.check_room_for(&writes)?;
        self.space.store.grow_to(catalogue.pages)?;
        let life = catalogue.life(number);
        let state = state.map(|state| state.in_life(life));
        let before = std::mem::replace(&mut self.space.catalogue, catalogue);
        if usize::from(number) < self.space.tables.len() {
            // In the place of something dropped.
            self.replace_state(number, state, before);
        } else {
            self.space.tables.push(state);
            self.space.undo.push_replaced(Replaced {
                catalogue: before,
                table: number,
                was: Was::Absent,
            });
        }
        self.write_catalogue(&writes);
        Ok(number)
    }

    /// Gives a table its next extent.
    #[cold]
    pub(crate) fn extend(&mut self, table: u16) -> Result<(), TableError> {
        let pages_min = self.space.catalogue.extent_pages_min();
        let usual = self.state(table).next_extent_pages(pages_min);
        if self.extend_by_free(table, usual, false)? {
            return Ok(());
        }
        // If fewer than usual are left, those are enough.
        let pages_max = self.space.store.pages_max();
        let there_is = pages_max.saturating_sub(self.space.catalogue.pages);
        let pages = usual.min(there_is.max(1));
        if let Err(error) = self.make_pages(pages) {
            // Too few, but better than none.
            return match self.extend_by_free(table, usual, true)? {
                true => Ok(()),
                false => Err(error),
            };
        }
        let is_beside = self.state(table).beside.is_some();
        let mut catalogue = self.space.catalogue.clone();
        let (extent, writes) = match is_beside {
            true => catalogue.extend_beside(table, pages)?,
            false => catalogue.extend_table(table, pages)?,
        };
        self.check_room_for(&writes)?;
        self.take_extent(table, extent, catalogue, &writes)
    }

    /// A table takes an extent of another catalogue, whose writes there is room for.
    pub(super) fn take_extent(
        &mut self,
        table: u16,
        extent: Extent,
        catalogue: Catalogue,
        writes: &[CatalogueWrite],
    ) -> Result<(), TableError> {
        self.space.store.grow_to(catalogue.pages)?;
        let catalogue = std::mem::replace(&mut self.space.catalogue, catalogue);
        self.parts(table).1.extents.push(extent);
        self.space.undo.push_replaced(Replaced {
            catalogue,
            table,
            was: Was::Smaller,
        });
        self.write_catalogue(writes);
        Ok(())
    }

    /// Gets the memory for an extent behind all pages.
    fn make_pages(&mut self, pages: u64) -> Result<(), TableError> {
        let extent = self.space.catalogue.place_of_extent(pages)?;
        Ok(self.space.store.grow_to(extent.end())?)
    }

    pub(super) fn write_catalogue(&mut self, writes: &[CatalogueWrite]) {
        for CatalogueWrite { address, bytes } in writes {
            self.write(*address, bytes);
        }
    }
}
