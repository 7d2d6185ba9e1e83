//! Ordered indexes of other crates: from a key to the number of its row.

use crossbeam_skiplist::SkipMap;
use scc::{Guard, TreeIndex};
use std::collections::BTreeMap;

/// An ordered index of numbers.
pub trait Ordered {
    const NAME: &'static str;

    fn build(entries: &[(u64, u64)]) -> Self;

    /// Adds a new key.
    fn insert(&mut self, key: u64, row: u64);

    /// The row of a key.
    fn get(&self, key: u64) -> Option<u64>;

    /// Calls `each` with so many rows from a key on.
    fn range(&self, from: u64, count: usize, each: impl FnMut(u64));
}

impl Ordered for BTreeMap<u64, u64> {
    const NAME: &'static str = "std BTreeMap";

    fn build(entries: &[(u64, u64)]) -> Self {
        entries.iter().copied().collect()
    }

    fn insert(&mut self, key: u64, row: u64) {
        BTreeMap::insert(self, key, row);
    }

    fn get(&self, key: u64) -> Option<u64> {
        BTreeMap::get(self, &key).copied()
    }

    fn range(&self, from: u64, count: usize, each: impl FnMut(u64)) {
        let rows = BTreeMap::range(self, from..).take(count);
        rows.map(|(_, row)| *row).for_each(each);
    }
}

impl Ordered for indexset::BTreeMap<u64, u64> {
    const NAME: &'static str = "indexset BTreeMap";

    fn build(entries: &[(u64, u64)]) -> Self {
        entries.iter().copied().collect()
    }

    fn insert(&mut self, key: u64, row: u64) {
        indexset::BTreeMap::insert(self, key, row);
    }

    fn get(&self, key: u64) -> Option<u64> {
        indexset::BTreeMap::get(self, &key).copied()
    }

    fn range(&self, from: u64, count: usize, each: impl FnMut(u64)) {
        let rows = indexset::BTreeMap::range(self, from..).take(count);
        rows.map(|(_, row)| *row).for_each(each);
    }
}

impl Ordered for SkipMap<u64, u64> {
    const NAME: &'static str = "crossbeam SkipMap";

    fn build(entries: &[(u64, u64)]) -> Self {
        entries.iter().copied().collect()
    }

    fn insert(&mut self, key: u64, row: u64) {
        SkipMap::insert(self, key, row);
    }

    fn get(&self, key: u64) -> Option<u64> {
        SkipMap::get(self, &key).map(|entry| *entry.value())
    }

    fn range(&self, from: u64, count: usize, each: impl FnMut(u64)) {
        let rows = SkipMap::range(self, from..).take(count);
        rows.map(|entry| *entry.value()).for_each(each);
    }
}

impl Ordered for TreeIndex<u64, u64> {
    const NAME: &'static str = "scc TreeIndex";

    fn build(entries: &[(u64, u64)]) -> Self {
        let mut index = TreeIndex::new();
        for (key, row) in entries {
            Ordered::insert(&mut index, *key, *row);
        }
        index
    }

    fn insert(&mut self, key: u64, row: u64) {
        // The key does not exist.
        let _ = self.insert_sync(key, row);
    }

    fn get(&self, key: u64) -> Option<u64> {
        self.peek_with(&key, |_, row| *row)
    }

    fn range(&self, from: u64, count: usize, each: impl FnMut(u64)) {
        let guard = Guard::new();
        let rows = TreeIndex::range(self, from.., &guard).take(count);
        rows.map(|(_, row)| *row).for_each(each);
    }
}
