//! Slabs: small things of one class on a page, in arenas.
//!
//! Each arena has a page of its own with the heads of its lists. The first bytes of a slab have a bit for each slot. So
//! a small allocation or free reads its arena's page and changes 8 bytes of the slab. The arena's page changes only
//! when a slab fills, empties or is made. The commons change only when the arena is refilled with a batch of pages.
//! Sessions that use different arenas so do not meet.
//!
//! Kept true: a slab with a free slot and one in use is in the list of its arena and class; a full
//! one is in no list. An empty one is in the arena's list of empty ones, except that one of each
//! class may stay in place. So repeated allocating and freeing of one thing does not make and
//! unmake a slab. Pages of the arena's reserve are no slabs yet.

use super::class::Class;
use super::error::HeapError;
use super::layout::{
    ARENAS, Arena, FIRST_HEAP_PAGE, NO_CLASS, PAGE, Slab, arena_place, page_place, slab_tag,
};
use super::map::{self, Entry};
use super::runs;
use crate::memory::{Memory, MemoryAccess};
use crate::place;
use crate::place::P;
use sardonyx_base::resident::Resident;

/// Pages of an arena's first batch.
const BATCH_MIN: u64 = 4;
/// Pages of a batch at most.
const BATCH_MAX: u64 = 64;
/// Empty slabs that an arena keeps; when there are more, half of them go back to the commons.
const EMPTY_MAX: u64 = 64;

/// Allocates a slot: its offset in the segment. When the memory is full, arenas of others help.
///
/// # Errors
/// [`HeapError::Grow`] if there is no room in any arena.
pub(super) fn allocate<M: Memory + ?Sized>(
    memory: &mut M,
    arena: u64,
    class: Class,
) -> Result<u64, HeapError> {
    if let Some(offset) = allocate_here(memory, arena, class)? {
        return Ok(offset);
    }
    match refill(memory, arena) {
        Ok(()) => {}
        Err(HeapError::Grow(full)) => {
            for other in (0..ARENAS).filter(|other| *other != arena) {
                if let Some(offset) = allocate_here(memory, other, class)? {
                    return Ok(offset);
                }
            }
            return Err(HeapError::Grow(full));
        }
        Err(error) => return Err(error),
    }
    allocate_here(memory, arena, class)?.ok_or(HeapError::damaged(
        arena_place(arena).offset(),
        "an arena that was refilled has no page",
    ))
}

/// Allocates a slot from the arena's pages; `None` if it needs more pages.
fn allocate_here<M: Memory + ?Sized>(
    memory: &mut M,
    arena: u64,
    class: Class,
) -> Result<Option<u64>, HeapError> {
    let head = partial(arena, class);
    let page = match memory.read(head)? {
        0 => match make_slab(memory, arena, class)? {
            Some(page) => page,
            None => return Ok(None),
        },
        page => page,
    };
    let slab = slab_of(memory, page, arena, class.number())?;
    let (slot, free_after) = match free_slot(&slab.used, class) {
        (Some(slot), free) => (slot, free - 1),
        (None, _) => {
            let at = page.saturating_mul(PAGE);
            return Err(HeapError::damaged(
                at,
                "a full slab is in a list of those with room",
            ));
        }
    };
    if free_after == 0 {
        let next = slab.next;
        if next != 0 {
            slab_of(memory, next, arena, class.number())?;
            memory.get_mut(page_place::<Slab>(next))?.previous = 0;
        }
        memory.write(head, next)?;
        memory.get_mut(page_place::<Slab>(page))?.next = 0;
    }
    let word = word_of(page, slot);
    *memory.get_mut(word)? |= bit_of(slot);
    Ok(Some(page * PAGE + class.slot_start(slot)))
}

/// Frees a slot that is of such a class.
pub(super) fn free<M: Memory + ?Sized>(
    memory: &mut M,
    offset: u64,
    class: Class,
) -> Result<(), HeapError> {
    let (page, slab) = owner(memory, offset, class)?;
    let arena = u64::from(slab.arena);
    let Some(slot) = class.slot_at(offset % PAGE) else {
        return Err(HeapError::NotAllocated { offset });
    };
    let word = word_of(page, slot);
    let bits = memory.read(word)?;
    if bits & bit_of(slot) == 0 {
        return Err(HeapError::DoubleFree { offset });
    }
    let in_use = used_slots(&slab.used);
    let head = partial(arena, class);
    if in_use == class.slots() {
        // It was full, so in no list, and has another slot in use.
        let next = memory.read(head)?;
        if next != 0 {
            slab_of(memory, next, arena, class.number())?;
            memory.get_mut(page_place::<Slab>(next))?.previous = page;
        }
        let full = memory.get_mut(page_place::<Slab>(page))?;
        (full.next, full.previous) = (next, 0);
        memory.write(head, page)?;
    } else if in_use == 1 && (slab.next, slab.previous) != (0, 0) {
        unlink(memory, page, &slab, class)?;
        memory.write(word, 0)?;
        return keep_empty(memory, page, arena);
    }
    *memory.get_mut(word)? &= !bit_of(slot);
    Ok(())
}

