//! The tables of a database that another process writes to: its log's groups applied to pages, with the indexes kept
//! as they change.
//!
//! The log has bytes and no rows. So a group is analysed first ([`touched`]): the rows of each table that it changes,
//! and the indexes that this concerns. Their entries are removed while the pages still have the old bytes. Then the
//! bytes are written, and the entries of the existing rows are inserted. The change of a field without an index costs
//! only its bytes. The catalogue and the schemas are compared with the known tables ([`described`]); a table that was
//! replaced is rebuilt, as at an opening.
//!
//! Invariants: between two groups pages and indexes are of one commit, and snapshots are taken only then. An index has
//! an entry for every existing row whenever its rows are compared.
//!
//! It is for reading: free places are not known, and there is no transaction on it.

mod checked;
mod described;
mod touched;

use crate::rebuild::RebuildReport;
use crate::snapshot::SpaceSnapshot;
use crate::space::TableSpace;
use crate::table::{TableState, make_index_room, page_bytes, remove_from_index};
use crate::undo::chosen;
use described::Owners;
use sardonyx_rows::TableError;
use sardonyx_rows::layout::{PageKind, PageUse};
use sardonyx_storage::log::record::{Body, RecordError, Records};
use sardonyx_storage::page::{Address, PAGE_SIZE, PageId};
use sardonyx_storage::store::PageStore;
use std::sync::Arc;
use touched::{ALL, HASH, Touched};

/// Tables that follow a log.
#[derive(Debug)]
pub struct FollowedSpace {
    space: TableSpace,
    owners: Owners,
    /// The rows of the group that is being applied; kept for its memory.
    touched: Touched,
}

/// The reason why a group was not applied. The tables are unusable then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FollowError {
    /// The tables are not sound after the group, or there is no memory for them.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The group's records cannot be decoded, although its checksum is right.
    #[error(transparent)]
    Record(#[from] RecordError),
}

impl FollowedSpace {
    /// Reads the catalogue of pages as a log left them, and rebuilds the indexes on `workers` threads.
    ///
    /// # Errors
    /// As [`TableSpace::open`].
    pub fn open(store: PageStore, workers: usize) -> Result<(Self, RebuildReport), TableError> {
        let (mut space, report) = TableSpace::open(store, workers)?;
        for table in 0..space.tables.len() as u16 {
            space.tables.state_mut(table).map(forget_places);
        }
        let owners = Owners::of(&space.catalogue)?;
        let followed = FollowedSpace {
            space,
            owners,
            touched: Touched::default(),
        };
        Ok((followed, report))
    }

    /// As of the last applied group.
    pub fn space(&self) -> &TableSpace {
        &self.space
    }

    /// Sets the bound on memory for pages that snapshots keep: [`TableSpace::set_snapshot_bytes_max`].
    pub fn set_snapshot_bytes_max(&mut self, bytes: u64) {
        self.space.set_snapshot_bytes_max(bytes);
    }

    /// A snapshot of everything that was applied.
    ///
    /// # Errors
    /// As [`TableSpace::snapshot`].
    pub fn snapshot(&mut self) -> Result<Arc<SpaceSnapshot>, TableError> {
        self.space.snapshot()
    }

    /// Applies the records of the log's next group.
    ///
    /// # Errors
    /// [`FollowError`]: a part of the group may have been applied. Nothing is to be read any more.
    pub fn apply(&mut self, payload: &[u8]) -> Result<(), FollowError> {
        let mut touched = std::mem::take(&mut self.touched);
        touched.look(payload, &self.space, &self.owners)?;
        self.unindex(&touched)?;
        self.write(payload)?;
        if touched.describes {
            self.describe(&mut touched)?;
        }
        self.index(&touched)?;
        let TableSpace {
            indexes, leaving, ..
        } = &mut self.space;
        leaving.step(indexes);
        self.space.epoch += 1;
        self.touched = touched;
        Ok(())
    }

    /// Removes the touched rows, whose bytes are still the old ones, from the indexes concerned.
    fn unindex(&mut self, touched: &Touched) -> Result<(), TableError> {
        for (&at, &(table, bits)) in &touched.rows {
            self.remove(table, Address(at), bits)?;
        }
        for &page in &touched.pages {
            for (table, row) in self.rows_of(page) {
                self.remove(table, row, ALL)?;
            }
        }
        Ok(())
    }

    fn write(&mut self, payload: &[u8]) -> Result<(), FollowError> {
        let store = &mut self.space.store;
        for record in Records::new(payload) {
            let Body::Write { address, bytes } = record?.body else {
                continue;
            };
            if address.0 as usize + bytes.len() > store.bytes().len() {
                let needed = address.page().0 + 1;
                store.grow_to(needed).map_err(TableError::Store)?;
            }
            store.write(address, bytes);
        }
        Ok(())
    }

