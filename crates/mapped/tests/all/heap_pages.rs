//! The pages and bytes that the heap touches: sessions conflict by the page and pay by the page and the byte.

use sardonyx_mapped::heap::{ARENAS, HeapError};
use sardonyx_mapped::memory::{GrowError, PlainMemory};
use sardonyx_mapped::{Heap, Memory, MemoryAccess, P};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// A memory that notes which pages are read and which changed.
struct Noting {
    memory: PlainMemory,
    touched: RefCell<BTreeSet<u64>>,
}

impl Noting {
    fn note(&self, start: u64, length: u64) {
        let pages = start / 4096..(start + length).div_ceil(4096);
        self.touched.borrow_mut().extend(pages);
    }

    /// The result of `act`, the pages that it touched, and the bytes that it changed.
    fn noting<T>(&mut self, act: impl FnOnce(&mut Self) -> T) -> (T, BTreeSet<u64>, usize) {
        let before = self.memory.bytes().to_vec();
        self.touched.borrow_mut().clear();
        let value = act(self);
        let after = self.memory.bytes();
        let pages = before.chunks(4096).zip(after.chunks(4096));
        let changed = pages
            .filter(|(a, b)| a != b)
            .flat_map(|(a, b)| a.iter().zip(b))
            .filter(|(a, b)| a != b)
            .count();
        (value, self.touched.take(), changed)
    }
}

impl Memory for Noting {
    fn bytes(&self) -> &[u8] {
        self.memory.bytes()
    }
    fn bytes_mut(&mut self) -> &mut [u8] {
        self.memory.bytes_mut()
    }
    fn grow_to(&mut self, bytes: u64) -> Result<(), GrowError> {
        self.memory.grow_to(bytes)
    }
    fn range(&self, start: u64, length: u64) -> Option<&[u8]> {
        self.note(start, length);
        self.memory.range(start, length)
    }
    fn range_mut(&mut self, start: u64, length: u64) -> Option<&mut [u8]> {
        self.note(start, length);
        self.memory.range_mut(start, length)
    }
}

fn noting() -> (Noting, Heap) {
    let mut memory = Noting {
        memory: PlainMemory::new(1 << 30).unwrap(),
        touched: RefCell::default(),
    };
    let heap = Heap::format(&mut memory).unwrap();
    (memory, heap)
}

#[test]
fn something_small_touches_two_pages_and_changes_one_byte_of_the_heap() {
    let (mut memory, heap) = noting();
    heap.allocate_bytes(&mut memory, 64, 8).unwrap();
    let (place, pages, changed) = memory.noting(|memory| heap.allocate_bytes(memory, 64, 8));
    let place = place.unwrap();
    assert!(
        pages.len() == 2 && pages.contains(&(place.offset() / 4096)),
        "{pages:?}"
    );
    assert_eq!(changed, 1);
    let (_, pages, changed) = memory.noting(|memory| {
        heap.free_bytes(memory, place, 64, 8).unwrap();
    });
    assert!(pages.len() <= 2 && changed == 1, "{pages:?} {changed}");
}

/// Over many, also those that fill slabs and refill the arena.
#[test]
fn many_small_things_change_few_bytes_each() {
    let (mut memory, heap) = noting();
    let mut touched = 0;
    let (places, all, changed) = memory.noting(|memory| {
        let mut places = Vec::new();
        for _ in 0..20_000 {
            memory.touched.borrow_mut().clear();
            places.push(heap.allocate_bytes(memory, 48, 8).unwrap());
            touched += memory.touched.borrow().len();
        }
        places
    });
    drop(all);
    assert!(touched < 20_000 * 21 / 10, "{touched} pages for 20,000");
    assert!(changed < 20_000 * 2, "{changed} bytes for 20,000");
    let distinct: BTreeSet<u64> = places.iter().map(|place| place.offset()).collect();
    assert_eq!(distinct.len(), 20_000);
}

#[test]
fn sessions_in_different_arenas_touch_different_pages() {
    let (mut memory, heap) = noting();
    let mut things = vec![P::null(); ARENAS as usize];
    for arena in 0..ARENAS {
        things[arena as usize] = heap.in_arena(arena).allocate(&mut memory, &arena).unwrap();
    }
    let mut touched: BTreeSet<u64> = BTreeSet::new();
    for arena in 0..ARENAS {
        let heap = heap.in_arena(arena);
        let ((), pages, _) = memory.noting(|memory| {
            for number in 0..200u64 {
                heap.allocate(memory, &number).unwrap();
            }
            heap.free(memory, things[arena as usize]).unwrap();
        });
        let both: Vec<_> = touched.intersection(&pages).collect();
        assert!(both.is_empty(), "arena {arena}: {both:?}");
        touched.extend(pages);
    }
    assert_eq!(heap.in_arena(ARENAS + 3), heap.in_arena(3));
}

