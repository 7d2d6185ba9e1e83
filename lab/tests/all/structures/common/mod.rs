//! Shared parts of the tests of both structures.
#![allow(dead_code)]

use std::ops::Bound;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use sardonyx_lab::structures::{PAGE_SIZE, Page};

pub mod step {
    //! One step of a random history.

    #[derive(Debug, Clone)]
    pub enum Step {
        Insert(u64, u64),
        Remove(u64),
        Get(u64),
    }
}
use step::Step;

/// The configuration of the property tests: always the same cases.
pub fn configuration() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(4),
        ..ProptestConfig::with_cases(sardonyx_base::random::cases(32))
    }
}

/// Histories that insert more in some phases and remove more in others, on few keys.
pub fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    let keys = prop_oneof![0u64..60, 0u64..600, Just(u64::MAX), any::<u64>()];
    let one = (0..4u8, keys, any::<u64>());
    let phase = (any::<bool>(), proptest::collection::vec(one, 0..most / 4));
    proptest::collection::vec(phase, 0..4).prop_map(|phases| {
        let mut steps = Vec::new();
        for (growing, phase) in phases {
            for (kind, key, value) in phase {
                steps.push(match (kind, growing) {
                    (0, _) => Step::Get(key),
                    (1, true) | (2 | 3, false) => Step::Remove(key % 600),
                    _ => Step::Insert(key, value),
                });
            }
        }
        steps
    })
}

/// Any bound near the keys below 400.
pub fn bound() -> impl Strategy<Value = Bound<u64>> {
    prop_oneof![
        (0u64..420).prop_map(Bound::Included),
        (0u64..420).prop_map(Bound::Excluded),
        Just(Bound::Unbounded),
    ]
}

/// Returns true if a key is within two bounds.
pub fn inside(key: u64, lower: Bound<u64>, upper: Bound<u64>) -> bool {
    let above = match lower {
        Bound::Included(lower) => key >= lower,
        Bound::Excluded(lower) => key > lower,
        Bound::Unbounded => true,
    };
    let below = match upper {
        Bound::Included(upper) => key <= upper,
        Bound::Excluded(upper) => key < upper,
        Bound::Unbounded => true,
    };
    above && below
}

/// Enlarges an area.
pub fn grow(pages: &mut Vec<Page>, needed: usize) {
    assert!(needed >= pages.len());
    pages.resize(needed, Page::zeroed());
}

/// Different numbers in a random order that the seed determines (a bijection of 64 bits).
pub fn random(seed: u64) -> impl Iterator<Item = u64> {
    (0u64..).map(move |number| {
        let mut mixed = number.wrapping_add(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    })
}

/// The known sequences: names and different keys.
pub fn sequences(count: usize) -> Vec<(&'static str, Vec<u64>)> {
    let end = count as u64;
    let (low, high) = (0..end / 2, end / 2..end);
    vec![
        ("sorted", (0..end).collect()),
        ("reverse", (0..end).rev().collect()),
        ("random", random(1).take(count).collect()),
        (
            "from both ends",
            low.zip(high.rev()).flat_map(|(a, b)| [a, b]).collect(),
        ),
        // All new keys fall between the same two: each is just below the one before.
        (
            "hotspot",
            [0, u64::MAX]
                .into_iter()
                .chain((0..end).map(|n| (1 << 40) - n))
                .collect(),
        ),
        (
            "hotspot ascending",
            [0, u64::MAX]
                .into_iter()
                .chain((0..end).map(|n| (1 << 40) + n))
                .collect(),
        ),
    ]
}

/// Returns true if two areas have the same bytes.
pub fn equal(one: &[Page], other: &[Page]) -> bool {
    one.len() == other.len() && difference(one, other) == (0, 0)
}

/// The numbers of pages and bytes that differ.
pub fn difference(before: &[Page], after: &[Page]) -> (usize, usize) {
    let mut pages = 0;
    let mut bytes = 0;
    for (one, other) in before.iter().zip(after) {
        // Nearly all are equal, which a comparison of whole pages shows without a loop.
        if one.bytes == other.bytes {
            continue;
        }
        let differing = (0..PAGE_SIZE)
            .filter(|at| one.bytes[*at] != other.bytes[*at])
            .count();
        pages += usize::from(differing > 0);
        bytes += differing;
    }
    (pages, bytes)
}
