//! Locks of sessions and claims of rows, without threads.

use super::{AdvisoryLocks, Claim, Key, Mode};
use crate::claims::{ROWS_OF_TABLE_MAX, TableId};
use crate::lock_modes::{RowMode, TableMode};
use std::sync::Arc;

const EXCLUSIVE: Mode = Mode {
    lock: TableMode::Exclusive,
    of_transaction: false,
};
const SHARED: Mode = Mode {
    lock: TableMode::Share,
    ..EXCLUSIVE
};

#[test]
fn a_shared_lock_does_not_overtake_an_exclusive_one_that_waits() {
    let locks = Arc::new(AdvisoryLocks::default());
    let [first, second, third] = [(); 3].map(|()| locks.enter(1));
    let key = Key::One(1);
    assert!(first.try_take(key, SHARED).expect("there is room"));
    locks
        .state()
        .wait_for(second.session, key, TableMode::Exclusive);
    assert!(!third.try_take(key, SHARED).expect("there is room"));
    assert!(first.try_take(key, SHARED).expect("it has it already"));
    locks.state().wait_no_more(second.session, key);
    assert!(third.try_take(key, SHARED).expect("there is room"));
}

#[test]
fn a_circle_of_sessions_that_wait_is_found() {
    let locks = Arc::new(AdvisoryLocks::default());
    let sessions = [(); 3].map(|()| locks.enter(1));
    for (number, session) in (0..).zip(&sessions) {
        let taken = session.try_take(Key::Two(0, number), EXCLUSIVE);
        assert!(taken.expect("there is room"));
    }
    for (number, session) in (0..).zip(&sessions) {
        let session = session.session;
        let awaited = Key::Two(0, (number + 1) % 3);
        let mut state = locks.state();
        state.wait_for(session, awaited, TableMode::Exclusive);
        assert_eq!(state.is_circle(session), number == 2, "{number}");
    }
}

#[test]
fn a_session_that_ends_leaves_nothing_behind() {
    let locks = Arc::new(AdvisoryLocks::default());
    let session = locks.enter(1);
    let of_transaction = Mode {
        of_transaction: true,
        ..EXCLUSIVE
    };
    for number in 0..10 {
        let taken = session.try_take(Key::One(number), EXCLUSIVE);
        assert!(taken.expect("there is room"));
        let again = session.try_take(Key::One(number), of_transaction);
        assert!(again.expect("it has it"));
    }
    session.release_session();
    assert_eq!(locks.state().locks.len(), 10);
    session.end_transaction();
    assert!(locks.state().locks.is_empty() && locks.state().keys.is_empty());
}

#[test]
fn claims_are_given_back_in_order() {
    let locks = Arc::new(AdvisoryLocks::default());
    let [first, second] = [(); 2].map(|()| locks.enter(1));
    let claim = |of: &super::Locker, row, mode| {
        of.claim((TableId::nth(1), row), mode, false)
            .expect("it is in the bound")
    };
    assert_eq!(claim(&first, 1, RowMode::KeyShare), Claim::New);
    let mark = first.mark();
    assert_eq!(claim(&first, 1, RowMode::Update), Claim::New);
    assert_eq!(claim(&first, 1, RowMode::Update), Claim::Had);
    assert_eq!(claim(&first, 2, RowMode::Update), Claim::New);
    assert_eq!(claim(&second, 1, RowMode::KeyShare), Claim::Refused);
    first.return_to(mark);
    assert_eq!(claim(&second, 2, RowMode::Update), Claim::New);
    assert_eq!(claim(&second, 1, RowMode::Update), Claim::Refused);
    assert_eq!(claim(&second, 1, RowMode::Share), Claim::New);
    first.end_transaction();
    assert_eq!(claim(&second, 1, RowMode::Update), Claim::New);
    second.end_transaction();
    let state = locks.state();
    assert!(state.rows.is_empty() && state.taken.is_empty() && state.locks.is_empty());
}

#[test]
fn a_transaction_with_many_claims_of_a_table_claims_all_of_it() {
    let locks = Arc::new(AdvisoryLocks::default());
    let [first, second] = [(); 2].map(|()| locks.enter(1));
    let rows = ROWS_OF_TABLE_MAX as u128;
    for row in 0..rows {
        first.claim_changed((TableId::nth(1), row), RowMode::NoKeyUpdate);
    }
    let mark = first.mark();
    assert!(!second.is_claimed((TableId::nth(1), rows + 1), RowMode::Update));
    first.claim_changed((TableId::nth(1), rows), RowMode::NoKeyUpdate);
    assert!(second.is_claimed((TableId::nth(1), rows + 1), RowMode::Update));
    assert!(!second.is_claimed((TableId::nth(1), rows + 1), RowMode::KeyShare));
    first.return_to(mark);
    assert!(!second.is_claimed((TableId::nth(1), rows + 1), RowMode::Update));
    first.end_transaction();
    assert!(locks.state().rows.is_empty());
}

#[test]
fn claims_that_are_not_refused_leave_some_for_others() {
    let locks = Arc::new(AdvisoryLocks::default());
    let [first, second, third] = [(); 3].map(|()| locks.enter(1));
    for session in [&first, &second] {
        for table in 0..10 {
            for row in 0..ROWS_OF_TABLE_MAX as u128 {
                session.claim_changed((TableId::nth(table), row), RowMode::NoKeyUpdate);
            }
        }
    }
    let claim = third.claim((TableId::nth(11), 1), RowMode::Update, false);
    assert_eq!(claim.expect("it is in the bound"), Claim::New);
    first.end_transaction();
    second.end_transaction();
    third.end_transaction();
    assert!(locks.state().rows.is_empty());
}

