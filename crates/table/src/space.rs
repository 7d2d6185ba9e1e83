//! The table space: the catalogue, every table's state in memory, and the page store below them.
//!
//! The runner of transactions owns it exclusively; that is all the concurrency control there is.

use crate::hash::KeyHash;
use crate::index_builds::build_ordered;
use crate::index_store::IndexStore;
use crate::made_beside::{Adopting, MadeIndex};
use crate::ordered::Leaving;
use crate::rebuild::{RebuildReport, Rebuilt, check_all_values, rebuild};
use crate::row::Row;
use crate::snapshot::{FrozenBefore, SpaceSnapshot};
use crate::stored::{STORED_BYTES_MIN, StoredIndexes};
use crate::table::{TableState, fingerprint_of};
use crate::tables::Tables;
use crate::transaction::{Keeping, Transaction};
use crate::undo::Undo;
use sardonyx_base::resident::Resident;
use sardonyx_base::sync::Mutex;
use sardonyx_rows::Plain;
use sardonyx_rows::TableError;
use sardonyx_rows::constraints::ComputeDefaults;
use sardonyx_rows::record::{Record, Table};
use sardonyx_rows::schema::Schema;
use sardonyx_rows::table_of;
use sardonyx_rows::{Journal, JournalRow, definition_of_journal};
use sardonyx_storage::catalogue::{Catalogue, Definitions, unfinished};
use sardonyx_storage::log::seal::GroupBuilder;
use sardonyx_storage::page::{Address, PAGE_SIZE};
use sardonyx_storage::prefetch::prefetch;
use sardonyx_storage::recovery::WORKERS_MAX;
use sardonyx_storage::store::PageStore;
use std::iter::once;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// Tables and journals on a page store.
#[derive(Debug)]
pub struct TableSpace {
    pub(crate) store: PageStore,
    pub(crate) indexes: IndexStore,
    /// Indexes there that no table has any more.
    pub(crate) leaving: Leaving,
    /// Indexes there that are being built.
    pub(crate) made_indexes: Vec<MadeIndex>,
    pub(crate) catalogue: Catalogue,
    /// By number; `None` for journals and areas.
    pub(crate) tables: Tables,
    /// True if a table may be [indexed](TableState::is_indexed). In a space of fixed records it never is, and the
    /// change of a field checks this alone.
    pub(crate) may_be_indexed: bool,
    pub(crate) undo: Undo,
    /// The state of kept changes.
    pub(crate) keeping: Keeping,
    /// Changes whenever a record is removed; see [`Row`].
    pub(crate) epoch: u64,
    pub(crate) hash: KeyHash,
    pub(crate) transaction_bytes_max: usize,
    /// Fewer bytes of indexes are not stored at a clean close.
    pub(crate) stored_bytes_min: u64,
    /// Threads that build an index.
    pub(crate) workers: usize,
    /// The last snapshot, if it has a holder.
    pub(crate) newest_snapshot: Weak<SpaceSnapshot>,
    /// Its parts besides pages.
    pub(crate) frozen_before: FrozenBefore,
    /// The table whose rows the running transaction [need not look at](Transaction::with_checked_rows).
    pub(crate) checked: Option<u16>,
    /// The table that the running call creates with the rows of a content.
    pub(crate) adopting: Option<Adopting>,
    /// Computes defaults in SQL, once a program registered it.
    pub(crate) computes_defaults: Mutex<Option<Arc<dyn ComputeDefaults>>>,
}

/// The memory to prefetch: a lookup touches two places, one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Prefetch {
    /// The index's place for a key.
    Index,
    /// The record that the index's place (asked for before) most likely names.
    Record,
}

/// Bytes of a cache line; where they are more, some are asked for twice.
pub(crate) const LINE: usize = 64;

/// Keys that are looked up together.
const LOOKED_UP_TOGETHER: usize = 32;

/// The default bound on a transaction's redo records, in bytes.
const TRANSACTION_BYTES_MAX: usize = 17 << 20;

