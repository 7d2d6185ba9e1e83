//! This process' part in a segment: the shared memory, the log below it, and the state that its sessions share.

use crate::awaiting::Awaiting;
use crate::conflicts::ConflictCounts;
use crate::error::SegmentError;
use crate::here::Here;
use crate::planted::{self, Step};
use crate::shared::region::Region;
use crate::shared::ring;
use crate::shared::stopped::StoppedCallback;
use crate::shared::versions::{self, SlowReader};
use crate::version_keeper::VersionKeeper;
use sardonyx_base::named_lock::Got;
use sardonyx_storage::recovery::RecoveryReport;
use sardonyx_storage::ticket::DurableLog;
use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

/// The interval at which a writer that waits for room looks again.
const LOOK_AGAIN: Duration = Duration::from_micros(200);

thread_local! {
    /// The states of the process whose commit locks this thread holds.
    static HOLDS: RefCell<Vec<*const ProcessState>> = const { RefCell::new(Vec::new()) };
}

/// The callback for a reader that keeps old versions from being freed.
pub type SlowReaderCallback = Arc<dyn Fn(&SlowReader) + Send + Sync>;

/// The writer of the ring of published transactions to the log, in any process. Tickets ask [`ProcessState`]
/// instead, as the [`DurableLog`] that it is.
pub(crate) trait RingLog: Send + Sync + fmt::Debug {
    /// The report of recovery, if this process did it.
    fn recovery(&self) -> Option<&RecoveryReport> {
        None
    }

    /// Returns when everything up to this position of the ring is on stable storage. If a process that is
    /// stopped keeps it from being so for too long: [`SegmentError::ProcessStopped`].
    fn wait(&self, region: &Region, position: u64) -> Result<(), SegmentError>;

    /// The result for everything up to this position: on stable storage, or the reason that it never will be
    /// known to be. Does not wait.
    fn poll(&self, region: &Region, position: u64) -> Option<Result<(), SegmentError>>;

    /// Returns when a transaction with so many bytes of records may be published: it will find room.
    fn admit(&self, region: &Region, records: usize) -> Result<(), SegmentError>;

    /// The most bytes of redo records of one transaction.
    fn transaction_bytes_max(&self) -> u64;

    /// Takes a checkpoint that has everything committed now.
    fn checkpoint(&self, region: &Region) -> Result<(), SegmentError>;
}

/// The parameters of a process' part in a segment.
#[derive(Clone)]
pub(crate) struct Policies {
    /// True if all pages are kept in memory.
    pub lock_in_memory: bool,
    /// The most bytes of redo records that a transaction of this process may have.
    pub transaction_bytes: u64,
    /// The time that a writer waits for a slow reader.
    pub slow_reader_wait: Duration,
    pub slow_reader: Option<SlowReaderCallback>,
    /// The time that a thread waits for a lock of a stopped process.
    pub stopped_process_wait: Duration,
    pub stopped_process: Option<StoppedCallback>,
}

/// This process' part in a segment. See the [module](self).
pub struct ProcessState {
    // Dropped first: its threads use the region.
    log: Option<Box<dyn RingLog>>,
    /// The shared memory.
    pub(crate) region: Arc<Region>,
    policies: Policies,
    /// Lets writers go on when a session here is slow.
    pub(crate) keeper: VersionKeeper,
    /// Waits for durability on behalf of tasks.
    awaiting: Arc<Awaiting>,
    /// The pages of its transactions' conflicts.
    pub(crate) conflicts: ConflictCounts,
    /// If it is one of those that are opened once in a process. Dropped last.
    pub(crate) here: Option<Here>,
}

impl Drop for ProcessState {
    fn drop(&mut self) {
        // In a child the lock may be held by a thread that is not there.
        if !self.region.was_forked() {
            self.awaiting.close();
        }
    }
}

impl fmt::Debug for ProcessState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessState")
            .field("region", &self.region)
            .finish_non_exhaustive()
    }
}

