//! The counts of a recovery.

use crate::log::LogPosition;
use std::time::Duration;

/// The loaded part of one stripe.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StripeReport {
    /// The stripe's number.
    pub stripe: u32,
    /// The name, relative to the database's directory.
    pub file: String,
    /// Slots in the file.
    pub slots: u64,
    /// The starts of damaged slots, in bytes. One is usual after a crash during a writeout.
    pub damaged_offsets: Vec<u64>,
    /// The newest checkpoint of which there is a block; 0: none.
    pub newest_checkpoint: u64,
    /// The newest complete checkpoint; 0: none.
    pub complete_checkpoint: u64,
    /// Blocks loaded.
    pub blocks: u64,
    /// Bytes loaded.
    pub bytes: u64,
    /// From where the log must be applied to this stripe.
    pub redo_start: LogPosition,
}

/// The report of a recovery: pages loaded, transactions redone, and the time of each step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecoveryReport {
    /// The stripes of the backup.
    pub stripes: Vec<StripeReport>,
    /// The time of loading the backup.
    pub load_time: Duration,
    /// The start of the redo pass.
    pub redo_start: LogPosition,
    /// The log's end.
    pub redo_end: LogPosition,
    /// Groups redone.
    pub groups: u64,
    /// Transactions redone.
    pub transactions: u64,
    /// Writes installed.
    pub writes: u64,
    /// Bytes of records read.
    pub record_bytes: u64,
    /// Journal rows that were not yet durable in the archive and were given to it again.
    pub journal_rows: u64,
    /// The time of the redo pass, reading the log included.
    pub redo_time: Duration,
    /// The time of ensuring that nothing durable follows the log's end, by reading the bytes behind it.
    pub end_check_time: Duration,
    /// The time of making the found data stable, most of it a part of the times above; zero after a dry
    /// run.
    pub stable_time: Duration,
    /// The time of copying the database for the checkpointer; `None` if it has none here.
    pub copy_time: Option<Duration>,
    /// The size of the database in bytes.
    pub database_bytes: u64,
}

impl RecoveryReport {
    /// Blocks loaded from the backup.
    #[inline]
    pub fn blocks(&self) -> u64 {
        self.stripes.iter().map(|stripe| stripe.blocks).sum()
    }

    /// Bytes loaded from the backup.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.stripes.iter().map(|stripe| stripe.bytes).sum()
    }

    /// Bytes of backup loaded in a second; 0 if nothing was loaded.
    #[inline]
    pub fn load_bytes_per_second(&self) -> f64 {
        rate(self.bytes(), self.load_time)
    }

    /// Transactions redone in a second; 0 if none was.
    pub fn transactions_per_second(&self) -> f64 {
        rate(self.transactions, self.redo_time)
    }

    /// Loading, redo, check of the log's end, and copying.
    pub fn total_time(&self) -> Duration {
        let copy_time = self.copy_time.unwrap_or_default();
        self.load_time + self.redo_time + self.end_check_time + copy_time
    }
}

fn rate(count: u64, time: Duration) -> f64 {
    if count == 0 || time.is_zero() {
        0.0
    } else {
        count as f64 / time.as_secs_f64()
    }
}
