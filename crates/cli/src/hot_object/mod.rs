//! `hot-object`: many threads that increment one counter, durably.
//!
//! [`present`] makes files of what the crate `experiments` found.

mod present;

use crate::debit_credit::progress;
use crate::exit::{Exit, UsageError};
use crate::output::{Output, files::write_all};
use clap::ValueEnum;
use sardonyx_lab::floor::Face;
use sardonyx_lab::hot_object::{self, Options, table};
use sardonyx_multilevel::Strategy as Chosen;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

/// Increment one counter and two cold records in each of many threads' durable transactions.
///
/// The variants differ in the counter's lock: increments that commute, or exclusive; given back when
/// the transaction's end is in the log, or only when it is durable, as is usual. Afterwards each
/// database is opened again: the counter must be the number of acknowledged transactions. The time of
/// a bare durable write in the same run stands above the table.
///
/// Examples:
///   sardonyx hot-object --busy
///   sardonyx hot-object --threads 8,32 --seconds 5 --output hot
///   sardonyx hot-object --strategy s1,spheres --variant increment,exclusive-durable
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment, after_help = crate::exit::EXIT_CODES)]
pub struct Arguments {
    /// Numbers of threads
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [1, 2, 8, 16, 32])]
    threads: Vec<usize>,
    /// Only these ways of locking [default: all]
    #[arg(long, value_enum, value_delimiter = ',')]
    variant: Vec<Variant>,
    /// How transactions lock pages and write the log
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Strategy::OrderedLog])]
    strategy: Vec<Strategy>,
    /// How long each cell of the table runs
    #[arg(long, value_name = "S", default_value_t = 2.0)]
    seconds: f64,
    /// End after so many transactions of each thread
    #[arg(long, value_name = "N", conflicts_with = "seconds")]
    transactions: Option<u64>,
    /// Cold records
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    cold_records: u64,
    /// The seed that chooses the cold records
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Where to make the databases (they are removed) [default: the system's temporary directory]
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Keep a core awake with a thread of the lowest priority: on virtual machines an idle core may
    /// notice a finished write only at its timer tick, milliseconds late
    #[arg(long)]
    busy: bool,
    /// Write the table as CSV and a picture as SVG to a directory
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// The ways of locking.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Variant {
    /// Increments commute; locks until the end is in the log
    Increment,
    /// Increments commute; locks until the transaction is durable
    IncrementDurable,
    /// Exclusive locks until the end is in the log
    Exclusive,
    /// Exclusive locks until the transaction is durable
    ExclusiveDurable,
}

/// The strategies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Strategy {
    /// S1: locks on pages until the transaction's end
    S1,
    /// S2: the log forced at the end of every operation
    S2,
    /// S2/PS: persistence spheres
    Spheres,
    /// One ordered log, forced at the transaction's end
    OrderedLog,
}

impl std::fmt::Display for Strategy {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let value = self.to_possible_value().expect("none is skipped");
        formatter.write_str(value.get_name())
    }
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        let options = self.options()?;
        let bar = progress::spinner("running");
        let report = hot_object::run(&options, |what| bar.set_message(what.to_string()));
        bar.finish_and_clear();
        let report = report?;
        if output.is_json() {
            output.value(&report)?;
        } else {
            write!(output, "{}", table(&report))?;
        }
        if let Some(directory) = &self.output {
            let written = write_all(directory, present::files(&report))?;
            crate::page_touch::present::written(&written, output)?;
        }
        Ok(Exit::Done)
    }

    fn options(&self) -> anyhow::Result<Options> {
        let usage = |message: String| Err(UsageError::Arguments(message).into());
        if !(0.0..=3_600.0).contains(&self.seconds) {
            return usage(format!("--seconds {}: choose 0 to 3600", self.seconds));
        }
        if let Some(threads) = self.threads.iter().find(|one| !(1..=1024).contains(*one)) {
            return usage(format!("--threads {threads}: choose 1 to 1024"));
        }
        Ok(Options {
            strategies: self.strategy.iter().copied().map(chosen).collect(),
            variants: self.variants(),
            threads: self.threads.clone(),
            time: Duration::from_secs_f64(self.seconds),
            transactions: self.transactions,
            cold_records: self.cold_records,
            face: if self.busy { Face::Busy } else { Face::Idle },
            directory: self.directory.clone().unwrap_or_else(std::env::temp_dir),
            seed: self.seed,
        })
    }

    fn variants(&self) -> Vec<hot_object::Variant> {
        let all = Variant::value_variants()
            .iter()
            .zip(hot_object::Variant::ALL);
        all.filter(|(variant, _)| self.variant.is_empty() || self.variant.contains(variant))
            .map(|(_, variant)| variant)
            .collect()
    }
}

fn chosen(strategy: Strategy) -> Chosen {
    match strategy {
        Strategy::S1 => Chosen::SingleLevel,
        Strategy::S2 => Chosen::ForcedSubtransactions,
        Strategy::Spheres => Chosen::SPHERES,
        Strategy::OrderedLog => Chosen::OrderedLog,
    }
}
