//! Load, run, check, recover, check again; and the figures of all of it.

use super::consistency::{Consistency, check};
use super::load::{constants, load};
use super::options::Options;
use super::paths;
use super::records::Schema;
use super::requests::Kind;
use super::run::{Load, Outcome, run};
use super::scale::Scale;
use super::transactions::Tpcc;
use crate::responses::Summary;
use crate::{engine_options, progress};
use sardonyx::{Error, Shape, Tables};
use sardonyx_benchmark::debit_credit::figures::{Groups, Loading, Logged, Stages};
use sardonyx_benchmark::debit_credit::run::{Progress, Until};
use sardonyx_results::recovery::RecoveryFigures;
use serde::Serialize;
use std::path::Path;
use std::time::{Duration, Instant};

/// The figures of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// The size of the tables.
    pub scale: Scale,
    /// The machine's processors.
    pub processors: usize,
    /// Clients, each a thread.
    pub clients: u32,
    /// Requests in a batch.
    pub batch: u32,
    /// Batches of a client in flight.
    pub in_flight: u32,
    /// Loading the tables.
    pub loading: Loading,
    /// Wall time of the run.
    pub seconds: f64,
    /// Committed new orders a second.
    pub new_orders_per_second: f64,
    /// Committed transactions of all kinds a second.
    pub transactions_per_second: f64,
    /// New orders that were rolled back because of an unused item.
    pub rolled_back: u64,
    /// Delivered orders.
    pub delivered: u64,
    /// Each kind of transaction.
    pub kinds: Vec<Kinds>,
    /// The processor time of the clients' threads for each committed transaction; it includes execution if the stages
    /// are coalesced.
    pub processor_microseconds: f64,
    /// The time that each stage was busy.
    pub stages: Stages,
    /// Commit groups.
    pub groups: Groups,
    /// The log of the run.
    pub log: Logged,
    /// Pages, at the end.
    pub page_bytes: u64,
    /// Indexes, at the end.
    pub index_bytes: u64,
    /// The conditions after the run.
    pub consistency: Consistency,
    /// The time of opening, with recovery and rebuilding the indexes.
    pub open_seconds: f64,
    pub recovery: RecoveryFigures,
    /// The conditions after recovery.
    pub recovered: Consistency,
    /// True if all acknowledged transactions are found, before and after recovery.
    pub is_complete: bool,
}

/// A kind of transaction.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Kinds {
    pub kind: Kind,
    pub committed: u64,
    /// Response times.
    pub responses: Summary,
}

impl Figures {
    /// Returns true if all conditions hold, and all acknowledged transactions are found.
    pub fn holds(&self) -> bool {
        self.consistency.holds() && self.recovered.holds() && self.is_complete
    }
}

/// Measures on a new database in `path`.
///
/// # Errors
/// The reason why it has no figures.
pub fn measure(options: &Options, path: &Path) -> anyhow::Result<Figures> {
    let scale = options.scale()?;
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let engine =
        || engine_options::with_log(options.log_bytes()).shape(Shape::for_processors(processors));
    let database = engine().open_tables(path)?;
    let schema = Schema::of(&database)?;
    paths::create(&database, &schema)?;
    let bar = progress::bar("loading", scale.rows());
    let fill = || {
        load(&database, &schema, &scale, options.seed, |rows| {
            bar.set_position(rows)
        })
    };
    let (_, loading_time) = timed(fill)?;
    bar.finish_and_clear();
    let (_, checkpoint_time) = timed(|| database.checkpoint())?;
    let loading = Loading {
        records: bar.position(),
        seconds: loading_time.as_secs_f64(),
        checkpoint_seconds: checkpoint_time.as_secs_f64(),
    };

    let procedure = database.register(Tpcc::new(schema))?;
    let until = match options.transactions {
        Some(transactions) => Until::Transactions(transactions),
        None => Until::Time(Duration::from_secs_f64(options.seconds)),
    };
    let work = Load {
        scale,
        constants: constants(options.seed),
        clients: options.clients,
        batch: options.batch as usize,
        in_flight: options.in_flight as usize,
        until,
        seed: options.seed,
    };
    let before = database.statistics();
    let shown = Progress::default();
    let outcome = progress::watched(until, &shown, || run(&database, &procedure, &work, &shown))?;
    let after = database.statistics();
    let (page_bytes, index_bytes) =
        database.read(|view| Ok((view.bytes(), view.index_bytes() as u64)))?;

    let consistency = checked(&database, &scale)?;
    database.close()?;
    drop(procedure);
    let bar = progress::spinner("recovering");
    let (database, open_time) = timed(|| engine().create(false).open_tables(path))?;
    bar.finish_and_clear();
    let recovery = RecoveryFigures::from(database.recovery());
    let recovered = checked(&database, &scale)?;
    database.close()?;

    let seconds = outcome.elapsed.as_secs_f64();
    Ok(Figures {
        scale,
        processors,
        clients: options.clients,
        batch: options.batch,
        in_flight: options.in_flight,
        loading,
        seconds,
        new_orders_per_second: outcome.committed[Kind::NewOrder as usize] as f64 / seconds,
        transactions_per_second: outcome.all() as f64 / seconds,
        rolled_back: outcome.rolled_back,
        delivered: outcome.delivered,
        kinds: kinds(&outcome),
        processor_microseconds: outcome.processor.as_secs_f64() * 1e6 / outcome.all().max(1) as f64,
        stages: Stages::between(outcome.elapsed, &before, &after),
        groups: Groups::between(&before, &after),
        log: Logged::between(&before, &after),
        page_bytes,
        index_bytes,
        is_complete: is_complete(&outcome, &consistency) && is_complete(&outcome, &recovered),
        consistency,
        open_seconds: open_time.as_secs_f64(),
        recovery,
        recovered,
    })
}

fn kinds(outcome: &Outcome) -> Vec<Kinds> {
    let kinds = Kind::ALL.into_iter().map(|kind| Kinds {
        kind,
        committed: outcome.committed[kind as usize],
        responses: outcome.responses[kind as usize]
            .summary()
            .unwrap_or_default(),
    });
    kinds.collect()
}

fn checked(database: &Tables, scale: &Scale) -> Result<Consistency, Error> {
    let bar = progress::spinner("checking");
    let found = check(database, &Schema::of(database)?, scale);
    bar.finish_and_clear();
    found
}

/// Returns true if exactly the acknowledged transactions are found: all clients had ended.
pub(super) fn is_complete(outcome: &Outcome, found: &Consistency) -> bool {
    let committed = |kind| outcome.committed[kind as usize];
    found.orders == committed(Kind::NewOrder)
        && found.payments == committed(Kind::Payment)
        && found.deliveries == outcome.delivered
}

fn timed<T>(body: impl FnOnce() -> Result<T, Error>) -> Result<(T, Duration), Error> {
    let started = Instant::now();
    let result = body()?;
    Ok((result, started.elapsed()))
}
