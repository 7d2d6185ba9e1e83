//! Trees that no table has any more, such as those of a replaced content. Their nodes are freed a few at a time, so
//! that the transaction that replaces a large table takes no longer than another one.
//!
//! Invariants: a node is freed once, and its children are known by then. A step frees a part of the remaining nodes,
//! up to a bound. A content is made in at least a transaction for 500 rows, so steps free faster than contents are
//! replaced. An index that one transaction builds, and undoes or loses, is freed whole before the next one is built
//! so.

use super::Tree;
use super::node::{INNER_BYTES, LEAF_BYTES};
use super::search::live_inner;
use crate::index_store::IndexStore;
use sardonyx_storage::page::Address;

/// Nodes that a step gives back, if there are so many: as fast as inserting a few rows.
const NODES_MIN: u64 = 64;
/// A step gives back one of so many nodes that are left, if these are more.
const STEPS: u64 = 16;
/// The most nodes of a step: about a millisecond. A content that is replaced was made in many more steps than it takes then.
const NODES_MAX: u64 = 2000;

/// Nodes with all that is below them, and their heights.
#[derive(Debug, Default)]
pub(crate) struct Leaving {
    nodes: Vec<(Address, u8)>,
    /// The bytes of all remaining nodes.
    bytes: u64,
}

impl Leaving {
    /// Takes a tree.
    pub fn push(&mut self, tree: Tree) {
        if tree.root.0 != 0 {
            self.nodes.push((tree.root, tree.height));
            self.bytes += tree.bytes;
        }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Gives all nodes back.
    pub fn give_all_back(&mut self, store: &mut IndexStore) {
        while !self.is_empty() {
            self.step(store);
        }
    }

    /// Gives some nodes back.
    pub fn step(&mut self, store: &mut IndexStore) {
        let left = self.bytes / LEAF_BYTES as u64;
        for _ in 0..(left / STEPS).clamp(NODES_MIN, NODES_MAX) {
            let Some((at, height)) = self.nodes.pop() else {
                return;
            };
            let bytes = match height.checked_sub(1) {
                None => LEAF_BYTES,
                Some(below) => {
                    let inner = live_inner(store.bytes(), at);
                    let children = (0..inner.count()).map(|child| (inner.child(child), below));
                    self.nodes.extend(children);
                    INNER_BYTES
                }
            };
            store.free(at, bytes);
            self.bytes = self.bytes.saturating_sub(bytes as u64);
        }
    }
}
