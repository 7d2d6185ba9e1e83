//! Removing an entry. Nodes that become empty are freed. Those that are less than a quarter full are joined with a
//! neighbour if both then fill three quarters at most. Invariants: see [`Tree`](super::Tree)'s module.

use super::node::{Entry, INNER_BYTES, INNER_ENTRIES, LEAF_BYTES, LEAF_ENTRIES, Leaf};
use super::search::{live_inner, live_leaf};
use super::{Keys, Path, Tree};
use crate::index_store::IndexStore;
use sardonyx_base::resident::Resident;
use sardonyx_storage::page::Address;

impl Tree {
    /// Removes the entry of a row with this key. Returns true if it was there.
    pub fn remove(
        &mut self,
        store: &mut IndexStore,
        keys: &impl Keys,
        key: &[u8],
        row: Address,
    ) -> bool {
        if self.root.0 == 0 {
            return false;
        }
        // Its nodes may be freed, and used again by other trees.
        self.forget_leaves();
        let path = self.descend(store.bytes(), keys, (key, Some(row)), true);
        let mut leaf = *live_leaf(store.bytes(), path.leaf);
        // Rows with other keys have other heads, or are not at the place.
        let is_it = |at: &usize| {
            let entry = leaf.entry(*at);
            entry.address == row && path.head == Some(entry.prefix)
        };
        let Some(at) = path.at.checked_sub(1).filter(is_it) else {
            return false;
        };
        leaf.remove(at);
        self.len -= 1;
        if leaf.count() == 0 {
            self.unlink(store, &leaf);
            store.free(path.leaf, LEAF_BYTES);
            self.bytes -= LEAF_BYTES as u64;
            self.remove_child(store, keys, &path, path.levels);
            return true;
        }
        store.write(path.leaf, leaf.as_bytes());
        if at == 0 {
            set_first(store, keys, &path, path.levels, leaf.entry(0));
        }
        if leaf.count() < LEAF_ENTRIES / 4 {
            self.join_leaf(store, keys, &path);
        }
        true
    }

    /// Takes a leaf out of the row of leaves.
    fn unlink(&self, store: &mut IndexStore, leaf: &Leaf) {
        let (previous, next) = (leaf.previous(), leaf.next());
        if previous.0 != 0 {
            let mut before = *live_leaf(store.bytes(), previous);
            before.set_next(next);
            store.write(previous, before.as_bytes());
        }
        if next.0 != 0 {
            let mut behind = *live_leaf(store.bytes(), next);
            behind.set_previous(previous);
            store.write(next, behind.as_bytes());
        }
    }

    /// Takes the child out that the path leads to on the lowest of so many levels of inner nodes.
    fn remove_child(
        &mut self,
        store: &mut IndexStore,
        keys: &impl Keys,
        path: &Path,
        levels: usize,
    ) {
        let Some(level) = levels.checked_sub(1) else {
            // The root itself was freed.
            *self = Tree::default();
            return;
        };
        let (at, position) = path.steps[level];
        let mut inner = *live_inner(store.bytes(), at);
        inner.remove(position);
        if inner.count() == 0 {
            store.free(at, INNER_BYTES);
            self.bytes -= INNER_BYTES as u64;
            self.remove_child(store, keys, path, level);
            return;
        }
        store.write(at, inner.as_bytes());
        if position == 0 {
            set_first(store, keys, path, level, inner.first(0));
        }
        if inner.count() < INNER_ENTRIES / 4 {
            self.join_inner(store, keys, path, level);
        }
        self.lower_root(store);
    }

    /// A root with one child is removed.
    fn lower_root(&mut self, store: &mut IndexStore) {
        while self.height > 0 {
            let root = live_inner(store.bytes(), self.root);
            if root.count() > 1 {
                return;
            }
            let child = root.child(0);
            store.free(self.root, INNER_BYTES);
            self.bytes -= INNER_BYTES as u64;
            self.root = child;
            self.height -= 1;
        }
    }

    /// Joins a leaf with a neighbour below the same node, if both fit well into one.
    fn join_leaf(&mut self, store: &mut IndexStore, keys: &impl Keys, path: &Path) {
        let Some(level) = path.levels.checked_sub(1) else {
            return;
        };
        for (left, [(at, _), (gone, _)]) in neighbours(store, path, level) {
            let mut joined = *live_leaf(store.bytes(), at);
            let right = *live_leaf(store.bytes(), gone);
            if joined.count() + right.count() <= LEAF_ENTRIES / 4 * 3 {
                joined.join(keys, &right);
                store.write(at, joined.as_bytes());
                self.unlink(store, &right);
                store.free(gone, LEAF_BYTES);
                self.bytes -= LEAF_BYTES as u64;
                return self.remove_second(store, keys, path, level, left + 1);
            }
        }
    }

    /// Joins an inner node with a neighbour below the same node, if both fit well into one.
    fn join_inner(&mut self, store: &mut IndexStore, keys: &impl Keys, path: &Path, level: usize) {
        let Some(above) = level.checked_sub(1) else {
            return;
        };
        for (left, [(at, _), (gone, first)]) in neighbours(store, path, above) {
            let mut joined = *live_inner(store.bytes(), at);
            let right = *live_inner(store.bytes(), gone);
            if joined.count() + right.count() <= INNER_ENTRIES / 4 * 3 {
                joined.join(keys, &right, first);
                store.write(at, joined.as_bytes());
                store.free(gone, INNER_BYTES);
                self.bytes -= INNER_BYTES as u64;
                return self.remove_second(store, keys, path, above, left + 1);
            }
        }
    }

    /// Takes a child that is not the first out of the node at a level of the path; its entries are in the one before.
    fn remove_second(
        &mut self,
        store: &mut IndexStore,
        keys: &impl Keys,
        path: &Path,
        level: usize,
        child: usize,
    ) {
        let (at, _) = path.steps[level];
        let mut inner = *live_inner(store.bytes(), at);
        inner.remove(child);
        store.write(at, inner.as_bytes());
        if inner.count() < INNER_ENTRIES / 4 {
            self.join_inner(store, keys, path, level);
        }
        self.lower_root(store);
    }
}

/// The pairs of neighbours, below the node at a level of a path, one of which the path leads to: the number of the left
/// one, and both with the first entries below them.
pub(super) fn neighbours(
    store: &IndexStore,
    path: &Path,
    level: usize,
) -> impl Iterator<Item = (usize, [(Address, Entry); 2])> + use<> {
    let (parent, position) = path.steps[level];
    let inner = *live_inner(store.bytes(), parent);
    let lefts = [position.checked_sub(1), Some(position)];
    let pairs = lefts.into_iter().flatten();
    pairs
        .filter(move |left| left + 1 < inner.count())
        .map(move |left| {
            (
                left,
                [left, left + 1].map(|at| (inner.child(at), inner.first(at))),
            )
        })
}

/// Stores the first entry below the node that the path leads to on so many levels. Its place is in the lowest of the
/// nodes there in which the path does not lead to the first child.
fn set_first(store: &mut IndexStore, keys: &impl Keys, path: &Path, levels: usize, first: Entry) {
    let steps = path.steps[..levels].iter().rev();
    if let Some(&(at, position)) = steps.into_iter().find(|(_, position)| *position > 0) {
        let mut inner = *live_inner(store.bytes(), at);
        inner.set_first(position, first);
        inner.fit_one(keys, position);
        store.write(at, inner.as_bytes());
    }
}
