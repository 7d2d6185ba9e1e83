//! Abuse of the face, drawn from a seed: transactions that fail, panic, fork or call the database that runs them;
//! tickets out of order, forgotten, and waited for after the end; procedures that refuse; threads; extremes for
//! options; children that try everything. In all shapes. At the end everything acknowledged is there, whole, and
//! nothing that was refused or a child's.
//!
//! Each sequence is a process of its own, with an outside witness of its results; one that does not end in time hangs,
//! and that is a failure. `SARDONYX_ABUSE_SEEDS=from..to` runs others than the few that are always run.

mod children;
mod others;
mod program;
mod tickets;
mod witness;

use crate::common;
use crate::common::{Item, Note, Opened, PLANNED, hide_planned_panics};
use crate::fork::end;
use program::{Put, insert};
use sardonyx::disk::GroupPolicy;
use sardonyx::procedures::BatchTicket;
use sardonyx::{Durability, Error, Options, Shape, Ticket};
use sardonyx_base::random::Random;
use sardonyx_base::victims::{Victim, test_program};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};
use witness::Witness;

/// Sequences that are always run.
const SEEDS: Range<u64> = 0..12;
/// Steps of a sequence, at most.
const STEPS_MAX: u64 = 60;
/// A sequence that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(120);
/// The first of the children's ids.
const OF_CHILDREN: u64 = 1 << 40;
/// An id that a procedure refuses, fails at, and panics at, by its remainder.
const REMAINDER: u64 = 16;

const SHAPES: [Shape; 5] = [
    Shape::Pipelined {
        input_threads: 1,
        output_threads: 1,
    },
    Shape::Pipelined {
        input_threads: 3,
        output_threads: 2,
    },
    Shape::Pipelined {
        input_threads: 0,
        output_threads: 0,
    },
    Shape::Coalesced,
    Shape::Threadless,
];

type Single = Ticket<Result<(), Error>>;

/// One sequence.
struct Abuse<'a> {
    random: Random,
    directory: &'a Path,
    witness: Arc<Witness>,
    shape: Shape,
    opened: Arc<Opened>,
    procedure: sardonyx::procedures::Registered<Put>,
    tickets: Vec<(u64, Single)>,
    batches: Vec<(Vec<u64>, BatchTicket<u64, Error>)>,
    deferred: Vec<u64>,
}

fn options(shape: Shape, random: &mut Random) -> Options {
    let policy = match random.below(3) {
        0 => GroupPolicy::Fixed {
            transactions: random.below(4) as u32,
            time: Duration::from_micros(random.below(300)),
        },
        _ => GroupPolicy::Adaptive,
    };
    // So that `too_large` need not fill the log.
    common::options(shape)
        .group_policy(policy)
        .transaction_bytes(16 << 10)
}

fn open(
    directory: &Path,
    options: Options,
) -> (Arc<Opened>, sardonyx::procedures::Registered<Put>) {
    let opened = Opened::on_real(&directory.join("abused.sdx"), options).unwrap();
    let procedure = Put(opened.items, opened.notes);
    let procedure = opened.database.register(procedure).unwrap();
    (Arc::new(opened), procedure)
}

impl<'a> Abuse<'a> {
    fn new(seed: u64, directory: &'a Path) -> Self {
        let mut random = Random::stream(seed, 0xab05e);
        let shape = SHAPES[seed as usize % SHAPES.len()];
        let (opened, procedure) = open(directory, options(shape, &mut random));
        let file = File::options()
            .create(true)
            .append(true)
            .open(directory.join("witness"))
            .unwrap();
        let next = AtomicU64::new(1);
        Abuse {
            random,
            directory,
            witness: Arc::new(Witness { file, next }),
            shape,
            opened,
            procedure,
            tickets: Vec::new(),
            batches: Vec::new(),
            deferred: Vec::new(),
        }
    }

    fn run(mut self) {
        for _ in 0..1 + self.random.below(STEPS_MAX) {
            self.step();
        }
        match self.random.below(3) {
            0 => drop(self),
            1 => {
                self.close();
                self.wait_for_all();
            }
            // Died.
            _ => end(true),
        }
    }

    fn step(&mut self) {
        match self.random.below(24) {
            0..=3 => self.run_one(),
            4 => self.run_and_fail(),
            5 => self.run_deferred(),
            6 | 7 => self.submit(),
            8 | 9 => self.submit_batch(),
            10 | 11 => self.take_a_ticket(),
            12 => self.nest(),
            13 => self.fork(),
            14 => self.fork_inside(),
            15 => self.threads(),
            16 => self.too_large(),
            17 => self.look(),
            18 => self.flush(),
            19 => self.extremes(),
            20 => self.strangers(),
            21 => self.bombs(),
            22 => self.wakers(),
            _ => self.reopen(),
        }
    }