/// So that rows of one space are never taken for rows of another.
static SPACES: AtomicU64 = AtomicU64::new(1);

impl TableSpace {
    /// Reads the catalogue from recovered pages and rebuilds free lists and indexes on `workers` threads. As many
    /// later build a created index. An empty store is a fresh database.
    ///
    /// # Errors
    /// [`TableError::Catalogue`] if the pages are not sound, or (`Unfinished`) if they have changes of multi-level
    /// transactions that may still be undone.
    #[inline]
    pub fn open(store: PageStore, workers: usize) -> Result<(Self, RebuildReport), TableError> {
        Self::open_with(store, workers, KeyHash::random())
    }

    /// The same with a hash of the keys that is known, so that a run can be replayed (I11).
    ///
    /// # Errors
    /// As [`TableSpace::open`].
    pub fn open_with(
        store: PageStore,
        workers: usize,
        hash: KeyHash,
    ) -> Result<(Self, RebuildReport), TableError> {
        Self::open_stored(store, workers, hash, None)
    }

    /// The same with the indexes that a clean close stored, if they are those of these pages; then their hash is the
    /// space's.
    ///
    /// # Errors
    /// As [`TableSpace::open`].
    pub fn open_stored(
        mut store: PageStore,
        workers: usize,
        hash: KeyHash,
        stored: Option<StoredIndexes>,
    ) -> Result<(Self, RebuildReport), TableError> {
        let started = Instant::now();
        let reading = stored.as_ref().map_or(Duration::ZERO, StoredIndexes::time);
        let catalogue = Catalogue::read(&mut store)?;
        unfinished::refuse(store.bytes(), &catalogue)?;
        let rows_max = Self::rows_max(&store);
        let workers = workers.clamp(1, WORKERS_MAX);
        let Rebuilt {
            tables,
            indexes,
            hash,
            mut report,
        } = rebuild(store.bytes(), &catalogue, rows_max, workers, hash, stored)?;
        let mut space = TableSpace {
            indexes,
            leaving: Leaving::default(),
            made_indexes: Vec::new(),
            store,
            catalogue,
            tables: Tables::new(tables),
            may_be_indexed: false,
            undo: Undo::default(),
            keeping: Keeping::default(),
            epoch: SPACES.fetch_add(1, Ordering::Relaxed) << 40,
            hash,
            transaction_bytes_max: TRANSACTION_BYTES_MAX,
            stored_bytes_min: STORED_BYTES_MIN,
            workers,
            newest_snapshot: Weak::new(),
            frozen_before: FrozenBefore::default(),
            checked: None,
            adopting: None,
            computes_defaults: Mutex::default(),
        };
        check_all_values(&space, space.workers)?;
        if !report.stored {
            build_ordered(
                space.store.bytes(),
                &space.catalogue.definitions,
                &mut space.tables,
                &mut space.indexes,
                space.workers,
            )?;
        }
        space.note_kept()?;
        space.may_be_indexed = space.tables.iter().flatten().any(TableState::is_indexed);
        report.time = reading + started.elapsed();
        Ok((space, report))
    }

    /// The bound on the bytes of rows in these pages.
    pub fn rows_max(store: &PageStore) -> u64 {
        store.pages_max().saturating_mul(PAGE_SIZE as u64)
    }

    /// To be called when a table may have got its first ordered index, reference or condition.
    pub(crate) fn note_indexed(&mut self, table: u16) {
        let state = self.tables.get(usize::from(table));
        let state = state.and_then(Option::as_ref);
        self.may_be_indexed |= state.is_some_and(TableState::is_indexed);
    }

    /// All pages in their present state, with the changes of a running transaction: to compare, copy or checksum them.
    /// Pages that were allocated and freed by an undone transaction are zeroes at the end.
    pub fn pages(&self) -> &[u8] {
        self.store.bytes()
    }

    /// Gives the page store back; [`TableSpace::open`] makes the same tables of it.
    #[inline]
    pub fn into_store(self) -> PageStore {
        self.store
    }

