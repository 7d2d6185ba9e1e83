//! Changes of the tree: entries come and go, nodes split and are given back.
//!
//! A node that is full splits, by bytes rather than by cells. If the new cell is its last, only that goes to the new
//! node, so that keys inserted in ascending order fill their leaves. In descending order the same holds the other way
//! round. The root keeps its page: it is pushed down into a new node before it splits.
//!
//! A leaf without entries is removed from the tree, with the nodes above it that had no other child. A leaf less than
//! a quarter full is joined with a neighbour under the same parent if both fit into three quarters of one. So the tree
//! has at most one leaf without entries, its only one, and pages given back are used again before the tree grows.

use super::change::{self, Built};
use super::descent::{Place, Step, child_page};
use super::node::{CAPACITY, LEVELS_MAX, Node, room, u32_at};
use super::pages::{Damage, TreePages, damaged};
use crate::page::PageId;

/// Adds an entry at a place where its key is not.
pub fn insert<P: TreePages + ?Sized>(
    pages: &mut P,
    tree: P::Tree,
    place: &Place,
    key: &[u8],
    value: &[u8],
) -> Result<(), P::Error> {
    if change::insert(pages, place.leaf, place.slot, key, value)? {
        return Ok(());
    }
    let (right, separator) = split(pages, tree, place.leaf, place.slot, key, value)?;
    insert_child(pages, tree, &place.path, &separator, right)
}

/// Replaces the value of the entry at a place.
pub fn replace<P: TreePages + ?Sized>(
    pages: &mut P,
    tree: P::Tree,
    place: &Place,
    key: &[u8],
    value: &[u8],
) -> Result<(), P::Error> {
    if change::overwrite(pages, place.leaf, place.slot, value)? {
        return Ok(());
    }
    change::remove(pages, place.leaf, place.slot)?;
    insert(pages, tree, place, key, value)
}

/// The number of pages to put back an entry that is about to be removed from a place, or to become shorter. Others may
/// have used its room by then. The leaf and every node above it splits, the root is pushed down before, and the tree
/// may have become higher meanwhile.
pub fn pages_to_come_back(place: &Place) -> u64 {
    place.path.len() as u64 + 3
}

/// Takes the entry at a place out.
pub fn remove<P: TreePages + ?Sized>(
    pages: &mut P,
    tree: P::Tree,
    place: &Place,
) -> Result<(), P::Error> {
    change::remove(pages, place.leaf, place.slot)?;
    let node = Node::read(pages, place.leaf)?;
    if node.count == 0 {
        return remove_leaf(pages, tree, place);
    }
    if CAPACITY - node.free() < CAPACITY / 4 {
        return join(pages, tree, place);
    }
    Ok(())
}

/// Adds a child to the last of the nodes on the way, to the right of the one taken there.
fn insert_child<P: TreePages + ?Sized>(
    pages: &mut P,
    tree: P::Tree,
    path: &[Step],
    separator: &[u8],
    right: u32,
) -> Result<(), P::Error> {
    let Some((parent, above)) = path.split_last() else {
        let (_, root) = pages.root(tree)?;
        return Err(damaged(root, 3, "a root that is a leaf").into());
    };
    let child = right.to_le_bytes();
    if change::insert(pages, parent.id, parent.child, separator, &child)? {
        return Ok(());
    }
    if above.is_empty() {
        let pushed = push_down(pages, tree, parent)?;
        let root = Step {
            child: 0,
            ..*parent
        };
        return insert_child(pages, tree, &[root, pushed], separator, right);
    }
    let (right, separator) = split(pages, tree, parent.id, parent.child, separator, &child)?;
    insert_child(pages, tree, above, &separator, right)
}

/// Moves the content of the root into a new node, the root's only child then.
fn push_down<P: TreePages + ?Sized>(
    pages: &mut P,
    tree: P::Tree,
    root: &Step,
) -> Result<Step, P::Error> {
    let (index, id) = pages.allocate(tree)?;
    let node = Node::read_to_write(pages, root.id)?;
    if node.level == LEVELS_MAX {
        return Err(damaged(root.id, 3, "the highest level, and full").into());
    }
    let level = node.level + 1;
    copy(&node, 0..node.count, node.level, u32_at(node.bytes, 12))?.write(pages, id)?;
    Built::new(level, index).write(pages, root.id)?;
    Ok(Step {
        index,
        id,
        child: root.child,
    })
}

