//! Damaged heaps: with any bytes, nothing panics and nothing goes round for ever, and `check` finds contradictions.

use proptest::prelude::*;
use sardonyx_mapped::memory::PlainMemory;
use sardonyx_mapped::{Heap, Memory, P};

/// The heap's fixed pages: commons, names, the map's root and the first arena.
const COMMONS: usize = 4096;
const NAMES: usize = 2 * 4096;
const MAP_ROOT: usize = 3 * 4096;
const ARENA: usize = 35 * 4096;
const DIRECTORY: usize = 99 * 4096;
const LEAF: usize = 100 * 4096;

type Things = Vec<(P<u8>, u64)>;

/// A heap with things of all kinds: slabs with room, full and empty, large things, free runs, roots
/// on two pages.
fn sample() -> (PlainMemory, Heap, Things) {
    let mut memory = PlainMemory::new(4 << 20).unwrap();
    let heap = Heap::format(&mut memory).unwrap();
    let mut things = Vec::new();
    for number in 0..150u64 {
        let bytes = [30, 1300, 500, 9000, 2000][number as usize % 5] + number % 7;
        let heap = heap.in_arena(number % 2);
        things.push((heap.allocate_bytes(&mut memory, bytes, 8).unwrap(), bytes));
    }
    for (number, (place, _)) in things.iter().enumerate().take(20) {
        let name = format!("{number:0>200}");
        heap.set_root(&mut memory, &name, *place, "bytes").unwrap();
    }
    let mut number = 0;
    things.retain(|(place, bytes)| {
        number += 1;
        let free = number % 3 == 0 || (60..90).contains(&number);
        if free {
            heap.free_bytes(&mut memory, *place, *bytes, 8).unwrap();
        }
        !free
    });
    let report = heap.check(&memory).unwrap();
    assert!(
        report.free_runs > 2 && report.name_pages == 1 && report.small > 50,
        "{report:?}"
    );
    (memory, heap, things)
}

/// Does everything that can be done, and does not care whether it succeeds.
fn use_all(memory: &mut PlainMemory, things: &Things) {
    let heap = Heap::open(memory).unwrap_or_else(|_| {
        // The token of a sound heap, as a process has that opened it before the damage.
        Heap::format(&mut PlainMemory::new(1 << 20).unwrap()).unwrap()
    });
    let _ = (heap.check(memory), heap.usage(memory), heap.roots(memory));
    for round in 0..3 {
        for (number, (place, bytes)) in things.iter().enumerate() {
            let heap = heap.in_arena(number as u64 % 3);
            if (number + round) % 2 == 0 {
                let _ = heap.free_bytes(memory, *place, *bytes, 8);
            }
            let _ = heap.allocate_bytes(memory, *bytes, 8);
            let _ = heap.allocate_bytes(memory, bytes * 9, 64);
        }
        for number in 0..25 {
            let name = format!("{number:0>200}");
            let _ = heap.root::<u8, _>(memory, &name, "bytes");
            if number % 2 == 0 {
                let _ = heap.remove_root(memory, &name);
            }
            let _ = heap.set_root(memory, &format!("{round}{name}"), P::<u8>::null(), "");
        }
    }
    let _ = (heap.check(memory), heap.usage(memory), heap.roots(memory));
}

/// The places of the heap's own data, so that damage hits it.
fn own_data(memory: &PlainMemory) -> Vec<usize> {
    let pages = memory.bytes().len() / 4096;
    let mut places: Vec<usize> = (0..24).chain(COMMONS..COMMONS + 1100).collect();
    places.extend(NAMES..NAMES + 400);
    places.extend(MAP_ROOT..MAP_ROOT + 64);
    places.extend(ARENA..ARENA + 320);
    places.extend(ARENA + 4096..ARENA + 4096 + 320);
    places.extend(DIRECTORY..DIRECTORY + 64);
    places.extend(LEAF..LEAF + pages * 8 + 64);
    places.extend((101..pages).flat_map(|page| page * 4096..page * 4096 + 64));
    places
}

