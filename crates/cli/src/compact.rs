//! `compact`: frees the memory and the disk space of deleted rows, dropped tables and old log.

use crate::target::Target;
use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use sardonyx_command::exit::Exit;
use sardonyx_command::output::Output;
use sardonyx_results::table::Sheet;
use sardonyx_results::units;
use sardonyx_storage::page::PAGE_SIZE;
use serde::Serialize;
use std::io::Write;
use std::time::Instant;

/// Free the space of deleted rows and old log.
///
/// Space of dropped tables is freed, too, in memory and on disk. The tables are packed and written again, into as many
/// pages as a fresh database of the same rows has; then they replace the old files in one step. A crash at any moment
/// leaves the database as it was, or compacted, with the same rows. The database must not be open elsewhere. The verb
/// needs memory for the rows twice, and temporarily disk space for both.
///
/// A database whose files would not become smaller is not changed: it was never used, or compacted before. Journals and
/// areas of operations are not compacted. One segment of the log is kept. The memory that processes share (`Memory`) is
/// refused; so is a database whose log is in a store.
///
/// Examples:
///   sardonyx compact bank.sdx
///   sardonyx compact bank.sdx --wait 30s --json
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Serialize)]
struct Report {
    rows: u64,
    pages_before: u64,
    pages: u64,
    /// Of the log and the backup.
    file_bytes_before: u64,
    file_bytes: u64,
    /// False if no space could be freed.
    changed: bool,
    seconds: f64,
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        let started = Instant::now();
        let options = self.target.options()?;
        let style = ProgressStyle::with_template("{bar:40} {percent}% of the pages, {eta} left");
        let bar = ProgressBar::new(0).with_style(style.expect("a valid template"));
        let compacted = options.compact_with(&self.target.path, |done, all| {
            bar.set_length(all);
            bar.set_position(done);
        });
        bar.finish_and_clear();
        let done =
            compacted.with_context(|| format!("compacting {}", self.target.path.display()))?;
        let report = Report {
            rows: done.rows,
            pages_before: done.pages_before,
            pages: done.pages,
            file_bytes_before: done.file_bytes_before,
            file_bytes: done.file_bytes,
            changed: done.changed,
            seconds: started.elapsed().as_secs_f64(),
        };
        if output.is_json() {
            output.value(&report)?;
            return Ok(Exit::Done);
        }
        let mut sheet = Sheet::default();
        sheet.heading(match report.changed {
            true => "Compacted",
            false => "No space to free: the database is not changed",
        });
        let before = |bytes: u64| format!("before: {}", units::bytes(bytes));
        sheet.remarked(
            "rows",
            units::count(report.rows),
            units::time(report.seconds),
        );
        let page = PAGE_SIZE as u64;
        let pages = units::bytes(report.pages * page);
        sheet.remarked("pages", pages, before(report.pages_before * page));
        let files = units::bytes(report.file_bytes);
        sheet.remarked("log and backup", files, before(report.file_bytes_before));
        write!(output, "{sheet}")?;
        Ok(Exit::Done)
    }
}
