//! The value pages of a table with room: in memory only, and derived from the pages' bytes.

use crate::table::page_bytes;
use sardonyx_rows::layout::{PageKind, PageUse};
use sardonyx_rows::values::{CLASSES, layout_of};
use sardonyx_storage::page::PageId;
use std::collections::BTreeSet;

/// The value pages of a table that have room, by their numbers.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ValueSpace {
    /// By size class: pages with free cells and occupied ones, the lowest first. Empty as long as the table
    /// has no value pages.
    with_room: Vec<BTreeSet<u64>>,
    /// Pages without an occupied cell, of any former class: good for any.
    empty: BTreeSet<u64>,
    /// The table's life: pages of another are not its own any more.
    life: u32,
}

impl ValueSpace {
    /// The values of a table without pages, in this life.
    pub fn of_life(life: u32) -> Self {
        ValueSpace {
            life,
            ..ValueSpace::default()
        }
    }

    /// Returns true if the table has, or had, value pages: else all pages are of rows.
    #[inline]
    pub fn is_used(&self) -> bool {
        !self.with_room.is_empty()
    }

    /// A page with a free cell of a class.
    pub fn with_room(&self, class: u8) -> Option<PageId> {
        let pages = self.with_room.get(usize::from(class))?;
        pages.first().copied().map(PageId)
    }

    /// A value page without an occupied cell.
    pub fn empty_page(&self) -> Option<PageId> {
        self.empty.first().copied().map(PageId)
    }

    /// All pages with free cells and occupied ones, with their size class.
    pub fn all_with_room(&self) -> impl Iterator<Item = (u8, PageId)> + '_ {
        let classes = self.with_room.iter().enumerate();
        classes
            .flat_map(|(class, pages)| pages.iter().map(move |page| (class as u8, PageId(*page))))
    }

    /// All value pages without an occupied cell.
    pub fn empty_pages(&self) -> impl Iterator<Item = PageId> + '_ {
        self.empty.iter().copied().map(PageId)
    }

    /// Looks at a page again whose bytes changed. If it was a value page, or is one, it was or is one of
    /// this table; its class was the one given, or it is now.
    pub fn refresh(&mut self, bytes: &[u8], table: u16, page: PageId, class: u8) {
        if !self.is_used() {
            self.with_room.resize_with(CLASSES, BTreeSet::new);
        }
        let content = page_bytes(bytes, page);
        let now = match PageUse::of(content) {
            Some(PageUse {
                table: owner,
                life,
                kind: PageKind::Values { class },
            }) if (owner, life) == (table, self.life) => Some(class),
            _ => None,
        };
        let (mut is_empty, mut has_room) = (false, false);
        if let Some(class) = now {
            let layout = layout_of(class);
            is_empty = layout.occupied_from(content, 0).is_none();
            has_room = !is_empty && layout.vacant(content).next().is_some();
        }
        if now != Some(class) {
            self.with_room[usize::from(class)].remove(&page.0);
        }
        set(&mut self.empty, page, is_empty);
        if let Some(class) = now {
            set(&mut self.with_room[usize::from(class)], page, has_room);
        }
    }
}

/// Has a page in a set, or not.
fn set(pages: &mut BTreeSet<u64>, page: PageId, is_in: bool) {
    match is_in {
        true => pages.insert(page.0),
        // Most tables have few pages with room, or none.
        false => !pages.is_empty() && pages.remove(&page.0),
    };
}
