//! The distance of checkpoints, and the spread of their blocks over it.
//!
//! Both are measured in log, not in time. A checkpoint exists to bound the log that recovery must apply, and a run is
//! the same at any time (I11). While transactions come, a checkpoint is written over the first half of the interval.
//! So at any moment it takes only a part of the disk and the processors from them. When none come, or a caller waits,
//! it is written at once.
//!
//! Source: TPK paper, section 2, "Checkpointing": the thread writes "after processing about
//! 10,000 transactions".

use crate::log::LogPosition;

/// The distance between the beginnings of two checkpoints: two limits, of which the first one reached counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CheckpointInterval {
    /// Bytes of log, headers and padding included.
    pub bytes: u64,
    /// Transactions; `u64::MAX` if only bytes count.
    pub transactions: u64,
    /// True if the bytes are fewer for a small database: they were not configured.
    pub follows_size: bool,
}

/// The least bytes between two checkpoints of a small database, and a multiple of its stored bytes.
const SMALL_BYTES: u64 = 64 << 20;
const TIMES_STORED: u64 = 4;

/// The part of the interval over which a checkpoint's blocks are spread. The rest is slack: with the
/// default interval of three eighths of the log, a checkpoint that takes twice as long still ends
/// before the log is full.
const SPREAD_OVER: f64 = 0.5;

impl CheckpointInterval {
    /// The bytes between two checkpoints of a log of at most so many bytes, unless configured: three eighths, so that
    /// two checkpoints' log fits.
    pub fn usual_bytes(log_bytes: u64) -> u64 {
        log_bytes / 8 * 3
    }

    /// The interval of a database that stores so many bytes: a small one's log is not let grow to many times of it, since
    /// its checkpoints cost little.
    pub fn for_stored(self, bytes: u64) -> CheckpointInterval {
        let most = bytes.saturating_mul(TIMES_STORED).max(SMALL_BYTES);
        match self.follows_size {
            true => CheckpointInterval {
                bytes: self.bytes.min(most),
                ..self
            },
            false => self,
        }
    }

    /// The passed part of the interval, 1 being all of it.
    fn passed(&self, since: LogPosition, now: LogPosition) -> f64 {
        let share = |from: u64, to: u64, of: u64| to.saturating_sub(from) as f64 / of.max(1) as f64;
        let bytes = share(since.lsn.0, now.lsn.0, self.bytes);
        let transactions = share(since.transactions, now.transactions, self.transactions);
        bytes.max(transactions)
    }

    /// True if the next checkpoint is due, if the last one began at `since`.
    pub fn is_over(&self, since: LogPosition, now: LogPosition) -> bool {
        self.passed(since, now) >= 1.0
    }

    /// True if the next block is due, if the checkpoint began at `since` and has written so many of its blocks.
    pub fn block_is_due(
        &self,
        since: LogPosition,
        now: LogPosition,
        written: u64,
        blocks: u64,
    ) -> bool {
        let share = written as f64 / blocks.max(1) as f64;
        self.passed(since, now) >= share * SPREAD_OVER
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Lsn;

    fn at(lsn: u64, transactions: u64) -> LogPosition {
        LogPosition {
            lsn: Lsn(lsn),
            transactions,
            ..LogPosition::START
        }
    }

    const INTERVAL: CheckpointInterval = CheckpointInterval {
        bytes: 1000,
        transactions: 10,
        follows_size: false,
    };

    #[test]
    fn it_is_over_when_either_is_reached() {
        let since = at(5000, 70);
        assert!(!INTERVAL.is_over(since, at(5999, 79)));
        assert!(INTERVAL.is_over(since, at(6000, 70)));
        assert!(INTERVAL.is_over(since, at(5100, 80)));
        let bytes_only = CheckpointInterval {
            transactions: u64::MAX,
            ..INTERVAL
        };
        assert!(!bytes_only.is_over(since, at(5999, 1 << 50)));
    }

    #[test]
    fn a_small_database_has_a_short_interval_unless_one_was_chosen() {
        let usual = CheckpointInterval {
            bytes: 768 << 20,
            follows_size: true,
            ..INTERVAL
        };
        let bytes = |stored: u64| usual.for_stored(stored).bytes;
        assert_eq!((bytes(0), bytes(1 << 20)), (64 << 20, 64 << 20));
        assert_eq!(bytes(100 << 20), 400 << 20);
        assert_eq!((bytes(1 << 30), bytes(u64::MAX)), (768 << 20, 768 << 20));
        assert_eq!(INTERVAL.for_stored(0), INTERVAL);
    }

    #[test]
    fn blocks_are_spread_over_the_first_half() {
        let since = at(0, 0);
        assert!(
            INTERVAL.block_is_due(since, since, 0, 4),
            "the first at once"
        );
        assert!(!INTERVAL.block_is_due(since, at(124, 0), 1, 4));
        assert!(INTERVAL.block_is_due(since, at(125, 0), 1, 4));
        assert!(INTERVAL.block_is_due(since, at(500, 0), 4, 4), "the end");
        assert!(INTERVAL.block_is_due(since, since, 0, 0), "an empty one");
    }
}
