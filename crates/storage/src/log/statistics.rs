//! Counts of the logging stage's work: counters that the writers add to, and a reading of them.

use super::seal::SealedGroup;
use sardonyx_base::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the classes of the times that groups took to be written, in microseconds: from the time of a drive
/// with a protected cache to that of a busy disk. The last class has none.
pub const WRITE_MICROSECONDS: [u64; 14] = [
    50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
    1_000_000,
];
/// The classes of [`WRITE_MICROSECONDS`], and the one above.
pub const WRITE_CLASSES: usize = WRITE_MICROSECONDS.len() + 1;

/// Counters since the database was opened. Each is right; together they are not one moment's.
#[derive(Debug, Default)]
pub(super) struct Counters {
    groups: AtomicU64,
    transactions: AtomicU64,
    payload_bytes: AtomicU64,
    disk_bytes: AtomicU64,
    write_nanoseconds: AtomicU64,
    last_nanoseconds: AtomicU64,
    largest_group: AtomicU64,
    write_classes: [AtomicU64; WRITE_CLASSES],
}

/// The work of the logging stage since the database was opened.
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
    /// Groups by the time of their write, checksum and sync included: in each class of [`WRITE_MICROSECONDS`], and
    /// above.
    pub write_classes: [u64; WRITE_CLASSES],
}

/// The class of [`WRITE_MICROSECONDS`] that a time belongs to: of the first bound that it does not exceed.
fn class_of(took: Duration) -> usize {
    let bound = |bound: &u64| took > Duration::from_micros(*bound);
    WRITE_MICROSECONDS.partition_point(bound)
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
        let nanoseconds = took.as_nanos() as u64;
        add(&self.write_nanoseconds, nanoseconds);
        self.last_nanoseconds.store(nanoseconds, Ordering::Relaxed);
        self.largest_group
            .fetch_max(u64::from(header.transactions), Ordering::Relaxed);
        if let Some(class) = self.write_classes.get(class_of(took)) {
            add(class, 1);
        }
    }

    /// The time that the last written group took.
    pub fn last_write(&self) -> Duration {
        Duration::from_nanos(self.last_nanoseconds.load(Ordering::Relaxed))
    }

    /// The values now.
    #[inline]
    pub fn read(&self) -> LogStatistics {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        LogStatistics {
            groups: get(&self.groups),
            transactions: get(&self.transactions),
            payload_bytes: get(&self.payload_bytes),
            disk_bytes: get(&self.disk_bytes),
            write_time: Duration::from_nanos(get(&self.write_nanoseconds)),
            largest_group: get(&self.largest_group),
            write_classes: std::array::from_fn(|class| get(&self.write_classes[class])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_in_the_first_class_that_holds_it() {
        assert_eq!(class_of(Duration::ZERO), 0);
        assert_eq!(class_of(Duration::from_micros(50)), 0);
        assert_eq!(class_of(Duration::from_nanos(50_001)), 1);
        assert_eq!(
            class_of(Duration::from_secs(1)),
            WRITE_MICROSECONDS.len() - 1
        );
        assert_eq!(
            class_of(Duration::from_nanos(1_000_000_001)),
            WRITE_CLASSES - 1
        );
    }
}
