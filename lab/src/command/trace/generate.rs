//! `trace generate`: the synthetic trace with the GEM paper's published statistics.

use super::file::{FormName, NewFile};
use super::stats;
use sardonyx_command::exit::Exit;
use sardonyx_command::output::Output;
use sardonyx_results::table::Sheet;
use sardonyx_results::units;
use sardonyx_workload::trace::statistics::Statistics;
use sardonyx_workload::trace::synthetic;
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;

/// Make a synthetic trace with the published statistics of a real-life workload.
///
/// More than 17,500 transactions of twelve types, about a million accesses to 66,000 pages in 13
/// files, 20% updates, unevenly spread. The same seed makes the same file.
///
/// Example: sardonyx-lab trace generate --seed 7 -o paper.trace
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The seed of the random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the text form instead of the binary one
    #[arg(long)]
    text: bool,
    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
}

#[derive(Serialize)]
struct Report {
    file: String,
    form: FormName,
    bytes: u64,
    seed: u64,
    statistics: Statistics,
}

impl Arguments {
    /// Runs the action.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        let form = if self.text {
            FormName::Text
        } else {
            FormName::Binary
        };
        let file = self.output.display().to_string();
        let new = NewFile::create(&self.output, self.force)?;
        let trace = synthetic::generate(self.seed);
        let bytes = trace.write(form.into(), new, file.clone())?.finish()?;
        let report = Report {
            file,
            form,
            bytes,
            seed: self.seed,
            statistics: Statistics::of(&trace),
        };
        if output.is_json() {
            output.value(&report)?;
            return Ok(Exit::Done);
        }
        let mut sheet = Sheet::default();
        sheet.heading(format!("Written to {}", report.file));
        sheet.figure("size", units::bytes(report.bytes));
        sheet.figure("seed", report.seed.to_string());
        stats::summarise(&report.statistics, &mut sheet);
        write!(output, "{sheet}")?;
        Ok(Exit::Done)
    }
}
