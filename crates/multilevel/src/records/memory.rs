//! The memory of a table: the place of each key's record, and the pages with room.
//!
//! Operations are undone page by page, and executed again, without a call of this module. So it has only *hints*, and
//! each is checked under the lock of its page before it is believed. Invariants:
//!
//! - Every record on the pages has an entry, also one that may come back when a page is restored. So an entry is
//!   removed only when another record is put into its place. The page must not have been changed before by this
//!   operation (with a single level, by this transaction). Other entries of free places are harmless.
//! - While snapshots are open no entry is removed, since the record of a place in a snapshot may be the former one.
//!   Beyond [`KEPT_MAX`] entries that are kept for them the oldest is removed. Older snapshots find no records by keys
//!   any more, but return that they were ended. more, but return that they were ended.
//! - A page is removed from those with room only by an operation that finds it full, or of another use, and has not
//!   changed it. It comes back with the next record that is removed from it.
//! - In a table with texts or bytes an empty page of either use may become one of rows or of cells. Its use is written
//!   into it before a row or a cell is.

use super::RowsOf;
use super::room::Room;
use crate::areas::Areas;
use crate::index::locks::object;
use crate::pages::Area;
use hashbrown::HashTable;
use sardonyx_base::sync::Mutex;
use sardonyx_base::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use sardonyx_storage::page::Address;
use sardonyx_storage::store::SnapshotEnded;
use smallvec::SmallVec;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Parts of the index, each behind its own lock.
pub(super) const SHARDS: usize = 64;

/// Entries of a table that are kept for snapshots only, at most: some 60 MB.
const KEPT_MAX: usize = 1 << 20;

/// So many of them go at once when the last snapshot does, so that no operation waits long.
const FORGOTTEN_AT_ONCE: usize = 64;

#[derive(Debug)]
pub struct TableMemory {
    pub(crate) area: Area,
    pub(super) rows: Arc<RowsOf>,
    /// Pages in use, from the table's first on. Only the log's owner changes it.
    pub(super) pages_used: AtomicU64,
    pub(super) index: Vec<Mutex<Shard>>,
    pub(super) room: Mutex<Room>,
    /// Snapshots that are open.
    snapshots: AtomicUsize,
    kept: Mutex<Kept>,
    /// The table of a snapshot's memory.
    shown: Option<Shown>,
}

/// Entries that only snapshots keep.
#[derive(Debug, Default)]
struct Kept {
    /// In the order of their removal without snapshots; some twice.
    order: VecDeque<(u64, Address)>,
    /// The number before them.
    gone: u64,
    /// By entry: the number before it at its last removal without snapshots.
    numbers: HashMap<(u64, Address), u64>,
}

impl Kept {
    fn next_number(&self) -> u64 {
        self.gone + self.order.len() as u64
    }

    fn keep(&mut self, entry: (u64, Address)) {
        self.numbers.insert(entry, self.next_number());
        self.order.push_back(entry);
    }

    /// Takes the oldest out. `Some(None)` if it has come back, or exists again.
    fn pop(&mut self) -> Option<Option<(u64, Address)>> {
        let entry = self.order.pop_front()?;
        let number = self.gone;
        self.gone += 1;
        let is_last = self.numbers.get(&entry) == Some(&number);
        if is_last {
            self.numbers.remove(&entry);
        }
        Some(is_last.then_some(entry))
    }
}

/// The part of a table that a snapshot shows.
#[derive(Debug)]
struct Shown {
    of: Arc<TableMemory>,
    /// The pages that there were.
    areas: Arc<Areas>,
    /// It needs the entries that are kept from this one on.
    first: u64,
}

/// By hash: addresses of records.
pub(super) type Shard = HashTable<(u64, Address)>;

impl TableMemory {
    /// A table without pages.
    pub(crate) fn new(number: u16, rows: impl Into<Arc<RowsOf>>) -> Self {
        TableMemory {
            area: Area(number),
            rows: rows.into(),
            pages_used: AtomicU64::new(0),
            index: (0..SHARDS).map(|_| Mutex::default()).collect(),
            room: Mutex::default(),
            snapshots: AtomicUsize::new(0),
            kept: Mutex::default(),
            shown: None,
        }
    }

