//! A table is dropped: its name goes in one transaction, and its pages go back in as many small ones as it takes.
//!
//! In the first, each of the table's trees moves to another root, which the catalogue keeps under the table's number
//! until the tree is empty. The old root becomes a *mark*. A handle leads to a root. So the user of an older one meets
//! the mark ([`NodeError::Dropped`]), or waits at the root's lock until the drop is durable. A mark never becomes
//! another page, so no handle leads into another table. That costs a page for each tree that was dropped, and
//! transactions on tables nothing.
//!
//! Bound (I10): a transaction of the others removes entries until it has so many pages in its hands. The next drop does
//! the rest of a process that died.

use super::super::NodeError;
use super::super::running::{self, Runs};
use super::catalogue::{self, Definition};
use super::entries::{self, Keys};
use super::space;
use super::store::NodeTables;
use super::view::View;
use crate::protocol::LockMode;
use sardonyx_storage::page::PAGE_SIZE;
use sardonyx_storage::tree;
use std::ops::Bound;

/// A transaction that empties a tree goes on until it has so many pages in its hands.
const PAGES_AT_ONCE: usize = 32;

/// It reads so many entries at a time.
const PIECE: usize = 16;

/// Drops a table. Returns false if there is none of this name.
pub(super) fn drop_table(node: &dyn Runs, name: &str) -> Result<bool, NodeError> {
    let found = running::run(node, |tx| {
        let mut tables = NodeTables::of(tx)?;
        match tables.number(name) {
            Some(_) => tables.drop_table(name).map(|()| true),
            None => Ok(false),
        }
    })?;
    empty_dropped(node)?;
    Ok(found)
}

/// Gives back the pages of everything that was dropped.
pub(in super::super) fn empty_dropped(node: &dyn Runs) -> Result<(), NodeError> {
    while empty_some(node)? {}
    Ok(())
}

/// The table is there no more; its trees are at other roots, to be emptied.
pub(super) fn take_out(view: &mut View<'_>, name: &str, database: u64) -> Result<bool, NodeError> {
    let info = match catalogue::find(view, name, database)? {
        Some(Definition::Table(info)) => info,
        Some(Definition::Journal { .. }) => {
            return Err(catalogue::differs(
                name,
                "it is a journal, which cannot be dropped",
            ));
        }
        _ => return Ok(false),
    };
    let roots = std::iter::once(info.root).chain(info.indexes.iter().copied());
    let trees: Vec<u32> = roots
        .map(|root| move_tree(view, root))
        .collect::<Result<_, _>>()?;
    catalogue::take_out(view, name, info.number, trees)?;
    Ok(true)
}

/// Moves a tree to another root: its page.
fn move_tree(view: &mut View<'_>, root: u32) -> Result<u32, NodeError> {
    let moved = space::allocate(view)?;
    let bytes = *view.page(root.into(), LockMode::Write)?;
    view.change(moved.into(), 0..PAGE_SIZE)?
        .copy_from_slice(&bytes);
    space::mark(view, root)?;
    Ok(moved)
}

/// Empties a part of the dropped trees. True if there is more.
fn empty_some(node: &dyn Runs) -> Result<bool, NodeError> {
    running::run(node, |tx| {
        let mut view = View::new(tx);
        let Some(mut dropped) = catalogue::first_dropped(&view)? else {
            return Ok(false);
        };
        if let Some(&tree) = dropped.trees.last()
            && empty_tree(&mut view, tree)?
        {
            dropped.trees.pop();
            catalogue::note_dropped(&mut view, &dropped)?;
        }
        view.finish().map(|()| true)
    })
}

/// Removes entries of a tree, or, when there are none, its pages. Returns true if it is freed.
fn empty_tree(view: &mut View<'_>, tree: u32) -> Result<bool, NodeError> {
    let all = Keys {
        lower: Bound::Unbounded,
        upper: Bound::Unbounded,
    };
    while view.count() < PAGES_AT_ONCE {
        let found = entries::keys(view, tree, &all, PIECE)?;
        if found.is_empty() {
            let mut pages = Vec::new();
            tree::check(view, tree, &mut |_, _, page| {
                pages.push(page);
                Ok(())
            })?;
            for page in pages.into_iter().chain([tree]) {
                space::free(view, page)?;
            }
            return Ok(true);
        }
        for key in found {
            entries::remove(view, tree, &key)?;
            if view.count() >= PAGES_AT_ONCE {
                break;
            }
        }
    }
    Ok(false)
}
