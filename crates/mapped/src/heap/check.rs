//! The proof that a heap is whole. Every page below the high water is of exactly one kind. Every list has what the map
//! says that it must have, and nothing else.
//!
//! Reads arbitrary bytes. Every page number is looked up in the map's contents, and removed from them, before it is
//! followed. So a list can neither leave the heap nor go round.

use super::class::Class;
use super::error::HeapError;
use super::layout::{
    ARENAS, BINS, COMMONS, FIRST_HEAP_PAGE, NO_CLASS, PAGE, Slab, arena_place, commons, page_place,
    slab_tag,
};
use super::map::{self, Entry};
use super::{Heap, roots, runs, slabs};
use crate::memory::{Memory, MemoryAccess};
use std::collections::{BTreeMap, BTreeSet};

/// The contents of a whole heap.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// Pages below the high water.
    pub pages: u64,
    /// Pages that say how all pages are used.
    pub map_pages: u64,
    /// Free runs, and the pages in them.
    pub free_runs: u64,
    /// Pages in free runs.
    pub free_pages: u64,
    /// Large things.
    pub large: u64,
    /// Pages of large things.
    pub large_pages: u64,
    /// Pages of arenas: slabs and reserves.
    pub arena_pages: u64,
    /// Small things.
    pub small: u64,
    /// Bytes of the slots of small things.
    pub small_bytes: u64,
    /// Pages of names, but for the first.
    pub name_pages: u64,
    /// Named places, by which programs find their data.
    pub roots: u64,
}

/// The contents by the map, from which the lists then remove theirs.
struct Known {
    free: BTreeMap<u64, u64>,
    slabs: BTreeMap<u64, u16>,
    /// The number of slabs of each arena.
    owned: [u64; ARENAS as usize],
    map: BTreeSet<u64>,
    names: BTreeSet<u64>,
    report: Report,
}

/// Checks a whole heap, whose header is known to be one.
pub(super) fn check<M: Memory + ?Sized>(memory: &M) -> Result<Report, HeapError> {
    let mut known = Known {
        free: BTreeMap::new(),
        slabs: BTreeMap::new(),
        owned: [0; ARENAS as usize],
        map: BTreeSet::new(),
        names: BTreeSet::new(),
        report: Report::default(),
    };
    let entries = map_entries(memory, &mut known)?;
    walk(memory, &entries, &mut known)?;
    check_free_runs(memory, &mut known)?;
    for arena in 0..ARENAS {
        check_arena(memory, arena, &mut known)?;
    }
    check_full_slabs(memory, &mut known)?;
    check_roots(memory, &mut known)?;
    Ok(known.report)
}

fn damaged<T>(page: u64, what: &'static str) -> Result<T, HeapError> {
    Err(HeapError::damaged(page.saturating_mul(PAGE), what))
}

/// All entries of the map that are not empty, in the order of pages. Notes the map's own pages.
fn map_entries<M: Memory + ?Sized>(
    memory: &M,
    known: &mut Known,
) -> Result<Vec<(u64, Entry)>, HeapError> {
    let mut entries = Vec::new();
    for (first, slot) in map::root_slots() {
        let Some(directory) = map::map_page_at(memory, slot)? else {
            continue;
        };
        note_map_page(directory, known)?;
        for (first, slot) in map::directory_slots(first, directory) {
            let Some(leaf) = map::map_page_at(memory, slot)? else {
                continue;
            };
            note_map_page(leaf, known)?;
            for (page, slot) in map::leaf_slots(first, leaf) {
                match Entry::decode(memory.read(slot)?) {
                    Some(Entry::Inside) => {}
                    Some(entry) => entries.push((page, entry)),
                    None => {
                        let what = "an entry of the map has bits that are never written";
                        return Err(HeapError::damaged(slot.offset(), what));
                    }
                }
            }
        }
    }
    known.report.map_pages = known.map.len() as u64;
    if known.report.map_pages != commons(memory)?.map_pages {
        let what = "the count of the map's pages is not that of its pages";
        return Err(HeapError::damaged(COMMONS.offset(), what));
    }
    Ok(entries)
}

fn note_map_page(page: u64, known: &mut Known) -> Result<(), HeapError> {
    if known.map.insert(page) {
        Ok(())
    } else {
        damaged(page, "two parts of the map share a page")
    }
}