/// A new node of some cells of another.
fn copy(
    node: &Node<'_>,
    cells: std::ops::Range<usize>,
    level: u8,
    leftmost: u32,
) -> Result<Built, Damage> {
    let mut built = Built::new(level, leftmost);
    for slot in cells {
        let cell = node.cell(slot)?;
        if !built.push(cell.key, cell.value) {
            return Err(damaged(node.id, cell.at, "cells that overlap"));
        }
    }
    Ok(built)
}

/// Splits a node in two, with a further cell for which it has no room. Returns the new right node's
/// page within the tree and the key that separates the two.
fn split<P: TreePages + ?Sized>(
    pages: &mut P,
    tree: P::Tree,
    id: PageId,
    slot: usize,
    key: &[u8],
    value: &[u8],
) -> Result<(u32, Vec<u8>), P::Error> {
    let (index, new) = pages.allocate(tree)?;
    let node = Node::read_to_write(pages, id)?;
    // The cells with the new one among them.
    let count = node.count + 1;
    let cell = |at: usize| -> Result<(&[u8], &[u8]), Damage> {
        if at == slot {
            return Ok((key, value));
        }
        let cell = node.cell(at - usize::from(at > slot))?;
        Ok((cell.key, cell.value))
    };
    let boundary = boundary(&node, slot, count, &cell)?;
    let (first, second) = (cell(boundary - 1)?.0, cell(boundary)?);
    let (separator, leftmost, from) = if node.level == 0 {
        (shortest_between(first, second.0), 0, boundary)
    } else {
        let child = <[u8; 4]>::try_from(second.1)
            .map_err(|_| damaged(id, 4, "a child's page not of 4 bytes"))?;
        (second.0.to_vec(), u32::from_le_bytes(child), boundary + 1)
    };
    let mut right = Built::new(node.level, leftmost);
    for at in from..count {
        let (key, value) = cell(at)?;
        if !right.push(key, value) {
            return Err(damaged(id, 8, "cells that overlap").into());
        }
    }
    let keep = boundary - usize::from(slot < boundary);
    right.write(pages, new)?;
    change::truncate(pages, id, keep)?;
    if slot < boundary && !change::insert(pages, id, slot, key, value)? {
        return Err(damaged(id, 8, "cells that overlap").into());
    }
    Ok((index, separator))
}

/// The number of cells that stay left when a node splits.
fn boundary<'a>(
    node: &Node<'_>,
    slot: usize,
    count: usize,
    cell: &dyn Fn(usize) -> Result<(&'a [u8], &'a [u8]), Damage>,
) -> Result<usize, Damage> {
    if count < 2 {
        return Err(damaged(node.id, 4, "too few cells for a full node"));
    }
    if slot == count - 1 {
        return Ok(slot);
    }
    if slot == 0 && node.level == 0 {
        return Ok(1);
    }
    let mut total = 0;
    for at in 0..count {
        let (key, value) = cell(at)?;
        total += room(key, value);
    }
    let (mut left, mut best) = (0, (usize::MAX, 1));
    for at in 1..count {
        let (key, value) = cell(at - 1)?;
        left += room(key, value);
        best = best.min((left.max(total - left), at));
    }
    if best.0 > CAPACITY {
        return Err(damaged(node.id, 4, "cells that do not fit into two nodes"));
    }
    Ok(best.1)
}

/// The shortest key that is greater than `left` and not greater than `right`.
fn shortest_between(left: &[u8], right: &[u8]) -> Vec<u8> {
    let common = left
        .iter()
        .zip(right)
        .take_while(|(left, right)| left == right)
        .count();
    right[..right.len().min(common + 1)].to_vec()
}

