//! The pages that a subtransaction has locked, and how.

use sardonyx_base::hash::IntegerMap;
use sardonyx_lock::{PAGES, Resource};
use sardonyx_storage::page::PageId;

/// So many are looked through; more are looked up.
const LOOKED_THROUGH_MAX: usize = 16;

/// The hold of a page.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum PageLock {
    Shared,
    /// Locked exclusively, nothing changed yet.
    Exclusive,
    /// Locked exclusively and being changed.
    Writing,
}

/// The pages, in the order in which they were first locked.
#[derive(Debug, Default)]
pub(crate) struct PageLocks {
    pages: Vec<(PageId, PageLock)>,
    /// By page its place in `pages`, once they are many.
    places: IntegerMap<u64, usize>,
}

impl PageLocks {
    #[inline]
    fn place(&self, page: PageId) -> Option<usize> {
        if self.pages.len() <= LOOKED_THROUGH_MAX {
            self.pages.iter().rposition(|(held, _)| *held == page)
        } else {
            self.places.get(&page.0).copied()
        }
    }

    /// The hold of a page.
    #[inline]
    pub fn get(&self, page: PageId) -> Option<PageLock> {
        self.place(page).map(|place| self.pages[place].1)
    }

    /// Holds a page, or holds it in another way.
    #[inline]
    pub fn set(&mut self, page: PageId, how: PageLock) {
        if let Some(place) = self.place(page) {
            self.pages[place].1 = how;
            return;
        }
        self.pages.push((page, how));
        if self.pages.len() == LOOKED_THROUGH_MAX + 1 {
            let places = self.pages.iter().enumerate();
            self.places = places.map(|(place, (page, _))| (page.0, place)).collect();
        } else if self.pages.len() > LOOKED_THROUGH_MAX {
            self.places.insert(page.0, self.pages.len() - 1);
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (PageId, PageLock)> {
        self.pages.iter().copied()
    }

    /// The pages that were begun to be changed.
    pub fn written(&self) -> impl Iterator<Item = PageId> {
        let written = self.iter().filter(|(_, how)| *how == PageLock::Writing);
        written.map(|(page, _)| page)
    }

    pub fn resources(&self) -> impl Iterator<Item = Resource> {
        self.pages.iter().map(|(page, _)| Resource {
            space: PAGES.number(),
            object: page.0,
        })
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.pages.clear();
        self.places.clear();
    }
}
