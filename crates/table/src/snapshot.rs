//! A snapshot of all tables: the state at one commit, to read from any thread for any time, while transactions go on.
//!
//! Rows and indexes, which are in pages, are read through snapshots of the two page stores. Of each table that has
//! changed a small copy is made of the rest that reading needs: its layout, extents, and the location of its index. So
//! taking a snapshot costs a few microseconds, and the first change of each page a copy of it; a writer never waits.
//!
//! Invariant: it is taken between transactions, so all three are of one commit. Rows and indexes have a common bound
//! on memory for copies. At the bound the oldest snapshot is ended, of rows and indexes at once. Every read of it
//! fails from then on ([`SnapshotEnded`]), and none is wrong.

use crate::hash::KeyHash;
use crate::index::{HashIndex, Shards};
use crate::index_names::IndexNames;
use crate::open::Known;
use crate::ordered::Tree;
use crate::references::References;
use crate::secondary::Secondary;
use crate::space::TableSpace;
use crate::table::{Slot, TableState, shape_of};
use sardonyx_base::parts::Parts;
use sardonyx_rows::TableError;
use sardonyx_rows::constraints::ComputeDefaults;
use sardonyx_rows::key::KeyShape;
use sardonyx_rows::layout::PageLayout;
use sardonyx_rows::record::{Record, Table};
use sardonyx_rows::schema::Schema;
use sardonyx_rows::table_of;
use sardonyx_storage::catalogue::{Catalogue, Definitions, Extent};
use sardonyx_storage::store::{KeptPages, PageSnapshot, StoreError};
use std::sync::{Arc, OnceLock};

/// The state of all tables at one commit.
#[derive(Clone, Debug)]
pub struct SpaceSnapshot {
    pub(crate) rows: Arc<PageSnapshot>,
    pub(crate) indexes: Arc<PageSnapshot>,
    catalogue: Arc<Catalogue>,
    /// Computes defaults in SQL.
    pub(crate) computes_defaults: Option<Arc<dyn ComputeDefaults>>,
    /// By number; `None` for journals and areas.
    pub(crate) tables: Parts<Option<Arc<FrozenTable>>>,
    /// The references between them.
    pub(crate) references: References,
    pub(crate) index_names: IndexNames,
}

/// The parts besides pages of the last snapshot: the next one shares the unchanged ones.
#[derive(Debug, Default)]
pub(crate) struct FrozenBefore {
    catalogue: Arc<Catalogue>,
    tables: Parts<Option<Arc<FrozenTable>>>,
}

/// The state of a table that reading needs, frozen.
#[derive(Clone, Debug)]
pub(crate) struct FrozenTable {
    pub fingerprint: u64,
    pub key_offset: usize,
    pub hash: KeyHash,
    /// The encoding of the primary key whose bytes are hashed; `None` if its bytes in the row are.
    pub hashed_key: Option<Arc<KeyShape>>,
    pub layout: PageLayout,
    pub extents: Vec<Extent>,
    pub fresh: Slot,
    /// Its pages name it, as those of the table's other lives do not.
    pub life: u32,
    pub shards: Shards,
    pub len: u64,
    pub schema: Arc<Schema>,
    pub schema_is_stored: bool,
    pub secondary: Vec<Secondary>,
    pub name: Arc<str>,
    /// The needs of open transactions, once one used it.
    pub known: Arc<OnceLock<Arc<Known>>>,
}

impl FrozenTable {
    /// The present state of a table; `before` is the last frozen one.
    #[inline]
    pub fn of(state: &TableState, before: Option<&Self>) -> Self {
        let described = |before: &&FrozenTable| {
            Arc::ptr_eq(&before.schema, &state.schema) && before.name == state.name
        };
        FrozenTable {
            name: Arc::clone(&state.name),
            known: before
                .filter(described)
                .map(|before| Arc::clone(&before.known))
                .unwrap_or_default(),
            fingerprint: state.fingerprint,
            key_offset: state.key_offset,
            hash: state.hash,
            hashed_key: state.hashed_key.clone(),
            layout: state.layout,
            extents: state.extents.clone(),
            fresh: state.fresh,
            life: state.life,
            shards: state.index.shards().clone(),
            len: state.len(),
            schema: state.schema.clone(),
            schema_is_stored: state.schema_is_stored,
            secondary: state.secondary.clone(),
        }
    }

