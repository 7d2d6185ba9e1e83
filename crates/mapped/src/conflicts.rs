//! On which pages the transactions of this process conflicted.
//!
//! Conflicts are by page: two transactions that change different bytes of one page conflict. So a
//! program with many conflicts needs their places, to separate the data that different threads or
//! processes change. The count is taken where a commit is refused, which costs more than a map's mutex;
//! nothing else looks at it.

use sardonyx_base::hash::IntegerMap;
use sardonyx_base::sync::futex::Mutex;

/// The number of distinguished pages: enough to show contended pages, and some hundred KiB.
const PAGES_MAX: usize = 4096;

/// The number of repeated transactions of this process, by the page that another one had changed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Conflicts {
    /// The pages, the one with the most conflicts first.
    pub pages: Vec<PageConflicts>,
    /// Conflicts on pages that are not counted by themselves, since there were too many.
    pub elsewhere: u64,
}

/// A line of the report that shows which pages transactions contend for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct PageConflicts {
    /// The page's number: its offset in the segment by 4,096.
    pub page: u64,
    /// Transactions that were refused since this page had changed.
    pub conflicts: u64,
}

/// The counts as they grow.
#[derive(Debug, Default)]
pub(crate) struct ConflictCounts {
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    pages: IntegerMap<u64, u64>,
    elsewhere: u64,
}

impl ConflictCounts {
    /// A transaction used a page that another one had changed.
    #[cold]
    pub fn count(&self, page: u64) {
        let counts = &mut *self.counts.lock();
        let full = counts.pages.len() >= PAGES_MAX;
        match counts.pages.get_mut(&page) {
            Some(count) => *count += 1,
            None if full => counts.elsewhere += 1,
            None => {
                counts.pages.insert(page, 1);
            }
        }
    }

    pub fn read(&self) -> Conflicts {
        let counts = self.counts.lock();
        let pages = counts.pages.iter();
        let mut pages: Vec<PageConflicts> = pages
            .map(|(&page, &conflicts)| PageConflicts { page, conflicts })
            .collect();
        let elsewhere = counts.elsewhere;
        drop(counts);
        pages.sort_unstable_by_key(|one| (core::cmp::Reverse(one.conflicts), one.page));
        Conflicts { pages, elsewhere }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_come_first_and_too_many_pages_are_counted_together() {
        let counts = ConflictCounts::default();
        assert_eq!(counts.read(), Conflicts::default());
        for page in 0..PAGES_MAX as u64 + 3 {
            counts.count(page);
        }
        for page in [7, 9, 9, 1 << 40] {
            counts.count(page);
        }
        let read = counts.read();
        assert_eq!(read.pages.len(), PAGES_MAX);
        let first: Vec<(u64, u64)> = read.pages[..3]
            .iter()
            .map(|one| (one.page, one.conflicts))
            .collect();
        assert_eq!(first, [(9, 3), (7, 2), (0, 1)]);
        assert_eq!(read.elsewhere, 4);
    }
}
