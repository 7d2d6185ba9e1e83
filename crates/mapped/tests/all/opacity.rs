//! Every reader sees one state. Invariants over several pages are asserted inside of transactions, also of those that
//! will not commit. So they are in snapshots that are kept while the ring wraps (I8).

use crate::common::{
    self, Fallible, MECHANISMS, PAGE, Shared, mechanism_of, options, role, say, spawn, word,
};
use sardonyx_mapped::{MechanismKind, Memory, MemoryAccess, RunError, Segment, SegmentError};
use sardonyx_workload::random::Random;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};

/// Pages that always hold the same number.
const EQUAL: std::ops::Range<u64> = 505..521;
const PAGES: u64 = 1024;

/// The other process: writes all pages again and again.
#[test]
fn child() {
    let Some(role) = role() else { return };
    let segment = options(mechanism_of(&role[0]))
        .open_volatile(&role[1])
        .unwrap();
    let mut random = Random::new(3);
    loop {
        raise(&segment, &mut random).unwrap();
        say("raised");
    }
}

/// Adds one to all pages, in a random order, each all over.
fn raise(segment: &Segment, random: &mut Random) -> Fallible {
    let mut pages: Vec<u64> = EQUAL.collect();
    for n in (1..pages.len()).rev() {
        pages.swap(n, random.below(n as u64 + 1) as usize);
    }
    let whole = random.chance(30);
    segment.run(|tx| -> Fallible {
        let value = tx.read(word(pages[0], 0))? + 1;
        for page in &pages {
            let words = if whole { 512 } else { 2 };
            for index in 0..words {
                tx.write(word(*page, index), value)?;
            }
        }
        Ok(())
    })?;
    Ok(())
}

fn is_one_state(memory: &impl MemoryAccess, random: &mut Random) -> u64 {
    let length = EQUAL.end - EQUAL.start;
    let first = EQUAL.start + random.below(length);
    let expected = memory.read(word(first, 0)).unwrap();
    for n in 0..length {
        let page = EQUAL.start + (first + n) % length;
        for index in 0..2 {
            let found = memory.read(word(page, index)).unwrap();
            assert_eq!(found, expected, "page {page} is of another state");
        }
    }
    expected
}

#[test]
fn transactions_see_one_state_also_if_they_are_doomed() {
    for mechanism in MECHANISMS.into_iter().filter(|kind| kind.resolve().is_ok()) {
        let shared = Shared::new(mechanism, "opacity", PAGES);
        let segment = &shared.segment;
        let mut other = spawn(module_path!(), &[&format!("{mechanism:?}"), &shared.name]);
        other.hear().unwrap();
        let mut random = Random::new(9);
        let mut conflicts = 0;
        for round in 0..common::runs(300) {
            let mut session = segment.session().unwrap();
            let mut tx =
                sardonyx_mapped::Transaction::begin(&mut session, Default::default()).unwrap();
            let before = is_one_state(&tx, &mut random);
            // Until the other one has committed, so that this one is doomed; its view stays.
            for _ in 0..1 + round % 3 {
                other.hear().unwrap();
            }
            tx.write(word(900, 0), round).unwrap();
            assert_eq!(is_one_state(&tx, &mut random), before, "{mechanism:?}");
            match tx.commit() {
                Ok(_) => (),
                Err(SegmentError::Conflict { .. }) => conflicts += 1,
                Err(error) => panic!("{error}"),
            }
            segment.give_back(session);
        }
        assert!(conflicts > 0, "{mechanism:?}: none was doomed");
    }
}

#[test]
fn a_snapshot_stays_while_the_ring_wraps_many_times() {
    for mechanism in MECHANISMS.into_iter().filter(|kind| kind.resolve().is_ok()) {
        let shared = Shared::new(mechanism, "snapshots", PAGES);
        let segment = &shared.segment;
        let mut random = Random::new(4);
        raise(segment, &mut random).unwrap();
        let early = segment.snapshot().unwrap();
        // One page is looked at before, the others for the first time when all has changed.
        assert_eq!(early.read(word(EQUAL.start, 0)).unwrap(), 1);
        let kept: Vec<_> = (0..4)
            .map(|n| {
                for _ in 0..60 {
                    raise(segment, &mut random).unwrap();
                }
                (1 + 60 * (n + 1), segment.snapshot().unwrap())
            })
            .collect();
        for _ in 0..60 {
            raise(segment, &mut random).unwrap();
        }
        assert_eq!(is_one_state(&early, &mut random), 1, "{mechanism:?}");
        for (value, snapshot) in &kept {
            assert_eq!(is_one_state(snapshot, &mut random), *value, "{mechanism:?}");
        }
        drop((early, kept));
        let now = segment.snapshot().unwrap();
        assert_eq!(is_one_state(&now, &mut random), 301, "{mechanism:?}");
    }
}

/// The memory of one transaction, lent to several threads that all touch its pages for the first time.
#[test]
fn threads_that_share_a_transaction_see_one_state() {
    for mechanism in [MechanismKind::Asynchronous, MechanismKind::Signal] {
        let shared = Shared::new(mechanism, "threads", PAGES);
        let segment = &shared.segment;
        let mut random = Random::new(5);
        // A snapshot keeps base pages old, so that records must be applied when a page is touched.
        let keeper = segment.snapshot().unwrap();
        for round in 0..common::runs(100) {
            raise(segment, &mut random).unwrap();
            let snapshot = segment.snapshot().unwrap();
            let bytes = snapshot.bytes();
            let (barrier, wrong) = (Barrier::new(3), AtomicU64::new(0));
            std::thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| {
                        barrier.wait();
                        for page in EQUAL {
                            let at = (page * PAGE) as usize;
                            let word: [u8; 8] = bytes[at..at + 8].try_into().unwrap();
                            let good = u64::from_le_bytes(word) == round + 1;
                            wrong.fetch_add(u64::from(!good), Ordering::Relaxed);
                        }
                    });
                }
            });
            let wrong = wrong.into_inner();
            assert_eq!(wrong, 0, "{mechanism:?}, round {round}: old bytes seen");
        }
        drop(keeper);
    }
}

#[test]
fn a_refused_transaction_saw_one_state_and_left_none() {
    for mechanism in MECHANISMS.into_iter().filter(|kind| kind.resolve().is_ok()) {
        let shared = Shared::new(mechanism, "refused", PAGES);
        let mut random = Random::new(6);
        for n in 0..50 {
            let refused = shared.segment.run(|tx| {
                let value = is_one_state(tx, &mut random);
                tx.write(word(EQUAL.start + n % 16, 0), value + 1).unwrap();
                tx.grow_to((PAGES + n) * PAGE).unwrap();
                Err::<(), _>(value)
            });
            assert!(matches!(refused, Err(RunError::Refused(value)) if value == n));
            raise(&shared.segment, &mut random).unwrap();
        }
    }
}
