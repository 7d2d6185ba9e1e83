//! Deadlocks over several nodes: found from either side, at the cost of the youngest member only.

use super::cost::sum;
use super::{READ, WRITE, gem, primary_copy, progress, run, waits};
use crate::world::{Progress, World};
use sardonyx_sharing::protocol::{Outcome, PageId, Psn, UpdateStrategy};

/// Two transactions of different nodes that wait for each other; the younger one is the victim, whichever suspects the
/// deadlock.
fn deadlock(mut world: World, suspect_older: bool) -> World {
    let older = run(&mut world, 0, &[(1, WRITE)]);
    let filler = run(&mut world, 1, &[]);
    world.advance(filler);
    let younger = run(&mut world, 1, &[(2, WRITE)]);
    assert!(older.age() < younger.age());
    for (transaction, page) in [(older, 2), (younger, 1)] {
        let state = world
            .node(transaction.node())
            .transactions
            .get_mut(&transaction);
        state.expect("it runs").steps.push((PageId(page), WRITE));
        world.advance(transaction);
        world.settle();
        assert!(waits(&mut world, transaction));
    }
    world.suspect(if suspect_older { older } else { younger });
    world.settle();
    assert_eq!(world.victims, 1);
    assert_eq!(
        progress(&mut world, younger),
        None,
        "the younger one is the victim"
    );
    assert_eq!(progress(&mut world, older), Some(Progress::Ready));
    world.advance(older);
    world.settle();
    world.check_at_rest();
    assert_eq!(world.counters(1).deadlocks, 1);
    world
}

#[test]
fn gem_a_deadlock_over_two_nodes_costs_its_younger_member() {
    for suspect_older in [false, true] {
        let world = deadlock(gem(UpdateStrategy::NoForce, false), suspect_older);
        assert_eq!(sum(&world, |counters| counters.probes), 1);
    }
}

#[test]
fn primary_copy_a_deadlock_over_three_nodes_costs_its_younger_member() {
    for suspect_older in [false, true] {
        deadlock(primary_copy(UpdateStrategy::NoForce, false), suspect_older);
        deadlock(primary_copy(UpdateStrategy::NoForce, true), suspect_older);
    }
}

/// Two readers of one page on different nodes that both want to write it.
fn two_upgraders(mut world: World) {
    let older = run(&mut world, 0, &[(1, READ)]);
    let filler = run(&mut world, 2, &[]);
    world.advance(filler);
    let younger = run(&mut world, 2, &[(1, READ)]);
    for transaction in [older, younger] {
        let state = world
            .node(transaction.node())
            .transactions
            .get_mut(&transaction);
        state.expect("it runs").steps.push((PageId(1), WRITE));
        world.advance(transaction);
        world.settle();
        assert!(waits(&mut world, transaction));
    }
    world.suspect(older);
    world.settle();
    assert_eq!(progress(&mut world, younger), None);
    assert_eq!(progress(&mut world, older), Some(Progress::Ready));
    world.advance(older);
    world.settle();
    world.check_at_rest();
    assert_eq!(world.newest(PageId(1)).psn, Psn(1));
}

#[test]
fn two_readers_that_want_to_write_are_a_deadlock() {
    for authorised in [false, true] {
        two_upgraders(gem(UpdateStrategy::NoForce, authorised));
        two_upgraders(primary_copy(UpdateStrategy::NoForce, authorised));
    }
}

#[test]
fn a_transaction_that_waits_without_a_deadlock_is_no_victim() {
    for mut world in [
        gem(UpdateStrategy::NoForce, true),
        primary_copy(UpdateStrategy::NoForce, true),
    ] {
        let holder = run(&mut world, 0, &[(1, READ)]);
        let writer = run(&mut world, 2, &[(1, WRITE)]);
        assert!(waits(&mut world, writer));
        world.suspect(writer);
        world.suspect(holder);
        world.settle();
        assert_eq!(world.victims, 0);
        world.end(holder, Outcome::Aborted);
        world.settle();
        assert_eq!(progress(&mut world, writer), Some(Progress::Ready));
    }
}
