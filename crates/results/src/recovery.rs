//! The report of a recovery, as every verb that recovers prints it.

use crate::table::Sheet;
use crate::units;
use sardonyx_storage::recovery::RecoveryReport;
use serde::Serialize;

/// The serialised form of a [`RecoveryReport`].
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct RecoveryFigures {
    /// Blocks loaded from the backup.
    pub backup_blocks: u64,
    /// Bytes loaded from the backup.
    pub backup_bytes: u64,
    /// The time of that.
    pub load_seconds: f64,
    /// Bytes of backup a second; 0 if nothing was loaded.
    pub load_bytes_per_second: f64,
    /// The LSN from which the log was applied.
    pub redo_from_lsn: u64,
    /// The log's end.
    pub redo_to_lsn: u64,
    /// Commit groups between the two LSNs.
    pub redo_groups: u64,
    /// Transactions in those groups.
    pub redo_transactions: u64,
    /// The time of the redo pass, reading the log included.
    pub redo_seconds: f64,
    /// Transactions redone a second; 0 if there were none.
    pub redo_transactions_per_second: f64,
    /// Journal rows that the archive lacked and the log had.
    pub journal_rows: u64,
    /// The time of reading the bytes behind the log's end: nothing durable may follow it.
    pub end_check_seconds: f64,
    /// The time of making found data stable; most of it is a part of the times above.
    pub stable_seconds: f64,
    /// The time of copying the pages for the checkpointer; absent if it makes no copy.
    pub copy_seconds: Option<f64>,
    /// Bytes of pages.
    pub database_bytes: u64,
    /// Slots of the backup that are damaged; a crash leaves at most one in each stripe.
    pub damaged_slots: u64,
    /// All of the above together.
    pub total_seconds: f64,
}

impl From<&RecoveryReport> for RecoveryFigures {
    fn from(report: &RecoveryReport) -> Self {
        let damaged = report
            .stripes
            .iter()
            .map(|stripe| stripe.damaged_offsets.len() as u64);
        RecoveryFigures {
            backup_blocks: report.blocks(),
            backup_bytes: report.bytes(),
            load_seconds: report.load_time.as_secs_f64(),
            load_bytes_per_second: report.load_bytes_per_second(),
            redo_from_lsn: report.redo_start.lsn.0,
            redo_to_lsn: report.redo_end.lsn.0,
            redo_groups: report.groups,
            redo_transactions: report.transactions,
            redo_seconds: report.redo_time.as_secs_f64(),
            redo_transactions_per_second: report.transactions_per_second(),
            journal_rows: report.journal_rows,
            end_check_seconds: report.end_check_time.as_secs_f64(),
            stable_seconds: report.stable_time.as_secs_f64(),
            copy_seconds: report.copy_time.map(|time| time.as_secs_f64()),
            database_bytes: report.database_bytes,
            damaged_slots: damaged.sum(),
            total_seconds: report.total_time().as_secs_f64(),
        }
    }
}

impl RecoveryFigures {
    /// Adds the figures to a sheet.
    pub fn print(&self, sheet: &mut Sheet) {
        let with_rate = |seconds: f64, rate: String, any: bool| match any {
            true => format!("in {}: {rate}", units::time(seconds)),
            false => String::new(),
        };
        sheet.remarked(
            "backup loaded",
            units::bytes(self.backup_bytes),
            with_rate(
                self.load_seconds,
                format!("{:.2} GB/s", self.load_bytes_per_second / 1e9),
                self.backup_bytes > 0,
            ),
        );
        sheet.remarked(
            "transactions redone",
            units::count(self.redo_transactions),
            with_rate(
                self.redo_seconds,
                units::rate(self.redo_transactions_per_second),
                self.redo_transactions > 0,
            ),
        );
        sheet.remarked(
            "log applied",
            units::bytes(self.redo_to_lsn - self.redo_from_lsn),
            format!("LSN {} to {}", self.redo_from_lsn, self.redo_to_lsn),
        );
        sheet.figure(
            "journal rows archived again",
            units::count(self.journal_rows),
        );
        sheet.figure("log's end checked in", units::time(self.end_check_seconds));
        sheet.figure("made stable in", units::time(self.stable_seconds));
        if let Some(seconds) = self.copy_seconds {
            sheet.figure("copied for the checkpointer in", units::time(seconds));
        }
        sheet.figure("database", units::bytes(self.database_bytes));
        if self.damaged_slots > 0 {
            let remark = "what a crash tore; older blocks and the log made up for it";
            sheet.remarked("torn slots", units::count(self.damaged_slots), remark);
        }
        sheet.figure("time in all", units::time(self.total_seconds));
    }
}
