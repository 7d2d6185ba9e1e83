//! The hot object's options, and the experiment as a whole.

use super::{Variant, run, show};
use crate::experiment::{About, Conditions, Experiment, OwnDatabases, check_seconds};
use crate::{ExperimentError, progress, strategy};
use sardonyx_multilevel::Strategy;
use sardonyx_results::Findings;

/// Measure the gain of commuting increments.
///
/// Increment one counter and two cold records in each of many threads' durable transactions.
///
/// The variants differ in the counter's lock: increments that commute, or exclusive; released when the transaction's
/// end is in the log, or, as is usual, only when it is durable. Afterwards each database is opened again: the counter
/// must be the number of acknowledged transactions. The table's head has the time of a bare durable write in the same
/// run.
///
/// Examples:
///   sardonyx-lab hot-object --busy
///   sardonyx-lab hot-object --threads 8,32 --seconds 5 --output hot
///   sardonyx-lab hot-object --strategy s1,spheres --variant increment,exclusive-durable
#[derive(Clone, Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Options {
    /// Numbers of threads
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [1, 2, 8, 16, 32])]
    pub threads: Vec<usize>,
    /// Only these ways of locking [default: all]
    #[arg(
        long = "variant",
        value_name = "VARIANT",
        value_enum,
        value_delimiter = ','
    )]
    pub variants: Vec<Variant>,
    /// The strategy of locking pages and writing the log
    #[arg(long = "strategy", value_name = "STRATEGY", value_parser = strategy::parser())]
    #[arg(value_delimiter = ',', default_value = "ordered-log")]
    pub strategies: Vec<Strategy>,
    /// The time of each cell of the table; each thread runs at least one transaction
    #[arg(long, value_name = "S", default_value_t = 2.0)]
    pub seconds: f64,
    /// End after so many transactions of each thread
    #[arg(long, value_name = "N", conflicts_with = "seconds")]
    pub transactions: Option<u64>,
    /// Cold records
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub cold_records: u64,
    /// The directory of the databases, and the common options of experiments.
    #[command(flatten)]
    pub databases: OwnDatabases,
}

impl Experiment for Options {
    const ABOUT: About = About {
        name: "hot-object",
        source: None,
    };

    fn conditions(&self) -> &Conditions {
        &self.databases.conditions
    }

    fn run(&self) -> anyhow::Result<Findings> {
        let report = progress::told(|tell| run(self, tell))?;
        Ok(show::findings(&report)?)
    }
}

impl Options {
    /// The variants that run, in order.
    pub(super) fn chosen(&self) -> Vec<Variant> {
        let chosen =
            |variant: &Variant| self.variants.is_empty() || self.variants.contains(variant);
        Variant::ALL.into_iter().filter(chosen).collect()
    }

    pub(super) fn check(&self) -> Result<(), ExperimentError> {
        check_seconds(self.seconds)?;
        if let Some(threads) = self.threads.iter().find(|one| !(1..=1024).contains(*one)) {
            return Err(ExperimentError::Usage(format!(
                "--threads {threads}: choose 1 to 1024"
            )));
        }
        let variants = self.chosen();
        let cells = self.strategies.iter().any(|&strategy| {
            let mut variants = variants.iter();
            variants.any(|variant| variant.runs_under(strategy))
        });
        if !cells || self.threads.is_empty() || self.transactions == Some(0) {
            return Err(ExperimentError::Nothing);
        }
        if self.cold_records < 2 {
            return Err(ExperimentError::Argument {
                what: "cold records",
                given: self.cold_records,
                limits: "a transaction changes two, so there have to be two".into(),
            });
        }
        Ok(())
    }
}
