//! The primary-key index: from a key's hash ([`crate::hash`]) to the address of its record. In memory; rebuilt at open
//! from the pages, or read as a clean close stored it (`stored`).
//!
//! The places are in an [`IndexStore`], which changes page by page as rows do. So a snapshot of it and a copy of the
//! [`Shards`] are the frozen index.
//!
//! Extendible hashing: the upper bits of the hash choose a shard through a directory, the lower bits a place in the
//! shard. A shard is an open-addressing array with linear probing. A full shard is split in two, and the directory
//! doubles when need be. So no insert ever waits for a rehash of the whole table, only of one shard (a fraction of a
//! millisecond).
//!
//! An entry is one word: a 24-bit tag from the hash and the record's address in units of 8 bytes (40 bits: 8 TiB).
//! Zero is an empty place. Only the record has the key itself, so a lookup compares it there. The tag makes comparing
//! a wrong record rare: 1 in 16 million in an index of many shards, or of one that was built whole. A small index that grows
//! has `tags` of which it makes larger shards.

mod new_shard;
mod tags;

use crate::described::{Described, Words};
use crate::index_store::IndexStore;
use new_shard::NewShard;
use sardonyx_storage::catalogue::ADDRESS_END;
use sardonyx_storage::page::Address;
use sardonyx_storage::prefetch::prefetch;
use sardonyx_storage::store::{PageRead, StoreError};
use tags::Tags;

const ADDRESS_BITS: u32 = 40;
const ADDRESS_MASK: u64 = (1 << ADDRESS_BITS) - 1;

/// Places in a shard at most; a shard is split when three quarters are taken.
pub(crate) const SHARD_PLACES_MAX: usize = 1 << 15;
pub(crate) const SHARD_PLACES_MIN: usize = 16;

/// A shard is not split further if the directory would have to distinguish so many times more prefixes than there are
/// shards.
const DEPTH_SKEW_MAX: u64 = 64;

/// Keys that are asked for ahead when a shard is made anew.
const AHEAD: usize = 16;

/// The memory that is asked for ahead of a key's hash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ahead {
    /// Of the row.
    Row,
    /// Of the key's value, if the row, which was asked for before, has it outside.
    Value,
}

const _: () = assert!(ADDRESS_END == 1 << (ADDRESS_BITS + 3));

/// The index of one table. Its places are in an [`IndexStore`], always the same one, so that snapshots see them
/// frozen.
#[derive(Debug)]
pub struct HashIndex {
    shards: Shards,
    /// The fill of each shard.
    fill: Vec<Fill>,
    len: usize,
}

/// The location of an index's places: all that a lookup needs, besides the places themselves.
#[derive(Clone, PartialEq, Debug)]
pub struct Shards {
    /// `1 << depth` entries: the shard for each value of the hash's upper bits.
    directory: Vec<u32>,
    depth: u32,
    places: Vec<Places>,
}

/// The places of a shard: words in a block.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Places {
    /// The block; 0 for the shard of an index that never had a key, whose one place is empty for ever.
    at: u64,
    /// Their number, a power of two, less one.
    mask: usize,
    tags: Tags,
}

#[derive(Clone, Copy, Debug)]
struct Fill {
    taken: usize,
    /// The number of the hash's upper bits that all keys of the shard share.
    depth: u32,
}

impl Default for HashIndex {
    fn default() -> Self {
        Self::new()
    }
}

impl HashIndex {
    /// An empty index, which takes no memory yet.
    pub fn new() -> Self {
        HashIndex {
            shards: Shards {
                directory: vec![0],
                depth: 0,
                places: vec![Places::NONE],
            },
            fill: vec![Fill { taken: 0, depth: 0 }],
            len: 0,
        }
    }

