//! The options of YCSB, and the experiment as a whole.

use super::run::{Plan, run};
use super::show;
use super::store::Engine;
use super::tables::Sardonyx;
use super::workload::Workload;
use crate::experiment::{About, Conditions, Experiment, OwnDatabases, check_seconds};
use crate::progress;
use sardonyx_results::Findings;
use std::time::Duration;

/// Run YCSB's workloads on a table.
///
/// Run YCSB's core workloads on a table, durably, in batches and one operation at a time.
///
/// Loads rows of ten fields of 100 bytes, and runs workloads A to F, as in YCSB's distribution. One client hands over a
/// batch and waits until all of it is on stable storage. Then the database is opened again and all rows are read. The
/// same runs on other stores: see lab/peers.
///
/// Examples:
///   sardonyx-lab ycsb --busy
///   sardonyx-lab ycsb --workload a,e --batch 1,1000 --seconds 5
///   sardonyx-lab ycsb --fields 1 --workload reads,scans --batch 1000
#[derive(Clone, Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Options {
    /// Rows
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub rows: u64,
    /// Fields of a row, of 100 bytes: 1 or 10
    #[arg(long, value_name = "N", default_value_t = 10)]
    #[arg(value_parser = fields)]
    pub fields: u8,
    /// The workloads, in order [default: a,b,c,f,d,e]
    #[arg(
        long = "workload",
        value_name = "WORKLOAD",
        value_enum,
        value_delimiter = ','
    )]
    pub workloads: Vec<Workload>,
    /// Operations in a batch: the sizes to try
    #[arg(long = "batch", value_name = "N,…", value_delimiter = ',', default_values_t = [1, 1_000])]
    pub batches: Vec<usize>,
    /// The time of each workload with each size
    #[arg(long, value_name = "S", default_value_t = 2.0)]
    pub seconds: f64,
    /// The directory of the databases, and the common options of experiments.
    #[command(flatten)]
    pub databases: OwnDatabases,
}

impl Experiment for Options {
    const ABOUT: About = About {
        name: "ycsb",
        source: None,
    };

    fn conditions(&self) -> &Conditions {
        &self.databases.conditions
    }

    fn run(&self) -> anyhow::Result<Findings> {
        check_seconds(self.seconds)?;
        let report = progress::told(|tell| run(&self.plan(vec![Engine::of::<Sardonyx>()]), tell))?;
        Ok(show::findings(&report)?)
    }
}

impl Options {
    /// The plan of these options, for these stores.
    pub fn plan(&self, engines: Vec<Engine>) -> Plan {
        Plan {
            engines,
            workloads: match self.workloads.is_empty() {
                true => Workload::YCSB.to_vec(),
                false => self.workloads.clone(),
            },
            rows: self.rows,
            fields: self.fields,
            batches: self.batches.clone(),
            time: Duration::from_secs_f64(self.seconds),
            face: self.databases.conditions.face(),
            directory: self.databases.directory.clone(),
            seed: self.databases.seed,
        }
    }
}

/// Takes 1 or 10.
fn fields(text: &str) -> Result<u8, String> {
    match text {
        "1" => Ok(1),
        "10" => Ok(10),
        _ => Err("choose 1 or 10".into()),
    }
}