/// Goes from run to run up to the high water, and notes each page's kind.
fn walk<M: Memory + ?Sized>(
    memory: &M,
    entries: &[(u64, Entry)],
    known: &mut Known,
) -> Result<(), HeapError> {
    let high_water = commons(memory)?.high_water;
    let mut entries = entries.iter().copied();
    let mut map_pages = known.map.clone();
    let mut page = 0;
    let mut free_before = false;
    while page < high_water {
        let Some((_, entry)) = entries.next().filter(|(at, _)| *at == page) else {
            return damaged(
                page,
                "the map does not say what this page is, or it is in two runs",
            );
        };
        let pages = entry.pages();
        if pages > high_water - page {
            return damaged(page, "a run goes beyond the high water");
        }
        let fixed = matches!(entry, Entry::Fixed { .. });
        if fixed != (page == 0) || (fixed && pages != FIRST_HEAP_PAGE) {
            return damaged(
                page,
                "the map does not have the heap's fixed pages where they are",
            );
        }
        match entry {
            // `Inside` is never among the entries, and `Fixed` was judged above.
            Entry::Inside | Entry::Fixed { .. } => {}
            Entry::Map if map_pages.remove(&page) => {}
            Entry::Map => {
                return damaged(page, "a page is of the map, but the map does not use it");
            }
            Entry::Free { .. } => {
                let end = page + pages - 1;
                if pages > 1 && entries.next() != Some((end, entry)) {
                    return damaged(page, "a free run's end does not say so");
                }
                if free_before {
                    return damaged(page, "two free runs touch and were not joined");
                }
                known.free.insert(page, pages);
            }
            Entry::Run { .. } => {
                known.report.large += 1;
                known.report.large_pages += pages;
            }
            Entry::Slab { arena } => {
                let Some(owned) = known.owned.get_mut(usize::from(arena)) else {
                    return damaged(page, "a page is of an arena that there is not");
                };
                *owned += 1;
                known.slabs.insert(page, arena);
            }
            Entry::Names => {
                known.names.insert(page);
            }
        }
        free_before = matches!(entry, Entry::Free { .. });
        page += pages;
    }
    known.report.pages = high_water;
    if let Some((page, _)) = entries.next() {
        return damaged(page, "the map speaks of a page above the high water");
    }
    match map_pages.first() {
        Some(page) => damaged(*page, "the map uses a page that is something else"),
        None => Ok(()),
    }
}

/// Every free run of the map is in its list, once, and nothing else is.
fn check_free_runs<M: Memory + ?Sized>(memory: &M, known: &mut Known) -> Result<(), HeapError> {
    let commons = commons(memory)?;
    for bin in 0..BINS {
        let mut page = u64::from(commons.bins[bin]);
        if (page != 0) != (commons.bins_used[bin / 64] >> (bin % 64) & 1 == 1) {
            let what = "the bit of a list of free runs does not say whether it has any";
            return Err(HeapError::damaged(COMMONS.offset(), what));
        }
        let mut previous = 0;
        while page != 0 {
            let Some(pages) = known.free.remove(&page) else {
                return damaged(
                    page,
                    "a list of free runs has what is none, or has it twice",
                );
            };
            let run = runs::free_run(memory, page)?;
            if run.pages != pages || runs::bin(pages) != bin || run.previous != previous {
                return damaged(
                    page,
                    "a free run is linked wrongly or in a list of other sizes",
                );
            }
            known.report.free_runs += 1;
            known.report.free_pages += pages;
            previous = page;
            page = run.next;
        }
    }
    if let Some((page, _)) = known.free.first_key_value() {
        return damaged(*page, "a free run is in no list");
    }
    if known.report.free_pages != commons.free_pages {
        let what = "the count of free pages is not that of the free runs";
        return Err(HeapError::damaged(COMMONS.offset(), what));
    }
    Ok(())
}