/// The number of free runs does not matter.
#[test]
fn something_large_touches_few_pages() {
    let (mut memory, heap) = noting();
    let places: Vec<_> = (0..200u64)
        .map(|number| {
            let bytes = (number % 40 + 1) * 4096;
            (
                heap.allocate_bytes(&mut memory, bytes, 4096).unwrap(),
                bytes,
            )
        })
        .collect();
    for (place, bytes) in places.iter().step_by(2) {
        heap.free_bytes(&mut memory, *place, *bytes, 4096).unwrap();
    }
    // Many runs of 32 pages in the list that also has those of 35.
    let blocks: Vec<_> = (0..100u64)
        .map(|_| heap.allocate_bytes(&mut memory, 32 * 4096, 8).unwrap())
        .collect();
    for place in blocks.iter().step_by(2) {
        heap.free_bytes(&mut memory, *place, 32 * 4096, 8).unwrap();
    }
    for pages in [1, 3, 9, 17, 33, 35, 39] {
        let (place, touched, changed) =
            memory.noting(|memory| heap.allocate_bytes(memory, pages * 4096, 8).unwrap());
        assert!(
            touched.len() <= 24 && changed < 200,
            "{touched:?} {changed}"
        );
        let ((), touched, changed) = memory.noting(|memory| {
            heap.free_bytes(memory, place, pages * 4096, 8).unwrap();
        });
        assert!(
            touched.len() <= 24 && changed < 250,
            "{touched:?} {changed}"
        );
    }
    heap.check(&memory).unwrap();
}

#[test]
fn a_thing_of_many_gib_needs_few_pages_and_comes_back_whole() {
    let mut memory = PlainMemory::new(8 << 30).unwrap();
    let heap = Heap::format(&mut memory).unwrap();
    let place = heap.allocate_bytes(&mut memory, 3 << 30, 64).unwrap();
    let last: P<u8> = P::from_offset(place.offset() + (3 << 30) - 1);
    memory.write(last, 7).unwrap();
    let small = heap.allocate(&mut memory, &1u64).unwrap();
    assert!(small.offset() > last.offset());
    let report = heap.check(&memory).unwrap();
    assert!(report.map_pages < 80, "{report:?}");
    heap.free_bytes(&mut memory, place, 3 << 30, 64).unwrap();
    // Parts of it, with a rest of which the map has no page yet.
    let part = heap.allocate_bytes(&mut memory, (1 << 30) + 5, 8).unwrap();
    assert_eq!(part, place);
    let other = heap.allocate_bytes(&mut memory, 1 << 30, 8).unwrap();
    assert_eq!(other.offset(), part.offset() + (1 << 30) + 4096);
    heap.check(&memory).unwrap();
    heap.free_bytes(&mut memory, part, (1 << 30) + 5, 8)
        .unwrap();
    heap.free_bytes(&mut memory, other, 1 << 30, 8).unwrap();
    heap.free(&mut memory, small).unwrap();
    let report = heap.check(&memory).unwrap();
    assert_eq!((report.free_runs, report.free_pages), (1, (3 << 30) / 4096));
}

#[test]
fn a_full_memory_is_a_typed_error_that_leaves_the_heap_whole() {
    let mut memory = PlainMemory::new(2 << 20).unwrap();
    let heap = Heap::format(&mut memory).unwrap();
    let mut places = Vec::new();
    let error = loop {
        match heap
            .in_arena(places.len() as u64 % 5)
            .allocate(&mut memory, &[7u64; 100])
        {
            Ok(place) => places.push(place),
            Err(error) => break error,
        }
    };
    assert!(
        matches!(error, HeapError::Grow(GrowError::Full { .. })),
        "{error}"
    );
    let report = heap.check(&memory).unwrap();
    assert_eq!(report.small, places.len() as u64);
    // Every page is used: another arena's were taken, and none is left over for a map that needs
    // none. Five slots of 800 bytes a page.
    let free = (2u64 << 20) / 4096 - 101;
    assert!(
        places.len() as u64 >= (free - 8) * 5,
        "{} in {free} pages",
        places.len()
    );
    for place in places {
        assert_eq!(memory.get(place).unwrap(), &[7; 100]);
        heap.free(&mut memory, place).unwrap();
    }
    heap.allocate(&mut memory, &[7u64; 100]).unwrap();
    heap.check(&memory).unwrap();
}

/// Pages of slabs that have become empty serve other classes, other arenas and large things.
#[test]
fn memory_of_small_things_comes_back() {
    let mut memory = PlainMemory::new(16 << 20).unwrap();
    let heap = Heap::format(&mut memory).unwrap();
    for bytes in [48, 100, 2000] {
        let mut places = Vec::new();
        while let Ok(place) = heap.allocate_bytes(&mut memory, bytes, 8) {
            places.push(place);
        }
        assert!(heap.allocate_bytes(&mut memory, 4096, 8).is_err());
        for place in places {
            heap.free_bytes(&mut memory, place, bytes, 8).unwrap();
        }
        let report = heap.check(&memory).unwrap();
        assert!(report.small == 0 && report.arena_pages < 130, "{report:?}");
        let large = heap
            .in_arena(1)
            .allocate_bytes(&mut memory, 6 << 20, 8)
            .unwrap();
        heap.free_bytes(&mut memory, large, 6 << 20, 8).unwrap();
    }
}

/// Bytes above the high water are not relied on.
#[test]
fn memory_that_was_used_before_is_no_obstacle() {
    let mut memory = PlainMemory::new(8 << 20).unwrap();
    memory.grow_to(8 << 20).unwrap();
    memory.bytes_mut()[101 * 4096..].fill(0xa5);
    let heap = Heap::format(&mut memory).unwrap();
    for number in 0..400u64 {
        heap.allocate_bytes(&mut memory, number * 60, 8).unwrap();
        heap.check(&memory).unwrap();
    }
    assert!(heap.usage(&memory).unwrap().high_water > 4 << 20);
}
