//! The checkpointing stage: the checkpointers of all stripes, fed by the logging stage, on threads
//! of their own or, without threads, pumped by whoever commits.
//!
//! Each stripe's loop alternates between the paper's two phases at the grain of one block: it takes
//! *all* groups that wait and applies them to DB', then writes one block if a checkpoint is being
//! written, and so on. The paper's writeout phase lets the log pile up in the queue until the whole
//! copy is on disk; here the queue never holds more than what arrives during one block's write, and
//! each block says itself from where the log must be applied to it.
//!
//! A stripe that fails stops, says why in [`CheckpointStage::failure`], and lets go of its buffers.
//! Transactions go on until the log is full, since nothing can free it any more (I6); then they are
//! refused with that reason.
//!
//! Source: Li & Naughton, section 2, "Checkpointing" and "Performance" (several threads).

use super::{CheckpointError, Checkpointer, Progress, RemoteProgress};
use crate::log::feed::Feed;
use crate::log::pool::DurableGroup;
use crate::log::room::Room;
use crate::log::segment::Segments;
use crate::log::{LogPosition, Lsn};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::Waker;
use std::time::{Duration, Instant};

/// The checkpointers of a database.
#[derive(Debug)]
pub struct CheckpointStage {
    stripes: Vec<Mutex<Stripe>>,
    feeds: Vec<Arc<Feed>>,
    pub(super) segments: Arc<Segments>,
    pub(super) room: Arc<Room>,
    /// A checkpoint begins when so many bytes of log were written since the last one began.
    interval_bytes: u64,
    /// One for each stripe; a single one if the checkpoints are taken at a standby.
    pub(super) status: Mutex<Vec<Status>>,
    pub(super) changed: Condvar,
    /// Woken when a checkpoint is wanted of a standby.
    pub(super) wanted: Mutex<Option<Waker>>,
    /// Stripes that are writing a checkpoint.
    writing: AtomicUsize,
    threaded: bool,
    busy_nanoseconds: AtomicU64,
    writing_nanoseconds: AtomicU64,
}

#[derive(Debug)]
struct Stripe {
    checkpointer: Checkpointer,
    waiting: VecDeque<Arc<DurableGroup>>,
    /// Where the last checkpoint of this stripe began.
    began_at: Lsn,
    writeout_began: Option<Instant>,
}

/// What others see of a stripe.
#[derive(Debug, Clone)]
pub(super) struct Status {
    pub needed_from: LogPosition,
    /// The group up to which the last complete checkpoint has everything.
    pub complete_from: LogPosition,
    pub complete: u64,
    pub blocks: u64,
    pub bytes: u64,
    /// A checkpoint is wanted that has everything before this place.
    pub wanted: Option<LogPosition>,
    pub failure: Option<Arc<CheckpointError>>,
}

/// What the checkpointing stage did since the database was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct CheckpointTotals {
    /// Checkpoints that all stripes have completed.
    pub checkpoints: u64,
    /// Blocks written.
    pub blocks: u64,
    /// Bytes written to the backup.
    pub bytes: u64,
    /// Time from the beginning to the end of the writeouts, summed over stripes.
    pub writeout_time: Duration,
}

impl CheckpointStage {
    /// A stage of these checkpointers; `feeds` are theirs, in the same order. `threaded`:
    /// [`CheckpointStage::run`] is going to run on a thread for each.
    pub fn new(
        checkpointers: Vec<Checkpointer>,
        feeds: Vec<Arc<Feed>>,
        segments: Arc<Segments>,
        room: Arc<Room>,
        interval_bytes: u64,
        threaded: bool,
    ) -> Self {
        assert_eq!(checkpointers.len(), feeds.len(), "a feed for each stripe");
        let status = checkpointers.iter().map(Status::of).collect();
        Self::with_status(
            checkpointers,
            feeds,
            segments,
            room,
            interval_bytes,
            threaded,
            status,
        )
    }

    pub(super) fn with_status(
        checkpointers: Vec<Checkpointer>,
        feeds: Vec<Arc<Feed>>,
        segments: Arc<Segments>,
        room: Arc<Room>,
        interval_bytes: u64,
        threaded: bool,
        status: Vec<Status>,
    ) -> Self {
        let stripe = |checkpointer: Checkpointer| Stripe {
            waiting: VecDeque::new(),
            began_at: checkpointer.last_complete().redo_start.lsn,
            writeout_began: None,
            checkpointer,
        };
        CheckpointStage {
            stripes: checkpointers
                .into_iter()
                .map(|c| Mutex::new(stripe(c)))
                .collect(),
            feeds,
            segments,
            room,
            interval_bytes: interval_bytes.max(1),
            status: Mutex::new(status),
            changed: Condvar::new(),
            wanted: Mutex::new(None),
            writing: AtomicUsize::new(0),
            threaded,
            busy_nanoseconds: AtomicU64::new(0),
            writing_nanoseconds: AtomicU64::new(0),
        }
    }

