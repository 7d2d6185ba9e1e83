//! The driver of a log that several processes share: the work behind it, in the one process that does it for all. It
//! prepares segments, reads the durable log from disk, gives it to the checkpoints, and serves the processes' requests
//! in the shared state.
//!
//! It takes only the durable end of the log from the memory of the processes. So it is the same for its
//! own process's transactions and for those of others, and it can be taken over. Its successor recovers
//! DB' from the backup and the log, like any opening of the database, up to the published end.
//!
//! Invariants: I2 (only the published durable log is read), I6, I10 (buffers).
//!
//! Source: TPK paper, section 2, "Checkpointing"; section 3, configuration C, where the
//! checkpointer has the log from elsewhere, too.

use super::StorageOptions;
use super::background::Background;
use super::election::SharedMemory;
use crate::checkpoint::{CheckpointError, CheckpointStage, Checkpointer};
use crate::disk::{Disk, DiskError};
use crate::log::follow::Follower;
use crate::log::pool::BufferPool;
use crate::log::seal::SealedGroup;
use crate::log::supply::{SegmentSupply, Supplied};
use crate::log::{LogError, LogPosition, LogState, Lsn};
use crate::manifest::Manifest;
use crate::recovery::{RecoveryError, RecoveryOptions, recover_until};
use crate::supervisor::{Supervisor, Threads};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The sleep of an idle preparing thread, unless it is woken.
const IDLE: Duration = Duration::from_millis(100);

/// Its sleep while the disk has no room.
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(10);

