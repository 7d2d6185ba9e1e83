//! Spheres that carry operations of unfinished transactions, and pages on which a subtransaction is at work while they
//! are written. The rules of spheres must hold for all strategies.

use super::schedule::Step::*;
use super::world::every_setup;

#[test]
fn a_commit_takes_operations_of_others_with_it() {
    // By way of the shared pages 1, 2, 3 the sphere of transaction 4 is everything.
    let explored = every_setup(
        &[],
        &[
            Begin(1),
            Begin(2),
            Begin(3),
            Begin(4),
            Add(1, vec![(0, 0), (1, 0)]),
            Add(2, vec![(1, 0), (2, 0)]),
            Add(3, vec![(2, 0), (3, 0)]),
            Add(4, vec![(3, 0), (4, 0)]),
            Commit(4),
            Add(3, vec![(5, 0)]),
            Commit(3),
            Add(1, vec![(0, 0)]),
            Commit(1),
        ],
    );
    assert!(explored.iter().any(|explored| explored.undone > 0));
}

#[test]
fn a_commit_after_everything_was_written_with_others() {
    // Transaction 1 has nothing left to write, but must be committed all the same.
    every_setup(
        &[],
        &[
            Begin(1),
            Begin(2),
            Add(1, vec![(0, 0), (1, 0)]),
            Add(2, vec![(1, 0)]),
            Commit(2),
            Commit(1),
            Begin(3),
            Add(3, vec![(1, 0)]),
            Commit(3),
        ],
    );
}

#[test]
fn what_was_read_of_others_is_written_with_them() {
    // Transaction 1 lets the entry of an empty record lead to another place; transaction 2 adds
    // there, and changes no page that transaction 1 has changed.
    let adds = [
        Begin(1),
        Begin(2),
        Add(1, vec![(0, 0)]),
        Relocate(1, 0, (1, 1)),
        AddThrough(2, 0),
        Commit(2),
        AddThrough(1, 0),
        Begin(3),
        LookAndAdd(3, 0, vec![(4, 0)]),
        Commit(3),
        Commit(1),
    ];
    every_setup(&[Begin(1), Insert(1, 0, (0, 0)), Commit(1)], &adds);
}

#[test]
fn a_page_on_which_another_is_at_work() {
    // While transaction 2 is in the middle of page 1, transaction 1 commits its change of it: the page is written
    // without the half of the operation.
    let commit_during = |outer| {
        [
            Begin(1),
            Begin(2),
            Add(1, vec![(0, 0), (1, 0)]),
            During(Box::new(outer), 0, vec![Commit(1), Flush]),
            Begin(3),
            Add(3, vec![(5, 0)]),
            Commit(3),
            Add(2, vec![(1, 1)]),
            Commit(2),
        ]
    };
    every_setup(&[], &commit_during(Add(2, vec![(1, 0), (2, 0)])));
    every_setup(&[], &commit_during(Fail(2, vec![(1, 0), (2, 0)])));
}

#[test]
fn a_page_on_which_a_compensation_is_at_work() {
    every_setup(
        &[],
        &[
            Begin(1),
            Begin(2),
            Add(2, vec![(1, 0), (2, 0)]),
            Add(1, vec![(0, 0), (1, 0)]),
            Add(2, vec![(1, 0), (3, 0)]),
            During(Box::new(Abort(2)), 0, vec![Commit(1), Flush]),
            Begin(3),
            Add(3, vec![(2, 0)]),
            Commit(3),
        ],
    );
}
