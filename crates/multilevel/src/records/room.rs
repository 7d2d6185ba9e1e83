//! The pages of a table that may have room: for rows, for cells of each size class, or for anything.
//!
//! All of it is hints, looked at under the lock of the page before they are believed. A page may be in several lists,
//! or in a wrong one: an operation that finds it unfit, and has not changed it, removes it.

use sardonyx_base::hash::IntegerSet;
use sardonyx_rows::layout::PageKind;
use sardonyx_rows::values::CLASSES;
use sardonyx_storage::page::PageId;
use std::collections::VecDeque;

/// Insertions take turns on so many pages, so that those that run side by side seldom meet.
pub(super) const PAGES_IN_TURN: usize = 8;

/// Pages, each of them once.
#[derive(Debug, Default)]
pub(super) struct Listed {
    pages: VecDeque<PageId>,
    /// The same.
    listed: IntegerSet<u64>,
    /// The list whose turn it is.
    turn: usize,
}

impl Listed {
    pub fn list(&mut self, page: PageId) {
        if self.listed.insert(page.0) {
            self.pages.push_front(page);
        }
    }

    /// One of the first, each in its turn.
    pub fn next(&mut self) -> Option<PageId> {
        self.turn = self.turn.wrapping_add(1);
        let among = self.pages.len().min(PAGES_IN_TURN);
        self.pages.get(self.turn.checked_rem(among)?).copied()
    }

    /// Takes a page that does not fit out of the list, or puts it at its end.
    pub fn is_full(&mut self, page: PageId, stays: bool) {
        let nth = self.pages.iter().position(|listed| *listed == page);
        if let Some(page) = nth.and_then(|nth| self.pages.remove(nth)) {
            if stays {
                self.pages.push_back(page);
            } else {
                self.listed.remove(&page.0);
            }
        }
    }

    /// The first ones, at most so many.
    pub fn first(&self, count: usize) -> Vec<PageId> {
        self.pages.iter().take(count).copied().collect()
    }
}

/// The lists of a table.
#[derive(Debug, Default)]
pub(super) struct Room {
    rows: Listed,
    /// By size class; none as long as there are no cells.
    cells: Vec<Listed>,
    /// Pages with neither rows nor cells, good for either, in a table with columns of text or bytes.
    pub empty: Listed,
    /// Pages in use that have been listed once.
    pub known: u64,
}

impl Room {
    pub fn of(&mut self, kind: PageKind) -> &mut Listed {
        match kind {
            PageKind::Rows { .. } => &mut self.rows,
            PageKind::Values { class } => {
                if self.cells.is_empty() {
                    self.cells.resize_with(CLASSES, Listed::default);
                }
                &mut self.cells[usize::from(class)]
            }
        }
    }
}
