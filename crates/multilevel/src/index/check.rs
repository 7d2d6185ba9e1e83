//! Checks that the pages of an area are a sound index, all of them.

use super::error::{IndexError, damaged};
use super::space::{Meta, ROOT, is_unused, next_free};
use crate::pages::{Area, Pages};
use sardonyx_storage::page::PageId;
use sardonyx_storage::tree::{self, Damage, Shape};
use std::collections::HashSet;

/// The pages of the area that were met.
struct Met {
    used: u32,
    seen: HashSet<u32>,
}

impl Met {
    /// Meets a page for the first time.
    fn claim(&mut self, by: PageId, offset: usize, index: u32) -> Result<(), Damage> {
        if index >= self.used {
            return Err(tree::damaged(by, offset, "a page that was never used"));
        }
        if !self.seen.insert(index) {
            return Err(tree::damaged(by, offset, "a page that is used twice"));
        }
        Ok(())
    }

    /// Meets the free pages. Returns how many there are.
    fn free_pages(
        &mut self,
        pages: &dyn Pages,
        area: Area,
        meta: &Meta,
    ) -> Result<u64, IndexError> {
        let (mut by, mut offset, mut next) = (meta.id, 8, meta.first_free);
        let mut free = 0;
        while next != 0 {
            self.claim(by, offset, next)?;
            free += 1;
            by = pages.page(area, u64::from(next))?;
            offset = 4;
            next = next_free(by, pages.read(by)?)?;
        }
        if free != u64::from(meta.free) {
            return Err(damaged(meta.id, 12, "a wrong number of free pages"));
        }
        Ok(free)
    }
}

/// Checks everything: headers, cells and dead bytes of all nodes, and the order of the keys within
/// and between nodes. Every used page must be reached exactly once, as a node or as a free page.
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
    let mut met = Met {
        used: meta.used,
        seen: HashSet::from([0, ROOT]),
    };
    let free = met.free_pages(pages, area, &meta)?;
    let mut claim = |by, offset, index| met.claim(by, offset, index);
    let mut shape = tree::check(pages, area, &mut claim)?;
    shape.free = free;
    if met.seen.len() as u64 != u64::from(meta.used) {
        return Err(damaged(id, 4, "pages that are neither nodes nor free"));
    }
    Ok(shape)
}
