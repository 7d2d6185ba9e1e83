//! Keeping the changes of tables: the list of tables, and each change, in the transaction that makes it
//! ([`crate::changes`]).
//!
//! The list is a table of the engine's own. A table whose changes are kept counts as one with indexes, so the change
//! of a row of others is not slower. A change that cannot be kept, for want of room, fails.
//!
//! Invariant: exactly the committed changes are kept. A description that is undone with its transaction, or with a
//! part of it, does not count as written.

use super::{OVERHEAD_BYTES, Transaction};
use crate::changes::{CHANGES_JOURNAL, ChangeKind, Content, DESCRIBED_BYTES, Described, Feed};
use crate::hash::KeyHash;
use crate::places::{Damage, find_places};
use crate::space::TableSpace;
use crate::table::TableState;
use sardonyx_base::error::Error;
use sardonyx_base::hash::IntegerMap;
use sardonyx_base::resident::Resident;
use sardonyx_rows::TableError;
use sardonyx_rows::plain_at;
use sardonyx_rows::record::definition_of_table;
use sardonyx_rows::record::{Record, Table};
use sardonyx_storage::catalogue::Catalogue;
use sardonyx_storage::page::Address;
use std::sync::Arc;

/// A table whose changes are kept.
#[derive(Clone, Copy, Debug, Resident)]
#[repr(C)]
pub(crate) struct KeptTable {
    number: u64,
    reserved: u64,
}

sardonyx_rows::record!(KeptTable { table: "sardonyx.changes", key: number: u64 });

/// The state in memory of the changes that are kept.
#[derive(Debug, Default)]
pub(crate) struct Keeping {
    /// Transactions that kept changes, since the opening.
    transactions: u64,
    /// The running one's number, once it has kept one.
    running: Option<u64>,
    /// Bytes of journals' rows since the opening, and up to when each generation was described last.
    pub bytes: u64,
    described: IntegerMap<u64, u64>,
    /// So many bytes, and it is described again.
    described_bytes: Option<u64>,
    /// True if rows are rewritten unchanged, which is not kept as a change.
    pub is_paused: bool,
    /// Generations that the running transaction has described, and its steps then.
    describing: Vec<(u64, usize)>,
}

impl Keeping {
    /// Returns true if the running transaction has work to do at its end.
    #[inline]
    pub fn is_used(&self) -> bool {
        self.running.is_some()
    }

    /// The running transaction committed, or all of it was undone.
    #[cold]
    pub fn end(&mut self, is_committed: bool) {
        self.running = None;
        for (generation, _) in self.describing.drain(..) {
            if is_committed {
                self.described.insert(generation, self.bytes);
            }
        }
    }

    /// The running transaction was rolled back to so many steps.
    #[inline]
    pub fn go_back(&mut self, steps: usize) {
        self.describing.retain(|(_, at)| *at < steps);
    }
}

/// The tables whose changes are kept, by number, read from the pages.
///
/// # Errors
/// [`TableError::DamagedTable`] if they are not sound.
#[inline]
pub(crate) fn kept_numbers(bytes: &[u8], catalogue: &Catalogue) -> Result<Vec<u16>, TableError> {
    let definition = definition_of_table::<KeptTable>();
    let Some(number) = catalogue.number_of(&definition)? else {
        return Ok(Vec::new());
    };
    // To find its records no hash is needed.
    let Some(state) = TableState::new(&definition, KeyHash::from_seed(0))? else {
        return Ok(Vec::new());
    };
    let mut state = state.in_life(catalogue.life(number));
    state.extents.extend(catalogue.extents_of(number));
    let found = find_places(bytes, number, &mut state);
    found.map_err(|Damage { at, reason }| TableError::DamagedTable {
        table: KeptTable::TABLE.to_string(),
        page: at.page().0,
        offset: at.offset_in_page(),
        reason,
    })?;
    let numbers = state
        .records(bytes)
        .map(|at| plain_at::<KeptTable>(bytes, at).number);
    Ok(numbers
        .filter_map(|number| u16::try_from(number).ok())
        .collect())
}

impl TableSpace {
    /// Notes the tables whose changes are kept, read from the pages.
    #[inline]
    pub(crate) fn note_kept(&mut self) -> Result<(), TableError> {
        for number in kept_numbers(self.store.bytes(), &self.catalogue)? {
            if let Some(state) = self.tables.state_mut(number) {
                state.feed = Some(Feed::new(number, &state.name, &state.schema)?);
            }
        }
        Ok(())
    }

    /// Sets the bytes of the newest journal rows that are kept: tables are described again within less than that.
    #[inline]
    pub fn set_journal_bytes_kept(&mut self, bytes: u64) {
        self.keeping.described_bytes = Some((bytes / 8).min(DESCRIBED_BYTES));
    }

    /// The tables whose changes are kept, with their present descriptions.
    #[inline]
    pub fn kept_tables(&self) -> Vec<(u64, Arc<Described>)> {
        let tables = self.tables.iter().flatten();
        let feeds = tables.filter_map(|state| state.feed.as_ref());
        feeds
            .map(|feed| (feed.generation, feed.described.clone()))
            .collect()
    }
}

