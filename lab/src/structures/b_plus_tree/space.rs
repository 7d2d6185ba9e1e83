//! Page 0: the free pages of the area.
//!
//! | bytes | of page 0 |
//! | --- | --- |
//! | 0..8 | `SdxBTree` |
//! | 8..12 | first page of the free list, or 0 |
//! | 12..16 | pages used from the area's start; those beyond were never written |
//!
//! A page of the free list begins with `Free` and the number of the next one. Only operations that
//! split or merge nodes read or write page 0, so it is not a page where all sharers meet.

use super::node::{Bytes, MAX_LEVELS, number};
use crate::structures::error::{Error, damaged};
use crate::structures::page::{Pages, PagesMut};

/// The page with the free list.
pub(super) const SPACE: usize = 0;
/// The page that is always the root, so that no operation must look it up.
pub(super) const ROOT: usize = 1;

/// The most pages of a tree: their numbers have 32 bits.
const LIMIT: usize = u32::MAX as usize;

const MAGIC: &[u8; 8] = b"SdxBTree";
const FREE: &[u8; 4] = b"Free";

/// The contents of page 0.
#[derive(Clone, Copy)]
pub(super) struct Space {
    pub(super) first: usize,
    pub(super) used: usize,
}

/// Pages that an operation is going to take, found before it changes anything.
pub(super) struct Reserved {
    pages: [usize; MAX_LEVELS + 1],
    count: usize,
    after: Space,
}

impl Reserved {
    /// Returns true if a page is among the reserved ones.
    pub(super) fn contains(&self, page: usize) -> bool {
        self.pages[..self.count].contains(&page)
    }

    /// The next of the reserved pages.
    pub(super) fn next(&mut self) -> Result<usize, Error> {
        let Some(left) = self.count.checked_sub(1) else {
            return damaged(
                SPACE,
                "an operation needs more pages than its path has nodes",
            );
        };
        self.count = left;
        Ok(self.pages[left])
    }
}

/// Writes page 0 of an area in which only the root is used.
pub(super) fn create<S: PagesMut>(pages: &mut S) -> Result<(), Error> {
    let bytes = bytes_mut(pages, SPACE)?;
    bytes[..8].copy_from_slice(MAGIC);
    write(
        pages,
        Space {
            first: 0,
            used: ROOT + 1,
        },
    )
}

/// Reads and validates page 0.
pub(super) fn read<S: Pages>(pages: &S) -> Result<Space, Error> {
    let bytes = bytes(pages, SPACE)?;
    if &bytes[..8] != MAGIC {
        return damaged(SPACE, "it does not begin a B+-tree");
    }
    let space = Space {
        first: number::<4>(bytes, 8) as usize,
        used: number::<4>(bytes, 12) as usize,
    };
    if space.used <= ROOT || space.used > pages.count() {
        return damaged(SPACE, "its number of used pages is not within the area");
    }
    Ok(space)
}

/// The page after this one in the free list, or 0.
pub(super) fn following<S: Pages>(pages: &S, page: usize, used: usize) -> Result<usize, Error> {
    if page <= ROOT || page >= used {
        return damaged(SPACE, "the free list leaves the used pages");
    }
    let bytes = bytes(pages, page)?;
    if &bytes[..4] != FREE {
        return damaged(page, "it is in the free list and not free");
    }
    Ok(number::<4>(bytes, 4) as usize)
}

/// Finds `needed` pages without taking them.
///
/// # Errors
/// [`Error::Full`] if the area has fewer; [`Error::TooLarge`] if a tree cannot have so many.
pub(super) fn reserve<S: Pages>(pages: &S, needed: usize) -> Result<Reserved, Error> {
    let mut after = read(pages)?;
    let mut found = [0; MAX_LEVELS + 1];
    let mut count = 0;
    while count < needed && after.first != 0 {
        if found[..count].contains(&after.first) {
            return damaged(after.first, "the free list runs in a circle");
        }
        found[count] = after.first;
        after.first = following(pages, after.first, after.used)?;
        count += 1;
    }
    let missing = needed - count;
    let pages_needed = after.used + missing;
    if pages_needed > LIMIT {
        return Err(Error::TooLarge {
            pages_needed,
            limit: LIMIT,
        });
    }
    if pages_needed > pages.count() {
        return Err(Error::Full { pages_needed });
    }
    for page in &mut found[count..needed] {
        *page = after.used;
        after.used += 1;
    }
    Ok(Reserved {
        pages: found,
        count: needed,
        after,
    })
}

/// Takes the reserved pages out of the free ones.
pub(super) fn take<S: PagesMut>(pages: &mut S, reserved: &Reserved) -> Result<(), Error> {
    write(pages, reserved.after)
}

/// Puts a page into the free list.
pub(super) fn free<S: PagesMut>(pages: &mut S, page: usize) -> Result<(), Error> {
    let space = read(pages)?;
    let bytes = bytes_mut(pages, page)?;
    bytes[..4].copy_from_slice(FREE);
    bytes[4..8].copy_from_slice(&(space.first as u32).to_le_bytes());
    write(
        pages,
        Space {
            first: page,
            used: space.used,
        },
    )
}

fn write<S: PagesMut>(pages: &mut S, space: Space) -> Result<(), Error> {
    let bytes = bytes_mut(pages, SPACE)?;
    bytes[8..12].copy_from_slice(&(space.first as u32).to_le_bytes());
    bytes[12..16].copy_from_slice(&(space.used as u32).to_le_bytes());
    Ok(())
}

/// The bytes of a page of the area.
#[inline(always)]
pub(super) fn bytes<S: Pages>(pages: &S, page: usize) -> Result<&Bytes, Error> {
    match pages.page(page) {
        Some(page) => Ok(&page.bytes),
        None => damaged(page, "it is referred to, but beyond the area"),
    }
}

/// The bytes of a page of the area, to be changed.
#[inline(always)]
pub(super) fn bytes_mut<S: PagesMut>(pages: &mut S, page: usize) -> Result<&mut Bytes, Error> {
    match pages.page_mut(page) {
        Some(page) => Ok(&mut page.bytes),
        None => damaged(page, "it is referred to, but beyond the area"),
    }
}