    /// The same table without rows.
    #[inline]
    pub fn emptied(&self) -> Self {
        let empty = |index: &Secondary| Secondary {
            what: Arc::clone(&index.what),
            tree: Tree::default(),
        };
        FrozenTable {
            extents: Vec::new(),
            fresh: Slot::default(),
            shards: HashIndex::new().shards().clone(),
            len: 0,
            secondary: self.secondary.iter().map(empty).collect(),
            ..self.clone()
        }
    }

    /// True if a table is so still.
    #[inline]
    fn is(&self, state: &TableState) -> bool {
        let same_indexes = || {
            let mut both = self.secondary.iter().zip(&state.secondary);
            self.secondary.len() == state.secondary.len()
                && both.all(|(a, b)| Arc::ptr_eq(&a.what, &b.what) && a.tree == b.tree)
        };
        Arc::ptr_eq(&self.schema, &state.schema)
            && self.name == state.name
            && self.fingerprint == state.fingerprint
            && self.schema_is_stored == state.schema_is_stored
            && (self.life, self.fresh, self.len) == (state.life, state.fresh, state.len())
            && self.extents == state.extents
            && self.shards == *state.index.shards()
            && same_indexes()
    }

    /// The layout of records in a page of rows, given its bytes.
    #[inline]
    pub fn layout_of(&self, page: &[u8]) -> PageLayout {
        // Pages of earlier shapes have shorter rows.
        let bytes = match self.schema.earlier_shapes.is_empty() {
            true => None,
            false => self.schema.row_bytes_of_shape(shape_of(page)),
        };
        bytes.map_or(self.layout, PageLayout::of)
    }
}

/// The definitions of a snapshot, and the table of one of them.
#[derive(Debug)]
pub(crate) struct Defined {
    pub catalogue: Arc<Catalogue>,
    pub table: Option<Arc<FrozenTable>>,
}

/// The most copies of pages that the thread with the stage frees itself.
const COPIES_FEW: u64 = 256;

/// The memory of a snapshot that is not read any more.
#[derive(Debug)]
pub struct SnapshotMemory {
    _pages: [Option<KeptPages>; 2],
}

impl TableSpace {
    /// A snapshot of all committed changes. Two without a change between are one.
    ///
    /// # Errors
    /// [`TableError::Store`] if there is no address space for it.
    ///
    /// # Panics
    /// If a transaction is open that was neither committed nor undone: its changes are in the pages.
    #[inline]
    pub fn snapshot(&mut self) -> Result<Arc<SpaceSnapshot>, TableError> {
        assert!(
            self.undo.is_empty(),
            "a snapshot is taken between transactions"
        );
        let (rows, indexes) = self.store.snapshot_with(self.indexes.pages_mut())?;
        if let Some(newest) = self.newest_snapshot.upgrade()
            && Arc::ptr_eq(&newest.rows, &rows)
        {
            return Ok(newest);
        }
        let before = &mut self.frozen_before;
        if *before.catalogue != self.catalogue {
            before.catalogue = Arc::new(self.catalogue.clone());
        }
        before.tables.resize(self.tables.len(), None);
        for number in self.tables.take_touched() {
            let place = usize::from(number);
            let frozen = before.tables.get(place).and_then(Option::as_deref);
            let now = match (frozen, self.tables.get(place).and_then(Option::as_ref)) {
                (Some(frozen), Some(state)) if frozen.is(state) => continue,
                (None, None) => continue,
                (frozen, now) => now.map(|state| Arc::new(FrozenTable::of(state, frozen))),
            };
            if let Some(place) = before.tables.get_mut(place) {
                *place = now;
            }
        }
        let snapshot = Arc::new(SpaceSnapshot {
            rows,
            indexes,
            catalogue: Arc::clone(&before.catalogue),
            computes_defaults: self.computes_defaults.lock().clone(),
            tables: before.tables.clone(),
            references: self.tables.references().clone(),
            index_names: self.tables.index_names().clone(),
        });
        self.newest_snapshot = Arc::downgrade(&snapshot);
        Ok(snapshot)
    }

