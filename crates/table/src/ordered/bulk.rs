//! Building an ordered index from entries in order: at once, or in parts.

use super::node::{Entry, INNER_BYTES, INNER_ENTRIES, Inner, LEAF_BYTES, LEAF_ENTRIES, Leaf};
use super::search::{live_inner, live_leaf};
use super::{Keys, LEVELS_MAX, Path, Tree};
use crate::index_store::IndexStore;
use sardonyx_base::resident::Resident;
use sardonyx_storage::page::Address;
use sardonyx_storage::store::StoreError;

/// Entries put into a leaf, and children into an inner node: nine tenths, so that the first insertions split few.
const LEAF_FILL: usize = LEAF_ENTRIES * 9 / 10;
const INNER_FILL: usize = INNER_ENTRIES * 9 / 10;

/// A tree with these entries, which are in order and have the first bytes of keys.
///
/// # Errors
/// [`StoreError`] if there is no memory; allocated nodes are freed.
pub(crate) fn build(
    store: &mut IndexStore,
    keys: &impl Keys,
    entries: &[Entry],
) -> Result<Tree, StoreError> {
    let mut tree = Tree::default();
    if entries.is_empty() {
        return Ok(tree);
    }
    // All is allocated first, so that nothing fails half-way: nodes are contiguous if there is no other use.
    let leaves = entries.len().div_ceil(LEAF_FILL);
    let mut inner_nodes = 0;
    let mut width = leaves;
    while width > 1 {
        width = width.div_ceil(INNER_FILL);
        inner_nodes += width;
    }
    store.ensure_room(leaves * LEAF_BYTES + inner_nodes * INNER_BYTES)?;
    let mut level = Vec::with_capacity(leaves);
    for chunk in spread(entries, LEAF_FILL) {
        level.push((chunk[0], store.allocate(LEAF_BYTES)?));
    }
    for (number, chunk) in spread(entries, LEAF_FILL).enumerate() {
        let mut leaf = Leaf::new(chunk);
        leaf.fit(keys);
        let neighbour = |number: Option<usize>| {
            let there = number.and_then(|number| level.get(number));
            there.map_or(Address(0), |(_, address)| *address)
        };
        leaf.set_previous(neighbour(number.checked_sub(1)));
        leaf.set_next(neighbour(Some(number + 1)));
        store.write(level[number].1, leaf.as_bytes());
    }
    tree.bytes = (level.len() * LEAF_BYTES) as u64;
    while level.len() > 1 {
        let mut above = Vec::with_capacity(level.len().div_ceil(INNER_FILL));
        for chunk in spread(&level, INNER_FILL) {
            let at = store.allocate(INNER_BYTES)?;
            let mut inner = Inner::new(chunk);
            inner.fit(keys);
            store.write(at, inner.as_bytes());
            above.push((chunk[0].0, at));
        }
        tree.bytes += (above.len() * INNER_BYTES) as u64;
        tree.height += 1;
        level = above;
    }
    tree.root = level[0].1;
    tree.len = entries.len() as u64;
    Ok(tree)
}

impl Tree {
    /// Appends entries, which are in order and have the first bytes of keys, behind all present ones.
    ///
    /// # Errors
    /// [`StoreError`] if there is no memory; nothing has changed then.
    pub fn append(
        &mut self,
        store: &mut IndexStore,
        keys: &impl Keys,
        entries: &[Entry],
    ) -> Result<(), StoreError> {
        // All of it first, so that nothing fails half-way.
        let leaves = entries.len().div_ceil(LEAF_FILL);
        store.ensure_room(leaves * LEAF_BYTES + (leaves + LEVELS_MAX) * INNER_BYTES)?;
        for chunk in spread(entries, LEAF_FILL) {
            self.append_leaf(store, keys, chunk)?;
        }
        Ok(())
    }

    fn append_leaf(
        &mut self,
        store: &mut IndexStore,
        keys: &impl Keys,
        entries: &[Entry],
    ) -> Result<(), StoreError> {
        let new = store.allocate(LEAF_BYTES)?;
        self.bytes += LEAF_BYTES as u64;
        self.len += entries.len() as u64;
        let mut leaf = Leaf::new(entries);
        leaf.fit(keys);
        self.note_last(new, leaf.next());
        if self.root.0 == 0 {
            store.write(new, leaf.as_bytes());
            self.root = new;
            return Ok(());
        }
        let path = self.path_to_last(store.bytes());
        leaf.set_previous(path.leaf);
        store.write(new, leaf.as_bytes());
        let mut last = *live_leaf(store.bytes(), path.leaf);
        last.set_next(new);
        store.write(path.leaf, last.as_bytes());
        self.add_child(store, keys, &path, entries[0], new, true)
    }

    /// The way to the end of the last leaf.
    fn path_to_last(&self, nodes: &[u8]) -> Path {
        let mut path = Path {
            steps: [(Address(0), 0); LEVELS_MAX],
            levels: usize::from(self.height),
            leaf: self.root,
            at: 0,
            head: None,
        };
        for step in &mut path.steps[..path.levels] {
            let inner = live_inner(nodes, path.leaf);
            let child = inner.count() - 1;
            *step = (path.leaf, child);
            path.leaf = inner.child(child);
        }
        path.at = live_leaf(nodes, path.leaf).count();
        path
    }
}

/// Parts of at most `fill`, of nearly the same length.
fn spread<T>(items: &[T], fill: usize) -> impl Iterator<Item = &[T]> {
    let parts = items.len().div_ceil(fill);
    (0..parts).map(move |part| {
        let start = |part: usize| items.len() * part / parts;
        &items[start(part)..start(part + 1)]
    })
}
