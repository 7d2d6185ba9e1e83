//! Pages that a transaction has read, kept by itself: it copies them, and reads them again, without the node's lock.
//!
//! A page that a transaction has locked for reading does not change before its end, on any node. One that it has locked for
//! writing is changed by itself alone. So the bytes that it was granted are right as long as it has not changed the page, in
//! whatever way the buffer uses the frame meanwhile: the buffer never writes to bytes that are shared, but takes others
//! ([`Copy::change`](super::buffer::Copy::change), [`Copy::refill`](super::buffer::Copy::refill)). Nothing here is
//! synchronised by hand: a reader has the bytes by a counted reference, through which they cannot change.
//!
//! Invariant: a page is forgotten before its transaction changes it or undoes a change. Bound (I10): [`PAGES_MAX`] pages for
//! each transaction, beside the buffer.

use super::gem::PageBytes;
use crate::protocol::LockMode;
use smallvec::SmallVec;
use std::sync::Arc;

/// Pages that are kept at once: the way through a tree.
const PAGES_MAX: usize = 8;

/// A transaction's pages.
#[derive(Debug, Default)]
pub(super) struct Granted(SmallVec<[(u64, LockMode, Arc<PageBytes>); PAGES_MAX]>);

impl Granted {
    /// A page that is locked so, or more strictly.
    #[inline]
    pub fn find(&self, page: u64, mode: LockMode) -> Option<&PageBytes> {
        let mut pages = self.0.iter();
        let found = pages.find(|(other, held, _)| *other == page && *held >= mode);
        found.map(|(_, _, bytes)| &**bytes)
    }

    /// Keeps a page as it was granted, in the place of the one that was kept first if there are many.
    pub fn keep(&mut self, page: u64, mode: LockMode, bytes: Arc<PageBytes>) {
        self.forget(page);
        if self.0.len() == PAGES_MAX {
            self.0.remove(0);
        }
        self.0.push((page, mode, bytes));
    }

    /// The page is going to change.
    #[inline]
    pub fn forget(&mut self, page: u64) {
        self.0.retain(|(other, ..)| *other != page);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::buffer::Buffer;
    use crate::protocol::PageId;
    use sardonyx_storage::page::PAGE_SIZE;

    #[test]
    fn a_page_is_as_it_was_granted_whatever_becomes_of_its_frame() {
        let mut buffer = Buffer::new(2);
        let mut granted = Granted::default();
        let mut fill = |page: u64, granted: &mut Granted| {
            let copy = buffer.make_room(PageId(page)).unwrap();
            *copy.refill() = [page as u8; PAGE_SIZE];
            granted.keep(page, LockMode::Read, copy.bytes().clone());
        };
        // The buffer has two frames, which are used again while their bytes are read.
        (1..=5).for_each(|page| fill(page, &mut granted));
        for page in 1..=5 {
            let found = granted.find(page, LockMode::Read).unwrap();
            assert_eq!(found, &[page as u8; PAGE_SIZE]);
            assert!(granted.find(page, LockMode::Write).is_none());
        }
        // A change goes to other bytes as long as these are shared, and to the same when they are not.
        let copy = buffer.get(PageId(5)).unwrap();
        copy.change()[0] = 77;
        assert_eq!(granted.find(5, LockMode::Read).unwrap()[0], 5);
        assert_eq!(copy.bytes()[0], 77);
        let before = copy.bytes().as_ptr();
        copy.change()[0] = 78;
        assert_eq!(copy.bytes().as_ptr(), before);
    }

    #[test]
    fn few_pages_are_kept_and_a_changed_one_is_not() {
        let mut granted = Granted::default();
        for page in 0..PAGES_MAX as u64 + 1 {
            granted.keep(page, LockMode::Write, Arc::new([0; PAGE_SIZE]));
        }
        assert!(granted.find(0, LockMode::Read).is_none());
        assert!(granted.find(1, LockMode::Write).is_some());
        granted.forget(1);
        assert!(granted.find(1, LockMode::Read).is_none());
        granted.keep(2, LockMode::Read, Arc::new([1; PAGE_SIZE]));
        assert!(granted.find(2, LockMode::Write).is_none());
        assert_eq!(granted.0.len(), PAGES_MAX - 1);
    }
}
