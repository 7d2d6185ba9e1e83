//! `restore`: creates a database from a backup or a store, and checks it; also as a drill, which leaves no files.

use crate::store::{Copied, Place, Until, clear, copy_from_store, has_lock_alone};
use crate::target::Target;
use crate::{backup, verify};
use anyhow::Context;
use sardonyx_command::exit::{Exit, UsageError};
use sardonyx_command::output::Output;
use sardonyx_storage::disk::{Disk, RealDisk};
use sardonyx_storage::engine::{LOCK_FILE, take_lock};
use serde::Serialize;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

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
        let was_there = self.path.exists();
        let made = match self.make(output) {
            Ok(made) => made,
            Err(error) => {
                if self.drill {
                    // The first error is reported.
                    let _ = self.delete(false, was_there);
                }
                return Err(error);
            }
        };
        let checked = verify::check(&Target::at(self.path.clone()), output);
        if self.drill {
            self.delete(true, was_there)
                .with_context(|| format!("deleting {}", self.path.display()))?;
        }
        let report = Report {
            made,
            checked: checked?,
            deleted: self.drill,
        };
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

    /// Makes the database. If that fails, it leaves at most the directory with its lock's file.
    fn make(&self, output: &mut Output) -> anyhow::Result<Made> {
        match Path::new(&self.from).is_dir() {
            true if !self.until.is_newest() => {
                let text =
                    "a backup has one moment: --at, --at-entry and --at-group are for a store";
                Err(UsageError::Arguments(text.into()).into())
            }
            true => {
                let backup = Target::at(self.from.clone().into());
                Ok(Made::OfBackup(backup::copy(&backup, &self.path, output)?))
            }
            false if !self.from.contains(':') => {
                let text = format!("there is no backup {}: no such directory", self.from);
                Err(UsageError::NotThere(text).into())
            }
            false => {
                let place = Place::at(self.from.clone());
                let copied = copy_from_store(&place, &self.path, &self.until)?;
                Ok(Made::OfStore(copied))
            }
        }
    }

    /// Deletes the database that this run made, and the directory unless it was there before. The lock is held meanwhile:
    /// files of a program that has it are not this run's.
    fn delete(&self, is_made: bool, was_there: bool) -> anyhow::Result<()> {
        if !is_made && (was_there || !self.path.exists()) {
            return Ok(());
        }
        let home: Arc<dyn Disk> = Arc::new(RealDisk::open(&self.path)?);
        let lock = take_lock(&home, Duration::ZERO)?;
        if is_made {
            clear(&self.path)?;
        }
        if !has_lock_alone(&self.path) {
            return Ok(());
        }
        home.remove(LOCK_FILE)?;
        drop(lock);
        match was_there {
            true => Ok(()),
            false => match std::fs::remove_dir(&self.path) {
                // Another program has begun there since the lock was given back.
                Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => Ok(()),
                removed => Ok(removed?),
            },
        }
    }
}

/// Refuses a directory that is not empty: its files are another database's.
fn check_empty(path: &Path) -> Result<(), UsageError> {
    match has_lock_alone(path) {
        true => Ok(()),
        false => Err(UsageError::Arguments(format!(
            "{} is not empty: a database is restored into a new or empty directory; name another, or stop the program \
             that has this one open, and move it away",
            path.display()
        ))),
    }
}