proptest! {
    #![proptest_config(ProptestConfig { cases: sardonyx_base::random::cases(96), ..ProptestConfig::default() })]

    #[test]
    fn damaged_bytes_are_errors(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12)
    ) {
        let (mut memory, _, things) = sample();
        let places = own_data(&memory);
        for (index, byte) in damage {
            memory.bytes_mut()[places[index.index(places.len())]] = byte;
        }
        use_all(&mut memory, &things);
    }

    #[test]
    fn damaged_words_are_errors(
        damage in prop::collection::vec(
            (any::<prop::sample::Index>(), prop_oneof![
                Just(0), Just(1), Just(u64::MAX), 0u64..1200, any::<u64>(),
                (0u64..1200, 0u64..8).prop_map(|(pages, kind)| pages << 32 | kind),
                (90u64..400).prop_map(|page| page * 4096),
            ]),
            1..8,
        )
    ) {
        let (mut memory, _, things) = sample();
        let places = own_data(&memory);
        for (index, word) in damage {
            let at = places[index.index(places.len())] / 8 * 8;
            memory.bytes_mut()[at..at + 8].copy_from_slice(&word.to_le_bytes());
        }
        use_all(&mut memory, &things);
    }

    /// One page of the heap's own data is another's: a torn or misplaced write.
    #[test]
    fn misplaced_pages_are_errors(from in 0usize..200, to in 0usize..200) {
        let (mut memory, _, things) = sample();
        let pages = memory.bytes().len() / 4096;
        let (from, to) = (from % pages, to % pages);
        memory.bytes_mut().copy_within(from * 4096..from * 4096 + 4096, to * 4096);
        use_all(&mut memory, &things);
    }

    #[test]
    fn random_bytes_are_errors(seed in any::<u64>(), keep_header in any::<bool>()) {
        let (mut memory, _, things) = sample();
        let header = memory.bytes()[..24].to_vec();
        let mut state = seed | 1;
        for word in memory.bytes_mut().chunks_exact_mut(8) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            word.copy_from_slice(&state.to_le_bytes());
        }
        if keep_header {
            memory.bytes_mut()[..24].copy_from_slice(&header);
        }
        use_all(&mut memory, &things);
    }
}

/// Every byte of the heap's own data that carries meaning is proved by `check`.
#[test]
fn every_flipped_byte_is_found() {
    let (mut memory, heap, _) = sample();
    let report = heap.check(&memory).unwrap();
    let pages = report.pages as usize;
    let mut meaningful: Vec<usize> = (0..24).collect();
    // The commons to the end of its lists; the first directory and leaf; the arenas' counts and lists; the names'
    // header. A reserve's start means nothing when there is none.
    meaningful.extend(COMMONS..COMMONS + 64 + 1024);
    meaningful.extend((MAP_ROOT..MAP_ROOT + 4096).step_by(61));
    meaningful.extend(DIRECTORY..DIRECTORY + 16);
    meaningful.extend(LEAF..LEAF + pages * 8);
    for arena in [ARENA, ARENA + 4096] {
        meaningful.extend((arena..arena + 40).filter(|at| !(8..16).contains(&(at - arena))));
        meaningful.extend(arena + 40..arena + 40 + 256);
    }
    meaningful.extend(NAMES..NAMES + 24);
    for page in 101..pages {
        let start = page * 4096;
        let tag = &memory.bytes()[start..start + 8];
        if tag == slab_tag(page as u64).to_le_bytes() {
            // All but the reserved bytes and the slots' bits.
            meaningful.extend((start..start + 32).filter(|at| !(12..16).contains(&(at - start))));
        } else if tag == free_tag(page as u64).to_le_bytes() {
            meaningful.extend(start..start + 32);
        }
    }
    assert!(meaningful.len() > 4000, "{}", meaningful.len());
    // `SARDONYX_RUNS` asks for both bits of each byte; else one of them is flipped, in turn.
    let both = sardonyx_base::random::asked("SARDONYX_RUNS").is_some();
    for (number, at) in meaningful.into_iter().enumerate() {
        let flips: &[u8] = match (both, number % 2) {
            (true, _) => &[1, 0x80],
            (false, 0) => &[1],
            (false, _) => &[0x80],
        };
        for &flip in flips {
            memory.bytes_mut()[at] ^= flip;
            let found = heap.check(&memory);
            assert!(
                found.is_err(),
                "byte {} of page {} is not proved",
                at % 4096,
                at / 4096
            );
            memory.bytes_mut()[at] ^= flip;
        }
    }
    assert_eq!(heap.check(&memory).unwrap(), report);
}

fn tag(kind: &[u8; 8], page: u64) -> u64 {
    u64::from_le_bytes(*kind) ^ page.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn slab_tag(page: u64) -> u64 {
    tag(b"SDXslabs", page)
}

fn free_tag(page: u64) -> u64 {
    tag(b"SDXfreer", page)
}

/// A chain of names that leads back to itself ends in an error, by whichever call it is followed.
#[test]
fn a_ring_of_names_ends() {
    let (mut memory, heap, _) = sample();
    let second = u64::from_le_bytes(memory.bytes()[NAMES + 8..NAMES + 16].try_into().unwrap());
    let next_of_second = second as usize * 4096 + 8;
    for (at, next) in [
        (NAMES + 8, 2),
        (next_of_second, 2),
        (next_of_second, second),
    ] {
        let before = memory.bytes()[at..at + 8].to_vec();
        memory.bytes_mut()[at..at + 8].copy_from_slice(&next.to_le_bytes());
        assert!(heap.check(&memory).is_err());
        assert!(heap.roots(&memory).is_err());
        assert!(heap.root::<u8, _>(&memory, "none", "").is_err());
        assert!(heap.remove_root(&mut memory, "none").is_err());
        let set = heap.set_root(&mut memory, "none", P::<u8>::null(), "");
        assert!(set.is_err());
        memory.bytes_mut()[at..at + 8].copy_from_slice(&before);
    }
    heap.check(&memory).unwrap();
}
