//! Thousands of seeded runs of the toy shell, in which anything may happen between any two steps.
//!
//! In each run transactions of several nodes read and change a few pages. Checked at every step, by
//! the world: mutual exclusion; every grant names the newest committed version and is right about
//! where it is; no update is lost; storage never goes backwards. At the end: nothing waits
//! (deadlocks are found as long as waiting transactions are suspected), and no lock is left. A run
//! repeated has the same outputs (I11).
//!
//! A failure prints the seed; `SARDONYX_SEED=… cargo test -p sardonyx-sharing --test exploration
//! NAME` runs it alone and prints every step.

mod world;

use sardonyx_sharing::page_cache::PageCache;
use sardonyx_sharing::protocol::{
    GemOptions, LockMode, NodeId, Outcome, PageId, PageTransfer, PrimaryCopyOptions, UpdateStrategy,
};
use world::random::Random;
use world::{Event, Machines, Progress, SharedTable, World};

/// What goes wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Hazard {
    None,
    /// Nodes fail and are recovered.
    Failures,
    /// The network loses and repeats messages.
    BadNetwork,
    /// Nothing, but there is a small page cache in GEM before the disks.
    PageCache,
    /// Nodes fail beside that page cache.
    PageCacheAndFailures,
    /// Nothing, but the entries are in shared memory.
    SharedTable,
    /// Nodes fail beside that table.
    SharedTableAndFailures,
}

impl Hazard {
    fn nodes_fail(self) -> bool {
        matches!(
            self,
            Hazard::Failures | Hazard::PageCacheAndFailures | Hazard::SharedTableAndFailures
        )
    }

    fn has_shared_table(self) -> bool {
        matches!(self, Hazard::SharedTable | Hazard::SharedTableAndFailures)
    }

    fn has_page_cache(self) -> bool {
        matches!(self, Hazard::PageCache | Hazard::PageCacheAndFailures)
    }
}

/// What a run is like.
#[derive(Clone, Copy, Debug)]
struct Mix {
    nodes: u16,
    pages: usize,
    transactions: usize,
    steps: usize,
    writes_percent: usize,

    hazard: Hazard,
}

fn mix(random: &mut Random, hazard: Hazard) -> Mix {
    Mix {
        hazard,
        nodes: 2 + random.below(3) as u16,
        pages: 1 + random.below(5),
        transactions: 10 + random.below(30),
        steps: 1 + random.below(5),
        writes_percent: [10, 30, 60][random.below(3)],
    }
}

/// Runs one seed to its end; returns what tells runs apart.
fn run(machines: Machines, hazard: Hazard, seed: u64, verbose: bool) -> World {
    let mut random = Random::new(seed);
    let mix = mix(&mut random, hazard);
    let mut world = World::new(machines, mix.nodes);
    world.verbose = verbose;
    world.channels = (hazard == Hazard::BadNetwork).then(Default::default);
    if hazard.has_page_cache() {
        let capacity = 1 + random.below(3);
        world.cache = Some((PageCache::new(capacity), Default::default()));
    }
    if hazard.has_shared_table() {
        world.table = Some(SharedTable::new(usize::from(mix.nodes)));
    }
    let mut left = mix.transactions;
    // Often few events are under way, sometimes they heap up.
    let lazy = random.below(4) * 10;
    while left > 0 {
        one_step(&mut world, &mut random, mix, lazy, &mut left);
    }
    bring_to_rest(&mut world, &mut random, mix);
    world.check_at_rest();
    read_everything(&mut world, mix);
    world.check_at_rest();
    world
}

fn one_step(world: &mut World, random: &mut Random, mix: Mix, lazy: usize, left: &mut usize) {
    if mix.hazard.nodes_fail() {
        fail_or_recover(world, random, mix);
    }
    let dice = random.below(100);
    if dice < 60 - lazy {
        if !world.events.is_empty() {
            let place = random.below(world.events.len());
            // Destages are slow: the page is written again meanwhile.
            let destage = matches!(world.events[place], Event::Destage(..));
            if destage && !random.percent(5) {
                return;
            }
            if mix.hazard == Hazard::BadNetwork {
                if random.percent(20) && world.lose(place) {
                    return;
                }
                if random.percent(20) {
                    world.repeat(place);
                }
            }
            world.happen(place);
        }
    } else if dice < 80 {
        let ready = world.ready();
        if let Some(transaction) = random.pick(&ready) {
            if random.percent(4) {
                world.end(transaction, Outcome::Aborted);
            } else {
                world.advance(transaction);
            }
        }
    } else if dice < 85 {
        let node = random.pick(&world.alive()).expect("one node lives").0;
        let steps: Vec<(u64, LockMode)> = (0..1 + random.below(mix.steps))
            .map(|_| step(random, mix))
            .collect();
        world.begin(node, &steps);
        *left -= 1;
    } else if dice < 94 {
        let node = random.pick(&world.alive()).expect("one node lives");
        world.evict(node, PageId(random.below(mix.pages) as u64));
    } else if let Some(transaction) = random.pick(&world.waiting()) {
        if random.percent(5) {
            world.end(transaction, Outcome::Aborted);
        } else {
            world.suspect(transaction);
        }
    }
}

