//! The options of the tests of concurrency, and the experiment as a whole.

use super::{Mechanism, PROCESSES_LIMIT, Test, run, show};
use crate::ExperimentError;
use crate::experiment::{About, Conditions, Experiment, Paper};
use crate::progress;
use crate::worker::Role;
use sardonyx_results::Findings;
use std::path::PathBuf;

/// Measure the speedup of several processes (LIBXAC thesis).
///
/// Run independent transactions by several processes on one segment, and measure the speedup.
///
/// Each process has a page of its own. A transaction increments the page's first integer (test A), all of its integers
/// (B), or all of them a thousand times (C). The page is announced, as in the LIBXAC thesis. The same number of
/// transactions is run by one process and shared by several; all begin together. Afterwards every integer must have
/// been incremented once for each committed increment. With --durable each transaction waits until it is on stable
/// storage. The report then has the time of a bare durable write in the same run.
///
/// Examples:
///   sardonyx-lab concurrency
///   sardonyx-lab concurrency --durable ./segments --busy --test a --processes 1,2,4
///   sardonyx-lab concurrency --mechanism explicit --runs 9 --output concurrency
#[derive(Clone, Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Options {
    /// Run only this test; repeatable
    #[arg(long = "test", value_name = "TEST", value_enum)]
    pub tests: Vec<Test>,
    /// By this mechanism; repeatable
    #[arg(long = "mechanism", value_name = "MECHANISM", value_enum)]
    #[arg(default_values_t = [Mechanism::Asynchronous])]
    pub mechanisms: Vec<Mechanism>,
    /// Numbers of processes; the speedup is to the first [default: 1,2; durable: 1,2,4]
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub processes: Vec<u64>,
    /// Transactions, all processes together
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub transactions: u64,
    /// Runs of each, in turns; the median is reported
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub runs: usize,
    /// Do not announce the page
    #[arg(long)]
    pub no_advice: bool,
    /// Make the segments in a new directory, which is removed at the end, and wait for durability
    #[arg(long, value_name = "DIR")]
    pub durable: Option<PathBuf>,
    /// The common options of experiments.
    #[command(flatten)]
    pub conditions: Conditions,
}

impl Experiment for Options {
    const ABOUT: About = About {
        name: "concurrency",
        source: Some((Paper::Libxac, "section 4.4")),
    };

    fn conditions(&self) -> &Conditions {
        &self.conditions
    }

    fn run(&self) -> anyhow::Result<Findings> {
        let bar = progress::bar("running", 1);
        let report = run(self, &Role::Concurrency.program()?, |done, all| {
            bar.set_length(all);
            bar.set_position(done);
        });
        bar.finish_and_clear();
        Ok(show::findings(&report?)?)
    }
}

impl Options {
    /// The tests that run, in order.
    pub(super) fn tests(&self) -> Vec<Test> {
        match self.tests.is_empty() {
            true => Test::ALL.to_vec(),
            false => self.tests.clone(),
        }
    }

    /// The numbers of processes, in order.
    pub(super) fn processes(&self) -> Vec<u64> {
        match (self.processes.is_empty(), &self.durable) {
            (false, _) => self.processes.clone(),
            (true, None) => vec![1, 2],
            (true, Some(_)) => vec![1, 2, 4],
        }
    }

    pub(super) fn check(&self) -> Result<(), ExperimentError> {
        for processes in self.processes() {
            if !(1..=PROCESSES_LIMIT).contains(&processes) || self.transactions < processes {
                return Err(ExperimentError::Argument {
                    what: "the number of processes",
                    given: processes,
                    limits: format!(
                        "choose 1 to {PROCESSES_LIMIT}, and at least one transaction for each of \
                         them"
                    ),
                });
            }
        }
        // An integer must hold the count of test C.
        if !(1..=2_000_000).contains(&self.transactions) {
            return Err(ExperimentError::Argument {
                what: "the number of transactions",
                given: self.transactions,
                limits: "choose 1 to 2000000".into(),
            });
        }
        if self.runs == 0 {
            return Err(ExperimentError::Argument {
                what: "the number of runs",
                given: 0,
                limits: "choose at least 1".into(),
            });
        }
        Ok(())
    }
}
