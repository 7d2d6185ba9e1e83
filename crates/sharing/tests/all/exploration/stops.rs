//! Nodes that shut each other out: dead, stopped and woken up at any step, or only believed to have failed.

use super::run::{Case, Hazard, Script, run};
use super::{
    PageTransfer, SEEDS, UpdateStrategy, authorised_without_copy, explore_case, explore_with, gem,
    primary_copy, remembering, stored_at_commit,
};
use crate::world::{Keeper, Machines, Planted, World};
use sardonyx_sharing::protocol::{LockMode, NodeId, PageId, Psn, TransactionId, membership};
use std::panic::{AssertUnwindSafe, catch_unwind};

fn machines() -> [Machines; 4] {
    [
        gem(UpdateStrategy::NoForce, true),
        gem(UpdateStrategy::Force, true),
        remembering(PageTransfer::Message, false),
        remembering(PageTransfer::Gem, true),
    ]
}

#[test]
fn nodes_that_fail_stop_or_are_slow_are_shut_out_and_recovered() {
    for machines in machines() {
        explore_with(machines, Hazard::Stops, SEEDS);
    }
}

/// Runs a few seeds once for each step at which something can happen to a node. Returns the number of runs, and that
/// for all steps.
fn at_every_step(script: Script) -> u64 {
    let keepers = [Keeper::Checkpointer, Keeper::Nodes].into_iter().cycle();
    let close = at_every_step_of(&machines(), keepers, 1, script);
    let keepers = std::iter::repeat(Keeper::Checkpointer);
    close.min(4 * at_every_step_of(&loose_machines()[1..3], keepers, 2, script))
}

fn at_every_step_of(
    machines: &[Machines],
    keepers: impl Iterator<Item = Keeper>,
    step: usize,
    script: Script,
) -> u64 {
    // Each machine stops at other steps, unless the environment asks for more.
    let each = match sardonyx_base::random::asked("SARDONYX_SEEDS") {
        Some(_) => 1,
        None => 5,
    };
    let mut runs = 0;
    let cases = machines.iter().copied().zip(keepers);
    for (seed, (machines, keeper)) in cases.enumerate() {
        for at in (seed % each..250).step_by(step * each) {
            let script = Script {
                at,
                node: at as u16,
                ..script
            };
            let case = Case {
                machines,
                hazard: Hazard::Scripted(script),
                keeper,
                planted: None,
            };
            println!("{case:?}, seed {seed}");
            let world = run(case, seed as u64, false);
            runs += each as u64 * u64::from(!world.failed.is_empty());
        }
    }
    runs
}

const SCRIPT: Script = Script {
    at: 0,
    node: 0,
    dies: false,
    suspected_after: 10,
    coordinator_dies_after: None,
    wakes_after: usize::MAX,
};

#[test]
fn a_node_that_dies_at_any_step() {
    let script = Script {
        dies: true,
        ..SCRIPT
    };
    assert!(at_every_step(script) > 600);
}

#[test]
fn a_node_that_dies_at_any_step_and_the_one_that_recovers_it() {
    for after in [5, 15, 25, 35, 50] {
        let script = Script {
            dies: true,
            coordinator_dies_after: Some(after),
            ..SCRIPT
        };
        assert!(at_every_step(script) > 600);
    }
}

#[test]
fn a_node_that_stops_at_any_step_and_goes_on_when_it_is_shut_out() {
    for wakes_after in [12, 20, 30, 45, 60, 90] {
        let script = Script {
            wakes_after,
            ..SCRIPT
        };
        assert!(at_every_step(script) > 600);
    }
}

#[test]
fn a_coordinator_that_stops_at_any_step_of_a_recovery() {
    for suspected_after in [0, 1, 2, 5] {
        let script = Script {
            suspected_after,
            wakes_after: 40,
            coordinator_dies_after: Some(20),
            ..SCRIPT
        };
        assert!(at_every_step(script) > 600);
    }
}

