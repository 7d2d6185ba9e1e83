//! From options to a plan: sizes, clients, and the options of the engine.
//!
//! A preset gives values to options that are not given; given options override it.

use super::options::{Configuration, DurabilityChoice, LocatingStage, Options, Preset};
use super::requests::{DebitCreditError, Scale};
use super::run::{Load, Mode, Outcome, Until};
use super::wire::Address;
use crate::BenchmarkError;
use crate::engine_options::{self, LOG_BYTES, LOG_BYTES_MIN};
use crate::remote_store::StoreOptions;
use sardonyx::disk::GroupPolicy;
use sardonyx::{Checkpoints, Durability, Options as EngineOptions, Shape};
use sardonyx_storage::places::Directories;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The TPK paper's checkpoint thread "writes to disk after processing about 10,000 transactions".
const PAPER_CHECKPOINT_TRANSACTIONS: u64 = 10_000;
const PAPER_TRANSACTIONS: u64 = 50_000;

const DEFAULT_SECONDS: f64 = 5.0;
const SECONDS_MAX: f64 = 86_400.0;

/// The shares of a closed loop's throughput that a curve offers.
pub const CURVE: [f64; 12] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0, 1.1];

/// The most clients that a database can distinguish.
const CLIENTS_MAX: usize = 1 << 16;

/// The arrivals of requests in an open loop.
#[derive(Clone, PartialEq, Debug)]
pub enum OpenLoop {
    /// At each of these rates a second, one after the other.
    Rates(Vec<f64>),
    /// At the shares of [`CURVE`] of a closed loop's rate.
    Curve,
}

impl OpenLoop {
    /// The requested arrivals, if any.
    pub fn of(options: &Options) -> Option<Self> {
        match options.curve {
            true => Some(OpenLoop::Curve),
            false if options.arrival_rate.is_empty() => None,
            false => Some(OpenLoop::Rates(options.arrival_rate.clone())),
        }
    }

    /// The number of runs of the clients.
    fn runs(&self) -> usize {
        match self {
            OpenLoop::Rates(rates) => rates.len(),
            OpenLoop::Curve => 1 + CURVE.len(),
        }
    }

    /// Runs a closed loop if rates depend on it, then `open` at each rate. Returns the figures of all, and the rate of
    /// the closed loop.
    pub fn run<E>(
        &self,
        closed: impl FnOnce() -> Result<Outcome, E>,
        mut open: impl FnMut(f64, &Outcome) -> Result<Outcome, E>,
    ) -> Result<(Outcome, Option<f64>), E> {
        let (mut outcome, rates, reached) = match self {
            OpenLoop::Rates(rates) => (Outcome::default(), rates.clone(), None),
            OpenLoop::Curve => {
                let outcome = closed()?;
                let reached = outcome.committed as f64 / outcome.elapsed.as_secs_f64();
                // A closed loop that did nothing has no shares.
                let shares = CURVE.map(|share| share * reached.max(1.0));
                (outcome, shares.to_vec(), Some(reached))
            }
        };
        for rate in rates {
            let next = open(rate, &outcome)?;
            outcome.absorb(next);
        }
        Ok((outcome, reached))
    }
}

#[derive(Clone, Debug)]
pub struct Plan {
    /// The load of the clients.
    pub load: Load,
    /// The arrivals, in an open loop.
    pub open_loop: Option<OpenLoop>,
    /// The address for clients of other processes; then none run here.
    pub listen: Option<Address>,
    /// The stage that locates their requests' records.
    pub locate: LocatingStage,
    /// The time for which clients are served; `None`: until a signal.
    pub serving_time: Option<Duration>,
    /// The configurations that are run, one after the other, each on a database of its own.
    pub configurations: Vec<Configuration>,
    /// The condition for closing a commit group.
    pub policy: GroupPolicy,
    /// Threads of the input and of the output stage, if given.
    pub stage_threads: (Option<u16>, Option<u16>),
    /// The most bytes of log on disk.
    pub log_bytes: u64,
    /// Bytes of log between two checkpoints, if chosen.
    pub checkpoint_interval_bytes: Option<u64>,
    /// Transactions between two checkpoints, if chosen.
    pub checkpoint_interval_transactions: Option<u64>,
    /// The source of the checkpoints.
    pub checkpoints: Checkpoints,
    /// Files of the backup.
    pub stripes: u32,
    /// The directory of the database.
    pub directory: PathBuf,
    /// The directories of its log and its backup, if elsewhere.
    pub places: Directories,
    /// The store of its log.
    pub store: StoreOptions,
    /// True if it is kept.
    pub keep: bool,
    /// True if the bare pipeline is measured.
    pub floor: bool,
    /// True if a core is kept awake.
    pub spinner: bool,
    /// The machine's processors.
    pub processors: usize,
}

