//! The checkpointing stage: the checkpointers of all stripes, fed by the logging stage. They run on threads of their
//! own or, without threads, pumped by committing callers.
//!
//! Each stripe's loop alternates between the TPK paper's two phases at the grain of one block. It takes *all* waiting
//! groups and applies them to DB', then writes one block if a checkpoint is being written, and so on. The TPK paper's
//! writeout phase lets the log accumulate in the queue until the whole copy is on disk. Here the queue never holds
//! more than the groups of one block's write. Each block has its own position from which the log must be applied to
//! it.
//!
//! A stripe that finds no room on the disk, and has left nothing half done, tries the same step again until there is
//! some. It shows that meanwhile in [`CheckpointStage::waiting`]. It goes on applying groups. A stripe that fails in
//! any other way stops, gives the reason in [`CheckpointStage::failure`], and releases its buffers. Either way
//! transactions go on until the log is full, since nothing frees it (I6); then they are refused with that reason.
//!
//! Without DB', a stripe follows the groups, and copies each block from frozen pages before it writes it ([`source`](super::source)).
//! It never waits long for the pen, since threads that have the pen may wait for the buffers of the groups.
//!
//! Source: TPK paper, section 2, "Checkpointing" and "Performance" (several threads).

mod live;

pub(crate) use live::Lent;

use super::interval::CheckpointInterval;
use super::ledger::{CheckpointTotals, Entry, Ledger, RecordsStore, Waiting};
use super::source::Freezer;
use super::{CheckpointError, Checkpointer, Progress};
use crate::disk::DiskError;
use crate::drive::Drive;
use crate::log::follow::Feed;
use crate::log::pool::DurableGroup;
use crate::log::supply::{FreesLog, SegmentSupply};
use crate::log::{LogError, LogPosition};
use sardonyx_base::events;
use sardonyx_base::sync::Mutex;
use sardonyx_base::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use sardonyx_base::user_code::message_of;
use sardonyx_base::waiting::let_others_run;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// The pause of a stripe with a thread of its own before it tries again after it found no room. A failed attempt is a
/// few system calls. After a full disk, a fifth of a second more does not matter.
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(200);

/// The checkpointers of a database.
#[derive(Debug)]
pub struct CheckpointStage {
    /// Empty if the checkpoints are left to followers.
    stripes: Vec<Mutex<Stripe>>,
    feeds: Vec<Arc<Feed>>,
    interval: CheckpointInterval,
    ledger: Arc<Ledger>,
    /// If there is no DB'.
    freezer: Option<Freezer>,
    /// Stripes that are writing a checkpoint.
    writing: AtomicUsize,
    drive: Drive,
    busy_nanoseconds: AtomicU64,
    writing_nanoseconds: AtomicU64,
}

#[derive(Debug)]
struct Stripe {
    checkpointer: Checkpointer,
    waiting: VecDeque<Arc<DurableGroup>>,
    /// The beginning of the last checkpoint of this stripe.
    began_at: LogPosition,
    writeout_began: Option<Instant>,
    /// The last attempt to write found no room; the next one is due then.
    try_again_at: Option<Instant>,
    /// Without DB': the pages were not to be had at the last attempt, and are tried again after a pause.
    put_off: bool,
}

/// The next act of a stripe's thread.
enum Next {
    /// Sleep until groups come or a checkpoint is wanted.
    Sleep,
    /// A checkpoint is being written; its next block is due only after more log, or cannot be copied yet.
    Pause,
    /// Its next block is due.
    GoOn,
    /// The disk had no room; it is tried again then.
    TryAgainAt(Instant),
}

impl CheckpointStage {
    /// A stage of these checkpointers; `feeds` are theirs, in the same order. With threads,
    /// [`CheckpointStage::run`] is going to run on one for each.
    pub fn new(
        checkpointers: Vec<Checkpointer>,
        feeds: Vec<Arc<Feed>>,
        supply: Arc<SegmentSupply>,
        interval: CheckpointInterval,
        drive: Drive,
    ) -> Self {
        assert_eq!(checkpointers.len(), feeds.len(), "a feed for each stripe");
        let ledger = Ledger::of_stripes(checkpointers.iter().map(Entry::of).collect(), supply);
        Self::with_ledger(ledger, checkpointers, feeds, interval, drive)
    }