const PAGE: u64 = 7;

/// Lets a new transaction have a lock on the page; the next `advance` commits it.
fn locked(world: &mut World, node: u16, mode: LockMode) -> TransactionId {
    let transaction = world.begin(node, &[(PAGE, mode)]);
    world.advance(transaction);
    world.settle();
    transaction
}

fn commit(world: &mut World, node: u16, mode: LockMode) {
    let transaction = locked(world, node, mode);
    world.advance(transaction);
    world.settle();
}

/// Node 1 does something with the page and stops; the others shut it out, and node 0 changes the page. Then node 1
/// goes on.
fn overtaken(
    machines: Machines,
    mode: LockMode,
    planted: Option<Planted>,
) -> (World, TransactionId) {
    let mut world = World::new(machines, 3);
    if matches!(machines, Machines::PrimaryCopy(_)) {
        world.logs.keep_by_checkpointer(usize::MAX);
    }
    world.let_nodes_find_out(8, false);
    world.settle();
    world.logs.planted = planted;
    commit(&mut world, 2, LockMode::Write);
    let before = locked(&mut world, 1, mode);
    if mode == LockMode::Read {
        world.advance(before);
        world.settle();
    }
    world.stopped.insert(NodeId(1));
    world.tell_membership(NodeId(0), membership::Input::Suspect(NodeId(1)));
    world.settle();
    commit(&mut world, 0, LockMode::Write);
    assert_eq!(world.newest(PageId(PAGE)).psn, Psn(2));
    world.stopped.clear();
    (world, before)
}

#[test]
fn a_writer_that_wakes_up_after_its_log_was_closed_has_not_committed() {
    a_late_writer(gem(UpdateStrategy::NoForce, true));
    for machines in loose_machines() {
        a_late_writer(machines);
    }
}

fn a_late_writer(machines: Machines) {
    let (mut world, late) = overtaken(machines, LockMode::Write, None);
    world.advance(late);
    assert!(world.dead.contains(&NodeId(1)));
    world.settle();
    world.check_at_rest();
    assert_eq!(world.newest(PageId(PAGE)).psn, Psn(2));
    let (mut world, late) = overtaken(machines, LockMode::Write, Some(Planted::NoFence));
    let unfenced = AssertUnwindSafe(|| world.advance(late));
    assert!(catch_unwind(unfenced).is_err(), "it commits beside node 0");
}

#[test]
fn a_reader_that_wakes_up_after_its_node_was_shut_out_is_not_acknowledged() {
    a_late_reader(gem(UpdateStrategy::NoForce, true));
    a_late_reader(authorised_without_copy(UpdateStrategy::NoForce));
}

fn a_late_reader(machines: Machines) {
    let run = |planted| {
        let (mut world, _) = overtaken(machines, LockMode::Read, planted);
        // It has a read authorisation and the page, as far as it knows, and asks no other node.
        let reader = locked(&mut world, 1, LockMode::Read);
        assert_eq!(world.ready(), [reader]);
        world.advance(reader);
        assert!(world.dead.contains(&NodeId(1)));
        world.settle();
        world.check_at_rest();
    };
    run(None);
    let unasked = || run(Some(Planted::NoLease));
    assert!(
        catch_unwind(unasked).is_err(),
        "it is told what is not so any more"
    );
}

fn loose_machines() -> [Machines; 5] {
    [
        primary_copy(UpdateStrategy::NoForce, true, false),
        primary_copy(UpdateStrategy::Force, true, true),
        primary_copy(UpdateStrategy::NoForce, false, true),
        authorised_without_copy(UpdateStrategy::NoForce),
        stored_at_commit(),
    ]
}

#[test]
fn authorities_that_fail_stop_join_and_leave() {
    for machines in loose_machines() {
        let case = Case {
            machines,
            hazard: Hazard::Stops,
            keeper: Keeper::Checkpointer,
            planted: None,
        };
        explore_case(case, SEEDS);
    }
}
