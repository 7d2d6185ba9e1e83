//! Random orders of everything, with deaths at any step.

use super::world::World;
use crate::protocol::UpdateStrategy;
use sardonyx_base::seeds::Seeds;

/// The events in a number of seeds.
#[derive(Debug, Default)]
struct Seen {
    committed: u32,
    victims: u32,
    died: u32,
    gave_up: u32,
    asked_for: u64,
    /// Nodes of trees, at the end.
    nodes: u64,
}

fn update(seed: u64) -> UpdateStrategy {
    match seed % 2 {
        0 => UpdateStrategy::Force,
        _ => UpdateStrategy::NoForce,
    }
}

fn explore(seed: u64, kills: bool) -> Seen {
    let world = World::new(seed, 3, update(seed), !seed.is_multiple_of(3));
    explore_in(world, kills, 1500)
}

/// Transactions give up while they wait for a lock or a page, as those that are interrupted.
fn explore_giving_up(seed: u64) -> Seen {
    let mut world = World::new(seed, 3, update(seed), !seed.is_multiple_of(3));
    world.gave_up = Some(0);
    explore_in(world, seed % 4 > 1, 1500)
}

fn explore_rows(seed: u64, kills: bool) -> Seen {
    let world = World::with_rows(seed, update(seed), !seed.is_multiple_of(3));
    explore_in(world, kills, 6000)
}

fn explore_in(mut world: World, kills: bool, steps: u32) -> Seen {
    world.kills = kills;
    for _ in 0..steps {
        world.happen();
    }
    world.kills = false;
    world.come_to_rest();
    world.check_at_rest();
    let mut nodes = 0;
    if world.root.is_some() {
        nodes = world.check_rows().nodes;
    }
    let seen = Seen {
        committed: world.committed,
        victims: world.victims,
        died: world.died,
        gave_up: world.gave_up.unwrap_or_default(),
        asked_for: world.asked_for,
        nodes,
    };
    world.check_reopened();
    seen
}

/// Explores seeds. Unless it is one alone, the runs come upon enough.
fn explore_all(seeds: Seeds, explored: impl Fn(u64) -> Seen, is_enough: impl Fn(&Seen) -> bool) {
    let mut all = Seen::default();
    seeds.explore(|seed| {
        let seen = explored(seed);
        all.nodes += seen.nodes;
        all.committed += seen.committed;
        all.victims += seen.victims;
        all.died += seen.died;
        all.gave_up += seen.gave_up;
        all.asked_for += seen.asked_for;
    });
    println!("{all:?}");
    assert!(seeds.is_replay() || is_enough(&all), "{all:?}");
}

#[test]
fn every_grant_is_of_the_newest_version_and_storage_has_the_truth() {
    explore_all(
        Seeds::new(0, 60),
        |seed| explore(seed, false),
        |seen| seen.committed > 800 && seen.victims > 20,
    );
}

#[test]
fn i9_nodes_that_die_at_any_step_lose_nothing_published_and_leave_nothing_half() {
    explore_all(
        Seeds::new(1000, 120),
        |seed| explore(seed, true),
        |seen| seen.committed > 1000 && seen.died > 400,
    );
}

#[test]
fn transactions_that_give_up_while_they_wait_leave_nothing_behind() {
    explore_all(Seeds::new(3000, 60), explore_giving_up, |seen| {
        seen.committed > 500 && seen.gave_up > 300
    });
}

#[test]
fn rows_are_those_of_committed_transactions_in_every_order() {
    explore_all(
        Seeds::new(0, 12),
        |seed| explore_rows(seed, false),
        |seen| seen.committed > 150 && seen.victims > 20 && seen.nodes > 12 * 5,
    );
}

#[test]
fn i9_rows_are_those_of_committed_transactions_whoever_dies_at_any_step() {
    explore_all(
        Seeds::new(2000, 24),
        |seed| explore_rows(seed, true),
        |seen| seen.committed > 250 && seen.died > 100,
    );
}

/// The same with more seeds: `cargo test --release -p sardonyx-sharing node::tests::exploration -- --ignored`.
#[test]
#[ignore = "takes minutes"]
fn i9_many_seeds_of_rows() {
    let seeds = Seeds::new(200_000, 4_000);
    let died = 2 * seeds.count() as u32;
    explore_all(
        seeds,
        |seed| explore_rows(seed, true),
        |seen| seen.died > died,
    );
}

/// A copy that the machine knew was replaced before it was granted.
#[test]
fn a_copy_that_was_found_stays_until_it_is_granted() {
    explore(101_745, true);
}

/// The same with more seeds: `cargo test --release -p sardonyx-sharing node::tests::exploration -- --ignored`.
#[test]
#[ignore = "takes minutes"]
fn i9_many_seeds() {
    let seeds = Seeds::new(100_000, 40_000);
    let died = 2 * seeds.count() as u32;
    explore_all(seeds, |seed| explore(seed, true), |seen| seen.died > died);
}
