//! Operations of one transaction in parallel.

use super::schedule::Step::*;
use super::world::{EACH, every_setup};
use sardonyx_base::random::stride;

#[test]
fn siblings_end_in_another_order_than_they_began() {
    // The first is in the middle of its work while two others run and end; so it ends last.
    let explored = every_setup(
        &[],
        &[
            Begin(1),
            During(
                Box::new(Add(1, vec![(0, 0), (1, 0)])),
                0,
                vec![Add(1, vec![(2, 0), (3, 0)]), Add(1, vec![(3, 0), (4, 0)])],
            ),
            Begin(2),
            Add(2, vec![(1, 0), (3, 0)]),
            Commit(2),
            During(
                Box::new(Add(1, vec![(5, 0)])),
                0,
                vec![Add(1, vec![(0, 0)])],
            ),
            Begin(3),
            Add(3, vec![(5, 0)]),
            Commit(3),
            Commit(1),
        ],
    );
    let each = stride(EACH) as u64;
    assert!(explored.iter().any(|explored| explored.undone * each > 28));
}

#[test]
fn siblings_are_undone_in_the_reverse_order_of_their_ends() {
    // While the outer one is at work, another appends 1 and 2; the outer one began before and ended
    // after them. The order of the digits shows in which order they are taken off again.
    every_setup(
        &[],
        &[
            Begin(1),
            During(
                Box::new(Add(1, vec![(0, 0)])),
                0,
                vec![Push(1, 0, 1), Add(1, vec![(1, 0)]), Push(1, 0, 2)],
            ),
            Push(1, 0, 3),
            Begin(2),
            Add(2, vec![(0, 0), (1, 0)]),
            Push(2, 1, 4),
            Commit(2),
            Abort(1),
            Begin(3),
            Push(3, 0, 5),
            Commit(3),
        ],
    );
}

#[test]
fn a_sibling_fails_beside_one_that_does_not() {
    every_setup(
        &[],
        &[
            Begin(1),
            Begin(2),
            Add(2, vec![(0, 0), (2, 0)]),
            During(
                Box::new(Fail(1, vec![(0, 0), (1, 0)])),
                0,
                vec![Add(1, vec![(2, 0)]), Commit(2), Fail(1, vec![(2, 0)])],
            ),
            Commit(1),
        ],
    );
}