    /// Sets the bound on a transaction's redo records, in bytes (default 17 MiB).
    pub fn set_transaction_bytes_max(&mut self, bytes: usize) {
        self.transaction_bytes_max = bytes;
    }

    /// Begins a transaction that appends its redo records to `log`.
    #[inline]
    pub fn begin<'a>(&'a mut self, log: &'a mut GroupBuilder) -> Transaction<'a> {
        Transaction::new(self, log)
    }

    /// The current catalogue.
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// The definitions of tables, journals and areas.
    pub fn definitions(&self) -> &Definitions {
        &self.catalogue.definitions
    }

    /// Bytes of all pages.
    pub fn bytes(&self) -> u64 {
        self.store.bytes().len() as u64
    }

    /// Bytes of memory that the indexes take.
    #[inline]
    pub fn index_bytes(&self) -> usize {
        self.tables
            .iter()
            .flatten()
            .map(|table| table.index.bytes())
            .sum::<usize>()
            + self.indexes.bytes_used() as usize
    }

    /// Bytes of the pages that are in memory: others of an extent were never touched.
    #[inline]
    pub fn touched_bytes(&self) -> u64 {
        let runs = self.store.touched();
        runs.iter().map(|run| run.end - run.start).sum::<u64>() * PAGE_SIZE as u64
    }

    /// The memory of all indexes, by use.
    #[inline]
    pub fn index_memory(&self) -> IndexMemory {
        let tables = self.tables.iter().flatten();
        let hashed: u64 = tables.map(|table| table.index.places_bytes()).sum();
        let used = self.indexes.bytes_used();
        IndexMemory {
            hashed,
            ordered: used.saturating_sub(hashed),
            free: (self.indexes.bytes().len() as u64).saturating_sub(used),
        }
    }

    /// The schema of the table with this number; `None` if it is no table. If none is stored, it is made of the
    /// catalogue's entry, which has the key only.
    pub fn schema(&self, number: u16) -> Option<&Arc<Schema>> {
        let state = self.tables.get(usize::from(number))?.as_ref()?;
        Some(&state.schema)
    }

    /// Returns true if a program that knows the columns stored the table's schema, so that it has more than the key. A
    /// table of an older database has no stored schema until a program [declares](Transaction::declare_table) it.
    pub fn has_stored_schema(&self, number: u16) -> bool {
        let state = self.tables.get(usize::from(number));
        state.is_some_and(|state| state.as_ref().is_some_and(|state| state.schema_is_stored))
    }

    /// The handle of a record type's table, if it is declared.
    ///
    /// # Errors
    /// [`TableError::Catalogue`] (`LayoutDiffers`) or [`TableError::SchemaDiffers`] if it is declared with
    /// another layout; [`TableError::ReservedName`].
    pub fn table<R: Record>(&self) -> Result<Option<Table<R>>, TableError> {
        let stored = |number: u16| {
            let state = self.tables.get(usize::from(number))?.as_ref()?;
            state.schema_is_stored.then_some(&*state.schema)
        };
        Ok(table_of::<R>(&self.catalogue, stored)?.map(Table::new))
    }

    /// The handle of a row type's journal, if it is declared.
    ///
    /// # Errors
    /// [`TableError::Catalogue`] (`LayoutDiffers`) if it is declared with another layout.
    pub fn journal<J: JournalRow>(&self) -> Result<Option<Journal<J>>, TableError> {
        Ok(self
            .catalogue
            .number_of(&definition_of_journal::<J>())?
            .map(Journal::new))
    }

    /// The state of a handle's table, if the handle fits.
    #[inline]
    pub(crate) fn state<R: Record>(&self, table: Table<R>) -> Option<&TableState> {
        let state = self.tables.get(usize::from(table.number()))?.as_ref()?;
        let fits = match R::PLAIN {
            Some(_) => state.fingerprint == fingerprint_of::<R>(),
            None => *state.name == *R::TABLE,
        };
        fits.then_some(state)
    }

