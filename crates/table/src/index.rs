//! The primary-key index: from a key's hash ([`crate::hash`]) to the address of its record. In memory only; rebuilt
//! at open from the pages.
//!
//! Extendible hashing: the upper bits of the hash choose a shard through a directory, the lower bits
//! a place in the shard, which is an open-addressing array with linear probing. A full shard is
//! split in two, and the directory doubles when need be; so no insert ever waits for a rehash of
//! the whole table, only of one shard (a fraction of a millisecond).
//!
//! An entry is one word: a 24-bit tag from the hash and the record's address in units of 8 bytes
//! (40 bits: 8 TiB). Zero is an empty place. The key itself stands only in the record, so whoever
//! looks up compares it there; the tag makes comparing a wrong record rare (1 in 16 million).

use sardonyx_storage::catalogue::ADDRESS_END;
use sardonyx_storage::page::Address;
use sardonyx_storage::prefetch::prefetch;
use zerocopy::IntoBytes;

const ADDRESS_BITS: u32 = 40;
const ADDRESS_MASK: u64 = (1 << ADDRESS_BITS) - 1;

/// Places in a shard at most; a shard is split when three quarters are taken.
pub(crate) const SHARD_PLACES_MAX: usize = 1 << 15;
pub(crate) const SHARD_PLACES_MIN: usize = 16;

/// A shard is not split further if the directory would have to tell apart so many times more
/// prefixes than there are shards.
const DEPTH_SKEW_MAX: u64 = 64;

const _: () = assert!(ADDRESS_END == 1 << (ADDRESS_BITS + 3));

/// The index of one table.
#[derive(Debug)]
pub struct HashIndex {
    /// `1 << depth` entries: the shard for each value of the hash's upper bits.
    directory: Vec<u32>,
    depth: u32,
    shards: Vec<Shard>,
    len: usize,
}

#[derive(Debug)]
struct Shard {
    places: Vec<u64>,
    taken: usize,
    /// How many of the hash's upper bits all its keys share.
    depth: u32,
}

impl Default for HashIndex {
    fn default() -> Self {
        Self::new()
    }
}

impl HashIndex {
    /// An empty index.
    pub fn new() -> Self {
        HashIndex {
            directory: vec![0],
            depth: 0,
            shards: vec![Shard::new(SHARD_PLACES_MIN, 0)],
            len: 0,
        }
    }

    /// An index of shards that share the first `depth` bits, one for each value of them.
    pub(crate) fn from_shards(shards: Vec<Vec<u64>>, depth: u32) -> Self {
        assert_eq!(shards.len(), 1 << depth, "a shard for each value");
        let shards: Vec<_> = shards
            .into_iter()
            .map(|places| Shard {
                taken: places.iter().filter(|&&entry| entry != 0).count(),
                places,
                depth,
            })
            .collect();
        HashIndex {
            directory: (0..1 << depth).collect(),
            depth,
            len: shards.iter().map(|shard| shard.taken).sum(),
            shards,
        }
    }

    /// Whether a shard would have been split, had the keys been inserted one by one.
    pub(crate) fn is_skewed(&self) -> bool {
        self.shards.iter().any(Shard::is_full)
    }

    /// Keys in the index.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no keys.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of memory that it takes.
    pub fn bytes(&self) -> usize {
        self.directory.len() * 4
            + self
                .shards
                .iter()
                .map(|s| s.places.len() * 8)
                .sum::<usize>()
    }

    #[inline]
    fn shard_of(&self, hash: u64) -> usize {
        self.directory[prefix(hash, self.depth)] as usize
    }

