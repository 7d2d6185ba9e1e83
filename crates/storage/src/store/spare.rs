//! Parts of snapshots that are kept for the next ones: tables, and a pool of copies. To map and to free their memory takes
//! system calls, page faults and a look of all processors, longer than most snapshots live.
//!
//! Invariant: a kept table has no set entry, and no thread can read it as a part of an earlier snapshot.

use super::PageStore;
use super::frozen::{Frozen, Untouched};
use sardonyx_base::sync::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;

/// The parts of snapshots that are kept for the next ones.
#[derive(Debug, Default)]
pub(super) struct Spare(Mutex<SpareParts>);

#[derive(Debug, Default)]
struct SpareParts {
    /// A pool with few pages, and the bound on them.
    pool: Option<(u64, PageStore)>,
    /// The newest one last.
    tables: VecDeque<Untouched>,
}

/// The most tables that are kept: those of two stores' snapshots that overlap.
const SPARE_TABLES_MAX: usize = 8;
/// The most bytes of the kept tables, unless there is only one. A table takes at most a 1,024th of its store.
const SPARE_TABLE_BYTES_MAX: usize = 16 << 20;
/// The most pages of a pool that is kept.
const SPARE_PAGES_MAX: u64 = 256;

impl SpareParts {
    fn has_too_many(&self) -> bool {
        let bytes: usize = self.tables.iter().map(Untouched::bytes).sum();
        self.tables.len() > SPARE_TABLES_MAX || bytes > SPARE_TABLE_BYTES_MAX
    }
}

impl Spare {
    /// A table for so many pages.
    pub fn table(&self, pages: u64) -> Option<Untouched> {
        let mut parts = self.0.lock();
        let fits = parts.tables.iter().rposition(|table| table.fits(pages));
        if let Some(place) = fits {
            return parts.tables.remove(place);
        }
        // The store has grown. No other thread waits while their memory is given back.
        let outgrown = std::mem::take(&mut parts.tables);
        drop(parts);
        drop(outgrown);
        None
    }

    /// Keeps the table of a snapshot without readers, if no other thread has the snapshot, which then keeps it.
    pub fn keep_table(&self, frozen: Arc<Frozen>) {
        let Some(table) = Arc::into_inner(frozen).and_then(Frozen::into_untouched) else {
            return;
        };
        let mut parts = self.0.lock();
        parts.tables.push_back(table);
        let mut oldest = Vec::new();
        while parts.tables.len() > 1 && parts.has_too_many() {
            oldest.extend(parts.tables.pop_front());
        }
        // No other thread waits while their memory is given back.
        drop(parts);
        drop(oldest);
    }

    /// A pool with this bound.
    pub fn pool(&self, pages_max: u64) -> Option<PageStore> {
        let there = self.0.lock().pool.take();
        there
            .filter(|(bound, _)| *bound == pages_max)
            .map(|(_, pool)| pool)
    }

    /// Keeps a pool that no snapshot has any more, if it has few pages.
    pub fn keep_pool(&self, pages_max: u64, pool: PageStore) {
        if pool.pages() <= SPARE_PAGES_MAX.min(pages_max) {
            let before = self.0.lock().pool.replace((pages_max, pool));
            drop(before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{Address, PAGE_SIZE};
    use crate::store::PageRead;

    fn write(store: &mut PageStore, page: u64, value: u8) {
        store.write(Address(page * PAGE_SIZE as u64), &[value]);
    }

    #[test]
    fn snapshots_of_a_store_that_changes_use_one_table_again_and_read_their_own_pages() {
        let mut store = PageStore::reserve(1 << 30).unwrap();
        store.grow_to(40).unwrap();
        let mut places = Vec::new();
        for round in 0..10_u8 {
            let snapshot = store.snapshot().unwrap();
            places.push(snapshot.place_of_table());
            for page in 0..40 {
                write(&mut store, page, round + 1);
                let there = snapshot.word(Address(page * PAGE_SIZE as u64));
                assert_eq!(there.unwrap(), u64::from(round), "{page}");
            }
            // A table is used for a store that has grown within the same memory.
            store.grow_to(40 + u64::from(round)).unwrap();
        }
        places.sort();
        places.dedup();
        assert_eq!(places.len(), 1);
    }

    #[test]
    fn snapshots_that_overlap_take_turns_with_few_tables() {
        let mut store = PageStore::reserve(1 << 30).unwrap();
        store.grow_to(8).unwrap();
        let (mut open, mut places) = (VecDeque::new(), Vec::new());
        for round in 0..64_u8 {
            let snapshot = store.snapshot().unwrap();
            places.push(snapshot.place_of_table());
            open.push_back((round, snapshot));
            write(&mut store, u64::from(round) % 8, round);
            if open.len() > 3 {
                open.pop_front();
            }
            for (taken, snapshot) in &open {
                for page in 0..8 {
                    let last = (0..*taken).rev().find(|round| round % 8 == page);
                    let there = snapshot.word(Address(u64::from(page) * PAGE_SIZE as u64));
                    assert_eq!(there.unwrap(), u64::from(last.unwrap_or(0)));
                }
            }
        }
        places.sort();
        places.dedup();
        assert!(places.len() <= 6, "{}", places.len());
    }

    #[test]
    fn few_tables_are_kept_and_none_that_the_store_has_outgrown() {
        let mut store = PageStore::reserve(1 << 30).unwrap();
        store.grow_to(8).unwrap();
        let mut open = Vec::new();
        for round in 0..12 {
            open.push(store.snapshot().unwrap());
            write(&mut store, 1, round);
        }
        drop(open);
        assert_eq!(store.spare.0.lock().tables.len(), SPARE_TABLES_MAX);
        store.grow_to(8 << 10).unwrap();
        drop(store.snapshot().unwrap());
        write(&mut store, 1, 77);
        drop(store.snapshot().unwrap());
        assert!(store.spare.0.lock().tables.len() <= 2);
    }

    #[test]
    fn a_pool_of_few_pages_is_kept_and_one_of_many_is_freed() {
        for (pages, is_kept) in [(200, true), (300, false)] {
            let mut store = PageStore::reserve(1 << 30).unwrap();
            store.grow_to(pages).unwrap();
            let snapshot = store.snapshot().unwrap();
            (0..pages).for_each(|page| write(&mut store, page, 1));
            drop(snapshot);
            let parts = store.spare.0.lock();
            assert_eq!(parts.pool.is_some(), is_kept, "{pages}");
        }
    }

    #[test]
    fn the_bound_on_copies_counts_the_pages_of_a_kept_pool() {
        let mut store = PageStore::reserve(1 << 30).unwrap();
        store.grow_to(8).unwrap();
        store.set_snapshot_bytes_max(3 * PAGE_SIZE as u64);
        for value in 1..5 {
            let snapshot = store.snapshot().unwrap();
            (0..3).for_each(|page| write(&mut store, page, value));
            assert!(!snapshot.is_ended());
            write(&mut store, 3, value);
            assert!(snapshot.is_ended());
        }
    }
}