    /// The number of stripes, and so of threads.
    pub fn stripes(&self) -> usize {
        self.stripes.len()
    }

    /// Works on a stripe until its feed is closed. The body of a thread.
    pub fn run(&self, stripe: usize) {
        let feed = &self.feeds[stripe];
        let mut writing = false;
        loop {
            if !writing {
                feed.wait();
            }
            let mut state = self.stripes[stripe].lock();
            let closed = feed.take(&mut state.waiting) && state.waiting.is_empty();
            match self.work(stripe, &mut state) {
                Ok(()) if closed => return,
                Ok(()) => writing = state.checkpointer.is_writing(),
                Err(()) => return,
            }
        }
    }

    /// Does what there is to do on every stripe, without waiting. For running without threads.
    pub fn pump(&self) {
        for (number, stripe) in self.stripes.iter().enumerate() {
            // Someone else is pumping it.
            let Some(mut state) = stripe.try_lock() else {
                continue;
            };
            self.feeds[number].take(&mut state.waiting);
            // A failure is kept in the status, and refuses transactions once the log is full.
            let _ = self.work(number, &mut state);
        }
    }

    /// Applies what waits, and writes one block if a checkpoint is due or being written.
    fn work(&self, number: usize, state: &mut Stripe) -> Result<(), ()> {
        let started = Instant::now();
        let outcome = self.try_work(number, state);
        self.busy_nanoseconds
            .fetch_add(started.elapsed().as_nanos() as u64, Ordering::Relaxed);
        outcome.map_err(|error| {
            tracing::error!(%error, stripe = number, "checkpointing stopped");
            state.waiting.clear();
            self.feeds[number].abandon();
            let reason = format!("nothing can be freed, because checkpointing stopped: {error}");
            self.status.lock()[number]
                .failure
                .get_or_insert(Arc::new(error));
            self.changed.notify_all();
            self.room.refuse_when_full(Some(reason.into()));
        })
    }

    fn try_work(&self, number: usize, state: &mut Stripe) -> Result<(), CheckpointError> {
        while let Some(group) = state.waiting.pop_front() {
            state.checkpointer.apply(group.header(), group.payload())?;
        }
        if !state.checkpointer.is_writing() {
            let position = state.checkpointer.position();
            let wanted = self.status.lock()[number].wanted;
            let due = position.lsn.0 - state.began_at.0 >= self.interval_bytes;
            if !due && wanted.is_none_or(|wanted| wanted.group > position.group) {
                return Ok(());
            }
            state.checkpointer.begin()?;
            state.began_at = position.lsn;
            self.writing.fetch_add(1, Ordering::Relaxed);
            state.writeout_began = Some(Instant::now());
        }
        if let Progress::Complete { .. } = state.checkpointer.write_next_block()? {
            self.writing.fetch_sub(1, Ordering::Relaxed);
            if let Some(began) = state.writeout_began.take() {
                let nanoseconds = began.elapsed().as_nanos() as u64;
                self.writing_nanoseconds
                    .fetch_add(nanoseconds, Ordering::Relaxed);
            }
            self.completed(number, &state.checkpointer);
        }
        Ok(())
    }

    /// A stripe's checkpoint is complete: the log that no stripe needs is freed (I6).
    fn completed(&self, number: usize, checkpointer: &Checkpointer) {
        let mut status = self.status.lock();
        let wanted = status[number].wanted;
        status[number] = Status::of(checkpointer);
        status[number].wanted =
            wanted.filter(|wanted| wanted.group > status[number].complete_from.group);
        let needed_from = status
            .iter()
            .map(|s| s.needed_from)
            .min()
            .expect("there is a stripe");
        drop(status);
        self.segments.free_before(needed_from.lsn);
        self.room.freed();
        self.changed.notify_all();
    }

    /// Takes a checkpoint that has everything before `position`, and waits for it. Without threads,
    /// on the caller's time.
    ///
    /// # Errors
    /// What stopped a stripe.
    pub fn take(&self, position: LogPosition) -> Result<(), Arc<CheckpointError>> {
        self.want(position);
        // At a standby there is nothing to pump here.
        let waits = self.threaded || self.stripes.is_empty();
        loop {
            if !waits {
                self.pump();
            }
            let mut status = self.status.lock();
            if let Some(error) = status.iter().find_map(|s| s.failure.clone()) {
                return Err(error);
            }
            if status.iter().all(|s| s.wanted.is_none()) {
                return Ok(());
            }
            if waits {
                self.changed.wait(&mut status);
            }
        }
    }

