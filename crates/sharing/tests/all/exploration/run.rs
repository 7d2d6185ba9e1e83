//! One seeded run: what nodes, transactions, failures and the checkpointer do, at random, until all is done.

use crate::world::random::Random;
use crate::world::{Event, Keeper, Machines, Planted, Progress, SharedTable, World};
use sardonyx_sharing::page_cache::PageCache;
use sardonyx_sharing::protocol::{LockMode, NodeId, Outcome, PageId, membership};

/// A case to explore.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub machines: Machines,
    pub hazard: Hazard,
    pub keeper: Keeper,
    pub planted: Option<Planted>,
}

/// The failures of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hazard {
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
    /// Nodes fail, stop for a while, or are only believed to, and the nodes find out themselves who takes part.
    Stops,
    /// The same, but only what a [`Script`] says goes wrong.
    Scripted(Script),
}

/// The steps of a run at which failures happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Script {
    /// When the node with this number stops or dies.
    pub at: usize,
    pub node: u16,
    pub dies: bool,
    /// The number of steps after which the others believe that it has failed.
    pub suspected_after: usize,
    /// The number of steps after that at which the coordinator dies, if it does.
    pub coordinator_dies_after: Option<usize>,
    /// The number of steps after it stopped at which it wakes up.
    pub wakes_after: usize,
}

impl Hazard {
    pub fn nodes_fail(self) -> bool {
        matches!(
            self,
            Hazard::Failures | Hazard::PageCacheAndFailures | Hazard::SharedTableAndFailures
        )
    }

    /// True if the nodes determine the membership themselves.
    pub fn has_membership(self) -> bool {
        matches!(self, Hazard::Stops | Hazard::Scripted(_))
    }

    fn has_shared_table(self) -> bool {
        matches!(self, Hazard::SharedTable | Hazard::SharedTableAndFailures)
    }

    pub fn has_page_cache(self) -> bool {
        matches!(self, Hazard::PageCache | Hazard::PageCacheAndFailures)
    }
}

/// Nodes of a run in which nodes join, at most.
const NODES_MAX: u16 = 8;

/// The random parameters of a run.
#[derive(Clone, Copy, Debug)]
struct Mix {
    nodes: u16,
    pages: usize,
    transactions: usize,
    steps: usize,
    writes_percent: usize,
    /// The share of its chances, in percent, in which the checkpointer reads on: in all logs but the first, and in the first.
    reading_percent: [usize; 2],
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
        reading_percent: [[100, 100], [30, 30], [30, 3], [3, 3]][random.below(4)],
    }
}

/// Runs one seed to its end; returns what tells runs apart.
pub fn run(case: Case, seed: u64, verbose: bool) -> World {
    let Case {
        machines,
        hazard,
        keeper,
        planted,
    } = case;
    let mut random = Random::new(seed);
    let mix = mix(&mut random, hazard);
    let mut world = World::new(machines, mix.nodes);
    world.verbose = verbose;
    let moves = hazard.has_membership() && matches!(machines, Machines::PrimaryCopy(_));
    let bad = hazard == Hazard::BadNetwork || moves && seed.is_multiple_of(3);
    world.channels = bad.then(Default::default);
    world.logs.slow = true;
    world.logs.planted = planted;
    if keeper == Keeper::Checkpointer {
        world
            .logs
            .keep_by_checkpointer(waiting_bytes_max(&mut random));
    }
    if hazard.has_page_cache() {
        let capacity = 1 + random.below(3);
        world.cache = Some((PageCache::new(capacity), Default::default()));
    }
    if hazard.has_shared_table() {
        world.table = Some(SharedTable::new(usize::from(mix.nodes)));
    }
    if hazard.has_membership() {
        world.let_nodes_find_out(mix.pages, seed % 2 == 1);
    }
    let mut left = mix.transactions;
    // Often few events are under way, sometimes they heap up.
    let lazy = random.below(4) * 10;
    for step in 0.. {
        if left == 0 {
            break;
        }
        match hazard {
            Hazard::Stops => disturb(&mut world, &mut random),
            Hazard::Scripted(script) => follow(script, step, &mut world, &mut random),
            _ => {}
        }
        one_step(&mut world, &mut random, mix, lazy, &mut left);
    }
    if !bring_to_rest(&mut world, &mut random, mix) {
        world.check_recovery(&mut random);
        return world;
    }
    world.check_at_rest();
    read_everything(&mut world, mix);
    world.check_at_rest();
    world.check_recovery(&mut random);
    world
}

/// The most bytes of redo records that may wait for other logs: none, those of a few transactions, all.
fn waiting_bytes_max(random: &mut Random) -> usize {
    [0, 300, usize::MAX][random.below(3)]
}

