//! Clients that run debit-credit transactions, measure, and count the acknowledged ones.
//!
//! A client either submits batches of requests with several batches in flight (throughput), or runs one closure at a
//! time and waits for it each time (response). The response time of each request of a batch begins before the *first*
//! one is generated. It ends when the client sees the whole batch acknowledged. So it is never too low.

use crate::debit_credit::requests::{Generator, Request, Scale};
use crate::debit_credit::schema::{HistoryRow, Schema};
use crate::debit_credit::transaction::{DebitCredit, Located, Numbered, Refusal};
use crate::open_loop::Point;
use crate::responses::Responses;
use crate::window::{Answered, Window};
use sardonyx::procedures::{Procedure, Registered};
use sardonyx::{Durability, Error, Tables};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The load of the clients.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// The size of the tables.
    pub scale: Scale,
    /// Clients, each a thread.
    pub clients: usize,
    /// The mode in which they submit.
    pub mode: Mode,
    /// The end of the run.
    pub until: Until,
    /// The moment at which a transaction counts as acknowledged.
    pub durability: Durability,
    /// The share of accounts of another branch, in percent.
    pub other_branch_percent: u32,
    /// The share of requests with a wrong code, in percent: they are refused.
    pub wrong_code_percent: u32,
    /// The seed of the requests.
    pub seed: u64,
}

/// The mode in which a client submits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Batches of requests of a procedure.
    Batches {
        /// Requests in a batch.
        requests: usize,
        /// Batches in flight.
        in_flight: usize,
    },
    /// One closure at a time, waiting for each.
    OneAtATime,
}

/// The end of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Until {
    /// After so many transactions.
    Transactions(u64),
    /// After so much time.
    Time(Duration),
}

/// The outcome of a run.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Transactions acknowledged as committed.
    pub committed: u64,
    /// Requests that were undone.
    pub refused: u64,
    /// Wall time of the run.
    pub elapsed: Duration,
    /// Response times.
    pub responses: Responses,
    /// For each client, the number of acknowledged transactions: numbers 0 up to this.
    pub acknowledged: Vec<u64>,
    /// The acknowledged transactions in each slice of time, and the state of checkpointing.
    pub slices: Vec<Slice>,
    /// The figures at each arrival rate of an open loop.
    pub points: Vec<Point>,
}

impl Outcome {
    /// Adds one more client.
    pub(super) fn add(&mut self, client: Measured) {
        self.committed += client.committed;
        self.refused += client.refused;
        self.responses.merge(&client.responses);
        self.acknowledged.push(client.acknowledged);
    }

    /// Adds a later run with other clients.
    pub fn absorb(&mut self, later: Outcome) {
        self.committed += later.committed;
        self.refused += later.refused;
        self.elapsed += later.elapsed;
        self.responses.merge(&later.responses);
        self.acknowledged.extend(later.acknowledged);
        self.slices.extend(later.slices);
        self.points.extend(later.points);
    }
}

/// A short slice of the run's time.
#[derive(Clone, Copy, Debug)]
pub struct Slice {
    /// Its length.
    pub time: Duration,
    /// Transactions acknowledged in it.
    pub committed: u64,
    /// True if a checkpoint was being written, at its beginning and at its end.
    pub checkpointing: (bool, bool),
}

/// The progress of a run, for other threads.
#[derive(Debug, Default)]
pub struct Progress {
    /// Transactions acknowledged so far.
    pub committed: AtomicU64,
    stop: AtomicBool,
    started: AtomicU64,
}

impl Progress {
    /// Asks the clients to stop early.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Returns true if a stop was requested.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Counts further acknowledged transactions.
    pub fn add_committed(&self, committed: u64) {
        self.committed.fetch_add(committed, Ordering::Relaxed);
    }
}

