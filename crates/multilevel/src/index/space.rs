//! The used pages of the area.
//!
//! Page 0 has the number of pages that were ever used and the list of free ones. It is read and written only when a
//! node is added or removed. Page 1 is always the root: an operation finds it without a lookup. It is always an inner
//! node, so that an operation knows that it will not write it before it reads it.
//!
//! | bytes | of page 0 |
//! | --- | --- |
//! | 0..3 | `ixm` |
//! | 3 | version: 1 |
//! | 4..8 | pages used, free ones included |
//! | 8..12 | the first free page; 0: none |
//! | 12..16 | number of free pages |
//!
//! A free page begins with `ixf`, a zero byte and the next free page (4 bytes; 0: none). Pages 0
//! and 1 of zeroes are an empty index.

use super::error::{IndexError, damaged};
use crate::pages::{Area, Page, Pages, Stop};
use sardonyx_storage::page::PageId;
use sardonyx_storage::tree::{Built, TreePages};
use std::ops::Range;

/// The root's page within the area.
pub(super) const ROOT: u32 = 1;

/// The first leaf's, when the index is made.
const FIRST_LEAF: u32 = 2;

/// The pages that an area has before an index in it is used.
const PAGES_FIRST: u64 = 4;

const VERSION: u8 = 1;
const FREE: [u8; 4] = *b"ixf\0";

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// The tree has its nodes in the area's pages, whose places there are their numbers.
impl TreePages for dyn Pages + '_ {
    type Tree = Area;
    type Error = IndexError;

    fn root(&self, area: Area) -> Result<(u32, PageId), IndexError> {
        Ok((ROOT, Pages::page(self, area, u64::from(ROOT))?))
    }

    fn is_unused(&self, area: Area) -> Result<bool, IndexError> {
        is_unused(self, area)
    }

    fn page(&self, area: Area, number: u32) -> Result<Option<PageId>, IndexError> {
        if number <= ROOT || u64::from(number) >= self.pages_of(area)? {
            return Ok(None);
        }
        Ok(Some(Pages::page(self, area, u64::from(number))?))
    }

    fn read(&self, page: PageId) -> Result<&Page, IndexError> {
        Ok(Pages::read(self, page)?)
    }

    fn read_to_write(&self, page: PageId) -> Result<&Page, IndexError> {
        Ok(Pages::read_to_write(self, page)?)
    }

    fn write(&mut self, page: PageId, range: Range<usize>) -> Result<&mut [u8], IndexError> {
        Ok(Pages::write(self, page, range)?)
    }

    fn allocate(&mut self, area: Area) -> Result<(u32, PageId), IndexError> {
        allocate(self, area)
    }

    fn free(&mut self, area: Area, number: u32, page: PageId) -> Result<(), IndexError> {
        free(self, area, number, page)
    }
}

/// Page 0.
pub(super) struct Meta {
    pub id: PageId,
    pub used: u32,
    pub first_free: u32,
    pub free: u32,
}

impl Meta {
    /// Decodes page 0.
    pub fn of(id: PageId, bytes: &Page) -> Result<Meta, IndexError> {
        if bytes[..3] != *b"ixm" {
            return Err(damaged(id, 0, "not the first page of an index"));
        }
        if bytes[3] != VERSION {
            return Err(damaged(id, 3, "a version that this program does not know"));
        }
        Ok(Meta {
            id,
            used: u32_at(bytes, 4),
            first_free: u32_at(bytes, 8),
            free: u32_at(bytes, 12),
        })
    }

    fn write(&self, pages: &mut dyn Pages) -> Result<(), IndexError> {
        let bytes = pages.write(self.id, 4..16)?;
        bytes[..4].copy_from_slice(&self.used.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.first_free.to_le_bytes());
        bytes[8..].copy_from_slice(&self.free.to_le_bytes());
        Ok(())
    }
}

/// The page that a free one names as the next.
pub(super) fn next_free(id: PageId, bytes: &Page) -> Result<u32, IndexError> {
    if bytes[..4] != FREE {
        return Err(damaged(id, 0, "not a free page, though listed as one"));
    }
    Ok(u32_at(bytes, 4))
}

