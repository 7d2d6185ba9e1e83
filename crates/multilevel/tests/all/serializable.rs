//! Histories of transactions under every strategy and both kinds of release, judged by `adya`: they
//! must be strictly serializable, with aborts, deadlocks, failing operations and siblings among them,
//! snapshots that are read meanwhile, and over a restart. And histories of operations that leave out a lock, where it must find the
//! anomaly: a checker that cannot is no proof.

mod objects;
mod recorder;

use crate::support::{self, Ended, Way, ways};
use adya::Valid;
use objects::{Act, Locking, OBJECTS_PER_PAGE, Restore, Step};
use recorder::{Done, Events, Recorder, judge};
use sardonyx_multilevel::{Area, CallError, Database, Release, Stop, Strategy, Transaction};
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use sardonyx_workload::random::Random;
use std::collections::HashMap;
use std::sync::Arc;

const KEYS: u64 = 12;
const CLIENTS: u64 = 4;

/// The transactions of each client.
fn transactions() -> u64 {
    crate::seeds().map_or(12, |_| 25)
}

fn open(way: Way, disk: &SimulatedDisk) -> (Database, Area) {
    let options = way.options(support::small()).register::<Restore>();
    let database = options.open_on(Arc::new(disk.clone())).expect("opens");
    let area = database.area("objects", KEYS / OBJECTS_PER_PAGE);
    let area = area.expect("there is room");
    (database, area)
}

/// The planned steps of a transaction, one after another, the last two perhaps as siblings.
struct Plan {
    steps: Vec<Step>,
    siblings: bool,
    aborts: bool,
}

/// Values that no other transaction writes.
struct Values {
    next: u64,
    lists: bool,
}

impl Values {
    fn act(&mut self, random: &mut Random) -> Act {
        self.next += 1;
        match (random.chance(50), self.lists) {
            (true, _) => Act::Read,
            (false, true) => Act::Append(self.next),
            (false, false) => Act::Write(self.next),
        }
    }
}