impl Plan {
    /// The plan of these options on a machine with so many processors.
    ///
    /// # Errors
    /// The options that are not possible, and the alternatives.
    pub fn of(options: &Options, processors: usize) -> Result<Plan, BenchmarkError> {
        let paper = options.preset == Some(Preset::Paper);
        let scale = scale(options, paper).map_err(|e| BenchmarkError::Usage(e.to_string()))?;
        let configurations = match options.configuration {
            Some(configuration) => vec![configuration],
            None if paper => vec![Configuration::A, Configuration::B, Configuration::C],
            None => vec![Configuration::of_machine(processors)],
        };
        let threads = (options.input_threads, options.output_threads);
        if threads != (None, None) && configurations == [Configuration::A] {
            return refuse("--input-threads and --output-threads need --configuration b or c");
        }
        if options.keep && configurations.len() > 1 {
            return refuse("--keep keeps one database: choose one --configuration");
        }
        let log_bytes = options.log_bytes.unwrap_or(LOG_BYTES);
        if log_bytes < LOG_BYTES_MIN {
            return refuse(format!("--log-bytes {log_bytes}: at least 32MiB"));
        }
        if options.checkpoint_interval == Some(0) {
            return refuse("--checkpoint-interval 0: at least 1 byte of log");
        }
        let checkpoints = options
            .checkpoints
            .map_or(Checkpoints::default(), Into::into);
        if checkpoints == Checkpoints::FromSnapshots && configurations.contains(&Configuration::C) {
            return refuse(
                "--checkpoints snapshot: configuration c leaves the checkpoints to another host",
            );
        }
        let places = options.directories.places();
        let stripes = options.stripes.unwrap_or(places.backup.len().max(1) as u32);
        (places.check(stripes)).map_err(|error| BenchmarkError::Usage(error.to_string()))?;
        if options.listen.is_some() && configurations.len() > 1 {
            return refuse("--listen serves one database: choose one --configuration");
        }
        let open_loop = OpenLoop::of(options);
        if options.store.store.is_some() && configurations.contains(&Configuration::C) {
            return refuse("--store goes with configurations a and b: c has a store of its own");
        }
        if configurations.contains(&Configuration::C) && !options.directories.places().is_empty() {
            return refuse(
                "directories elsewhere go with configurations a and b: in c the database begins anew from its store, in \
                 one directory",
            );
        }
        let load = load(options, scale, paper, open_loop.is_some())?;
        let runs = open_loop.as_ref().map_or(1, OpenLoop::runs);
        if load.clients * runs > CLIENTS_MAX {
            return refuse(format!(
                "{} clients at {runs} rates: at most {CLIENTS_MAX} in all",
                load.clients
            ));
        }
        Ok(Plan {
            load,
            open_loop,
            listen: options.listen.clone(),
            locate: options.locate.unwrap_or_default(),
            serving_time: options
                .seconds
                .is_some()
                .then(|| seconds(options))
                .transpose()?,
            configurations,
            policy: match (options.transactions_per_group, options.time_per_group) {
                (Some(transactions), Some(time)) => GroupPolicy::Fixed { transactions, time },
                _ => GroupPolicy::Adaptive,
            },
            stage_threads: threads,
            log_bytes,
            checkpoint_interval_bytes: options.checkpoint_interval,
            checkpoint_interval_transactions: (paper && options.checkpoint_interval.is_none())
                .then_some(PAPER_CHECKPOINT_TRANSACTIONS),
            checkpoints,
            stripes,
            places,
            directory: options
                .directory
                .clone()
                .unwrap_or_else(|| PathBuf::from("sardonyx-debit-credit.sdx")),
            store: options.store.clone(),
            keep: options.keep,
            floor: options.floor,
            spinner: options.conditions.busy,
            processors,
        })
    }

    /// The options of the database.
    pub fn options(&self, configuration: Configuration) -> EngineOptions {
        let options = engine_options::with_log(self.log_bytes)
            .shape(self.shape(configuration))
            .group_policy(self.policy)
            .checkpoints(self.checkpoints)
            .stripes(self.stripes);
        let options = match &self.places.log {
            Some(directory) => options.log_directory(directory),
            None => options,
        };
        let options = match self.places.backup.is_empty() {
            true => options,
            false => options
                .stripe_directories(&self.places.backup)
                .stripes(self.stripes),
        };
        let options = match self.checkpoint_interval_bytes {
            Some(bytes) => options.checkpoint_interval_bytes(bytes),
            None => options,
        };
        match self.checkpoint_interval_transactions {
            Some(transactions) => options.checkpoint_interval_transactions(transactions),
            None => options,
        }
    }