    /// The stage of a database whose checkpoints are left to followers of its log in a store. Nothing runs here; the
    /// log is needed from `needed_from` until the store has it ([`CheckpointStage::store_has`]).
    pub fn left_to_followers(needed_from: LogPosition, supply: Arc<SegmentSupply>) -> Self {
        let ledger = Ledger::of_store(needed_from, supply);
        // There is nothing to begin here.
        let never = CheckpointInterval {
            bytes: u64::MAX,
            transactions: u64::MAX,
            follows_size: false,
        };
        Self::with_ledger(ledger, Vec::new(), Vec::new(), never, Drive::Threads)
    }

    fn with_ledger(
        ledger: Ledger,
        checkpointers: Vec<Checkpointer>,
        feeds: Vec<Arc<Feed>>,
        interval: CheckpointInterval,
        drive: Drive,
    ) -> Self {
        let stripe = |checkpointer: Checkpointer| Stripe {
            waiting: VecDeque::new(),
            began_at: checkpointer.last_complete().redo_start,
            writeout_began: None,
            try_again_at: None,
            put_off: false,
            checkpointer,
        };
        let reads_snapshots = checkpointers.iter().any(|c| c.shadow().is_none());
        CheckpointStage {
            freezer: reads_snapshots.then(Freezer::default),
            stripes: checkpointers
                .into_iter()
                .map(|c| Mutex::new(stripe(c)))
                .collect(),
            feeds,
            interval,
            ledger: Arc::new(ledger),
            writing: AtomicUsize::new(0),
            drive,
            busy_nanoseconds: AtomicU64::new(0),
            writing_nanoseconds: AtomicU64::new(0),
        }
    }

    /// True if the checkpoints, and the journal's archive, are left to followers.
    pub fn is_left_to_followers(&self) -> bool {
        self.ledger.is_of_store()
    }

    /// The store has the log up to `end`, and the record here has it up to `recorded`. If the checkpoints are left to
    /// followers, the log before that is freed when room is wanted.
    #[inline]
    pub fn store_has(&self, end: LogPosition, recorded: LogPosition) {
        self.ledger.store_has(end, recorded);
    }

    /// The store gives no answer for this reason; or does again. If the checkpoints are left to followers and the log is
    /// full meanwhile, transactions are refused for this reason.
    #[inline]
    pub fn store_is_away(&self, reason: Option<Arc<str>>) {
        self.ledger.store_is_away(reason);
    }

    /// Sets the recorder of the store's progress.
    #[inline]
    pub fn set_record(&self, record: Weak<dyn RecordsStore>) {
        self.ledger.set_record(record);
    }

    /// Has it be written down how far the store has the log, as soon as that is stable here: this directory then needs
    /// nothing before that any more.
    pub fn record_store(&self) {
        self.ledger.record_soon();
    }

