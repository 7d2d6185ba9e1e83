//! The layout of a heap's own data in its segment.
//!
//! | pages | what | changed by |
//! | --- | --- | --- |
//! | 0 | the header: magic, version | formatting only |
//! | 1 | the commons: the high water, the free runs by size | refilling an arena, large things |
//! | 2 | the first page of the roots' names | setting roots |
//! | 3 to 34 | the map's root | once a GiB |
//! | 35 to 98 | the arenas, a page each | a slab that fills, empties or is made |
//! | from 99 | the map's pages, slabs, large things, more pages of names | |
//!
//! Sessions conflict by the page. So data that one session changes often is on a page of its own,
//! and constant data is on pages that are only read.

use super::error::HeapError;
use crate::memory::{Memory, MemoryAccess};
use crate::place::P;
use sardonyx_base::hash::scattered;
use sardonyx_base::resident::Resident;

/// Bytes in a page.
pub(super) const PAGE: u64 = sardonyx_storage::page::PAGE_SIZE as u64;
/// The most pages that a heap can have: 16 TiB of them.
pub(super) const PAGES_MAX: u64 = 1 << 32;

pub(super) const COMMONS_PAGE: u64 = 1;
pub(super) const NAMES_PAGE: u64 = 2;
pub(super) const MAP_ROOT_PAGE: u64 = 3;
pub(super) const MAP_ROOT_PAGES: u64 = 32;
pub(super) const FIRST_ARENA_PAGE: u64 = MAP_ROOT_PAGE + MAP_ROOT_PAGES;
/// Pages from here on are handed out.
pub(super) const FIRST_HEAP_PAGE: u64 = FIRST_ARENA_PAGE + ARENAS;

/// The number of sets of slabs, so that as many sessions allocate without conflict.
pub const ARENAS: u64 = 64;
/// The number of lists of free runs; see `runs::bin`.
pub(super) const BINS: usize = 256;
/// Room for as many classes of slabs in an arena's page.
pub(super) const CLASSES_MAX: usize = 32;

pub(super) const MAGIC: [u8; 8] = *b"SDXSEGMT";
pub(super) const VERSION: u32 = 1;
/// The first bytes of a database of tables, which `storage::catalogue` writes.
pub(super) const TABLES_MAGIC: [u8; 8] = *b"SdxTable";

/// The header's bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Resident)]
#[repr(C)]
pub(super) struct Header {
    pub magic: [u8; 8],
    pub version: u32,
    pub page_bytes: u32,
    pub arenas: u32,
    pub fixed_pages: u32,
}

impl Header {
    pub(super) const CURRENT: Header = Header {
        magic: MAGIC,
        version: VERSION,
        page_bytes: PAGE as u32,
        arenas: ARENAS as u32,
        fixed_pages: FIRST_HEAP_PAGE as u32,
    };

    /// Checks that the memory holds a heap that this program knows.
    pub(super) fn check<M: Memory + ?Sized>(memory: &M) -> Result<(), HeapError> {
        let found = match memory.range(0, PAGE) {
            Some(page) => *Header::ref_from_bytes(&page[..size_of::<Header>()]).ok_or(
                HeapError::damaged(0, "the memory does not start at a page's address"),
            )?,
            None => Header::new_zeroed(),
        };
        if found.magic == TABLES_MAGIC {
            Err(HeapError::Tables)
        } else if found.magic != MAGIC {
            Err(HeapError::NotAHeap { found: found.magic })
        } else if found.version != VERSION {
            Err(HeapError::Version {
                found: found.version,
                known: VERSION,
            })
        } else if found != Header::CURRENT {
            Err(HeapError::damaged(
                8,
                "the header's sizes are not those of its version",
            ))
        } else {
            Ok(())
        }
    }
}

