//! The changes of a subtransaction so far: the ranges of pages, and the bytes before.
//!
//! The before-images of unfinished subtransactions are only in memory (DASDBS paper, section 2,
//! "Ensuring Subtransaction Atomicity"). Nothing of a subtransaction reaches the log before its end
//! (no steal). They are byte ranges, not pages: an update of a field costs its own length.

use sardonyx_storage::page::PageId;
use std::ops::Range;

/// The changes, in their order.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    steps: Vec<Step>,
    before: Vec<u8>,
    /// Steps before the last mark: they do not show the bytes at the mark.
    marked: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Step {
    page: PageId,
    start: u16,
    length: u16,
    /// The start of the old bytes in `before`.
    before: u32,
}

/// A place to go back to; the default is the beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Mark {
    steps: usize,
    before: usize,
}

/// A range of a page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Changed {
    pub page: PageId,
    pub range: Range<usize>,
}

impl Changes {
    /// Notes that a range is about to change from `old`. A range that was noted last, and since the
    /// last mark, is not noted again.
    #[inline]
    pub fn note(&mut self, page: PageId, start: usize, old: &[u8]) {
        if old.is_empty() {
            return;
        }
        if self.steps.len() > self.marked
            && let Some(last) = self.steps.last()
            && last.page == page
            && usize::from(last.start) <= start
            && start + old.len() <= usize::from(last.start) + usize::from(last.length)
        {
            return;
        }
        self.steps.push(Step {
            page,
            start: start as u16,
            length: old.len() as u16,
            before: self.before.len() as u32,
        });
        self.before.extend_from_slice(old);
    }

    /// Bytes of old data: a measure of the changes' size in the log.
    pub fn bytes(&self) -> usize {
        self.before.len() + self.steps.len() * size_of::<Step>()
    }

    /// True if nothing has changed.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Here. [`Changes::undo_to`] takes the last mark that was made and not undone.
    pub fn mark(&mut self) -> Mark {
        self.marked = self.steps.len();
        Mark {
            steps: self.steps.len(),
            before: self.before.len(),
        }
    }

    /// Passes the changes since the mark, the last first, with the old bytes, to `restore`; and forgets them.
    pub fn undo_to(&mut self, mark: Mark, mut restore: impl FnMut(PageId, usize, &[u8])) {
        while self.steps.len() > mark.steps {
            let step = self.steps.pop().expect("longer than the mark");
            let old = &self.before[step.before as usize..][..step.length.into()];
            restore(step.page, step.start.into(), old);
        }
        self.before.truncate(mark.before);
    }

    /// Passes the changes, the last first, with the old bytes, to `each`.
    pub fn newest_first(&self, mut each: impl FnMut(PageId, usize, &[u8])) {
        for step in self.steps.iter().rev() {
            let old = &self.before[step.before as usize..][..step.length.into()];
            each(step.page, step.start.into(), old);
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.steps.clear();
        self.before.clear();
        self.marked = 0;
    }

    /// The changed bytes, each once, by page and place. `into` is emptied first.
    pub fn ranges(&self, into: &mut Vec<Changed>) {
        into.clear();
        into.extend(self.steps.iter().map(|step| {
            let start = usize::from(step.start);
            Changed {
                page: step.page,
                range: start..start + usize::from(step.length),
            }
        }));
        merge(into);
    }
}

/// Ranges with so few bytes between them become one: a redo record's head takes as many.
const GAP_BYTES: usize = 8;

/// Sorts ranges, and makes one of those that overlap, touch, or almost do. The bytes between did not
/// change. They do no harm in the log, as the page is locked or its changes are written together.
pub(crate) fn merge(ranges: &mut Vec<Changed>) {
    if ranges.len() > 1 {
        ranges.sort_unstable_by_key(|changed| (changed.page, changed.range.start));
        ranges.dedup_by(|later, earlier| {
            let touch =
                earlier.page == later.page && later.range.start <= earlier.range.end + GAP_BYTES;
            if touch {
                earlier.range.end = earlier.range.end.max(later.range.end);
            }
            touch
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn undone_is_as_before_and_ranges_are_what_changed(
            steps in prop::collection::vec((0..3_u64, 0..60_usize, 0..9_usize), 0..40),
            mark_at in 0..40_usize,
        ) {
            let mut pages = vec![[0_u8; 64]; 3];
            let mut changes = Changes::default();
            let mut at_mark = (changes.mark(), pages.clone());
            for (n, (page, start, length)) in steps.iter().enumerate() {
                if n == mark_at {
                    at_mark = (changes.mark(), pages.clone());
                }
                let bytes = &mut pages[*page as usize][*start..(start + length).min(64)];
                changes.note(PageId(*page), *start, bytes);
                bytes.fill(n as u8 + 1);
            }
            let mut ranges = Vec::new();
            changes.ranges(&mut ranges);
            for (page, bytes) in pages.iter().enumerate() {
                for (at, byte) in bytes.iter().enumerate() {
                    let covering = ranges.iter()
                        .filter(|c| c.page.0 == page as u64 && c.range.contains(&at));
                    let times = covering.count();
                    prop_assert!(times == 1 || times == 0 && *byte == 0);
                }
            }
            changes.undo_to(at_mark.0, |page, start, old| {
                pages[page.0 as usize][start..start + old.len()].copy_from_slice(old);
            });
            prop_assert_eq!(pages, at_mark.1);
            prop_assert_eq!(changes.mark(), at_mark.0);
        }
    }
}
