//! What the logging stage did, in numbers: counters that the writers add to, and a reading of them.

use super::seal::SealedGroup;
use sardonyx_base::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counters since the database was opened. Each is right; together they are not one moment's.
#[derive(Debug, Default)]
pub(super) struct Counters {
    groups: AtomicU64,
    transactions: AtomicU64,
    payload_bytes: AtomicU64,
    disk_bytes: AtomicU64,
    write_nanoseconds: AtomicU64,
    largest_group: AtomicU64,
}

/// What the logging stage did since the database was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct LogStatistics {
    /// Groups written.
    pub groups: u64,
    /// Transactions in them.
    pub transactions: u64,
    /// Bytes of records in them.
    pub payload_bytes: u64,
    /// Bytes written to the log, headers and padding included.
    pub disk_bytes: u64,
    /// Time spent in writes, checksums included; may exceed wall time when several are in flight.
    pub write_time: Duration,
    /// The most transactions in one group.
    pub largest_group: u64,
}

impl Counters {
    /// A group was written, which took so long.
    pub fn count(&self, group: &SealedGroup, took: Duration) {
        let header = group.header();
        let add = |counter: &AtomicU64, n: u64| counter.fetch_add(n, Ordering::Relaxed);
        add(&self.groups, 1);
        add(&self.transactions, u64::from(header.transactions));
        add(&self.payload_bytes, u64::from(header.payload_bytes));
        add(&self.disk_bytes, group.bytes().len() as u64);
        add(&self.write_nanoseconds, took.as_nanos() as u64);
        self.largest_group
            .fetch_max(u64::from(header.transactions), Ordering::Relaxed);
    }

    /// The values now.
    pub fn read(&self) -> LogStatistics {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        LogStatistics {
            groups: get(&self.groups),
            transactions: get(&self.transactions),
            payload_bytes: get(&self.payload_bytes),
            disk_bytes: get(&self.disk_bytes),
            write_time: Duration::from_nanos(get(&self.write_nanoseconds)),
            largest_group: get(&self.largest_group),
        }
    }
}