    /// An index of shards, blocks with so many places, that share the first `depth` bits, one for each
    /// value of them.
    pub(crate) fn from_shards(
        store: &IndexStore,
        blocks: &[Address],
        in_shard: usize,
        depth: u32,
    ) -> Self {
        assert_eq!(blocks.len(), 1 << depth, "a shard for each value");
        let places = blocks.iter().map(|block| Places {
            at: block.0,
            mask: in_shard - 1,
            tags: Tags::MIDDLE,
        });
        let shards = Shards {
            directory: (0..1 << depth).collect(),
            depth,
            places: places.collect(),
        };
        let fill = shards.places.iter().map(|places| Fill {
            taken: places.entries(store).count(),
            depth,
        });
        let fill: Vec<_> = fill.collect();
        HashIndex {
            len: fill.iter().map(|shard| shard.taken).sum(),
            fill,
            shards,
        }
    }

    /// Describes the places of its shards, for [`HashIndex::described`].
    pub(crate) fn describe(&self, words: &mut Words) {
        words.put(u64::from(self.shards.depth));
        for shard in &self.shards.directory {
            words.put(u64::from(*shard));
        }
        words.put(self.fill.len() as u64);
        for (places, fill) in self.shards.places.iter().zip(&self.fill) {
            words.put(places.at);
            words.put(places.mask as u64);
            words.put(places.tags.number());
            words.put(fill.taken as u64);
            words.put(u64::from(fill.depth));
        }
    }

    /// The index of a description, whose places are below `top`; `None` if there can be none.
    pub(crate) fn described(words: &mut Described<'_>, top: u64) -> Option<Self> {
        let depth = u32::try_from(words.word()?).ok()?;
        // More than the bits of addresses are never distinguished.
        let entries = 1usize
            .checked_shl(depth)
            .filter(|_| depth <= ADDRESS_BITS)?;
        words.has(entries.checked_mul(8)?)?;
        let directory: Option<Vec<u32>> = (0..entries)
            .map(|_| u32::try_from(words.word()?).ok())
            .collect();
        let directory = directory?;
        let count = words.count(40)?;
        let (mut places, mut fill) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for _ in 0..count {
            let (at, mask) = (words.word()?, words.word()?);
            let bytes = mask.checked_add(1)?.checked_mul(8)?;
            let is_none = (at, mask) == (0, 0);
            let is_block = at > 0 && (mask + 1).is_power_of_two() && at.checked_add(bytes)? <= top;
            if !is_none && !is_block {
                return None;
            }
            let mask = usize::try_from(mask).ok()?;
            let tags = Tags::numbered(words.word()?)?;
            let taken = usize::try_from(words.word()?).ok()?;
            let of_shard = u32::try_from(words.word()?).ok()?;
            // A search ends at an empty place.
            if taken > mask || of_shard > depth || !tags.can_be_of(mask + 1, of_shard) {
                return None;
            }
            places.push(Places { at, mask, tags });
            fill.push(Fill {
                taken,
                depth: of_shard,
            });
        }
        let is_sound = directory.iter().all(|shard| (*shard as usize) < count);
        is_sound.then(|| HashIndex {
            len: fill.iter().map(|shard| shard.taken).sum(),
            shards: Shards {
                directory,
                depth,
                places,
            },
            fill,
        })
    }

    /// Gives its memory back; it is empty afterwards.
    pub(crate) fn clear(&mut self, store: &mut IndexStore) {
        for places in &self.shards.places {
            places.free(store);
        }
        *self = HashIndex::new();
    }

    /// Returns true if a shard would have been split, had the keys been inserted one by one.
    pub(crate) fn is_skewed(&self) -> bool {
        (0..self.fill.len()).any(|shard| self.is_full(shard))
    }

    /// Keys in the index.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if it has no keys.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of its places, in the index store.
    #[inline]
    pub fn places_bytes(&self) -> u64 {
        let places = self.shards.places.iter().filter(|places| places.at > 0);
        places.map(|places| (places.mask as u64 + 1) * 8).sum()
    }

