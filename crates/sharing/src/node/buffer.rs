//! A node's buffer: copies of pages in its own memory (GEM paper, section 3.2: the local database buffers).
//!
//! A copy has a version. A page at work, that is, changed by a transaction that has not ended, stays. So does one
//! that is pinned for a request under way. With NOFORCE, a modified one stays, too, until its version is stored
//! or another node answers for it. Of the others the least recently used goes, and of the modified ones the least
//! recently used are written back first, as in the simulation.
//!
//! Bound (I10): so many frames as were asked for. If all are at work the transaction is refused. A page may come that
//! was asked for while there was room. If some frames are only modified then, there is one frame more until they are
//! written back.

use super::gem::PageBytes;
use crate::protocol::{PageId, Psn, TransactionId};
use sardonyx_base::hash::IntegerMap;
use sardonyx_storage::page::PAGE_SIZE;

/// A copy of a page.
#[derive(Debug)]
pub(super) struct Copy {
    pub page: PageId,
    /// Its committed version: of one at work, the one that is being changed.
    pub psn: Psn,
    pub bytes: Box<PageBytes>,
    /// Requests under way that need it.
    pub pins: u32,
    /// NOFORCE: this version may be stored nowhere.
    pub modified: bool,
    /// It was asked to be written back.
    pub replacing: bool,
    /// The transaction that changes it.
    pub writer: Option<TransactionId>,
    /// The copies used just before and just after it; [`NOBODY`] at the ends.
    older: usize,
    newer: usize,
}

/// No copy's place.
const NOBODY: usize = usize::MAX;

impl Copy {
    fn stays(&self) -> bool {
        self.pins > 0 || self.modified || self.writer.is_some()
    }
}

/// The copies that a node has.
#[derive(Debug)]
pub(super) struct Buffer {
    copies: Vec<Copy>,
    places: IntegerMap<PageId, usize>,
    frames: usize,
    oldest: usize,
    newest: usize,
    /// Pages that a transaction was granted and that were here, and that were not.
    pub hits: u64,
    pub misses: u64,
}

impl Buffer {
    pub fn new(frames: usize) -> Self {
        Buffer {
            copies: Vec::new(),
            places: IntegerMap::default(),
            frames: frames.max(2),
            oldest: NOBODY,
            newest: NOBODY,
            hits: 0,
            misses: 0,
        }
    }

    pub fn frames(&self) -> usize {
        self.frames
    }

    #[inline]
    pub fn get(&mut self, page: PageId) -> Option<&mut Copy> {
        let place = *self.places.get(&page)?;
        Some(&mut self.copies[place])
    }

    /// The copy of a page that a transaction uses.
    pub fn used(&mut self, page: PageId) -> Option<&mut Copy> {
        let place = *self.places.get(&page)?;
        self.touch(place);
        Some(&mut self.copies[place])
    }

    /// Makes a copy the one used last.
    fn touch(&mut self, place: usize) {
        if self.newest == place {
            return;
        }
        // A copy that was never used has no neighbour.
        if self.copies[place].newer != NOBODY {
            self.unlink(place);
        }
        match self.newest {
            NOBODY => self.oldest = place,
            newest => self.copies[newest].newer = place,
        }
        self.copies[place].older = self.newest;
        self.copies[place].newer = NOBODY;
        self.newest = place;
    }

    fn unlink(&mut self, place: usize) {
        let (older, newer) = (self.copies[place].older, self.copies[place].newer);
        match older {
            NOBODY => self.oldest = newer,
            older => self.copies[older].newer = newer,
        }
        match newer {
            NOBODY => self.newest = older,
            newer => self.copies[newer].older = older,
        }
    }