    /// Notes the result of a transaction: it succeeded if its caller got success.
    fn told<E>(&self, id: u64, outcome: Result<(), E>)
    where
        E: std::fmt::Debug,
    {
        outcome.unwrap();
        self.witness.durable(id);
    }

    fn run_one(&mut self) {
        let id = self.witness.begins();
        let outcome = self.opened.database.run(|tx| insert(&self.opened, tx, id));
        self.told(id, outcome);
    }

    fn run_and_fail(&mut self) {
        let (id, panics) = (self.witness.begins(), self.random.chance(1, 2));
        let opened = &self.opened;
        let run = || {
            opened.database.run(|tx| {
                insert(opened, tx, id)?;
                assert!(!panics, "{PLANNED}");
                Err::<(), _>(Error::other("on purpose"))
            })
        };
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
        assert_eq!(outcome.is_err(), panics);
        assert!(!matches!(outcome, Ok(Ok(()))));
        self.witness.refused(id);
    }

    fn run_deferred(&mut self) {
        let id = self.witness.begins();
        let database = &self.opened.database;
        let outcome = database
            .transaction()
            .durability(Durability::Deferred)
            .run(|tx| insert(&self.opened, tx, id));
        outcome.unwrap();
        self.deferred.push(id);
    }

    fn flush(&mut self) {
        let database = &self.opened.database;
        match self.random.chance(1, 2) {
            true => database.flush().unwrap(),
            false => database.checkpoint().unwrap(),
        }
        for id in self.deferred.drain(..) {
            self.witness.durable(id);
        }
    }

    /// Calls the database inside one of its transactions.
    fn nest(&mut self) {
        let (id, inner) = (self.witness.begins(), self.witness.begins());
        let opened = &self.opened;
        let database = &opened.database;
        let older: Vec<_> = self.tickets.drain(..).collect();
        let nested = |outcome: Result<(), Error>| {
            assert!(matches!(outcome, Err(Error::Nested(_))));
        };
        let outcome = database.run(|tx| {
            insert(opened, tx, id)?;
            nested(database.run(|tx| insert(opened, tx, inner)));
            nested(database.flush());
            nested(database.checkpoint());
            nested(database.table::<Item>().map(drop));
            nested(database.journal::<Note>().map(drop));
            database.statistics();
            // It may run after all or not, but waiting for it here is refused.
            let _ = database.call(&self.procedure, self.witness.begins());
            let waited = database
                .transaction()
                .errors()
                .submit(|_| Ok::<_, Error>(()))
                .wait();
            assert!(matches!(waited, Err(Error::Nested(_))), "{waited:?}");
            for _ in 0..100 {
                drop(
                    database
                        .transaction()
                        .errors()
                        .submit(|_| Ok::<_, Error>(())),
                );
            }
            for (_, ticket) in older {
                let _ = ticket.wait();
            }
            Ok::<_, Error>(())
        });
        self.witness.refused(inner);
        self.told(id, outcome);
    }

    /// More than a transaction may change.
    fn too_large(&mut self) {
        let ids: Vec<_> = (0..200).map(|_| self.witness.begins()).collect();
        let opened = &self.opened;
        let outcome = opened
            .database
            .run(|tx| ids.iter().try_for_each(|id| insert(opened, tx, *id)));
        assert!(
            matches!(outcome, Err(Error::Limit(_) | Error::Full(_))),
            "{outcome:?}"
        );
        ids.into_iter().for_each(|id| self.witness.refused(id));
    }

    /// Looks at everything, and stops in the middle.
    fn look(&mut self) {
        let database = &self.opened.database;
        let mut left = self.random.below(20);
        let rows = database.journal_rows(self.opened.notes, |_| {
            left = left.saturating_sub(1);
            left > 0
        });
        rows.unwrap();
        database
            .read(|view| {
                Ok(view
                    .scan(self.opened.items)?
                    .map(|record| record.expect("a record"))
                    .take(3)
                    .count())
            })
            .expect("reads");
        let run = std::panic::AssertUnwindSafe(|| {
            database
                .read(|_| -> Result<(), Error> { panic!("{PLANNED}") })
                .expect("reads")
        });
        assert!(std::panic::catch_unwind(run).is_err());
        let _ = format!("{database:?} {:?}", database.statistics());
        let _ = (
            database.recovery(),
            database.rebuild(),
            database.is_checkpointing(),
        );
    }

