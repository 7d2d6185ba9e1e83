//! The run: every strategy and variant with every number of threads, each in a new database, checked
//! afterwards.

use super::Options;
use super::operation::{ADD, Add, EXCLUSIVE, RECORDS_PER_PAGE, Sum, pages_for};
use crate::error::{ExperimentError, Failure};
use crate::experiment::Report;
use crate::place::Place;
use crate::processor::processor_time;
use crate::responses::{Responses, Summary};
use sardonyx_multilevel::{Area, CallError, Database, Release, Statistics, Stop, Strategy};
use sardonyx_workload::random::Random;
use std::path::Path;
use std::sync::Barrier;
use std::time::{Duration, Instant};

/// The name of the records' area.
const AREA: &str = "records";

/// The lock of the counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// Increments commute; released when the end is in the log.
    Increment,
    /// Increments commute; released when the transaction is durable.
    IncrementDurable,
    /// Exclusive; released when the end is in the log.
    Exclusive,
    /// Exclusive; released when the transaction is durable, as is usual.
    ExclusiveDurable,
}

impl Variant {
    /// All of them.
    pub const ALL: [Variant; 4] = [
        Variant::Increment,
        Variant::IncrementDurable,
        Variant::Exclusive,
        Variant::ExclusiveDurable,
    ];

    /// The variant's name.
    pub fn name(self) -> &'static str {
        match self {
            Variant::Increment => "increment locks",
            Variant::IncrementDurable => "increment locks, until durable",
            Variant::Exclusive => "exclusive locks",
            Variant::ExclusiveDurable => "exclusive locks, until durable",
        }
    }

    fn commutes(self) -> bool {
        matches!(self, Variant::Increment | Variant::IncrementDurable)
    }

    fn release(self) -> Release {
        match self {
            Variant::Increment | Variant::Exclusive => Release::Appended,
            Variant::IncrementDurable | Variant::ExclusiveDurable => Release::Durable,
        }
    }

    /// Returns true if it has a meaning: if only pages are locked, increments do not commute.
    pub(super) fn runs_under(self, strategy: Strategy) -> bool {
        strategy != Strategy::SingleLevel || !self.commutes()
    }
}

/// All figures of one run.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Figures {
    pub cold_records: u64,
    /// One for each strategy and variant, in order.
    pub series: Vec<Series>,
}

/// The figures of a variant under a strategy.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Series {
    /// The strategy's name.
    pub strategy: &'static str,
    /// The lock of the counter.
    pub variant: Variant,
    /// One for each number of threads, in order.
    pub cells: Vec<Cell>,
}

/// The figures of one number of threads.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Cell {
    pub threads: usize,
    /// The number of transactions that they committed, in all.
    pub transactions: u64,
    /// Durable transactions a second, by the clock of the slowest thread.
    pub transactions_per_second: f64,
    /// The ratio of the throughput to that of [`Variant::ExclusiveDurable`] with as many threads under the same
    /// strategy, if that ran too.
    pub times_exclusive: Option<f64>,
    /// Response times.
    pub responses: Summary,
    pub transactions_per_log_write: f64,
    /// Waits for a lock on a page, for each transaction.
    pub page_waits: f64,
    /// Waits for a lock on an object, for each transaction.
    pub object_waits: f64,
    /// The average time that a transaction waited for locks.
    pub lock_wait_microseconds: f64,
    /// Processor time for a transaction, of the threads that ran them. The engine's own threads, which write the log and
    /// take checkpoints, are not counted.
    pub processor_microseconds: f64,
    /// Transactions that were chosen to end a deadlock and ran again.
    pub deadlocks: u64,
}

