//! Snapshots of pages against copies of them. After any writes, each reads the pages of the time when it was taken, or
//! returns that it was ended. That happens at the bound on memory and to the oldest first.

use proptest::prelude::*;
use sardonyx_storage::page::{Address, PAGE_SIZE};
use sardonyx_storage::store::{PageRead, PageSnapshot, PageStore, SnapshotEnded};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const PAGES: usize = 8;

fn store() -> PageStore {
    let mut store = PageStore::reserve(64 << 20).unwrap();
    store.grow_to(PAGES as u64).unwrap();
    store
}

fn whole(snapshot: &PageSnapshot) -> Result<Vec<u8>, SnapshotEnded> {
    let mut all = Vec::new();
    let mut buffer = Vec::new();
    for page in 0..snapshot.pages() {
        let at = Address(page * PAGE_SIZE as u64);
        all.extend_from_slice(snapshot.read(at, PAGE_SIZE, &mut buffer)?);
    }
    Ok(all)
}

#[derive(Clone, Debug)]
enum Step {
    Write {
        at: usize,
        bytes: Vec<u8>,
    },
    Take,
    Drop(usize),
    Grow,
    Look {
        which: usize,
        at: usize,
        length: usize,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..40);
    prop_oneof![
        8 => (0..PAGES * PAGE_SIZE, bytes()).prop_map(|(at, bytes)| Step::Write { at, bytes }),
        2 => Just(Step::Take),
        1 => (0usize..8).prop_map(Step::Drop),
        1 => Just(Step::Grow),
        3 => (0usize..8, 0..PAGES * PAGE_SIZE, 0usize..100)
            .prop_map(|(which, at, length)| Step::Look { which, at, length }),
    ]
}

proptest! {
    #[test]
    fn snapshots_agree_with_copies(steps in prop::collection::vec(step(), 1..200), bound in 1u64..40) {
        let mut store = store();
        store.set_snapshot_bytes_max(bound * PAGE_SIZE as u64);
        let mut open: Vec<(Arc<PageSnapshot>, Vec<u8>)> = Vec::new();
        let mut buffer = Vec::new();
        for step in steps {
            match step {
                Step::Write { at, mut bytes } => {
                    bytes.truncate(store.bytes().len() - at);
                    store.write(Address(at as u64), &bytes);
                    prop_assert_eq!(&store.bytes()[at..][..bytes.len()], &bytes);
                }
                Step::Take => open.push((store.snapshot().unwrap(), store.bytes().to_vec())),
                Step::Drop(which) => {
                    if which < open.len() {
                        open.remove(which);
                    }
                }
                Step::Grow => store.grow_to(store.pages() + 1).unwrap(),
                Step::Look { which, at, length } => {
                    let Some((snapshot, copy)) = open.get(which) else { continue };
                    let length = length.min(PAGE_SIZE - at % PAGE_SIZE);
                    let ended = snapshot.is_ended();
                    match snapshot.read(Address(at as u64), length, &mut buffer) {
                        Ok(bytes) => prop_assert_eq!(bytes, &copy[at..][..length]),
                        Err(SnapshotEnded) => prop_assert!(ended),
                    }
                    let word = at / 8 * 8;
                    if let Ok(value) = snapshot.word(Address(word as u64)) {
                        prop_assert_eq!(&value.to_le_bytes()[..], &copy[word..][..8]);
                    }
                }
            }
        }
        // None is ended unless all older ones are.
        let ended: Vec<_> = open.iter().map(|(snapshot, _)| snapshot.is_ended()).collect();
        prop_assert!(ended.is_sorted_by(|older, newer| older >= newer), "{ended:?}");
        for (snapshot, copy) in &open {
            prop_assert!(snapshot.is_ended() || whole(snapshot).as_ref() == Ok(copy));
        }
        drop(open);
        store.bytes_mut().fill(1);
    }
}

#[test]
fn two_without_a_change_between_are_one_and_what_is_closed_costs_nothing() {
    let mut store = store();
    let first = store.snapshot().unwrap();
    assert!(Arc::ptr_eq(&first, &store.snapshot().unwrap()));
    store.write(Address(1), &[1]);
    let second = store.snapshot().unwrap();
    assert!(!Arc::ptr_eq(&first, &second));
    drop(second);
    // The newest is dropped; the older one still gets the copies that it lacks.
    store.write(Address(PAGE_SIZE as u64), &[2]);
    store.write(Address(1), &[3]);
    assert!(whole(&first).unwrap().iter().all(|byte| *byte == 0));
    drop(first);
    store.bytes_mut()[1] = 4;
    let third = store.snapshot().unwrap();
    store.write(Address(1), &[5]);
    assert_eq!(whole(&third).unwrap()[1], 4);
}