/// The slab of a slot that is to be of such a class, and its page.
fn owner<M: Memory + ?Sized>(
    memory: &M,
    offset: u64,
    class: Class,
) -> Result<(u64, Slab), HeapError> {
    let page = offset / PAGE;
    let slab = match memory.get(page_place::<Slab>(page)) {
        Ok(slab) if page >= FIRST_HEAP_PAGE && slab.tag == slab_tag(page) => *slab,
        _ => return Err(HeapError::NotAllocated { offset }),
    };
    if slab.class == NO_CLASS {
        return Err(HeapError::DoubleFree { offset });
    }
    let Some(is) = Class::from_number(slab.class) else {
        let at = page * PAGE;
        return Err(HeapError::damaged(
            at,
            "a slab is of a class that there is not",
        ));
    };
    if u64::from(slab.arena) >= ARENAS {
        let at = page * PAGE;
        return Err(HeapError::damaged(
            at,
            "a slab is of an arena that there is not",
        ));
    }
    if is != class {
        return Err(match is.slot_at(offset % PAGE) {
            None => HeapError::NotAllocated { offset },
            Some(_) => HeapError::WrongSize {
                offset,
                allocated_bytes: is.slot_bytes(),
                freed_bytes: class.slot_bytes(),
            },
        });
    }
    Ok((page, slab))
}

/// The place in an arena of the first slab with room of a class.
fn partial(arena: u64, class: Class) -> P<u64> {
    // A class's number is below the length of the list.
    place!(arena_place(arena), Arena, partial)
        .index(u64::from(class.number()))
        .unwrap_or_default()
}

/// A slab that is to be of an arena and a class.
pub(super) fn slab_of<M: Memory + ?Sized>(
    memory: &M,
    page: u64,
    arena: u64,
    class: u16,
) -> Result<Slab, HeapError> {
    let place: P<Slab> = page_place(page);
    match memory.read(place) {
        Ok(slab)
            if page >= FIRST_HEAP_PAGE
                && slab.tag == slab_tag(page)
                && u64::from(slab.arena) == arena
                && slab.class == class =>
        {
            Ok(slab)
        }
        _ => Err(HeapError::damaged(
            place.offset(),
            "a list of slabs leads to what is no slab of its arena and class",
        )),
    }
}

/// Makes an empty page of the arena the only slab with room of a class; `None` if there is none.
fn make_slab<M: Memory + ?Sized>(
    memory: &mut M,
    arena: u64,
    class: Class,
) -> Result<Option<u64>, HeapError> {
    let place = arena_place(arena);
    let Arena {
        reserve_start,
        reserve_pages,
        empty,
        ..
    } = *memory.get(place)?;
    let page = if empty != 0 {
        pop_empty(memory, arena)?
    } else if reserve_pages != 0 {
        let expected = Entry::Slab {
            arena: arena as u16,
        };
        // The page is overwritten with any content, so it must be the arena's own; the map is asked
        // for it once for a slab.
        if map::entry(memory, reserve_start)? != expected {
            let at = place.offset();
            return Err(HeapError::damaged(at, "an arena's reserve is not its own"));
        }
        let arena = memory.get_mut(place)?;
        arena.reserve_start += 1;
        arena.reserve_pages -= 1;
        reserve_start
    } else {
        return Ok(None);
    };
    let slab = Slab {
        tag: slab_tag(page),
        class: class.number(),
        arena: arena as u16,
        ..Resident::new_zeroed()
    };
    memory.write(page_place(page), slab)?;
    memory.write(partial(arena, class), page)?;
    Ok(Some(page))
}

/// Takes the first of an arena's empty slabs.
fn pop_empty<M: Memory + ?Sized>(memory: &mut M, arena: u64) -> Result<u64, HeapError> {
    let place = arena_place(arena);
    let page = memory.get(place)?.empty;
    let next = slab_of(memory, page, arena, NO_CLASS)?.next;
    let arena = memory.get_mut(place)?;
    arena.empty = next;
    arena.empty_pages = arena.empty_pages.wrapping_sub(1);
    Ok(page)
}

