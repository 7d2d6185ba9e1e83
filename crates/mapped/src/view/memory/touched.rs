//! Pages that a transaction touched, where every page faults when it is first read or written (`Signal`).
//!
//! They are listed in the order of their first fault, in memory that is not moved, since the fault handler
//! appends to the list.

use super::View;
use std::sync::atomic::Ordering;

/// Bytes of the list: a word for each page.
pub(super) fn touched_bytes(pages: u64) -> usize {
    (pages as usize * 8).max(8)
}

/// Pages that were touched.
impl View {
    /// Notes that a page was touched (`Signal`). Usable in the fault handler; the caller has the turn.
    pub(in crate::view) fn note_touched(&self, page: u64) {
        self.check_turn();
        let count = self.touched_count.load(Ordering::Relaxed);
        assert!(
            (count as u64) < self.region.pages_max(),
            "each page is noted once"
        );
        // SAFETY: there is a word for each page, and each is noted once.
        unsafe { self.touched.add(count).write(page) };
        self.touched_count.store(count + 1, Ordering::Relaxed);
    }

    /// Pages touched (`Signal`). The caller has the turn.
    pub fn touched(&self) -> &[u64] {
        let count = self.touched_count.load(Ordering::Relaxed);
        // SAFETY: the first `count` words are written; more are added behind them by the holder of the turn, which is
        // the caller while this slice is read.
        unsafe { std::slice::from_raw_parts(self.touched.as_ptr(), count) }
    }

    /// True if pages were touched (`Signal`).
    pub fn has_touched(&self) -> bool {
        self.touched_count.load(Ordering::Relaxed) > 0
    }

    /// True if a page may be written without a fault (`Signal`).
    pub fn is_writable(&self, page: u64) -> bool {
        self.writable.has(page)
    }

    /// True if a page may be read without a fault (`Signal`), as far as that was requested one by one.
    pub fn is_readable(&self, page: u64) -> bool {
        self.readable.has(page)
    }

    /// Takes a page's right to be written (`Signal`).
    pub fn take_writable(&self, page: u64) {
        self.writable.clear(page);
    }

    /// Forgets which pages were touched (`Signal`).
    pub fn forget_touched(&self) {
        for page in self.touched() {
            self.readable.clear(*page);
            self.writable.clear(*page);
        }
        self.touched_count.store(0, Ordering::Relaxed);
    }
}
