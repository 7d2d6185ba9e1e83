//! Closures and open transactions interleaved by a seed, judged by a serial model. Each step of a committed one
//! returned the result that it would have had at the moment of its commit. The transaction left the content that it
//! would have left then. One that conflicted read something that was changed.

use super::open;
use crate::common::{Item, Opened, in_every_threaded_shape};
use crate::snapshots::{KEYS, Recorder, appended, list};
use sardonyx::{Error, OpenTransaction, Shape, Table};
use sardonyx_base::random::Random;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

type Model = BTreeMap<u64, u64>;

/// An action of a transaction.
#[derive(Clone, Copy, Debug)]
enum Step {
    Get(u64),
    Insert(u64, u64),
    Put(u64, u64),
    Add(u64, u64),
    Remove(u64),
    Count,
    Sum,
    Retain(u64),
    Savepoint,
    Back,
}

impl Step {
    fn random(random: &mut Random) -> Step {
        let (id, value) = (random.below(10), random.below(100));
        match random.below(20) {
            0..=4 => Step::Get(id),
            5..=6 => Step::Insert(id, value),
            7..=8 => Step::Put(id, value),
            9..=12 => Step::Add(id, value),
            13 => Step::Remove(id),
            14 => Step::Count,
            15 => Step::Sum,
            16 => Step::Retain(value),
            17 | 18 => Step::Savepoint,
            _ => Step::Back,
        }
    }

    /// Runs it; returns the result.
    fn run(
        self,
        tx: &mut OpenTransaction,
        items: Table<Item>,
        marks: &mut Vec<sardonyx::rows::Savepoint>,
    ) -> String {
        match self {
            Step::Get(id) => format!("{:?}", tx.get(items, id).unwrap().map(|item| item.value)),
            Step::Insert(id, value) => {
                format!("{}", tx.insert(items, &Item::new(id, value)).is_ok())
            }
            Step::Put(id, value) => format!("{}", tx.put(items, &Item::new(id, value)).unwrap()),
            Step::Add(id, more) => {
                let add = |item: &mut Item| {
                    item.value += more;
                    item.value
                };
                format!("{:?}", tx.update(items, id, add).unwrap())
            }
            Step::Remove(id) => {
                format!("{:?}", tx.remove(items, id).unwrap().map(|item| item.value))
            }
            Step::Count => format!("{}", tx.count(items).unwrap()),
            Step::Sum => {
                let all = tx.scan(items).unwrap();
                format!("{}", all.map(|item| item.unwrap().value).sum::<u64>())
            }
            Step::Retain(below) => {
                format!(
                    "{}",
                    tx.retain(items, |item| item.value >= below / 4).unwrap()
                )
            }
            Step::Savepoint => {
                marks.push(tx.savepoint());
                String::new()
            }
            Step::Back => {
                if let Some(mark) = marks.pop() {
                    tx.rollback_to(mark).unwrap();
                }
                String::new()
            }
        }
    }

    fn model(self, model: &mut Model, marks: &mut Vec<Model>) -> String {
        match self {
            Step::Get(id) => format!("{:?}", model.get(&id)),
            Step::Insert(id, value) => {
                let is_new = !model.contains_key(&id);
                model.entry(id).or_insert(value);
                format!("{is_new}")
            }
            Step::Put(id, value) => format!("{}", model.insert(id, value).is_some()),
            Step::Add(id, more) => {
                let added = model.get_mut(&id).map(|value| {
                    *value += more;
                    *value
                });
                format!("{added:?}")
            }
            Step::Remove(id) => format!("{:?}", model.remove(&id)),
            Step::Count => format!("{}", model.len()),
            Step::Sum => format!("{}", model.values().sum::<u64>()),
            Step::Retain(below) => {
                let before = model.len();
                model.retain(|_, value| *value >= below / 4);
                format!("{}", before - model.len())
            }
            Step::Savepoint => {
                marks.push(model.clone());
                String::new()
            }
            Step::Back => {
                if let Some(mark) = marks.pop() {
                    *model = mark;
                }
                String::new()
            }
        }
    }
}

/// An open transaction and its steps.
struct Running {
    tx: OpenTransaction,
    marks: Vec<sardonyx::rows::Savepoint>,
    steps: Vec<Step>,
    told: Vec<String>,
}

impl Running {
    fn step(&mut self, step: Step, items: Table<Item>) {
        self.told
            .push(step.run(&mut self.tx, items, &mut self.marks));
        self.steps.push(step);
    }
}

#[derive(Default, Debug)]
struct Seen {
    committed: u64,
    conflicts: u64,
    needless: u64,
}

/// The steps as they would run now.
fn replay(steps: &[Step], model: &Model) -> (Vec<String>, Model) {
    let (mut model, mut marks) = (model.clone(), Vec::new());
    let told = steps.iter().map(|step| step.model(&mut model, &mut marks));
    (told.collect(), model)
}

