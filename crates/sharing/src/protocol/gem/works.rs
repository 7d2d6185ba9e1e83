//! The operations of a node on entries, by page: what is under way for each, and what waits.
//!
//! A lock without other users makes two of these come and go. So they are kept in places that are used again,
//! and the last used one is found without a search.

use super::operation::{Effects, Operation};
use crate::protocol::{Entry, PageId};
use sardonyx_base::hash::IntegerMap;
use smallvec::SmallVec;

/// The operations of this node on one entry.
#[derive(Clone, Debug, Default)]
pub(super) struct Work {
    pub current: Option<Operation>,
    /// The entry is being swapped: what follows if it succeeds.
    pub swapping: Option<Box<Effects>>,
    /// The entry as it will be then, if it is to be remembered.
    pub swapped: Option<Box<Entry>>,
    pub waiting: SmallVec<[Operation; 2]>,
    /// The entry being read may be older than a recovery: it is to be read again.
    pub reads_again: bool,
}

/// The entries with operations.
#[derive(Clone, Debug, Default)]
pub(super) struct Works {
    places: IntegerMap<PageId, usize>,
    works: Vec<Work>,
    free: Vec<usize>,
    last: Option<(PageId, usize)>,
}

impl Works {
    fn place(&mut self, page: PageId) -> Option<usize> {
        if let Some((last, place)) = self.last
            && last == page
        {
            return Some(place);
        }
        let place = *self.places.get(&page)?;
        self.last = Some((page, place));
        Some(place)
    }

    /// The work under way on an entry.
    #[inline]
    pub fn get_mut(&mut self, page: PageId) -> Option<&mut Work> {
        let place = self.place(page)?;
        self.works.get_mut(place)
    }

    /// The same, or nothing so far.
    pub fn get_or_default(&mut self, page: PageId) -> &mut Work {
        let place = match self.place(page) {
            Some(place) => place,
            None => {
                let place = self.free.pop().unwrap_or_else(|| {
                    self.works.push(Work::default());
                    self.works.len() - 1
                });
                self.places.insert(page, place);
                self.last = Some((page, place));
                place
            }
        };
        &mut self.works[place]
    }

    /// There is nothing to do on the entry any more.
    pub fn remove(&mut self, page: PageId) {
        if let Some(place) = self.places.remove(&page) {
            let work = &mut self.works[place];
            (work.current, work.swapping, work.swapped) = (None, None, None);
            work.waiting.clear();
            work.reads_again = false;
            self.free.push(place);
        }
        self.last = self.last.filter(|(last, _)| *last != page);
    }

    /// Whatever is being read now is to be read again.
    pub fn read_again(&mut self) {
        for &place in self.places.values() {
            let work = &mut self.works[place];
            work.reads_again = work.current.is_some() && work.swapping.is_none();
        }
    }

    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}
