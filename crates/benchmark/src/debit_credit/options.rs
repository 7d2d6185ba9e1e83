//! The benchmark's options, and the experiment as a whole.
//!
//! Source: TPK paper, section 4.

use super::plan::Plan;
use super::wire::Address;
use super::{measurement, show, terminals};
use crate::experiment::{About, Conditions, Experiment, Paper};
use crate::remote_store::StoreOptions;
use clap::ValueEnum;
use sardonyx_command::checkpoints::CheckpointSource;
use sardonyx_command::directories::Directories;
use sardonyx_results::Findings;
use sardonyx_results::units::{parse_bytes, parse_rate, parse_time};
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;

/// Run the debit-credit benchmark and prove it.
///
/// Creates a database, loads branches, tellers and accounts (records of 128 bytes), takes a checkpoint, and lets
/// clients run debit-credit transactions, each acknowledged only when it is on stable storage. Then closes, recovers,
/// and proves two things: the sums of the accounts', tellers' and branches' balances and of the history's amounts are
/// equal, and every acknowledged transaction is there once. The database is removed at the end unless --keep is given
/// or the proof fails. Without a terminal, or with --json, there is no progress bar.
///
/// Exit code 1: the proof fails.
///
/// Examples:
///   sardonyx debit-credit
///   sardonyx debit-credit --seconds 10 --floor --spinner
///   sardonyx debit-credit --one-at-a-time --clients 64
///   sardonyx debit-credit --transactions-per-group 200 --time-per-group 5ms
///   sardonyx debit-credit --preset paper
///   sardonyx debit-credit --wrong-code-percent 1
///   sardonyx debit-credit --log-directory /fast/bank --stripe-directory /a/bank --stripe-directory /b/bank
///   sardonyx debit-credit --arrival-rate 100k,500k,1M
///   sardonyx debit-credit --store s3://bank/log --batches-in-flight 64
///   sardonyx debit-credit --curve --seconds 3 --output figures
///   sardonyx debit-credit --listen bank.sock --configuration b --input-threads 2
///   sardonyx debit-credit --connect bank.sock --clients 4
#[derive(Clone, Debug, Default, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Options {
    /// Start from a known setting; other options override it
    #[arg(long, value_enum)]
    pub(super) preset: Option<Preset>,

    /// Accounts [default: 1000000]
    #[arg(long, value_name = "N", help_heading = "Size")]
    pub(super) accounts: Option<u64>,
    /// Tellers [default: ten for each branch]
    #[arg(long, value_name = "N", help_heading = "Size")]
    pub(super) tellers: Option<u64>,
    /// Branches [default: one for every 10,000 accounts]
    #[arg(long, value_name = "N", help_heading = "Size")]
    pub(super) branches: Option<u64>,
    /// End after this many transactions
    #[arg(
        long,
        value_name = "N",
        conflicts_with = "seconds",
        help_heading = "Size"
    )]
    pub(super) transactions: Option<u64>,
    /// End after this many seconds; in an open loop, of each rate [default: 5]
    #[arg(long, value_name = "S", help_heading = "Size")]
    pub(super) seconds: Option<f64>,

    /// The TPK paper's configuration [default: a with fewer than 4 processors, else b]
    #[arg(long, value_enum, help_heading = "Engine")]
    pub(super) configuration: Option<Configuration>,
    /// Close a commit group when it has this many transactions [default: groups adapt]
    #[arg(
        long,
        value_name = "N",
        requires = "time_per_group",
        help_heading = "Engine"
    )]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) transactions_per_group: Option<u32>,
    /// Close a commit group when its first transaction is this old, such as 5ms [default: groups adapt]
    #[arg(long, value_name = "TIME", value_parser = parse_time, help_heading = "Engine")]
    #[arg(requires = "transactions_per_group")]
    pub(super) time_per_group: Option<Duration>,
    /// Threads of the input stage, in configuration b or c [default: 1]
    #[arg(long, value_name = "N", help_heading = "Engine")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(super) input_threads: Option<u16>,
    /// Threads of the output stage, in configuration b or c [default: 1]
    #[arg(long, value_name = "N", help_heading = "Engine")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(super) output_threads: Option<u16>,
    /// Bytes of log between the beginnings of two checkpoints [default: three eighths of the log]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, help_heading = "Engine")]
    pub(super) checkpoint_interval: Option<u64>,
    /// The source of the checkpoints' blocks, in configuration a or b [default: copy]
    #[arg(long, value_enum, value_name = "SOURCE", help_heading = "Engine")]
    pub(super) checkpoints: Option<CheckpointSource>,
    /// The most bytes of log on disk [default: 2GiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, help_heading = "Engine")]
    pub(super) log_bytes: Option<u64>,
    /// Files of the backup, each with a checkpointing thread [default: one for each --stripe-directory, or 1]
    #[arg(long, value_name = "N", help_heading = "Engine")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=999))]
    pub(super) stripes: Option<u32>,

    /// Clients, each a thread [default: 1]
    #[arg(long, value_name = "N", help_heading = "Clients")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub(super) clients: Option<u16>,
    /// Requests in a batch that a client submits [default: 4096]
    #[arg(long, value_name = "N", help_heading = "Clients")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(super) batch: Option<u32>,
    /// Batches that a client has in flight [default: 8]
    #[arg(long, value_name = "N", help_heading = "Clients")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(super) batches_in_flight: Option<u32>,
    /// Each client runs one closure at a time and waits for it
    #[arg(long, conflicts_with_all = ["batch", "batches_in_flight"], help_heading = "Clients")]
    pub(super) one_at_a_time: bool,
    /// When a closure counts as acknowledged; only with --one-at-a-time [default: durable]
    #[arg(long, value_enum, requires = "one_at_a_time", help_heading = "Clients")]
    pub(super) durability: Option<DurabilityChoice>,
    /// An open loop: this many requests arrive in a second, such as 200k, at exponential intervals; several rates
    /// separated by commas
    #[arg(long, value_name = "RATES", value_parser = parse_rate, value_delimiter = ',')]
    #[arg(conflicts_with_all = ["transactions", "batches_in_flight"], help_heading = "Clients")]
    pub(super) arrival_rate: Vec<f64>,
    /// Show response times over the offered load: open loops at 10% to 110% of a closed loop's rate
    #[arg(long, conflicts_with_all = ["transactions", "arrival_rate"], help_heading = "Clients")]
    pub(super) curve: bool,
    /// The share of transactions on an account of another branch, in percent
    #[arg(
        long,
        value_name = "PERCENT",
        default_value_t = 15,
        help_heading = "Clients"
    )]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(super) other_branch_percent: u32,
    /// The share of requests with a wrong code: they are refused, counted, and proved to have changed nothing
    #[arg(
        long,
        value_name = "PERCENT",
        default_value_t = 0,
        help_heading = "Clients"
    )]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(super) wrong_code_percent: u32,
    /// The seed of the requests: the same seed draws the same requests
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Clients")]
    pub(super) seed: u64,

    /// Serve clients in other processes, at host:port or a Unix socket's path, until Ctrl-C or for --seconds
    #[arg(long, value_name = "ADDRESS", value_parser = Address::parse, help_heading = "Sockets")]
    #[arg(conflicts_with_all = [
        "connect", "transactions", "clients", "batch", "batches_in_flight", "one_at_a_time", "durability",
        "arrival_rate", "curve", "wrong_code_percent",
    ])]
    pub(super) listen: Option<Address>,
    /// With --listen: the stage whose threads locate a request's records
    #[arg(
        long,
        value_enum,
        value_name = "STAGE",
        requires = "listen",
        help_heading = "Sockets"
    )]
    pub(super) locate: Option<LocatingStage>,
    /// Be the clients of a server at this address; several processes may connect
    #[arg(long, value_name = "ADDRESS", value_parser = Address::parse, help_heading = "Sockets")]
    #[arg(conflicts_with_all = [
        "preset", "accounts", "tellers", "branches", "configuration", "transactions_per_group", "time_per_group",
        "input_threads", "output_threads", "checkpoint_interval", "checkpoints", "log_bytes", "stripes", "one_at_a_time",
        "durability", "directory", "keep", "floor", "store",
    ])]
    pub(super) connect: Option<Address>,

    /// The directory for the database [default: ./sardonyx-debit-credit.sdx]
    #[arg(long, value_name = "DIR", help_heading = "Place")]
    pub(super) directory: Option<PathBuf>,
    /// Its parts elsewhere: directories that do not exist yet, and are removed with it. In configuration C there is no
    /// backup here
    #[command(flatten)]
    pub(super) directories: Directories,
    /// Its log in a store, too.
    #[command(flatten)]
    pub store: StoreOptions,
    /// Keep the database at the end
    #[arg(long, help_heading = "Place")]
    pub(super) keep: bool,

    /// Measure the bare durable pipeline, too, and print the ratio to it (2 s more)
    #[arg(long, help_heading = "Measuring")]
    pub(super) floor: bool,
    /// The common options of experiments.
    #[command(flatten)]
    pub(super) conditions: Conditions,
}

