//! Areas that grow, the undo area among them; and checkpoints.

use super::schedule::Step::{self, *};
use super::world::{self, EACH, Setup, every_setup, every_setup_long, live};
use sardonyx_base::random::stride;
use sardonyx_multilevel::{PageLog, Strategy};
use sardonyx_storage::crashes::{End, Walk};

#[test]
fn pages_added_by_an_unfinished_transaction() {
    // It stays grown; the content of the new pages is undone or moved on like anything else.
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

/// An operation whose inverse has a thousand bytes.
fn long(who: u8) -> Step {
    Add(who, (0..120).map(|n| (n % 2, n / 2)).collect())
}

#[test]
fn the_undo_area_grows() {
    let short = |who| [Begin(who), Add(who, vec![(0, 7)]), Commit(who)];
    let steps = [
        &[Begin(1), Begin(2)][..],
        &[long(1), long(1), long(1), long(2)],
        &short(3),
        &[long(2), long(1), long(1), long(2), long(2)],
        &short(4),
        &[Abort(1)],
        &short(5),
        &[long(2), Commit(2)],
    ]
    .concat();
    let explored = every_setup_long(&[], &steps, 5);
    assert!(
        explored
            .iter()
            .any(|explored| explored.undone * stride(EACH) as u64 > 50)
    );
}

#[test]
fn recovery_makes_room_in_a_full_log() {
    // The undo writes as much again as the log holds. With at most four segments of 144 KiB, 40 operations with
    // after-images of six pages each are undone.
    let places: Vec<_> = (0..6).map(|page| (page, 0)).collect();
    let steps: Vec<_> = (0..40).map(|_| Add(1, places.clone())).collect();
    for strategy in [Strategy::ForcedSubtransactions, Strategy::OrderedLog] {
        let crash = |seed| {
            let mut world = world::new(Setup {
                strategy,
                page_log: PageLog::AfterImages,
                seed,
            });
            world.restart(End::Crash(seed * 5));
            let begin = [&[Begin(1)], &steps[..]].concat();
            live(&mut world, &begin);
            let crashed = world.disk.has_crashed();
            world.restart(End::Crash(3));
            world.check();
            world.restart(End::Cut);
            world.check();
            crashed
        };
        Walk::each(3).explore(&format!("{strategy:?}"), crash);
    }
}

#[test]
fn a_checkpoint_in_the_middle_of_transactions() {
    // The entries to undo are then read from the backup, not from the log.
    let explored = every_setup_long(
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
        3,
    );
    assert!(explored.iter().any(|explored| explored.undone > 0));
}
