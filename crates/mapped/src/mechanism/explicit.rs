//! The explicit mechanism: the program declares its reads and writes, by the typed accesses of a transaction. Nothing
//! faults and nothing is scanned or compared; ordinary stores through a pointer are not seen.
//!
//! The bytes of a range before its write are kept, so that the transaction can be undone.

use super::{Access, Mechanism};
use crate::error::SegmentError;
use crate::shared::ring::Change;
use crate::view::View;
use sardonyx_base::hash::scattered;
use sardonyx_storage::page::PAGE_SIZE;
use std::cell::RefCell;
use std::collections::HashSet;
use std::hash::BuildHasherDefault;
use std::ops::Range;

/// The explicit mechanism. See the [module](self).
#[derive(Debug, Default)]
pub struct Explicit {
    read: RefCell<Pages>,
    ranges: Vec<Range<u64>>,
    /// The earlier bytes of the ranges, one after the other.
    before: Vec<u8>,
}

/// Pages read; the last one is remembered, since accesses come in runs.
#[derive(Debug, Default)]
struct Pages {
    last: Option<u64>,
    set: HashSet<u64, BuildHasherDefault<PageHasher>>,
}

/// A page number's hash is the number, multiplied.
#[derive(Default)]
struct PageHasher(u64);

impl std::hash::Hasher for PageHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(self.0 << 8 | u64::from(*byte));
        }
    }

    fn write_u64(&mut self, page: u64) {
        self.0 = scattered(page);
    }
}

impl Pages {
    fn add(&mut self, page: u64) {
        if self.last != Some(page) {
            self.last = Some(page);
            self.set.insert(page);
        }
    }
}

impl Mechanism for Explicit {
    fn name(&self) -> &'static str {
        "explicit"
    }

    fn mapped(&mut self, _: &View, _: Range<u64>) -> Result<(), SegmentError> {
        Ok(())
    }

    fn refresh(&mut self, view: &View, change: Change<'_>, end: u64) -> Result<(), SegmentError> {
        if view.private.has(change.page) || end > view.unfolded().0 {
            view.apply(change.page, change.offset, change.bytes);
        }
        Ok(())
    }

    fn lagging(&mut self, view: &View, page: u64) -> Result<(), SegmentError> {
        view.show_committed(page);
        Ok(())
    }

    fn settle(&mut self, _: &View, _: bool, _: bool) -> Result<(), SegmentError> {
        Ok(())
    }

    fn rest(&mut self, _: &View) -> Result<bool, SegmentError> {
        Ok(false)
    }

    fn reset(&mut self, view: &View) -> Result<(), SegmentError> {
        view.drop_pages(0, view.mapped())?;
        view.private.clear_first(view.mapped());
        Ok(())
    }

    fn advise(&mut self, _: &View, _: Range<u64>, _: Access) -> Result<(), SegmentError> {
        Ok(())
    }

    fn written(&mut self, _: &View, _: &mut Vec<u64>) -> Result<(), SegmentError> {
        Ok(())
    }

    fn was_read(&self, _: &View, page: u64) -> Result<bool, SegmentError> {
        Ok(self.read.borrow().set.contains(&page))
    }

    fn invalidate(&mut self, _: &View, _: u64) -> Result<(), SegmentError> {
        Ok(())
    }

    fn end(&mut self, _: &View, _: bool) -> Result<bool, SegmentError> {
        let read = self.read.get_mut();
        read.last = None;
        read.set.clear();
        self.ranges.clear();
        self.before.clear();
        Ok(false)
    }

    #[inline]
    fn note_read(&self, address: u64, bytes: usize) {
        let mut read = self.read.borrow_mut();
        let last = address + bytes.max(1) as u64 - 1;
        for page in address / PAGE_SIZE as u64..=last / PAGE_SIZE as u64 {
            read.add(page);
        }
    }

    #[inline]
    fn note_write(&mut self, view: &View, address: u64, bytes: usize) {
        self.note_read(address, bytes);
        // Redo records do not cross pages.
        let end = address + bytes as u64;
        let mut from = address;
        while from < end {
            let to = end.min((from / PAGE_SIZE as u64 + 1) * PAGE_SIZE as u64);
            self.ranges.push(from..to);
            view.append_to(from, (to - from) as usize, &mut self.before);
            view.private.set(from / PAGE_SIZE as u64);
            from = to;
        }
    }

    fn ranges(&self) -> Option<&[Range<u64>]> {
        Some(&self.ranges)
    }

    fn mark(&self) -> usize {
        self.ranges.len()
    }

    fn roll_back(&mut self, view: &View, mark: usize) {
        // From the last to the first: a range may have been written twice.
        for range in self.ranges.drain(mark..).rev() {
            let bytes = (range.end - range.start) as usize;
            let at = self.before.len() - bytes;
            let page = range.start / PAGE_SIZE as u64;
            let offset = (range.start % PAGE_SIZE as u64) as usize;
            view.apply(page, offset, &self.before[at..]);
            self.before.truncate(at);
        }
    }
}
