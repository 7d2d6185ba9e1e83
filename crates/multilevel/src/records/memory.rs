//! What is in memory of a table: where each key's record is, and which pages have room.
//!
//! Operations are undone page by page, and executed again; nothing tells this module. So it has only
//! *hints*, and each is looked at under the lock of its page before it is believed. Invariants:
//!
//! - Every record on the pages has an entry, also one that may come back when a page is put back as it
//!   was. So an entry goes only when another record is put into its place, and only if the page was not
//!   changed by this operation (with a single level, this transaction) before. Other entries of places
//!   that are free are harmless.
//! - While snapshots are open no entry goes, since what they show of a place may be the record that it had.
//!   Beyond [`KEPT_MAX`] that are kept for them the oldest goes, and snapshots that are older find no records
//!   by keys any more, but are told that they were ended.
//! - A page is taken from those with room only by an operation that finds it full and has not changed
//!   it, and comes back with the next record that is taken out of it.

use crate::areas::Areas;
use crate::index::locks::object;
use crate::pages::{Area, Pages, Stop};
use hashbrown::HashTable;
use sardonyx_base::hash::{IntegerMap, IntegerSet};
use sardonyx_base::sync::Mutex;
use sardonyx_base::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use sardonyx_rows::layout::PageLayout;
use sardonyx_rows::schema::Schema;
use sardonyx_rows::{Plain, TableError, beyond_records};
use sardonyx_storage::catalogue::{Catalogue, Kind};
use sardonyx_storage::page::{Address, PageId};
use sardonyx_storage::store::SnapshotEnded;
use sardonyx_table::read_contents;
use smallvec::SmallVec;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

/// Parts of the index, each behind its own lock.
const SHARDS: usize = 64;

/// Insertions take turns on so many pages, so that those that run side by side seldom meet.
const PAGES_IN_TURN: usize = 8;

/// Pages that are taken into use at once, unless there are fewer to be had.
const PAGES_PER_GROWTH: u64 = 8;

/// Entries of a table that are kept for snapshots only, at most: some 60 MB.
const KEPT_MAX: usize = 1 << 20;

/// So many of them go at once when the last snapshot does, so that no operation waits long.
const FORGOTTEN_AT_ONCE: usize = 64;

/// One table.
#[derive(Debug)]
pub struct TableMemory {
    pub(super) area: Area,
    pub(super) layout: PageLayout,
    /// Where the key stands in a record.
    pub(super) key: Range<usize>,
    /// Pages in use, from the table's first on. Only the log's owner changes it.
    pages_used: AtomicU64,
    index: Vec<Mutex<Shard>>,
    room: Mutex<Room>,
    /// Snapshots that are open.
    snapshots: AtomicUsize,
    kept: Mutex<Kept>,
    /// Of a snapshot's: the table that it shows.
    shown: Option<Shown>,
}

/// Entries that would be gone, were it not for snapshots.
#[derive(Debug, Default)]
struct Kept {
    /// In the order in which they would have gone; some are there twice.
    order: VecDeque<(u64, Address)>,
    /// How many were in front of them.
    gone: u64,
    /// By entry: how many were in front of it when it would have gone last.
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

    /// Takes the oldest out. `Some(None)` if it has come back, or is there again.
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

/// What a snapshot shows of a table.
#[derive(Debug)]
struct Shown {
    of: Arc<TableMemory>,
    /// The pages that there were.
    areas: Arc<Areas>,
    /// It needs the entries that are kept from this one on.
    first: u64,
}

/// By hash: addresses of records.
type Shard = HashTable<(u64, Address)>;

/// Pages that may have a free place.
#[derive(Debug, Default)]
struct Room {
    pages: VecDeque<PageId>,
    /// The same.
    listed: IntegerSet<u64>,
    /// Whose turn it is.
    turn: usize,
    /// Pages in use that have been listed once.
    known: u64,
}

impl Room {
    fn list(&mut self, page: PageId) {
        if self.listed.insert(page.0) {
            self.pages.push_front(page);
        }
    }

    /// One of the first, each in its turn.
    fn next(&mut self) -> Option<PageId> {
        self.turn = self.turn.wrapping_add(1);
        let among = self.pages.len().min(PAGES_IN_TURN);
        self.pages.get(self.turn.checked_rem(among)?).copied()
    }

