//! Abuse of the face, drawn from a seed: transactions that fail, panic, fork or call the database that
//! runs them; tickets out of order, forgotten, and waited for after the end; procedures that refuse;
//! threads; extremes for options; children that try everything. In all shapes. Whatever was done, at
//! the end everything acknowledged is there, whole, and nothing that was refused or a child's.
//!
//! Each sequence is a process of its own, with an outside witness of what it was told; one that does not
//! end in time hangs, and that is a failure. `SARDONYX_ABUSE_SEEDS=from..to` runs others than the few
//! that are always run.

mod common;
#[path = "common/fork.rs"]
mod fork;

use common::{Item, Note, Opened, PLANNED, VALUE, block_on, hide_planned_panics};
use fork::{Fork, end};
use sardonyx::{
    BatchTicket, Durability, Error, GroupLimits, GroupPolicy, Options, Procedure, Shape, Table,
    Ticket, Transaction,
};
use sardonyx_base::random::Random;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::future::Future;
use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::pin::Pin;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

/// Sequences that are always run.
const SEEDS: Range<u64> = 0..12;
/// Steps of a sequence, at most.
const STEPS_MAX: u64 = 60;
/// A sequence that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(120);
/// Where the ids of children begin.
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

/// Whom a sequence tells what it does and what it is told.
struct Witness {
    file: File,
    next: AtomicU64,
}

impl Witness {
    /// The id of a transaction that begins now.
    fn begins(&self) -> u64 {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.say('?', id);
        id
    }

    fn durable(&self, id: u64) {
        self.say('+', id);
    }

    fn refused(&self, id: u64) {
        self.say('-', id);
    }

    fn say(&self, what: char, id: u64) {
        let line = format!("{what} {id}\n");
        (&self.file).write_all(line.as_bytes()).unwrap();
    }
}

/// Inserts an item and notes it: both are there, or neither.
fn insert(opened: &Opened, tx: &mut Transaction<'_>, id: u64) -> Result<(), Error> {
    tx.insert(opened.items, &Item::new(id, id))?;
    let note = Note {
        account: id,
        amount: id,
    };
    tx.append(opened.notes, &note)
}

/// Inserts what its argument says, if it does.
struct Put(Table<Item>, sardonyx::Journal<Note>);

impl Procedure for Put {
    type Arguments = u64;
    type Located = ();
    type Output = u64;
    type Error = Error;

    fn name(&self) -> &str {
        "put"
    }

    fn check(&self, id: &u64) -> Result<(), Error> {
        match id % REMAINDER {
            3 => Err(Error::other("refused")),
            4 => panic!("{PLANNED}"),
            _ => Ok(()),
        }
    }

    fn locate(&self, id: &u64, _: &sardonyx::TableSpace) {
        assert!(id % REMAINDER != 5, "{PLANNED}");
    }

    fn execute(&self, id: &u64, (): (), tx: &mut Transaction<'_>) -> Result<u64, Error> {
        tx.insert(self.0, &Item::new(*id, *id))?;
        let note = Note {
            account: *id,
            amount: *id,
        };
        tx.append(self.1, &note)?;
        match id % REMAINDER {
            6 => Err(Error::other("failed")),
            7 => panic!("{PLANNED}"),
            _ => Ok(*id),
        }
    }
}

type Single = Ticket<Result<(), Error>>;

/// A value that panics when it is dropped, and a task that panics when it is woken.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("{PLANNED}");
        }
    }
}

impl Wake for Bomb {
    fn wake(self: Arc<Self>) {
        std::mem::forget(self);
        panic!("{PLANNED}");
    }
}

/// One sequence.
struct Abuse<'a> {
    random: Random,
    directory: &'a Path,
    witness: Arc<Witness>,
    shape: Shape,
    opened: Arc<Opened>,
    procedure: sardonyx::Registered<Put>,
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
    common::options(shape).group_policy(policy)
}