/// Takes an empty leaf out of the tree, unless it is the only one.
fn remove_leaf<P: TreePages + ?Sized>(
    pages: &mut P,
    tree: P::Tree,
    place: &Place,
) -> Result<(), P::Error> {
    // The lowest node above with another child: everything between goes with the leaf.
    let mut keep = None;
    for (depth, step) in place.path.iter().enumerate() {
        if Node::read(pages, step.id)?.count > 0 {
            keep = Some(depth);
        }
    }
    let Some(keep) = keep else {
        return Ok(());
    };
    pages.free(tree, place.index, place.leaf)?;
    for step in &place.path[keep + 1..] {
        pages.free(tree, step.index, step.id)?;
    }
    remove_child(pages, &place.path[keep])?;
    lower_root(pages, tree, place.path[0].id)
}

/// Takes the child that was taken at a step out of its node, which has another.
fn remove_child<P: TreePages + ?Sized>(pages: &mut P, step: &Step) -> Result<(), P::Error> {
    if let Some(slot) = step.child.checked_sub(1) {
        return change::remove(pages, step.id, slot);
    }
    let (leftmost, _) = Node::read_to_write(pages, step.id)?.child(1)?;
    pages
        .write(step.id, 12..16)?
        .copy_from_slice(&leftmost.to_le_bytes());
    change::remove(pages, step.id, 0)
}

/// While the root has an inner node as its only child, it takes its place.
fn lower_root<P: TreePages + ?Sized>(
    pages: &mut P,
    tree: P::Tree,
    root: PageId,
) -> Result<(), P::Error> {
    loop {
        let node = Node::read(pages, root)?;
        if node.count > 0 || node.level <= 1 {
            return Ok(());
        }
        let level = node.level;
        let index = node.child(0)?.0;
        let id = child_page(pages, tree, &node, 0)?;
        let child = Node::read_to_write(pages, id)?;
        if child.level + 1 != level {
            return Err(damaged(id, 3, "a level that does not follow its parent's").into());
        }
        copy(&child, 0..child.count, child.level, u32_at(child.bytes, 12))?.write(pages, root)?;
        pages.free(tree, index, id)?;
    }
}

/// Joins a leaf that is nearly empty with a neighbour under the same parent, if one fits.
fn join<P: TreePages + ?Sized>(
    pages: &mut P,
    tree: P::Tree,
    place: &Place,
) -> Result<(), P::Error> {
    let Some(parent) = place.path.last() else {
        return Ok(());
    };
    let node = Node::read(pages, parent.id)?;
    let right = (parent.child < node.count).then_some(parent.child);
    for left in right.into_iter().chain(parent.child.checked_sub(1)) {
        if join_pair(pages, tree, parent, left)? {
            return lower_root(pages, tree, place.path[0].id);
        }
    }
    Ok(())
}

/// Moves the content of the leaf right of a child into it, if it fits into three quarters of a node.
fn join_pair<P: TreePages + ?Sized>(
    pages: &mut P,
    tree: P::Tree,
    parent: &Step,
    left: usize,
) -> Result<bool, P::Error> {
    let node = Node::read(pages, parent.id)?;
    let index = node.child(left + 1)?.0;
    let ids = (
        child_page(pages, tree, &node, left)?,
        child_page(pages, tree, &node, left + 1)?,
    );
    let nodes = (Node::read(pages, ids.0)?, Node::read(pages, ids.1)?);
    if nodes.0.level != 0 || nodes.1.level != 0 || ids.0 == ids.1 {
        return Err(damaged(parent.id, 4, "children that are not two leaves").into());
    }
    let bytes = |node: &Node<'_>| CAPACITY - node.free();
    if bytes(&nodes.0) + bytes(&nodes.1) > CAPACITY / 4 * 3 {
        return Ok(false);
    }
    let mut joined = copy(&nodes.0, 0..nodes.0.count, 0, 0)?;
    for slot in 0..nodes.1.count {
        let cell = nodes.1.cell(slot)?;
        if !joined.push(cell.key, cell.value) {
            return Err(damaged(ids.1, cell.at, "cells that overlap").into());
        }
    }
    joined.write(pages, ids.0)?;
    pages.free(tree, index, ids.1)?;
    remove_child(
        pages,
        &Step {
            child: left + 1,
            ..*parent
        },
    )?;
    Ok(true)
}
