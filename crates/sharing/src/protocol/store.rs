//! The place of the entries of the global lock table.
//!
//! The protocol requests entries by [`Output::ReadEntry`](super::Output::ReadEntry) and changes them by
//! [`Output::SwapEntry`](super::Output::SwapEntry); its shell answers from an [`EntryStore`]. There are two: a map
//! in the memory of one process, for the simulation and the tests, and [`lock_table`](crate::lock_table), which
//! several processes share. The machines cannot tell them apart.

use super::{Entry, PageId};
use sardonyx_base::hash::IntegerMap;
use std::collections::BTreeMap;
use std::convert::Infallible;

/// Holds entries, and changes them by Compare&Swap. A page that has none yet has the default entry.
pub trait EntryStore {
    /// Why an access may fail. Then it has changed nothing.
    type Error;

    /// The page's entry as it is at one moment (one GEM entry access).
    ///
    /// # Errors
    /// As the store says.
    fn read(&mut self, page: PageId) -> Result<Entry, Self::Error>;

    /// Puts `entry` in the place of the page's entry if that one's version is still `expected` (one GEM
    /// entry access). Returns whether it did.
    ///
    /// # Errors
    /// As the store says: of a bounded one, that it is full.
    fn swap(&mut self, page: PageId, expected: u64, entry: Entry) -> Result<bool, Self::Error>;

    /// Changes the page's entry: reads it into `entry`, has `of` change it there, its version included, and swaps it
    /// in; again if it was changed meanwhile. If `of` says that there is nothing to be swapped that is all. Returns
    /// whether it was swapped. (Two GEM entry accesses each time, or one.)
    ///
    /// # Errors
    /// As the store says.
    fn update(
        &mut self,
        page: PageId,
        entry: &mut Entry,
        mut of: impl FnMut(&mut Entry) -> bool,
    ) -> Result<bool, Self::Error> {
        loop {
            *entry = self.read(page)?;
            let expected = entry.version();
            if !of(entry) {
                return Ok(false);
            }
            if self.swap(page, expected, entry.clone())? {
                return Ok(true);
            }
        }
    }

    /// The pages that have an entry, in any order; of those that get one meanwhile it may have some. A
    /// recovery goes over all of them.
    fn pages(&self) -> Vec<PageId>;
}

/// Entries in the memory of one process.
pub type MemoryEntries = IntegerMap<PageId, Entry>;

impl EntryStore for BTreeMap<PageId, Entry> {
    type Error = Infallible;

    fn read(&mut self, page: PageId) -> Result<Entry, Infallible> {
        Ok(self.get(&page).cloned().unwrap_or_default())
    }

    fn swap(&mut self, page: PageId, expected: u64, entry: Entry) -> Result<bool, Infallible> {
        Ok(self
            .entry(page)
            .or_default()
            .compare_and_swap(expected, entry))
    }

    fn pages(&self) -> Vec<PageId> {
        self.keys().copied().collect()
    }
}

impl EntryStore for MemoryEntries {
    type Error = Infallible;

    fn read(&mut self, page: PageId) -> Result<Entry, Infallible> {
        Ok(self.get(&page).cloned().unwrap_or_default())
    }

    fn swap(&mut self, page: PageId, expected: u64, entry: Entry) -> Result<bool, Infallible> {
        Ok(self
            .entry(page)
            .or_default()
            .compare_and_swap(expected, entry))
    }

    fn pages(&self) -> Vec<PageId> {
        self.keys().copied().collect()
    }
}
