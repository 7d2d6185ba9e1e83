//! The experiment's interface to an engine: running a transaction until it commits, and counts.

use super::operation::{Visit, VisitError};
use crate::error::Failure;
use std::time::Duration;

/// Runs transactions, from many threads.
pub(super) trait Engine: Sync {
    /// Runs the operations one after the other as one transaction and commits it durably. After a deadlock it is
    /// restarted until it commits, or until `go_on` returns false ([`EngineFailure::GivenUp`]).
    fn transact(
        &self,
        operations: &[Visit<'_>],
        go_on: &dyn Fn() -> bool,
    ) -> Result<(), EngineFailure>;

    /// The counts so far.
    fn counters(&self) -> Counters;
}

/// The reason why a transaction did not commit.
#[derive(Debug, thiserror::Error)]
pub(super) enum EngineFailure {
    /// An operation failed by itself.
    #[error(transparent)]
    Visit(#[from] VisitError),
    #[error(transparent)]
    Engine(#[from] Failure),
    /// It ended in a deadlock and was not restarted: it has no effect.
    #[error("the transaction ended in a deadlock, and the run is over")]
    GivenUp,
}

/// Counts that only grow. Those of a part of a run are a difference.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Counters {
    /// Locks on pages (L0).
    pub pages: LockCounters,
    /// Locks on subobjects (L1).
    pub objects: LockCounters,
    /// Subtransactions undone and executed again.
    pub restarts: u64,
    /// Transactions undone to end a deadlock.
    pub deadlocks: u64,
    /// The number of waits for the log to be on stable storage.
    pub forces: u64,
    /// Writes of the log: one may serve several forces.
    pub log_writes: u64,
    /// Bytes that they wrote.
    pub log_bytes: u64,
    /// Changed pages in units, counted once for each unit.
    pub pages_logged: u64,
    /// Sets of pages written atomically: for S2/PS, the persistence spheres of a transaction.
    pub units: u64,
    /// The most pages of a unit since the database was opened: not a difference.
    pub unit_pages_max: u64,
}

/// Counts of the locks of one level.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct LockCounters {
    pub requests: u64,
    /// Requests that had to wait.
    pub waits: u64,
    /// The total time of these waits.
    pub wait_time: Duration,
}

impl Counters {
    pub fn since(&self, before: &Counters) -> Counters {
        Counters {
            pages: self.pages.since(&before.pages),
            objects: self.objects.since(&before.objects),
            restarts: self.restarts.saturating_sub(before.restarts),
            deadlocks: self.deadlocks.saturating_sub(before.deadlocks),
            forces: self.forces.saturating_sub(before.forces),
            log_writes: self.log_writes.saturating_sub(before.log_writes),
            log_bytes: self.log_bytes.saturating_sub(before.log_bytes),
            pages_logged: self.pages_logged.saturating_sub(before.pages_logged),
            units: self.units.saturating_sub(before.units),
            unit_pages_max: self.unit_pages_max,
        }
    }
}

impl LockCounters {
    fn since(&self, before: &LockCounters) -> LockCounters {
        LockCounters {
            requests: self.requests.saturating_sub(before.requests),
            waits: self.waits.saturating_sub(before.waits),
            wait_time: self.wait_time.saturating_sub(before.wait_time),
        }
    }
}
