//! Keys in ascending order: an entry behind all others is put into the last leaf without a way down.
//!
//! Ids are given in ascending order, so nearly all insertions into an index of ids are such. The tree knows its last leaf from
//! the insertion before. A key that is whole in its entry is compared with the last entry alone.
//!
//! Invariant: a known last leaf is the last one of this tree. So each removal forgets it, since it may free leaves.

use super::Tree;
use super::node::{Entry, LEAF_ENTRIES};
use super::search::live_leaf;
use crate::index_store::IndexStore;
use sardonyx_storage::page::Address;

impl Tree {
    /// Appends the entry of a row whose whole key this is, if the key is behind all others and the last leaf is known and has
    /// room. Returns false otherwise; then nothing has changed.
    #[inline]
    pub fn append_exact(&mut self, store: &mut IndexStore, key: u64, row: Address) -> bool {
        if self.last.0 == 0 {
            return false;
        }
        let leaf = live_leaf(store.bytes(), self.last);
        debug_assert_eq!(leaf.next().0, 0, "the last leaf");
        let count = leaf.count();
        let is_behind = |last: usize| leaf.entry(last).prefix < key;
        if count == LEAF_ENTRIES || !count.checked_sub(1).is_some_and(is_behind) {
            return false;
        }
        let entry = Entry {
            prefix: key,
            address: row,
        };
        for (offset, word) in leaf.appending(entry) {
            store.write_word(Address(self.last.0 + offset as u64), word);
        }
        self.len += 1;
        true
    }

    /// Notes a leaf as the last one, if no leaf is behind it.
    #[inline]
    pub(super) fn note_last(&mut self, leaf: Address, next: Address) {
        if next.0 == 0 {
            self.last = leaf;
        }
    }

    /// The last leaf, and that of the last insertion, are not known any more.
    #[inline]
    pub(super) fn forget_leaves(&mut self) {
        self.last = Address(0);
        self.near.forget();
    }
}
