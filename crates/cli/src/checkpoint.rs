//! `checkpoint`: opens a database, takes a checkpoint, and closes it, so that the next recovery has
//! little log to apply.

use crate::store::StoreOption;
use crate::target::Target;
use sardonyx_command::directories::Directories;
use sardonyx_command::exit::Exit;
use sardonyx_command::output::Output;
use sardonyx_results::recovery::RecoveryFigures;
use sardonyx_results::table::Sheet;
use sardonyx_results::units;
use serde::Serialize;
use std::io::Write;
use std::time::Instant;

/// Take a checkpoint, so that opening is fast.
///
/// Example: sardonyx checkpoint bank.sdx
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    store: StoreOption,
}

#[derive(Debug, Serialize)]
struct Report {
    recovery: RecoveryFigures,
    blocks: u64,
    bytes: u64,
    seconds: f64,
    /// The start of a redo pass now, and the end of the log.
    log_needed_from_lsn: u64,
    log_end_lsn: u64,
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        let database = self.target.database(&Directories::default(), &self.store)?;
        let recovery = RecoveryFigures::from(database.recovery());
        let before = database.statistics().checkpoint;
        let started = Instant::now();
        database.checkpoint()?;
        let seconds = started.elapsed().as_secs_f64();
        let after = database.statistics().checkpoint;
        let engine = database.engine();
        let report = Report {
            recovery,
            blocks: after.blocks - before.blocks,
            bytes: after.bytes - before.bytes,
            seconds,
            log_needed_from_lsn: engine.checkpoint().log_needed_from().lsn.0,
            log_end_lsn: engine.commit().durable().lsn.0,
        };
        database.close()?;
        if output.is_json() {
            output.value(&report)?;
        } else {
            let mut sheet = Sheet::default();
            sheet.heading("Recovered");
            report.recovery.print(&mut sheet);
            sheet.heading("Checkpoint");
            sheet.figure("blocks written", units::count(report.blocks));
            let rate = report.bytes as f64 / report.seconds / 1e9;
            let remark = format!("in {}: {rate:.2} GB/s", units::time(report.seconds));
            sheet.remarked("bytes written", units::bytes(report.bytes), remark);
            sheet.remarked(
                "log still needed",
                units::bytes(
                    report
                        .log_end_lsn
                        .saturating_sub(report.log_needed_from_lsn),
                ),
                format!("from LSN {}", report.log_needed_from_lsn),
            );
            write!(output, "{sheet}")?;
        }
        Ok(Exit::Done)
    }
}
