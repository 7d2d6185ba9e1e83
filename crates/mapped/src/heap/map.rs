//! The map: the kind of every page, and the high water above which no page was handed out.
//!
//! It has an entry of 8 bytes for each page, 512 in a page of the map (a leaf). A leaf is found
//! through a page of 512 leaves (a directory) and the root of 16384 directories. The inside of a
//! run has no entries and so needs no leaf: a run of a GiB has two.
//!
//! Kept true: the entry of a run is at its first page, and that of a free run at its last page, too. All entries inside
//! of runs are empty. The leaf of the page at the high water exists. So do the leaves of both ends of every run:
//! freeing never needs memory.

use super::error::HeapError;
use super::layout::{
    COMMONS, FIRST_HEAP_PAGE, MAP_ROOT_PAGE, PAGE, PAGES_MAX, commons, page_place,
};
use crate::memory::{GrowError, Memory, MemoryAccess};
use crate::place::P;

/// Entries in a leaf, and leaves in a directory.
const FAN_OUT: u64 = PAGE / 8;
/// Pages that the map may need at once: a leaf and a directory for each of four places. These are both ends of a run,
/// the high water, and the end of the map's own pages after that.
const MAP_PAGES_AT_ONCE: u64 = 8;
/// Leaves that are added before they are needed: as many as there are, up to this (128 MiB).
const LEAVES_AHEAD_MAX: u64 = 64;

/// The map's entry of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Entry {
    /// Nothing: the page is inside of a run, or was never handed out.
    Inside,
    /// The first of the pages that formatting laid out.
    Fixed { pages: u64 },
    /// A page of the map itself.
    Map,
    /// The first or the last page of a free run.
    Free { pages: u64 },
    /// The first page of something large.
    Run { pages: u64 },
    /// A page for slabs of an arena.
    Slab { arena: u16 },
    /// A page of names, but for the first.
    Names,
}

const FIXED: u64 = 1;
const MAP: u64 = 2;
const FREE: u64 = 3;
const RUN: u64 = 4;
const SLAB: u64 = 5;
const NAMES: u64 = 6;

impl Entry {
    /// Kind in the lowest byte, arena above it, pages less one in the upper half.
    fn encode(self) -> u64 {
        match self {
            Entry::Inside => 0,
            Entry::Fixed { pages } => FIXED | (pages - 1) << 32,
            Entry::Map => MAP,
            Entry::Free { pages } => FREE | (pages - 1) << 32,
            Entry::Run { pages } => RUN | (pages - 1) << 32,
            Entry::Slab { arena } => SLAB | u64::from(arena) << 8,
            Entry::Names => NAMES,
        }
    }

    /// `None` if it is none that was ever written.
    pub(super) fn decode(raw: u64) -> Option<Entry> {
        let pages = (raw >> 32) + 1;
        let entry = match raw & 0xff {
            0 => Entry::Inside,
            FIXED => Entry::Fixed { pages },
            MAP => Entry::Map,
            FREE => Entry::Free { pages },
            RUN => Entry::Run { pages },
            SLAB => Entry::Slab {
                arena: (raw >> 8) as u16,
            },
            NAMES => Entry::Names,
            _ => return None,
        };
        (entry.encode() == raw).then_some(entry)
    }

    /// Pages from this one that the entry speaks of; 0 of [`Entry::Inside`].
    pub(super) fn pages(self) -> u64 {
        match self {
            Entry::Inside => 0,
            Entry::Fixed { pages } | Entry::Free { pages } | Entry::Run { pages } => pages,
            Entry::Map | Entry::Slab { .. } | Entry::Names => 1,
        }
    }
}

/// The place in the root of a page's directory, and in the directory of its leaf, if it exists.
fn root_slot(page: u64) -> P<u64> {
    P::from_offset(MAP_ROOT_PAGE * PAGE + page / (FAN_OUT * FAN_OUT) * 8)
}

fn directory_slot(directory: u64, page: u64) -> P<u64> {
    P::from_offset(directory * PAGE + page / FAN_OUT % FAN_OUT * 8)
}

fn leaf_slot(leaf: u64, page: u64) -> P<u64> {
    P::from_offset(leaf * PAGE + page % FAN_OUT * 8)
}

