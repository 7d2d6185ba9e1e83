//! Checks all nodes of a tree.

use super::descent::child_page;
use super::node::{CAPACITY, Node};
use super::pages::{Damage, TreePages, damaged};
use crate::page::PageId;

/// The extent of an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Shape {
    /// Pairs of key and value in all leaves.
    pub entries: u64,
    /// Levels of nodes; 0 if the index was never written.
    pub height: u8,
    /// Pages with entries.
    pub leaves: u64,
    /// Inner nodes.
    pub inner: u64,
    /// Pages to be used again before the area grows.
    pub free: u64,
    /// Bytes of the leaves that are in use, their headers left out.
    pub leaf_bytes: u64,
}

/// Called for each node below the root, before it is read: the page and the offset that name it, and its number.
/// A caller that counts pages refuses one that is met twice. Without that, walking a damaged tree could take very
/// long.
pub type Claim<'c> = dyn FnMut(PageId, usize, u32) -> Result<(), Damage> + 'c;

/// The walk over an index.
struct Walk<'a, 'c, P: TreePages + ?Sized> {
    pages: &'a P,
    tree: P::Tree,
    claim: &'a mut Claim<'c>,
    shape: Shape,
    /// The key last seen in a leaf.
    last: Option<Vec<u8>>,
}

/// Checks headers, cells and dead bytes of all nodes, and the order of the keys within and between nodes. Counts all
/// but free pages.
///
/// # Errors
/// [`Damage`] with the first wrong page, the error that `claim` returns, or the error of getting a page.
pub fn check<P: TreePages + ?Sized>(
    pages: &P,
    tree: P::Tree,
    claim: &mut Claim<'_>,
) -> Result<Shape, P::Error> {
    let (_, root) = pages.root(tree)?;
    let node = Node::read(pages, root)?;
    if node.level == 0 {
        return Err(damaged(root, 3, "a root that is a leaf").into());
    }
    let mut walk = Walk {
        pages,
        tree,
        claim,
        shape: Shape {
            height: node.level + 1,
            ..Shape::default()
        },
        last: None,
    };
    walk.node(&node, None, None)?;
    if walk.shape.entries > 0 && walk.shape.leaf_bytes == 0 {
        return Err(damaged(root, 4, "entries without bytes").into());
    }
    Ok(walk.shape)
}

impl<P: TreePages + ?Sized> Walk<'_, '_, P> {
    /// A node whose keys are to be at least `low` and below `high`, and all below it.
    fn node(
        &mut self,
        node: &Node<'_>,
        low: Option<&[u8]>,
        high: Option<&[u8]>,
    ) -> Result<(), P::Error> {
        let mut bytes = 0;
        let mut last: Option<&[u8]> = None;
        for slot in 0..node.count {
            let cell = node.cell(slot)?;
            bytes += cell.room();
            let key = Some(cell.key);
            if last.is_some() && last >= key {
                return Err(damaged(node.id, cell.at, "keys that are not in order").into());
            }
            if low > key || high.is_some() && high <= key {
                return Err(damaged(node.id, cell.at, "a key that belongs to another node").into());
            }
            last = key;
        }
        if bytes + node.free() != CAPACITY {
            return Err(damaged(node.id, 8, "a wrong number of dead bytes").into());
        }
        if node.level == 0 {
            self.leaf(node, bytes)
        } else {
            self.inner(node, low, high)
        }
    }

    fn leaf(&mut self, node: &Node<'_>, bytes: usize) -> Result<(), P::Error> {
        self.shape.leaves += 1;
        self.shape.leaf_bytes += bytes as u64;
        self.shape.entries += node.count as u64;
        if node.count == 0 && (self.shape.leaves > 1 || self.last.is_some()) {
            return Err(damaged(node.id, 4, "an empty leaf").into());
        }
        let Some(end) = node.count.checked_sub(1) else {
            self.last = Some(Vec::new());
            return Ok(());
        };
        let (first, last) = (node.cell(0)?.key, node.cell(end)?.key);
        if self
            .last
            .as_ref()
            .is_some_and(|before| before[..] >= *first)
        {
            return Err(damaged(node.id, 4, "keys that are not in order").into());
        }
        self.last = Some(last.to_vec());
        Ok(())
    }

    fn inner(
        &mut self,
        node: &Node<'_>,
        low: Option<&[u8]>,
        high: Option<&[u8]>,
    ) -> Result<(), P::Error> {
        self.shape.inner += 1;
        for child in 0..=node.count {
            let (index, at) = node.child(child)?;
            (self.claim)(node.id, at, index)?;
            let id = child_page(self.pages, self.tree, node, child)?;
            let below = Node::read(self.pages, id)?;
            if below.level + 1 != node.level {
                return Err(damaged(id, 3, "a level that does not follow its parent's").into());
            }
            let from = if child == 0 {
                low
            } else {
                Some(node.cell(child - 1)?.key)
            };
            let to = if child == node.count {
                high
            } else {
                Some(node.cell(child)?.key)
            };
            self.node(&below, from, to)?;
        }
        Ok(())
    }
}
