//! The engine's counts.

use sardonyx_base::sync::atomic::{AtomicU64, Ordering};
use sardonyx_lock::LocksStatistics;
use sardonyx_storage::checkpoint::CheckpointTotals;
use sardonyx_storage::log::statistics::LogStatistics;

/// Counters since the database was opened. Each is right; together they are not one moment's.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub committed: AtomicU64,
    pub aborted: AtomicU64,
    pub subtransactions: AtomicU64,
    pub failed: AtomicU64,
    pub restarts: AtomicU64,
    pub compensations: AtomicU64,
    pub deadlocks: AtomicU64,
    pub units: AtomicU64,
    pub forced: AtomicU64,
    pub forced_units: AtomicU64,
    pub pages_logged: AtomicU64,
    pub pages_in_forced: AtomicU64,
    pub unit_pages_max: AtomicU64,
    pub spheres_background: AtomicU64,
}

impl Counters {
    pub fn add(&self, counter: impl Fn(&Self) -> &AtomicU64, n: u64) {
        counter(self).fetch_add(n, Ordering::Relaxed);
    }

    /// A unit with changes of so many pages was appended.
    pub fn unit(&self, pages: u64, forced: bool) {
        self.add(|c| &c.units, 1);
        self.add(|c| &c.pages_logged, pages);
        if forced {
            self.add(|c| &c.forced_units, 1);
            self.add(|c| &c.pages_in_forced, pages);
        }
        self.unit_pages_max.fetch_max(pages, Ordering::Relaxed);
    }

    pub fn read(&self) -> Statistics {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Statistics {
            committed: get(&self.committed),
            aborted: get(&self.aborted),
            subtransactions: get(&self.subtransactions),
            failed: get(&self.failed),
            restarts: get(&self.restarts),
            compensations: get(&self.compensations),
            deadlocks: get(&self.deadlocks),
            units: get(&self.units),
            forced: get(&self.forced),
            forced_units: get(&self.forced_units),
            pages_logged: get(&self.pages_logged),
            pages_in_forced: get(&self.pages_in_forced),
            unit_pages_max: get(&self.unit_pages_max),
            spheres_background: get(&self.spheres_background),
            ..Statistics::default()
        }
    }
}

/// The engine's counts since the database was opened.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Statistics {
    /// Transactions committed, also those that only read.
    pub committed: u64,
    /// Transactions aborted.
    pub aborted: u64,
    /// Subtransactions completed, compensations not counted.
    pub subtransactions: u64,
    /// Subtransactions that failed by themselves and were undone alone.
    pub failed: u64,
    /// Subtransactions undone and executed again: to end a deadlock over pages, or to wait for an
    /// object without pages.
    pub restarts: u64,
    /// Compensating subtransactions completed.
    pub compensations: u64,
    /// Transactions chosen to end a deadlock.
    pub deadlocks: u64,
    /// Units appended to the log.
    pub units: u64,
    /// The number of waits for the log to be forced, at the end of a subtransaction or a
    /// transaction. These are waits, not writes: with group commit several share one write, and some
    /// writes are not waited for. The DASDBS paper's log I/Os are `groups` of [`Statistics::log`].
    pub forced: u64,
    /// The units that were waited for.
    pub forced_units: u64,
    /// Changed pages in all units together; a page counts once for each unit.
    pub pages_logged: u64,
    /// Changed pages in the units that were waited for.
    pub pages_in_forced: u64,
    /// The most changed pages in one unit.
    pub unit_pages_max: u64,
    /// Spheres written although no transaction in them ended: they, or all together, had grown too
    /// large, or the database was closed.
    pub spheres_background: u64,
    /// The spheres' bookkeeping.
    pub spheres: crate::sphere::Statistics,
    /// Locks on pages and on objects.
    pub locks: LocksStatistics,
    /// The logging stage.
    pub log: LogStatistics,
    /// The checkpointing stage.
    pub checkpoint: CheckpointTotals,
}
