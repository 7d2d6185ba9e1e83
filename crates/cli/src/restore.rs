//! `restore`: creates a database from a backup or a store, and checks it; also as a drill, which leaves no files.

use crate::store::{Copied, Place, Until, copy_from_store};
use crate::target::Target;
use crate::{backup, verify};
use anyhow::Context;
use sardonyx_command::exit::{Exit, UsageError};
use sardonyx_command::output::Output;
use sardonyx_storage::engine::LOCK_FILE;
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Restore a backup or a store, and check it.
///
/// The backup is not changed. The restored database is separate: a server can open it, and its log, if in a store,
/// needs another store. With --drill the database is deleted again after the check: for a schedule, since only a
/// restored backup is known to be good.
///
/// Exit code 1: the restored database is damaged.
///
/// Examples:
///   sardonyx restore /backups/bank-monday.sdx bank.sdx
///   sardonyx restore s3://ledger/bank bank.sdx --at 2026-11-22T10:15:00Z
///   sardonyx restore /backups/bank-monday.sdx /tmp/drill.sdx --drill --json
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// A backup's directory, or a store: s3://BUCKET/PREFIX, nats://HOST/STREAM, tcp://HOST:PORT or file:DIRECTORY
    from: String,
    /// The database's directory: absent or empty
    path: PathBuf,
    #[command(flatten)]
    until: Until,
    /// Delete the restored database after the check
    #[arg(long)]
    drill: bool,
}

#[derive(Debug, Serialize)]
struct Report {
    #[serde(flatten)]
    made: Made,
    checked: verify::Report,
    /// True if it was deleted again.
    deleted: bool,
}

/// The database that was made.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Made {
    OfBackup(backup::Report),
    OfStore(Copied),
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        check_empty(&self.path)?;
        let outcome = self.make(output);
        // A failed attempt leaves no files either.
        if self.drill && self.path.exists() {
            std::fs::remove_dir_all(&self.path)
                .with_context(|| format!("deleting {}", self.path.display()))?;
        }
        let report = outcome?;
        if output.is_json() {
            output.value(&report)?;
            return Ok(report.checked.exit());
        }
        match &report.made {
            Made::OfBackup(made) => made.print("Restored", output)?,
            Made::OfStore(made) => made.print(output)?,
        }
        writeln!(output)?;
        report.checked.print(output)?;
        if report.deleted {
            writeln!(output, "A drill: {} is deleted.", self.path.display())?;
        }
        Ok(report.checked.exit())
    }

    fn make(&self, output: &mut Output) -> anyhow::Result<Report> {
        let made = match Path::new(&self.from).is_dir() {
            true if !self.until.is_newest() => {
                let text =
                    "a backup has one moment: --at, --at-entry and --at-group are for a store";
                return Err(UsageError::Arguments(text.into()).into());
            }
            true => {
                let backup = Target::at(self.from.clone().into());
                Made::OfBackup(backup::copy(&backup, &self.path, output)?)
            }
            false if !self.from.contains(':') => {
                let text = format!("there is no backup {}: no such directory", self.from);
                return Err(UsageError::NotThere(text).into());
            }
            false => {
                let place = Place::at(self.from.clone());
                Made::OfStore(copy_from_store(&place, &self.path, &self.until)?)
            }
        };
        Ok(Report {
            made,
            checked: verify::check(&Target::at(self.path.clone()), output)?,
            deleted: self.drill,
        })
    }
}

/// Refuses a directory that is not empty: a drill would delete its files. An attempt that failed leaves its lock's file.
fn check_empty(path: &Path) -> Result<(), UsageError> {
    let is_taken = match std::fs::read_dir(path) {
        Ok(mut entries) => {
            entries.any(|entry| entry.is_ok_and(|entry| entry.file_name() != LOCK_FILE))
        }
        Err(_) => path.exists(),
    };
    match is_taken {
        false => Ok(()),
        true => Err(UsageError::Arguments(format!(
            "{} is not empty: a database is restored into a new or empty directory; name another, or stop the program \
             that has this one open, and move it away",
            path.display()
        ))),
    }
}
