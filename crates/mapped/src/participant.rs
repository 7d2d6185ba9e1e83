//! This process' part in a segment: the shared memory, the log below it, and what is held in common
//! by its sessions.

use crate::error::SegmentError;
use crate::planted::{self, Step};
use crate::shared::region::Region;
use crate::shared::ring;
use crate::shared::robust::Got;
use crate::shared::versions::{self, SlowReader};
use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What a transaction's records may take of the ring, at most: so that there is always room for one
/// while another is being logged.
const RING_PART: u64 = 4;

/// How often a writer that waits for room looks again.
const LOOK_AGAIN: Duration = Duration::from_micros(200);

thread_local! {
    /// The participant whose commit lock this thread holds; null if none.
    static HOLDS: Cell<*const Participant> = const { Cell::new(std::ptr::null()) };
}

/// What is told when a reader keeps old versions from being freed.
pub type SlowReaderCallback = Arc<dyn Fn(&SlowReader) + Send + Sync>;

/// What makes published transactions durable.
pub(crate) trait DurableLog: Send + Sync + fmt::Debug {
    /// Returns when everything up to this position of the ring is on stable storage.
    fn wait(&self, region: &Region, position: u64) -> Result<(), SegmentError>;

    /// The most bytes of redo records of one transaction.
    fn transaction_bytes_max(&self) -> u64;
}

/// What a participant is made with.
#[derive(Clone)]
pub(crate) struct Policies {
    /// How long a writer waits for a slow reader.
    pub slow_reader_wait: Duration,
    /// Who is told of one.
    pub slow_reader: Option<SlowReaderCallback>,
}

/// This process' part in a segment. See the [module](self).
pub struct Participant {
    // Dropped first: its threads use the region.
    log: Option<Box<dyn DurableLog>>,
    /// The shared memory.
    pub(crate) region: Arc<Region>,
    policies: Policies,
    /// Times that a writer had to wait for a reader.
    waits_for_readers: AtomicU64,
}

impl fmt::Debug for Participant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Participant")
            .field("region", &self.region)
            .finish_non_exhaustive()
    }
}

impl Participant {
    pub(crate) fn new(
        region: Arc<Region>,
        log: Option<Box<dyn DurableLog>>,
        policies: Policies,
    ) -> Self {
        Participant {
            log,
            region,
            policies,
            waits_for_readers: AtomicU64::new(0),
        }
    }

    /// Takes the commit lock.
    pub(crate) fn lock_commit(&self) -> Result<(), SegmentError> {
        if HOLDS.get() == std::ptr::from_ref(self) {
            return Err(SegmentError::InsideTransaction);
        }
        if self.region.control().commit.lock() == Got::FromTheDead {
            tracing::warn!("a process died while it was committing; nothing is to be repaired");
            self.region.bury_the_dead();
        }
        HOLDS.set(self);
        planted::step(Step::CommitLocked);
        Ok(())
    }

    /// Gives the commit lock back.
    pub(crate) fn unlock_commit(&self) {
        planted::step(Step::BeforeUnlock);
        HOLDS.set(std::ptr::null());
        self.region.control().commit.unlock();
    }

    /// The most bytes of redo records of one transaction.
    pub(crate) fn transaction_bytes_max(&self) -> u64 {
        let ring = self.region.ring_bytes() / RING_PART;
        self.log
            .as_ref()
            .map_or(ring, |log| ring.min(log.transaction_bytes_max()))
    }

    /// Returns when what was committed up to this position is durable.
    pub(crate) fn wait_durable(&self, position: u64) -> Result<(), SegmentError> {
        match &self.log {
            Some(log) => log.wait(&self.region, position),
            None => Ok(()),
        }
    }

    /// Whether there is a log.
    pub(crate) fn is_durable(&self) -> bool {
        self.log.is_some()
    }

    /// Returns when there is room for a transaction's records; the caller holds the commit lock, and
    /// `slot` is its session's.
    pub(crate) fn make_room(&self, records: usize, slot: usize) -> Result<(), SegmentError> {
        let region = &*self.region;
        if ring::has_room(region, records) {
            return Ok(());
        }
        let began = Instant::now();
        let mut told = false;
        loop {
            ring::fold(region);
            ring::reclaim(region);
            if ring::has_room(region, records) {
                return Ok(());
            }
            if self.log.is_some() && self.log_lags() {
                let tail = region.control().tail.load(Ordering::SeqCst);
                self.wait_durable(tail)?;
                continue;
            }
            let Some(reader) = versions::slowest(region, slot) else {
                // Nobody else: this transaction's own snapshot is what keeps the ring.
                return Err(SegmentError::Conflict { page: 0 });
            };
            if region.bury_the_dead() {
                continue;
            }
            if !told {
                told = true;
                self.waits_for_readers.fetch_add(1, Ordering::Relaxed);
                if let Some(callback) = &self.policies.slow_reader {
                    callback(&reader);
                }
            }
            if began.elapsed() >= self.policies.slow_reader_wait {
                return Err(SegmentError::SlowReader {
                    process: reader.process,
                    seconds: reader.milliseconds / 1000,
                });
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    fn log_lags(&self) -> bool {
        let control = self.region.control();
        control.durable.load(Ordering::SeqCst) < control.folded.load(Ordering::SeqCst)
    }

    /// The reader that keeps most old versions, if one does.
    pub(crate) fn slowest_reader(&self) -> Option<SlowReader> {
        versions::slowest(&self.region, usize::MAX)
    }
}
