//! Keys that come near one another: an entry is put into the leaf of the last insertion without a way down.
//!
//! Elements that are put before or behind a list, or rows that are numbered for each of their owners, have such keys. The tree
//! knows the leaf of the last insertion, and looks there first if the insertion before went there, too. So random keys cost
//! a comparison only.
//!
//! Invariants: the leaf is one of this tree, so each removal forgets it, since it may free leaves. An entry goes there only if
//! the way down would lead there: between two entries of the leaf, or beyond its end where no leaf is.

use super::keyed::Keys;
use super::node::LEAF_ENTRIES;
use super::search::live_leaf;
use super::{LEVELS_MAX, Path, Tree};
use sardonyx_rows::key::Edge;
use sardonyx_storage::page::Address;

/// The leaf of the last insertion.
#[derive(Clone, Copy, Debug)]
pub(super) struct Near {
    /// Address 0 if it is not known.
    leaf: Address,
    /// True if the insertion before went there, too.
    is_again: bool,
}

impl Default for Near {
    fn default() -> Self {
        Near {
            leaf: Address(0),
            is_again: false,
        }
    }
}

impl Near {
    /// Notes the leaf of an insertion.
    #[inline]
    pub fn note(&mut self, leaf: Address) {
        self.is_again = self.leaf == leaf;
        self.leaf = leaf;
    }

    /// The leaf is not known any more.
    #[inline]
    pub fn forget(&mut self) {
        *self = Near::default();
    }
}

impl Tree {
    /// The place of a key in the leaf of the last insertion, if it belongs there, no entry there has its head, and there is
    /// room. The path has no steps: only a full leaf needs them.
    #[inline]
    pub(super) fn near_path(&self, nodes: &[u8], keys: &impl Keys, key: &[u8]) -> Option<Path> {
        if !self.near.is_again {
            return None;
        }
        let leaf = live_leaf(nodes, self.near.leaf);
        let (count, skip) = (leaf.count(), leaf.skip());
        if count == LEAF_ENTRIES || count == 0 {
            return None;
        }
        let shared = key.get(..skip)?;
        if skip > 0 && !keys.shares(leaf.entry(0).address, shared) {
            return None;
        }
        let edge = Edge {
            bytes: key,
            behind: false,
        };
        let head = edge.head(skip);
        let Ok(at) = leaf.position(head, |_| Ok::<_, std::convert::Infallible>(false));
        let is_tied = at < count && leaf.entry(at).prefix == head;
        let is_before = at == 0 && leaf.previous().0 != 0;
        let is_behind = at == count && leaf.next().0 != 0;
        if is_tied || is_before || is_behind {
            return None;
        }
        Some(Path {
            steps: [(Address(0), 0); LEVELS_MAX],
            levels: 0,
            leaf: self.near.leaf,
            at,
            head: Some(head),
        })
    }
}