/// The page of the map that a slot names, if any.
pub(super) fn map_page_at<M: Memory + ?Sized>(
    memory: &M,
    slot: P<u64>,
) -> Result<Option<u64>, HeapError> {
    let page = memory.read(slot)?;
    let pages = memory.bytes().len() as u64 / PAGE;
    match page {
        0 => Ok(None),
        page if (FIRST_HEAP_PAGE..pages.min(PAGES_MAX)).contains(&page) => Ok(Some(page)),
        _ => Err(HeapError::damaged(
            slot.offset(),
            "the map names a page that is not within the memory",
        )),
    }
}

/// The place of a page's entry, if its leaf is there.
fn slot<M: Memory + ?Sized>(memory: &M, page: u64) -> Result<Option<P<u64>>, HeapError> {
    if page >= PAGES_MAX {
        return Ok(None);
    }
    let Some(directory) = map_page_at(memory, root_slot(page))? else {
        return Ok(None);
    };
    let leaf = map_page_at(memory, directory_slot(directory, page))?;
    Ok(leaf.map(|leaf| leaf_slot(leaf, page)))
}

pub(super) fn entry<M: Memory + ?Sized>(memory: &M, page: u64) -> Result<Entry, HeapError> {
    let Some(slot) = slot(memory, page)? else {
        return Ok(Entry::Inside);
    };
    Entry::decode(memory.read(slot)?).ok_or(HeapError::damaged(
        slot.offset(),
        "an entry of the map has bits that are never written",
    ))
}

/// Sets a page's kind. Its leaf must exist.
pub(super) fn set_entry<M: Memory + ?Sized>(
    memory: &mut M,
    page: u64,
    entry: Entry,
) -> Result<(), HeapError> {
    let Some(slot) = slot(memory, page)? else {
        let at = root_slot(page.min(PAGES_MAX - 1)).offset();
        return Err(HeapError::damaged(
            at,
            "the map lacks the page of an end of a run",
        ));
    };
    memory.write(slot, entry.encode())?;
    Ok(())
}

/// All slots of the map: first the root's that name a directory, with the first page that each
/// speaks of. For a walk over the whole map.
pub(super) fn root_slots() -> impl Iterator<Item = (u64, P<u64>)> {
    (0..PAGES_MAX / (FAN_OUT * FAN_OUT)).map(|directory| {
        let page = directory * FAN_OUT * FAN_OUT;
        (page, root_slot(page))
    })
}

/// The slots of a directory, with the first page that each speaks of.
pub(super) fn directory_slots(first: u64, directory: u64) -> impl Iterator<Item = (u64, P<u64>)> {
    (0..FAN_OUT).map(move |leaf| {
        let page = first + leaf * FAN_OUT;
        (page, directory_slot(directory, page))
    })
}

/// The slots of a leaf, with the page that each speaks of.
pub(super) fn leaf_slots(first: u64, leaf: u64) -> impl Iterator<Item = (u64, P<u64>)> {
    (first..first + FAN_OUT).map(move |page| (page, leaf_slot(leaf, page)))
}

/// Adds the leaves for some pages and for the page at the high water, where they are missing. With the latter it adds
/// those for some time to come. The map's pages never move, so they should be adjacent, and leave long runs between
/// them.
pub(super) fn ensure_leaves<M: Memory + ?Sized>(
    memory: &mut M,
    pages: &[u64],
) -> Result<(), HeapError> {
    let start = commons(memory)?.high_water;
    let at_high_water = slot(memory, start)?.is_none();
    let mut missing = at_high_water;
    for page in pages {
        missing |= slot(memory, *page)?.is_none();
    }
    if !missing {
        return Ok(());
    }
    let ahead = if at_high_water {
        (start / FAN_OUT).min(LEAVES_AHEAD_MAX)
    } else {
        0
    };
    let mut end = start + MAP_PAGES_AT_ONCE + ahead;
    if let Err(HeapError::Grow(_)) = reserve_memory(memory, end) {
        end = start + MAP_PAGES_AT_ONCE;
        reserve_memory(memory, end)?;
    }
    for page in pages {
        add_leaf(memory, *page, end)?;
    }
    while slot(memory, commons(memory)?.high_water)?.is_none() {
        add_leaf(memory, commons(memory)?.high_water, end)?;
    }
    for group in 1..=end - start - MAP_PAGES_AT_ONCE {
        let page = start + group * FAN_OUT;
        // Not beyond the directory: it would be one more page, and its own leaf's place another.
        if page / (FAN_OUT * FAN_OUT) == start / (FAN_OUT * FAN_OUT) {
            add_leaf(memory, page, end)?;
        }
    }
    // The leaves ahead may end where the leaf that comes next is still missing.
    while slot(memory, commons(memory)?.high_water)?.is_none() {
        add_leaf(memory, commons(memory)?.high_water, end)?;
    }
    // Only now every page of the map has a leaf for its own entry.
    for page in start..commons(memory)?.high_water {
        set_entry(memory, page, Entry::Map)?;
    }
    Ok(())
}