    /// Bytes of memory that it takes, besides its places in the store.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.shards.directory)
            + size_of_val(&*self.shards.places)
            + size_of_val(&*self.fill)
    }

    /// The location of its places, for a snapshot to keep.
    pub fn shards(&self) -> &Shards {
        &self.shards
    }

    /// Asks the processor for the memory that [`HashIndex::find`] will read first.
    #[inline]
    pub fn prefetch(&self, store: &IndexStore, hash: u64) {
        let places = self.shards.of(hash);
        prefetch(
            store.bytes(),
            places.place(hash & places.mask as u64).0 as usize,
        );
    }

    /// The address with this hash for which `is_it` returns true.
    #[inline(always)]
    pub fn find(
        &self,
        store: &IndexStore,
        hash: u64,
        is_it: impl Fn(Address) -> bool,
    ) -> Option<Address> {
        let Ok(found) = self.shards.find(store.bytes(), hash, |at| Ok(is_it(at)));
        found
    }

    /// The first address whose tag fits: most likely the one that [`HashIndex::find`] will give, but
    /// without looking at the record.
    #[inline]
    pub fn candidate(&self, store: &IndexStore, hash: u64) -> Option<Address> {
        self.find(store, hash, |_| true)
    }

    /// Makes sure that a key with this hash can be inserted. `hash_of` returns the hash of the key at an address, for
    /// when keys must move. `ask` is called with an address some time before, to prefetch first its row, then what the
    /// row's key has outside of it.
    ///
    /// # Errors
    /// [`StoreError`] if there is no memory; all keys are still present.
    #[inline]
    pub fn make_room(
        &mut self,
        store: &mut IndexStore,
        hash: u64,
        hash_of: impl Fn(Address) -> u64,
        ask: impl Fn(Address, Ahead),
    ) -> Result<(), StoreError> {
        while self.is_full(self.shards.number(hash)) {
            self.enlarge(store, hash, &hash_of, &ask)?;
        }
        Ok(())
    }

    /// Adds a new key for which there is [room](HashIndex::make_room). There is also room if the key was present and
    /// was removed, and all later insertions were removed again.
    ///
    /// # Panics
    /// If the address is at or above [`ADDRESS_END`] or not a multiple of 8.
    pub fn insert(&mut self, store: &mut IndexStore, hash: u64, address: Address) {
        assert!(
            address.0 < ADDRESS_END && address.0.is_multiple_of(8),
            "not indexable: {address}"
        );
        let number = self.shards.number(hash);
        let places = self.shards.places[number];
        debug_assert!(!self.is_full(number), "there is room");
        let mut place = hash as usize & places.mask;
        while places.entry(store, place) != 0 {
            place = (place + 1) & places.mask;
        }
        store.write_word(
            places.place(place as u64),
            entry_of(places.tags.tag(hash), address),
        );
        self.fill[number].taken += 1;
        self.len += 1;
    }

    /// Removes the key at this address. Returns whether it was there.
    pub fn remove(
        &mut self,
        store: &mut IndexStore,
        hash: u64,
        address: Address,
        hash_of: impl Fn(Address) -> u64,
    ) -> bool {
        let number = self.shards.number(hash);
        let places = self.shards.places[number];
        let Ok(found) = places.find(store.bytes(), hash, |at| Ok(at == address));
        let Some((place, _)) = found else {
            return false;
        };
        places.remove(store, place, hash_of);
        self.fill[number].taken -= 1;
        self.len -= 1;
        true
    }

    #[inline]
    fn is_full(&self, shard: usize) -> bool {
        self.fill[shard].taken >= (self.shards.places[shard].mask + 1) / 4 * 3
    }

    /// Makes the hash's shard larger, or splits it.
    #[cold]
    fn enlarge(
        &mut self,
        store: &mut IndexStore,
        hash: u64,
        hash_of: &impl Fn(Address) -> u64,
        ask: &impl Fn(Address, Ahead),
    ) -> Result<(), StoreError> {
        let number = self.shards.number(hash);
        let (before, Fill { depth, taken }) = (self.shards.places[number], self.fill[number]);
        let places = before.mask + 1;
        // Splitting cannot separate keys whose hashes agree in their upper bits: the directory would double without
        // end. Such a shard grows instead.
        let skewed = 1u64 << depth > DEPTH_SKEW_MAX * self.fill.len() as u64;
        let grows = places < SHARD_PLACES_MAX || skewed;
        let tags = match grows {
            true => Tags::of((places * 2).max(SHARD_PLACES_MIN), depth),
            false => Tags::of(places, depth + 1),
        };
        let entries: Vec<u64> = before.entries(store).collect();
        // Keys are in the rows, each in a cache line of its own.
        let needs_rows = before.tags.needs_rows(tags);
        let ask_for = |place: usize, ahead| {
            let entry = entries.get(place).filter(|_| needs_rows);
            entry
                .into_iter()
                .for_each(|entry| ask(address_of(*entry), ahead));
        };
        (0..2 * AHEAD).for_each(|place| ask_for(place, Ahead::Row));
        (0..AHEAD).for_each(|place| ask_for(place, Ahead::Value));
        let hashed = entries.iter().enumerate().map(|(place, &entry)| {
            ask_for(place + 2 * AHEAD, Ahead::Row);
            ask_for(place + AHEAD, Ahead::Value);
            let address = address_of(entry);
            let known = before.tags.hash(entry, tags);
            (known.unwrap_or_else(|| hash_of(address)), address)
        });
        if grows {
            let places = (places * 2).max(SHARD_PLACES_MIN);
            let mut larger = NewShard::new(places, tags);
            hashed.for_each(|(hash, address)| larger.insert(hash, address));
            debug_assert_eq!(larger.taken, taken);
            let larger = larger.put(store)?;
            before.free(store);
            self.shards.places[number] = larger;
            return Ok(());
        }
        let mut halves = [NewShard::new(places, tags), NewShard::new(places, tags)];
        hashed.for_each(|(hash, address)| {
            halves[(hash >> (63 - depth)) as usize & 1].insert(hash, address);
        });
        let [zero, one] = halves;
        let fill = [zero.taken, one.taken].map(|taken| Fill {
            taken,
            depth: depth + 1,
        });
        let zero = zero.put(store)?;
        let one = one.put(store).inspect_err(|_| zero.free(store))?;
        before.free(store);
        let Shards {
            directory,
            depth: of_all,
            places,
        } = &mut self.shards;
        if depth == *of_all {
            *directory = directory.iter().flat_map(|&shard| [shard, shard]).collect();
            *of_all += 1;
        }
        let new = places.len() as u32;
        places[number] = zero;
        places.push(one);
        self.fill[number] = fill[0];
        self.fill.push(fill[1]);
        // The directory entries of the shard are consecutive; the upper half goes to the new one.
        let span = 1usize << (*of_all - depth);
        let first = (hash >> (64 - *of_all)) as usize / span * span;
        directory[first + span / 2..first + span].fill(new);
        Ok(())
    }
}

