//! Thousands of seeded runs of the toy shell, in which anything may happen between any two steps.
//!
//! In each run transactions of several nodes read and change a few pages. The world checks at every step: mutual
//! exclusion; every grant names the newest committed version and its right place; no update is lost; storage never
//! goes backwards. At the end nothing waits (deadlocks are found as long as waiting transactions are suspected), and
//! no lock is left. A backup and all logs together have the committed state, as they have at any moment at which
//! everything fails. A run repeated has the same outputs (I11).
//!
//! Each case is run twice: with nodes that write pages, and with a checkpointer that merges the nodes' logs.
//!
//! A failure prints the seed; `SARDONYX_SEED=… cargo test -p sardonyx-sharing --test all exploration
//! NAME` runs it alone and prints every step.

mod planted;
mod run;
mod stops;

use crate::world::{Keeper, Machines, World};
use run::{Case, Hazard, run};
use sardonyx_base::seeds::Seeds;
use sardonyx_sharing::protocol::{GemOptions, PageTransfer, PrimaryCopyOptions, UpdateStrategy};

fn explore(machines: Machines, seeds: u64) {
    explore_with(machines, Hazard::None, seeds);
}

/// Explores with pages that the nodes write, and with pages that a checkpointer makes from their logs.
fn explore_with(machines: Machines, hazard: Hazard, seeds: u64) {
    let case = |keeper| Case {
        machines,
        hazard,
        keeper,
        planted: None,
    };
    explore_case(case(Keeper::Nodes), seeds);
    if !hazard.has_page_cache() {
        explore_case(case(Keeper::Checkpointer), seeds);
    }
}

fn explore_case(case: Case, seeds: u64) {
    let seeds = Seeds::new(0, seeds);
    let verbose = seeds.is_replay();
    let mut seen = Seen::default();
    println!("{case:?}");
    let explore = |seed| {
        let world = run(case, seed, verbose);
        (world.fingerprint, world)
    };
    seeds.explore_alike(64, explore, |world| seen.add(&world));
    if verbose {
        return;
    }
    println!("{case:?}: {seen:?}");
    let members = case.hazard.has_membership();
    assert_eq!(seen.failed > 0, case.hazard.nodes_fail() || members);
    assert_eq!(
        seen.fenced > 0 && seen.refused > 0,
        case.hazard == Hazard::Stops
    );
    let merges = case.keeper == Keeper::Checkpointer;
    // With FORCE a version is merged before its lock is released, so only a new checkpointer finds logs out of step.
    let lags = !case.machines.stored_at_commit();
    let waits = merges && lags && case.machines.update() == UpdateStrategy::NoForce;
    assert!(seen.waits_for_other_logs > 0 || !waits);
    assert_eq!(seen.checkpointers > 0, merges);
    assert!(
        seen.committed > seeds.count() && seen.victims > 0 && seen.conflicts > 0,
        "{seen:?}"
    );
}

/// A turn to write that was not passed on; an entry that was being read when a recovery ended, and named the dead
/// node.
#[test]
fn seeds_that_once_found_a_fault() {
    let gem = |page_transfer| {
        Machines::Gem(GemOptions {
            update: UpdateStrategy::NoForce,
            read_authorisation: true,
            page_transfer,
            remembered_entries: true,
        })
    };
    for (machines, hazard, keeper, seed) in [
        (
            gem(PageTransfer::Message),
            Hazard::None,
            Keeper::Checkpointer,
            2795,
        ),
        (
            gem(PageTransfer::Gem),
            Hazard::Failures,
            Keeper::Nodes,
            4990,
        ),
    ] {
        let case = Case {
            machines,
            hazard,
            keeper,
            planted: None,
        };
        println!("{case:?}, seed {seed}");
        run(case, seed, false);
    }
}

/// Counts of the situations that the runs have met, so that a test fails when they do not occur any more.
#[derive(Debug, Default)]
struct Seen {
    committed: u64,
    victims: u64,
    conflicts: u64,
    invalidations: u64,
    waits_for_other_logs: u64,
    checkpointers: u64,
    shut_out: u64,
    fenced: u64,
    refused: u64,
    page_requests: u64,
    page_misses: u64,
    swap_failures: u64,
    authorised: u64,
    revocations: u64,
    probes: u64,
    failed: u64,
}

