//! Small schedules, crashed at every step: operations of several transactions on the same pages.

use super::schedule::Step::*;
use super::world::{EACH, every_setup};
use sardonyx_base::random::stride;

#[test]
fn two_transactions_on_the_same_pages() {
    let explored = every_setup(
        &[],
        &[
            Begin(1),
            Begin(2),
            Add(1, vec![(0, 0), (1, 0)]),
            Add(2, vec![(1, 0), (2, 0)]),
            Add(1, vec![(2, 0), (3, 0)]),
            Commit(2),
            Add(1, vec![(0, 0), (4, 0)]),
            Commit(1),
        ],
    );
    assert!(explored.iter().any(|explored| explored.undone > 0));
}

#[test]
fn an_operation_that_fails_is_undone_alone() {
    every_setup(
        &[],
        &[
            Begin(1),
            Begin(2),
            Add(1, vec![(0, 0), (1, 0)]),
            Fail(2, vec![(1, 0), (2, 0)]),
            Fail(1, vec![(0, 0), (1, 0), (3, 3)]),
            Add(2, vec![(1, 0), (2, 0)]),
            Commit(1),
            Fail(2, vec![(1, 0), (2, 0)]),
            Commit(2),
        ],
    );
}

#[test]
fn order_is_kept_where_operations_do_not_commute() {
    // Transaction 2 is undone: the digits that it appended are taken off in the reverse order, or
    // the inverse fails.
    every_setup(
        &[],
        &[
            Begin(1),
            Begin(2),
            Push(1, 0, 1),
            Push(2, 1, 2),
            Push(1, 0, 3),
            Push(2, 1, 4),
            Add(2, vec![(0, 0)]),
            Push(2, 1, 5),
            Add(1, vec![(0, 0)]),
            Commit(1),
            Abort(2),
            Begin(3),
            Push(3, 1, 6),
            Push(3, 0, 7),
            Commit(3),
        ],
    );
}

#[test]
fn a_record_that_another_transaction_moves() {
    // Inverses find the record where it is by then.
    let explored = every_setup(
        &[
            Begin(1),
            Insert(1, 0, (0, 0)),
            Insert(1, 1, (0, 1)),
            Commit(1),
        ],
        &[
            Begin(1),
            Begin(2),
            AddThrough(1, 0),
            Relocate(2, 0, (1, 5)),
            AddThrough(2, 0),
            Relocate(1, 1, (1, 6)),
            AddThrough(2, 1),
            Commit(2),
            AddThrough(1, 0),
            Begin(3),
            Relocate(3, 0, (0, 7)),
            Commit(3),
            Abort(1),
        ],
    );
    assert!(explored.iter().any(|explored| explored.undone > 0));
}

#[test]
fn a_long_loser_among_short_winners() {
    let mut steps = vec![Begin(1)];
    for n in 0..6 {
        let who = 2 + n as u8;
        steps.extend([
            Add(1, vec![(n, 0), ((n + 1) % 6, 0)]),
            Begin(who),
            Add(who, vec![(n, 0), (n, 1)]),
            Commit(who),
        ]);
    }
    let explored = every_setup(&[], &steps);
    let each = stride(EACH) as u64;
    assert!(explored.iter().any(|explored| explored.undone * each > 140));
}
