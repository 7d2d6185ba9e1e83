//! Chunks of a view that are open for writing, so that a commit need not look at all of it for written
//! pages.
//!
//! A chunk is opened at the first store into it and closed again when the transaction has ended. When too
//! many are open to be listed, all are.

use super::View;
use rustix::mm::MprotectFlags;
use std::sync::atomic::Ordering;

pub const CHUNK_PAGES: u64 = 512;

/// Chunks that may be open at once, apart from all.
pub(super) const OPEN_MAX: usize = 64;

/// Chunks that are open.
impl View {
    /// Opens the chunk of a page for writing. Usable in the fault handler; the caller has the turn.
    pub fn open_chunk(&self, page: u64) -> std::io::Result<()> {
        self.check_turn();
        if self.is_open(page) {
            return Ok(());
        }
        let count = self.open_count.load(Ordering::Relaxed);
        let rights = MprotectFlags::READ | MprotectFlags::WRITE;
        if count == OPEN_MAX {
            self.all_open.store(true, Ordering::Relaxed);
            return self.protect(0, self.mapped(), rights);
        }
        let chunk = page / CHUNK_PAGES;
        let first = chunk * CHUNK_PAGES;
        self.protect(first, CHUNK_PAGES.min(self.mapped() - first), rights)?;
        self.open[count].store(chunk as u32, Ordering::Relaxed);
        self.open_count.store(count + 1, Ordering::Relaxed);
        Ok(())
    }

    /// True if the chunk of a page is open for writing.
    pub fn is_open(&self, page: u64) -> bool {
        self.all_open.load(Ordering::Relaxed)
            || self.open_chunks().any(|chunk| chunk == page / CHUNK_PAGES)
    }

    fn open_chunks(&self) -> impl Iterator<Item = u64> {
        let count = self.open_count.load(Ordering::Relaxed);
        self.open[..count]
            .iter()
            .map(|chunk| u64::from(chunk.load(Ordering::Relaxed)))
    }

    /// Calls `with` for each range of pages that is open for writing: first page, number of pages.
    pub fn for_open(&self, mut with: impl FnMut(u64, u64)) {
        if self.all_open.load(Ordering::Relaxed) {
            return with(0, self.mapped());
        }
        for chunk in self.open_chunks() {
            let first = chunk * CHUNK_PAGES;
            // The last chunk may have been mapped in part when it was opened.
            with(first, CHUNK_PAGES.min(self.mapped() - first));
        }
    }

    /// Chunks open for writing; `None` if all are.
    pub fn open_count(&self) -> Option<usize> {
        let all = self.all_open.load(Ordering::Relaxed);
        (!all).then(|| self.open_count.load(Ordering::Relaxed))
    }

    /// Closes all chunks again. The caller has the turn.
    pub fn close_chunks(&self) -> std::io::Result<()> {
        self.check_turn();
        let mut outcome = Ok(());
        self.for_open(|first, pages| {
            if outcome.is_ok() {
                outcome = self.protect(first, pages, MprotectFlags::READ);
            }
        });
        self.open_count.store(0, Ordering::Relaxed);
        self.all_open.store(false, Ordering::Relaxed);
        outcome
    }
}