impl Transaction<'_> {
    /// From now on the changes of a table's rows are kept, with the rows before and after. Returns whether they were not.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table, or the name is one of the engine's own; [`Error::Limit`],
    /// [`Error::Full`]. Nothing has changed then.
    #[inline]
    pub fn keep_changes(&mut self, table: &str) -> Result<bool, Error> {
        let number = self.table_to_change(table)?;
        if self.state(number).feed.is_some() {
            return Ok(false);
        }
        self.whole(|tx| {
            let kept = Table::<KeptTable>::new(tx.declare(definition_of_table::<KeptTable>())?);
            let record = KeptTable {
                number: number.into(),
                reserved: 0,
            };
            tx.insert(kept, &record)?;
            tx.set_kept(number, true)?;
            Ok(true)
        })
    }

    /// From now on the changes of a table's rows are not kept; those that are stay. Returns whether they were.
    ///
    /// # Errors
    /// The errors of [`Transaction::keep_changes`].
    #[inline]
    pub fn forget_changes(&mut self, table: &str) -> Result<bool, Error> {
        let number = self.table_to_change(table)?;
        if self.state(number).feed.is_none() {
            return Ok(false);
        }
        self.whole(|tx| {
            tx.forget_kept(number)?;
            tx.set_kept(number, false)?;
            Ok(true)
        })
    }

    /// The table goes, or is to be kept no longer.
    #[inline]
    pub(super) fn forget_kept(&mut self, number: u16) -> Result<(), Error> {
        let kept = self
            .space
            .catalogue
            .number_of(&definition_of_table::<KeptTable>());
        if let Some(kept) = kept.map_err(TableError::from)? {
            self.delete(Table::<KeptTable>::new(kept), u64::from(number))?;
        }
        Ok(())
    }

    /// Starts or stops keeping the changes of a table, under its present name and description.
    #[inline]
    pub(crate) fn set_kept(&mut self, number: u16, is_kept: bool) -> Result<(), TableError> {
        let state = self.state(number);
        // A new one, so that a large statement that has begun with the table as it was runs again.
        let schema = Arc::new((*state.schema).clone());
        let is_stored = state.schema_is_stored;
        let feed = match is_kept {
            true => Some(Feed::new(number, &state.name, &schema)?),
            false => None,
        };
        // The undo restores the former state with the schema; the schema itself stays the same.
        let before = self.parts(number).1.take_schema(schema, is_stored);
        self.space.undo.push_schema(number, before);
        self.parts(number).1.feed = feed;
        self.space.note_indexed(number);
        Ok(())
    }

    /// The same of one that is kept, whose name or schema has changed.
    #[inline]
    pub(crate) fn refresh_kept(&mut self, number: u16) -> Result<(), TableError> {
        match self.state(number).feed.is_some() {
            true => self.set_kept(number, true),
            false => Ok(()),
        }
    }

    /// The present row at an address, if changes of its table are kept.
    #[inline]
    pub(crate) fn image(&self, number: u16, at: Address) -> Result<Option<Vec<u8>>, TableError> {
        match &self.state(number).feed {
            Some(feed) => Ok(Some(
                feed.described
                    .format
                    .copy_of(&self.row_there(number, at)?)?,
            )),
            None => Ok(None),
        }
    }

    /// Changes a row, which is at an address before and afterwards, and keeps that change.
    ///
    /// # Errors
    /// The errors of `change`; [`TableError::TransactionTooLarge`]. Nothing has changed then.
    #[inline]
    pub(crate) fn keeping<T>(
        &mut self,
        number: u16,
        at: Address,
        change: impl FnOnce(&mut Self) -> Result<T, TableError>,
    ) -> Result<T, TableError> {
        let Some(before) = self.image(number, at)? else {
            return change(self);
        };
        self.whole(|tx| {
            let done = change(tx)?;
            let after = tx.image(number, at)?;
            tx.keep(number, ChangeKind::Updated, Some(&before), after.as_deref())?;
            Ok(done)
        })
    }

    /// Keeps a change that has happened, if changes of the table are kept.
    ///
    /// # Errors
    /// [`TableError::TransactionTooLarge`]: the change is to be undone.
    #[inline]
    pub(crate) fn keep(
        &mut self,
        number: u16,
        kind: ChangeKind,
        before: Option<&[u8]>,
        after: Option<&[u8]>,
    ) -> Result<(), TableError> {
        let Some(feed) = self.state(number).feed.clone() else {
            return Ok(());
        };
        let is_none = kind == ChangeKind::Updated && before == after;
        if is_none || self.space.keeping.is_paused {
            return Ok(());
        }
        let generation = feed.generation;
        let steps = self.space.undo.len();
        let keeping = &mut self.space.keeping;
        let transaction = *keeping.running.get_or_insert_with(|| {
            keeping.transactions += 1;
            keeping.transactions
        });
        let most = keeping.described_bytes.unwrap_or(DESCRIBED_BYTES);
        let is_long_ago = |then: &u64| keeping.bytes.saturating_sub(*then) >= most;
        let is_due = keeping.described.get(&generation).is_none_or(is_long_ago)
            && keeping
                .describing
                .iter()
                .all(|(there, _)| *there != generation);
        if is_due {
            keeping.describing.push((generation, steps));
            let description = Content::description(&feed, transaction);
            self.push_content(&description)?;
        }
        let change = Content::change(kind, generation, transaction, before, after);
        self.push_content(&change)?;
        self.space.keeping.bytes += change.redo_bytes() as u64;
        Ok(())
    }

    #[inline]
    fn push_content(&mut self, content: &Content<'_>) -> Result<(), TableError> {
        self.check_room(content.redo_bytes() + OVERHEAD_BYTES)?;
        content.push_all(|piece| self.log.push_journal(CHANGES_JOURNAL, piece));
        Ok(())
    }
}

const _: () = assert!(KeptTable::PLAIN.is_some());
