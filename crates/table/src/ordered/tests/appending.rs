//! Whole keys that mostly come in ascending order, unique, with removals between: the tree is that of a map.

use super::*;
use sardonyx_base::random::Random;
use std::collections::BTreeMap;

/// A tree of unique whole keys beside a map of their rows.
struct Unique {
    pair: Pair,
    rows: BTreeMap<u64, u64>,
}

impl Unique {
    fn new() -> Self {
        let mut pair = Pair::new();
        pair.rows.is_exact = true;
        let rows = BTreeMap::new();
        Unique { pair, rows }
    }

    /// Each row has its key in its address.
    fn row_of(key: u64) -> u64 {
        (key + 1) * 8
    }

    fn insert(&mut self, key: u64) {
        let (bytes, row) = (key.to_be_bytes().to_vec(), Self::row_of(key));
        let Pair {
            store,
            tree,
            rows,
            model,
        } = &mut self.pair;
        let there = tree.insert_unique(store, &*rows, &bytes, Address(row));
        let expected = self.rows.get(&key).copied().map(Address);
        assert_eq!(there.expect("memory"), expected, "{key}");
        self.rows.insert(key, row);
        rows.keys.insert(row, bytes.clone());
        model.insert((bytes, row));
    }

    fn remove(&mut self, key: u64) {
        let row = self.rows.remove(&key).expect("it is there");
        assert!(self.pair.remove(&(key.to_be_bytes().to_vec(), row)));
    }

    /// The last leaf, if the tree says that it knows it.
    fn check(&self) {
        self.pair.check();
        let (nodes, tree) = (self.pair.store.bytes(), self.pair.tree);
        if tree.last.0 == 0 {
            return;
        }
        let leaf = live_leaf(nodes, tree.last);
        let last = self.rows.last_key_value().map(|(key, _)| *key);
        assert_eq!(leaf.next(), Address(0));
        assert_eq!(Some(leaf.entry(leaf.count() - 1).prefix), last);
    }
}

#[test]
fn whole_keys_in_ascending_order_are_those_of_a_map() {
    for seed in 1..=sardonyx_base::random::seeds(12) {
        let mut random = Random::new(seed);
        let mut below = |bound: u64| random.next() % bound;
        let mut unique = Unique::new();
        // Another tree takes the nodes that this one frees.
        let mut other = Tree::default();
        let (mut next, mut of_other) = (0, 0);
        for step in 0..3000 {
            match below(if step < 2000 { 40 } else { 12 }) {
                0 => unique.insert(below(next + 1)),
                1..=4 if !unique.rows.is_empty() => {
                    let from = below(next + 1);
                    let key = unique.rows.range(from..).next().map(|(key, _)| *key);
                    unique.remove(key.unwrap_or(*unique.rows.keys().next().expect("one")));
                }
                5..=7 if !unique.rows.is_empty() => {
                    // The last ones, as their undoing would.
                    for _ in 0..1 + below(40) {
                        if let Some((&key, _)) = unique.rows.last_key_value() {
                            unique.remove(key);
                        }
                    }
                }
                8 => {
                    let Pair { store, rows, .. } = &mut unique.pair;
                    let key = u64::to_be_bytes(of_other);
                    let row = Address(1 << 40 | of_other << 3);
                    let inserted = other.insert_unique(store, &*rows, &key, row);
                    assert_eq!(inserted.expect("memory"), None);
                    of_other += 1;
                }
                _ => {
                    next += 1 + below(3);
                    unique.insert(next);
                }
            }
            if step % 64 == 0 {
                // Its bytes are those of both.
                let bytes = other.bytes();
                assert_eq!(
                    unique.pair.store.bytes_used(),
                    unique.pair.tree.bytes() + bytes
                );
            }
        }
        let mut leaving = Leaving::default();
        leaving.push(other);
        while !leaving.is_empty() {
            leaving.step(&mut unique.pair.store);
        }
        unique.check();
    }
}

#[test]
fn ascending_keys_are_appended_without_a_way_down() {
    let mut unique = Unique::new();
    for key in 0..1000 {
        unique.insert(key);
        assert_ne!(unique.pair.tree.last, Address(0), "{key}");
    }
    unique.check();
    // A key below others goes its way; after a removal the leaf is found again by the next insertion behind all.
    unique.remove(999);
    assert_eq!(unique.pair.tree.last, Address(0));
    unique.insert(5000);
    assert_ne!(unique.pair.tree.last, Address(0));
    unique.insert(2000);
    unique.insert(5000);
    unique.check();
}