/// The data that all arenas share.
#[derive(Clone, Copy, Debug, Resident)]
#[repr(C)]
pub(super) struct Commons {
    pub tag: u64,
    /// Pages that were ever handed out, also the fixed ones; those from here on are untouched.
    pub high_water: u64,
    /// Pages in free runs.
    pub free_pages: u64,
    pub map_pages: u64,
    /// A bit for each list of free runs that has any.
    pub bins_used: [u64; BINS / 64],
    /// The first page of the first free run of each list.
    pub bins: [u32; BINS],
}

pub(super) const COMMONS: P<Commons> = P::from_offset(COMMONS_PAGE * PAGE);

/// A set of slabs. All zeroes is one that has none.
#[derive(Clone, Copy, Debug, Resident)]
#[repr(C)]
pub(super) struct Arena {
    /// Pages that the map says are this arena's.
    pub owned_pages: u64,
    /// The first of consecutive pages that were not touched yet.
    pub reserve_start: u64,
    pub reserve_pages: u64,
    /// The first of the slabs that have become empty.
    pub empty: u64,
    pub empty_pages: u64,
    /// The first slab with room of each class.
    pub partial: [u64; CLASSES_MAX],
}

/// A slab's first bytes.
#[derive(Clone, Copy, Debug, Resident)]
#[repr(C)]
pub(super) struct Slab {
    /// Says that the page is a slab, and this one.
    pub tag: u64,
    /// Its class, or [`NO_CLASS`] if it is empty and of none.
    pub class: u16,
    pub arena: u16,
    pub reserved: u32,
    /// The next and the previous slab of its list.
    pub next: u64,
    pub previous: u64,
    /// A bit for each slot in use.
    pub used: [u64; 4],
}

/// The class of an empty slab.
pub(super) const NO_CLASS: u16 = u16::MAX;
pub(super) const SLAB_HEADER_BYTES: u64 = size_of::<Slab>() as u64;

/// The first bytes of a free run.
#[derive(Clone, Copy, Debug, Resident)]
#[repr(C)]
pub(super) struct FreeRun {
    pub tag: u64,
    /// The next and the previous run of its list.
    pub next: u64,
    pub previous: u64,
    pub pages: u64,
}

pub(super) const COMMONS_TAG: u64 = u64::from_le_bytes(*b"SDXcommn");
pub(super) const NAMES_TAG: u64 = u64::from_le_bytes(*b"SDXnames");
const SLAB_TAG: u64 = u64::from_le_bytes(*b"SDXslabs");
const FREE_TAG: u64 = u64::from_le_bytes(*b"SDXfreer");

const _: () = assert!(SLAB_HEADER_BYTES == 64 && size_of::<Commons>() <= PAGE as usize);

/// A page's tag: its kind and its own number, so that a copy elsewhere does not pass for it.
fn tag(kind: u64, page: u64) -> u64 {
    kind ^ scattered(page)
}

pub(super) fn slab_tag(page: u64) -> u64 {
    tag(SLAB_TAG, page)
}

pub(super) fn free_tag(page: u64) -> u64 {
    tag(FREE_TAG, page)
}

/// The place of a page's first bytes.
pub(super) fn page_place<T>(page: u64) -> P<T> {
    // Pages that are not within the memory are refused when the place is used.
    P::from_offset(page.saturating_mul(PAGE))
}

pub(super) fn arena_place(arena: u64) -> P<Arena> {
    page_place(FIRST_ARENA_PAGE + arena % ARENAS)
}

/// The commons, whose numbers may be relied on as far as their own page tells.
pub(super) fn commons<M: Memory + ?Sized>(memory: &M) -> Result<&Commons, HeapError> {
    let commons = memory.get(COMMONS)?;
    let at = COMMONS.offset();
    if commons.tag != COMMONS_TAG {
        return Err(HeapError::damaged(
            at,
            "the page of the commons has not its tag",
        ));
    }
    let pages = memory.bytes().len() as u64 / PAGE;
    if !(FIRST_HEAP_PAGE..=pages.min(PAGES_MAX)).contains(&commons.high_water) {
        return Err(HeapError::damaged(
            at + 8,
            "the high water is not within the memory",
        ));
    }
    Ok(commons)
}