impl Seen {
    fn add(&mut self, world: &World) {
        self.committed += world.committed;
        self.victims += world.victims;
        self.failed += world.failed.len() as u64;
        self.waits_for_other_logs += world.logs.waited;
        self.checkpointers += world.logs.restarts;
        if let Some(members) = &world.members {
            self.shut_out += members.shut_out;
            self.fenced += members.fenced;
            self.refused += members.refused;
        }
        for node in 0..world.nodes.len() {
            let counters = world.counters(node as u16);
            self.conflicts += counters.conflicts;
            self.invalidations += counters.invalidations;
            self.page_requests += counters.page_requests;
            self.page_misses += counters.page_misses;
            self.swap_failures += counters.swap_failures;
            self.authorised += counters.authorised;
            self.revocations += counters.revocations;
            self.probes += counters.probes;
        }
    }
}

fn gem(update: UpdateStrategy, read_authorisation: bool) -> Machines {
    Machines::Gem(GemOptions {
        update,
        read_authorisation,
        page_transfer: PageTransfer::Message,
        remembered_entries: false,
    })
}

/// NOFORCE with remembered entries and pages as `page_transfer` says.
fn remembering(page_transfer: PageTransfer, read_authorisation: bool) -> Machines {
    Machines::Gem(GemOptions {
        update: UpdateStrategy::NoForce,
        read_authorisation,
        page_transfer,
        remembered_entries: true,
    })
}

fn primary_copy(update: UpdateStrategy, read_optimisation: bool, acknowledge: bool) -> Machines {
    Machines::PrimaryCopy(PrimaryCopyOptions {
        update,
        read_optimisation,
        authorised_without_copy: false,
        acknowledge_release: acknowledge,
        stored_at_commit: false,
    })
}

fn authorised_without_copy(update: UpdateStrategy) -> Machines {
    Machines::PrimaryCopy(PrimaryCopyOptions {
        update,
        read_optimisation: true,
        authorised_without_copy: true,
        acknowledge_release: false,
        stored_at_commit: false,
    })
}

/// As loosely coupled nodes run it: a commit is durable where the pages are.
fn stored_at_commit() -> Machines {
    Machines::PrimaryCopy(PrimaryCopyOptions {
        update: UpdateStrategy::NoForce,
        read_optimisation: true,
        authorised_without_copy: true,
        acknowledge_release: false,
        stored_at_commit: true,
    })
}

#[test]
fn primary_copy_noforce_authorised_without_copy() {
    explore(authorised_without_copy(UpdateStrategy::NoForce), SEEDS);
}

#[test]
fn primary_copy_force_authorised_without_copy() {
    explore(authorised_without_copy(UpdateStrategy::Force), SEEDS);
}

/// The number of seeds that each test runs of each case, unless `SARDONYX_SEEDS` says otherwise.
const SEEDS: u64 = 200;

#[test]
fn gem_noforce() {
    explore(gem(UpdateStrategy::NoForce, false), SEEDS);
}

#[test]
fn gem_force() {
    explore(gem(UpdateStrategy::Force, false), SEEDS);
}

#[test]
fn gem_noforce_authorised() {
    explore(gem(UpdateStrategy::NoForce, true), SEEDS);
}

#[test]
fn gem_force_authorised() {
    explore(gem(UpdateStrategy::Force, true), SEEDS);
}

#[test]
fn gem_noforce_with_failures() {
    explore_with(gem(UpdateStrategy::NoForce, false), Hazard::Failures, SEEDS);
}

#[test]
fn gem_force_with_failures() {
    explore_with(gem(UpdateStrategy::Force, false), Hazard::Failures, SEEDS);
}

#[test]
fn gem_noforce_authorised_with_failures() {
    explore_with(gem(UpdateStrategy::NoForce, true), Hazard::Failures, SEEDS);
}