    /// Asks the processor for the memory that [`HashIndex::find`] will read first.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        let shard = &self.shards[self.shard_of(hash)];
        prefetch(shard.places.as_bytes(), shard.place_of(hash) * 8);
    }

    /// The address with this hash for which `is_it` says so.
    #[inline]
    pub fn find(&self, hash: u64, is_it: impl Fn(Address) -> bool) -> Option<Address> {
        let shard = &self.shards[self.shard_of(hash)];
        shard
            .find(hash, is_it)
            .map(|place| address_of(shard.places[place]))
    }

    /// The first address whose tag fits: most likely the one that [`HashIndex::find`] will give, but
    /// without looking at the record.
    #[inline]
    pub fn candidate(&self, hash: u64) -> Option<Address> {
        self.find(hash, |_| true)
    }

    /// Adds a key that is not there. `hash_of` gives the hash of the key at an address, for when
    /// keys must move.
    ///
    /// # Panics
    /// If the address is at or above [`ADDRESS_END`] or not a multiple of 8.
    pub fn insert(&mut self, hash: u64, address: Address, hash_of: impl Fn(Address) -> u64) {
        assert!(
            address.0 < ADDRESS_END && address.0.is_multiple_of(8),
            "not indexable: {address}"
        );
        while self.shards[self.shard_of(hash)].is_full() {
            self.make_room(hash, &hash_of);
        }
        let shard = self.shard_of(hash);
        self.shards[shard].insert(hash, address);
        self.len += 1;
    }

    /// Removes the key at this address. Returns whether it was there.
    pub fn remove(
        &mut self,
        hash: u64,
        address: Address,
        hash_of: impl Fn(Address) -> u64,
    ) -> bool {
        let shard = self.shard_of(hash);
        let shard = &mut self.shards[shard];
        let Some(place) = shard.find(hash, |found| found == address) else {
            return false;
        };
        shard.remove(place, hash_of);
        self.len -= 1;
        true
    }

    /// Makes the hash's shard larger, or splits it.
    #[cold]
    fn make_room(&mut self, hash: u64, hash_of: &impl Fn(Address) -> u64) {
        let number = self.shard_of(hash);
        let (places, depth) = (self.shards[number].places.len(), self.shards[number].depth);
        // Keys whose hashes agree in their upper bits cannot be told apart by splitting: the
        // directory would double without end. Such a shard grows instead.
        let skewed = 1u64 << depth > DEPTH_SKEW_MAX * self.shards.len() as u64;
        if places < SHARD_PLACES_MAX || skewed {
            let mut larger = Shard::new(places * 2, depth);
            self.shards[number].for_each(|address| larger.insert(hash_of(address), address));
            self.shards[number] = larger;
            return;
        }
        if depth == self.depth {
            self.directory = self
                .directory
                .iter()
                .flat_map(|&shard| [shard, shard])
                .collect();
            self.depth += 1;
        }
        let mut halves = [Shard::new(places, depth + 1), Shard::new(places, depth + 1)];
        self.shards[number].for_each(|address| {
            let hash = hash_of(address);
            halves[(hash >> (63 - depth)) as usize & 1].insert(hash, address);
        });
        let [zero, one] = halves;
        self.shards[number] = zero;
        let new = self.shards.len() as u32;
        self.shards.push(one);
        // The directory entries of the shard are consecutive; the upper half goes to the new one.
        let span = 1usize << (self.depth - depth);
        let first = (hash >> (64 - self.depth)) as usize / span * span;
        self.directory[first + span / 2..first + span].fill(new);
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

#[inline]
pub(crate) fn entry(hash: u64, address: Address) -> u64 {
    (tag(hash) << ADDRESS_BITS) | (address.0 / 8)
}

/// Whether two entries may be of one key.
#[inline]
pub(crate) fn same_tag(one: u64, other: u64) -> bool {
    one >> ADDRESS_BITS == other >> ADDRESS_BITS
}

/// 24 bits in the middle of the hash; never zero, so that an entry is never zero.
#[inline]
fn tag(hash: u64) -> u64 {
    ((hash >> 20) & 0xff_ffff).max(1)
}

#[inline]
pub(crate) fn address_of(entry: u64) -> Address {
    Address((entry & ADDRESS_MASK) * 8)
}

impl Shard {
    fn new(places: usize, depth: u32) -> Self {
        Shard {
            places: vec![0; places],
            taken: 0,
            depth,
        }
    }

    fn is_full(&self) -> bool {
        self.taken >= self.places.len() / 4 * 3
    }

    #[inline]
    fn place_of(&self, hash: u64) -> usize {
        hash as usize & (self.places.len() - 1)
    }

    #[inline(always)]
    fn find(&self, hash: u64, is_it: impl Fn(Address) -> bool) -> Option<usize> {
        let (tag, mask) = (tag(hash), self.places.len() - 1);
        let mut place = self.place_of(hash);
        loop {
            let entry = self.places[place];
            if entry == 0 {
                return None;
            }
            if entry >> ADDRESS_BITS == tag && is_it(address_of(entry)) {
                return Some(place);
            }
            place = (place + 1) & mask;
        }
    }

    fn insert(&mut self, hash: u64, address: Address) {
        let mask = self.places.len() - 1;
        let mut place = self.place_of(hash);
        while self.places[place] != 0 {
            place = (place + 1) & mask;
        }
        self.places[place] = entry(hash, address);
        self.taken += 1;
    }

    /// Empties a place and moves back what was displaced past it, so that no probe ends too early.
    fn remove(&mut self, place: usize, hash_of: impl Fn(Address) -> u64) {
        let mask = self.places.len() - 1;
        let mut hole = place;
        let mut next = place;
        loop {
            next = (next + 1) & mask;
            let entry = self.places[next];
            if entry == 0 {
                break;
            }
            let home = self.place_of(hash_of(address_of(entry)));
            // It may move into the hole unless its home lies after the hole.
            if (next.wrapping_sub(home) & mask) >= (next.wrapping_sub(hole) & mask) {
                self.places[hole] = entry;
                hole = next;
            }
        }
        self.places[hole] = 0;
        self.taken -= 1;
    }

    fn for_each(&self, mut each: impl FnMut(Address)) {
        self.places
            .iter()
            .filter(|&&entry| entry != 0)
            .for_each(|&entry| each(address_of(entry)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::KeyHash;
    use proptest::prelude::*;
    use std::collections::HashMap;

    /// Keys are the addresses themselves; a coarse hash makes collisions.
    fn hash_of(address: Address) -> u64 {
        KeyHash::from_seed(1).of(&(address.0 / 64).to_le_bytes())
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_hash_map(steps in prop::collection::vec((0u64..3000, any::<bool>()), 1..3000)) {
            let mut index = HashIndex::new();
            let mut model = HashMap::new();
            for (n, insert) in steps {
                let address = Address(n * 8);
                if insert && !model.contains_key(&n) {
                    index.insert(hash_of(address), address, hash_of);
                    model.insert(n, ());
                } else if !insert {
                    let there = index.remove(hash_of(address), address, hash_of);
                    prop_assert_eq!(there, model.remove(&n).is_some());
                }
                prop_assert_eq!(index.len(), model.len());
            }
            for n in 0..3000 {
                let address = Address(n * 8);
                let found = index.find(hash_of(address), |a| a == address);
                prop_assert_eq!(found.is_some(), model.contains_key(&n));
            }
        }
    }

    #[test]
    fn hashes_that_agree_in_their_upper_bits_do_not_double_the_directory_without_end() {
        let mut index = HashIndex::new();
        let hash_of = |address: Address| address.0 / 8 * 3;
        for n in 0..100_000u64 {
            index.insert(hash_of(Address(n * 8)), Address(n * 8), hash_of);
        }
        assert!(index.directory.len() <= 4096, "{}", index.directory.len());
        for n in 0..100_000u64 {
            let address = Address(n * 8);
            let found = index.find(hash_of(address), |a| a == address);
            assert_eq!(found, Some(address));
        }
    }

    #[test]
    fn shards_split_and_everything_is_found_again() {
        let mut index = HashIndex::new();
        let hash = KeyHash::from_seed(1);
        let hash_of = |address: Address| hash.of(&address.0.to_le_bytes());
        for n in 0..300_000u64 {
            index.insert(hash_of(Address(n * 8)), Address(n * 8), hash_of);
        }
        assert!(index.shards.len() > 8, "{} shards", index.shards.len());
        assert!(index.bytes() < 300_000 * 24, "{} bytes", index.bytes());
        for n in 0..300_000u64 {
            let address = Address(n * 8);
            assert_eq!(
                index.find(hash_of(address), |a| a == address),
                Some(address)
            );
        }
        for n in (0..300_000u64).step_by(2) {
            assert!(index.remove(hash_of(Address(n * 8)), Address(n * 8), hash_of));
        }
        for n in 0..300_000u64 {
            let address = Address(n * 8);
            let found = index.find(hash_of(address), |a| a == address);
            assert_eq!(found.is_some(), n % 2 == 1);
        }
    }
}
