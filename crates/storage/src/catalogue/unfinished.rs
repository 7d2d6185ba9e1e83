//! True if multi-level transactions have not ended. Their effects may still be compensated, so only the
//! multi-level way, which does that when it opens the database, may read it.
//!
//! That way keeps the undo of its running transactions in the area [`UNDO_AREA`]. This module knows only one part of
//! the area's format: the mark of a page that begins the undo records of a running transaction. `multilevel::undo`
//! defines the format.
//!
//! Invariant: no single-level reader sees a page with completed operations of unfinished transactions
//! (DASDBS paper, section 2: such a page is not clean).

#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use super::{Catalogue, CatalogueError, UNDO_AREA};
use crate::page::PAGE_SIZE;
use crate::store::PageStore;

/// Pages at the undo area's beginning that belong to no transaction.
pub const HEADER_PAGES: usize = 9;

/// The first word of a page that no transaction uses.
pub const UNUSED: u64 = 0;

/// The first word of a page that continues another.
pub const CONTINUATION: u64 = u64::MAX;

/// The number of multi-level transactions that have not ended. `pages` are those of the catalogue's store.
///
/// ```
/// use sardonyx_storage::catalogue::{Catalogue, unfinished};
/// use sardonyx_storage::store::PageStore;
///
/// let mut store = PageStore::reserve(1 << 20)?;
/// let catalogue = Catalogue::read(&mut store)?;
/// assert_eq!(unfinished::count(store.bytes(), &catalogue), 0);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
pub fn count(pages: &[u8], catalogue: &Catalogue) -> u64 {
    // A table of this name would have been made by another way: then there are no such transactions.
    let Ok(Some(area)) = catalogue.area(UNDO_AREA) else {
        return 0;
    };
    let begins = catalogue
        .extents_of(area)
        .flat_map(|extent| extent.first_page.0..extent.end())
        .skip(HEADER_PAGES)
        .map(|page| first_word(pages, page));
    begins
        .filter(|begin| ![UNUSED, CONTINUATION].contains(begin))
        .count() as u64
}

fn first_word(pages: &[u8], page: u64) -> u64 {
    let page = pages.get(page as usize * PAGE_SIZE..);
    let word = page.and_then(<[u8]>::first_chunk);
    word.map_or(UNUSED, |word| u64::from_le_bytes(*word))
}

/// Refuses a database in which there are any.
///
/// # Errors
/// [`CatalogueError::Unfinished`].
pub fn refuse(pages: &[u8], catalogue: &Catalogue) -> Result<(), CatalogueError> {
    match count(pages, catalogue) {
        0 => Ok(()),
        transactions => Err(CatalogueError::Unfinished { transactions }),
    }
}

/// [`refuse`] for a way that does not know the content of its pages: if they hold no tables, they have no multi-level
/// transactions either.
///
/// # Errors
/// [`CatalogueError::Unfinished`]; [`CatalogueError::Damaged`] if there are tables and areas that cannot be read.
#[inline]
pub fn refuse_in_any(store: &mut PageStore) -> Result<(), CatalogueError> {
    if !Catalogue::is_in(store.bytes()) {
        return Ok(());
    }
    let catalogue = Catalogue::read(store)?;
    refuse(store.bytes(), &catalogue)
}
