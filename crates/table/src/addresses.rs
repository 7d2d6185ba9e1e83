//! The places of a table's rows, in the order of the addresses.

use crate::table::{Slot, TableState, page_bytes};
use sardonyx_rows::layout::PageLayout;
use sardonyx_storage::page::{Address, PageId};

/// The addresses of a table's rows: a page's bitmap is read a word at a time.
#[derive(Clone)]
pub(crate) struct Addresses<'a> {
    state: &'a TableState,
    bytes: &'a [u8],
    /// The page to go on with, once `page` is through.
    next: Slot,
    page: PageId,
    content: &'a [u8],
    layout: PageLayout,
    /// The slot of the first bit of `word`.
    first: usize,
    /// Slots of the page that have rows and were not given yet.
    word: u64,
}

impl<'a> Addresses<'a> {
    /// The addresses of all rows of a table.
    pub fn new(state: &'a TableState, bytes: &'a [u8]) -> Self {
        Addresses {
            state,
            bytes,
            next: Slot::default(),
            page: PageId(0),
            content: &[],
            layout: state.layout,
            first: state.layout.records,
            word: 0,
        }
    }

    /// Goes to the next page that has rows. Returns false if there is none.
    fn next_page(&mut self) -> bool {
        while let Some(page) = self.state.used_page(&mut self.next) {
            let content = page_bytes(self.bytes, page);
            if self.state.has_rows(content) {
                (self.page, self.content) = (page, content);
                self.layout = self.state.layout_of(content);
                (self.first, self.word) = (0, self.layout.occupied_word(content, 0));
                return true;
            }
        }
        false
    }
}

impl Iterator for Addresses<'_> {
    type Item = Address;

    #[inline]
    fn next(&mut self) -> Option<Address> {
        while self.word == 0 {
            self.first += 64;
            if self.first < self.layout.records {
                self.word = self.layout.occupied_word(self.content, self.first);
            } else if !self.next_page() {
                // It stays at the end.
                self.first = self.layout.records;
                return None;
            }
        }
        let bit = self.word.trailing_zeros() as usize;
        self.word &= self.word - 1;
        Some(self.layout.record(self.page, self.first + bit))
    }
}
