//! The way from the root to a leaf.
//!
//! Inner nodes are read (locked shared until the end of the operation), the leaf as the operation
//! means it: an operation that will write locks it exclusively at once. Leaves are not linked to
//! each other. The neighbour of a leaf is found through the nodes above it, which are locked
//! already, so that no split has to write a neighbour.

use super::node::Node;
use super::pages::{Page, TreePages, damaged};
use super::path::Path;
use crate::page::PageId;
use std::cmp::Ordering;

/// An entry in its leaf: its key and its value.
pub type KeyAndValue<'a> = (&'a [u8], &'a [u8]);

/// An inner node on the way, and which of its children was taken.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The node's number in the index.
    pub index: u32,
    /// The page that holds the node.
    pub id: PageId,
    /// The child: 0 is left of all cells.
    pub child: usize,
}

/// A leaf, a place in its order, and how one gets there.
#[derive(Clone, Debug)]
pub struct Place {
    /// From the root.
    pub path: Path,
    /// The leaf's number.
    pub index: u32,
    /// The page that holds the leaf.
    pub leaf: PageId,
    /// The first cell that is not smaller than the sought key; may be behind the last.
    pub slot: usize,
    /// True if it is equal.
    pub found: bool,
}

/// The planned use of the leaf.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Intent {
    /// Shared lock to the end of the operation.
    Read,
    /// It will be written, and is locked so at once.
    Write,
}

impl Intent {
    fn read<P: TreePages + ?Sized>(self, pages: &P, id: PageId) -> Result<&Page, P::Error> {
        match self {
            Intent::Read => pages.read(id),
            Intent::Write => pages.read_to_write(id),
        }
    }
}

/// The way down.
enum Toward<'a> {
    Key(&'a [u8]),
    First,
    Last,
}

/// The place of a key, or the place where it would be; `None` if the index has never been written
/// to.
pub fn find<P: TreePages + ?Sized>(
    pages: &P,
    tree: P::Tree,
    key: &[u8],
    intent: Intent,
) -> Result<Option<Place>, P::Error> {
    from_root(pages, tree, &Toward::Key(key), intent)
}

/// The end of the index.
pub fn find_end<P: TreePages + ?Sized>(
    pages: &P,
    tree: P::Tree,
) -> Result<Option<Place>, P::Error> {
    from_root(pages, tree, &Toward::Last, Intent::Read)
}

fn from_root<P: TreePages + ?Sized>(
    pages: &P,
    tree: P::Tree,
    toward: &Toward<'_>,
    intent: Intent,
) -> Result<Option<Place>, P::Error> {
    let (number, root) = pages.root(tree)?;
    let bytes = pages.read(root)?;
    if bytes[..16] == [0; 16] && pages.is_unused(tree)? {
        return Ok(None);
    }
    let node = Node::of(root, bytes)?;
    if node.level == 0 {
        return Err(damaged(root, 3, "a root that is a leaf").into());
    }
    down(pages, tree, Path::new(), (number, node), toward, intent).map(Some)
}

