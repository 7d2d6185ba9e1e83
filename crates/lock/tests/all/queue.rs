//! The rules of one queue, each by the smallest case.

use crate::oracle::LockTable;
use sardonyx_lock::{Answer, Compatibility, EXCLUSIVE, LockQueue, Mode, SHARED};

const MATRIX: Compatibility = Compatibility::SHARED_EXCLUSIVE;

#[test]
fn a_reader_waits_behind_a_waiting_writer() {
    let mut queue = LockQueue::default();
    assert_eq!(queue.request(&MATRIX, 1, SHARED), Answer::Granted);
    assert_eq!(queue.request(&MATRIX, 2, EXCLUSIVE), Answer::Waiting);
    assert_eq!(queue.request(&MATRIX, 3, SHARED), Answer::Waiting);
    assert_eq!(queue.blockers(&MATRIX, 3).collect::<Vec<_>>(), [2]);
    let mut granted = Vec::new();
    queue.release(&MATRIX, 1, &mut granted);
    assert_eq!(granted, [2]);
    queue.release(&MATRIX, 2, &mut granted);
    assert_eq!(granted, [2, 3]);
}

#[test]
fn who_conflicts_with_nobody_ahead_does_not_wait() {
    // Read and increment, each only with its like, and a third mode that goes with everything.
    let rows: [&[bool]; 3] = [
        &[true, false, true],
        &[false, true, true],
        &[true, true, true],
    ];
    let matrix = Compatibility::new(&rows).unwrap();
    let mut queue = LockQueue::default();
    assert_eq!(queue.request(&matrix, 1, Mode(0)), Answer::Granted);
    assert_eq!(queue.request(&matrix, 2, Mode(1)), Answer::Waiting);
    assert_eq!(queue.request(&matrix, 3, Mode(2)), Answer::Granted);
    assert_eq!(queue.request(&matrix, 4, Mode(0)), Answer::Waiting);
}

#[test]
fn a_conversion_goes_before_ordinary_waiters() {
    let mut queue = LockQueue::default();
    queue.request(&MATRIX, 1, SHARED);
    queue.request(&MATRIX, 2, SHARED);
    assert_eq!(queue.request(&MATRIX, 3, EXCLUSIVE), Answer::Waiting);
    assert_eq!(queue.request(&MATRIX, 1, EXCLUSIVE), Answer::Waiting);
    let mut granted = Vec::new();
    queue.release(&MATRIX, 2, &mut granted);
    assert_eq!(granted, [1]);
    assert!(queue.held(1).contains(EXCLUSIVE));
}

#[test]
fn two_conversions_are_a_deadlock() {
    let mut table = LockTable::new(MATRIX);
    table.request(1, "page", SHARED);
    table.request(2, "page", SHARED);
    assert_eq!(table.request(1, "page", EXCLUSIVE), Answer::Waiting);
    assert_eq!(table.deadlock(1), None);
    assert_eq!(table.request(2, "page", EXCLUSIVE), Answer::Waiting);
    assert_eq!(table.deadlock(2), Some(vec![2, 1]));
    let mut granted = Vec::new();
    table.release_all(2, &mut granted);
    assert_eq!(granted, [(1, "page")]);
    let statistics = table.statistics();
    assert_eq!(
        (statistics.requests, statistics.waits, statistics.deadlocks),
        (4, 2, 1)
    );
}

#[test]
fn a_cancelled_request_lets_those_behind_it_go() {
    let mut table = LockTable::new(MATRIX);
    table.request(1, "page", SHARED);
    table.request(2, "page", EXCLUSIVE);
    table.request(3, "page", SHARED);
    let mut granted = Vec::new();
    assert!(table.cancel(2, "page", &mut granted));
    assert_eq!(granted, [(3, "page")]);
    assert!(!table.cancel(2, "page", &mut granted));
    assert_eq!(table.statistics().cancelled, 1);
}

#[test]
fn an_adopted_lock_makes_its_owners_request_a_conversion() {
    let mut queue = LockQueue::default();
    queue.request(&MATRIX, 1, SHARED);
    queue.request(&MATRIX, 2, EXCLUSIVE);
    queue.request(&MATRIX, 3, EXCLUSIVE);
    queue.adopt(&MATRIX, 3, SHARED);
    let mut granted = Vec::new();
    queue.release(&MATRIX, 1, &mut granted);
    assert_eq!(granted, [3]);
    assert_eq!(queue.blockers(&MATRIX, 2).collect::<Vec<_>>(), [3]);
}

/// A lock is held for one request. To do the same again is to ask again, if others have come in between.
#[test]
fn a_lock_held_is_granted_again_only_beside_those_who_would_admit_it() {
    // A deposit is admitted beside a withdrawal, and admits none.
    let rows: [&[bool]; 2] = [&[true, false], &[true, false]];
    let matrix = Compatibility::new(&rows).unwrap();
    let (deposit, withdraw) = (Mode(0), Mode(1));
    let mut queue = LockQueue::default();
    assert_eq!(queue.request(&matrix, 1, withdraw), Answer::Granted);
    assert_eq!(queue.request(&matrix, 1, withdraw), Answer::Granted);
    assert_eq!(queue.request(&matrix, 2, deposit), Answer::Granted);
    assert_eq!(queue.request(&matrix, 2, deposit), Answer::Held);
    assert_eq!(queue.request(&matrix, 1, withdraw), Answer::Waiting);
    assert_eq!(queue.blockers(&matrix, 1).collect::<Vec<_>>(), [2]);
    let mut granted = Vec::new();
    queue.release(&matrix, 2, &mut granted);
    assert_eq!(granted, [1]);
}

#[test]
#[should_panic(expected = "a lock is adopted beside one that excludes it")]
fn a_lock_is_not_adopted_beside_one_that_excludes_it() {
    let mut queue = LockQueue::default();
    queue.request(&MATRIX, 1, EXCLUSIVE);
    queue.adopt(&MATRIX, 2, SHARED);
}