#[test]
fn gem_force_authorised_with_failures() {
    explore_with(gem(UpdateStrategy::Force, true), Hazard::Failures, SEEDS);
}

#[test]
fn gem_noforce_with_remembered_entries() {
    explore(remembering(PageTransfer::Message, false), SEEDS);
    explore(remembering(PageTransfer::Message, true), SEEDS);
}

#[test]
fn gem_noforce_with_remembered_entries_and_failures() {
    let machines = remembering(PageTransfer::Message, true);
    explore_with(machines, Hazard::Failures, SEEDS);
}

#[test]
fn gem_noforce_across_gem() {
    explore(remembering(PageTransfer::Gem, false), SEEDS);
    explore(remembering(PageTransfer::Gem, true), SEEDS);
}

#[test]
fn gem_noforce_across_gem_with_failures() {
    for authorised in [false, true] {
        let machines = remembering(PageTransfer::Gem, authorised);
        explore_with(machines, Hazard::Failures, SEEDS);
    }
}

#[test]
fn gem_noforce_across_gem_over_a_bad_network() {
    let machines = remembering(PageTransfer::Gem, true);
    explore_with(machines, Hazard::BadNetwork, SEEDS);
}

#[test]
fn gem_with_a_page_cache_in_gem() {
    explore_with(
        remembering(PageTransfer::Gem, false),
        Hazard::PageCache,
        SEEDS,
    );
    explore_with(gem(UpdateStrategy::Force, true), Hazard::PageCache, SEEDS);
}

#[test]
fn gem_with_a_page_cache_in_gem_and_failures() {
    let hazard = Hazard::PageCacheAndFailures;
    explore_with(remembering(PageTransfer::Gem, false), hazard, SEEDS);
    explore_with(gem(UpdateStrategy::Force, false), hazard, SEEDS);
}

/// All ways of GEM locking.
fn gem_machines() -> [Machines; 6] {
    [
        gem(UpdateStrategy::NoForce, false),
        gem(UpdateStrategy::NoForce, true),
        gem(UpdateStrategy::Force, false),
        gem(UpdateStrategy::Force, true),
        remembering(PageTransfer::Message, true),
        remembering(PageTransfer::Gem, false),
    ]
}

#[test]
fn gem_over_entries_in_shared_memory() {
    for machines in gem_machines() {
        explore_with(machines, Hazard::SharedTable, SEEDS / 5);
    }
}

#[test]
fn gem_over_entries_in_shared_memory_with_failures() {
    for machines in gem_machines() {
        explore_with(machines, Hazard::SharedTableAndFailures, SEEDS / 5);
    }
}

#[test]
fn primary_copy_with_a_page_cache_in_gem() {
    let machines = primary_copy(UpdateStrategy::NoForce, true, false);
    explore_with(machines, Hazard::PageCache, SEEDS);
}

#[test]
fn primary_copy_noforce() {
    explore(primary_copy(UpdateStrategy::NoForce, false, false), SEEDS);
}

#[test]
fn primary_copy_force() {
    explore(primary_copy(UpdateStrategy::Force, false, false), SEEDS);
}

#[test]
fn primary_copy_noforce_optimised() {
    explore(primary_copy(UpdateStrategy::NoForce, true, false), SEEDS);
}

#[test]
fn primary_copy_force_optimised() {
    explore(primary_copy(UpdateStrategy::Force, true, false), SEEDS);
}

#[test]
fn gem_over_a_bad_network() {
    explore_with(
        gem(UpdateStrategy::NoForce, true),
        Hazard::BadNetwork,
        SEEDS,
    );
}

#[test]
fn primary_copy_over_a_bad_network() {
    explore_with(
        primary_copy(UpdateStrategy::NoForce, true, false),
        Hazard::BadNetwork,
        SEEDS,
    );
}

#[test]
fn primary_copy_acknowledged() {
    explore(primary_copy(UpdateStrategy::NoForce, false, true), SEEDS);
    explore(primary_copy(UpdateStrategy::NoForce, true, true), SEEDS);
}