    /// The places of all copies, the least recently used first.
    fn by_age(&self) -> impl Iterator<Item = usize> + '_ {
        let there = |place: usize| (place != NOBODY).then_some(place);
        std::iter::successors(there(self.oldest), move |&place| {
            there(self.copies[place].newer)
        })
    }

    /// Room for a page that comes: its old copy, or another one that may go. `None`: all stay.
    pub fn make_room(&mut self, page: PageId) -> Option<&mut Copy> {
        let place = match self.places.get(&page) {
            Some(&place) => place,
            None => self.free_place(page)?,
        };
        self.touch(place);
        let copy = &mut self.copies[place];
        self.places.remove(&copy.page);
        self.places.insert(page, place);
        // An old version that was modified here is another node's to store.
        (copy.page, copy.modified) = (page, false);
        Some(copy)
    }

    fn free_place(&mut self, page: PageId) -> Option<usize> {
        let free = self.by_age().find(|&place| !self.copies[place].stays());
        let may_be_stored = |copy: &Copy| copy.pins == 0 && copy.writer.is_none();
        if self.copies.len() < self.frames
            || (free.is_none() && self.copies.iter().any(may_be_stored))
        {
            self.copies.push(Copy {
                page,
                psn: Psn::default(),
                bytes: Box::new([0; PAGE_SIZE]),
                pins: 0,
                modified: false,
                replacing: false,
                writer: None,
                older: NOBODY,
                newer: NOBODY,
            });
            return Some(self.copies.len() - 1);
        }
        self.copies[free?].replacing = false;
        free
    }

    /// Gives frames back of which there are more than were asked for.
    pub fn shrink(&mut self) {
        while self.copies.len() > self.frames {
            let free = self.by_age().find(|&place| !self.copies[place].stays());
            let Some(place) = free else { return };
            self.unlink(place);
            let gone = self.copies.swap_remove(place);
            self.places.remove(&gone.page);
            let Some(moved) = self.copies.get(place) else {
                continue;
            };
            let (page, older, newer) = (moved.page, moved.older, moved.newer);
            self.places.insert(page, place);
            match older {
                NOBODY => self.oldest = place,
                older => self.copies[older].newer = place,
            }
            match newer {
                NOBODY => self.newest = place,
                newer => self.copies[newer].older = place,
            }
        }
    }

    /// True if the buffer has room for another page.
    pub fn has_room(&self) -> bool {
        self.copies.len() < self.frames || self.by_age().any(|place| !self.copies[place].stays())
    }

    /// Modified pages that may be written back, at most so many, the least recently used first.
    pub fn modified(&self, at_most: usize) -> Vec<(PageId, Psn)> {
        let idle = |copy: &&Copy| copy.modified && !copy.replacing && copy.writer.is_none();
        let copies = self.by_age().map(|place| &self.copies[place]);
        let modified = copies.filter(idle).take(at_most);
        modified.map(|copy| (copy.page, copy.psn)).collect()
    }

    /// True if nothing here is needed any more.
    #[cfg(test)]
    pub fn is_at_rest(&self) -> bool {
        let mut copies = self.copies.iter();
        copies.all(|copy| copy.pins == 0 && copy.writer.is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(buffer: &mut Buffer, page: u64) -> bool {
        buffer.make_room(PageId(page)).is_some()
    }

    fn pages(buffer: &Buffer) -> Vec<u64> {
        let copies = buffer.by_age().map(|place| &buffer.copies[place]);
        let by_age: Vec<u64> = copies.map(|copy| copy.page.0).collect();
        assert_eq!(by_age.len(), buffer.copies.len());
        assert!(by_age.iter().all(|&page| {
            let place = buffer.places[&PageId(page)];
            buffer.copies[place].page.0 == page
        }));
        by_age
    }

    #[test]
    fn the_least_recently_used_page_goes_and_is_written_back_first() {
        let mut buffer = Buffer::new(3);
        assert!((1..=3).all(|page| fill(&mut buffer, page)));
        buffer.used(PageId(1)).unwrap().modified = true;
        assert_eq!(pages(&buffer), [2, 3, 1]);
        assert!(fill(&mut buffer, 4));
        assert_eq!(pages(&buffer), [3, 1, 4]);
        buffer.get(PageId(3)).unwrap().modified = true;
        buffer.get(PageId(4)).unwrap().modified = true;
        let order: Vec<u64> = buffer.modified(2).iter().map(|(page, _)| page.0).collect();
        assert_eq!(order, [3, 1]);
    }

    #[test]
    fn a_buffer_of_modified_pages_grows_for_a_while_and_one_of_pages_at_work_does_not() {
        let mut buffer = Buffer::new(3);
        for page in 1..=3 {
            assert!(fill(&mut buffer, page));
            buffer.get(PageId(page)).unwrap().modified = true;
        }
        assert!(!buffer.has_room());
        assert!(fill(&mut buffer, 4) && pages(&buffer) == [1, 2, 3, 4]);
        for page in [1, 4] {
            buffer.get(PageId(page)).unwrap().modified = false;
        }
        buffer.shrink();
        assert_eq!(pages(&buffer), [2, 3, 4]);
        for page in 2..=4 {
            buffer.get(PageId(page)).unwrap().pins = 1;
        }
        assert!(!fill(&mut buffer, 5), "nobody may go, now or later");
        buffer.get(PageId(3)).unwrap().pins = 0;
        buffer.get(PageId(3)).unwrap().modified = false;
        assert!(fill(&mut buffer, 5) && pages(&buffer) == [2, 4, 5]);
    }
}