    /// The pages of rows, frozen: for a checkpoint, which needs neither indexes nor definitions.
    ///
    /// # Errors
    /// As [`TableSpace::snapshot`].
    ///
    /// # Panics
    /// As [`TableSpace::snapshot`].
    pub fn freeze_pages(&mut self) -> Result<Arc<PageSnapshot>, StoreError> {
        assert!(
            self.undo.is_empty(),
            "pages are frozen between transactions"
        );
        // Together: other snapshots have both.
        let (rows, _) = self.store.snapshot_with(self.indexes.pages_mut())?;
        Ok(rows)
    }

    /// Sets the bound on memory for pages that snapshots keep, in bytes, rows and indexes together. The default is 1
    /// GiB, or a quarter of the store's limit if that is less.
    #[inline]
    pub fn set_snapshot_bytes_max(&mut self, bytes: u64) {
        self.store.set_snapshot_bytes_max(bytes);
    }
}

impl SpaceSnapshot {
    /// The handle of a record type's table, if it was declared.
    ///
    /// # Errors
    /// [`TableError::Catalogue`] (`LayoutDiffers`) or [`TableError::SchemaDiffers`] if it was declared with another
    /// layout; [`TableError::ReservedName`].
    pub fn table<R: Record>(&self) -> Result<Option<Table<R>>, TableError> {
        let stored = |number: u16| {
            let table = self.tables.get(usize::from(number))?.as_ref()?;
            table.schema_is_stored.then_some(&*table.schema)
        };
        Ok(table_of::<R>(&self.catalogue, stored)?.map(Table::new))
    }

    /// The tables, journals and areas.
    #[inline]
    pub fn definitions(&self) -> &Definitions {
        &self.catalogue.definitions
    }

    #[inline]
    pub(crate) fn referring(&self, table: u16) -> &[u16] {
        self.references.to(table)
    }

    /// The pages of rows, as they were.
    #[inline]
    pub fn pages(&self) -> &PageSnapshot {
        &self.rows
    }

    /// The tables, journals and areas, with their pages.
    pub(crate) fn catalogue(&self) -> &Arc<Catalogue> {
        &self.catalogue
    }

    /// Has another catalogue, and another table of a number or none: what an open transaction defines. Returns those of before.
    #[inline]
    pub(crate) fn define(&mut self, number: u16, defined: Defined) -> Defined {
        let place = usize::from(number);
        if place >= self.tables.len() {
            self.tables.resize(place + 1, None);
        }
        let schema = defined.table.as_ref().map(|table| &*table.schema);
        self.references.set(number, schema);
        self.index_names.set(number, schema);
        let table = self.tables.get_mut(place).expect("it is there now");
        let before = Defined {
            catalogue: std::mem::replace(&mut self.catalogue, defined.catalogue),
            table: std::mem::replace(table, defined.table),
        };
        self.tables.resize(self.catalogue.definitions.len(), None);
        before
    }

    /// Reads no more, unless others have it, too: from here on no page is copied for it. If many pages were copied, their
    /// memory is returned: to free it takes long, and is for a thread that does not have the stage.
    #[inline]
    pub(crate) fn let_go(self: Arc<Self>) -> Option<SnapshotMemory> {
        let SpaceSnapshot { rows, indexes, .. } = Arc::into_inner(self)?;
        let let_go = |pages: Arc<PageSnapshot>| Arc::into_inner(pages).map(PageSnapshot::let_go);
        let pages = [let_go(rows), let_go(indexes)];
        let copies = pages.iter().flatten().map(KeptPages::copies).max();
        (copies > Some(COPIES_FEW)).then_some(SnapshotMemory { _pages: pages })
    }

    /// Returns true if it was ended: every read fails.
    #[inline]
    pub fn is_ended(&self) -> bool {
        self.rows.is_ended()
    }
}
