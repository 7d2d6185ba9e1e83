//! The pages of a store that were ever touched. A caller that copies a mostly untouched store need not look at all of
//! it.
//!
//! The operating system knows: a page that was never touched has no entry in the page table. If it does not tell (no
//! `/proc`, pages of another size), all pages count as touched.

use super::{COMMIT_BYTES, PageStore};
use crate::page::PAGE_SIZE;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::mm::Advice;
use std::ops::Range;

/// Bytes of the page table that are read at once.
const READ_BYTES: usize = 256 << 10;

/// Set in the entry of a page that is in memory, or was moved out of it.
const PRESENT_OR_SWAPPED: u64 = 0b11 << 62;

/// Huge pages are advised for regions of so many bytes, or else a mapping would be cut into too many.
const REGION_BYTES: usize = 64 << 20;

impl PageStore {
    /// The pages that may hold anything but zeroes, as runs in order. Takes time for the touched ones, and some
    /// milliseconds for each GiB of others.
    pub fn touched(&self) -> Vec<Range<u64>> {
        let known = self.read_page_table().ok().flatten();
        known.unwrap_or_else(|| {
            let all = (self.pages() > 0).then_some(0..self.pages());
            all.into_iter().collect()
        })
    }

    /// `None` if the system's pages have another size, or it does not show all.
    fn read_page_table(&self) -> rustix::io::Result<Option<Vec<Range<u64>>>> {
        if rustix::param::page_size() != PAGE_SIZE {
            return Ok(None);
        }
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let table = openat(CWD, "/proc/self/pagemap", flags, Mode::empty())?;
        let first = (self.base.as_ptr().addr() / PAGE_SIZE) as u64;
        let mut runs: Vec<Range<u64>> = Vec::new();
        let mut entries = vec![0u8; READ_BYTES];
        let mut page = 0;
        while page < self.pages() {
            let wanted = READ_BYTES.min((self.pages() - page) as usize * 8);
            let read = rustix::io::pread(&table, &mut entries[..wanted], (first + page) * 8)?;
            if read < 8 {
                return Ok(None);
            }
            for entry in entries[..read].chunks_exact(8) {
                let entry = u64::from_le_bytes(entry.try_into().expect("8 bytes"));
                if entry & PRESENT_OR_SWAPPED != 0 {
                    match runs.last_mut() {
                        Some(run) if run.end == page => run.end = page + 1,
                        _ => runs.push(page..page + 1),
                    }
                }
                page += 1;
            }
        }
        Ok(Some(runs))
    }

    /// Gets huge pages for the regions of a sparse store of which at least half is in these runs: they are
    /// going to be written.
    pub(crate) fn expect(&mut self, runs: &[Range<u64>]) {
        if !self.sparse {
            return;
        }
        let region_pages = (REGION_BYTES / PAGE_SIZE) as u64;
        let mut pages = vec![0; self.pages().div_ceil(region_pages) as usize];
        for run in runs {
            let mut from = run.start;
            while from < run.end {
                let region = from / region_pages;
                let to = run.end.min((region + 1) * region_pages);
                pages[region as usize] += to - from;
                from = to;
            }
        }
        for (region, _) in (0..).zip(pages).filter(|(_, n)| *n >= region_pages / 2) {
            let start = region * REGION_BYTES;
            let bytes = REGION_BYTES.min(self.committed - start);
            debug_assert!(bytes.is_multiple_of(COMMIT_BYTES));
            // SAFETY: within the range that is readable and writable; the advice changes how it is backed,
            // not what it holds.
            let _ = unsafe {
                let start = self.base.as_ptr().add(start).cast();
                rustix::mm::madvise(start, bytes, Advice::LinuxHugepage)
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_touched_is_known() {
        let mut store = PageStore::reserve(1 << 34).unwrap();
        store.set_sparse(true);
        assert_eq!(store.touched(), []);
        store.grow_to(1 << 20).unwrap();
        assert_eq!(store.touched(), []);
        let last = (1 << 20) - 1;
        for page in [0, 1, 255, 1 << 19, last] {
            store.bytes_mut()[page as usize * PAGE_SIZE + 7] = 7;
        }
        let runs = [0..2, 255..256, 1 << 19..(1 << 19) + 1, last..last + 1];
        assert_eq!(store.touched(), runs);
    }
    /// A small database takes the memory that it uses, and keeps its content when it grows.
    #[test]
    fn a_store_that_begins_small_takes_the_pages_that_are_touched() {
        let mut store = PageStore::reserve(64 << 20).unwrap();
        store.grow_to(100).unwrap();
        store.bytes_mut()[3 * PAGE_SIZE] = 7;
        if rustix::param::page_size() == PAGE_SIZE {
            assert_eq!(store.touched(), vec![3..4]);
        }
        store
            .grow_to(3 * (COMMIT_BYTES / PAGE_SIZE) as u64)
            .unwrap();
        assert_eq!((store.bytes()[3 * PAGE_SIZE], store.bytes()[0]), (7, 0));
    }
}