#[test]
fn for_one_that_is_let_go_no_page_is_copied_and_its_memory_stays() {
    let mut store = store();
    let older = store.snapshot().unwrap();
    store.write(Address(1), &[1]);
    let newer = store.snapshot().unwrap();
    store.write(Address(PAGE_SIZE as u64), &[2]);
    let life = newer.life();
    let kept = Arc::into_inner(newer).unwrap().let_go();
    assert_eq!(kept.copies(), 2);
    // Only the older one needs it.
    store.write(Address(2 * PAGE_SIZE as u64), &[3]);
    assert_eq!(kept.copies(), 3);
    assert!(whole(&older).unwrap().iter().all(|byte| *byte == 0));
    let older = Arc::into_inner(older).unwrap().let_go();
    for page in 3..PAGES {
        store.write(Address((page * PAGE_SIZE) as u64), &[4]);
    }
    assert_eq!((kept.copies(), older.copies()), (3, 3));
    // A new one has the written bytes.
    let third = store.snapshot().unwrap();
    store.write(Address(1), &[5]);
    assert_eq!(whole(&third).unwrap()[1], 1);
    assert_eq!(whole(&third).unwrap()[3 * PAGE_SIZE], 4);
    drop((kept, older));
    assert_eq!(whole(&third).unwrap()[1], 1);
    assert!(!life.was_ended());
}

#[test]
fn the_life_of_one_says_that_it_was_ended() {
    let mut store = store();
    store.set_snapshot_bytes_max(PAGE_SIZE as u64);
    let snapshot = store.snapshot().unwrap();
    let life = snapshot.life();
    store.write(Address(0), &[1]);
    assert!(!life.was_ended());
    store.write(Address(PAGE_SIZE as u64), &[1]);
    assert!(life.was_ended() && snapshot.is_ended());
    drop(snapshot);
    assert!(life.was_ended());
}

#[test]
fn the_oldest_is_ended_at_the_bound_and_its_memory_is_used_again() {
    let mut store = store();
    store.set_snapshot_bytes_max(3 * PAGE_SIZE as u64);
    let touch = |store: &mut PageStore, pages: std::ops::Range<usize>, byte: u8| {
        pages.for_each(|page| store.write(Address((page * PAGE_SIZE) as u64), &[byte]));
    };
    let old = store.snapshot().unwrap();
    touch(&mut store, 0..2, 1);
    let new = store.snapshot().unwrap();
    touch(&mut store, 4..5, 2);
    assert!(!old.is_ended() && !new.is_ended());
    touch(&mut store, 5..6, 3);
    assert!(old.is_ended() && !new.is_ended());
    assert_eq!(old.word(Address(0)), Err(SnapshotEnded));
    assert_eq!(old.word(Address(7 * PAGE_SIZE as u64)), Err(SnapshotEnded));
    let now = whole(&new).unwrap();
    assert_eq!([0, 1, 4, 5].map(|page| now[page * PAGE_SIZE]), [1, 1, 0, 0]);
    // With more than the bound for itself, it is ended, too, and the writer goes on.
    touch(&mut store, 0..PAGES, 4);
    assert!(new.is_ended());
    assert_eq!(whole(&new), Err(SnapshotEnded));
    // A further one has all the memory, while those two are still held.
    let third = store.snapshot().unwrap();
    touch(&mut store, 0..3, 5);
    assert_eq!(whole(&third).unwrap()[2 * PAGE_SIZE], 4);
    touch(&mut store, 3..4, 5);
    assert!(third.is_ended());
}

