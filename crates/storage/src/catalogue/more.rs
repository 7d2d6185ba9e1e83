//! The pages of a large catalogue, of version 3: its entries beyond those for which the first 25 pages have room.
//!
//! The root names a few runs of pages for definitions and a few for extents. Each run has room for as many entries as
//! all before it, so a dozen are enough for any catalogue. The place of an entry follows from its number. A run is
//! taken behind all other pages when the first entry in it is made. It stays.
//!
//! Entries of extents have no order among each other here: one that is not needed any more is zeroes, and can be
//! another one's. So a table is dropped by writes to its own entries, where version 2 moves all behind them.

use super::change::check_limit;
use super::free::Unused;
use super::{
    ADDRESS_END, CATALOGUE_PAGES, Catalogue, CatalogueError, DefinitionBytes, ExtentBytes,
    FIRST_DEFINITION_PAGE, FIRST_EXTENT_PAGE, RootBytes, SHORT_DEFINITIONS, SHORT_EXTENTS, damaged,
};
use crate::page::{Address, PAGE_SIZE, PageId};
use crate::store::PageStore;
use sardonyx_base::crc32c::crc32c;
use sardonyx_base::parts::Parts;
use sardonyx_base::resident::Resident;
use std::mem::offset_of;
use std::sync::Arc;

/// Runs of definitions: for 65,536 with the first ones.
const DEFINITION_RUNS: usize = 8;
/// Runs of extents: for 2²⁰ with the first ones.
const EXTENT_RUNS: usize = 9;

/// The most tables, journals and areas together: their pages have 16 bits for a number plus one.
pub const DEFINITIONS_MAX: usize = u16::MAX as usize;
/// The most extents of all tables and areas together.
pub const EXTENTS_MAX: usize = SHORT_EXTENTS << EXTENT_RUNS;

const _: () = assert!(DEFINITIONS_MAX <= SHORT_DEFINITIONS << DEFINITION_RUNS);

/// The first page of each run; 0 of those that were not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Resident)]
#[repr(C)]
pub(super) struct Runs {
    definitions: [u64; DEFINITION_RUNS],
    extents: [u64; EXTENT_RUNS],
}

/// The root's bytes in version 3.
#[derive(Clone, Copy, Debug, Resident)]
#[repr(C)]
pub(super) struct LargeRootBytes {
    root: RootBytes,
    runs: Runs,
    reserved: u32,
    /// CRC32C of the bytes before.
    sum: u32,
}

impl LargeRootBytes {
    pub fn new(root: RootBytes, runs: Runs) -> Self {
        let mut large = LargeRootBytes {
            root,
            runs,
            reserved: 0,
            sum: 0,
        };
        large.sum = large.sum();
        large
    }

    fn sum(&self) -> u32 {
        crc32c(&self.as_bytes()[..offset_of!(LargeRootBytes, sum)])
    }
}

/// Entries of one kind: how many, of how many bytes, are in the first 25 pages, and from which page on.
#[derive(Clone, Copy)]
struct Entries {
    first_page: u64,
    bytes: usize,
    short: usize,
}

const DEFINITIONS: Entries = Entries {
    first_page: FIRST_DEFINITION_PAGE,
    bytes: size_of::<DefinitionBytes>(),
    short: SHORT_DEFINITIONS,
};

const EXTENTS: Entries = Entries {
    first_page: FIRST_EXTENT_PAGE,
    bytes: size_of::<ExtentBytes>(),
    short: SHORT_EXTENTS,
};

impl Entries {
    /// The run of an entry, and its place there; `None` if it is in the first 25 pages.
    fn run(self, number: usize) -> Option<(usize, usize)> {
        let run = (number / self.short).checked_ilog2()? as usize;
        Some((run, number - (self.short << run)))
    }

    /// The runs that so many entries take.
    fn runs(self, count: usize) -> usize {
        let last = count.checked_sub(1).and_then(|last| self.run(last));
        last.map_or(0, |(run, _)| run + 1)
    }

    fn pages(self, run: usize) -> u64 {
        ((self.short << run) * self.bytes / PAGE_SIZE) as u64
    }

    fn address(self, number: usize, runs: &[u64]) -> Address {
        let (first, place) = match self.run(number) {
            None => (self.first_page, number),
            Some((run, place)) => (runs[run], place),
        };
        Address(PageId(first).address().0 + (place * self.bytes) as u64)
    }
}

impl Catalogue {
    pub(super) fn definition_address(&self, number: usize) -> Address {
        DEFINITIONS.address(number, &self.runs.definitions)
    }

    pub(super) fn extent_address(&self, place: usize) -> Address {
        EXTENTS.address(place, &self.runs.extents)
    }