/// Adds the leaf for a page, and its directory, from below page `end`.
fn add_leaf<M: Memory + ?Sized>(memory: &mut M, page: u64, end: u64) -> Result<(), HeapError> {
    let directory = match map_page_at(memory, root_slot(page))? {
        Some(directory) => directory,
        None => add_map_page(memory, root_slot(page), end)?,
    };
    let slot = directory_slot(directory, page);
    if map_page_at(memory, slot)?.is_none() {
        add_map_page(memory, slot, end)?;
    }
    Ok(())
}

fn add_map_page<M: Memory + ?Sized>(
    memory: &mut M,
    slot: P<u64>,
    end: u64,
) -> Result<u64, HeapError> {
    let page = commons(memory)?.high_water;
    if page >= end {
        return Err(HeapError::damaged(
            slot.offset(),
            "the map needs more pages than it can",
        ));
    }
    memory.write(page_place(page), [0u8; PAGE as usize])?;
    memory.write(slot, page)?;
    let commons = memory.get_mut(COMMONS)?;
    commons.high_water += 1;
    commons.map_pages = commons.map_pages.wrapping_add(1);
    Ok(page)
}

/// Takes consecutive pages from the high water. Their entries are for the caller to set.
///
/// # Errors
/// [`HeapError::Grow`] if the memory has no room; nothing was changed then.
pub(super) fn take_fresh<M: Memory + ?Sized>(memory: &mut M, pages: u64) -> Result<u64, HeapError> {
    let page = commons(memory)?.high_water;
    // `pages` is at most PAGES_MAX, so far from an overflow.
    let end = page + pages;
    let known = slot(memory, end - 1)?.is_some() && slot(memory, end)?.is_some();
    reserve_memory(memory, if known { end } else { end + MAP_PAGES_AT_ONCE })?;
    memory.get_mut(COMMONS)?.high_water = end;
    ensure_leaves(memory, &[end - 1])?;
    Ok(page)
}

/// Makes the memory so many pages long at least.
fn reserve_memory<M: Memory + ?Sized>(memory: &mut M, pages: u64) -> Result<(), HeapError> {
    let bytes = pages.saturating_mul(PAGE);
    if pages >= PAGES_MAX {
        return Err(HeapError::Grow(GrowError::Full {
            asked_bytes: bytes,
            limit_bytes: PAGES_MAX * PAGE,
        }));
    }
    if (memory.bytes().len() as u64) < bytes {
        memory.grow_to(bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_decoded_as_they_were_encoded_and_nothing_else_is() {
        let all = [
            Entry::Inside,
            Entry::Fixed { pages: 99 },
            Entry::Map,
            Entry::Free { pages: 1 },
            Entry::Free { pages: 1 << 32 },
            Entry::Run { pages: 7 },
            Entry::Slab { arena: 63 },
            Entry::Names,
        ];
        for entry in all {
            assert_eq!(Entry::decode(entry.encode()), Some(entry));
        }
        for raw in [
            7,
            255,
            1 << 32,
            MAP | 1 << 32,
            RUN | 1 << 8,
            SLAB | 1 << 24,
            1 << 63,
        ] {
            assert_eq!(Entry::decode(raw), None, "{raw:x}");
        }
    }
}