fn one_step(world: &mut World, random: &mut Random, mix: Mix, lazy: usize, left: &mut usize) {
    if mix.hazard.nodes_fail() {
        fail_or_recover(world, random, mix);
    }
    if world.logs.keeper == Keeper::Checkpointer {
        back_up_or_restart(world, random);
    }
    let dice = random.below(100);
    if dice < 60 - lazy {
        if !world.events.is_empty() {
            let place = random.below(world.events.len());
            if world.is_frozen(&world.events[place]) {
                return;
            }
            // Destages are slow: the page is written again meanwhile.
            let destage = matches!(world.events[place], Event::Destage(..));
            if destage && !random.percent(5) {
                return;
            }
            if lags(world, random, mix, place) {
                return;
            }
            if world.channels.is_some() {
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
        let Some(NodeId(node)) = random.pick(&world.taking_part()) else {
            *left = 0;
            return;
        };
        let steps: Vec<(u64, LockMode)> = (0..1 + random.below(mix.steps))
            .map(|_| step(random, mix))
            .collect();
        world.begin(node, &steps);
        *left -= 1;
    } else if dice < 94 {
        if let Some(node) = random.pick(&world.running()) {
            world.evict(node, PageId(random.below(mix.pages) as u64));
        }
    } else if let Some(transaction) = random.pick(&world.waiting()) {
        if random.percent(5) {
            world.end(transaction, Outcome::Aborted);
        } else {
            world.suspect(transaction);
        }
    }
}

/// True if the event is a read of the checkpointer that is to lag: it reads one log behind the others.
fn lags(world: &World, random: &mut Random, mix: Mix, place: usize) -> bool {
    let Event::Consume(log) = world.events[place] else {
        return false;
    };
    !random.percent(mix.reading_percent[usize::from(log == NodeId(0))])
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

/// Now and then a member dies or stops, a stopped node goes on, somebody believes that somebody has failed, or looks
/// who takes part.
fn disturb(world: &mut World, random: &mut Random) {
    let members = world.running_members();
    let (Some(one), Some(other)) = (random.pick(&members), random.pick(&members)) else {
        return;
    };
    let stopped: Vec<NodeId> = world.stopped.iter().copied().collect();
    let moves = matches!(world.machines, Machines::PrimaryCopy(_));
    match random.below(1200) {
        0..4 if members.len() > 1 => world.kill(one, random),
        4..10 if members.len() > 1 => {
            world.stopped.insert(one);
        }
        10..18 => {
            random
                .pick(&stopped)
                .map(|node| world.stopped.remove(&node));
        }
        18..40 => suspect_all(world, one),
        40 => world.tell_membership(one, membership::Input::Suspect(other)),
        // The claim may be false: the two, or more, may reach each other.
        kind @ 41..43 => {
            let unanswered = membership::Input::Unanswered {
                node: other,
                times: [1, 3][kind - 41],
                silent: [other].into(),
            };
            world.tell_membership(one, unanswered);
        }
        43..70 => world.tell_membership(one, membership::Input::Look),
        70..74 if moves && world.nodes.len() < usize::from(NODES_MAX) => world.join(),
        74..76 if moves && members.len() > 1 => {
            world.tell_membership(one, membership::Input::Leave);
        }
        _ => {}
    }
}

fn follow(script: Script, step: usize, world: &mut World, random: &mut Random) {
    let node = NodeId(script.node % world.nodes.len() as u16);
    let Some(passed) = step.checked_sub(script.at) else {
        return;
    };
    if passed == 0 && script.dies {
        world.kill(node, random);
    } else if passed == 0 {
        world.stopped.insert(node);
    }
    let members = world.running_members();
    if passed >= script.suspected_after
        && let Some(&one) = members.first()
    {
        suspect_all(world, one);
    }
    let dies = script
        .coordinator_dies_after
        .map(|after| script.suspected_after + after);
    if dies == Some(passed) && members.len() > 1 {
        world.kill(members[0], random);
    }
    if passed == script.wakes_after {
        world.stopped.remove(&node);
    }
}

/// A member believes that all have failed that do nothing.
fn suspect_all(world: &mut World, by: NodeId) {
    let idle: Vec<NodeId> = world.dead.union(&world.stopped).copied().collect();
    for node in idle {
        world.tell_membership(by, membership::Input::Suspect(node));
    }
}

/// Stopped nodes go on, and everybody looks who takes part. Returns whether anybody does.
fn find_out(world: &mut World) -> bool {
    world.stopped.clear();
    let members = world.running_members();
    let Some(&one) = members.first() else {
        return false;
    };
    suspect_all(world, one);
    for node in world.running() {
        if !world.knows_all(node) {
            world.tell_membership(node, membership::Input::Look);
        }
    }
    true
}

/// Now and then the checkpointer makes a backup, fails and begins with that, or all nodes fail.
fn back_up_or_restart(world: &mut World, random: &mut Random) {
    match random.below(400) {
        0..4 => world.back_up(),
        4 => world.restart_checkpointer(waiting_bytes_max(random)),
        5..8 => world.check_recovery(random),
        _ => {}
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

/// Lets everything that has begun come to its end. Returns whether a node is left.
fn bring_to_rest(world: &mut World, random: &mut Random, mix: Mix) -> bool {
    let is_reading = |event: &Event| matches!(event, Event::Consume(_));
    for _ in 0..5000 {
        if !mix.hazard.has_membership() {
            let by = random.pick(&world.alive()).expect("one node lives");
            world.recover(by, mix.pages);
        } else if !find_out(world) {
            return false;
        }
        world.time_out();
        let mut steps = 0;
        while !world.events.iter().all(is_reading) {
            let place = random.below(world.events.len());
            if !lags(world, random, mix, place) {
                world.happen(place);
            }
            steps += 1;
            assert!(steps < 100_000, "never ends: {:?}", world.events);
        }
        let ready = world.ready();
        for &transaction in &ready {
            world.advance(transaction);
        }
        if ready.is_empty() && !world.events.is_empty() && world.events.iter().all(is_reading) {
            let place = random.below(world.events.len());
            world.happen(place);
        } else if ready.is_empty() && world.events.is_empty() && !world.time_out() {
            let waiting = world.waiting();
            let recovered = world.failed.values().all(|recovered| *recovered);
            if !world.is_settled() || !mix.hazard.has_membership() && !recovered {
                continue;
            }
            if waiting.is_empty() {
                return true;
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
    let mut nodes = world.taking_part();
    nodes.retain(|node| !world.failed.contains_key(node));
    for NodeId(node) in nodes {
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