/// Known settings.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Preset {
    /// The TPK paper's: 15,000 accounts, 150 tellers, 15 branches, 50,000 transactions, a checkpoint every 10,000;
    /// configurations a, b and c one after the other, beside its Table 1
    Paper,
}

/// The TPK paper's configurations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Serialize)]
pub enum Configuration {
    /// Coalesced: input, execution and output on the client's thread, for few processors
    A,
    /// Pipelined: a thread for each stage
    B,
    /// Checkpoints at another host: two processes are started for it, one that keeps the log in a store, fed through
    /// the network, and one that follows it there. The stages are as in a or b, as suits the processors
    C,
}

/// The stage that locates the records of requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LocatingStage {
    /// In a directory of their own, which is created before
    Input,
    /// In the database's index, 64 requests at a time
    #[default]
    Execution,
}

/// The moment at which a closure counts as acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum DurabilityChoice {
    /// When it is on stable storage
    Durable,
    /// When it has run; a crash may lose the newest
    Deferred,
}

impl Experiment for Options {
    const ABOUT: About = About {
        name: "debit-credit",
        source: Some((Paper::Tpk, "section 4")),
    };

    fn conditions(&self) -> &Conditions {
        &self.conditions
    }

    fn run(&self) -> anyhow::Result<Findings> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        if let Some(address) = &self.connect {
            return terminals::measure(&terminals::Plan::of(self, address)?);
        }
        let plan = Plan::of(self, processors)?;
        let figures = measurement::measure(&plan)?;
        Ok(show::findings(
            &figures,
            self.preset == Some(Preset::Paper),
        )?)
    }
}
