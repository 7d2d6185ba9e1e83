//! The page-touch experiment's options, and the experiment as a whole.

use super::{PAGES_LIMIT, Subject, run, show};
use crate::ExperimentError;
use crate::experiment::{About, Conditions, Experiment, Paper};
use crate::progress;
use sardonyx_results::Findings;
use sardonyx_results::units::parse_bytes;
use std::path::PathBuf;

/// Measure the cost of a touched page (LIBXAC thesis).
///
/// Measure the cost of a page that a transaction reads or writes, by every mechanism.
///
/// Transactions that read n pages and that write n pages, n from 1 to 1024 in powers of two, plainly and with the pages
/// announced; pages read again; the additive model aR + bW + c; the steps of the cost; and opening a snapshot of
/// unchanged pages. The recipe of the LIBXAC thesis (LIBXAC), built again, is compared with the mechanisms of a
/// segment. Every value read is compared with the committed one. Without --durable nothing is on disk; with it, commits
/// wait for the log, and the recipe, which has none, does not take part.
///
/// Examples:
///   sardonyx-lab page-touch
///   sardonyx-lab page-touch --repetitions 100 --output page-touch
///   sardonyx-lab page-touch --durable ./segments --busy --repetitions 100
///   sardonyx-lab page-touch --mechanism explicit --mechanism libxac --json
#[derive(Clone, Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Options {
    /// The most pages that a transaction touches
    #[arg(long, value_name = "N", default_value_t = 1024)]
    pub pages: usize,
    /// The number of runs of each transaction
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub repetitions: usize,
    /// Measure only this one; repeatable
    #[arg(long = "mechanism", value_name = "MECHANISM", value_enum)]
    pub subjects: Vec<Subject>,
    /// Make the segments in a new directory, which is removed at the end, and wait for durability
    #[arg(long, value_name = "DIR")]
    pub durable: Option<PathBuf>,
    /// Bytes of the snapshot that is opened; 0: none is
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "1GiB")]
    pub snapshot_bytes: u64,
    /// The common options of experiments.
    #[command(flatten)]
    pub conditions: Conditions,
}

impl Experiment for Options {
    const ABOUT: About = About {
        name: "page-touch",
        source: Some((Paper::Libxac, "sections 4.2 and 4.3")),
    };

    fn conditions(&self) -> &Conditions {
        &self.conditions
    }

    fn run(&self) -> anyhow::Result<Findings> {
        let bar = progress::bar("running", 1);
        let report = run(self, |progress| {
            bar.set_length(progress.all);
            bar.set_position(progress.done);
        });
        bar.finish_and_clear();
        Ok(show::findings(&report?)?)
    }
}

impl Options {
    /// The subjects that take part, in order. The recipe's pages are not durable, so it is left out if transactions
    /// are.
    pub(super) fn chosen(&self) -> Vec<Subject> {
        let chosen = |subject: &Subject| {
            let named = self.subjects.is_empty() || self.subjects.contains(subject);
            named && !(self.durable.is_some() && *subject == Subject::Libxac)
        };
        Subject::ALL.into_iter().filter(chosen).collect()
    }

    pub(super) fn check(&self) -> Result<(), ExperimentError> {
        if !(1..=PAGES_LIMIT).contains(&self.pages) {
            return Err(ExperimentError::Argument {
                what: "the number of pages",
                given: self.pages as u64,
                limits: format!("choose 1 to {PAGES_LIMIT}"),
            });
        }
        if !(1..=10_000_000).contains(&self.repetitions) {
            return Err(ExperimentError::Argument {
                what: "the number of repetitions",
                given: self.repetitions as u64,
                limits: "choose 1 to 10000000".into(),
            });
        }
        Ok(())
    }
}