    /// Asks for a checkpoint that has everything before `position`, and does not wait for it.
    pub fn want(&self, position: LogPosition) {
        let at_standby = self.is_at_standby();
        let mut status = self.status.lock();
        for stripe in status.iter_mut() {
            // A standby that has it already is not asked again, and so would not answer.
            if !at_standby || stripe.complete_from.group < position.group {
                stripe.wanted = stripe.wanted.max(Some(position));
            }
        }
        drop(status);
        self.feeds.iter().for_each(|feed| feed.nudge());
        if let Some(standby) = self.wanted.lock().take() {
            standby.wake();
        }
    }

    /// Without threads: goes on with checkpoints until some segment of the log is free. Returns
    /// whether one is.
    pub fn free_some(&self) -> Result<bool, Arc<CheckpointError>> {
        let (before, _) = self.segments.count();
        if self.stripes.is_empty() {
            // Only the standby frees the log.
            return Ok(false);
        }
        let position = self.stripes[0].lock().checkpointer.position();
        self.take(position)?;
        Ok(self.segments.count().0 < before)
    }

    /// Why checkpointing stopped, if it did.
    pub fn failure(&self) -> Option<Arc<CheckpointError>> {
        self.status.lock().iter().find_map(|s| s.failure.clone())
    }

    /// From where the log is needed.
    pub fn log_needed_from(&self) -> LogPosition {
        let status = self.status.lock();
        status
            .iter()
            .map(|s| s.needed_from)
            .min()
            .unwrap_or(LogPosition::START)
    }

    /// Up to where the log is applied to every stripe's DB'. Waits while a stripe writes a block.
    pub fn applied(&self) -> LogPosition {
        let positions = self
            .stripes
            .iter()
            .map(|s| s.lock().checkpointer.position());
        positions.min().unwrap_or(LogPosition::START)
    }

    /// What a standby says of its checkpoints to the primary.
    pub fn progress(&self) -> RemoteProgress {
        let needed_from = self.applied();
        let totals = self.totals();
        let status = self.status.lock();
        let complete_from = status.iter().map(|s| s.complete_from).min();
        RemoteProgress {
            needed_from,
            complete_from: complete_from.unwrap_or(LogPosition::START),
            checkpoints: totals.checkpoints,
            blocks: totals.blocks,
            bytes: totals.bytes,
        }
    }

    /// Appends a part of a stripe's DB' to `into`: at most `bytes_max` bytes from `offset` on, none
    /// beyond its end. Returns up to where the log is applied to them.
    pub fn copy_shadow(
        &self,
        stripe: usize,
        offset: u64,
        bytes_max: usize,
        into: &mut Vec<u8>,
    ) -> LogPosition {
        let state = self.stripes[stripe].lock();
        let bytes = state.checkpointer.shadow().store().bytes();
        let from = usize::try_from(offset)
            .unwrap_or(usize::MAX)
            .min(bytes.len());
        into.extend_from_slice(&bytes[from..from.saturating_add(bytes_max).min(bytes.len())]);
        state.checkpointer.position()
    }

    /// Whether a writeout is going on.
    pub fn is_writing(&self) -> bool {
        self.writing.load(Ordering::Relaxed) > 0
    }

    /// The time spent applying and writing, summed over stripes.
    pub fn busy_time(&self) -> Duration {
        Duration::from_nanos(self.busy_nanoseconds.load(Ordering::Relaxed))
    }

    /// What was done since the database was opened.
    pub fn totals(&self) -> CheckpointTotals {
        let status = self.status.lock();
        CheckpointTotals {
            checkpoints: status.iter().map(|s| s.complete).min().unwrap_or(0),
            blocks: status.iter().map(|s| s.blocks).sum(),
            bytes: status.iter().map(|s| s.bytes).sum(),
            writeout_time: Duration::from_nanos(self.writing_nanoseconds.load(Ordering::Relaxed)),
        }
    }

    /// No more groups will come; [`CheckpointStage::run`] ends when what waits is applied.
    pub fn close(&self) {
        self.feeds.iter().for_each(|feed| feed.close());
    }
}

impl Status {
    fn of(checkpointer: &Checkpointer) -> Self {
        let statistics = checkpointer.statistics();
        Status {
            needed_from: checkpointer.log_needed_from(),
            complete_from: checkpointer.last_complete().redo_start,
            complete: statistics.checkpoints,
            blocks: statistics.blocks,
            bytes: statistics.bytes,
            wanted: None,
            failure: None,
        }
    }
}