    /// The directory whose disk the log is on; it need not exist yet.
    pub fn log_place(&self) -> &Path {
        self.places.log.as_deref().unwrap_or(&self.directory)
    }

    /// The directories outside of the database's.
    pub fn elsewhere(&self) -> Vec<PathBuf> {
        let mut all: Vec<PathBuf> = (self.places.log.iter())
            .chain(&self.places.backup)
            .cloned()
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The assignment of stages to threads.
    pub fn shape(&self, configuration: Configuration) -> Shape {
        let (input, output) = self.stage_threads;
        let pipelined = Shape::Pipelined {
            input_threads: input.unwrap_or(1).into(),
            output_threads: output.unwrap_or(1).into(),
        };
        match configuration {
            Configuration::A => Shape::Coalesced,
            Configuration::B => pipelined,
            Configuration::C if (input, output) != (None, None) => pipelined,
            Configuration::C => Shape::for_processors(self.processors),
        }
    }
}

impl Configuration {
    /// The configuration that suits so many processors.
    fn of_machine(processors: usize) -> Self {
        match Shape::for_processors(processors) {
            Shape::Pipelined { .. } => Configuration::B,
            _ => Configuration::A,
        }
    }
}

fn refuse<T>(reason: impl Into<String>) -> Result<T, BenchmarkError> {
    Err(BenchmarkError::Usage(reason.into()))
}

fn scale(options: &Options, paper: bool) -> Result<Scale, DebitCreditError> {
    if paper {
        let scale = Scale::paper();
        return Scale::new(
            options.accounts.unwrap_or(scale.accounts()),
            options.tellers.unwrap_or(scale.tellers()),
            options.branches.unwrap_or(scale.branches()),
        );
    }
    let accounts = options.accounts.unwrap_or(Scale::default().accounts());
    let branches = options.branches.unwrap_or((accounts / 10_000).max(1));
    let tellers = options.tellers.unwrap_or(branches.saturating_mul(10));
    Scale::new(accounts, tellers, branches)
}

/// The time to run, if no number of transactions ends it.
///
/// # Errors
/// The time is not possible.
pub fn seconds(options: &Options) -> Result<Duration, BenchmarkError> {
    let seconds = options.seconds.unwrap_or(DEFAULT_SECONDS);
    if !(seconds > 0.0 && seconds <= SECONDS_MAX) {
        return refuse(format!(
            "--seconds {seconds}: more than 0, at most {SECONDS_MAX}"
        ));
    }
    Ok(Duration::from_secs_f64(seconds))
}

fn load(options: &Options, scale: Scale, paper: bool, open: bool) -> Result<Load, BenchmarkError> {
    let seconds = seconds(options)?;
    if options.transactions == Some(0) {
        return refuse("--transactions 0: at least 1");
    }
    let until = match options.transactions {
        Some(transactions) => Until::Transactions(transactions),
        None if paper && options.seconds.is_none() && !open => {
            Until::Transactions(PAPER_TRANSACTIONS)
        }
        None => Until::Time(seconds),
    };
    // The TPK paper's commit groups had 50 to 400 transactions, and its run is short. The default fills a group of a
    // few thousand while one is written, and no more: waiting requests add to the response time.
    let (batch, in_flight) = if paper { (200, 8) } else { (4096, 8) };
    let mode = if options.one_at_a_time {
        Mode::OneAtATime
    } else {
        Mode::Batches {
            requests: options.batch.unwrap_or(batch) as usize,
            in_flight: options.batches_in_flight.unwrap_or(in_flight) as usize,
        }
    };
    Ok(Load {
        scale,
        clients: options.clients.unwrap_or(1).into(),
        mode,
        until,
        durability: match options.durability {
            Some(DurabilityChoice::Deferred) => Durability::Deferred,
            _ => Durability::Durable,
        },
        other_branch_percent: options.other_branch_percent,
        wrong_code_percent: options.wrong_code_percent,
        seed: options.seed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    fn plan(line: &str, processors: usize) -> Plan {
        let words = ["debit-credit"].into_iter().chain(line.split_whitespace());
        Plan::of(&Line::try_parse_from(words).unwrap().options, processors).unwrap()
    }

    fn refusal(line: &str) -> String {
        let words = ["debit-credit"].into_iter().chain(line.split_whitespace());
        match Line::try_parse_from(words) {
            Err(error) => error.to_string(),
            Ok(line) => Plan::of(&line.options, 2).unwrap_err().to_string(),
        }
    }

    #[test]
    fn the_default_follows_the_processors() {
        let small = plan("", 2);
        assert_eq!(small.configurations, [Configuration::A]);
        assert_eq!(small.shape(Configuration::A), Shape::Coalesced);
        assert_eq!(plan("", 8).configurations, [Configuration::B]);
        assert_eq!(small.load.scale, Scale::default());
        assert_eq!(small.load.until, Until::Time(Duration::from_secs(5)));
        assert_eq!(small.policy, GroupPolicy::Adaptive);
    }

    #[test]
    fn the_paper_is_a_preset_that_options_override() {
        let paper = plan("--preset paper", 2);
        assert_eq!(paper.load.scale, Scale::paper());
        assert_eq!(paper.load.until, Until::Transactions(50_000));
        let all = [Configuration::A, Configuration::B, Configuration::C];
        assert_eq!(paper.configurations, all);
        assert_eq!(paper.checkpoint_interval_transactions, Some(10_000));
        let other = plan(
            "--preset paper --accounts 20000 --seconds 2 --configuration b",
            2,
        );
        assert_eq!(
            (other.load.scale.accounts(), other.load.scale.tellers()),
            (20_000, 150)
        );
        assert_eq!(other.load.until, Until::Time(Duration::from_secs(2)));
        assert_eq!(other.configurations, [Configuration::B]);
    }

    #[test]
    fn both_group_parameters_make_the_papers_policy() {
        let plan = plan("--transactions-per-group 200 --time-per-group 5", 2);
        let time = Duration::from_millis(5);
        assert_eq!(
            plan.policy,
            GroupPolicy::Fixed {
                transactions: 200,
                time
            }
        );
        assert!(refusal("--time-per-group 5ms").contains("--transactions-per-group"));
        assert!(refusal("--transactions-per-group 5").contains("--time-per-group"));
    }

    #[test]
    fn proportions_follow_the_accounts_unless_given() {
        let scale = plan("--accounts 50000", 2).load.scale;
        assert_eq!((scale.tellers(), scale.branches()), (50, 5));
        let scale = plan("--accounts 50000 --branches 2 --tellers 7", 2)
            .load
            .scale;
        assert_eq!((scale.tellers(), scale.branches()), (7, 2));
        assert!(refusal("--accounts 3 --branches 4").contains("accounts are not possible"));
    }

    #[test]
    fn an_open_loop_takes_its_rates_and_a_time() {
        let rates = plan("--arrival-rate 100k,1.5M --preset paper", 2);
        assert_eq!(rates.open_loop, Some(OpenLoop::Rates(vec![1e5, 1.5e6])));
        assert_eq!(rates.load.until, Until::Time(Duration::from_secs(5)));
        assert_eq!(plan("--curve", 2).open_loop, Some(OpenLoop::Curve));
        assert_eq!(plan("", 2).open_loop, None);
        assert!(refusal("--curve --arrival-rate 5").contains("cannot be used with"));
        assert!(refusal("--arrival-rate 5 --transactions 5").contains("cannot be used with"));
        assert!(refusal("--arrival-rate 0").contains("more than 0"));
        let rates = vec!["1"; 20].join(",");
        let many = format!("--clients 4096 --arrival-rate {rates}");
        assert!(refusal(&many).contains("65536 in all"));
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        assert!(refusal("--transactions 5 --seconds 5").contains("cannot be used with"));
        assert!(refusal("--configuration a --input-threads 2").contains("--configuration b"));
        assert!(refusal("--preset paper --keep").contains("one --configuration"));
        assert!(refusal("--preset paper --listen a.sock").contains("one --configuration"));
        assert!(refusal("--listen a.sock --connect b.sock").contains("cannot be used with"));
        assert!(refusal("--listen a.sock --clients 2").contains("cannot be used with"));
        assert!(refusal("--connect a.sock --log-bytes 1GiB").contains("cannot be used with"));
        assert!(refusal("--durability deferred").contains("--one-at-a-time"));
        assert!(refusal("--one-at-a-time --batch 5").contains("cannot be used with"));
        assert!(refusal("--log-bytes 1MiB").contains("at least 32MiB"));
        assert!(refusal("--seconds 0").contains("more than 0"));
        assert!(refusal("--transactions 0").contains("at least 1"));
        assert!(refusal("--other-branch-percent 101").contains("0..=100"));
        assert!(refusal("--wrong-code-percent 101").contains("0..=100"));
        assert!(refusal("--listen a.sock --wrong-code-percent 1").contains("cannot be used with"));
    }
}