    /// Inserts the touched rows that exist now into the indexes concerned, and examines the pages with another use.
    fn index(&mut self, touched: &Touched) -> Result<(), TableError> {
        for (&at, &(table, bits)) in &touched.rows {
            self.insert(table, Address(at), bits)?;
        }
        for &page in &touched.pages {
            let Some(table) = self.owners.of_page(page) else {
                continue;
            };
            let bytes = self.space.store.bytes();
            let Some(state) = self.space.tables.state_mut(table) else {
                continue;
            };
            match own_use(state, table, bytes, page) {
                Some(PageKind::Values { class }) => {
                    // From now on not all pages of the table are of rows.
                    state.values.refresh(bytes, table, page, class);
                }
                Some(PageKind::Rows { .. }) if !self.owners.was_rebuilt(table) => {
                    for (table, row) in self.rows_of(page) {
                        self.insert(table, row, ALL)?;
                    }
                }
                _ => {}
            }
        }
        for &page in &touched.pages {
            if let Some(table) = self.owners.of_page(page) {
                let bytes = self.space.store.bytes();
                if let Some(state) = self.space.tables.state_mut(table) {
                    pass_used_pages(state, table, bytes);
                }
            }
        }
        self.owners.forget_rebuilt();
        Ok(())
    }

    /// The rows of a page in its current state, with their table's number.
    fn rows_of(&self, page: PageId) -> Vec<(u16, Address)> {
        let bytes = self.space.store.bytes();
        let Some(table) = self.owners.of_page(page) else {
            return Vec::new();
        };
        let Some(state) = &self.space.tables[usize::from(table)] else {
            return Vec::new();
        };
        match own_use(state, table, bytes, page) {
            Some(PageKind::Rows { .. }) => {
                let content = page_bytes(bytes, page);
                let layout = state.layout_of(content);
                let rows = layout.occupied(content);
                rows.map(|slot| (table, layout.record(page, slot)))
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    /// True if a row exists, of a table whose rows are in its page.
    fn is_there(state: &TableState, bytes: &[u8], row: Address) -> bool {
        let content = page_bytes(bytes, row.page());
        let layout = state.layout_of(content);
        layout.is_occupied(content, layout.slot(row))
    }

    fn remove(&mut self, table: u16, row: Address, bits: u64) -> Result<(), TableError> {
        let TableSpace {
            store,
            tables,
            indexes,
            ..
        } = &mut self.space;
        let bytes = store.bytes();
        let Some(state) = tables.state_mut(table) else {
            return Ok(());
        };
        if !Self::is_there(state, bytes, row) {
            return Ok(());
        }
        if bits & HASH != 0 {
            remove_from_index(state, indexes, bytes, row);
        }
        for index in chosen(&mut state.secondary, bits as u32) {
            index.remove(indexes, bytes, row)?;
        }
        Ok(())
    }

    fn insert(&mut self, table: u16, row: Address, bits: u64) -> Result<(), TableError> {
        let TableSpace {
            store,
            tables,
            indexes,
            ..
        } = &mut self.space;
        let bytes = store.bytes();
        let Some(state) = tables.state_mut(table) else {
            return Ok(());
        };
        if self.owners.was_rebuilt(table) || !Self::is_there(state, bytes, row) {
            return Ok(());
        }
        if bits & HASH != 0 && state.is_hashed {
            let hash = state.hash_at(bytes, row);
            make_index_room(state, indexes, bytes, hash).map_err(TableError::Store)?;
            state.index.insert(indexes, hash, row);
        }
        let name = Arc::clone(&state.name);
        for index in chosen(&mut state.secondary, bits as u32) {
            index.insert(indexes, bytes, row, &|| name.to_string())?;
        }
        Ok(())
    }
}

/// The use of a page of a table's extents, if the table itself has used it.
fn own_use(state: &TableState, table: u16, bytes: &[u8], page: PageId) -> Option<PageKind> {
    let end = page.address().0 as usize + PAGE_SIZE;
    if bytes.len() < end {
        return None;
    }
    let used = PageUse::of(page_bytes(bytes, page))?;
    ((used.table, used.life) == (table, state.life)).then_some(used.kind)
}

/// Moves past the pages that were used since: readers look at no page behind the first that never was.
fn pass_used_pages(state: &mut TableState, table: u16, bytes: &[u8]) {
    while let Some(extent) = state.extents.get(state.fresh.extent) {
        let page = PageId(extent.first_page.0 + state.fresh.page);
        if own_use(state, table, bytes, page).is_none() {
            break;
        }
        state.next_fresh_page();
    }
}

/// Forgets where a record could go, which readers do not need.
fn forget_places(state: &mut TableState) {
    state.free = Vec::new();
}
