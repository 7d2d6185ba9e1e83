//! The command's options, and the experiment as a whole.

use super::registry;
use super::run::{Part, Plan, run};
use super::show::findings;
use crate::command::chosen;
use crate::stores;
use sardonyx_benchmark::experiment::{About, Conditions, Experiment, OwnDatabases, check_seconds};
use sardonyx_lab::ycsb;
use sardonyx_lab::ycsb::workload::Workload;
use sardonyx_results::Findings;
use std::time::Duration;

/// Tables beside SQLite, LMDB, redb and RocksDB: the same work, the same durability.
///
/// Reads of a million accounts by an ordered key and in ranges, in one snapshot; durable inserts into a table with
/// texts and two secondary indexes; opening ten million accounts; YCSB's workloads. All answers are compared with the
/// expected rows.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// The parts, in order [default: all]
    #[arg(long = "part", value_name = "PART", value_enum, value_delimiter = ',')]
    pub parts: Vec<Part>,
    /// Accounts that are read
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub rows: u64,
    /// Accounts of the database that is opened
    #[arg(long, value_name = "N", default_value_t = 10_000_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub opening_rows: u64,
    /// Rows of a kilobyte of YCSB
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub ycsb_rows: u64,
    /// Rows of a batch of inserts; YCSB runs with this and with one at a time
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub batch: u64,
    /// The time of each load of each engine
    #[arg(long, value_name = "S", default_value_t = 2.0)]
    pub seconds: f64,
    /// The engines; all if none is named
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub engines: Vec<String>,
    /// The directory of the databases, and the common options of experiments.
    #[command(flatten)]
    pub databases: OwnDatabases,
}

impl Experiment for Options {
    const ABOUT: About = About {
        name: "tables",
        answers: "How do tables with ordered keys, texts and indexes compare with other engines'?",
        source: None,
    };

    fn conditions(&self) -> &Conditions {
        &self.databases.conditions
    }

    fn run(&self) -> anyhow::Result<Findings> {
        let report = run(&self.plan()?, |what| eprintln!("{what}"))?;
        Ok(findings(&report)?)
    }
}

impl Options {
    /// The plan of these options.
    ///
    /// # Errors
    /// A name is no engine's, or the time is not valid.
    pub fn plan(&self) -> anyhow::Result<Plan> {
        check_seconds(self.seconds)?;
        let time = Duration::from_secs_f64(self.seconds);
        let (face, seed) = (self.databases.conditions.face(), self.databases.seed);
        let directory = self.databases.directory.clone();
        let parts = match self.parts.is_empty() {
            true => vec![Part::Reads, Part::Inserts, Part::Opening, Part::Ycsb],
            false => self.parts.clone(),
        };
        Ok(Plan {
            engines: chosen(registry(), |engine| engine.name, &self.engines)?,
            parts,
            rows: self.rows,
            opening_rows: self.opening_rows,
            batch: self.batch,
            time,
            face,
            seed,
            ycsb: ycsb::Plan {
                engines: chosen(stores::registry(), |engine| engine.name, &self.engines)?,
                workloads: Workload::YCSB.to_vec(),
                rows: self.ycsb_rows,
                fields: 10,
                batches: vec![1, self.batch as usize],
                time,
                face,
                directory: directory.clone(),
                seed,
            },
            directory,
        })
    }
}
