//! Runs of pages: large allocations, and the source of the arenas' pages.
//!
//! Free runs are in lists by size: one list for each number of pages below 8, then 8 lists for each power of two. A
//! run is taken from the first list in which every run is large enough, found by a bitmap. If one of the first 16 runs
//! in the list of its own size is large enough, that run is taken. So the time does not depend on the number of free
//! runs. The rest goes back. A run that is freed is joined with the free runs before and behind it, which the map
//! shows.

use super::error::HeapError;
use super::layout::{
    BINS, COMMONS, FIRST_HEAP_PAGE, FreeRun, PAGE, PAGES_MAX, commons, free_tag, page_place,
};
use super::map::{self, Entry};
use crate::memory::{Memory, MemoryAccess};
use crate::place::P;

/// Runs of the list of the run's own size that are looked at.
const LOOKED_AT: u32 = 16;

/// The list for runs of so many pages, 1 to 2^32 - 1.
pub(super) fn bin(pages: u64) -> usize {
    if pages < 8 {
        return pages as usize;
    }
    let log = pages.ilog2();
    let eighth = (pages >> (log - 3)) & 7;
    (8 + u64::from(log - 3) * 8 + eighth) as usize % BINS
}

/// Takes consecutive pages: from a free run if there is one, else from the high water. Their
/// entries in the map are for the caller to set.
///
/// # Errors
/// [`HeapError::Grow`] if there is no room; then nothing was changed, or only the map's pages.
pub(super) fn take<M: Memory + ?Sized>(memory: &mut M, pages: u64) -> Result<u64, HeapError> {
    match take_free(memory, pages)? {
        Some(page) => Ok(page),
        None => map::take_fresh(memory, pages),
    }
}

/// Takes consecutive pages from a free run, if there is one that is long enough.
pub(super) fn take_free<M: Memory + ?Sized>(
    memory: &mut M,
    pages: u64,
) -> Result<Option<u64>, HeapError> {
    let Some((page, run)) = find(memory, pages)? else {
        return Ok(None);
    };
    check_free(memory, page, run)?;
    let end = page + pages;
    if run > pages {
        map::ensure_leaves(memory, &[end - 1, end])?;
    }
    unlink(memory, page, run)?;
    map::set_entry(memory, page + run - 1, Entry::Inside)?;
    map::set_entry(memory, page, Entry::Inside)?;
    if run > pages {
        put(memory, end, run - pages)?;
    }
    Ok(Some(page))
}

/// Gives back what is one run, whose entries the caller has verified to be those of something
/// allocated.
pub(super) fn give<M: Memory + ?Sized>(
    memory: &mut M,
    page: u64,
    pages: u64,
) -> Result<(), HeapError> {
    let (mut start, mut end) = (page, page.saturating_add(pages));
    if start < FIRST_HEAP_PAGE || end > commons(memory)?.high_water {
        return Err(HeapError::damaged(
            page.saturating_mul(PAGE),
            "the map has a run that is not among the pages that were handed out",
        ));
    }
    let before = map::entry(memory, page - 1)?;
    let behind = map::entry(memory, end)?;
    // Both are verified before anything is changed.
    if let Entry::Free { pages: run } = before {
        start = start.saturating_sub(run);
        check_free(memory, start, run)?;
    }
    if let Entry::Free { pages: run } = behind {
        check_free(memory, end, run)?;
    }
    // Ends that come to lie inside are cleared; the new ends are written over the old ones.
    map::set_entry(memory, page, Entry::Inside)?;
    if let Entry::Free { pages: run } = before {
        unlink(memory, start, run)?;
        map::set_entry(memory, page - 1, Entry::Inside)?;
    }
    if let Entry::Free { pages: run } = behind {
        unlink(memory, end, run)?;
        map::set_entry(memory, end, Entry::Inside)?;
        end += run;
    }
    put(memory, start, end - start)
}

/// Checks that both ends of a free run say so.
fn check_free<M: Memory + ?Sized>(memory: &M, page: u64, pages: u64) -> Result<(), HeapError> {
    let free = Entry::Free { pages };
    let end = page.saturating_add(pages);
    let within = page >= FIRST_HEAP_PAGE && end <= commons(memory)?.high_water;
    if within && map::entry(memory, page)? == free && map::entry(memory, end - 1)? == free {
        Ok(())
    } else {
        Err(HeapError::damaged(
            page.saturating_mul(PAGE),
            "the map and the list of free runs differ on where a run is and ends",
        ))
    }
}

/// The first bytes of a free run, which must be in a list.
pub(super) fn free_run<M: Memory + ?Sized>(memory: &M, page: u64) -> Result<&FreeRun, HeapError> {
    let place: P<FreeRun> = page_place(page);
    let damaged = HeapError::damaged(place.offset(), "a list of free runs leads to what is none");
    match memory.get(place) {
        Ok(run) if run.tag == free_tag(page) && (1..PAGES_MAX).contains(&run.pages) => Ok(run),
        _ => Err(damaged),
    }
}