/// Now and then a node fails; later a survivor begins to recover it.
fn fail_or_recover(world: &mut World, random: &mut Random, mix: Mix) {
    let alive = world.alive();
    let victim = random.pick(&alive).expect("one node lives");
    if alive.len() > 1 && random.below(300) == 0 {
        world.fail(victim, random);
    } else if random.below(50) == 0 {
        world.recover(victim, mix.pages);
    }
}

fn step(random: &mut Random, mix: Mix) -> (u64, LockMode) {
    let page = random.below(mix.pages) as u64;
    if random.percent(mix.writes_percent) {
        (page, LockMode::Write)
    } else {
        (page, LockMode::Read)
    }
}

/// Lets everything that has begun come to its end.
fn bring_to_rest(world: &mut World, random: &mut Random, mix: Mix) {
    for _ in 0..1000 {
        let by = random.pick(&world.alive()).expect("one node lives");
        world.recover(by, mix.pages);
        world.time_out();
        while !world.events.is_empty() {
            let place = random.below(world.events.len());
            world.happen(place);
        }
        let ready = world.ready();
        for &transaction in &ready {
            world.advance(transaction);
        }
        if ready.is_empty() && world.events.is_empty() && !world.time_out() {
            let waiting = world.waiting();
            if waiting.is_empty() {
                return;
            }
            for &transaction in &waiting {
                world.suspect(transaction);
            }
            assert!(
                !world.events.is_empty() || world.waiting() != waiting,
                "stuck: {waiting:?}"
            );
        }
    }
    panic!("never comes to rest; waiting: {:?}", world.waiting());
}

/// Every node finds the newest version of every page.
fn read_everything(world: &mut World, mix: Mix) {
    for NodeId(node) in world.alive() {
        for page in 0..mix.pages as u64 {
            let reader = world.begin(node, &[(page, LockMode::Read)]);
            world.advance(reader);
            world.settle();
            let state = world.node(NodeId(node)).transactions.get(&reader);
            assert_eq!(state.map(|state| state.progress), Some(Progress::Ready));
            world.advance(reader);
            world.settle();
        }
    }
}

/// Says how to see a run again, if it panics.
struct Replay(Machines, Hazard, u64);

impl Drop for Replay {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!(
                "replay with SARDONYX_SEED={}: {:?}, {:?}",
                self.2, self.0, self.1
            );
        }
    }
}

fn explore(machines: Machines, seeds: u64) {
    explore_with(machines, Hazard::None, seeds);
}

fn explore_with(machines: Machines, hazard: Hazard, seeds: u64) {
    if let Ok(seed) = std::env::var("SARDONYX_SEED") {
        let seed = seed.parse().expect("SARDONYX_SEED is a number");
        run(machines, hazard, seed, true);
        return;
    }
    let mut seen = Seen::default();
    let seeds = std::env::var("SARDONYX_SEEDS").map_or(seeds, |seeds| {
        seeds.parse().expect("SARDONYX_SEEDS is a number")
    });
    for seed in 0..seeds {
        let _replay = Replay(machines, hazard, seed);
        let world = run(machines, hazard, seed, false);
        seen.add(&world);
        if seed % 64 == 0 {
            let again = run(machines, hazard, seed, false);
            assert_eq!(
                world.fingerprint, again.fingerprint,
                "the same seed, another run"
            );
        }
    }
    println!("{machines:?}: {seen:?}");
    assert_eq!(seen.failed > 0, hazard.nodes_fail());
    assert!(
        seen.committed > seeds && seen.victims > 0 && seen.conflicts > 0,
        "{seen:?}"
    );
}

/// What the runs have come upon, so that it shows when they do not any more.
#[derive(Debug, Default)]
struct Seen {
    committed: u64,
    victims: u64,
    conflicts: u64,
    invalidations: u64,
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
    })
}

fn authorised_without_copy(update: UpdateStrategy) -> Machines {
    Machines::PrimaryCopy(PrimaryCopyOptions {
        update,
        read_optimisation: true,
        authorised_without_copy: true,
        acknowledge_release: false,
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

/// How many seeds each test runs, unless `SARDONYX_SEEDS` says otherwise.
const SEEDS: u64 = 1000;

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