    /// Takes a page out of the list, or puts it at its end.
    fn is_full(&mut self, page: PageId, stays: bool) {
        let nth = self.pages.iter().position(|listed| *listed == page);
        if let Some(page) = nth.and_then(|nth| self.pages.remove(nth)) {
            if stays {
                self.pages.push_back(page);
            } else {
                self.listed.remove(&page.0);
            }
        }
    }
}

impl TableMemory {
    /// A table without pages.
    pub fn new(number: u16, layout: PageLayout, key: Range<usize>) -> Self {
        TableMemory {
            area: Area(number),
            layout,
            key,
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
        let mut shows = TableMemory::new(of.area.0, of.layout, of.key.clone());
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

    /// How its records lie in a page.
    pub fn layout(&self) -> PageLayout {
        self.layout
    }

    /// Whether it has records of this type.
    pub fn is_of<R: Plain>(&self) -> bool {
        let key = R::KEY_OFFSET..R::KEY_OFFSET + size_of::<R::Key>();
        self.layout.stride == size_of::<R>() && self.key == key
    }

    /// Pages in use.
    pub fn pages_used(&self) -> u64 {
        self.pages_used.load(Ordering::Acquire)
    }

    /// More pages are in use; the caller has the log.
    pub fn set_pages_used(&self, pages: u64) {
        self.pages_used.store(pages, Ordering::Release);
    }

    /// What stands for a key, among locks and here.
    #[inline]
    pub fn hash(&self, key: &[u8]) -> u64 {
        object(self.area, Some(key))
    }

    fn shard(&self, hash: u64) -> &Mutex<Shard> {
        &self.index[(hash >> 32) as usize % SHARDS]
    }

    /// Where records of keys with this hash may be.
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

    /// Whether what [`TableMemory::places`] gave before was all; always, but in a snapshot.
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

    /// With the lock, so that what is put into such a place meanwhile gets its entry after this. Returns
    /// whether there was any.
    fn forget_oldest(&self, kept: &mut Kept) -> bool {
        let oldest = kept.pop();
        if let Some(Some((hash, address))) = oldest {
            self.remove(hash, address);
        }
        oldest.is_some()
    }

    /// A snapshot is gone; with the last go the entries that were kept for them.
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

    /// A page has room again.
    pub fn has_room(&self, page: PageId) {
        self.room.lock().list(page);
    }

    /// A free place, its page locked to be written.
    pub fn allocate(&self, pages: &mut dyn Pages) -> Result<(PageId, usize), Stop> {
        let mut own = 0;
        loop {
            let page = match own < PAGES_IN_TURN {
                true => self.room.lock().next(),
                false => None,
            };
            let Some(page) = page else {
                self.take_pages_into_use(pages)?;
                own = 0;
                continue;
            };
            let bytes = pages.read_to_write(page)?;
            if let Some(slot) = self.layout.vacant(bytes).next() {
                return Ok((page, slot));
            }
            let may_come_back = pages.is_changed(page);
            own += usize::from(may_come_back);
            self.room.lock().is_full(page, may_come_back);
        }
    }

    /// Lists pages that were never listed, after taking some into use if there are none.
    fn take_pages_into_use(&self, pages: &mut dyn Pages) -> Result<(), Stop> {
        let known = self.room.lock().known;
        let mut used = pages.pages_of(self.area)?;
        if known >= used {
            match pages.grow(self.area, used + PAGES_PER_GROWTH) {
                // Where there is little left, one will do.
                Err(Stop::Full { .. }) => pages.grow(self.area, used + 1)?,
                grown => grown?,
            }
            used = pages.pages_of(self.area)?;
        }
        let new = (known..used).map(|index| pages.page(self.area, index));
        let new: SmallVec<[PageId; 16]> = new.collect::<Result<_, _>>()?;
        let mut room = self.room.lock();
        if room.known == known {
            room.known = used;
            // The first in front.
            new.into_iter().rev().for_each(|page| room.list(page));
        }
        Ok(())
    }
}

impl Drop for TableMemory {
    fn drop(&mut self) {
        if let Some(Shown { of, .. }) = &self.shown {
            of.hide();
        }
    }
}

/// All tables of a database, by number, of its pages when it is opened; `schemas` are all that are stored. Those that have
/// more than records are left out: no operation may name them ([`Database::table`](crate::Database::table)).
pub(crate) fn read_tables(
    bytes: &[u8],
    catalogue: &Catalogue,
    schemas: &BTreeMap<u16, Schema>,
) -> Result<IntegerMap<u16, Arc<TableMemory>>, TableError> {
    let mut tables = IntegerMap::default();
    for number in 0..catalogue.definitions.len() as u16 {
        let area = Area(number);
        let Kind::Table { key_offset, .. } = catalogue.definitions[usize::from(number)].kind else {
            continue;
        };
        if beyond_records(number, schemas).is_some() {
            continue;
        }
        let mut index: Vec<Shard> = (0..SHARDS).map(|_| Shard::default()).collect();
        let contents = read_contents(bytes, catalogue, number, |address, key| {
            let hash = object(area, Some(key));
            let shard = &mut index[(hash >> 32) as usize % SHARDS];
            let has_key = |entry: &(u64, Address)| {
                let at = entry.1.0 as usize + key_offset;
                entry.0 == hash && bytes[at..at + key.len()] == *key
            };
            let is_new = shard.find(hash, has_key).is_none();
            shard.insert_unique(hash, (hash, address), |(hash, _)| *hash);
            is_new
        })?;
        let Some(contents) = contents else {
            continue;
        };
        let mut room = Room {
            known: contents.pages_used,
            ..Room::default()
        };
        contents
            .with_room
            .into_iter()
            .rev()
            .for_each(|page| room.list(page));
        let mut table = TableMemory::new(number, contents.layout, contents.key);
        table.pages_used = AtomicU64::new(contents.pages_used);
        table.index = index.into_iter().map(Mutex::new).collect();
        table.room = Mutex::new(room);
        tables.insert(number, Arc::new(table));
    }
    Ok(tables)
}