/// Checks that an arena's page leads to its own slabs, and that these are as its list says.
fn check_arena<M: Memory + ?Sized>(
    memory: &M,
    arena: u64,
    known: &mut Known,
) -> Result<(), HeapError> {
    let place = arena_place(arena);
    let of = memory.get(place)?;
    if known.owned[arena as usize] != of.owned_pages {
        let what = "an arena's count of pages is not that of the map";
        return Err(HeapError::damaged(place.offset(), what));
    }
    known.report.arena_pages += of.owned_pages;
    for page in of.reserve_start..of.reserve_start.saturating_add(of.reserve_pages) {
        take_slab(known, page, arena)?;
    }
    let (mut page, mut count) = (of.empty, 0);
    while page != 0 {
        take_slab(known, page, arena)?;
        let slab = slabs::slab_of(memory, page, arena, NO_CLASS)?;
        if slab.used != [0; 4] || slab.previous != 0 {
            return damaged(page, "a slab in the list of empty ones is not as those are");
        }
        count += 1;
        page = slab.next;
    }
    if count != of.empty_pages {
        let what = "an arena's count of empty slabs is not that of its list";
        return Err(HeapError::damaged(place.offset(), what));
    }
    for (number, head) in of.partial.iter().enumerate() {
        let Some(class) = Class::from_number(number as u16) else {
            if *head != 0 {
                let what = "an arena has slabs of a class that there is not";
                return Err(HeapError::damaged(place.offset(), what));
            }
            continue;
        };
        check_partial(memory, (arena, class), *head, known)?;
    }
    Ok(())
}

/// A list of slabs with room.
fn check_partial<M: Memory + ?Sized>(
    memory: &M,
    (arena, class): (u64, Class),
    head: u64,
    known: &mut Known,
) -> Result<(), HeapError> {
    let (mut page, mut previous) = (head, 0);
    while page != 0 {
        take_slab(known, page, arena)?;
        let slab = slabs::slab_of(memory, page, arena, class.number())?;
        if slab.previous != previous {
            return damaged(
                page,
                "a slab's previous one is not the one that leads to it",
            );
        }
        if count_slots(page, &slab, class, &mut known.report)? == class.slots() {
            return damaged(page, "a full slab is in a list of those with room");
        }
        previous = page;
        page = slab.next;
    }
    Ok(())
}

/// Takes a page of an arena out of those that are not accounted for yet.
fn take_slab(known: &mut Known, page: u64, arena: u64) -> Result<(), HeapError> {
    match known.slabs.remove(&page) {
        Some(is) if u64::from(is) == arena => Ok(()),
        _ => damaged(
            page,
            "an arena leads to a page that is not its own, or to one twice",
        ),
    }
}

/// The pages of arenas that no list has are full slabs.
fn check_full_slabs<M: Memory + ?Sized>(memory: &M, known: &mut Known) -> Result<(), HeapError> {
    for (page, arena) in std::mem::take(&mut known.slabs) {
        let slab = memory.read(page_place::<Slab>(page))?;
        let class = Class::from_number(slab.class);
        let (true, true, Some(class)) = (slab.tag == slab_tag(page), slab.arena == arena, class)
        else {
            return damaged(page, "a page of an arena is no slab of it, and in no list");
        };
        if count_slots(page, &slab, class, &mut known.report)? != class.slots() {
            return damaged(page, "a slab with room is in no list");
        }
        if (slab.next, slab.previous) != (0, 0) {
            return damaged(page, "a full slab has neighbours in a list");
        }
    }
    Ok(())
}

/// Counts the slots of a slab; a bit for a place without a slot is an error.
fn count_slots(
    page: u64,
    slab: &Slab,
    class: Class,
    report: &mut Report,
) -> Result<u32, HeapError> {
    let used = slabs::used_slots(&slab.used);
    let beyond =
        (class.slots()..256).any(|slot| slab.used[slot as usize / 64] >> (slot % 64) & 1 == 1);
    if beyond {
        return damaged(page, "a slab has something behind its last slot");
    }
    report.small += u64::from(used);
    report.small_bytes += u64::from(used) * class.slot_bytes();
    Ok(used)
}

/// The chain of names has the pages that the map says, and no name twice.
fn check_roots<M: Memory + ?Sized>(memory: &M, known: &mut Known) -> Result<(), HeapError> {
    for page in roots::chained_pages(memory)? {
        if !known.names.remove(&page) {
            return damaged(
                page,
                "the chain of names leads to a page that is not of names",
            );
        }
        known.report.name_pages += 1;
    }
    if let Some(page) = known.names.first() {
        return damaged(*page, "a page of names is not in the chain");
    }
    let heap = Heap::open(memory)?;
    let mut names = BTreeSet::new();
    for root in heap.roots(memory)? {
        if root.offset >= memory.bytes().len() as u64 {
            return Err(HeapError::damaged(
                root.offset,
                "a root is not within the memory",
            ));
        }
        known.report.roots += 1;
        if !names.insert(root.name) {
            return Err(HeapError::damaged(root.offset, "two roots have one name"));
        }
    }
    Ok(())
}
