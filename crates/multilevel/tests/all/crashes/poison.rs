//! Disks that fail without a crash: a failed sync of the log closes it (I7). Transactions acknowledged then, and after
//! that, must be there when the database is opened again.

use super::schedule::Step::{self, *};
use super::world::{self, Setup, go_on_until_a_cut, live_on};
use sardonyx_base::random::stride;
use sardonyx_storage::crashes::{End, Stopped};

fn steps() -> Vec<Step> {
    vec![
        Begin(1),
        Begin(2),
        Add(1, vec![(0, 0), (1, 0)]),
        Add(2, vec![(1, 0), (2, 0)]),
        Commit(2),
        Begin(3),
        Add(3, vec![(2, 0), (3, 0)]),
        Add(1, vec![(2, 0)]),
        Abort(3),
        Begin(4),
        Push(4, 0, 1),
        Add(4, vec![(4, 0)]),
        Commit(4),
        Checkpoint,
        Commit(1),
        Begin(5),
        Add(5, vec![(0, 0), (4, 0)]),
        Push(5, 0, 2),
        Commit(5),
    ]
}

/// The steps that are tried after the failure.
fn more() -> Vec<Step> {
    vec![
        Begin(6),
        Add(6, vec![(5, 0)]),
        Commit(6),
        Commit(1),
        Begin(7),
        Push(7, 1, 3),
        Add(7, vec![(5, 0)]),
        Commit(7),
        Abort(3),
        Flush,
    ]
}

/// Lets the disk fail at its operations of a kind in turn, until there are no more: at each fifth one, other ones in
/// each setup, or at all if the environment has `SARDONYX_SEEDS`. The log is to have failed at least so many times in
/// a setup, on average, the database as a whole more often.
fn every(log_failures_min: u64, fault: fn(u64) -> End) {
    let each = stride(5) as u64;
    let (mut failures, mut log_failures) = (0, 0);
    let setups = Setup::all();
    let setups_all = setups.len() as u64;
    for setup in setups {
        let prepared = world::new(setup);
        for nth in (1 + setup.seed % each..).step_by(each as usize) {
            let mut world = prepared.clone();
            world.rename(format!("{setup:?}, {:?}", fault(nth)));
            world.restart(fault(nth));
            let lived = live_on(&mut world, &steps(), &more());
            let Err((Stopped(failure), acknowledged)) = lived else {
                break;
            };
            failures += 1;
            if failure.contains("the log is closed") {
                log_failures += 1;
                assert_eq!(acknowledged, 0, "acknowledged after the log had failed");
            }
            // Reopened on the same machine, which still shows the data that it could not write. It goes on there, and
            // only then the power is cut.
            let mut cut = world.clone();
            go_on_until_a_cut(&mut world);
            cut.restart(End::Cut);
            cut.check();
        }
    }
    let often = failures > log_failures && log_failures * each >= log_failures_min * setups_all;
    assert!(often, "{failures} failures, {log_failures} of the log");
}

#[test]
fn a_failed_sync_is_never_a_success() {
    every(3, End::FailedSync);
}

#[test]
fn a_failed_write_is_never_a_success() {
    // The log is written and made stable by one operation: these are the other files.
    every(0, End::FailedWrite);
}
