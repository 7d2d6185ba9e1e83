//! Building the index of a whole table at once, on several threads.
//!
//! The number of records is known (the bitmaps have been counted), so the shards get their final size first and
//! nothing ever moves. The threads share all shards. An entry is put into an empty place by compare-and-swap, which
//! hardly ever fails, as two threads rarely want one place at one time. So every record is read once, by one thread,
//! and no thread waits.
//!
//! Waiting for memory takes most of the time, thrice for each record: its bitmap, its key, its place in the index.
//! Records are therefore taken in batches, whose keys and then places are prefetched before the first of them is used.
//!
//! Entries are never removed meanwhile. So of two records with one key the later one meets the earlier one's entry on
//! its way to an empty place: damaged pages are noticed.

use crate::index::{
    HashIndex, SHARD_PLACES_MAX, SHARD_PLACES_MIN, address_of, entry, prefix, same_tag,
};
use crate::index_store::IndexStore;
use crate::table::{TableState, make_room, page_bytes};
use sardonyx_rows::layout::PageLayout;
use sardonyx_storage::page::{Address, PageId};
use sardonyx_storage::prefetch::{prefetch, prefetch_value};
use sardonyx_storage::store::StoreError;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use zerocopy::FromBytes;

/// Records whose memory is asked for together.
const BATCH: usize = 32;
/// Pages that a thread takes at a time.
const PAGES_PER_TURN: u64 = 64;
/// A thread costs more than indexing the records of fewer pages than these.
const PAGES_PER_WORKER_MIN: u64 = 128;

/// The reason why an index cannot be built.
#[derive(Debug)]
pub(crate) enum BuildError {
    /// Two records have one key; the second one's address.
    SecondRecord(Address),
    Store(StoreError),
}

impl From<StoreError> for BuildError {
    fn from(error: StoreError) -> Self {
        BuildError::Store(error)
    }
}

/// The reason why a table could not be built in shards of one size.
enum Stop {
    Second(Address),
    /// More keys than places in a shard: the hashes are not evenly spread.
    Skewed,
}

/// Indexes all records of a table; there are `records` of them.
pub(crate) fn build_index(
    bytes: &[u8],
    state: &TableState,
    store: &mut IndexStore,
    records: usize,
    workers: usize,
) -> Result<HashIndex, BuildError> {
    if store.pages_mut().has_snapshots() {
        // If one table is built while others are read, the threads' stores would not be kept for their readers.
        return build_one_by_one(bytes, state, store);
    }
    let turns = turns(state);
    let pages: u64 = turns.iter().map(|turn| turn.end - turn.start).sum();
    let useful = (pages / PAGES_PER_WORKER_MIN).max(1);
    let workers = workers.min(usize::try_from(useful).unwrap_or(usize::MAX));
    // At most two thirds full: a shard holds three quarters, and the hash spreads well.
    let places = (records + records / 2).next_power_of_two();
    let in_shard = places.clamp(SHARD_PLACES_MIN, SHARD_PLACES_MAX);
    let shards = (places / in_shard).max(1);
    let blocks: Vec<_> = (0..shards)
        .map(|_| store.allocate_zeroed(in_shard * 8))
        .collect::<Result<_, _>>()?;
    let depth = shards.trailing_zeros();
    // There are no snapshots (see above).
    let words = <[AtomicU64]>::mut_from_bytes(store.pages_mut().bytes_mut())
        .expect("pages are aligned and full of words");
    let words = &*words;
    let builder = Builder {
        bytes,
        state,
        turns,
        next_turn: AtomicUsize::new(0),
        stopped: AtomicBool::new(false),
        shards: blocks
            .iter()
            .map(|block| &words[block.0 as usize / 8..][..in_shard])
            .collect(),
        depth,
    };
    let result = std::thread::scope(|scope| {
        // This thread is one of the workers.
        let others: Vec<_> = (1..workers)
            .map(|_| sardonyx_base::signals::spawn_scoped(scope, || builder.work()))
            .collect();
        let mut result = builder.work();
        for other in others {
            result = result.and(other.join().expect("indexing does not panic"));
        }
        result
    });
    match result {
        Ok(()) => {
            let mut index = HashIndex::from_shards(store, &blocks, in_shard, depth);
            if !index.is_skewed() {
                return Ok(index);
            }
            index.clear(store);
        }
        Err(Stop::Second(address)) => return Err(BuildError::SecondRecord(address)),
        Err(Stop::Skewed) => {
            for block in blocks {
                store.free(block, in_shard * 8);
            }
        }
    }
    build_one_by_one(bytes, state, store)
}

