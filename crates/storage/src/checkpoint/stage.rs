//! The checkpointing stage: the checkpointers of all stripes, fed by the logging stage, on threads
//! of their own or, without threads, pumped by whoever commits.
//!
//! Each stripe's loop alternates between the paper's two phases at the grain of one block: it takes
//! *all* groups that wait and applies them to DB', then writes one block if a checkpoint is being
//! written, and so on. The paper's writeout phase lets the log pile up in the queue until the whole
//! copy is on disk; here the queue never holds more than what arrives during one block's write, and
//! each block says itself from where the log must be applied to it.
//!
//! A stripe that finds no room on the disk, and has left nothing half done, tries the same step again
//! until there is some, and says so meanwhile in [`CheckpointStage::waiting`]. It goes on applying
//! groups. One that fails in any other way stops, says why in [`CheckpointStage::failure`], and lets
//! go of its buffers. Either way transactions go on until the log is full, since nothing frees it
//! (I6); then they are refused with that reason.
//!
//! Source: Li & Naughton, section 2, "Checkpointing" and "Performance" (several threads).

use super::interval::CheckpointInterval;
use super::{CheckpointError, Checkpointer, Progress, RemoteProgress};
use crate::log::feed::Feed;
use crate::log::pool::DurableGroup;
use crate::log::segment::Segments;
use crate::log::supply::{FreesLog, SegmentSupply};
use crate::log::{LogError, LogPosition};
use sardonyx_base::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use sardonyx_base::sync::{Condvar, Mutex};
use sardonyx_base::user_code::{message_of, wake};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

/// How long a stripe with a thread of its own waits before it tries again what found no room. A
/// failed attempt is a few system calls; nobody notices a fifth of a second more after a full disk.
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(200);

/// The checkpointers of a database.
#[derive(Debug)]
pub struct CheckpointStage {
    stripes: Vec<Mutex<Stripe>>,
    feeds: Vec<Arc<Feed>>,
    pub(super) segments: Arc<Segments>,
    pub(super) room: Arc<SegmentSupply>,
    interval: CheckpointInterval,
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
    began_at: LogPosition,
    writeout_began: Option<Instant>,
    /// The last attempt to write found no room; the next one is due then.
    try_again_at: Option<Instant>,
}

/// What a stripe's thread does next.
enum Next {
    /// Sleep until groups come or a checkpoint is wanted.
    Sleep,
    /// A checkpoint is being written; its next block is due only after more log.
    Pause,
    /// Its next block is due.
    GoOn,
    /// The disk had no room; it is tried again then.
    TryAgainAt(Instant),
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
    /// It waits for room on the disk.
    pub waiting: Option<Waiting>,
    /// Attempts to write that found no room.
    pub attempts_failed: u64,
    /// Somebody wants it to be tried again at once.
    pub try_now: bool,
}

/// That a checkpoint waits for room on the disk; it goes on by itself when there is some.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// Since when.
    pub since: Instant,
    /// What the last attempt found.
    pub cause: Arc<CheckpointError>,
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
    /// For how long a checkpoint has been waiting for room on the disk: while it does, no log is
    /// freed. [`CheckpointStage::waiting`] says why.
    pub waiting_for_room: Option<Duration>,
    /// Whether checkpointing stopped for good: [`CheckpointStage::failure`] says why.
    pub stopped: bool,
}

impl CheckpointStage {
    /// A stage of these checkpointers; `feeds` are theirs, in the same order. `threaded`:
    /// [`CheckpointStage::run`] is going to run on a thread for each.
    pub fn new(
        checkpointers: Vec<Checkpointer>,
        feeds: Vec<Arc<Feed>>,
        segments: Arc<Segments>,
        room: Arc<SegmentSupply>,
        interval: CheckpointInterval,
        threaded: bool,
    ) -> Self {
        assert_eq!(checkpointers.len(), feeds.len(), "a feed for each stripe");
        let status = checkpointers.iter().map(Status::of).collect();
        Self::with_status(
            checkpointers,
            feeds,
            segments,
            room,
            interval,
            threaded,
            status,
        )
    }