fn open(directory: &Path, options: Options) -> (Arc<Opened>, sardonyx::Registered<Put>) {
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

    /// What became of a transaction that succeeded if its caller is told so.
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
        let outcome = database.run_with(Durability::Deferred, |tx| insert(&self.opened, tx, id));
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

    fn submit(&mut self) {
        for _ in 0..1 + self.random.below(20) {
            let id = self.witness.begins();
            let how = self.random.below(8);
            let (items, notes) = (self.opened.items, self.opened.notes);
            let ticket = self.opened.database.try_submit(move |tx| {
                tx.insert(items, &Item::new(id, id))?;
                let note = Note {
                    account: id,
                    amount: id,
                };
                tx.append(notes, &note)?;
                match how {
                    0 => panic!("{PLANNED}"),
                    1 => Err(Error::other("on purpose")),
                    _ => Ok(()),
                }
            });
            match self.random.below(4) {
                0 if how > 1 => drop(ticket),
                1 if how > 1 => std::mem::forget(ticket),
                _ => self.tickets.push((id, ticket)),
            }
        }
    }

    fn submit_batch(&mut self) {
        let ids: Vec<_> = (0..self.random.below(40))
            .map(|_| self.witness.begins())
            .collect();
        let lane = match self.random.below(3) {
            0 => usize::MAX,
            lane => lane as usize,
        };
        let database = &self.opened.database;
        if let (true, Some(&id)) = (self.random.chance(1, 4), ids.first()) {
            let outcome = database.call(&self.procedure, id).unwrap();
            return self.outcome_of(id, outcome.is_ok());
        }
        let ticket = database.submit_batch(&self.procedure, ids.clone(), lane);
        match self.random.below(4) {
            0 => drop(ticket),
            _ => self.batches.push((ids, ticket)),
        }
    }

    fn outcome_of(&self, id: u64, well: bool) {
        assert_eq!(well, !(3..=7).contains(&(id % REMAINDER)), "{id}");
        match well {
            true => self.witness.durable(id),
            false => self.witness.refused(id),
        }
    }

    fn take_a_ticket(&mut self) {
        if let Some(place) = self.some_place(self.batches.len()) {
            let (ids, ticket) = self.batches.swap_remove(place);
            let outcomes = match self.random.chance(1, 2) {
                true => ticket.wait(),
                false => block_on(ticket),
            };
            for (id, outcome) in ids.into_iter().zip(outcomes.unwrap()) {
                self.outcome_of(id, outcome.is_ok());
            }
        }
        if let Some(place) = self.some_place(self.tickets.len()) {
            let (id, ticket) = self.tickets.swap_remove(place);
            let _ = (ticket.is_done(), format!("{ticket:?}"));
            let outcome = match self.random.chance(1, 2) {
                true => ticket.wait(),
                false => block_on(ticket),
            };
            match outcome {
                Ok(Ok(())) => self.witness.durable(id),
                Ok(Err(_)) | Err(Error::Panicked(_)) => self.witness.refused(id),
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn some_place(&mut self, of: usize) -> Option<usize> {
        (of > 0).then(|| self.random.below(of as u64) as usize)
    }

    fn wait_for_all(&mut self) {
        while !self.tickets.is_empty() || !self.batches.is_empty() {
            self.take_a_ticket();
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
            // Whether it runs after all is not said, but waiting for it here is refused.
            let _ = database.call(&self.procedure, self.witness.begins());
            let waited = database.try_submit(|_| Ok::<_, Error>(())).wait();
            assert!(matches!(waited, Err(Error::Nested(_))), "{waited:?}");
            for _ in 0..100 {
                drop(database.try_submit(|_| Ok::<_, Error>(())));
            }
            for (_, ticket) in older {
                let _ = ticket.wait();
            }
            Ok::<_, Error>(())
        });
        self.witness.refused(inner);
        self.told(id, outcome);
    }

    /// Values of the program's that panic when they are dropped, on whatever thread.
    fn bombs(&mut self) {
        let id = self.witness.begins();
        let (items, notes) = (self.opened.items, self.opened.notes);
        let how = self.random.below(4);
        let bomb = Bomb;
        let submit = || {
            self.opened.database.try_submit(move |tx| {
                let bomb = bomb;
                tx.insert(items, &Item::new(id, id))?;
                let note = Note {
                    account: id,
                    amount: id,
                };
                tx.append(notes, &note)?;
                match how {
                    0 => std::panic::panic_any(bomb),
                    1 => Err(Error::other("on purpose")),
                    _ => Ok(bomb),
                }
            })
        };
        let caught = |body: &mut dyn FnMut()| {
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
        };
        let mut ticket = None;
        let mut submit = Some(submit);
        caught(&mut || ticket = submit.take().map(|submit| submit()));
        let wait = self.random.chance(1, 2);
        caught(&mut || match (wait, ticket.take()) {
            (true, Some(ticket)) => drop(ticket.wait()),
            (_, ticket) => drop(ticket),
        });
        self.run_one();
    }

    /// A task that panics when it is woken.
    fn wakers(&mut self) {
        let id = self.witness.begins();
        let (items, notes) = (self.opened.items, self.opened.notes);
        let mut ticket = self.opened.database.try_submit(move |tx| {
            tx.insert(items, &Item::new(id, id))?;
            let note = Note {
                account: id,
                amount: id,
            };
            tx.append(notes, &note)
        });
        let waker = Waker::from(Arc::new(Bomb));
        let mut context = Context::from_waker(&waker);
        let polled = Pin::new(&mut ticket).poll(&mut context);
        std::mem::forget(waker);
        match polled {
            Poll::Pending => self.tickets.push((id, ticket)),
            Poll::Ready(outcome) => self.told(id, outcome.unwrap()),
        }
    }

    fn child_is_refused(opened: &Opened) -> bool {
        let forked = |outcome| matches!(outcome, Err(Error::Forked(_)));
        let put = |tx: &mut Transaction<'_>| insert(opened, tx, OF_CHILDREN);
        forked(opened.database.run(put))
            && forked(opened.database.run_with(Durability::Deferred, put))
            && forked(opened.database.flush())
            && forked(opened.database.checkpoint())
    }

    /// A child that tries something, with all tickets, and ends in one of three ways.
    fn fork(&mut self) {
        let ending = self.random.below(3);
        let child = Fork::Library.child(|| {
            let mut well = Self::child_is_refused(&self.opened);
            for (_, ticket) in self.tickets.drain(..) {
                well &= matches!(ticket.wait(), Err(Error::Forked(_)));
            }
            for (_, ticket) in self.batches.drain(..) {
                well &= matches!(block_on(ticket), Err(Error::Forked(_)));
            }
            // SAFETY: nothing else uses it in this child, which ends without dropping it again.
            let own = unsafe { std::ptr::read(&raw const self.opened.database) };
            match ending {
                0 => drop(own),
                1 => well &= own.close().is_err(),
                _ => std::mem::forget(own),
            }
            well
        });
        // The parent goes on meanwhile.
        self.run_one();
        assert!(child.ends_content());
    }

    fn fork_inside(&mut self) {
        let id = self.witness.begins();
        let opened = self.opened.clone();
        let mut child = None;
        let outcome = opened.database.run(|tx| {
            child = Fork::Library.here();
            insert(&opened, tx, id)
        });
        match child {
            None => end(outcome.is_err() && Self::child_is_refused(&opened)),
            Some(child) => assert!(child.ends_content()),
        }
        self.told(id, outcome);
    }

    fn threads(&mut self) {
        let (count, each) = (1 + self.random.below(4), self.random.below(12));
        std::thread::scope(|scope| {
            for _ in 0..count {
                scope.spawn(|| {
                    for _ in 0..each {
                        let id = self.witness.begins();
                        let outcome = self.opened.database.run(|tx| insert(&self.opened, tx, id));
                        self.told(id, outcome);
                    }
                });
            }
        });
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
            .read(|view| view.scan(self.opened.items).take(3).count())
            .expect("reads");
        let run =
            std::panic::AssertUnwindSafe(|| database.read(|_| panic!("{PLANNED}")).expect("reads"));
        assert!(std::panic::catch_unwind(run).is_err());
        let _ = format!("{database:?} {:?}", database.statistics());
        let _ = (
            database.recovery(),
            database.rebuild(),
            database.is_checkpointing(),
        );
    }

    /// Another database with options that may be nonsense: it opens and works, or says why not.
    fn extremes(&mut self) {
        let random = &mut self.random;
        let number = |random: &mut Random| match random.below(6) {
            0 => 0,
            1 => 1,
            2 => u64::MAX,
            3 => i64::MAX as u64,
            4 => u64::from(u32::MAX),
            _ => 4096,
        };
        let mut chosen = common::options(self.shape);
        for _ in 0..1 + random.below(3) {
            let value = number(random);
            chosen = match random.below(10) {
                0 => chosen.log_bytes_max(value.min(1 << 24)),
                1 => chosen.log_bytes_prepared(value),
                2 => chosen.checkpoint_interval_bytes(value),
                3 => chosen.checkpoint_interval_transactions(value),
                4 => chosen.memory_bytes_max(value),
                5 => chosen.stripes(value.min(300) as u32),
                6 => chosen.block_bytes(value as u32),
                7 => chosen.shape(Shape::Pipelined {
                    input_threads: value as usize,
                    output_threads: 1,
                }),
                8 => chosen.group_limits(GroupLimits {
                    depth: value as usize,
                    buffers: value as usize,
                    group_bytes: 8 << 10,
                    transaction_bytes: 16 << 10,
                }),
                _ => chosen.group_policy(GroupPolicy::Fixed {
                    transactions: value as u32,
                    // A time that is never over is a wait for ever, as asked for.
                    time: Duration::from_millis(value.min(2)),
                }),
            };
        }
        let place = tempfile::tempdir_in(self.directory).unwrap();
        if let Ok(other) = Opened::on_real(&place.path().join("other.sdx"), chosen) {
            // What does not fit into its memory or log is refused.
            let _ = other.put(1, 1);
            let _ = other.database.close();
        }
        // The one that is open cannot be opened again.
        let again = common::options(self.shape).open(self.directory.join("abused.sdx"));
        assert!(matches!(again, Err(Error::Locked(_))));
    }

    /// Handles and rows of another database, and rows whose records are gone.
    fn strangers(&mut self) {
        let place = tempfile::tempdir_in(self.directory).unwrap();
        let path = place.path().join("other.sdx");
        let other = Opened::on_real(&path, common::options(Shape::Threadless)).unwrap();
        other.put(1, 1).unwrap();
        let theirs = other
            .database
            .read(|view| view.count(other.items))
            .expect("reads");
        assert_eq!(theirs, 1);
        let row = other
            .database
            .run(|tx| Ok::<_, Error>(tx.find(other.items, &1)));
        let row = row.unwrap().unwrap();
        let id = self.witness.begins();
        let opened = &self.opened;
        let outcome = opened.database.run(|tx| {
            assert!(tx.set(row, VALUE, 7).is_err() && tx.record(row).is_err());
            insert(opened, tx, id)?;
            let own = tx.find(opened.items, &id).unwrap();
            tx.delete(opened.items, &id)?;
            assert!(tx.record(own).is_err() && tx.set(own, VALUE, 7).is_err());
            Err::<(), _>(Error::other("all of it"))
        });
        assert!(outcome.is_err());
        self.witness.refused(id);
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
                // The last handle goes on a thread of the engine's, in the middle of a transaction. It is
                // closed when whoever opens it next is let in.
                let last = opened.clone();
                drop(opened.database.try_submit(move |_| {
                    drop(last);
                    Ok::<_, Error>(())
                }));
                drop(opened);
                let path = self.directory.join("abused.sdx");
                let locked = || {
                    let open = common::options(Shape::Threadless).open(&path);
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

/// Runs a sequence; says what is wrong, if anything is.
fn judge(seed: u64) -> Result<(), String> {
    let directory = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "sequence", "--nocapture", "--test-threads=1"])
        .env(
            "SARDONYX_ABUSED",
            format!("{seed}@{}", directory.path().display()),
        )
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if begun.elapsed() > LIMIT => {
                child.kill().unwrap();
                child.wait().unwrap();
                return Err("it hangs".into());
            }
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
