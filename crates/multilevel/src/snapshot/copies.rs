//! Copies of pages that a call has read from a snapshot. Each is copied once and stays in place until the
//! call ends, so that references to it may be given out while others are added.

use crate::pages::Page;
use sardonyx_base::hash::IntegerMap;
use sardonyx_storage::page::PageId;
use std::cell::{OnceCell, RefCell};

/// Copies in the first block; each further one has twice as many.
const FIRST_BLOCK: usize = 8;

/// More blocks than there can be.
const BLOCKS: usize = 48;

type Block = Box<[OnceCell<Box<Page>>]>;

pub(super) struct Copies {
    /// By page: its place.
    places: RefCell<IntegerMap<u64, usize>>,
    blocks: [OnceCell<Block>; BLOCKS],
}

impl Default for Copies {
    fn default() -> Self {
        Copies {
            places: RefCell::default(),
            blocks: [const { OnceCell::new() }; BLOCKS],
        }
    }
}

impl std::fmt::Debug for Copies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let copies = self.len();
        f.debug_struct("Copies").field("copies", &copies).finish()
    }
}

impl Copies {
    pub fn len(&self) -> usize {
        self.places.borrow().len()
    }

    /// The copy of a page, made by `copy` if there is none yet.
    pub fn of<E>(
        &self,
        page: PageId,
        copy: impl FnOnce() -> Result<Box<Page>, E>,
    ) -> Result<&Page, E> {
        let mut places = self.places.borrow_mut();
        if let Some(&place) = places.get(&page.0) {
            return Ok(self
                .cell(place)
                .get()
                .expect("its place was given out with it"));
        }
        let copy = copy()?;
        let place = places.len();
        places.insert(page.0, place);
        Ok(self.cell(place).get_or_init(|| copy))
    }

    fn cell(&self, place: usize) -> &OnceCell<Box<Page>> {
        let block = (place / FIRST_BLOCK + 1).ilog2() as usize;
        let cells = FIRST_BLOCK << block;
        let first = cells - FIRST_BLOCK;
        let block =
            self.blocks[block].get_or_init(|| (0..cells).map(|_| OnceCell::new()).collect());
        &block[place - first]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sardonyx_storage::page::PAGE_SIZE;
    use std::convert::Infallible;

    #[test]
    fn each_page_is_copied_once_and_stays() {
        let copies = Copies::default();
        let copy = |page: u64| {
            copies.of(PageId(page * 7), || {
                Ok::<_, Infallible>(Box::new([page as u8; PAGE_SIZE]))
            })
        };
        let first: Vec<&Page> = (0..100)
            .map(|page| copy(page).unwrap_or_else(|e| match e {}))
            .collect();
        for (page, before) in (0..100).zip(first) {
            let again = copies
                .of(PageId(page * 7), || Err(()))
                .expect("it is there");
            assert!(std::ptr::eq(again, before) && again[9] == page as u8);
        }
        assert_eq!(copies.of(PageId(1), || Err(7)), Err(7));
    }
}