/// Inserts one by one, so that shards are split where they must be.
fn build_one_by_one(
    bytes: &[u8],
    state: &TableState,
    store: &mut IndexStore,
) -> Result<HashIndex, BuildError> {
    let (key, mut index) = (state.key(), HashIndex::new());
    for address in state.records(bytes) {
        let hash = key.hash(bytes, address);
        let is_it = |there| key.is_same(bytes, there, address);
        if index.find(store, hash, is_it).is_some() {
            return Err(BuildError::SecondRecord(address));
        }
        make_room(key, &mut index, store, bytes, hash)?;
        index.insert(store, hash, address);
    }
    Ok(index)
}

/// The used pages, in parts.
pub(crate) fn turns(state: &TableState) -> Vec<Range<u64>> {
    let mut turns = Vec::new();
    for run in state.used_runs() {
        for first in run.clone().step_by(PAGES_PER_TURN as usize) {
            turns.push(first..run.end.min(first + PAGES_PER_TURN));
        }
    }
    turns
}

struct Builder<'a> {
    bytes: &'a [u8],
    state: &'a TableState,
    turns: Vec<Range<u64>>,
    next_turn: AtomicUsize,
    /// Set by a thread that fails, so that the others stop.
    stopped: AtomicBool,
    shards: Vec<&'a [AtomicU64]>,
    depth: u32,
}

impl Builder<'_> {
    /// Indexes parts of the table until all are taken.
    fn work(&self) -> Result<(), Stop> {
        let mut batch = Batch::default();
        while let Some(turn) = self
            .turns
            .get(self.next_turn.fetch_add(1, Ordering::Relaxed))
        {
            if self.stopped.load(Ordering::Relaxed) {
                return Ok(());
            }
            for page in turn.clone() {
                // The bitmap of the next page.
                prefetch(
                    self.bytes,
                    PageLayout::table_word(PageId(page + 1)).0 as usize,
                );
                let content = page_bytes(self.bytes, PageId(page));
                if !self.state.has_rows(content) {
                    continue;
                }
                let layout = self.state.layout_of(content);
                for slot in layout.occupied(content) {
                    batch.add(layout.record(PageId(page), slot));
                    if batch.is_full() {
                        self.flush(&mut batch)?;
                    }
                }
            }
        }
        self.flush(&mut batch)
    }

    fn flush(&self, batch: &mut Batch) -> Result<(), Stop> {
        let (bytes, key) = (self.bytes, self.state.key());
        let mut hashes = [0; BATCH];
        let addresses = batch.take();
        for &address in addresses {
            key.prefetch(bytes, address);
        }
        for (hash, &address) in hashes.iter_mut().zip(addresses) {
            *hash = key.hash(bytes, address);
            let shard = &self.shards[prefix(*hash, self.depth)];
            prefetch_value(&shard[*hash as usize & (shard.len() - 1)]);
        }
        for (&hash, &address) in hashes.iter().zip(addresses) {
            self.insert(hash, address).inspect_err(|_| {
                self.stopped.store(true, Ordering::Relaxed);
            })?;
        }
        Ok(())
    }
}

impl Builder<'_> {
    /// Puts an entry into the first empty place, unless its key is there.
    #[inline]
    fn insert(&self, hash: u64, address: Address) -> Result<(), Stop> {
        let (bytes, key) = (self.bytes, self.state.key());
        let shard = &self.shards[prefix(hash, self.depth)];
        let mask = shard.len() - 1;
        let new = entry(hash, address);
        // As `PageRead::word` reads it.
        let stored = new.to_le();
        for step in 0..shard.len() {
            let place = &shard[(hash as usize).wrapping_add(step) & mask];
            let mut found = place.load(Ordering::Relaxed);
            if found == 0 {
                // The pages do not change, so the threads exchange only entries.
                match place.compare_exchange(0, stored, Ordering::Relaxed, Ordering::Relaxed) {
                    Ok(_) => return Ok(()),
                    Err(other) => found = other,
                }
            }
            let found = u64::from_le(found);
            if same_tag(found, new) && key.is_same(bytes, address_of(found), address) {
                return Err(Stop::Second(address.max(address_of(found))));
            }
        }
        Err(Stop::Skewed)
    }
}

/// Addresses of records that are indexed together.
struct Batch {
    addresses: [Address; BATCH],
    len: usize,
}

impl Default for Batch {
    fn default() -> Self {
        Batch {
            addresses: [Address(0); BATCH],
            len: 0,
        }
    }
}

impl Batch {
    #[inline]
    fn add(&mut self, address: Address) {
        self.addresses[self.len] = address;
        self.len += 1;
    }

    fn is_full(&self) -> bool {
        self.len == BATCH
    }

    /// Takes all addresses; the batch is empty afterwards.
    fn take(&mut self) -> &[Address] {
        &self.addresses[..std::mem::take(&mut self.len)]
    }
}