    pub(super) fn with_status(
        checkpointers: Vec<Checkpointer>,
        feeds: Vec<Arc<Feed>>,
        segments: Arc<Segments>,
        room: Arc<SegmentSupply>,
        interval: CheckpointInterval,
        threaded: bool,
        status: Vec<Status>,
    ) -> Self {
        let stripe = |checkpointer: Checkpointer| Stripe {
            waiting: VecDeque::new(),
            began_at: checkpointer.last_complete().redo_start,
            writeout_began: None,
            try_again_at: None,
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
            interval,
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
        let mut next = Next::Sleep;
        loop {
            let quiet = match next {
                Next::Sleep => {
                    feed.wait();
                    false
                }
                // Nothing came: there is time for a block.
                Next::Pause => !feed.pause(),
                Next::GoOn => false,
                Next::TryAgainAt(at) => {
                    feed.wait_until(at);
                    true
                }
            };
            let mut state = self.stripes[stripe].lock();
            let closed = feed.take(&mut state.waiting) && state.waiting.is_empty();
            match self.work(stripe, &mut state, quiet) {
                Ok(()) if closed => return,
                Ok(()) => next = self.next(stripe, &state),
                Err(()) => return,
            }
        }
    }

    /// Does what there is to do on every stripe, without waiting. For running without threads.
    pub fn pump(&self) {
        if !self.segments.process().is_current() {
            return;
        }
        for (number, stripe) in self.stripes.iter().enumerate() {
            // Someone else is pumping it.
            let Some(mut state) = stripe.try_lock() else {
                continue;
            };
            self.feeds[number].take(&mut state.waiting);
            // A failure is kept in the status, and refuses transactions once the log is full.
            let _ = self.work(number, &mut state, true);
        }
    }

    /// Applies what waits, and writes one block if a checkpoint is due or being written. `quiet`:
    /// also one that is not due yet.
    fn work(&self, number: usize, state: &mut Stripe, quiet: bool) -> Result<(), ()> {
        let started = Instant::now();
        // On a client's thread, too, where there are none of our own.
        let outcome = catch_unwind(AssertUnwindSafe(|| self.try_work(number, state, quiet)));
        let outcome = outcome.unwrap_or_else(|payload| {
            #[cfg(test)]
            let payload = crate::shared::unless_killed(payload);
            Err(state.checkpointer.panicked(&message_of(payload)))
        });
        self.busy_nanoseconds
            .fetch_add(started.elapsed().as_nanos() as u64, Ordering::Relaxed);
        match outcome {
            Err(error) if error.may_be_tried_again() => {
                self.found_no_room(number, state, error);
                Ok(())
            }
            Err(error) => {
                tracing::error!(%error, stripe = number, "checkpointing stopped");
                state.waiting.clear();
                self.feeds[number].abandon();
                self.status.lock()[number]
                    .failure
                    .get_or_insert(Arc::new(error));
                self.tell_who_needs_room();
                Err(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// A step found no room; nothing is half done.
    #[cold]
    fn found_no_room(&self, number: usize, state: &mut Stripe, error: CheckpointError) {
        state.try_again_at = Some(Instant::now() + TRY_AGAIN_AFTER);
        let mut status = self.status.lock();
        let status_of_mine = &mut status[number];
        status_of_mine.attempts_failed += 1;
        let before = status_of_mine.waiting.take();
        if before.is_none() {
            tracing::warn!(%error, stripe = number, "the checkpoint waits for room on the disk");
        }
        status_of_mine.waiting = Some(Waiting {
            since: before.map_or_else(Instant::now, |before| before.since),
            cause: Arc::new(error),
        });
        drop(status);
        self.tell_who_needs_room();
    }

    /// A step that had found no room has been done.
    #[cold]
    fn found_room(&self, number: usize, state: &mut Stripe) {
        state.try_again_at = None;
        if let Some(waited) = self.status.lock()[number].waiting.take() {
            let waited = waited.since.elapsed();
            tracing::info!(?waited, stripe = number, "the checkpoint goes on");
        }
        self.tell_who_needs_room();
    }

    /// Whether and why nothing is freed has changed, for those who wait for the log or for a checkpoint.
    fn tell_who_needs_room(&self) {
        self.changed.notify_all();
        self.room.look_again();
    }

    /// Whether what found no room is not to be tried again yet.
    fn is_patient(&self, number: usize, state: &Stripe) -> bool {
        let Some(at) = state.try_again_at else {
            return false;
        };
        let try_now = std::mem::take(&mut self.status.lock()[number].try_now);
        // Without a thread every call is an attempt.
        self.threaded && !try_now && Instant::now() < at
    }

    fn try_work(
        &self,
        number: usize,
        state: &mut Stripe,
        quiet: bool,
    ) -> Result<(), CheckpointError> {
        while let Some(group) = state.waiting.pop_front() {
            state.checkpointer.apply(group.header(), group.payload())?;
            if state.try_again_at.is_none()
                && let Err(error) = state.checkpointer.write_archive()
            {
                if !error.may_be_tried_again() {
                    return Err(error);
                }
                // The others are applied all the same: writers wait for their buffers.
                self.found_no_room(number, state, error);
            }
        }
        if self.is_patient(number, state) {
            return Ok(());
        }
        let tries_again = state.try_again_at.is_some();
        if tries_again {
            state.checkpointer.write_archive()?;
        }
        if !state.checkpointer.is_writing() {
            if tries_again {
                self.found_room(number, state);
            }
            if !self.checkpoint_is_due(number, state) {
                return Ok(());
            }
            state.checkpointer.begin()?;
            state.began_at = state.checkpointer.position();
            self.writing.fetch_add(1, Ordering::Relaxed);
            state.writeout_began = Some(Instant::now());
        }
        if !quiet && !tries_again && !self.block_is_due(number, state) {
            return Ok(());
        }
        let progress = state.checkpointer.write_next_block()?;
        if state.try_again_at.is_some() {
            self.found_room(number, state);
        }
        if let Progress::Complete { .. } = progress {
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

    /// What a stripe's thread does after its work. What was asked for meanwhile nudges the feed.
    fn next(&self, number: usize, state: &Stripe) -> Next {
        if let Some(at) = state.try_again_at {
            return Next::TryAgainAt(at);
        }
        let writing = state.checkpointer.is_writing();
        let due = match writing {
            true => self.block_is_due(number, state),
            // One may have been asked for that the one just completed does not serve.
            false => self.checkpoint_is_due(number, state),
        };
        match (due, writing) {
            (true, _) => Next::GoOn,
            (false, true) => Next::Pause,
            (false, false) => Next::Sleep,
        }
    }

    /// Whether a checkpoint is due: by the interval, or because one is wanted that has everything
    /// before a place which DB' has reached.
    fn checkpoint_is_due(&self, number: usize, state: &Stripe) -> bool {
        let position = state.checkpointer.position();
        let wanted = self.status.lock()[number].wanted;
        self.interval.is_over(state.began_at, position)
            || wanted.is_some_and(|wanted| wanted.group <= position.group)
    }

    /// Whether the next block of the checkpoint being written is due: by the interval's measure, or
    /// because someone waits for the checkpoint.
    fn block_is_due(&self, number: usize, state: &Stripe) -> bool {
        let (written, blocks) = state.checkpointer.written();
        let now = state.checkpointer.position();
        self.interval
            .block_is_due(state.began_at, now, written, blocks)
            || self.status.lock()[number].wanted.is_some()
    }

    /// A stripe's checkpoint is complete: the log that no stripe needs is freed (I6).
    fn completed(&self, number: usize, checkpointer: &Checkpointer) {
        let mut status = self.status.lock();
        let before = status[number].clone();
        let of_now = Status::of(checkpointer);
        status[number] = Status {
            wanted: before
                .wanted
                .filter(|wanted| wanted.group > of_now.complete_from.group),
            attempts_failed: before.attempts_failed,
            ..of_now
        };
        let needed_from = status.iter().map(|s| s.needed_from).min();
        let needed_from = needed_from.expect("there is a stripe");
        let complete_from = status.iter().map(|s| s.complete_from).min();
        drop(status);
        self.segments.free_before(needed_from.lsn);
        self.room.freed(complete_from.expect("there is a stripe"));
        self.changed.notify_all();
    }

    /// Asks for a checkpoint that has everything before `position`, as soon as that is durable.
    pub fn want(&self, position: LogPosition) {
        let at_standby = self.is_at_standby();
        let mut status = self.status.lock();
        for stripe in status.iter_mut() {
            // A standby that has it already is not asked again, and so would not answer.
            if !at_standby || stripe.complete_from.group < position.group {
                stripe.wanted = stripe.wanted.max(Some(position));
                stripe.try_now = true;
            }
        }
        drop(status);
        self.feeds.iter().for_each(|feed| feed.nudge());
        if let Some(standby) = self.wanted.lock().take() {
            wake(standby);
        }
    }

    /// Where the checkpoint began that a stripe is writing, if it is writing one.
    pub(super) fn writing_from(&self, stripe: usize) -> Option<LogPosition> {
        let state = self.stripes[stripe].lock();
        state.checkpointer.is_writing().then_some(state.began_at)
    }

    /// Asks one stripe for a checkpoint that has everything before `position`.
    pub(super) fn want_of(&self, stripe: usize, position: LogPosition) {
        {
            let status = &mut self.status.lock()[stripe];
            status.wanted = status.wanted.max(Some(position));
        }
        self.feeds[stripe].nudge();
    }

    /// Whether nothing more comes of what is wanted: it is there, or there is no room for it, or
    /// checkpointing stopped.
    pub(super) fn is_settled(&self) -> bool {
        self.status.lock().iter().all(Status::is_settled)
    }

    /// Waits until a checkpoint is complete, or waits for room, or stopped; or until that time.
    pub(super) fn wait_for_change(&self, until: Option<Instant>) {
        let mut status = self.status.lock();
        if status.iter().all(Status::is_settled) {
            return;
        }
        match until {
            Some(until) => {
                self.changed.wait_until(&mut status, until);
            }
            None => self.changed.wait(&mut status),
        }
    }

    /// Whether stripes have threads of their own.
    pub(super) fn is_threaded(&self) -> bool {
        self.threaded
    }

    /// How far apart checkpoints are.
    pub(super) fn interval(&self) -> CheckpointInterval {
        self.interval
    }

    /// Takes a checkpoint that has everything before `position`, and waits for it. Without threads,
    /// on the caller's time.
    ///
    /// # Errors
    /// What stopped a stripe; [`CheckpointError::Waiting`] if the disk has no room for it: then it is
    /// taken as soon as there is some.
    pub fn take(&self, position: LogPosition) -> Result<(), Arc<CheckpointError>> {
        self.check_process()?;
        let failed = |status: &Status| status.attempts_failed;
        let before: Vec<u64> = self.status.lock().iter().map(failed).collect();
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
            let mut tried = status.iter().zip(&before);
            let found_no_room = tried.find_map(|(status, &before)| match &status.waiting {
                Some(waiting) if status.attempts_failed > before => Some(waiting.cause.clone()),
                _ => None,
            });
            if let Some(cause) = found_no_room {
                return Err(Arc::new(CheckpointError::Waiting { cause }));
            }
            if waits {
                self.changed.wait(&mut status);
            }
        }
    }

    /// Without threads: does what there is to do on every stripe, also where another client is at it, and
    /// for which the caller waits.
    pub fn work_off(&self) {
        if self.check_process().is_err() {
            return;
        }
        for (number, stripe) in self.stripes.iter().enumerate() {
            let mut state = stripe.lock();
            self.feeds[number].take(&mut state.waiting);
            // A failure is kept in the status, and refuses transactions once the log is full.
            let _ = self.work(number, &mut state, true);
        }
    }

    /// A thread of the engine died: whoever waits for a checkpoint is told, since it may never come.
    pub fn give_up(&self, reason: &LogError) {
        if self.check_process().is_err() {
            return;
        }
        let error = Arc::new(CheckpointError::Poisoned {
            cause: reason.to_string(),
        });
        for status in self.status.lock().iter_mut() {
            status.failure.get_or_insert(error.clone());
        }
        self.changed.notify_all();
    }

    /// Before any lock is taken: a forked child has locks that are never given back.
    fn check_process(&self) -> Result<(), Arc<CheckpointError>> {
        let check = self.segments.process().check();
        check.map_err(|forked| Arc::new(forked.into()))
    }

    /// Why checkpointing stopped, if it did.
    pub fn failure(&self) -> Option<Arc<CheckpointError>> {
        self.status.lock().iter().find_map(|s| s.failure.clone())
    }

    /// Whether a checkpoint waits for room on the disk, and since when: the stripe that has waited
    /// longest. It goes on by itself.
    pub fn waiting(&self) -> Option<Waiting> {
        let status = self.status.lock();
        let waiting = status.iter().filter_map(|status| status.waiting.clone());
        waiting.min_by_key(|waiting| waiting.since)
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

    /// Up to where every stripe's last complete checkpoint has everything.
    pub fn complete_from(&self) -> LogPosition {
        let status = self.status.lock();
        let complete_from = status.iter().map(|s| s.complete_from).min();
        complete_from.unwrap_or(LogPosition::START)
    }

    /// Bytes of DB', the checkpointers' own copy of the pages; 0 if that is at a standby.
    pub fn copy_bytes(&self) -> u64 {
        let bytes = |stripe: &Mutex<Stripe>| {
            let stripe = stripe.lock();
            stripe.checkpointer.shadow().store().bytes().len() as u64
        };
        self.stripes.iter().map(bytes).sum()
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
        let complete_from = self.complete_from();
        let totals = self.totals();
        RemoteProgress {
            needed_from,
            complete_from,
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
            waiting_for_room: status
                .iter()
                .filter_map(|s| s.waiting.as_ref())
                .map(|waiting| waiting.since.elapsed())
                .max(),
            stopped: status.iter().any(|s| s.failure.is_some()),
        }
    }

    /// No more groups will come; [`CheckpointStage::run`] ends when what waits is applied.
    pub fn close(&self) {
        self.feeds.iter().for_each(|feed| feed.close());
    }
}

impl FreesLog for CheckpointStage {
    fn want(&self, position: LogPosition) -> bool {
        if self.check_process().is_err() {
            return false;
        }
        CheckpointStage::want(self, position);
        // One that is there already was told of.
        let status = self.status.lock();
        status.iter().any(|status| status.wanted.is_some())
    }

    fn obstacle(&self) -> Option<Arc<str>> {
        let status = self.status.lock();
        let failed = status.iter().find_map(|status| status.failure.as_ref());
        let waits = status.iter().find_map(|status| status.waiting.as_ref());
        let reason = match (failed.map(|error| &**error), waits) {
            (Some(CheckpointError::StandbyAway { reason }), _) => format!(
                "only the standby can free it, and that is away: {reason}; transactions go on when it \
                 is back"
            ),
            (Some(error), _) => {
                format!("nothing can be freed, because checkpointing stopped: {error}")
            }
            // What to do comes first: the text may be cut off.
            (None, Some(Waiting { cause, .. })) => {
                format!("free disk space and try again (the checkpoint waits: {cause})")
            }
            (None, None) => return None,
        };
        Some(reason.into())
    }
}

impl Status {
    fn is_settled(&self) -> bool {
        self.wanted.is_none() || self.failure.is_some() || self.waiting.is_some()
    }

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
            waiting: None,
            attempts_failed: 0,
            try_now: false,
        }
    }
}