/// Runs the clients to the end.
///
/// # Errors
/// The first error that is not a refusal of a single request.
pub fn run(
    database: &Tables,
    schema: Schema,
    procedure: &Registered<DebitCredit>,
    load: &Load,
    progress: &Progress,
) -> Result<Outcome, Error> {
    let started = Instant::now();
    let deadline = match load.until {
        Until::Time(time) => Some(started + time),
        Until::Transactions(_) => None,
    };
    let (clients, elapsed, slices) = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..load.clients)
            .map(|number| {
                let client = Client::new(
                    database, schema, procedure, load, progress, number, deadline,
                );
                std::thread::Builder::new()
                    .name(format!("client-{number}"))
                    .spawn_scoped(scope, move || client.run())
                    .expect("the system can start a thread")
            })
            .collect();
        let watcher = scope.spawn(|| watch(database, progress));
        let clients: Vec<_> = clients
            .into_iter()
            .map(|c| c.join().expect("a client does not panic"))
            .collect();
        // Before the watcher has slept to its end, which would be a large part of a short run.
        let elapsed = started.elapsed();
        progress.stop();
        let slices = watcher.join().expect("the watcher does not panic");
        (clients, elapsed, slices)
    });
    let mut outcome = Outcome {
        elapsed,
        slices,
        ..Outcome::default()
    };
    for client in clients {
        outcome.add(client?);
    }
    Ok(outcome)
}

/// Samples the throughput until the clients are done.
pub(super) fn watch(database: &Tables, progress: &Progress) -> Vec<Slice> {
    let mut slices = Vec::new();
    let mut last = (
        Instant::now(),
        progress.committed.load(Ordering::Relaxed),
        false,
    );
    while !progress.stop.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(10));
        let now = (
            Instant::now(),
            progress.committed.load(Ordering::Relaxed),
            database.is_checkpointing(),
        );
        slices.push(Slice {
            time: now.0 - last.0,
            committed: now.1 - last.1,
            checkpointing: (last.2, now.2),
        });
        last = now;
    }
    slices
}

/// The measurements of one client.
#[derive(Debug, Default)]
pub(super) struct Measured {
    pub committed: u64,
    pub refused: u64,
    /// Committed or refused.
    pub acknowledged: u64,
    pub responses: Responses,
}

struct Client<'a> {
    database: &'a Tables,
    schema: Schema,
    procedure: &'a Registered<DebitCredit>,
    progress: &'a Progress,
    generator: Generator,
    number: usize,
    mode: Mode,
    durability: Durability,
    deadline: Option<Instant>,
    transactions_max: u64,
    sent: u64,
    measured: Measured,
}

impl<'a> Client<'a> {
    fn new(
        database: &'a Tables,
        schema: Schema,
        procedure: &'a Registered<DebitCredit>,
        load: &Load,
        progress: &'a Progress,
        number: usize,
        deadline: Option<Instant>,
    ) -> Self {
        let generator = load.generator(number);
        Client {
            database,
            schema,
            procedure,
            progress,
            generator,
            number,
            mode: load.mode,
            durability: load.durability,
            deadline,
            transactions_max: match load.until {
                Until::Transactions(n) => n,
                Until::Time(_) => u64::MAX,
            },
            sent: 0,
            measured: Measured::default(),
        }
    }

    fn run(mut self) -> Result<Measured, Error> {
        let outcome = match self.mode {
            Mode::Batches {
                requests,
                in_flight,
            } => self.run_batches(requests, in_flight),
            Mode::OneAtATime => self.run_one_at_a_time(),
        };
        if outcome.is_err() {
            self.progress.stop();
        }
        outcome.map(|()| self.measured)
    }

    /// The number of `wanted` transactions that this client may start now.
    fn grant(&self, wanted: u64, now: Instant) -> u64 {
        if self.progress.stop.load(Ordering::Relaxed) || self.deadline.is_some_and(|d| now >= d) {
            return 0;
        }
        if self.transactions_max == u64::MAX {
            return wanted;
        }
        let before = self.progress.started.fetch_add(wanted, Ordering::Relaxed);
        self.transactions_max.saturating_sub(before).min(wanted)
    }

