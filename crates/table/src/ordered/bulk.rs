//! Building an ordered index at once from entries in order.

use super::Tree;
use super::node::{Entry, INNER_BYTES, INNER_ENTRIES, Inner, LEAF_BYTES, LEAF_ENTRIES, Leaf};
use crate::index_store::IndexStore;
use sardonyx_storage::page::Address;
use sardonyx_storage::store::StoreError;
use zerocopy::IntoBytes;

/// Entries put into a leaf, and children into an inner node: nine tenths, so that the first insertions split few.
const LEAF_FILL: usize = LEAF_ENTRIES * 9 / 10;
const INNER_FILL: usize = INNER_ENTRIES * 9 / 10;

/// A tree with these entries, which are in order.
///
/// # Errors
/// [`StoreError`] if there is no memory; what was allocated is given back.
pub(crate) fn build(store: &mut IndexStore, entries: &[Entry]) -> Result<Tree, StoreError> {
    let mut tree = Tree::default();
    if entries.is_empty() {
        return Ok(tree);
    }
    // All of it first, so that nothing fails half-way: nodes stand one behind another where there is no other use.
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
            store.write(at, Inner::new(chunk).as_bytes());
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

/// Parts of at most `fill`, of nearly the same length.
fn spread<T>(items: &[T], fill: usize) -> impl Iterator<Item = &[T]> {
    let parts = items.len().div_ceil(fill);
    (0..parts).map(move |part| {
        let start = |part: usize| items.len() * part / parts;
        &items[start(part)..start(part + 1)]
    })
}
