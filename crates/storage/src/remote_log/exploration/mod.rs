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
use crate::exploration::seeds;
use checker::Seen;
use sardonyx_base::random::asked;
use std::panic::{AssertUnwindSafe, catch_unwind};
use world::World;

const STEPS: u64 = 1200;

/// Prints the command that repeats a run, if it panics.
struct Replay {
    seed: u64,
    kill_at: Option<u64>,
    planted: bool,
}

impl Drop for Replay {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.planted {
            let (seed, kill_at) = (self.seed, self.kill_at);
            eprintln!("replay with SARDONYX_SEED={seed} (killed at {kill_at:?})");
        }
    }
}

fn run(seed: u64, kill_at: Option<u64>, overwrites: bool) -> World {
    let planted = overwrites || PLANTED.get().is_some();
    let _replay = Replay {
        seed,
        kill_at,
        planted,
    };
    let mut world = World::new(seed);
    world.kill_at = kill_at;
    world.store.overwrites = overwrites;
    world.run(STEPS);
    world
}

fn explore(seeds: std::ops::Range<u64>) -> Seen {
    let seeds = match asked("SARDONYX_SEED") {
        Some(seed) => seed..seed + 1,
        None => seeds,
    };
    let mut seen = Seen::default();
    for seed in seeds {
        let world = run(seed, None, false);
        if seed % 64 == 0 {
            let again = run(seed, None, false);
            assert_eq!(
                world.fingerprint, again.fingerprint,
                "the same seed, another run"
            );
        }
        seen.add(&world.seen);
    }
    println!("{seen:?}");
    seen
}

#[test]
fn i12_hundreds_of_seeds() {
    let seeds = seeds(300);
    let seen = explore(0..seeds);
    if asked("SARDONYX_SEED").is_none() {
        // The runs come upon everything that the rules are for.
        let least = [
            seen.acknowledged / 10,
            seen.claims,
            seen.fenced,
            seen.behind,
            seen.unknown,
            seen.trims,
            seen.created_again,
            seen.old_lists,
            seen.own_found,
            seen.kills,
            seen.late,
            seen.damaged,
        ];
        assert!(least.iter().all(|seen| *seen > seeds / 4), "{seen:?}");
    }
}

#[test]
#[ignore = "takes minutes"]
fn i12_many_seeds() {
    explore(0..seeds(40_000));
}

#[test]
fn i12_killed_at_every_step() {
    for seed in 0..2 {
        for step in 1..=120 {
            run(seed, Some(5 * step + seed), false);
        }
    }
}

/// The seeds until this error is found.
fn found_after(planted: Option<Planted>, overwrites: bool) -> Option<(u64, String)> {
    PLANTED.set(planted);
    let found = (0..500).find_map(|seed| {
        let outcome = catch_unwind(AssertUnwindSafe(|| run(seed, None, overwrites)));
        let panic = outcome.err()?;
        let text = panic.downcast_ref::<String>().cloned();
        Some((
            seed,
            text.or_else(|| Some((*panic.downcast_ref::<&str>()?).into()))?,
        ))
    });
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
