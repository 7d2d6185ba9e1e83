//! `complex-objects`: the benchmark of the paper on multi-level transactions.
//!
//! [`choice`] makes the plan of the arguments, [`present`] prints what the crate `experiments` found,
//! [`files`] makes CSV and SVG of it.
//!
//! Source: Hasse & Weikum (paper 003), section 3.

mod choice;
mod files;
mod present;

use crate::debit_credit::place::Place;
use crate::debit_credit::progress;
use crate::exit::Exit;
use crate::output::Output;
use anyhow::Context;
use choice::Choice;
use sardonyx_lab::complex_objects;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Run the complex-object benchmark of Hasse & Weikum under every strategy of multi-level
/// transactions.
///
/// 1,000 complex objects, each with 1,000 own subobjects in ten pages and 100 references to foreign
/// ones. A transaction does c operations on different complex objects; each accesses o own and f
/// foreign subobjects and changes each with probability u. S1 locks pages to the end of the
/// transaction; S2 forces the log at the end of every operation; S2/PS defers that by persistence
/// spheres; the ordered log appends and forces its prefix at the end of the transaction.
///
/// Work is timed: an access sleeps while it holds one of the simulated processors, of which there
/// are twelve, as on the paper's machine, however many cores this one has. After every run, and
/// again after closing and opening the database, each subobject's value is compared with the sum of
/// what was committed.
///
/// Examples:
///   sardonyx complex-objects
///   sardonyx complex-objects --figure 9 --seconds 10 --svg figure-9.svg
///   sardonyx complex-objects --dmp 12 --foreign 5 --own 5 --strategies s1,s2-ps --json
///   sardonyx complex-objects --dmp 1,12,20 --semantic --page-log byte-ranges --csv runs.csv
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment, after_help = crate::exit::EXIT_CODES)]
pub struct Arguments {
    #[command(flatten)]
    choice: Choice,
    /// Where the database is made, which is removed at the end. On a real disk
    #[arg(long, value_name = "DIR", default_value = "complex-objects.sdx")]
    directory: PathBuf,
    /// Write the measures as CSV to a file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Draw the measures as SVG to a file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        let options = self.choice.options(&self.directory)?;
        // Before minutes of running, rather than after.
        for file in [&self.csv, &self.svg].into_iter().flatten() {
            write(file, "")?;
        }
        let _place = Place::claim(&self.directory)?;
        let bar = progress::bar("running", 1);
        bar.enable_steady_tick(Duration::from_millis(500));
        let report = complex_objects::run(&options, |progress| {
            let (over, value) = progress.at;
            bar.set_length(progress.all);
            bar.set_position(progress.done);
            bar.set_message(format!(
                "{} {}={value}",
                progress.strategy.name(),
                over.name()
            ));
        });
        bar.finish_and_clear();
        let report = report?;
        if output.is_json() {
            output.value(&report)?;
        } else {
            present::print(&report, output)?;
        }
        if let Some(file) = &self.csv {
            write(file, &files::csv(&report))?;
        }
        if let Some(file) = &self.svg {
            write(file, &files::picture(&report, &self.choice.title()).svg())?;
        }
        let written = [&self.csv, &self.svg].into_iter().flatten().cloned();
        crate::page_touch::present::written(&written.collect::<Vec<_>>(), output)?;
        Ok(Exit::Done)
    }
}

fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(file, text).with_context(|| format!("writing {}", file.display()))
}
