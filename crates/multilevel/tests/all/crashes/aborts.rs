//! Aborts that are under way when the machine crashes.

use super::schedule::Step::*;
use super::world::{every_setup, every_setup_long};

/// A transaction that commits on this page.
macro_rules! winner {
    ($who:literal, $page:literal) => {
        [Begin($who), Add($who, vec![($page, 9)]), Commit($who)]
    };
}

#[test]
fn what_was_aborted_stays_so() {
    every_setup(
        &[],
        &[
            &[
                Begin(1),
                Begin(2),
                Add(1, vec![(0, 0), (1, 0)]),
                Add(2, vec![(1, 0)]),
            ][..],
            &[Add(1, vec![(1, 0), (2, 0)]), Commit(2), Abort(1)],
            &winner!(3, 2),
            &[Begin(4), Add(4, vec![(0, 0)]), Abort(4)],
            &winner!(5, 0),
        ]
        .concat(),
    );
}

#[test]
fn another_transaction_commits_in_the_middle_of_an_abort() {
    // It takes the compensations so far to the disk: the rest remains to be done.
    let loser = [
        Begin(1),
        Add(1, vec![(0, 0), (1, 0)]),
        Add(1, vec![(1, 0), (2, 0)]),
        Add(1, vec![(2, 0), (3, 0)]),
    ];
    for nth in 0..3 {
        // In the middle of the compensation with this number; it touches the compensated record.
        let beside = if nth == 2 {
            winner!(3, 5)
        } else {
            winner!(3, 3)
        };
        let abort = During(Box::new(Abort(1)), nth, beside.into());
        let steps = [&loser[..], &winner!(2, 1), &[abort], &winner!(4, 0)].concat();
        every_setup_long(&[], &steps, 2);
    }
}

#[test]
fn compensations_reach_the_log_in_their_order() {
    // An entry is made, used, and both are in the log by a commit of transaction 2. The abort undoes the use, which
    // reads the directory, then the entry. While it is at work in page 5, transaction 3 commits a change of the
    // directory. If that took the removal of the entry with it, but not the compensation of its use, recovery would
    // not find the entry.
    let steps = [
        &[
            Begin(1),
            Add(1, vec![(5, 1)]),
            Insert(1, 0, (0, 0)),
            AddThrough(1, 0),
        ][..],
        &[Begin(2), Insert(2, 1, (1, 1)), Commit(2)],
        &[During(
            Box::new(Abort(1)),
            0,
            vec![Begin(3), Insert(3, 2, (1, 2)), Commit(3)],
        )],
        &winner!(4, 0),
    ]
    .concat();
    every_setup(&[], &steps);
}

#[test]
fn an_abort_and_a_restart_of_what_it_undid() {
    let attempt = |who| {
        [
            Begin(who),
            Push(who, 0, who),
            Add(who, vec![(0, 0), (1, 0)]),
            Push(who, 0, who),
        ]
    };
    let steps = [
        &attempt(1)[..],
        &winner!(2, 0),
        &[Abort(1)],
        &attempt(3),
        &winner!(4, 1),
        &[Abort(3)],
        &attempt(5),
        &[Commit(5)],
    ]
    .concat();
    every_setup(&[], &steps);
}
