//! `backup`: copies a database, as it was at one commit, into a directory of its own.

use crate::target::Target;
use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use sardonyx::Error;
use sardonyx::backup::{Source, write};
use sardonyx_command::exit::{Exit, UsageError};
use sardonyx_command::output::Output;
use sardonyx_results::table::Sheet;
use sardonyx_results::units;
use sardonyx_storage::catalogue::unfinished;
use sardonyx_storage::journal::{JournalReader, Retention};
use sardonyx_storage::manifest::Manifest;
use sardonyx_storage::page::PAGE_SIZE;
use sardonyx_storage::recovery::recover;
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Back up a database, also while it is open.
///
/// The backup is consistent at one commit: everything that the log had made durable. The database may be open in
/// another program, which continues; only the reading of its files costs it time. The backup is a database of its own,
/// with another identity; it includes the journals. A database with unfinished multi-level transactions is refused.
///
/// Examples:
///   sardonyx backup bank.sdx /backups/bank-monday.sdx
///   sardonyx backup bank.sdx copy.sdx --json
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    #[command(flatten)]
    target: Target,
    /// The backup's directory: absent or empty
    destination: PathBuf,
}

/// The copy that was made.
#[derive(Debug, Serialize)]
pub struct Report {
    pages: u64,
    bytes: u64,
    journal_rows: u64,
    /// The end of the log whose transactions it contains.
    log_end_lsn: u64,
    seconds: f64,
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        let report = copy(&self.target, &self.destination, output)?;
        match output.is_json() {
            true => output.value(&report)?,
            false => report.print("Backed up", output)?,
        }
        Ok(Exit::Done)
    }
}

/// Copies a database, as it was at one commit, into a directory that is absent or empty.
///
/// # Errors
/// There is no database, or it is damaged; the directory has files; the disk's.
pub fn copy(target: &Target, destination: &Path, output: &mut Output) -> anyhow::Result<Report> {
    let started = Instant::now();
    let files = target.files(output)?;
    let style = ProgressStyle::with_template("{bar:40} {percent}% of the pages, {eta} left");
    let bar = ProgressBar::new(0).with_style(style.expect("a valid template"));
    let copy = || {
        let manifest = Manifest::read(&*files.disk)?;
        let mut recovered = recover(&files.disk, &manifest, files.dry_run())?;
        unfinished::refuse_in_any(&mut recovered.store)?;
        let journals = match manifest.journal {
            Retention::Nothing => None,
            _ => {
                let before = Some(recovered.end.group);
                Some(JournalReader::open(&files.disk, &manifest, None, before)?)
            }
        };
        let source = Source {
            pages: recovered.store.bytes(),
            count: recovered.store.pages(),
            journals,
            manifest: &manifest,
        };
        let backup = write(destination, source, |done, all| {
            bar.set_length(all);
            bar.set_position(done);
        });
        let backup = backup.map_err(|error| match error {
            Error::Refused(cause) => UsageError::Arguments(cause.to_string()).into(),
            error => anyhow::Error::from(error),
        })?;
        Ok((backup, recovered.end))
    };
    let copied = files.read(copy, |_| None);
    bar.finish_and_clear();
    let (backup, end) = copied.with_context(|| format!("copying {}", target.path.display()))?;
    Ok(Report {
        pages: backup.pages,
        bytes: backup.pages * PAGE_SIZE as u64,
        journal_rows: backup.journal_rows,
        log_end_lsn: end.lsn.0,
        seconds: started.elapsed().as_secs_f64(),
    })
}

impl Report {
    /// Prints it for people, under this heading.
    pub fn print(&self, heading: &str, output: &mut Output) -> anyhow::Result<()> {
        let mut sheet = Sheet::default();
        sheet.heading(heading);
        let bytes = units::bytes(self.bytes);
        sheet.remarked("pages", units::count(self.pages), bytes);
        sheet.figure("journal rows", units::count(self.journal_rows));
        let took = units::time(self.seconds);
        sheet.remarked("up to", format!("LSN {}", self.log_end_lsn), took);
        Ok(write!(output, "{sheet}")?)
    }
}