fn interleave(seed: u64, opened: &Opened, seen: &mut Seen) {
    let mut random = Random::new(seed);
    let items = opened.items;
    let clear = |tx: &mut sardonyx::Transaction<'_>| tx.clear(items);
    opened.database.run(clear).unwrap();
    let mut model = Model::new();
    let mut running: Vec<Running> = Vec::new();
    for _ in 0..80 {
        match random.below(10) {
            0..=1 if running.len() < 4 => running.push(Running {
                tx: opened.database.begin().unwrap(),
                marks: Vec::new(),
                steps: Vec::new(),
                told: Vec::new(),
            }),
            2 => {
                let (id, value) = (random.below(10), random.below(100));
                let put = |tx: &mut sardonyx::Transaction<'_>| tx.put(items, &Item::new(id, value));
                opened.database.run(put).unwrap();
                model.insert(id, value);
            }
            3 if !running.is_empty() => {
                let at = random.below(running.len() as u64) as usize;
                let Running {
                    tx, steps, told, ..
                } = running.swap_remove(at);
                let changes = tx.has_changes();
                let (now, after) = replay(&steps, &model);
                let ended = match random.below(2) {
                    0 => tx.commit(),
                    _ => tx.commit_later().wait(),
                };
                match ended {
                    Ok(()) => {
                        seen.committed += 1;
                        if changes {
                            assert_eq!(told, now, "seed {seed}: {steps:?}");
                            model = after;
                        }
                    }
                    Err(error) => {
                        assert!(error.is_conflict(), "seed {seed}: {error}");
                        assert!(changes, "seed {seed}: one that only read");
                        seen.conflicts += 1;
                        seen.needless += u64::from(told == now);
                    }
                }
                assert_eq!(
                    opened.contents().unwrap().items,
                    model,
                    "seed {seed}: {steps:?}"
                );
            }
            _ if !running.is_empty() => {
                let at = random.below(running.len() as u64) as usize;
                running[at].step(Step::random(&mut random), items);
            }
            _ => {}
        }
    }
}

#[test]
fn every_commit_and_conflict_is_that_of_a_serial_model() {
    let mut seen = Seen::default();
    for shape in [Shape::Threadless, crate::common::PIPELINED] {
        let opened = open(shape);
        for seed in 0..150 {
            interleave(seed, &opened, &mut seen);
        }
    }
    assert!(seen.committed > 300 && seen.conflicts > 100, "{seen:?}");
    // A change reads its row, and undone reads count, too: that may be compared without need.
    assert!(
        seen.needless * 4 < seen.committed + seen.conflicts,
        "{seen:?}"
    );
}

fn append(tx: &mut OpenTransaction, items: Table<Item>, key: u64, value: u64) -> Result<(), Error> {
    tx.update(items, key, |item| *item = appended(*item, value))
        .map(|done| done.expect("it is there"))
}

/// Threads whose transactions append to lists and read them.
struct Lists<'l> {
    opened: &'l Opened,
    recorder: Recorder,
    /// Transactions that have ended, threads that run, and those of them that wait for others.
    ended: AtomicU64,
    running: AtomicU64,
    waiting: AtomicU64,
}

const THREADS: u64 = 3;
const EACH: u64 = 48;

/// A thread that runs: also one that panics ends, so that the others do not wait for it.
struct CountedIn<'a>(&'a AtomicU64);

impl Drop for CountedIn<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Lists<'_> {
    /// Waits until others have ended some transactions, unless all other threads have ended, or wait as well.
    fn let_others_commit(&self) {
        let now = |count: &AtomicU64| count.load(Ordering::SeqCst);
        let until = now(&self.ended) + 3;
        self.waiting.fetch_add(1, Ordering::SeqCst);
        while now(&self.ended) < until && now(&self.waiting) < now(&self.running) {
            std::thread::yield_now();
        }
        self.waiting.fetch_sub(1, Ordering::SeqCst);
    }

    /// Appends twice, and reads a third list. What it did since a savepoint is undone, and in no list.
    fn body(
        &self,
        tx: &mut OpenTransaction,
        (keys, value): ([u64; 3], u64),
        is_long: bool,
    ) -> Result<Vec<u64>, Error> {
        let items = self.opened.items;
        append(tx, items, keys[0], value)?;
        let savepoint = tx.savepoint();
        append(tx, items, keys[2], 60_000 + value)?;
        tx.rollback_to(savepoint)?;
        if is_long {
            self.let_others_commit();
        }
        append(tx, items, keys[1], value)?;
        Ok(list(tx.get(items, keys[2])?.as_ref()))
    }

    fn thread(&self, number: u64) {
        let _running = CountedIn(&self.running);
        for n in 0..EACH {
            let keys = [n % KEYS, (n + 1) % KEYS, (n * 5 + 2) % KEYS];
            let value = n * THREADS + number + 1;
            let mut is_long = n % 5 == number;
            let asked = json!([
                ["append", keys[0], value],
                ["append", keys[1], value],
                ["r", keys[2], null]
            ]);
            self.recorder.note("invoke", number, &asked);
            let bank = &self.opened.database;
            let of = (keys, value);
            let found = match n % 3 {
                // Its last run has the stage, and waits for no others.
                0 => bank.retry(|tx| self.body(tx, of, std::mem::take(&mut is_long))),
                way => bank.begin().and_then(|mut tx| {
                    let found = self.body(&mut tx, of, is_long)?;
                    match way {
                        1 => tx.commit()?,
                        _ => tx.commit_later().wait()?,
                    }
                    Ok(found)
                }),
            };
            let mut answered = asked;
            match found {
                Ok(found) => {
                    answered[2][2] = json!(found);
                    self.recorder.note("ok", number, &answered);
                }
                Err(error) => {
                    assert!(error.is_conflict(), "{error}");
                    self.recorder.note("fail", number, &answered);
                }
            }
            self.ended.fetch_add(1, Ordering::SeqCst);
        }
    }
}

#[test]
fn histories_of_threads_with_long_transactions_are_strictly_serializable() {
    in_every_threaded_shape(|shape| {
        let opened = open(shape);
        (0..KEYS).for_each(|key| opened.put(key, 0).unwrap());
        let lists = Lists {
            opened: &opened,
            recorder: Recorder::default(),
            ended: AtomicU64::new(0),
            running: AtomicU64::new(THREADS),
            waiting: AtomicU64::new(0),
        };
        std::thread::scope(|scope| {
            for number in 0..THREADS {
                let lists = &lists;
                scope.spawn(move || lists.thread(number));
            }
        });
        lists.recorder.judge(shape);
    });
}