    pub(crate) fn name(&self, number: u16) -> String {
        let definition = self.catalogue.definitions.get(usize::from(number));
        definition.map_or_else(|| format!("number {number}"), |d| d.name.clone())
    }

    /// First stage: prefetches the memory that [`TableSpace::locate`] and the transaction will read. Called for a
    /// whole batch for each [`Prefetch`] in turn.
    #[inline]
    pub fn prefetch<R: Plain>(&self, what: Prefetch, table: Table<R>, key: R::Key) {
        let Some(state) = self.state(table) else {
            return;
        };
        let hash = state.hash.of(key.as_bytes());
        match what {
            Prefetch::Index => state.index.prefetch(&self.indexes, hash),
            Prefetch::Record => {
                if let Some(address) = state.index.candidate(&self.indexes, hash) {
                    prefetch(self.store.bytes(), address.0 as usize);
                }
            }
        }
    }

    /// As [`Prefetch::Record`], for these bytes of the record instead of its beginning, each a range within it: the
    /// parts to be read of a record of several cache lines.
    #[inline]
    pub fn prefetch_bytes<R: Plain>(
        &self,
        table: Table<R>,
        key: R::Key,
        bytes: impl IntoIterator<Item = Range<usize>>,
    ) {
        let Some(state) = self.state(table) else {
            return;
        };
        let hash = state.hash.of(key.as_bytes());
        let Some(address) = state.index.candidate(&self.indexes, hash) else {
            return;
        };
        for range in bytes {
            let start = address.0 as usize + range.start;
            prefetch(self.store.bytes(), start);
            let end = address.0 as usize + range.end.max(range.start + 1);
            for line in (start / LINE + 1..)
                .map(|line| line * LINE)
                .take_while(|at| *at < end)
            {
                prefetch(self.store.bytes(), line);
            }
        }
    }

    /// Asks the processor for the record of a row that was located before, such as on another thread.
    #[inline]
    pub fn prefetch_row<R: Plain>(&self, row: Row<R>) {
        prefetch(self.store.bytes(), row.address.0 as usize);
    }

    /// First stage: finds a record.
    #[inline]
    pub fn locate<R: Plain>(&self, table: Table<R>, key: R::Key) -> Option<Row<R>> {
        let state = self.state(table)?;
        let hash = state.hash.of(key.as_bytes());
        let address = state.find(&self.indexes, self.store.bytes(), hash, key.as_bytes())?;
        Some(Row::new(address, table.number(), self.epoch, key))
    }

