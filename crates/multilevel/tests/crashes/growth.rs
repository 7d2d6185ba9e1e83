//! Areas that grow, the undo area among them; and checkpoints.

use super::schedule::Step::{self, *};
use super::world::every_setup;

#[test]
fn pages_added_by_an_unfinished_transaction() {
    // It stays grown; what stands in the new pages is undone or moved on like anything else.
    every_setup(
        &[
            Begin(1),
            Insert(1, 0, (0, 0)),
            Insert(1, 1, (0, 1)),
            Commit(1),
        ],
        &[
            Begin(1),
            AddThrough(1, 0),
            Relocate(1, 0, (4, 0)),
            AddThrough(1, 0),
            Begin(2),
            AddThrough(2, 1),
            Relocate(2, 1, (7, 1)),
            Commit(2),
            AddThrough(1, 1),
            Begin(3),
            Relocate(3, 0, (11, 2)),
            Commit(3),
            Abort(1),
            Begin(4),
            AddThrough(4, 0),
            Commit(4),
        ],
    );
}

/// Operations with inverses of some 250 bytes, so that the undo area grows beyond its first pages.
fn many(who: u8) -> Vec<Step> {
    let places: Vec<_> = (0..30).map(|n| (n % 6, n / 6)).collect();
    (0..16).map(|_| Add(who, places.clone())).collect()
}

#[test]
fn the_undo_area_grows() {
    let short = |who| [Begin(who), Add(who, vec![(0, 7)]), Commit(who)];
    let steps = [
        &[Begin(1), Begin(2)][..],
        &many(1),
        &short(3),
        &many(2)[..12],
        &short(4),
        &[Abort(1)],
        &short(5),
        &[Commit(2)],
    ]
    .concat();
    let explored = every_setup(&[], &steps);
    assert!(explored.iter().any(|explored| explored.undone > 50));
}

#[test]
fn a_checkpoint_in_the_middle_of_transactions() {
    // What is to be undone is then read from the backup, not from the log.
    let explored = every_setup(
        &[],
        &[
            Begin(1),
            Begin(2),
            Add(1, vec![(0, 0), (1, 0)]),
            Add(2, vec![(1, 0), (2, 0)]),
            Push(1, 0, 1),
            Commit(2),
            Checkpoint,
            Begin(3),
            Add(3, vec![(0, 0)]),
            Add(1, vec![(0, 1), (3, 0)]),
            Commit(3),
            Checkpoint,
            Abort(1),
            Begin(4),
            Add(4, vec![(0, 0)]),
            Push(4, 0, 2),
            Commit(4),
            Checkpoint,
        ],
    );
    assert!(explored.iter().any(|explored| explored.undone > 0));
}
