//! The hash index beside a map.

use super::*;
use crate::hash::KeyHash;
use proptest::prelude::*;
use std::collections::HashMap;

/// Keys are the addresses themselves; a coarse hash makes collisions.
fn hash_of(address: Address) -> u64 {
    KeyHash::from_seed(1).of(&(address.0 / 64).to_le_bytes())
}

/// An index with keys of these hashes. The key of a number is at the address of so many words.
struct Keys<F> {
    store: IndexStore,
    index: HashIndex,
    hash_of: F,
}

impl<F: Fn(Address) -> u64> Keys<F> {
    fn new(hash_of: F) -> Self {
        Keys {
            store: IndexStore::reserve(0).expect("address space"),
            index: HashIndex::new(),
            hash_of,
        }
    }

    fn insert(&mut self, numbers: impl IntoIterator<Item = u64>) {
        for address in numbers.into_iter().map(|n| Address(n * 8)) {
            let hash = (self.hash_of)(address);
            let room = self
                .index
                .make_room(&mut self.store, hash, &self.hash_of, |_, _| ());
            room.expect("memory");
            self.index.insert(&mut self.store, hash, address);
        }
    }

    fn remove(&mut self, numbers: impl IntoIterator<Item = u64>) {
        for address in numbers.into_iter().map(|n| Address(n * 8)) {
            let (store, hash_of) = (&mut self.store, &self.hash_of);
            let is_removed = self.index.remove(store, hash_of(address), address, hash_of);
            assert!(is_removed, "{address}");
        }
    }

    /// Looks for each, and expects it where it should be there.
    fn check(&self, numbers: std::ops::Range<u64>, is_there: impl Fn(u64) -> bool) {
        let expected = numbers.clone().filter(|n| is_there(*n)).count();
        assert_eq!(self.index.len(), expected);
        for n in numbers {
            let (address, hash) = (Address(n * 8), (self.hash_of)(Address(n * 8)));
            let found = self.index.find(&self.store, hash, |at| at == address);
            assert_eq!(found, is_there(n).then_some(address), "{n}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sardonyx_base::random::cases(64)))]

    #[test]
    fn it_agrees_with_a_hash_map(steps in prop::collection::vec((0u64..3000, any::<bool>()), 1..3000)) {
        let mut store = IndexStore::reserve(0).expect("address space");
    let mut index = HashIndex::new();
        let mut model = HashMap::new();
        for (n, insert) in steps {
            let address = Address(n * 8);
            if insert && !model.contains_key(&n) {
                index.make_room(&mut store, hash_of(address), hash_of, |_, _| ()).expect("memory");
                index.insert(&mut store, hash_of(address), address);
                model.insert(n, ());
            } else if !insert {
                let there = index.remove(&mut store, hash_of(address), address, hash_of);
                prop_assert_eq!(there, model.remove(&n).is_some());
            }
            prop_assert_eq!(index.len(), model.len());
        }
        for n in 0..3000 {
            let address = Address(n * 8);
            let found = index.find(&store, hash_of(address), |a| a == address);
            prop_assert_eq!(found.is_some(), model.contains_key(&n));
        }
    }
}

#[test]
fn hashes_that_agree_in_their_upper_bits_do_not_double_the_directory_without_end() {
    let mut keys = Keys::new(|address: Address| address.0 / 8 * 3);
    keys.insert(0..100_000);
    let directory = keys.index.shards.directory.len();
    assert!(directory <= 4096, "{directory}");
    keys.check(0..100_000, |_| true);
}

#[test]
fn shards_split_and_everything_is_found_again() {
    let hash = KeyHash::from_seed(1);
    let mut keys = Keys::new(move |address: Address| hash.of(&address.0.to_le_bytes()));
    keys.insert(0..300_000);
    let Keys { store, index, .. } = &keys;
    assert!(index.fill.len() > 8, "{} shards", index.fill.len());
    assert!(index.bytes() < 3000, "{} bytes", index.bytes());
    assert!(store.bytes_used() < 300_000 * 24, "{}", store.bytes_used());
    keys.check(0..300_000, |_| true);
    keys.remove((0..300_000).step_by(2));
    keys.check(0..300_000, |n| n % 2 == 1);
}

/// Hashes of which most share their first five bits, so that there are deep shards of few keys. Of some hashes, the tags of the
/// ends are 0 or 1.
fn crowded(address: Address) -> u64 {
    let even = KeyHash::from_seed(1).of(&address.0.to_le_bytes());
    match address.0 / 8 % 500 {
        1 => even & 0x007f_ffff_ffff_8000,
        2 => even & 0x007f_ffff_ffff_8000 | 1 << 55,
        n if n % 8 == 0 => even,
        _ => even >> 5 | 0b10110 << 59,
    }
}

#[test]
fn shards_with_either_tags_split_and_lose_keys_and_everything_else_is_found() {
    let mut keys = Keys::new(crowded);
    keys.insert(0..100_000);
    for (tags, depths) in [(Tags::ENDS, 1..=5), (Tags::MIDDLE, 6..=8)] {
        let places = keys.index.shards.places.iter();
        let shards = places.zip(&keys.index.fill);
        let large = shards.filter(|(places, fill)| places.tags == tags && fill.taken > 1000);
        let large: Vec<u32> = large.map(|(_, fill)| fill.depth).collect();
        assert!(large.len() > 1, "{large:?}");
        assert!(
            large.iter().all(|depth| depths.contains(depth)),
            "{large:?}"
        );
    }
    keys.check(0..100_000, |_| true);
    keys.remove((0..100_000).step_by(2));
    keys.check(0..100_000, |n| n % 2 == 1);
    keys.insert((0..100_000).step_by(2));
    keys.check(0..100_000, |_| true);
}

#[test]
fn an_index_that_is_built_whole_grows_with_the_tags_of_small_indexes() {
    let mut keys = Keys::new(crowded);
    let mut halves = [0, 1].map(|_| NewShard::new(64, Tags::MIDDLE));
    for n in 0..60 {
        let hash = crowded(Address(n * 8));
        halves[prefix(hash, 1)].insert(hash, Address(n * 8));
    }
    let blocks = halves.map(|half| Address(half.put(&mut keys.store).expect("memory").at));
    keys.index = HashIndex::from_shards(&keys.store, &blocks, 64, 1);
    keys.check(0..60, |_| true);
    keys.remove((0..60).step_by(3));
    keys.insert((0..60).step_by(3));
    keys.insert(60..30_000);
    let places = &keys.index.shards.places;
    assert!(places.iter().any(|places| places.tags == Tags::ENDS));
    keys.check(0..30_000, |_| true);
    keys.remove((0..30_000).step_by(2));
    keys.check(0..30_000, |n| n % 2 == 1);
}

#[test]
fn a_description_has_tags_of_the_ends_of_small_shards_alone() {
    let described = |places: usize, depth: u32, tags: Tags| {
        let mut words = Words::default();
        words.put(u64::from(depth));
        (0..1 << depth).for_each(|_| words.put(0));
        words.put(1);
        for word in [4096, places as u64 - 1, tags.number(), 0, u64::from(depth)] {
            words.put(word);
        }
        HashIndex::described(&mut Described(&words.0), 1 << 30).is_some()
    };
    for (places, depth, is_small) in [
        (SHARD_PLACES_MAX, 5, true),
        (SHARD_PLACES_MAX * 2, 5, false),
        (SHARD_PLACES_MAX, 6, false),
    ] {
        assert_eq!(described(places, depth, Tags::ENDS), is_small);
        assert!(described(places, depth, Tags::MIDDLE));
    }
}
