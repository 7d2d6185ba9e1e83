//! The hash index beside a map.

use super::*;
use crate::hash::KeyHash;
use proptest::prelude::*;
use std::collections::HashMap;

/// Keys are the addresses themselves; a coarse hash makes collisions.
fn hash_of(address: Address) -> u64 {
    KeyHash::from_seed(1).of(&(address.0 / 64).to_le_bytes())
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
    let mut store = IndexStore::reserve(0).expect("address space");
    let mut index = HashIndex::new();
    let hash_of = |address: Address| address.0 / 8 * 3;
    for n in 0..100_000u64 {
        index
            .make_room(&mut store, hash_of(Address(n * 8)), hash_of, |_, _| ())
            .expect("memory");
        index.insert(&mut store, hash_of(Address(n * 8)), Address(n * 8));
    }
    assert!(
        index.shards.directory.len() <= 4096,
        "{}",
        index.shards.directory.len()
    );
    for n in 0..100_000u64 {
        let address = Address(n * 8);
        let found = index.find(&store, hash_of(address), |a| a == address);
        assert_eq!(found, Some(address));
    }
}

#[test]
fn shards_split_and_everything_is_found_again() {
    let mut store = IndexStore::reserve(0).expect("address space");
    let mut index = HashIndex::new();
    let hash = KeyHash::from_seed(1);
    let hash_of = |address: Address| hash.of(&address.0.to_le_bytes());
    for n in 0..300_000u64 {
        index
            .make_room(&mut store, hash_of(Address(n * 8)), hash_of, |_, _| ())
            .expect("memory");
        index.insert(&mut store, hash_of(Address(n * 8)), Address(n * 8));
    }
    assert!(index.fill.len() > 8, "{} shards", index.fill.len());
    assert!(index.bytes() < 3000, "{} bytes", index.bytes());
    assert!(store.bytes_used() < 300_000 * 24, "{}", store.bytes_used());
    for n in 0..300_000u64 {
        let address = Address(n * 8);
        assert_eq!(
            index.find(&store, hash_of(address), |a| a == address),
            Some(address)
        );
    }
    for n in (0..300_000u64).step_by(2) {
        assert!(index.remove(&mut store, hash_of(Address(n * 8)), Address(n * 8), hash_of));
    }
    for n in 0..300_000u64 {
        let address = Address(n * 8);
        let found = index.find(&store, hash_of(address), |a| a == address);
        assert_eq!(found.is_some(), n % 2 == 1);
    }
}