/// Distinct objects in any order.
fn keys(random: &mut Random, of: &[u64]) -> Vec<u64> {
    let mut keys: Vec<u64> = Vec::new();
    for _ in 0..=random.below(3) {
        let key = of[random.below(of.len() as u64) as usize];
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

fn plan(area: Area, random: &mut Random, values: &mut Values) -> Plan {
    let siblings = random.chance(25);
    let (even, odd): (Vec<u64>, Vec<u64>) = (0..KEYS).partition(|key| key % 2 == 0);
    let all: Vec<u64> = (0..KEYS).collect();
    let count = if siblings { 2 } else { 1 + random.below(4) };
    let steps = (0..count).map(|n| {
        let of = match (siblings, n) {
            (false, _) => &all,
            (true, 0) => &even,
            (true, _) => &odd,
        };
        Step {
            area,
            keys: keys(random, of),
            act: values.act(random),
            locking: match random.chance(30) {
                true => Locking::Within,
                false => Locking::Before,
            },
            fails: random.chance(8),
        }
    });
    Plan {
        steps: steps.collect(),
        siblings,
        aborts: random.chance(10),
    }
}

impl Plan {
    fn asked(&self) -> Vec<(u64, Act)> {
        let lasting = self.steps.iter().filter(|step| !step.fails);
        lasting
            .flat_map(|step| step.keys.iter().map(|key| (*key, step.act)))
            .collect()
    }

    fn run(&self, tx: &Transaction<'_>) -> Result<Vec<Done>, Ended> {
        let mut done = Vec::new();
        if self.siblings {
            let (one, other) = tx.scope(|scope| {
                let one = scope.spawn(|| call(tx, &self.steps[0]));
                let other = call(tx, &self.steps[1]);
                (one.join().expect("ends well"), other)
            });
            done.extend(one?);
            done.extend(other?);
        } else {
            for step in &self.steps {
                done.extend(call(tx, step)?);
            }
        }
        match self.aborts {
            true => Err(Ended::OnPurpose),
            false => Ok(done),
        }
    }
}

/// Calls a step; if it fails on purpose, nothing of it remains.
fn call(tx: &Transaction<'_>, step: &Step) -> Result<Vec<Done>, CallError<Stop>> {
    match tx.call(step) {
        Ok(found) => {
            let keys = step.keys.iter().zip(found);
            Ok(keys.map(|(key, found)| (*key, step.act, found)).collect())
        }
        Err(CallError::Failed(Stop::NoPage { .. })) if step.fails => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// One client's transactions.
fn client(
    database: &Database,
    area: Area,
    lists: bool,
    n: u64,
    seed: u64,
    at: &Recorder,
) -> Events {
    let mut random = Random::new(seed * 1000 + n);
    let next = n * 1_000_000;
    let mut values = Values { next, lists };
    let mut events = Events::default();
    for _ in 0..transactions() {
        let mut plan = plan(area, &mut random, &mut values);
        let ended = database.run(|tx| {
            // Run again, it writes other values, so that values of an aborted attempt are recognised.
            for step in &mut plan.steps {
                step.act = match step.act {
                    Act::Read => Act::Read,
                    Act::Append(_) => {
                        values.next += 1;
                        Act::Append(values.next)
                    }
                    Act::Write(_) => {
                        values.next += 1;
                        Act::Write(values.next)
                    }
                };
            }
            at.asks(&mut events, n, &plan.asked());
            plan.run(tx)
        });
        match ended {
            Ok(done) => at.committed(&mut events, n, &done),
            Err(Ended::OnPurpose) => at.failed(&mut events, n),
            Err(error) => panic!("{error}"),
        }
    }
    events
}

/// Takes snapshots and reads them in pieces, each as a transaction of the history.
fn read_snapshots(database: &Database, area: Area, seed: u64, at: &Recorder) -> Events {
    let (mut events, mut random) = (Events::default(), Random::new(seed + 7));
    for _ in 0..transactions() / 2 {
        let mut keys: Vec<u64> = (0..KEYS).collect();
        keys.rotate_left(random.below(KEYS) as usize);
        let asked: Vec<_> = keys.iter().map(|key| (*key, Act::Read)).collect();
        at.asks(&mut events, 2000, &asked);
        let snapshot = database.snapshot().expect("snapshot");
        let done = keys.into_iter().map(|key| {
            let step = Step {
                area,
                keys: vec![key],
                act: Act::Read,
                locking: Locking::Within,
                fails: false,
            };
            let mut found = snapshot.call(&step).expect("readable");
            std::thread::yield_now();
            (key, Act::Read, found.remove(0))
        });
        let done: Vec<Done> = done.collect();
        at.committed(&mut events, 2000, &done);
    }
    events
}

/// Reads everything, as a transaction of the history.
fn read_all(database: &Database, area: Area, process: u64, at: &Recorder) -> Events {
    let mut events = Events::default();
    let step = Step {
        area,
        keys: (0..KEYS).collect(),
        act: Act::Read,
        locking: Locking::Before,
        fails: false,
    };
    let plan = Plan {
        steps: vec![step],
        siblings: false,
        aborts: false,
    };
    at.asks(&mut events, process, &plan.asked());
    let done = database.run(|tx| plan.run(tx)).expect("readable");
    at.committed(&mut events, process, &done);
    events
}

/// Judges a history, with the content at its end and after a restart.
fn judge_with_ends(
    mut all: Vec<Events>,
    (way, lists): (Way, bool),
    disk: &SimulatedDisk,
    (database, area): (Database, Area),
    at: &Recorder,
) -> adya::Report {
    all.push(read_all(&database, area, 1000, at));
    database.close().expect("closes");
    let disk = disk.restart(Faults::default());
    let (database, area) = open(way, &disk);
    all.push(read_all(&database, area, 1001, at));
    judge(all, lists, "strict-serializable")
}

#[test]
fn histories_of_threads_are_strictly_serializable() {
    for (seed, way) in ways().into_iter().enumerate() {
        for lists in [true, false] {
            if crate::seeds().is_none() && lists == (seed % 4 < 2) {
                continue;
            }
            let disk = SimulatedDisk::new(1, Faults::default());
            let (database, area) = open(way, &disk);
            let at = Recorder::default();
            let all = std::thread::scope(|scope| {
                let clients: Vec<_> = (0..CLIENTS)
                    .map(|n| {
                        let (database, at) = (&database, &at);
                        scope.spawn(move || client(database, area, lists, n, seed as u64, at))
                    })
                    .collect();
                let reader = scope.spawn(|| read_snapshots(&database, area, seed as u64, &at));
                let ended = clients.into_iter().map(|c| c.join().expect("ends well"));
                let mut all: Vec<Events> = ended.collect();
                all.push(reader.join().expect("ends well"));
                all
            });
            let report = judge_with_ends(all, (way, lists), &disk, (database, area), &at);
            assert_eq!(
                report.valid,
                Valid::True,
                "{way:?}, lists {lists}, seed {seed}: {:?}",
                report.anomaly_types
            );
        }
    }
}

/// The holders of locks, for a driver that never waits.
#[derive(Default)]
struct Model(HashMap<u64, Vec<(usize, bool)>>);

impl Model {
    /// Takes a lock unless it would have to wait.
    fn take(&mut self, slot: usize, unit: u64, exclusive: bool) -> bool {
        let holders = self.0.entry(unit).or_default();
        let admitted = |&(other, theirs): &(usize, bool)| other == slot || !(exclusive || theirs);
        let well = holders.iter().all(admitted);
        if well {
            holders.push((slot, exclusive));
        }
        well
    }

    fn release(&mut self, slot: usize) {
        for holders in self.0.values_mut() {
            holders.retain(|(other, _)| *other != slot);
        }
    }
}

/// Several open transactions driven by one thread, step by step, by a seed.
fn interleaved(way: Way, lists: bool, seed: u64) -> adya::Report {
    let disk = SimulatedDisk::new(1, Faults::default());
    let (database, area) = open(way, &disk);
    let (at, mut random) = (Recorder::default(), Random::new(seed));
    let mut values = Values { next: 0, lists };
    let mut model = Model::default();
    let mut events: Vec<Events> = (0..CLIENTS).map(|_| Events::default()).collect();
    let mut open: Vec<Option<(Transaction<'_>, Plan, Vec<Done>)>> = Vec::new();
    open.resize_with(CLIENTS as usize, || None);
    for _ in 0..300 {
        let slot = random.below(CLIENTS) as usize;
        let process = slot as u64;
        let Some((tx, mut plan, mut done)) = open[slot].take() else {
            let plan = plan_of_one(area, &mut random, &mut values);
            at.asks(&mut events[slot], process, &plan.asked());
            open[slot] = Some((database.begin(), plan, Vec::new()));
            continue;
        };
        let Some(step) = plan.steps.pop() else {
            if plan.aborts {
                tx.abort().expect("aborted");
                at.failed(&mut events[slot], process);
            } else {
                tx.commit().expect("committed");
                at.committed(&mut events[slot], process, &done);
            }
            model.release(slot);
            continue;
        };
        let single = way.strategy == Strategy::SingleLevel;
        let unit = |key: &u64| if single { key / OBJECTS_PER_PAGE } else { *key };
        let exclusive = step.act != Act::Read;
        if step
            .keys
            .iter()
            .all(|key| model.take(slot, unit(key), exclusive))
        {
            done.extend(call(&tx, &step).expect("it need not wait"));
        } else {
            // Some other time; no other transaction may come to wait for it then.
            plan.steps.push(step);
        }
        open[slot] = Some((tx, plan, done));
    }
    for (slot, tx) in open.into_iter().enumerate() {
        // Dropped: aborted.
        drop(tx);
        at.failed(&mut events[slot], slot as u64);
    }
    judge_with_ends(events, (way, lists), &disk, (database, area), &at)
}

/// A plan whose steps are taken from the end.
fn plan_of_one(area: Area, random: &mut Random, values: &mut Values) -> Plan {
    let mut plan = plan(area, random, values);
    plan.siblings = false;
    plan.steps.reverse();
    plan
}

#[test]
fn interleavings_of_one_thread_are_strictly_serializable() {
    for way in ways() {
        for seed in 0..6 {
            let lists = seed % 2 == 0;
            let report = interleaved(way, lists, seed);
            assert_eq!(
                report.valid,
                Valid::True,
                "{way:?}, lists {lists}, seed {seed}: {:?}",
                report.anomaly_types
            );
        }
    }
}

/// Two transactions, whose steps one thread calls in turns.
struct Pair<'d> {
    area: Area,
    at: Recorder,
    txs: [Option<Transaction<'d>>; 2],
    events: [Events; 2],
    done: [Vec<Done>; 2],
}

impl<'d> Pair<'d> {
    fn new(database: &'d Database, area: Area, plans: [&[(u64, Act)]; 2]) -> Self {
        let at = Recorder::default();
        let mut events = [Events::default(), Events::default()];
        for n in 0..2 {
            at.asks(&mut events[n], n as u64, plans[n]);
        }
        Pair {
            area,
            at,
            txs: [Some(database.begin()), Some(database.begin())],
            events,
            done: [Vec::new(), Vec::new()],
        }
    }

    /// The operation leaves out its lock.
    fn step(&mut self, n: usize, key: u64, act: Act) {
        let step = Step {
            area: self.area,
            keys: vec![key],
            act,
            locking: Locking::LeftOut,
            fails: false,
        };
        let tx = self.txs[n].as_ref().expect("not ended");
        self.done[n].extend(call(tx, &step).expect("no lock, no wait"));
    }

    fn commit(&mut self, n: usize) {
        let tx = self.txs[n].take().expect("not ended");
        tx.commit().expect("committed");
        self.at
            .committed(&mut self.events[n], n as u64, &self.done[n]);
    }

    fn abort(&mut self, n: usize) {
        let tx = self.txs[n].take().expect("not ended");
        tx.abort().expect("aborted");
        self.at.failed(&mut self.events[n], n as u64);
    }
}

use Act::{Append, Read};

/// An anomaly: the plans of the two transactions, and their interleaving.
struct Anomaly {
    name: &'static str,
    plans: [&'static [(u64, Act)]; 2],
    /// Whose next step it is; after its last step a transaction commits, or aborts.
    turns: &'static [usize],
    aborts: Option<usize>,
}

const ANOMALIES: [Anomaly; 4] = [
    // Lost update: both have read the list before either appends.
    Anomaly {
        name: "G-single-item",
        plans: [&[(0, Read), (0, Append(1))], &[(0, Read), (0, Append(2))]],
        turns: &[0, 1, 0, 0, 1, 1],
        aborts: None,
    },
    // Write skew: each appends where the other has read.
    Anomaly {
        name: "G2-item",
        plans: [
            &[(0, Read), (5, Read), (0, Append(1))],
            &[(0, Read), (5, Read), (5, Append(2))],
        ],
        turns: &[0, 0, 1, 1, 0, 1, 0, 1],
        aborts: None,
    },
    // Read skew: one object before, the other after.
    Anomaly {
        name: "G-single-item",
        plans: [&[(0, Read), (5, Read)], &[(0, Append(1)), (5, Append(2))]],
        turns: &[0, 1, 1, 1, 0, 0],
        aborts: None,
    },
    // The read value is undone. The lock would have to be kept to the end of the transaction.
    Anomaly {
        name: "G1a",
        plans: [&[(0, Append(1)), (5, Read)], &[(0, Read), (6, Append(2))]],
        turns: &[0, 1, 1, 1, 0, 0],
        aborts: Some(0),
    },
];

#[test]
fn operations_that_leave_out_their_locks_are_found() {
    let two_levels = ways()
        .into_iter()
        .filter(|way| way.strategy != Strategy::SingleLevel);
    for way in two_levels {
        for anomaly in &ANOMALIES {
            let disk = SimulatedDisk::new(1, Faults::default());
            let (database, area) = open(way, &disk);
            let mut pair = Pair::new(&database, area, anomaly.plans);
            let mut next = [0; 2];
            for &n in anomaly.turns {
                match anomaly.plans[n].get(next[n]) {
                    Some(&(key, act)) => pair.step(n, key, act),
                    None if anomaly.aborts == Some(n) => pair.abort(n),
                    None => pair.commit(n),
                }
                next[n] += 1;
            }
            let mut events = Vec::from(pair.events);
            events.push(read_all(&database, area, 2, &pair.at));
            let report = judge(events, true, "serializable");
            assert_eq!(report.valid, Valid::False, "{way:?}: {}", anomaly.name);
            let found = &report.anomaly_types;
            assert!(
                found.iter().any(|found| found.starts_with(anomaly.name)),
                "{way:?}: {} expected, found {found:?}",
                anomaly.name
            );
        }
    }
}

/// The same interleavings by operations that ask for their locks: one of them would always have to wait, so they
/// cannot come about. In one thread that would be for ever. So the transaction that would wait is run by another
/// thread and found to wait.
#[test]
fn with_their_locks_they_wait_for_each_other() {
    let release = Release::Appended;
    for way in ways().into_iter().filter(|way| way.release == release) {
        for anomaly in &ANOMALIES {
            let disk = SimulatedDisk::new(1, Faults::default());
            let (database, area) = open(way, &disk);
            let at = Recorder::default();
            let all: Vec<Events> = std::thread::scope(|scope| {
                let threads = [0, 1].map(|n: usize| {
                    let (database, at) = (&database, &at);
                    scope.spawn(move || locked(database, area, anomaly, n, at))
                });
                threads.map(|t| t.join().expect("ends well")).into()
            });
            let report = judge_with_ends(all, (way, true), &disk, (database, area), &at);
            assert_eq!(
                report.valid,
                Valid::True,
                "{way:?}: {:?}",
                report.anomaly_types
            );
        }
    }
}

fn locked(database: &Database, area: Area, anomaly: &Anomaly, n: usize, at: &Recorder) -> Events {
    let mut events = Events::default();
    let mut next = 0;
    let ended = database.run(|tx| {
        next += 10;
        // Other values when it is run again.
        let plan: Vec<(u64, Act)> = anomaly.plans[n]
            .iter()
            .map(|(key, act)| match act {
                Append(value) => (*key, Append(next + value)),
                other => (*key, *other),
            })
            .collect();
        at.asks(&mut events, n as u64, &plan);
        let mut done = Vec::new();
        for (key, act) in plan {
            let step = Step {
                area,
                keys: vec![key],
                act,
                locking: Locking::Before,
                fails: false,
            };
            done.extend(call(tx, &step)?);
        }
        match anomaly.aborts == Some(n) {
            true => Err(Ended::OnPurpose),
            false => Ok(done),
        }
    });
    match ended {
        Ok(done) => at.committed(&mut events, n as u64, &done),
        Err(Ended::OnPurpose) => at.failed(&mut events, n as u64),
        Err(error) => panic!("{error}"),
    }
    events
}
