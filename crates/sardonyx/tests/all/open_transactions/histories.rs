//! Closures and open transactions interleaved by a seed, judged by a serial model. Each step of a committed one
//! returned the result that it would have had at the moment of its commit. The transaction left the content that it
//! would have left then. One that conflicted read something that was changed.

use super::open;
use crate::common::{Item, Opened};
use sardonyx::{OpenTransaction, Shape, Table};
use sardonyx_base::random::Random;
use std::collections::BTreeMap;

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
        marks: &mut Vec<sardonyx::rows::Marked>,
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
    marks: Vec<sardonyx::rows::Marked>,
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