#[test]
fn stores_that_are_frozen_together_are_ended_together_and_have_one_bound() {
    let (mut one, mut other) = (store(), store());
    one.set_snapshot_bytes_max(3 * PAGE_SIZE as u64);
    let touch = |store: &mut PageStore, pages: std::ops::Range<usize>, byte: u8| {
        pages.for_each(|page| store.write(Address((page * PAGE_SIZE) as u64), &[byte]));
    };
    let (first, of_other) = one.snapshot_with(&mut other).unwrap();
    let (same, also) = one.snapshot_with(&mut other).unwrap();
    assert!(Arc::ptr_eq(&first, &same) && Arc::ptr_eq(&of_other, &also));
    drop((same, also));
    touch(&mut one, 0..1, 1);
    touch(&mut other, 0..1, 1);
    // One was changed, and the other one is frozen anew with it.
    let (second, of_second) = one.snapshot_with(&mut other).unwrap();
    touch(&mut other, 0..1, 2);
    assert_eq!(
        (whole(&first).unwrap()[0], whole(&of_other).unwrap()[0]),
        (0, 0)
    );
    assert_eq!(
        (whole(&second).unwrap()[0], whole(&of_second).unwrap()[0]),
        (1, 1)
    );
    // The fourth page: a change in either of the two, and in both, ends the oldest.
    touch(&mut other, 1..2, 3);
    assert!(first.is_ended() && of_other.is_ended());
    assert_eq!(
        (whole(&first), whole(&of_other)),
        (Err(SnapshotEnded), Err(SnapshotEnded))
    );
    assert_eq!(
        (whole(&second).unwrap()[0], whole(&of_second).unwrap()[0]),
        (1, 1)
    );
    // Copies of the ended one in one store are used for the other.
    drop((first, of_other));
    touch(&mut one, 0..1, 4);
    assert!(!second.is_ended());
    touch(&mut one, 1..PAGES, 4);
    assert!(second.is_ended() && of_second.is_ended());
    drop(second);
    // A handle alone keeps it.
    touch(&mut other, 0..PAGES, 5);
    drop(of_second);
    assert_eq!((one.bytes_mut()[0], other.bytes_mut()[0]), (4, 5));
}

#[test]
#[should_panic(expected = "frozen together")]
fn what_is_frozen_alone_is_not_frozen_with_another() {
    let (mut one, mut other) = (store(), store());
    let _alone = (one.snapshot().unwrap(), other.snapshot().unwrap());
    one.write(Address(0), &[1]);
    let _both = one.snapshot_with(&mut other);
}

#[test]
fn one_of_two_stores_may_be_replaced() {
    for first_is_replaced in [false, true] {
        let (mut one, mut other) = (store(), store());
        let old = one.snapshot_with(&mut other).unwrap();
        drop(match first_is_replaced {
            true => std::mem::replace(&mut one, store()),
            false => std::mem::replace(&mut other, store()),
        });
        one.write(Address(0), &[1]);
        other.write(Address(0), &[1]);
        let new = one.snapshot_with(&mut other).unwrap();
        one.write(Address(0), &[2]);
        other.write(Address(0), &[2]);
        let first = |snapshot: &PageSnapshot| whole(snapshot).unwrap()[0];
        assert_eq!((first(&old.0), first(&old.1)), (0, 0));
        assert_eq!((first(&new.0), first(&new.1)), (1, 1));
    }
}

#[test]
fn a_snapshot_outlives_its_store() {
    let mut store = store();
    store.write(Address(0), b"here");
    let snapshot = store.snapshot().unwrap();
    store.write(Address(0), b"gone");
    drop(store);
    assert_eq!(&whole(&snapshot).unwrap()[..4], b"here");
}

#[test]
#[should_panic(expected = "changed by `write`")]
fn the_bytes_are_not_to_be_had_while_somebody_reads_them() {
    let mut store = store();
    let _snapshot = store.snapshot().unwrap();
    store.bytes_mut();
}

/// The writer keeps every word of a page equal to the number of its transaction, on all pages; a reader that
/// sees two numbers in one snapshot has seen half a transaction.
#[test]
fn readers_in_threads_see_one_moment() {
    let mut store = store();
    store.set_snapshot_bytes_max(40 * PAGE_SIZE as u64);
    let handed: std::sync::Mutex<Vec<(u64, Arc<PageSnapshot>)>> = Default::default();
    let (done, seen) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Acquire) {
                    let Some((n, snapshot)) = handed.lock().unwrap().pop() else {
                        std::thread::yield_now();
                        continue;
                    };
                    for _ in 0..3 {
                        match whole(&snapshot) {
                            Ok(bytes) => {
                                let mut words = bytes.as_chunks::<8>().0.iter();
                                assert!(words.all(|word| *word == n.to_le_bytes()), "{n}");
                                seen.fetch_add(1, Ordering::Relaxed);
                            }
                            Err(SnapshotEnded) => break,
                        }
                    }
                }
            });
        }
        for n in 1..=1500u64 {
            let page: Vec<u8> = n.to_le_bytes().repeat(PAGE_SIZE / 8);
            for at in 0..PAGES {
                let at = Address((at * PAGE_SIZE) as u64);
                // In parts, some of them at odd places.
                store.write(at, &page[..17]);
                store.write(Address(at.0 + 17), &page[17..]);
            }
            let snapshot = store.snapshot().unwrap();
            let mut handed = handed.lock().unwrap();
            handed.push((n, snapshot));
            if handed.len() > 4 {
                handed.remove(0);
            }
        }
        while seen.load(Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
        done.store(true, Ordering::Release);
    });
}
