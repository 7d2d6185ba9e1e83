//! Whether the pages of an area are a sound index, all of them.

use super::descent::child_page;
use super::error::{IndexError, damaged};
use super::node::{CAPACITY, Node};
use super::space::{Meta, ROOT, is_unused, next_free};
use crate::pages::{Area, Pages};
use sardonyx_storage::page::PageId;
use std::collections::HashSet;

/// What an index consists of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Shape {
    /// Entries.
    pub entries: u64,
    /// Levels of nodes; 0 if the index was never written.
    pub height: u8,
    /// Leaves.
    pub leaves: u64,
    /// Inner nodes.
    pub inner: u64,
    /// Pages to be used again before the area grows.
    pub free: u64,
    /// Bytes of the leaves that are in use, their headers left out.
    pub leaf_bytes: u64,
}

/// The walk over an index.
struct Walk<'a> {
    pages: &'a dyn Pages,
    area: Area,
    used: u32,
    seen: HashSet<u32>,
    shape: Shape,
    /// The key last seen in a leaf.
    last: Option<Vec<u8>>,
}

/// Checks everything: headers, cells and dead bytes of all nodes; order of the keys within and
/// between nodes; that every page used is reached exactly once, as a node or as a free page.
pub(super) fn check(pages: &dyn Pages, area: Area) -> Result<Shape, IndexError> {
    if pages.pages_of(area)? <= u64::from(ROOT) {
        return Ok(Shape::default());
    }
    let root = pages.page(area, u64::from(ROOT))?;
    if pages.read(root)?[..16] == [0; 16] && is_unused(pages, area)? {
        return Ok(Shape::default());
    }
    let id = pages.page(area, 0)?;
    let meta = Meta::of(id, pages.read(id)?)?;
    if meta.used <= ROOT || u64::from(meta.used) > pages.pages_of(area)? {
        return Err(damaged(id, 4, "an impossible number of pages used"));
    }
    let (seen, shape) = (HashSet::from([0]), Shape::default());
    let (used, last) = (meta.used, None);
    let mut walk = Walk {
        pages,
        area,
        used,
        seen,
        shape,
        last,
    };
    walk.free_pages(&meta)?;
    let node = Node::read(pages, root)?;
    if node.level == 0 {
        return Err(damaged(root, 3, "a root that is a leaf"));
    }
    walk.shape.height = node.level + 1;
    walk.claim(id, 4, ROOT)?;
    walk.node(&node, None, None)?;
    if walk.seen.len() as u64 != u64::from(meta.used) {
        return Err(damaged(id, 4, "pages that are neither nodes nor free"));
    }
    if walk.shape.entries > 0 && walk.shape.leaf_bytes == 0 {
        return Err(damaged(root, 4, "entries without bytes"));
    }
    Ok(walk.shape)
}

impl Walk<'_> {
    /// Meets a page for the first time.
    fn claim(&mut self, by: PageId, offset: usize, index: u32) -> Result<(), IndexError> {
        if index >= self.used {
            return Err(damaged(by, offset, "a page that was never used"));
        }
        if !self.seen.insert(index) {
            return Err(damaged(by, offset, "a page that is used twice"));
        }
        Ok(())
    }

    fn free_pages(&mut self, meta: &Meta) -> Result<(), IndexError> {
        let (mut by, mut offset, mut next) = (meta.id, 8, meta.first_free);
        while next != 0 {
            self.claim(by, offset, next)?;
            self.shape.free += 1;
            by = self.pages.page(self.area, u64::from(next))?;
            offset = 4;
            next = next_free(by, self.pages.read(by)?)?;
        }
        if self.shape.free != u64::from(meta.free) {
            return Err(damaged(meta.id, 12, "a wrong number of free pages"));
        }
        Ok(())
    }

    /// A node whose keys are to be at least `low` and below `high`, and all below it.
    fn node(
        &mut self,
        node: &Node<'_>,
        low: Option<&[u8]>,
        high: Option<&[u8]>,
    ) -> Result<(), IndexError> {
        let mut bytes = 0;
        let mut last: Option<&[u8]> = None;
        for slot in 0..node.count {
            let cell = node.cell(slot)?;
            bytes += cell.room();
            let key = Some(cell.key);
            if last.is_some() && last >= key {
                return Err(damaged(node.id, cell.at, "keys that are not in order"));
            }
            if low > key || high.is_some() && high <= key {
                return Err(damaged(
                    node.id,
                    cell.at,
                    "a key that belongs to another node",
                ));
            }
            last = key;
        }
        if bytes + node.free() != CAPACITY {
            return Err(damaged(node.id, 8, "a wrong number of dead bytes"));
        }
        if node.level == 0 {
            self.leaf(node, bytes)
        } else {
            self.inner(node, low, high)
        }
    }

    fn leaf(&mut self, node: &Node<'_>, bytes: usize) -> Result<(), IndexError> {
        self.shape.leaves += 1;
        self.shape.leaf_bytes += bytes as u64;
        self.shape.entries += node.count as u64;
        if node.count == 0 && (self.shape.leaves > 1 || self.last.is_some()) {
            return Err(damaged(node.id, 4, "an empty leaf"));
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
            return Err(damaged(node.id, 4, "keys that are not in order"));
        }
        self.last = Some(last.to_vec());
        Ok(())
    }

    fn inner(
        &mut self,
        node: &Node<'_>,
        low: Option<&[u8]>,
        high: Option<&[u8]>,
    ) -> Result<(), IndexError> {
        self.shape.inner += 1;
        for child in 0..=node.count {
            let (index, at) = node.child(child)?;
            self.claim(node.id, at, index)?;
            let id = child_page(self.pages, self.area, node, child)?;
            let below = Node::read(self.pages, id)?;
            if below.level + 1 != node.level {
                return Err(damaged(id, 3, "a level that does not follow its parent's"));
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