    /// Closes or drops it, with tickets out, and opens it again.
    fn reopen(&mut self) {
        self.close();
        if self.random.chance(1, 2) {
            // Closing has made them durable.
            self.wait_for_all();
        }
        self.shape = SHAPES[self.random.below(SHAPES.len() as u64) as usize];
        let options = options(self.shape, &mut self.random);
        (self.opened, self.procedure) = open(self.directory, options);
    }

    fn close(&mut self) {
        let spare = tempfile::tempdir_in(self.directory).unwrap();
        let nothing = common::options(Shape::Threadless);
        let nothing = Opened::on_real(&spare.path().join("spare.sdx"), nothing).unwrap();
        let opened = std::mem::replace(&mut self.opened, Arc::new(nothing));
        match self.random.below(3) {
            0 => {
                let opened = Arc::into_inner(opened).expect("nobody else has it");
                opened.database.close().unwrap();
            }
            1 => drop(opened),
            _ => {
                // The last handle is dropped on a thread of the engine's, in the middle of a transaction. The database
                // is closed when the next opening is admitted.
                let last = opened.clone();
                drop(opened.database.transaction().errors().submit(move |_| {
                    drop(last);
                    Ok::<_, Error>(())
                }));
                drop(opened);
                let path = self.directory.join("abused.sdx");
                let locked = || {
                    let open = common::options(Shape::Threadless).open_tables(&path);
                    matches!(&open, Err(Error::Locked(_)))
                };
                while locked() {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        }
        for id in self.deferred.drain(..) {
            self.witness.durable(id);
        }
    }
}

/// The process of a sequence.
#[test]
fn sequence() {
    let Ok(role) = std::env::var("SARDONYX_ABUSED") else {
        return;
    };
    hide_planned_panics();
    let (seed, directory) = role.split_once('@').unwrap();
    Abuse::new(seed.parse().unwrap(), Path::new(directory)).run();
}

/// Runs a sequence; returns its fault, if there is one.
fn judge(seed: u64) -> Result<(), String> {
    let directory = tempfile::tempdir().unwrap();
    let mut command = test_program(&sequence).unwrap();
    command.arg("--test-threads=1").env(
        "SARDONYX_ABUSED",
        format!("{seed}@{}", directory.path().display()),
    );
    let mut victim = Victim::start(&mut command).unwrap();
    victim.listen(drop).unwrap();
    let begun = Instant::now();
    let status = loop {
        match victim.ended().unwrap() {
            Some(status) => break status,
            None if begun.elapsed() > LIMIT => return Err("it hangs".into()),
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    if !status.success() {
        return Err(format!("it ended with {status}"));
    }
    let witness = std::fs::read_to_string(directory.path().join("witness")).unwrap();
    let mut told = BTreeMap::new();
    for line in witness.lines() {
        let (what, id) = line.split_once(' ').unwrap();
        told.insert(id.parse::<u64>().unwrap(), what.to_string());
    }
    let options = common::options(Shape::Threadless);
    let opened = Opened::on_real(&directory.path().join("abused.sdx"), options).unwrap();
    let contents = opened.contents().unwrap();
    let noted: BTreeSet<_> = contents.notes.iter().map(|(id, _)| *id).collect();
    let there: BTreeSet<_> = contents.items.keys().copied().collect();
    if noted != there || noted.len() != contents.notes.len() {
        return Err("items and notes differ: a transaction is not whole, or twice".into());
    }
    let lost = |(_, what): &(&u64, &String)| *what == "+";
    let missing = told.iter().filter(lost).find(|(id, _)| !there.contains(id));
    if let Some((id, _)) = missing {
        return Err(format!("{id} was acknowledged and is gone"));
    }
    let foreign = there
        .iter()
        .find(|id| told.get(id).is_none_or(|what| what == "-"));
    foreign.map_or(Ok(()), |id| {
        Err(format!("{id} was refused, or a child's, and is there"))
    })
}

#[test]
fn i1_i8_what_is_acknowledged_is_there_and_nothing_else_however_the_face_is_abused() {
    let seeds = std::env::var("SARDONYX_ABUSE_SEEDS").map_or(SEEDS, |seeds| {
        let (from, to) = seeds.split_once("..").expect("from..to");
        from.parse().expect("a number")..to.parse().expect("a number")
    });
    let wrong: Vec<_> = seeds
        .filter_map(|seed| {
            judge(seed)
                .err()
                .map(|error| format!("seed {seed}: {error}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