/// Makes sure that the area has its first pages.
pub(super) fn prepare(pages: &mut dyn Pages, area: Area) -> Result<(), IndexError> {
    if pages.pages_of(area)? < PAGES_FIRST {
        pages.grow(area, PAGES_FIRST)?;
    }
    Ok(())
}

/// True if the index was never written to, given that the root's page is zeroes.
pub(super) fn is_unused(pages: &dyn Pages, area: Area) -> Result<bool, IndexError> {
    let meta = pages.page(area, 0)?;
    Ok(pages.read(meta)?[..16] == [0; 16])
}

/// Makes an empty index of zeroes.
pub(super) fn format(pages: &mut dyn Pages, area: Area) -> Result<(), IndexError> {
    let meta = pages.page(area, 0)?;
    let start = pages.write(meta, 0..4)?;
    start.copy_from_slice(&[b'i', b'x', b'm', VERSION]);
    let (used, first_free, free) = (FIRST_LEAF + 1, 0, 0);
    let id = meta;
    Meta {
        id,
        used,
        first_free,
        free,
    }
    .write(pages)?;
    let root = pages.page(area, u64::from(ROOT))?;
    Built::new(1, FIRST_LEAF).write(pages, root)?;
    let leaf = pages.page(area, u64::from(FIRST_LEAF))?;
    Built::new(0, 0).write(pages, leaf)
}

/// Takes a page into use: a free one, or one never used, for which the area may grow. Its bytes are
/// anything.
fn allocate(pages: &mut dyn Pages, area: Area) -> Result<(u32, PageId), IndexError> {
    let id = pages.page(area, 0)?;
    let mut meta = Meta::of(id, pages.read_to_write(id)?)?;
    if meta.first_free == 0 {
        let index = meta.used;
        if index <= FIRST_LEAF || index == u32::MAX {
            return Err(damaged(id, 4, "an impossible number of pages used"));
        }
        let there = pages.pages_of(area)?;
        if u64::from(index) >= there {
            if u64::from(index) > there {
                return Err(damaged(id, 4, "more pages used than the area has"));
            }
            match pages.grow(area, there + (there / 8).max(8)) {
                // If little is left, one page suffices.
                Err(Stop::Full { .. }) => pages.grow(area, there + 1)?,
                grown => grown?,
            }
        }
        meta.used += 1;
        meta.write(pages)?;
        return Ok((index, pages.page(area, u64::from(index))?));
    }
    let index = meta.first_free;
    let page = listed(pages, area, &meta, index)?;
    meta.first_free = next_free(page, pages.read_to_write(page)?)?;
    let Some(free) = meta.free.checked_sub(1) else {
        return Err(damaged(id, 12, "no free page, though one is listed"));
    };
    meta.free = free;
    meta.write(pages)?;
    Ok((index, page))
}

/// A page that is listed as free.
fn listed(pages: &dyn Pages, area: Area, meta: &Meta, index: u32) -> Result<PageId, IndexError> {
    if index <= ROOT || index >= meta.used || u64::from(index) >= pages.pages_of(area)? {
        return Err(damaged(meta.id, 8, "a free page that is not in the index"));
    }
    Ok(pages.page(area, u64::from(index))?)
}

/// Gives a page back.
fn free(pages: &mut dyn Pages, area: Area, index: u32, page: PageId) -> Result<(), IndexError> {
    let id = pages.page(area, 0)?;
    let mut meta = Meta::of(id, pages.read_to_write(id)?)?;
    let bytes = pages.write(page, 0..8)?;
    bytes[..4].copy_from_slice(&FREE);
    bytes[4..].copy_from_slice(&meta.first_free.to_le_bytes());
    meta.first_free = index;
    let Some(free) = meta.free.checked_add(1) else {
        return Err(damaged(id, 12, "an impossible number of free pages"));
    };
    meta.free = free;
    meta.write(pages)
}
