//! Walks over a tree that changes meanwhile, in both directions, beside a set in order. Entries move to neighbours, so each
//! step looks for its place again. A walk over a snapshot continues where it was: nothing moves there.

use super::*;
use sardonyx_base::random::{Random, seeds};
use std::collections::VecDeque;
use std::ops::Bound;

/// Numbers of keys.
const NUMBERS: u64 = 3000;

/// Keys that differ early, that begin alike, and of both kinds.
fn numbered(kind: u64, number: u64) -> Of {
    let text = match kind {
        0 => format!("{number:06}"),
        1 => format!("tenant:0000000000000042:{number:06}"),
        2 => format!("tenant:{:012}:{:06}", number / 100, number % 100),
        _ => format!("{}{number:06}", "x".repeat((number / 37 % 40) as usize)),
    };
    of(&text, number % 3)
}

/// The next row of a walk from the last key, found anew.
fn step(pair: &Pair, last: Option<&[u8]>, backwards: bool) -> Option<u64> {
    let nodes = pair.store.bytes();
    let Ok(start) = pair.tree.start(nodes);
    let place = last.map(|bytes| {
        let behind = !backwards;
        pair.seek(Edge { bytes, behind })
    });
    let Ok(found) = match backwards {
        true => Cursor::new(pair.tree, start, place.unwrap_or(Place::END)).next_back(nodes, |_| {}),
        false => Cursor::new(pair.tree, place.unwrap_or(start), Place::END).next(nodes, |_| {}),
    };
    found.map(|row| row.0)
}

/// The same in the model.
fn expected(pair: &Pair, last: Option<&[u8]>, backwards: bool) -> Option<Of> {
    let found = match (last, backwards) {
        (None, false) => pair.model.first(),
        (None, true) => pair.model.last(),
        (Some(key), true) => pair.model.range(..(key.to_vec(), 0)).next_back(),
        (Some(key), false) => {
            let behind = Bound::Excluded((key.to_vec(), u64::MAX));
            pair.model.range((behind, Bound::Unbounded)).next()
        }
    };
    found.cloned()
}

fn walk(seed: u64) {
    let mut random = Random::new(seed);
    let kind = random.below(4);
    let mut pair = Pair::new();
    let mut numbers = HashMap::new();
    for _ in 0..random.below(1500) {
        let number = random.below(NUMBERS);
        let entry = numbered(kind, number);
        numbers.insert(entry.1, number);
        pair.insert(&entry);
    }
    let backwards = random.chance(1, 2);
    // Of ten steps, so many insert.
    let inserts = random.below(10);
    let pages = pair.store.pages_mut().snapshot().expect("address space");
    let mut frozen: VecDeque<u64> = pair.model.iter().map(|(_, row)| *row).collect();
    let Ok(start) = pair.tree.start(&*pages) else {
        unreachable!("the snapshot is not ended")
    };
    let mut cursor = Cursor::new(pair.tree, start, Place::END);
    let mut last: Option<Vec<u8>> = None;
    for _ in 0..random.below(1500) {
        let found = step(&pair, last.as_deref(), backwards);
        let there = expected(&pair, last.as_deref(), backwards);
        assert_eq!(found, there.as_ref().map(|(_, row)| *row), "seed {seed}");
        let Some(there) = there else { break };
        let at = numbers[&there.1];
        last = Some(there.0.clone());
        for _ in 0..random.below(4) {
            // Mostly near the walk, on both sides of it.
            let number = match random.chance(4, 5) {
                true => (at + random.below(80)).saturating_sub(40) % NUMBERS,
                false => random.below(NUMBERS),
            };
            let entry = numbered(kind, number);
            match random.below(10) < inserts {
                true => {
                    numbers.insert(entry.1, number);
                    pair.insert(&entry);
                }
                false => {
                    pair.remove(&entry);
                }
            }
        }
        if random.chance(1, 3) {
            pair.remove(&there);
        }
        let (next, wanted) = match random.chance(1, 2) {
            true => (cursor.next(&*pages, |_| {}), frozen.pop_front()),
            false => (cursor.next_back(&*pages, |_| {}), frozen.pop_back()),
        };
        let next = next.expect("the snapshot is not ended");
        assert_eq!(next.map(|row| row.0), wanted, "seed {seed}, frozen");
    }
    pair.check();
}

#[test]
fn a_walk_that_changes_the_tree_finds_each_entry_in_both_directions() {
    (0..seeds(40)).for_each(walk);
}