impl ProcessState {
    pub(crate) fn new(
        region: Arc<Region>,
        log: Option<Box<dyn RingLog>>,
        policies: Policies,
    ) -> Self {
        let told = policies.stopped_process.clone();
        region.lock_waits().set(policies.stopped_process_wait, told);
        if policies.lock_in_memory {
            region.set_locked();
        }
        ProcessState {
            log,
            keeper: VersionKeeper::new(region.clone()),
            region,
            policies,
            awaiting: Arc::default(),
            conflicts: ConflictCounts::default(),
            here: None,
        }
    }

    /// The report of recovery, if this process did it.
    pub(crate) fn recovery(&self) -> Option<&RecoveryReport> {
        self.log.as_ref()?.recovery()
    }

    pub(crate) fn awaiting(&self) -> &Arc<Awaiting> {
        &self.awaiting
    }

    /// The present result for commits up to this position: durable, or never known to be.
    fn is_durable_now(&self, position: u64) -> Option<Result<(), SegmentError>> {
        match &self.log {
            Some(log) => log.poll(&self.region, position),
            None => Some(Ok(())),
        }
    }

    /// Takes the commit lock. If that takes long, calls `waiting` again and again meanwhile.
    ///
    /// # Errors
    /// The holder is a process that is stopped; what `waiting` returns. The lock is not taken then.
    pub(crate) fn lock_commit(
        &self,
        waiting: impl FnMut() -> Result<(), SegmentError>,
    ) -> Result<(), SegmentError> {
        let this: *const ProcessState = self;
        if HOLDS.with_borrow(|holds| holds.contains(&this)) {
            return Err(SegmentError::InsideTransaction);
        }
        let lock = &self.region.control().commit;
        let got = self.region.lock_waiting(lock, "the commit lock", waiting)?;
        if got == Got::FromTheDead {
            tracing::warn!("a process died while it was committing; nothing is to be repaired");
            self.region.bury_the_dead();
        }
        HOLDS.with_borrow_mut(|holds| holds.push(this));
        planted::step(Step::CommitLocked);
        Ok(())
    }

    /// Gives the commit lock back, if this thread holds it.
    pub(crate) fn unlock_commit(&self) {
        let this: *const ProcessState = self;
        let held = HOLDS.with_borrow_mut(|holds| {
            let held = holds.iter().position(|held| *held == this);
            held.map(|held| holds.swap_remove(held)).is_some()
        });
        if !held {
            return;
        }
        planted::step(Step::BeforeUnlock);
        self.region.control().commit.unlock();
    }

    /// The most bytes of redo records of one transaction.
    pub(crate) fn transaction_bytes_max(&self) -> u64 {
        let most = self.region.spill_bytes_max();
        let most = most.min(self.policies.transaction_bytes);
        self.log
            .as_ref()
            .map_or(most, |log| most.min(log.transaction_bytes_max()))
    }

    /// Returns when a transaction with so many bytes of records probably need not wait for the log. A wait
    /// that is possible without the commit lock should not be made with it.
    pub(crate) fn wait_for_log(&self, records: usize) -> Result<(), SegmentError> {
        match &self.log {
            Some(log) => log.admit(&self.region, records),
            None => Ok(()),
        }
    }

    /// The number of times that a thread of this process had to wait for a stopped process.
    pub(crate) fn stopped_processes(&self) -> u64 {
        self.region.lock_waits().met()
    }

    /// Takes a checkpoint; returns at once if there is no log.
    pub(crate) fn checkpoint(&self) -> Result<(), SegmentError> {
        match &self.log {
            _ if self.region.was_forked() => Err(SegmentError::Forked),
            Some(log) => log.checkpoint(&self.region),
            None => Ok(()),
        }
    }

    /// True if the segment has a log.
    pub(crate) fn has_log(&self) -> bool {
        self.log.is_some()
    }