/// Runs all cells and calls `progress` with each step that begins.
///
/// # Errors
/// [`ExperimentError`] at the first cell that fails, or whose database does not hold the acknowledged transactions; the
/// databases are removed then, too.
pub fn run(
    options: &Options,
    mut progress: impl FnMut(&str),
) -> Result<Report<Figures>, ExperimentError> {
    options.check()?;
    progress("bare durable writes");
    Report::measured(
        options.databases.conditions.face(),
        Some(&options.databases.directory),
        || {
            let mut all = Vec::new();
            for &strategy in &options.strategies {
                let variants = options.chosen().into_iter();
                for variant in variants.filter(|variant| variant.runs_under(strategy)) {
                    let mut cells = Vec::with_capacity(options.threads.len());
                    for &threads in &options.threads {
                        let (strategy_name, variant_name) = (strategy.name(), variant.name());
                        progress(&format!(
                            "{strategy_name}, {variant_name}: {threads} threads"
                        ));
                        cells.push(run_cell(strategy, variant, threads, options)?);
                    }
                    all.push(Series {
                        strategy: strategy.name(),
                        variant,
                        cells,
                    });
                }
            }
            compare(&mut all);
            Ok(Figures {
                cold_records: options.cold_records,
                series: all,
            })
        },
    )
}

/// Adds to each cell its ratio to the usual way.
fn compare(all: &mut [Series]) {
    let usual = |series: &&Series| series.variant == Variant::ExclusiveDurable;
    let usual: Vec<Series> = all.iter().filter(usual).cloned().collect();
    for series in all {
        let Some(usual) = usual.iter().find(|usual| usual.strategy == series.strategy) else {
            continue;
        };
        for (cell, usual) in series.cells.iter_mut().zip(&usual.cells) {
            let times = cell.transactions_per_second / usual.transactions_per_second;
            cell.times_exclusive = Some(times);
        }
    }
}

fn run_cell(
    strategy: Strategy,
    variant: Variant,
    threads: usize,
    options: &Options,
) -> Result<Cell, ExperimentError> {
    let in_directory = |error| failed("the directory for the database")(error);
    let directory =
        Place::temporary(&options.databases.directory, "sardonyx-hot-").map_err(in_directory)?;
    let (database, area) = open(directory.path(), strategy, variant, options)?;
    let before = database.statistics();
    let client = Client {
        database: &database,
        area,
        variant,
        options,
    };
    let outcomes = run_threads(&client, threads).map_err(failed("running the transactions"))?;
    let after = database.statistics();
    database.close().map_err(failed("closing the database"))?;
    let acknowledged: u64 = outcomes
        .iter()
        .map(|outcome| outcome.responses.count())
        .sum();
    check(directory.path(), strategy, variant, options, acknowledged)?;
    directory.close().map_err(in_directory)?;
    Ok(cell(threads, &outcomes, &before, &after))
}

fn failed<E: Into<Failure>>(doing: &'static str) -> impl Fn(E) -> ExperimentError {
    move |error| ExperimentError::Database {
        doing,
        source: error.into(),
    }
}

fn open(
    directory: &Path,
    strategy: Strategy,
    variant: Variant,
    options: &Options,
) -> Result<(Database, Area), ExperimentError> {
    let database = sardonyx_multilevel::Options::new()
        .strategy(strategy)
        .release(variant.release())
        .register::<Add>()
        .open(directory)
        .map_err(failed("opening the database"))?;
    let pages = pages_for(options.cold_records);
    let area = database.area(AREA, pages);
    Ok((database, area.map_err(failed("declaring the area"))?))
}

/// The outcome of a thread.
struct Outcome {
    responses: Responses,
    elapsed: Duration,
    processor: Duration,
}

fn run_threads(client: &Client<'_>, threads: usize) -> Result<Vec<Outcome>, CallError<Stop>> {
    let barrier = &Barrier::new(threads);
    std::thread::scope(|scope| {
        let start = |thread| {
            scope.spawn(move || {
                let seed = client.options.databases.seed.wrapping_add(thread as u64);
                let random = Random::new(seed);
                barrier.wait();
                client.work(random)
            })
        };
        let handles: Vec<_> = (0..threads).map(start).collect();
        let join = |handle: std::thread::ScopedJoinHandle<'_, _>| {
            let joined = handle.join();
            joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        handles.into_iter().map(join).collect()
    })
}

/// The state that the threads share.
struct Client<'a> {
    database: &'a Database,
    area: Area,
    variant: Variant,
    options: &'a Options,
}

