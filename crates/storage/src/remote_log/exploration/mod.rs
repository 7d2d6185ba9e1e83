//! Exploration of a remote log. Owners are stopped, killed and restarted; followers read. The store loses answers, does
//! requests twice or much later, shows old lists, damages answers. Meanwhile a log's beginning is deleted.
//!
//! The checker knows the first creation under each number, and the acknowledgements to clients. A process that claims
//! the log has all of it, in order, once. No epoch acknowledges an entry that a later one lacks. An entry read is the
//! one created first. Each rule of [`super`] is left out once, and that is found.
//!
//! A failure prints the seed. `SARDONYX_SEED=… cargo test -p sardonyx-storage --lib remote_log::exploration` replays
//! it alone; `SARDONYX_SEEDS=40000 …` goes further.

mod checker;
mod process;
mod store;
mod world;

use super::planted::{PLANTED, Planted};
use checker::Seen;
use sardonyx_base::seeds::{Seeds, first_failure};
use world::World;

const STEPS: u64 = 1200;

fn run(seed: u64, kill_at: Option<u64>, overwrites: bool) -> World {
    let mut world = World::new(seed);
    world.kill_at = kill_at;
    world.store.overwrites = overwrites;
    world.run(STEPS);
    world
}

fn explore(seeds: &Seeds) -> Seen {
    let mut seen = Seen::default();
    let explore = |seed| {
        let world = run(seed, None, false);
        (world.fingerprint, world.seen)
    };
    seeds.explore_alike(64, explore, |run| seen.add(&run));
    println!("{seen:?}");
    seen
}

#[test]
fn i12_hundreds_of_seeds() {
    let seeds = Seeds::new(0, 300);
    let seen = explore(&seeds);
    if !seeds.is_replay() {
        // The runs come upon everything that the rules are for.
        let least = [
            seen.acknowledged / 10,
            seen.claims,
            seen.fenced,
            seen.behind,
            seen.unknown,
            seen.trims,
            // Rarer: a store is made again in every fourth run or so.
            seen.created_again * 2,
            seen.old_lists,
            seen.own_found,
            seen.kills,
            seen.late,
            seen.damaged,
        ];
        assert!(
            least.iter().all(|seen| *seen > seeds.count() / 4),
            "{seen:?}"
        );
    }
}

#[test]
#[ignore = "takes minutes"]
fn i12_many_seeds() {
    explore(&Seeds::new(0, 40_000));
}

#[test]
fn i12_killed_at_every_step() {
    Seeds::new(0, 2).explore(|seed| {
        for step in 1..=120 {
            run(seed, Some(5 * step + seed), false);
        }
    });
}

/// The seeds until this error is found.
fn found_after(planted: Option<Planted>, overwrites: bool) -> Option<(u64, String)> {
    PLANTED.set(planted);
    let found = first_failure(0..500, |seed| _ = run(seed, None, overwrites));
    PLANTED.set(None);
    found
}

#[test]
fn each_planted_error_is_found() {
    let mut all = vec![("plain put".to_string(), found_after(None, true))];
    for planted in [
        Planted::NoFence,
        Planted::NoReadBack,
        Planted::SilenceIsSuccess,
        Planted::FencesCollected,
        Planted::ListIsEnd,
        Planted::NoBoundaryAfterFence,
        Planted::FencesBelieved,
        Planted::DeletedFirst,
        Planted::DamageBelieved,
    ] {
        all.push((format!("{planted:?}"), found_after(Some(planted), false)));
    }
    for (planted, found) in &all {
        println!("{planted}: {found:?}");
    }
    let missed: Vec<_> = all.iter().filter(|(_, found)| found.is_none()).collect();
    assert!(missed.is_empty(), "{missed:?}");
}
