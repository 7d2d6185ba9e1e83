//! `recover`: opens a database as after a crash, reports the steps, and closes it.

use crate::catalogue_figures::CatalogueFigures;
use crate::store::StoreOption;
use crate::target::Target;
use sardonyx_command::directories::Directories;
use sardonyx_command::exit::Exit;
use sardonyx_command::output::Output;
use sardonyx_results::recovery::RecoveryFigures;
use sardonyx_results::table::Sheet;
use sardonyx_storage::manifest::Manifest;
use sardonyx_storage::recovery::recover;
use serde::Serialize;
use std::io::Write;

/// Recover a database and report the steps.
///
/// Opening a database always recovers it; this verb does nothing else. With --dry-run the disk is not changed, and the
/// file system may be read-only; while a program has the database open, it reports the recovery as if that program
/// ended now. A database with unfinished multi-level transactions is not opened here: only the program that knows their
/// operations can undo them. The dry run reports their number.
///
/// Examples:
///   sardonyx recover bank.sdx
///   sardonyx recover bank.sdx --dry-run --json
///   sardonyx recover bank.sdx --log-directory /new/place/of/its/log
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    #[command(flatten)]
    target: Target,
    /// Recover in memory only, and change nothing on disk
    #[arg(long, conflicts_with_all = ["log_directory", "backup_directory", "stripe_directory"])]
    dry_run: bool,
    /// The directories of its moved parts
    #[command(flatten)]
    moved: Directories,
    #[command(flatten)]
    store: StoreOption,
}

#[derive(Debug, Serialize)]
struct Report {
    dry_run: bool,
    recovery: RecoveryFigures,
    /// `None` if there are no tables.
    catalogue: Option<CatalogueFigures>,
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        let (recovery, catalogue) = if self.dry_run {
            let files = self.target.files(output)?;
            let recover = || {
                let manifest = Manifest::read(&*files.disk)?;
                let mut recovered = recover(&files.disk, &manifest, files.dry_run())?;
                let catalogue = CatalogueFigures::of_store(&mut recovered.store)?;
                Ok((RecoveryFigures::from(&recovered.report), catalogue))
            };
            files.read(recover, |_| None)?
        } else {
            let database = self.target.database(&self.moved, &self.store)?;
            let recovery = RecoveryFigures::from(database.recovery());
            let catalogue =
                database.read(|view| Ok(CatalogueFigures::of(view.pages(), view.catalogue())))?;
            database.close()?;
            (recovery, Some(catalogue))
        };
        let report = Report {
            dry_run: self.dry_run,
            recovery,
            catalogue,
        };
        if output.is_json() {
            output.value(&report)?;
        } else {
            let mut sheet = Sheet::default();
            sheet.heading(match report.dry_run {
                true => "Would recover (dry run: nothing was changed)",
                false => "Recovered",
            });
            report.recovery.print(&mut sheet);
            if let Some(catalogue) = &report.catalogue {
                catalogue.print(&mut sheet);
            }
            write!(output, "{sheet}")?;
        }
        Ok(Exit::Done)
    }
}