    /// Notes that the record of the store's progress could not be written here, for this reason; or that it was.
    #[inline]
    pub fn is_unrecorded(&self, error: Option<DiskError>) {
        self.ledger.is_unrecorded(error);
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

    /// Without threads: takes a step, as [`CheckpointStage::pump`].
    pub(crate) fn callers_step(&self) {
        if !self.drive.has_threads() {
            self.pump();
        }
    }

    /// Does the waiting work of every stripe, without blocking. For running without threads.
    pub fn pump(&self) {
        if self.ledger.check_process().is_err() {
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

    /// Applies waiting groups, and writes one block if a checkpoint is due or being written. `quiet`: also one that is
    /// not due yet.
    fn work(&self, number: usize, state: &mut Stripe, quiet: bool) -> Result<(), ()> {
        let started = Instant::now();
        // On a client's thread, too, if there are no threads of our own.
        let outcome = catch_unwind(AssertUnwindSafe(|| self.try_work(number, state, quiet)));
        let outcome = outcome.unwrap_or_else(|payload| {
            #[cfg(test)]
            let payload = crate::exploration::mortal::unless_killed(payload);
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
                events::error!(%error, stripe = number, "checkpointing stopped");
                state.waiting.clear();
                self.feeds[number].abandon();
                self.ledger.failed(number, error);
                Err(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// A step found no room; nothing is half done.
    #[cold]
    fn found_no_room(&self, number: usize, state: &mut Stripe, error: CheckpointError) {
        state.try_again_at = Some(Instant::now() + TRY_AGAIN_AFTER);
        self.ledger.found_no_room(number, error);
    }

    /// A step that had found no room has been done.
    #[cold]
    fn found_room(&self, number: usize, state: &mut Stripe) {
        state.try_again_at = None;
        self.ledger.found_room(number);
    }

    /// True if a step that found no room is not to be tried again yet.
    fn is_patient(&self, number: usize, state: &Stripe) -> bool {
        let Some(at) = state.try_again_at else {
            return false;
        };
        let try_now = self.ledger.take_try_now(number);
        // Without a thread every call is an attempt.
        self.drive.has_threads() && !try_now && Instant::now() < at
    }

    fn try_work(
        &self,
        number: usize,
        state: &mut Stripe,
        quiet: bool,
    ) -> Result<(), CheckpointError> {
        state.put_off = false;
        while let Some(group) = state.waiting.pop_front() {
            state.checkpointer.apply_shared(&group)?;
            if self.drive.has_threads() {
                let_others_run();
            }
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
            if !self.checkpoint_is_due(number, state) || !self.see_pages(state)? {
                return Ok(());
            }
            state.checkpointer.begin()?;
            state.began_at = state.checkpointer.position();
            self.writing.fetch_add(1, Ordering::Relaxed);
            state.writeout_began = Some(Instant::now());
        }
        let copied = state.checkpointer.is_writing() && state.checkpointer.has_copied();
        if !quiet && !tries_again && !copied && !self.block_is_due(number, state) {
            return Ok(());
        }
        if !self.copy_block(state)? {
            if tries_again {
                // The step that had found no room was the archive's: a block is written after it was copied.
                self.found_room(number, state);
            }
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
            self.ledger.completed(number, &state.checkpointer);
        }
        Ok(())
    }

    /// The next act of a stripe's thread after its work. A request meanwhile nudges the feed.
    fn next(&self, number: usize, state: &Stripe) -> Next {
        if let Some(at) = state.try_again_at {
            return Next::TryAgainAt(at);
        }
        let writing = state.checkpointer.is_writing();
        if state.put_off || writing && state.checkpointer.waits_for_group() {
            return Next::Pause;
        }
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

    /// True if a checkpoint is due: by the interval, or because one is wanted that has everything before a place which
    /// DB' has reached.
    fn checkpoint_is_due(&self, number: usize, state: &Stripe) -> bool {
        let position = state.checkpointer.position();
        let wanted = self.ledger.wanted_of(number);
        self.interval_of(state).is_over(state.began_at, position)
            || wanted.is_some_and(|wanted| wanted.group <= position.group)
    }

    /// The distance of checkpoints of the present sizes of a stripe and of those beside it.
    fn interval_of(&self, state: &Stripe) -> CheckpointInterval {
        let bytes = state.checkpointer.stored_bytes();
        let stripes = self.stripes.len() as u64;
        self.interval.for_stored(bytes.saturating_mul(stripes))
    }

    /// True if the next block of the checkpoint being written is due: by the interval's measure, or because a caller
    /// waits for the checkpoint.
    fn block_is_due(&self, number: usize, state: &Stripe) -> bool {
        let (written, blocks) = state.checkpointer.written();
        let now = state.checkpointer.position();
        self.interval_of(state)
            .block_is_due(state.began_at, now, written, blocks)
            || self.ledger.wanted_of(number).is_some()
    }

    /// Asks for a checkpoint that has everything before `position`, as soon as that is durable.
    pub fn want(&self, position: LogPosition) {
        self.ledger.want(position);
        self.feeds.iter().for_each(|feed| feed.nudge());
    }

    /// The beginning of the checkpoint that a stripe is writing, if it is writing one.
    pub(super) fn writing_from(&self, stripe: usize) -> Option<LogPosition> {
        let state = self.stripes[stripe].lock();
        state.checkpointer.is_writing().then_some(state.began_at)
    }

    /// Asks one stripe for a checkpoint that has everything before `position`.
    pub(super) fn want_of(&self, stripe: usize, position: LogPosition) {
        self.ledger.want_of(stripe, position);
        self.feeds[stripe].nudge();
    }

    /// True if nothing more of the request comes soon. If not, takes a step, or waits for the threads, until that time
    /// at the latest.
    pub(super) fn is_settled(&self, until: Option<Instant>) -> bool {
        self.callers_step();
        self.ledger.is_settled(self.drive.has_threads(), until)
    }

    /// The distance of checkpoints.
    pub(super) fn interval(&self) -> CheckpointInterval {
        self.interval
    }

    /// Nothing more comes into the store, if the log is closed: if the checkpoints are left to followers, a caller that waits
    /// for one gets the error.
    #[inline]
    pub fn store_is_lost(&self, log: Result<(), LogError>) {
        if let Err(reason) = log
            && self.is_left_to_followers()
        {
            self.give_up(&reason);
        }
    }

    /// Takes a checkpoint that has everything before `position`, and waits for it. Without threads,
    /// on the caller's time.
    ///
    /// # Errors
    /// The error that stopped a stripe; [`CheckpointError::Waiting`] if the disk has no room for it: then it is taken
    /// as soon as the disk has some.
    #[inline]
    pub fn take(&self, position: LogPosition) -> Result<(), Arc<CheckpointError>> {
        self.ledger.check_process()?;
        let before = self.ledger.attempts();
        self.want(position);
        // If checkpoints are left to followers, there is nothing to pump here.
        let waits = self.drive.has_threads() || self.stripes.is_empty();
        loop {
            if !waits {
                self.pump();
            }
            if let Some(outcome) = self.ledger.outcome(&before, waits) {
                return outcome;
            }
        }
    }

    /// Without threads: does the waiting work of every stripe, also if another client is at it, for which the caller
    /// waits.
    pub fn work_off(&self) {
        if self.ledger.check_process().is_err() {
            return;
        }
        for (number, stripe) in self.stripes.iter().enumerate() {
            let mut state = stripe.lock();
            self.feeds[number].take(&mut state.waiting);
            // A failure is kept in the status, and refuses transactions once the log is full.
            let _ = self.work(number, &mut state, true);
        }
    }

    /// A thread of the engine died: callers that wait for a checkpoint are notified, since it may never come.
    pub fn give_up(&self, reason: &LogError) {
        if self.ledger.check_process().is_ok() {
            self.ledger.give_up(reason);
        }
    }

    /// The reason why checkpointing stopped, if it did.
    pub fn failure(&self) -> Option<Arc<CheckpointError>> {
        self.ledger.failure()
    }

    /// The wait of a checkpoint for room on the disk, and its beginning: the stripe that has waited longest. It goes on
    /// by itself.
    #[inline]
    pub fn waiting(&self) -> Option<Waiting> {
        self.ledger.waiting()
    }

    /// From where the log is needed.
    #[inline]
    pub fn log_needed_from(&self) -> LogPosition {
        self.ledger.log_needed_from()
    }

    /// Up to where every stripe's last complete checkpoint has everything.
    pub fn complete_from(&self) -> LogPosition {
        self.ledger.complete_from()
    }

    /// Bytes of DB', the checkpointers' own copy of the pages; 0 if there is none: the blocks are read from snapshots, or
    /// the checkpoints are left to followers.
    pub fn copy_bytes(&self) -> u64 {
        match self.reads_snapshots() {
            true => 0,
            false => self.stored_bytes(),
        }
    }

    /// Bytes of all blocks of a checkpoint; 0 if the checkpoints are left to followers.
    pub(super) fn stored_bytes(&self) -> u64 {
        let bytes = |stripe: &Mutex<Stripe>| stripe.lock().checkpointer.stored_bytes();
        self.stripes.iter().map(bytes).sum()
    }

    /// True if a writeout is under way.
    pub fn is_writing(&self) -> bool {
        self.writing.load(Ordering::Relaxed) > 0
    }

    /// The time spent applying and writing, summed over stripes.
    pub fn busy_time(&self) -> Duration {
        Duration::from_nanos(self.busy_nanoseconds.load(Ordering::Relaxed))
    }

    /// The counts since the database was opened.
    #[inline]
    pub fn totals(&self) -> CheckpointTotals {
        let nanoseconds = self.writing_nanoseconds.load(Ordering::Relaxed);
        self.ledger.totals(Duration::from_nanos(nanoseconds))
    }

    /// The checkpointers, of a stage whose threads have ended, for another one that goes on at `end`; `None` if one of them
    /// was stopped, or does not have everything before that.
    pub(crate) fn take_checkpointers(&self, end: LogPosition) -> Option<Vec<Checkpointer>> {
        let stripes = self.stripes.iter();
        stripes
            .map(|stripe| stripe.lock().checkpointer.take(end))
            .collect()
    }

    /// No more groups will come; [`CheckpointStage::run`] ends when the waiting ones are applied.
    pub fn close(&self) {
        self.feeds.iter().for_each(|feed| feed.close());
    }
}

impl FreesLog for CheckpointStage {
    fn want(&self, position: LogPosition) -> bool {
        if self.ledger.check_process().is_err() {
            return false;
        }
        CheckpointStage::want(self, position);
        // A checkpoint that is complete already was reported.
        self.ledger.is_wanted()
    }

    fn obstacle(&self) -> Option<Arc<str>> {
        self.ledger.obstacle()
    }

    fn work_off(&self) {
        CheckpointStage::work_off(self);
    }

    fn frees_inside(&self) -> bool {
        // A checkpoint from snapshots needs the pen.
        !self.reads_snapshots()
    }
}