impl Client<'_> {
    /// Runs transactions until the time is over.
    fn work(&self, mut random: Random) -> Result<Outcome, CallError<Stop>> {
        let mut responses = Responses::new();
        let (start, processor) = (Instant::now(), processor_time());
        let mut now = start;
        loop {
            let records = self.choose(&mut random);
            self.transaction(records)?;
            let begun = std::mem::replace(&mut now, Instant::now());
            responses.record_n(now - begun, 1);
            let over = match self.options.transactions {
                Some(transactions) => responses.count() >= transactions,
                None => (now - start).as_secs_f64() >= self.options.seconds,
            };
            if over {
                return Ok(Outcome {
                    responses,
                    elapsed: now - start,
                    processor: processor_time() - processor,
                });
            }
        }
    }

    /// The counter and two cold records, always in the same order, so that there are no deadlocks.
    fn choose(&self, random: &mut Random) -> [u64; 3] {
        let cold = self.options.cold_records;
        let one = random.below(cold);
        let other = (one + 1 + random.below(cold - 1)) % cold;
        [0, 1 + one.min(other), 1 + one.max(other)]
    }

    fn transaction(&self, records: [u64; 3]) -> Result<(), CallError<Stop>> {
        let mode = if self.variant.commutes() {
            ADD
        } else {
            EXCLUSIVE
        };
        self.database.run(|transaction| {
            for record in records {
                transaction.call(&Add {
                    area: self.area,
                    record,
                    amount: 1,
                    mode,
                })?;
            }
            Ok(())
        })
    }
}

/// Opens the database again and compares it with the acknowledged transactions.
fn check(
    directory: &Path,
    strategy: Strategy,
    variant: Variant,
    options: &Options,
    acknowledged: u64,
) -> Result<(), ExperimentError> {
    let (database, area) = open(directory, strategy, variant, options)?;
    let sum = |first, count| {
        let sum = Sum { area, first, count };
        let sum = database.run(|transaction| transaction.call(&sum));
        sum.map_err(failed("reading the records"))
    };
    let expected = acknowledged as i64;
    let name = variant.name();
    crate::error::equal(|| format!("the counter ({name})"), expected, sum(0, 1)?)?;
    // A transaction for each page, since all pages that it reads are locked together.
    let mut cold = 0;
    for first in (1..=options.cold_records).step_by(RECORDS_PER_PAGE as usize) {
        let count = RECORDS_PER_PAGE.min(options.cold_records + 1 - first);
        cold += sum(first, count)?;
    }
    let what = || format!("the sum of the cold records ({name})");
    crate::error::equal(what, 2 * expected, cold)?;
    database.close().map_err(failed("closing the database"))
}

fn cell(threads: usize, outcomes: &[Outcome], before: &Statistics, after: &Statistics) -> Cell {
    let mut responses = Responses::new();
    for outcome in outcomes {
        responses.merge(&outcome.responses);
    }
    let slowest = outcomes.iter().map(|outcome| outcome.elapsed).max();
    let processor: Duration = outcomes.iter().map(|outcome| outcome.processor).sum();
    let transactions = responses.count();
    let count = transactions as f64;
    let (pages, objects) = (after.locks.pages, after.locks.objects);
    let waited = pages.wait_time + objects.wait_time
        - before.locks.pages.wait_time
        - before.locks.objects.wait_time;
    let writes = after.log.groups - before.log.groups;
    Cell {
        threads,
        transactions,
        transactions_per_second: count / slowest.unwrap_or_default().as_secs_f64(),
        times_exclusive: None,
        responses: responses.summary().expect("every thread runs at least one"),
        transactions_per_log_write: count / writes as f64,
        page_waits: (pages.waits - before.locks.pages.waits) as f64 / count,
        object_waits: (objects.waits - before.locks.objects.waits) as f64 / count,
        lock_wait_microseconds: waited.as_secs_f64() * 1e6 / count,
        processor_microseconds: processor.as_secs_f64() * 1e6 / count,
        deadlocks: after.deadlocks - before.deadlocks,
    }
}