impl Shards {
    #[inline]
    fn number(&self, hash: u64) -> usize {
        self.directory[prefix(hash, self.depth)] as usize
    }

    #[inline]
    fn of(&self, hash: u64) -> Places {
        self.places[self.number(hash)]
    }

    /// The address with this hash for which `is_it` returns true, in places that are read from `pages`: those of the
    /// index's store, live or of a snapshot.
    ///
    /// # Errors
    /// The errors of reading, here or in `is_it`.
    #[inline(always)]
    pub fn find<P: PageRead + ?Sized>(
        &self,
        pages: &P,
        hash: u64,
        is_it: impl FnMut(Address) -> Result<bool, P::Error>,
    ) -> Result<Option<Address>, P::Error> {
        let found = self.of(hash).find(pages, hash, is_it)?;
        Ok(found.map(|(_, address)| address))
    }
}

/// The number of a hash's shard among `1 << depth`.
#[inline]
pub(crate) fn prefix(hash: u64, depth: u32) -> usize {
    // A shift by 64 is not defined, and a directory of depth 0 has one entry.
    if depth == 0 {
        0
    } else {
        (hash >> (64 - depth)) as usize
    }
}

/// Tags of one hash. A version that makes tags of other bits cannot read these indexes.
pub(crate) fn sample_tags() -> [u64; 2] {
    Tags::ALL.map(|tags| tags.tag(0x0123_4567_89ab_cdef))
}