    /// True if the ring has room for a transaction's records, now or after tidying up. Waits for the log if the log is
    /// behind. The caller holds the commit lock.
    pub(crate) fn has_room(&self, records: usize) -> Result<bool, SegmentError> {
        let region = &*self.region;
        if let Some(log) = &self.log {
            log.admit(region, records)?;
        }
        while !ring::has_room(region, records)? {
            if self.log.is_none() || !self.log_lags() {
                return Ok(false);
            }
            let tail = region.control().tail.load(Ordering::SeqCst);
            if let Some(log) = &self.log {
                log.wait(region, tail)?;
            }
        }
        Ok(true)
    }

    /// Frees dead readers' versions, and reports to the program the reader that keeps most old versions.
    pub(crate) fn tell_of_slow_reader(&self, slot: usize) {
        self.region.bury_the_dead();
        if let Some(callback) = &self.policies.slow_reader
            && let Some(reader) = versions::slowest(&self.region, slot)
        {
            callback(&reader);
        }
    }

    /// Waits a moment for those whose snapshots keep the ring, and asks them to let go of it. Called
    /// again and again, with the same `waiting`, by a session that has itself let go.
    pub(crate) fn wait_for_readers(
        &self,
        waiting: &mut Option<Instant>,
        slot: usize,
    ) -> Result<(), SegmentError> {
        let Some(reader) = versions::slowest(&self.region, slot) else {
            return Ok(());
        };
        if self.region.bury_the_dead() {
            return Ok(());
        }
        let began = match *waiting {
            Some(began) => began,
            None => {
                if let Some(callback) = &self.policies.slow_reader {
                    callback(&reader);
                }
                *waiting.insert(Instant::now())
            }
        };
        versions::ask_to_copy(&self.region, slot);
        if began.elapsed() >= self.policies.slow_reader_wait {
            return Err(SegmentError::SlowReader {
                process: reader.process,
                seconds: reader.milliseconds / 1000,
            });
        }
        std::thread::sleep(LOOK_AGAIN);
        Ok(())
    }

    fn log_lags(&self) -> bool {
        let control = self.region.control();
        control.durable.load(Ordering::SeqCst) < control.folded.load(Ordering::SeqCst)
    }

    /// The reader that keeps most old versions, if one does.
    pub(crate) fn slowest_reader(&self) -> Option<SlowReader> {
        match self.region.was_forked() {
            true => None,
            false => versions::slowest(&self.region, usize::MAX),
        }
    }
}

/// A segment's log is one for all processes; its positions are bytes of the ring.
impl DurableLog for ProcessState {
    type Error = SegmentError;

    fn is_durable(&self, position: u64) -> bool {
        matches!(self.is_durable_now(position), Some(Ok(())))
    }

    /// Nothing is ever known of a position beyond all: asked for it, a log that is sound says so.
    fn check(&self) -> Result<(), SegmentError> {
        match self.is_durable_now(u64::MAX) {
            Some(Err(error)) => Err(error),
            _ => Ok(()),
        }
    }

    fn wait_durable(&self, position: u64) -> Result<(), SegmentError> {
        let waited = match &self.log {
            _ if self.region.was_forked() => Err(SegmentError::Forked),
            Some(log) => log.wait(&self.region, position),
            None => Ok(()),
        };
        waited.map_err(|error| match error {
            SegmentError::ProcessStopped {
                process,
                state,
                seconds,
                ..
            } => SegmentError::NotDurableYet {
                process,
                state,
                seconds,
            },
            error => error,
        })
    }

    fn poll_durable(
        self: &Arc<Self>,
        position: u64,
        waker: &Waker,
    ) -> Poll<Result<(), SegmentError>> {
        if let Some(outcome) = self.is_durable_now(position) {
            return Poll::Ready(outcome);
        }
        match Awaiting::ask(self, position, waker) {
            Ok(()) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}
