//! `inspect`: the contents of a database's files, as text or as JSON. Read-only; only the catalogue needs a recovery,
//! in memory.

mod backup;
mod catalogue;
mod journal;
mod log;
mod manifest;

use crate::target::Target;
use clap::Subcommand;
use sardonyx_command::exit::Exit;
use sardonyx_command::output::Output;
use sardonyx_storage::manifest::Manifest;

/// Print manifest, log, backup, journal, catalogue.
///
/// Without a part: the manifest, and a summary of the log, the backup and the journal archive. With --json, the log,
/// the backup and the journal print one object a line. Works on a read-only file system, and while a program has the
/// database open. Its files may change meanwhile: a group or a block that is being written looks torn. `sardonyx
/// verify` distinguishes damage from the traces of a crash.
///
/// Exit code 1: damage ended the reading.
///
/// Examples:
///   sardonyx inspect bank.sdx
///   sardonyx inspect bank.sdx log --records --from-group 12 --limit 3
///   sardonyx inspect bank.sdx backup --json
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    #[command(flatten)]
    target: Target,
    #[command(subcommand)]
    part: Option<Part>,
}

/// A part of a database's files.
#[derive(Debug, Subcommand)]
enum Part {
    /// Print format, identity and sizes fixed at creation.
    ///
    /// Example: sardonyx inspect bank.sdx manifest
    Manifest,
    /// Print the commit groups of the redo log.
    ///
    /// Example: sardonyx inspect bank.sdx log --from-group 12 --limit 3 --records
    Log(log::Arguments),
    /// Print the slots of the sliding backup.
    ///
    /// Example: sardonyx inspect bank.sdx backup
    Backup,
    /// Print the chunks of the journal archive.
    ///
    /// Example: sardonyx inspect bank.sdx journal --json
    Journal,
    /// Print tables, journals, areas and unfinished transactions, recovered in memory.
    ///
    /// Example: sardonyx inspect bank.sdx catalogue
    Catalogue,
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        let Some(part) = &self.part else {
            return self.summarise(output);
        };
        if let Part::Manifest = part {
            manifest::print(&*self.target.disk()?, output)?;
            return Ok(Exit::Done);
        }
        let files = self.target.files(output)?;
        let manifest = Manifest::read(&*files.disk)?;
        match part {
            Part::Manifest => unreachable!("printed above, without the lock"),
            // Printed as it is read.
            Part::Log(arguments) => files.told(arguments.print(&files, &manifest, output)),
            Part::Backup => files.told(backup::print(&files.disk, &manifest, output)),
            Part::Journal => files.told(journal::print(&files.disk, &manifest, output)),
            Part::Catalogue => catalogue::print(&files, output),
        }
    }

    fn summarise(&self, output: &mut Output) -> anyhow::Result<Exit> {
        let files = self.target.files(output)?;
        let read = || {
            let manifest = Manifest::read(&*files.disk)?;
            Ok(Summary {
                manifest: manifest::Listing::of(&*files.disk, &manifest)?,
                log: log::Summary::of(&files, &manifest)?,
                backup: backup::Summary::of(&files.disk, &manifest)?,
                journal: journal::Summary::of(&files.disk, &manifest)?,
            })
        };
        let summary = files.read(read, |summary| summary.log.error.clone())?;
        if output.is_json() {
            output.value(&summary)?;
        } else {
            summary.print(output)?;
        }
        Ok(if summary.log.error.is_some() {
            Exit::Found
        } else {
            Exit::Done
        })
    }
}

#[derive(serde::Serialize)]
struct Summary {
    manifest: manifest::Listing,
    log: log::Summary,
    backup: backup::Summary,
    journal: journal::Summary,
}

impl Summary {
    fn print(&self, output: &mut Output) -> anyhow::Result<()> {
        use std::io::Write;
        let mut sheet = sardonyx_results::table::Sheet::default();
        self.manifest.print(&mut sheet);
        self.log.print(&mut sheet);
        self.backup.print(&mut sheet);
        self.journal.print(&mut sheet);
        Ok(write!(output, "{sheet}")?)
    }
}