#[test]
fn a_lock_of_a_table_excludes_claims_of_its_rows() {
    let locks = Arc::new(AdvisoryLocks::default());
    let [first, second] = [(); 2].map(|()| locks.enter(1));
    let of_transaction = |lock| Mode {
        lock,
        of_transaction: true,
    };
    let taken = first.try_take(
        Key::Table(TableId::nth(1)),
        of_transaction(TableMode::Exclusive),
    );
    assert!(taken.expect("there is room"));
    assert!(second.is_claimed((TableId::nth(1), 1), RowMode::KeyShare));
    first.end_transaction();
    second
        .claim((TableId::nth(1), 1), RowMode::KeyShare, false)
        .expect("it is in the bound");
    for (lock, is_free) in [(TableMode::Exclusive, false), (TableMode::Share, true)] {
        let taken = first.try_take(Key::Table(TableId::nth(1)), of_transaction(lock));
        assert_eq!(taken.expect("there is room"), is_free, "{lock:?}");
    }
}

const OF_TRANSACTION: Mode = Mode {
    lock: TableMode::AccessExclusive,
    of_transaction: true,
};

#[test]
fn a_session_has_the_weaker_modes_of_its_locks_and_claims() {
    let locks = Arc::new(AdvisoryLocks::default());
    let [first, second] = [(); 2].map(|()| locks.enter(1));
    let key = Key::Table(TableId::nth(1));
    let take = |lock| {
        first.try_take(
            key,
            Mode {
                lock,
                ..OF_TRANSACTION
            },
        )
    };
    assert!(take(TableMode::Exclusive).expect("there is room"));
    // A change does not wait for the lock.
    second.hold_changed(TableId::nth(1));
    for lock in [TableMode::Exclusive, TableMode::Share, TableMode::RowShare] {
        assert!(take(lock).expect("there is room"), "{lock:?}");
    }
    assert!(!take(TableMode::AccessExclusive).expect("there is room"));
    let claim = |of: &super::Locker, mode, urgent| {
        of.claim((TableId::nth(2), 7), mode, urgent)
            .expect("it is in the bound")
    };
    assert_eq!(claim(&first, RowMode::Update, false), Claim::New);
    assert_eq!(claim(&second, RowMode::Update, true), Claim::New);
    for mode in [RowMode::Update, RowMode::Share] {
        assert!(!first.is_claimed((TableId::nth(2), 7), mode), "{mode:?}");
        assert_eq!(claim(&first, mode, false), Claim::Had, "{mode:?}");
    }
}

#[test]
fn a_holder_that_waits_is_not_in_a_circle_with_those_behind_it() {
    let locks = Arc::new(AdvisoryLocks::default());
    let [first, second, third] = [(); 3].map(|()| locks.enter(1));
    let key = Key::One(1);
    for of in [&first, &third] {
        assert!(of.try_take(key, SHARED).expect("there is room"));
    }
    let mut state = locks.state();
    state.wait_for(second.session, key, TableMode::Exclusive);
    state.wait_for(first.session, key, TableMode::Exclusive);
    assert!(!state.is_circle(first.session), "the third session runs");
    state.wait_for(third.session, key, TableMode::Exclusive);
    assert!(state.is_circle(third.session));
}

#[test]
fn a_lock_that_waits_for_claims_goes_before_new_ones() {
    let locks = Arc::new(AdvisoryLocks::default());
    let [first, second, third] = [(); 3].map(|()| locks.enter(1));
    let claim = |of: &super::Locker, row| {
        of.claim((TableId::nth(1), row), RowMode::Update, false)
            .expect("it is in the bound")
    };
    assert_eq!(claim(&first, 1), Claim::New);
    let mut state = locks.state();
    state.wait_for(
        second.session,
        Key::Table(TableId::nth(1)),
        TableMode::Exclusive,
    );
    drop(state);
    assert_eq!(claim(&third, 2), Claim::Refused);
    assert_eq!(claim(&first, 2), Claim::New);
}

#[test]
fn only_the_end_of_an_awaited_lock_wakes_others() {
    let locks = Arc::new(AdvisoryLocks::default());
    let [first, second] = [(); 2].map(|()| locks.enter(1));
    for number in 0..2 {
        let taken = first.try_take(Key::Table(TableId::nth(number)), OF_TRANSACTION);
        assert!(taken.expect("there is room"));
    }
    let mut state = locks.state();
    state.wait_for(
        second.session,
        Key::Table(TableId::nth(0)),
        TableMode::Share,
    );
    state.return_to(first.session, 1);
    assert!(!state.wakes);
    state.return_to(first.session, 0);
    assert!(state.wakes);
}

#[test]
fn a_session_is_blocked_by_holders_and_by_those_before_it_in_the_queue() {
    let locks = Arc::new(AdvisoryLocks::default());
    let [first, second, third, fourth] = [11, 12, 13, 14].map(|process| locks.enter(process));
    let key = Key::One(1);
    assert!(first.try_take(key, SHARED).expect("there is room"));
    assert!(second.try_take(key, SHARED).expect("there is room"));
    for waits in [&third, &fourth] {
        let mut state = locks.state();
        state.wait_for(waits.session, key, TableMode::Exclusive);
    }
    assert_eq!(locks.blocking(13), [11, 12]);
    assert_eq!(locks.blocking(14), [11, 12, 13]);
    assert_eq!(locks.blocking(11), [0; 0]);
    assert_eq!(locks.blocking(99), [0; 0]);
    assert_eq!(locks.awaited().len(), 2);
    locks.state().wait_no_more(third.session, key);
    assert_eq!(locks.blocking(14), [11, 12]);
    assert_eq!(locks.blocking(13), [0; 0]);
}