    /// For a snapshot, of which the caller has the log: the table's entries are found through it, and its own
    /// come to them. They are kept for it until it is dropped.
    pub(crate) fn show(of: Arc<TableMemory>, areas: Arc<Areas>) -> Self {
        let kept = of.kept.lock();
        of.snapshots.fetch_add(1, Ordering::Relaxed);
        let first = kept.next_number();
        drop(kept);
        let mut shows = TableMemory::new(of.area.0, of.rows.clone());
        let used = of.pages_used();
        shows.set_pages_used(used);
        shows.room.lock().known = used;
        shows.shown = Some(Shown { of, areas, first });
        shows
    }

    /// Its number in the catalogue.
    pub fn number(&self) -> u16 {
        self.area.0
    }

    pub fn name(&self) -> &str {
        self.format().table()
    }

    pub fn pages_used(&self) -> u64 {
        self.pages_used.load(Ordering::Acquire)
    }

    /// More pages are in use; the caller has the log.
    pub fn set_pages_used(&self, pages: u64) {
        self.pages_used.store(pages, Ordering::Release);
    }

    /// The number of a key, among locks and here.
    #[inline]
    pub fn hash(&self, key: &[u8]) -> u64 {
        object(self.area, Some(key))
    }

    fn shard(&self, hash: u64) -> &Mutex<Shard> {
        &self.index[(hash >> 32) as usize % SHARDS]
    }

    /// The places where records of keys with this hash may be.
    #[inline]
    pub fn places(&self, hash: u64) -> SmallVec<[Address; 4]> {
        let mut places: SmallVec<[Address; 4]> = {
            let shard = self.shard(hash).lock();
            let found = shard.iter_hash(hash).filter(|(of, _)| *of == hash);
            found.map(|(_, address)| *address).collect()
        };
        if let Some(Shown { of, areas, .. }) = &self.shown {
            let shown = of.places(hash).into_iter();
            places.extend(shown.filter(|place| areas.check(place.page()).is_ok()));
        }
        places
    }

    /// Checks that the result of [`TableMemory::places`] was complete; always true, except in a snapshot.
    pub fn check(&self) -> Result<(), SnapshotEnded> {
        match &self.shown {
            Some(Shown { of, first, .. }) if of.kept.lock().gone > *first => Err(SnapshotEnded),
            _ => Ok(()),
        }
    }

    /// A record is put into a place.
    pub fn insert(&self, hash: u64, address: Address) {
        // Acquire: none is left, and then nothing is taken out for the last of them any more.
        if self.snapshots.load(Ordering::Acquire) > 0 {
            self.kept.lock().numbers.remove(&(hash, address));
        }
        let mut shard = self.shard(hash).lock();
        if shard
            .find(hash, |entry| *entry == (hash, address))
            .is_none()
        {
            shard.insert_unique(hash, (hash, address), |(hash, _)| *hash);
        }
    }

    /// A place has another record, and the one that it had cannot come back.
    pub fn forget(&self, hash: u64, address: Address) {
        // A snapshot that shows the record which was there was taken before it was taken out.
        if self.snapshots.load(Ordering::Acquire) > 0 {
            let mut kept = self.kept.lock();
            if self.snapshots.load(Ordering::Acquire) > 0 {
                kept.keep((hash, address));
                if kept.order.len() > KEPT_MAX {
                    self.forget_oldest(&mut kept);
                }
                return;
            }
        }
        self.remove(hash, address);
    }

    /// With the lock, so that a row that is put into such a place meanwhile gets its entry after this. Returns true if
    /// there was any.
    fn forget_oldest(&self, kept: &mut Kept) -> bool {
        let oldest = kept.pop();
        if let Some(Some((hash, address))) = oldest {
            self.remove(hash, address);
        }
        oldest.is_some()
    }

    /// A snapshot was dropped; with the last one the entries that were kept for them are removed.
    fn hide(&self) {
        loop {
            let mut kept = self.kept.lock();
            let is_last = self.snapshots.load(Ordering::Relaxed) == 1;
            let mut forget = 0..FORGOTTEN_AT_ONCE;
            if !is_last || !forget.all(|_| self.forget_oldest(&mut kept)) {
                self.snapshots.fetch_sub(1, Ordering::Release);
                return;
            }
        }
    }

    fn remove(&self, hash: u64, address: Address) {
        let mut shard = self.shard(hash).lock();
        if let Ok(entry) = shard.find_entry(hash, |entry| *entry == (hash, address)) {
            entry.remove();
        }
    }
}

impl Drop for TableMemory {
    fn drop(&mut self) {
        if let Some(Shown { of, .. }) = &self.shown {
            of.hide();
        }
    }
}