/// The reason why a driver stopped. Nothing is lost: the log is kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// The disk failed.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The log is damaged, or its disk failed.
    #[error(transparent)]
    Log(#[from] LogError),
    /// DB' cannot be recovered.
    #[error(transparent)]
    Recovery(#[from] RecoveryError),
    /// A checkpoint failed.
    #[error(transparent)]
    Checkpoint(#[from] Arc<CheckpointError>),
    /// One of its threads died.
    #[error(transparent)]
    Died(LogError),
}

impl DriverError {
    /// A thread of the driver's has died of a panic with this message.
    pub(super) fn panicked(message: String) -> DriverError {
        DriverError::Died(LogError::thread_died(&message))
    }

    /// True if it is this process's own fault, so that another one may do better. It is not if the disk failed. After
    /// a failed sync it is unknown which readable data is stable, and a successor would recover from just that (I7).
    pub(crate) fn is_local(&self) -> bool {
        match self {
            DriverError::Recovery(RecoveryError::Store(_)) | DriverError::Died(_) => true,
            DriverError::Checkpoint(error) => matches!(**error, CheckpointError::Store(_)),
            _ => false,
        }
    }

    /// True if the next step may succeed where this one failed: the disk had no room, or the system no descriptor.
    pub(super) fn may_be_tried_again(&self) -> bool {
        match self {
            DriverError::Disk(error) => error.may_be_tried_again(),
            DriverError::Log(error) => error.is_want_of_room(),
            _ => false,
        }
    }
}

/// The most bytes of log that may be left unread,
const PATIENCE_BYTES: u64 = 4 << 20;

/// and at most this part of the log's limit.
const PATIENCE_PART: u64 = 64;

/// The work behind a shared log. Its owner holds the driver's lock while using it ([`super::Election`]
/// ensures that).
#[derive(Debug)]
pub struct Driver {
    background: Background,
    pool: Arc<BufferPool>,
    /// Less than this may be left unread until there is more, or until a checkpoint is asked for.
    patience_bytes: u64,
    /// Up to where the checkpoints were given the log.
    follower: Follower,
    /// The last request for a checkpoint that is being served, and up to where it must go.
    serving: Option<(u64, LogPosition)>,
    running: Option<Running>,
    /// The death of one of them.
    died: Arc<OnceLock<LogError>>,
}

/// The threads of a driver, and the flag that ends them.
struct Running {
    threads: Threads,
    closing: Arc<AtomicBool>,
    shared: Arc<dyn SharedMemory>,
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Running").field(&self.threads).finish()
    }
}

impl Driver {
    /// Takes over: recovers DB' up to the published end of the log, which others go on writing.
    /// The caller holds the driver's lock.
    ///
    /// # Errors
    /// The errors of recovery.
    #[inline]
    pub fn take_over(
        disk: &Arc<dyn Disk>,
        manifest: &Manifest,
        options: &StorageOptions,
        state: &LogState,
    ) -> Result<Driver, DriverError> {
        let end = state.end().position;
        let recovery = RecoveryOptions {
            sparse: true,
            ..options.recovery()
        };
        let recovered = recover_until(disk, manifest, recovery, end)?;
        // The pages are those of the shared memory already.
        drop(recovered.store);
        let (checkpointers, end) = (recovered.checkpointers, recovered.end);
        let driver = Self::new(disk, manifest, options, checkpointers, end)?;
        driver
            .background
            .segments
            .believe_until(state.prepared_end());
        Ok(driver)
    }

    /// The driver of a database whose checkpointers have the log up to `end`.
    #[inline]
    pub(super) fn new(
        disk: &Arc<dyn Disk>,
        manifest: &Manifest,
        options: &StorageOptions,
        checkpointers: Vec<Checkpointer>,
        end: LogPosition,
    ) -> Result<Driver, LogError> {
        let layout = manifest.log_layout();
        let background = Background::take_over(disk, manifest, options, checkpointers, end)?;
        let log_bytes = background.segments.segments_max() * layout.segment_bytes;
        Ok(Driver {
            pool: background.pool(),
            background,
            patience_bytes: PATIENCE_BYTES.min(log_bytes / PATIENCE_PART),
            follower: Follower::new(disk.clone(), layout, end),
            serving: None,
            running: None,
            died: Arc::default(),
        })
    }

    /// Prepares so many segments, and at least one more than is being written, before the first
    /// transaction.
    pub(super) fn prepare(&self, segments: u64) -> Result<(), LogError> {
        let supply = &self.background.supply;
        supply.prepare_for_opening(self.follower.position(), segments)
    }

    /// The LSN up to which segments are prepared.
    pub fn prepared_end(&self) -> Lsn {
        self.background.segments.prepared_end()
    }

    /// Up to where the last complete checkpoint has everything.
    pub fn complete_from(&self) -> LogPosition {
        self.background.stage.complete_from()
    }

    /// Up to where the checkpointers were given the log.
    pub fn fed(&self) -> LogPosition {
        self.follower.position()
    }

    /// True if a requested checkpoint is being taken.
    pub(super) fn is_serving(&self) -> bool {
        self.serving.is_some()
    }

    /// Starts the threads: one that prepares segments, since filling a file takes long, and one for each stripe,
    /// depending on the options.
    #[inline]
    pub(super) fn start(&mut self, shared: &Arc<dyn SharedMemory>) {
        let (died, told) = (self.died.clone(), self.background.stage.clone());
        let memory = shared.clone();
        let supervisor = Supervisor::new(move |error| {
            // Nothing would make room any more: the driver stops.
            drop(died.set(error.clone()));
            told.give_up(&error);
            memory.log_state().notify();
        });
        let mut threads = Threads::new(supervisor);
        let closing = Arc::new(AtomicBool::new(false));
        let (preparing, memory, ended) = (self.preparing(), shared.clone(), closing.clone());
        threads.spawn("log-supply", move || {
            preparing.run(memory.log_state(), &ended);
        });
        self.background.start_checkpoints(&mut threads);
        self.running = Some(Running {
            threads,
            closing,
            shared: shared.clone(),
        });
    }

    fn preparing(&self) -> Preparing {
        Preparing {
            supply: self.background.supply.clone(),
            stage: self.background.stage.clone(),
        }
    }

    /// Does the waiting work: gives durable groups to the checkpointers, and serves requests for checkpoints. Without
    /// threads it also takes one step of checkpointing, and prepares a segment if there is need of one. Returns true
    /// if anything was done.
    ///
    /// # Errors
    /// The error that stopped the driver; it is unusable then.
    #[inline]
    pub fn step(&mut self, state: &LogState) -> Result<bool, DriverError> {
        // Read before the end: log that is durable at the request is in the checkpoint.
        let wanted = state.wanted();
        let durable = state.end().position;
        let asked = wanted > state.served() || self.serving.is_some();
        let behind = durable.lsn.0.saturating_sub(self.fed().lsn.0);
        // Reading new log takes the disk's time from the next write, so it is done in large pieces. Without threads no
        // later step would do the rest.
        let threads = self.background.drive().has_threads();
        let mut busy = match threads && !asked && behind < self.patience_bytes {
            true => behind > 0,
            false => self.follow(durable)?,
        };
        if !threads {
            self.background.step();
            busy |= self.preparing().step(state) == Supplied::OneMore;
            busy |= self.background.stage.is_writing();
        }
        if let Some(error) = self.died.get() {
            return Err(DriverError::Died(error.clone()));
        }
        if let Some(error) = self.background.stage.failure() {
            return Err(error.into());
        }
        self.serve(state, wanted);
        state.publish_complete_from(self.complete_from().group);
        Ok(busy | self.is_serving())
    }

    /// Gives the checkpointers the log up to the published end.
    #[inline]
    fn follow(&mut self, durable: LogPosition) -> Result<bool, LogError> {
        let before = self.fed();
        while let Some((header, bytes)) = self.follower.next_group(durable)? {
            let mut buffer = self.pool.take();
            match header.is_spanning() {
                false => buffer.extend_from_slice(bytes),
                true => buffer = self.follower.take_spanning(&header),
            }
            let group = SealedGroup::from_bytes(buffer).expect("the reader checked it");
            self.background.feed(group, &self.pool);
            self.background.step();
            if header.is_spanning() && self.background.drive().has_threads() {
                // It may be as large as memory allows: the next one is read when it is applied.
                self.pool.wait_for_all();
            }
        }
        Ok(self.fed() != before)
    }

    /// Serves all requests for checkpoints with one.
    #[inline]
    fn serve(&mut self, state: &LogState, wanted: u64) {
        if self.serving.is_none() && wanted > state.served() {
            self.serving = Some((wanted, self.fed()));
            if self.complete_from().group < self.fed().group {
                self.background.stage.want(self.fed());
            }
        }
        if let Some((request, up_to)) = self.serving
            && self.complete_from().group >= up_to.group
        {
            self.serving = None;
            state.publish_complete_from(self.complete_from().group);
            state.serve(request);
        }
    }

    /// Ends the threads; the groups that they were given are still applied.
    #[inline]
    pub(super) fn close(&mut self) {
        self.background.close();
        if let Some(mut running) = self.running.take() {
            running.closing.store(true, Ordering::SeqCst);
            running.shared.log_state().notify();
            running.threads.end(());
        }
    }
}

impl Drop for Driver {
    #[inline]
    fn drop(&mut self) {
        self.close();
    }
}

/// Prepares segments for all processes, and publishes the result.
struct Preparing {
    supply: Arc<SegmentSupply>,
    stage: Arc<CheckpointStage>,
}

impl Preparing {
    #[inline]
    fn step(&self, state: &LogState) -> Supplied {
        self.supply.advance(state.end().position);
        self.supply.wait_for(state.wanted_end());
        let did = self.supply.step(&*self.stage);
        state.publish_prepared_end(self.supply.segments().prepared_end());
        let (before, now) = (state.refusal(), self.supply.refusal());
        state.refuse(now.as_ref().map(LogError::want_of_room).as_deref());
        // Reported once: a caller that waits for room may poke us, and we would wake each other for
        // ever.
        if did == Supplied::OneMore || (before.is_none() && now.is_some()) {
            state.notify();
        }
        did
    }

    /// Keeps segments prepared. The body of a thread; to end it, notify the state, or wait.
    #[inline]
    fn run(&self, state: &LogState, ended: &AtomicBool) {
        let mut seen = state.changes();
        while !ended.load(Ordering::SeqCst) {
            match self.step(state) {
                Supplied::OneMore => {}
                Supplied::Enough => seen = state.wait(seen, IDLE),
                Supplied::Waits | Supplied::Refused => seen = state.wait(seen, TRY_AGAIN_AFTER),
            }
        }
    }
}