/// From an inner node down to a leaf.
fn down<P: TreePages + ?Sized>(
    pages: &P,
    tree: P::Tree,
    mut path: Path,
    (mut index, mut node): (u32, Node<'_>),
    toward: &Toward<'_>,
    intent: Intent,
) -> Result<Place, P::Error> {
    loop {
        let child = match toward {
            Toward::Key(key) => node.child_for(key)?,
            Toward::First => 0,
            Toward::Last => node.count,
        };
        let id = node.id;
        path.push(Step { index, id, child });
        index = node.child(child)?.0;
        let id = child_page(pages, tree, &node, child)?;
        let intent = if node.level == 1 {
            intent
        } else {
            Intent::Read
        };
        let below = Node::of(id, intent.read(pages, id)?)?;
        if below.level + 1 != node.level {
            return Err(damaged(id, 3, "a level that does not follow its parent's").into());
        }
        if below.level == 0 {
            let (slot, found) = match toward {
                Toward::Key(key) => below.search(key)?,
                Toward::First => (0, false),
                Toward::Last => (below.count, false),
            };
            return Ok(Place {
                path,
                index,
                leaf: id,
                slot,
                found,
            });
        }
        node = below;
    }
}

/// The page of an inner node's child.
pub(super) fn child_page<P: TreePages + ?Sized>(
    pages: &P,
    tree: P::Tree,
    node: &Node<'_>,
    child: usize,
) -> Result<PageId, P::Error> {
    let (number, at) = node.child(child)?;
    let page = pages.page(tree, number)?;
    Ok(page.ok_or_else(|| damaged(node.id, at, "a child that is not in the index"))?)
}

impl Place {
    /// The cell here; `None` behind the leaf's last.
    pub fn entry<'a, P: TreePages + ?Sized>(
        &self,
        pages: &'a P,
    ) -> Result<Option<KeyAndValue<'a>>, P::Error> {
        let node = Node::read(pages, self.leaf)?;
        if self.slot == node.count {
            return Ok(None);
        }
        let cell = node.cell(self.slot)?;
        Ok(Some((cell.key, cell.value)))
    }

    /// This place, or the first of the next leaf if it is behind the last cell; `None` at the
    /// index's end.
    pub fn settled<P: TreePages + ?Sized>(
        self,
        pages: &P,
        tree: P::Tree,
    ) -> Result<Option<Place>, P::Error> {
        self.settled_to(pages, tree, Intent::Read)
    }

    /// As [`Place::settled`], with this use of the next leaf.
    pub fn settled_to<P: TreePages + ?Sized>(
        self,
        pages: &P,
        tree: P::Tree,
        intent: Intent,
    ) -> Result<Option<Place>, P::Error> {
        if self.slot < Node::read(pages, self.leaf)?.count {
            return Ok(Some(self));
        }
        let next = self.neighbour(pages, tree, Ordering::Greater, intent)?;
        if let Some(next) = &next {
            next.entry(pages)?
                .ok_or_else(|| damaged(next.leaf, 4, "an empty leaf"))?;
        }
        Ok(next)
    }

    /// The place before this one; `None` at the index's beginning.
    pub fn before<P: TreePages + ?Sized>(
        mut self,
        pages: &P,
        tree: P::Tree,
    ) -> Result<Option<Place>, P::Error> {
        if self.slot > 0 {
            self.slot -= 1;
            return Ok(Some(self));
        }
        let Some(mut previous) = self.neighbour(pages, tree, Ordering::Less, Intent::Read)? else {
            return Ok(None);
        };
        let Some(slot) = previous.slot.checked_sub(1) else {
            return Err(damaged(previous.leaf, 4, "an empty leaf").into());
        };
        previous.slot = slot;
        Ok(Some(previous))
    }

    /// The beginning of the leaf to the right, or the end of the one to the left.
    fn neighbour<P: TreePages + ?Sized>(
        &self,
        pages: &P,
        tree: P::Tree,
        side: Ordering,
        intent: Intent,
    ) -> Result<Option<Place>, P::Error> {
        let mut path = self.path.clone();
        while let Some(step) = path.pop() {
            let node = Node::read(pages, step.id)?;
            let (child, toward) = match side {
                Ordering::Less if step.child > 0 => (step.child - 1, Toward::Last),
                Ordering::Greater if step.child < node.count => (step.child + 1, Toward::First),
                _ => continue,
            };
            let (index, id) = (step.index, step.id);
            path.push(Step { index, id, child });
            let id = child_page(pages, tree, &node, child)?;
            let index = node.child(child)?.0;
            let of_child = match node.level {
                1 => intent,
                _ => Intent::Read,
            };
            let below = Node::of(id, of_child.read(pages, id)?)?;
            if below.level + 1 != node.level {
                return Err(damaged(id, 3, "a level that does not follow its parent's").into());
            }
            if below.level > 0 {
                return down(pages, tree, path, (index, below), &toward, intent).map(Some);
            }
            let (leaf, found) = (id, false);
            let slot = if side == Ordering::Less {
                below.count
            } else {
                0
            };
            return Ok(Some(Place {
                path,
                index,
                leaf,
                slot,
                found,
            }));
        }
        Ok(None)
    }
}
