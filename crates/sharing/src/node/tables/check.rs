//! Checks the tables: every page that was given out is in use exactly once, or in a pool. Every tree is a tree.
//! Every row is one of its table, under its own key, and each index names it.

use super::super::NodeError;
use super::catalogue::{self, Definition};
use super::entries::{self, Keys};
use super::long;
use super::space::{self, FIRST_PAGE, Head, POOLS, Pool};
use super::view::View;
use crate::protocol::LockMode;
use sardonyx_rows::TableError;
use sardonyx_storage::page::PageId;
use sardonyx_storage::tree::{self, Shape, damaged, find};
use std::collections::HashSet;
use std::ops::Bound;

/// The uses of the pages of a database with tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct PagesInUse {
    /// Definitions in the catalogue.
    pub tables: u64,
    /// Rows of all tables.
    pub rows: u64,
    /// Nodes of trees, the catalogue's among them.
    pub nodes: u64,
    /// Pages of long values.
    pub values: u64,
    /// Pages that pools have.
    pub free: u64,
    /// Marks of trees that were dropped.
    pub marks: u64,
    /// Pages that were given out: the sum of the others, and the head and the pools.
    pub used: u64,
}

/// The pages that were met.
struct Met {
    used: u64,
    seen: HashSet<u32>,
}

impl Met {
    fn claim(&mut self, by: PageId, offset: usize, page: u32) -> Result<(), tree::Damage> {
        if u64::from(page) >= self.used || u64::from(page) < FIRST_PAGE {
            return Err(damaged(by, offset, "a page that was never given out"));
        }
        match self.seen.insert(page) {
            true => Ok(()),
            false => Err(damaged(by, offset, "a page that is used twice")),
        }
    }
}

/// The pages of a tree and of its long values.
fn check_tree(
    view: &View<'_>,
    root: u32,
    met: &mut Met,
    sum: &mut PagesInUse,
) -> Result<Shape, NodeError> {
    met.claim(PageId(0), 12, root)?;
    let shape = tree::check(view, root, &mut |by, at, page| met.claim(by, at, page))?;
    sum.nodes += shape.leaves + shape.inner;
    let mut ahead = find(view, root, &[], tree::Intent::Read)?;
    while let Some(place) = ahead {
        let Some(place) = place.settled(view, root)? else {
            break;
        };
        let Some((_, entry)) = place.entry(view)? else {
            break;
        };
        if let long::Place::InChain { length, first } = long::place_of(place.leaf, entry)? {
            long::walk(view, (length, first), |page, _| {
                sum.values += 1;
                Ok(met.claim(place.leaf, 4, page)?)
            })?;
        }
        let mut next = place;
        next.slot += 1;
        ahead = Some(next);
    }
    Ok(shape)
}

/// Checks everything, and counts it.
pub(super) fn check(view: &View<'_>) -> Result<PagesInUse, NodeError> {
    let mut sum = PagesInUse::default();
    let Some(head) = Head::read(view, LockMode::Read)? else {
        return Ok(sum);
    };
    let mut met = Met {
        used: head.used,
        seen: HashSet::new(),
    };
    check_tree(view, head.catalogue, &mut met, &mut sum)?;
    for (_, definition) in catalogue::all(view, 0)? {
        let info = match definition {
            Definition::Table(info) => info,
            Definition::Journal { .. } => continue,
            Definition::Dropped(dropped) => {
                for root in dropped.trees {
                    check_tree(view, root, &mut met, &mut sum)?;
                }
                continue;
            }
        };
        let shape = check_tree(view, info.root, &mut met, &mut sum)?;
        (sum.tables, sum.rows) = (sum.tables + 1, sum.rows + shape.entries);
        let keys = Keys {
            lower: Bound::Unbounded,
            upper: Bound::Unbounded,
        };
        let damaged = |page: u32, reason| TableError::DamagedTable {
            table: info.format.table().to_string(),
            page: page.into(),
            offset: 0,
            reason,
        };
        for &root in &info.indexes {
            if check_tree(view, root, &mut met, &mut sum)?.entries != shape.entries {
                return Err(damaged(root, "an index with more entries than rows, or fewer").into());
            }
        }
        for (key, row) in entries::scan(view, info.root, &keys, usize::MAX, false)? {
            if info.format.key_of(&row)? != key {
                return Err(damaged(info.root, "a row under another row's key").into());
            }
            let own = info.format.index_keys(&row)?;
            for (&root, own) in info.indexes.iter().zip(own) {
                let found = entries::get(view, root, &own, tree::Intent::Read)?;
                if found.as_ref() != Some(&key) {
                    return Err(damaged(root, "an index that does not name a row").into());
                }
            }
        }
    }
    let (mut by, mut mark) = (PageId(0), head.first_mark);
    while mark != 0 {
        met.claim(by, 4, mark)?;
        sum.marks += 1;
        by = PageId(mark.into());
        mark = space::next_mark(view, mark)?;
    }
    for slot in 0..POOLS {
        let pool = Pool::read(view, slot, LockMode::Read)?;
        let page = PageId(1 + slot as u64);
        for next in pool.next..pool.end {
            met.claim(page, 16, next as u32)?;
            sum.free += 1;
        }
        let (mut free, mut next) = (0, pool.first_free);
        while next != 0 {
            met.claim(page, 4, next)?;
            free += 1;
            next = space::next_free(view, next.into(), LockMode::Read)?;
        }
        if free != pool.free {
            return Err(damaged(page, 8, "a wrong number of free pages").into());
        }
        sum.free += free;
    }
    if met.seen.len() as u64 + FIRST_PAGE != head.used {
        return Err(damaged(PageId(0), 16, "pages without an owner").into());
    }
    sum.used = head.used;
    Ok(sum)
}
