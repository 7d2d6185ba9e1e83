//! Tables dropped, renamed and emptied at once, inside transactions: only the catalogue changes, not the pages. The
//! former state of a table in memory is kept until the end: an abort restores it.

use super::{OVERHEAD_BYTES, Transaction};
use crate::changes::{ChangeKind, Feed};
use crate::space::TableSpace;
use crate::table::{TableState, fingerprint_of_table};
use crate::undo::{Replaced, Was};
use sardonyx_base::error::Error;
use sardonyx_rows::declare::check_not_referenced;
use sardonyx_rows::{TableError, check_name};
use sardonyx_storage::catalogue::{Catalogue, Write as CatalogueWrite};
use sardonyx_storage::log::record::encoded_bytes;

impl Transaction<'_> {
    /// Drops a table with all its records, and a next content that was begun for it. Its pages are used again for other
    /// tables.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table, the name is one of the engine's own, or another table refers to
    /// it; [`Error::Limit`] if the transaction is too large. Nothing is changed then.
    #[inline]
    pub fn drop_table(&mut self, name: &str) -> Result<(), Error> {
        let number = self.table_to_change(name)?;
        check_not_referenced(self, number)?;
        self.whole(|tx| {
            if tx.state(number).feed.is_some() {
                tx.keep(number, ChangeKind::Dropped, None, None)?;
                tx.forget_kept(number)?;
            }
            tx.forget_schema(number)?;
            if let Some(next) = tx.next_content(number) {
                tx.drop_numbered(next)?;
            }
            Ok(tx.drop_numbered(number)?)
        })
    }

    /// Drops a table in the catalogue and in memory.
    #[inline]
    pub(crate) fn drop_numbered(&mut self, number: u16) -> Result<(), TableError> {
        let mut catalogue = self.space.catalogue.clone();
        let writes = catalogue.drop_table(number)?;
        self.check_room_for(&writes)?;
        let before = std::mem::replace(&mut self.space.catalogue, catalogue);
        self.replace_state(number, None, before);
        self.write_catalogue(&writes);
        Ok(())
    }

    /// Deletes all records of a table at once, however many: its pages are freed without a write.
    ///
    /// # Errors
    /// As [`Transaction::drop_table`]; and [`Error::Limit`] after millions of times, until the database is compacted.
    #[inline]
    pub fn truncate(&mut self, name: &str) -> Result<(), Error> {
        let number = self.table_to_change(name)?;
        check_not_referenced(self, number)?;
        self.empty(number)
    }

    /// The same, though rows of other tables may refer to the table's.
    #[inline]
    pub(super) fn empty(&mut self, number: u16) -> Result<(), Error> {
        let mut catalogue = self.space.catalogue.clone();
        let writes = catalogue.truncate_table(number).map_err(TableError::from)?;
        self.check_room_for(&writes)?;
        let definition = &self.space.catalogue.definitions[usize::from(number)];
        let empty = TableState::new(definition, self.space.hash)?;
        let life = catalogue.life(number);
        let empty = empty.map(|empty| TableState {
            feed: self.state(number).feed.clone(),
            ..empty.in_life(life).described_as(self.state(number))
        });
        self.keep(number, ChangeKind::Truncated, None, None)?;
        let before = std::mem::replace(&mut self.space.catalogue, catalogue);
        self.replace_state(number, empty, before);
        self.write_catalogue(&writes);
        Ok(())
    }

    /// Gives a table another name. Handles of record types with the old name do not fit any more.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table, something has the new name, or one of the names is the
    /// engine's own; [`Error::Limit`] if the name is too long, or the transaction too large. Nothing is changed then.
    #[inline]
    pub fn rename_table(&mut self, name: &str, to: &str) -> Result<(), Error> {
        check_name(to)?;
        let number = self.table_to_change(name)?;
        let mut catalogue = self.space.catalogue.clone();
        let writes = catalogue
            .rename_table(number, to)
            .map_err(TableError::from)?;
        self.check_room_for(&writes)?;
        let definition = &catalogue.definitions[usize::from(number)];
        let now = fingerprint_of_table(definition, &self.state(number).schema);
        let state = self.parts(number).1;
        if state.feed.is_some() {
            // It fails before anything has changed.
            Feed::new(number, to, &state.schema)?;
        }
        let name = std::mem::replace(&mut state.name, to.into());
        let fingerprint = std::mem::replace(&mut state.fingerprint, now);
        let catalogue = std::mem::replace(&mut self.space.catalogue, catalogue);
        self.note(number, Was::Named { name, fingerprint }, catalogue);
        self.write_catalogue(&writes);
        // Its conditions were read of rows before.
        Ok(self.refresh_kept(number)?)
    }

    /// Raises the catalogue's version, since programs of version 0.1 would misread the table.
    #[inline]
    pub(crate) fn require_newer_catalogue(&mut self, table: u16) -> Result<(), TableError> {
        if self.space.catalogue.version() > 1 {
            return Ok(());
        }
        self.check_room(OVERHEAD_BYTES)?;
        let state = self.state(table);
        let (name, fingerprint) = (state.name.clone(), state.fingerprint);
        let catalogue = self.space.catalogue.clone();
        self.note(table, Was::Named { name, fingerprint }, catalogue);
        let writes = self.space.catalogue.require_newer();
        self.write_catalogue(&writes);
        Ok(())
    }

    /// Gives a table free pages, if there are some that are worth taking.
    #[inline]
    pub(super) fn extend_by_free(
        &mut self,
        table: u16,
        pages: u64,
        is_last_resort: bool,
    ) -> Result<bool, TableError> {
        if self.space.catalogue.free_pages() == 0 {
            return Ok(false);
        }
        let mut catalogue = self.space.catalogue.clone();
        let found = catalogue.extend_table_by_free(table, pages, is_last_resort)?;
        let Some((extent, writes)) = found else {
            return Ok(false);
        };
        // The rest of an extent may need a new page of entries, for which there is perhaps no memory.
        if !is_last_resort && self.space.store.grow_to(catalogue.pages).is_err() {
            return Ok(false);
        }
        self.check_room_for(&writes)?;
        self.take_extent(table, extent, catalogue, &writes)?;
        Ok(true)
    }

    /// Puts another state in a table's place.
    #[inline]
    pub(super) fn replace_state(
        &mut self,
        table: u16,
        state: Option<TableState>,
        catalogue: Catalogue,
    ) {
        let place = self.space.tables.get_mut(table);
        let was = place.and_then(|place| std::mem::replace(place, state));
        self.note(table, Was::State(was.map(Box::new)), catalogue);
        self.space.tables.note_references(table);
    }

    /// Notes the former state of a table and the catalogue.
    #[inline]
    pub(super) fn note(&mut self, table: u16, was: Was, catalogue: Catalogue) {
        self.space.undo.push_replaced(Replaced {
            catalogue,
            table,
            was,
        });
        // Rows that were found before may not be there any more.
        self.space.epoch += 1;
    }

    /// Frees the memory of the replaced states: the transaction commits.
    #[cold]
    pub(super) fn release_replaced(&mut self) {
        let TableSpace {
            undo,
            indexes,
            leaving,
            ..
        } = &mut *self.space;
        for replaced in undo.take_replaced() {
            match replaced.was {
                Was::State(Some(mut state)) => state.release(indexes, leaving),
                Was::TakenOver(mut was) => was.state.release(indexes, leaving),
                Was::State(None)
                | Was::Named { .. }
                | Was::Smaller
                | Was::Adopted(_)
                | Was::Absent => {}
            }
        }
    }

    /// Checks the room for writes to the catalogue, and for the rest of the operation.
    #[inline]
    pub(super) fn check_room_for(&mut self, writes: &[CatalogueWrite]) -> Result<(), TableError> {
        let bytes = writes.iter().map(|write| encoded_bytes(write.bytes.len()));
        self.check_room(bytes.sum::<usize>() + OVERHEAD_BYTES)
    }

    #[inline]
    pub(super) fn table_to_change(&self, name: &str) -> Result<u16, TableError> {
        check_name(name)?;
        Ok(self.space.catalogue.table_named(name)?)
    }
}