    /// The pages of the catalogue itself behind the first 25: the first one of each run, and the one behind its last.
    pub fn own_runs(&self) -> Vec<(u64, u64)> {
        let mut all = Vec::new();
        let of_kinds = [
            (DEFINITIONS, &self.runs.definitions[..]),
            (EXTENTS, &self.runs.extents[..]),
        ];
        for (entries, firsts) in of_kinds {
            for (run, first) in firsts.iter().enumerate() {
                if *first > 0 {
                    all.push((*first, first + entries.pages(run)));
                }
            }
        }
        all
    }

    /// Becomes one of version 3, if it is not.
    pub(super) fn enlarge(&mut self) {
        if self.is_large {
            return;
        }
        self.is_newer = true;
        self.is_large = true;
        self.places = self.places_by_owner();
        self.unused = Arc::new(Unused::of(&self.extents));
    }

    /// The places of each definition's extents, in the order in which it got them.
    pub(super) fn places_by_owner(&self) -> Parts<Arc<Vec<u32>>> {
        let mut places = vec![Vec::new(); self.definitions.len()];
        for (place, placed) in self.extents.iter().enumerate() {
            let owner = placed.and_then(|placed| places.get_mut(usize::from(placed.owner)));
            if let Some(of) = owner {
                of.push(place as u32);
            }
        }
        for of in &mut places {
            // Extents of before version 3 have the order of their places.
            of.sort_by_key(|place| self.extents[*place as usize].map(|placed| placed.order));
        }
        places.into_iter().map(Arc::new).collect()
    }

    /// Sees to it that there is room for the definition of a number.
    pub(super) fn make_room_for_definition(&mut self, number: usize) -> Result<(), CatalogueError> {
        let what = "the number of tables, journals and areas";
        check_limit(what, number as u64 + 1, DEFINITIONS_MAX as u64)?;
        if let Some((run, _)) = DEFINITIONS.run(number) {
            self.enlarge();
            if self.runs.definitions[run] == 0 {
                self.runs.definitions[run] = self.take_run(DEFINITIONS.pages(run))?;
            }
        }
        Ok(())
    }

    /// Sees to it that there is a place for one more extent.
    pub(super) fn make_room_for_extent(&mut self) -> Result<(), CatalogueError> {
        if self.is_large && self.unused.has_place() {
            return Ok(());
        }
        let place = self.extents.len();
        check_limit(
            "the number of extents",
            place as u64 + 1,
            EXTENTS_MAX as u64,
        )?;
        if let Some((run, _)) = EXTENTS.run(place) {
            self.enlarge();
            if self.runs.extents[run] == 0 {
                self.runs.extents[run] = self.take_run(EXTENTS.pages(run))?;
            }
        }
        Ok(())
    }

    /// Pages behind all others, for entries.
    fn take_run(&mut self, pages: u64) -> Result<u64, CatalogueError> {
        let first = self.pages.max(CATALOGUE_PAGES);
        let end = (first + pages).saturating_mul(PAGE_SIZE as u64);
        check_limit("the size of all pages in bytes", end, ADDRESS_END)?;
        self.pages = first + pages;
        Ok(first)
    }

    /// Reads the runs of a catalogue of version 3, and has the store grown to their ends.
    pub(super) fn read_runs(
        &mut self,
        store: &mut PageStore,
        root: &RootBytes,
    ) -> Result<(), CatalogueError> {
        let (large, _) =
            LargeRootBytes::read_from_prefix(store.bytes()).expect("a page holds a root");
        let wrong = |reason: &str| Err(damaged(Self::ROOT, reason.to_string()));
        if large.sum != large.sum() || large.reserved != 0 {
            return wrong("the root's checksum is wrong");
        }
        if root.definitions as usize > DEFINITIONS_MAX || root.extents as usize > EXTENTS_MAX {
            return wrong("more entries than there is room for");
        }
        let runs = large.runs;
        let of_kinds = [
            (DEFINITIONS, root.definitions, &runs.definitions[..]),
            (EXTENTS, root.extents, &runs.extents[..]),
        ];
        for (entries, count, firsts) in of_kinds {
            let taken = entries.runs(count as usize);
            for (run, first) in firsts.iter().enumerate() {
                let end = first.saturating_add(entries.pages(run));
                if (run < taken) != (*first > 0) {
                    return wrong("the runs of pages are not those of the entries");
                }
                if run < taken && (*first < CATALOGUE_PAGES || end > root.pages) {
                    return wrong("a run of pages outside of the pages");
                }
            }
        }
        self.runs = runs;
        let end = self.own_runs().iter().map(|(_, end)| *end).max();
        Ok(store.grow_to(end.unwrap_or(CATALOGUE_PAGES))?)
    }
}