/// An entry of an index that is built whole.
#[inline]
pub(crate) fn entry(hash: u64, address: Address) -> u64 {
    entry_of(Tags::MIDDLE.tag(hash), address)
}

#[inline]
fn entry_of(tag: u64, address: Address) -> u64 {
    (tag << ADDRESS_BITS) | (address.0 / 8)
}

/// Returns true if two entries may be of one key.
#[inline]
pub(crate) fn same_tag(one: u64, other: u64) -> bool {
    one >> ADDRESS_BITS == other >> ADDRESS_BITS
}

#[inline]
pub(crate) fn address_of(entry: u64) -> Address {
    Address((entry & ADDRESS_MASK) * 8)
}

impl Places {
    /// The places of an index that never had a key.
    const NONE: Places = Places {
        at: 0,
        mask: 0,
        tags: Tags::MIDDLE,
    };

    #[inline]
    fn place(self, place: u64) -> Address {
        Address(self.at + place * 8)
    }

    #[inline]
    fn entry(self, store: &IndexStore, place: usize) -> u64 {
        let Ok(entry) = store.bytes().word(self.place(place as u64));
        entry
    }

    /// The entries in it.
    fn entries(self, store: &IndexStore) -> impl Iterator<Item = u64> {
        (0..=self.mask)
            .map(move |place| self.entry(store, place))
            .filter(|&entry| entry != 0)
    }

    #[inline(always)]
    fn find<P: PageRead + ?Sized>(
        self,
        pages: &P,
        hash: u64,
        mut is_it: impl FnMut(Address) -> Result<bool, P::Error>,
    ) -> Result<Option<(usize, Address)>, P::Error> {
        let tag = self.tags.tag(hash);
        let mut place = hash as usize & self.mask;
        loop {
            let entry = pages.word(self.place(place as u64))?;
            if entry == 0 {
                return Ok(None);
            }
            if entry >> ADDRESS_BITS == tag && is_it(address_of(entry))? {
                return Ok(Some((place, address_of(entry))));
            }
            place = (place + 1) & self.mask;
        }
    }

    /// Empties a place and moves displaced entries back, so that no probe ends too early.
    fn remove(self, store: &mut IndexStore, place: usize, hash_of: impl Fn(Address) -> u64) {
        let mask = self.mask;
        let mut hole = place;
        let mut next = place;
        loop {
            next = (next + 1) & mask;
            let entry = self.entry(store, next);
            if entry == 0 {
                break;
            }
            let known = self.tags.hash(entry, self.tags);
            let home = known.unwrap_or_else(|| hash_of(address_of(entry))) as usize & mask;
            // It may move into the hole unless its home lies after the hole.
            if (next.wrapping_sub(home) & mask) >= (next.wrapping_sub(hole) & mask) {
                store.write_word(self.place(hole as u64), entry);
                hole = next;
            }
        }
        store.write_word(self.place(hole as u64), 0);
    }

    fn free(self, store: &mut IndexStore) {
        if self.at != 0 {
            store.free(Address(self.at), (self.mask + 1) * 8);
        }
    }
}

#[cfg(test)]
mod tests;
