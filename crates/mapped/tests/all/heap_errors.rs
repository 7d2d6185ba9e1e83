//! The heap's errors and their messages.

use sardonyx_mapped::heap::{HeapError, ROOT_NAME_BYTES_MAX};
use sardonyx_mapped::memory::{GrowError, PlaceError, PlainMemory};
use sardonyx_mapped::{Heap, Memory, MemoryAccess, P, Slice};

fn new() -> (PlainMemory, Heap) {
    let mut memory = PlainMemory::new(16 << 20).unwrap();
    let heap = Heap::format(&mut memory).unwrap();
    (memory, heap)
}

#[test]
fn other_memory_is_told_apart() {
    let mut memory = PlainMemory::new(1 << 20).unwrap();
    assert!(matches!(
        Heap::open(&memory),
        Err(HeapError::NotAHeap { found: [0, ..] })
    ));
    memory.grow_to(4096).unwrap();
    assert!(matches!(
        Heap::open(&memory),
        Err(HeapError::NotAHeap { found: [0, ..] })
    ));
    memory.bytes_mut()[..8].copy_from_slice(b"SdxTable");
    assert!(matches!(Heap::open(&memory), Err(HeapError::Tables)));
    assert!(matches!(Heap::format(&mut memory), Err(HeapError::Tables)));
    memory.bytes_mut()[..8].copy_from_slice(b"SdxOther");
    match Heap::open(&memory) {
        Err(error @ HeapError::NotAHeap { .. }) => {
            assert!(
                error.to_string().contains("there is no heap here"),
                "{error}"
            );
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(
        Heap::format(&mut memory),
        Err(HeapError::NotBlank { offset: 0 })
    ));
    memory.bytes_mut().fill(0);
    memory.grow_to(40 * 4096).unwrap();
    memory.bytes_mut()[39 * 4096 + 5] = 1;
    match Heap::format(&mut memory) {
        Err(HeapError::NotBlank { offset }) => assert_eq!(offset, 39 * 4096 + 5),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_memory_that_cannot_hold_the_fixed_pages_is_refused_and_stays_blank() {
    let mut memory = PlainMemory::new(100 * 4096).unwrap();
    match Heap::format(&mut memory) {
        Err(HeapError::Grow(GrowError::Full { limit_bytes, .. })) => {
            assert_eq!(limit_bytes, 100 * 4096);
        }
        other => panic!("{other:?}"),
    }
    assert!(memory.bytes().iter().all(|byte| *byte == 0));
}

/// The table crate's magic is known here by its bytes only; this fails if it changes there.
#[test]
fn the_magic_of_tables_is_the_one_that_is_written() {
    let source = include_str!("../../../storage/src/catalogue.rs");
    assert!(source.contains(r#"const MAGIC: [u8; 8] = *b"SdxTable";"#));
}

#[test]
fn a_heap_opens_in_a_copy_and_says_when_a_version_is_not_its_own() {
    let (mut memory, heap) = new();
    let place = heap.allocate(&mut memory, &77u64).unwrap();
    heap.set_root(&mut memory, "it", place, "u64").unwrap();
    let mut copy = PlainMemory::new(16 << 20).unwrap();
    copy.grow_to(memory.bytes().len() as u64).unwrap();
    copy.bytes_mut().copy_from_slice(memory.bytes());
    let opened = Heap::open(&copy).unwrap();
    let place: P<u64> = opened.root(&copy, "it", "u64").unwrap().unwrap();
    assert_eq!(copy.read(place), Ok(77));
    copy.bytes_mut()[8] = 9;
    assert!(matches!(
        Heap::open(&copy),
        Err(HeapError::Version { found: 9, known: 1 })
    ));
    memory.bytes_mut()[12] = 9;
    assert!(matches!(
        Heap::open(&memory),
        Err(HeapError::Damaged { offset: 8, .. })
    ));
}

#[test]
fn frees_that_cannot_be_meant_are_refused_and_change_nothing() {
    let (mut memory, heap) = new();
    let small = heap.allocate(&mut memory, &[1u64; 4]).unwrap();
    let kept = heap.allocate(&mut memory, &[2u64; 4]).unwrap();
    let large = heap.allocate_zeroed::<u64, _>(&mut memory, 2000).unwrap();
    let freed = heap.allocate_zeroed::<u64, _>(&mut memory, 1000).unwrap();
    let behind = heap.allocate_zeroed::<u64, _>(&mut memory, 1000).unwrap();
    heap.free(&mut memory, small).unwrap();
    heap.free_slice(&mut memory, freed).unwrap();
    let before = memory.bytes().to_vec();

    let offset = small.offset();
    let mut free = |offset: u64, bytes: u64| {
        heap.free_bytes(&mut memory, P::from_offset(offset), bytes, 8)
            .unwrap_err()
    };
    assert!(matches!(free(offset, 32), HeapError::DoubleFree { offset: at } if at == offset));
    let freed = freed.start.offset();
    assert!(matches!(free(freed, 8000), HeapError::DoubleFree { offset } if offset == freed));
    let kept = kept.offset();
    match free(kept, 33) {
        HeapError::WrongSize {
            offset,
            allocated_bytes: 32,
            freed_bytes: 48,
        } => assert_eq!(offset, kept),
        other => panic!("{other}"),
    }
    let large = large.start.offset();
    for (at, bytes, allocated, room) in [
        (large, 4096, 16384, 4096),
        (large, 20000, 16384, 20480),
        (large, 8, 16384, 16),
        (kept, 8000, 32, 8192),
    ] {
        match free(at, bytes) {
            HeapError::WrongSize {
                offset,
                allocated_bytes,
                freed_bytes,
            } => assert_eq!(
                (offset, allocated_bytes, freed_bytes),
                (at, allocated, room)
            ),
            other => panic!("{at} {bytes}: {other}"),
        }
    }
    for (at, bytes) in [
        (0, 8),
        (0, 8000),
        (kept + 8, 32),
        (kept + 8, 8000),
        (large + 4096, 8000),
        (large + 4096, 16000),
        (large + 8, 16000),
        (large + 64, 32),
        (4096, 32),
        (4096, 4096),
        (100 * 4096, 4096),
        (1 << 40, 32),
        (1 << 40, 8000),
        (u64::MAX, 32),
        (!4095, 8000),
    ] {
        match free(at, bytes) {
            HeapError::NotAllocated { offset } => assert_eq!(offset, at),
            other => panic!("{at} {bytes}: {other}"),
        }
    }
    assert!(memory.bytes() == before, "a refused free changed something");
    heap.free_slice(&mut memory, behind).unwrap();
    heap.check(&memory).unwrap();
}

/// An array that holds a copy of a slab is not taken for one.
#[test]
fn a_copy_of_a_slab_is_none() {
    let (mut memory, heap) = new();
    let small = heap.allocate(&mut memory, &1u64).unwrap();
    let slab = small.offset() / 4096 * 4096;
    let copy = heap.allocate_zeroed::<u8, _>(&mut memory, 4096).unwrap();
    let bytes = memory.bytes()[slab as usize..][..4096].to_vec();
    memory.slice_mut(copy).unwrap().copy_from_slice(&bytes);
    let inside: P<u64> = P::from_offset(copy.start.offset() + small.offset() % 4096);
    assert!(matches!(
        heap.free(&mut memory, inside),
        Err(HeapError::NotAllocated { .. })
    ));
    heap.free(&mut memory, small).unwrap();
}

#[test]
fn sizes_and_alignments_beyond_the_limits_are_refused() {
    let (mut memory, heap) = new();
    for (bytes, align) in [(8, 0), (8, 3), (8, 8192), (u64::MAX, 8), (1 << 44, 8)] {
        match heap.allocate_bytes(&mut memory, bytes, align) {
            Err(HeapError::Impossible { bytes: b, align: a }) => assert_eq!((b, a), (bytes, align)),
            other => panic!("{other:?}"),
        }
    }
    let endless = heap.allocate_zeroed::<u64, _>(&mut memory, u64::MAX / 2);
    assert!(matches!(endless, Err(HeapError::Impossible { .. })));
    let beyond = heap.allocate_zeroed::<u64, _>(&mut memory, 1 << 40);
    assert!(matches!(
        beyond,
        Err(HeapError::Grow(GrowError::Full { .. }))
    ));
    heap.check(&memory).unwrap();
}

#[test]
fn roots_remember_their_type() {
    let (mut memory, heap) = new();
    let place = heap.allocate(&mut memory, &5u64).unwrap();
    heap.set_root(&mut memory, "five", place, "count").unwrap();
    assert_eq!(heap.root(&memory, "five", "count").unwrap(), Some(place));
    assert_eq!(heap.root::<u64, _>(&memory, "six", "count").unwrap(), None);
    for error in [
        heap.root::<i64, _>(&memory, "five", "balance").unwrap_err(),
        heap.root::<u32, _>(&memory, "five", "count").unwrap_err(),
        heap.root::<[u8; 8], _>(&memory, "five", "count")
            .unwrap_err(),
    ] {
        assert!(
            matches!(&error, HeapError::RootType { name, .. } if name == "five"),
            "{error}"
        );
    }
    // Set again, as another type and elsewhere.
    heap.set_root(&mut memory, "five", P::<[u32; 3]>::null(), "triple")
        .unwrap();
    assert_eq!(
        heap.root::<[u32; 3], _>(&memory, "five", "triple").unwrap(),
        Some(P::null())
    );
    assert_eq!(heap.roots(&memory).unwrap().len(), 1);
    let listed = &heap.roots(&memory).unwrap()[0];
    assert_eq!(
        (listed.type_bytes, listed.type_align, listed.offset),
        (12, 4, 0)
    );
    // The published hash of FNV-1a.
    heap.set_root(&mut memory, "hash", place, "foobar").unwrap();
    assert_eq!(
        heap.roots(&memory).unwrap()[1].tag_hash,
        0x8594_4171_f739_67e8
    );
}

#[test]
fn names_have_bounds_and_any_number_has_room() {
    let (mut memory, heap) = new();
    let mut set = |name: &str| heap.set_root(&mut memory, name, P::<u64>::null(), "");
    assert!(matches!(set(""), Err(HeapError::RootName { bytes: 0 })));
    let long = "x".repeat(ROOT_NAME_BYTES_MAX + 1);
    assert!(matches!(
        set(&long),
        Err(HeapError::RootName { bytes: 256 })
    ));
    for number in 0..1000 {
        set(&format!("{number:0>255}")).unwrap();
    }
    let report = heap.check(&memory).unwrap();
    assert_eq!(
        (report.roots, report.name_pages),
        (1000, 1000u64.div_ceil(14) - 1)
    );
    for number in (0..1000).rev() {
        assert!(
            heap.remove_root(&mut memory, &format!("{number:0>255}"))
                .unwrap()
        );
    }
    let report = heap.check(&memory).unwrap();
    assert_eq!((report.roots, report.name_pages), (0, 0));
    assert!(!heap.remove_root(&mut memory, "x").unwrap());
}

#[test]
fn slices_and_values_of_nothing_have_places_of_their_own() {
    let (mut memory, heap) = new();
    let unit = heap.allocate(&mut memory, &()).unwrap();
    let none: Slice<u64> = heap.allocate_slice(&mut memory, &[]).unwrap();
    assert_ne!(unit.offset(), none.start.offset());
    assert_eq!(memory.slice(none).unwrap(), [0; 0]);
    assert_eq!(memory.get(unit), Ok(&()));
    assert!(matches!(
        memory.get(P::<()>::null()),
        Err(PlaceError::Null { .. })
    ));
    heap.free(&mut memory, unit).unwrap();
    heap.free_slice(&mut memory, none).unwrap();
    assert_eq!(heap.check(&memory).unwrap().small, 0);
}
