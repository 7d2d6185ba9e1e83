//! Counts of a lock manager, by level: locks on pages, and locks on all other objects.

use core::time::Duration;

/// Counts of one level of a [`crate::Locks`] since it was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct LevelStatistics {
    /// Requests of any outcome, for locks and for changes of bounded quantities.
    pub requests: u64,
    /// Requests that had to wait.
    pub waits: u64,
    /// The time that threads waited, together: from the request until they continued.
    pub wait_time: Duration,
    /// Deadlocks in which a subtransaction that waited at this level was ordered to restart.
    pub restarts: u64,
    /// Deadlocks in which a transaction that waited at this level was ordered to abort.
    pub aborts: u64,
}

/// Counts of a [`crate::Locks`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct LocksStatistics {
    /// Statistics of the space of pages, [`crate::PAGES`].
    pub pages: LevelStatistics,
    /// Statistics of all other spaces.
    pub objects: LevelStatistics,
}