    fn next(&mut self) -> Numbered {
        let transaction = ((self.number as u64) << 48) | self.sent;
        self.sent += 1;
        Numbered {
            transaction,
            request: self.generator.request(),
        }
    }

    fn run_batches(&mut self, requests: usize, in_flight: usize) -> Result<(), Error> {
        let mut window = Window::new(in_flight);
        loop {
            let started = Instant::now();
            let granted = self.grant(requests as u64, started);
            if granted > 0 {
                let batch: Vec<Numbered> = (0..granted).map(|_| self.next()).collect();
                let ticket = self
                    .database
                    .submit_batch(self.procedure, batch, self.number);
                window.push(ticket, started);
            }
            while let Some(answered) = window.pop(granted == 0)? {
                self.finish(&answered);
            }
            if granted == 0 {
                return Ok(());
            }
        }
    }

    fn finish(&mut self, batch: &Answered<(), Refusal>) {
        let requests = batch.outcomes.len() as u64;
        self.measured
            .responses
            .record_n(batch.started.elapsed(), requests);
        let committed = batch.outcomes.iter().filter(|outcome| outcome.is_ok());
        let committed = committed.count() as u64;
        self.measured.committed += committed;
        self.measured.refused += requests - committed;
        self.measured.acknowledged += requests;
        self.progress.add_committed(committed);
    }

    fn run_one_at_a_time(&mut self) -> Result<(), Error> {
        let procedure = DebitCredit::new(self.schema);
        loop {
            let started = Instant::now();
            if self.grant(1, started) == 0 {
                return Ok(());
            }
            let numbered = self.next();
            let durability = self.durability;
            let committed = run_closure(
                self.database,
                durability,
                &self.schema,
                &procedure,
                &numbered,
            )?;
            self.measured.responses.record_n(started.elapsed(), 1);
            self.measured.committed += u64::from(committed);
            self.measured.refused += u64::from(!committed);
            self.measured.acknowledged += 1;
            self.progress.add_committed(u64::from(committed));
        }
    }
}

impl Load {
    /// The requests of a client.
    pub(super) fn generator(&self, client: usize) -> Generator {
        let seed = self.seed.wrapping_add(client as u64);
        let generator = Generator::new(self.scale, self.other_branch_percent, seed);
        let generator = generator.expect("the share was checked");
        generator.with_wrong_codes(self.wrong_code_percent)
    }
}

/// Runs a request as a closure. Returns true if it is committed; otherwise it was refused and undone.
///
/// # Errors
/// The database's.
pub(super) fn run_closure(
    database: &Tables,
    durability: Durability,
    schema: &Schema,
    procedure: &DebitCredit,
    numbered: &Numbered,
) -> Result<bool, Error> {
    let mut refused = false;
    let ran = database
        .transaction()
        .durability(durability)
        .run(|transaction| {
            let located: Located = locate(schema, &numbered.request, transaction);
            let outcome = procedure.execute(numbered, located, transaction);
            refused = matches!(&outcome, Err(refusal) if !matches!(refusal, Refusal::Database(_)));
            outcome.map_err(Error::other)
        });
    match ran {
        Err(_) if refused => Ok(false),
        ran => ran.map(|()| true),
    }
}

fn locate(schema: &Schema, request: &Request, transaction: &sardonyx::Transaction<'_>) -> Located {
    (
        transaction.find(schema.accounts, request.account),
        transaction.find(schema.tellers, u64::from(request.teller)),
        transaction.find(schema.branches, u64::from(request.branch)),
    )
}

/// The client and the running number of a history row.
pub fn client_and_number(row: &HistoryRow) -> (usize, u64) {
    (
        (row.transaction >> 48) as usize,
        row.transaction & ((1 << 48) - 1),
    )
}