/// Puts a slab that has become empty and is in no list to the arena's empty ones; when they are
/// many, gives half of them back.
fn keep_empty<M: Memory + ?Sized>(memory: &mut M, page: u64, arena: u64) -> Result<(), HeapError> {
    let place = arena_place(arena);
    let next = memory.get(place)?.empty;
    let slab = memory.get_mut(page_place::<Slab>(page))?;
    (slab.class, slab.next, slab.previous) = (NO_CLASS, next, 0);
    let of = memory.get_mut(place)?;
    of.empty = page;
    of.empty_pages = of.empty_pages.wrapping_add(1);
    if of.empty_pages <= EMPTY_MAX {
        return Ok(());
    }
    for _ in 0..EMPTY_MAX / 2 {
        let page = pop_empty(memory, arena)?;
        give_back(memory, page, arena)?;
    }
    Ok(())
}

fn give_back<M: Memory + ?Sized>(memory: &mut M, page: u64, arena: u64) -> Result<(), HeapError> {
    let expected = Entry::Slab {
        arena: arena as u16,
    };
    if map::entry(memory, page)? != expected {
        let at = page * PAGE;
        return Err(HeapError::damaged(
            at,
            "the map does not know a slab as its arena's",
        ));
    }
    runs::give(memory, page, 1)?;
    let arena = memory.get_mut(arena_place(arena))?;
    arena.owned_pages = arena.owned_pages.wrapping_sub(1);
    Ok(())
}

/// Takes a slab out of the list of those with room.
fn unlink<M: Memory + ?Sized>(
    memory: &mut M,
    page: u64,
    slab: &Slab,
    class: Class,
) -> Result<(), HeapError> {
    let arena = u64::from(slab.arena);
    let head = partial(arena, class);
    let linked = |neighbour: u64, back: fn(&Slab) -> u64| -> Result<bool, HeapError> {
        Ok(neighbour == 0 || back(&slab_of(memory, neighbour, arena, class.number())?) == page)
    };
    let first = slab.previous == 0;
    if !linked(slab.next, |next| next.previous)?
        || !linked(slab.previous, |previous| previous.next)?
        || first != (memory.read(head)? == page)
    {
        let at = page * PAGE;
        return Err(HeapError::damaged(
            at,
            "a slab's neighbours do not lead to it",
        ));
    }
    if slab.next != 0 {
        memory.get_mut(page_place::<Slab>(slab.next))?.previous = slab.previous;
    }
    if first {
        memory.write(head, slab.next)?;
    } else {
        memory.get_mut(page_place::<Slab>(slab.previous))?.next = slab.next;
    }
    Ok(())
}

/// Gives an arena a batch of pages, half as many as it has: from free runs, however short, before
/// the segment grows.
fn refill<M: Memory + ?Sized>(memory: &mut M, arena: u64) -> Result<(), HeapError> {
    let place = arena_place(arena);
    let batch = (memory.get(place)?.owned_pages / 2).clamp(BATCH_MIN, BATCH_MAX);
    let mut pages = batch;
    let mut start = None;
    while pages > 0 {
        start = runs::take_free(memory, pages)?;
        if start.is_some() {
            break;
        }
        pages /= 2;
    }
    let start = match start {
        Some(start) => start,
        None => {
            pages = batch;
            match map::take_fresh(memory, batch) {
                Err(HeapError::Grow(_)) => {
                    pages = 1;
                    map::take_fresh(memory, 1)?
                }
                taken => taken?,
            }
        }
    };
    for page in start..start + pages {
        let entry = Entry::Slab {
            arena: arena as u16,
        };
        map::set_entry(memory, page, entry)?;
    }
    let arena = memory.get_mut(place)?;
    arena.owned_pages = arena.owned_pages.saturating_add(pages);
    (arena.reserve_start, arena.reserve_pages) = (start, pages);
    Ok(())
}

/// The first free slot, and how many there are.
fn free_slot(used: &[u64; 4], class: Class) -> (Option<u32>, u32) {
    let free = class.slots() - used_slots(used).min(class.slots());
    let first = (0..4u32).find_map(|word| {
        let slot = word * 64 + (!used[word as usize]).trailing_zeros();
        (used[word as usize] != u64::MAX && slot < class.slots()).then_some(slot)
    });
    (first.filter(|_| free > 0), free)
}

pub(super) fn used_slots(used: &[u64; 4]) -> u32 {
    used.iter().map(|word| word.count_ones()).sum()
}

/// The word with a slot's bit.
fn word_of(page: u64, slot: u32) -> P<u64> {
    place!(page_place(page), Slab, used)
        .index(u64::from(slot / 64))
        .unwrap_or_default()
}

fn bit_of(slot: u32) -> u64 {
    1 << (slot % 64)
}