/// A free run of so many pages or more: its first page and its pages.
fn find<M: Memory + ?Sized>(memory: &M, pages: u64) -> Result<Option<(u64, u64)>, HeapError> {
    let commons = commons(memory)?;
    let own = bin(pages);
    let mut page = u64::from(commons.bins[own]);
    for _ in 0..LOOKED_AT {
        if page == 0 {
            break;
        }
        let run = free_run(memory, page)?;
        if run.pages >= pages {
            return Ok(Some((page, run.pages)));
        }
        page = run.next;
    }
    let Some(larger) = first_used(&commons.bins_used, own + 1) else {
        return Ok(None);
    };
    let page = u64::from(commons.bins[larger]);
    let run = free_run(memory, page)?.pages;
    if run < pages {
        let at = page.saturating_mul(PAGE);
        return Err(HeapError::damaged(
            at,
            "a free run is in the list of longer ones",
        ));
    }
    Ok(Some((page, run)))
}

/// The first list from `from` on that has runs.
fn first_used(used: &[u64; BINS / 64], from: usize) -> Option<usize> {
    (from / 64..used.len()).find_map(|word| {
        let skipped = if word == from / 64 { from % 64 } else { 0 };
        let bits = used[word] >> skipped << skipped;
        (bits != 0).then(|| word * 64 + bits.trailing_zeros() as usize)
    })
}

/// Makes a free run of pages whose entries are empty, and hangs it into its list.
fn put<M: Memory + ?Sized>(memory: &mut M, page: u64, pages: u64) -> Result<(), HeapError> {
    let free = Entry::Free { pages };
    let bin = bin(pages);
    let next = u64::from(commons(memory)?.bins[bin]);
    if next != 0 {
        free_run(memory, next)?;
        memory.get_mut(page_place::<FreeRun>(next))?.previous = page;
    }
    map::set_entry(memory, page, free)?;
    map::set_entry(memory, page + pages - 1, free)?;
    let run = FreeRun {
        tag: free_tag(page),
        next,
        previous: 0,
        pages,
    };
    memory.write(page_place(page), run)?;
    let commons = memory.get_mut(COMMONS)?;
    // Below PAGES_MAX, because it is below the high water.
    commons.bins[bin] = page as u32;
    commons.bins_used[bin / 64] |= 1 << (bin % 64);
    commons.free_pages = commons.free_pages.wrapping_add(pages);
    Ok(())
}

/// Takes a free run out of its list. Its entries are for the caller to clear.
fn unlink<M: Memory + ?Sized>(memory: &mut M, page: u64, pages: u64) -> Result<(), HeapError> {
    let damaged = |at: u64, what| Err(HeapError::damaged(at.saturating_mul(PAGE), what));
    let run = *free_run(memory, page)?;
    let bin = bin(pages);
    if run.pages != pages {
        return damaged(page, "a free run's length differs from what the map says");
    }
    if run.next != 0 && free_run(memory, run.next)?.previous != page {
        return damaged(page, "a free run's next one does not lead back to it");
    }
    if run.previous != 0 && free_run(memory, run.previous)?.next != page {
        return damaged(page, "a free run's previous one does not lead to it");
    }
    if run.previous == 0 && u64::from(commons(memory)?.bins[bin]) != page {
        return damaged(
            page,
            "a free run is the first of a list that starts elsewhere",
        );
    }
    if run.next != 0 {
        memory.get_mut(page_place::<FreeRun>(run.next))?.previous = run.previous;
    }
    if run.previous != 0 {
        memory.get_mut(page_place::<FreeRun>(run.previous))?.next = run.next;
    }
    // So that what the run becomes is not taken for one.
    memory.get_mut(page_place::<FreeRun>(page))?.tag = 0;
    let commons = memory.get_mut(COMMONS)?;
    if run.previous == 0 {
        commons.bins[bin] = run.next as u32;
        if run.next == 0 {
            commons.bins_used[bin / 64] &= !(1 << (bin % 64));
        }
    }
    commons.free_pages = commons.free_pages.wrapping_sub(pages);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_runs_are_in_later_lists_and_all_lists_exist() {
        let mut last = 0;
        let mut lengths: Vec<u64> = (1..5000).collect();
        lengths.extend((12..32).flat_map(|log| [(1 << log) - 1, 1 << log, (1 << log) + 1]));
        lengths.push(PAGES_MAX - 1);
        lengths.sort();
        for pages in lengths {
            let bin = bin(pages);
            assert!(bin >= last && bin < BINS, "{pages}");
            assert_eq!(bin, if pages < 16 { pages as usize } else { bin });
            last = bin;
        }
    }

    #[test]
    fn the_first_used_list_is_found_across_words() {
        let mut used = [0; BINS / 64];
        assert_eq!(first_used(&used, 0), None);
        for bin in [255, 128, 64, 63, 1, 0] {
            used[bin / 64] |= 1 << (bin % 64);
            assert_eq!(first_used(&used, 0), Some(bin));
            assert_eq!(first_used(&used, bin), Some(bin));
        }
        assert_eq!(first_used(&used, 2), Some(63));
        assert_eq!(first_used(&used, 129), Some(255));
        assert_eq!(first_used(&used, 256), None);
    }
}