    /// Looks up the rows with these keys together, so that their cache misses overlap. Calls `each` with them in their
    /// order, up to the first error.
    #[inline]
    pub(crate) fn locate_each<R: Plain, E>(
        &self,
        table: Table<R>,
        keys: impl IntoIterator<Item = R::Key>,
        mut each: impl FnMut(R::Key, Option<Row<R>>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut keys = keys.into_iter();
        let (state, first) = match (self.state(table), keys.next()) {
            (Some(state), Some(first)) => (state, first),
            (_, first) => {
                return first
                    .into_iter()
                    .chain(keys)
                    .try_for_each(|key| each(key, None));
            }
        };
        let bytes = self.store.bytes();
        let mut sought = [(first, 0); LOOKED_UP_TOGETHER];
        let mut candidates = [None; LOOKED_UP_TOGETHER];
        let mut next = Some(first);
        while let Some(first) = next {
            let mut count = 0;
            let others = keys.by_ref().take(LOOKED_UP_TOGETHER - 1);
            for key in once(first).chain(others) {
                let hash = state.hash.of(key.as_bytes());
                state.index.prefetch(&self.indexes, hash);
                sought[count] = (key, hash);
                count += 1;
            }
            let sought = &sought[..count];
            for (candidate, (_, hash)) in candidates.iter_mut().zip(sought) {
                *candidate = state.index.candidate(&self.indexes, *hash);
                let at = candidate.unwrap_or(Address(0));
                prefetch(bytes, at.0 as usize);
            }
            for (&candidate, &(key, hash)) in candidates.iter().zip(sought) {
                let key_of = |at: Address| &bytes[at.0 as usize + R::KEY_OFFSET..];
                let is_it = |at| key_of(at)[..size_of::<R::Key>()] == *key.as_bytes();
                let found = match candidate {
                    Some(at) if !is_it(at) => {
                        state.find(&self.indexes, bytes, hash, key.as_bytes())
                    }
                    found => found,
                };
                let row = |at| Row::new(at, table.number(), self.epoch, key);
                each(key, found.map(row))?;
            }
            next = keys.next();
        }
        Ok(())
    }

    /// The address of a row, if its record is still there.
    #[inline]
    pub(crate) fn resolve<R: Plain>(&self, row: Row<R>) -> Result<Address, TableError> {
        // The result of the rare case holds no address: a result in memory would cost every field's change.
        if row.epoch != self.epoch {
            self.check_still_there(row)?;
        }
        Ok(row.address)
    }

    /// Something was removed since the row was found; perhaps not this one.
    #[cold]
    fn check_still_there<R: Plain>(&self, row: Row<R>) -> Result<(), TableError> {
        let same_space = row.epoch >> 40 == self.epoch >> 40;
        let state = self
            .state(Table::<R>::new(row.table))
            .filter(|_| same_space);
        let key = row.key.as_bytes();
        let there = state.and_then(|state| {
            state.find(&self.indexes, self.store.bytes(), state.hash.of(key), key)
        });
        match there == Some(row.address) {
            true => Ok(()),
            false => Err(TableError::StaleRow {
                table: self.name(row.table),
            }),
        }
    }

    /// Read access without a transaction.
    pub fn view(&self) -> View<'_> {
        View { space: self }
    }
}

/// The memory of indexes, in bytes. Together they are the pages of indexes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IndexMemory {
    /// Places of hash indexes, also of empty ones.
    pub hashed: u64,
    /// Nodes of ordered indexes, and changes that an index keeps while it is made.
    pub ordered: u64,
    /// Free blocks.
    pub free: u64,
}

/// A consistent state of all tables, to read: `view` in the closure of a call of `read`. Its verbs are `get`, `scan`, `count`,
/// `index` and `rows`.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    space: &'a TableSpace,
}

impl<'a> View<'a> {
    #[inline]
    pub(crate) fn space(&self) -> &'a TableSpace {
        self.space
    }

    /// The schema of the table with this number; see [`TableSpace::schema`].
    pub fn schema(&self, number: u16) -> Option<&'a Arc<Schema>> {
        self.space.schema(number)
    }

    pub(crate) fn state_of(&self, number: u16) -> Option<&'a TableState> {
        self.space.tables.get(usize::from(number))?.as_ref()
    }

    /// The memory of all indexes.
    pub(crate) fn indexes(&self) -> &'a IndexStore {
        &self.space.indexes
    }

    /// Registers the computation of defaults in SQL, for all inserts from now on.
    pub fn compute_defaults_by(&self, computes: Arc<dyn ComputeDefaults>) {
        *self.space.computes_defaults.lock() = Some(computes);
    }

    /// Definitions of all tables and journals.
    pub fn catalogue(&self) -> &'a Catalogue {
        &self.space.catalogue
    }

    /// All pages; see [`TableSpace::pages`].
    pub fn pages(&self) -> &'a [u8] {
        self.space.pages()
    }

    /// The tables, journals and areas.
    pub fn definitions(&self) -> &'a Definitions {
        self.space.definitions()
    }

    /// Bytes of all pages.
    pub fn bytes(&self) -> u64 {
        self.space.bytes()
    }

    /// Bytes of memory that the indexes take.
    #[inline]
    pub fn index_bytes(&self) -> usize {
        self.space.index_bytes()
    }
}
