//! Group commit: from the group that is being filled to "durable", and to the log's consumers.
//!
//! ```text
//!   Pen ──fills──▶ OpenGroup ──sealed──▶ queue ──▶ write_group ──▶ DurablePrefix ──▶ waiters
//!   (one at a time)                      ▲          (depth at     (in order, I1)     wakers
//!                                        │           once)                           feeds
//!                     a logging thread ──┘ or a waiting client itself
//! ```
//!
//! The writer's work is [`LogWriter::step`]: one group, if the disk is free and one is due. A logging
//! thread steps while there is traffic ([`thread`](self)), and a client that waits for its own transaction
//! steps, too, and so saves the hand-over. A group fills while others are being written.
//!
//! Invariants: I1 (nothing is durable before all earlier groups are), I7 (the first failed write or
//! sync poisons the log; nothing is written, acknowledged or fed afterwards), I10 (buffers, queue).
//!
//! No hand-over is lost. A thread that leaves a group open because the disk was busy looks again after
//! it let go of the pen; a writer says that the disk is free before it looks for a group. Both accesses
//! are sequentially consistent, so one of them sees the other. A step that found the pen taken leaves
//! word (`LogWriter::was_turned_away`), and the holder steps in its place. A step that took a place at
//! the disk and could not seal takes what was handed over meanwhile, and tells those who were turned away
//! from the disk; who found no buffer is told when one comes back; who parks has noted, before looking,
//! what a wake-up changes. All of that is explored by the models in `tests/shuttle_hand_over.rs`.
//!
//! Source: TPK paper, section 2, "Logging".

mod thread;

use super::durable::DurablePrefix;
use super::follow::Feed;
use super::open_group::OpenGroup;
use super::policy::{DEFERRED_BYTES_MAX, DEFERRED_TRANSACTIONS_MAX, GroupLimits, GroupPolicy};
use super::pool::{BufferPool, DurableGroup};
use super::seal::{SealedGroup, Sequencer};
use super::segment::Segments;
use super::statistics::{Counters, LogStatistics};
use super::supply::SegmentSupply;
use super::waiting::Waiting;
use super::{LogError, LogPosition, LogState, SharedEnd};
use crate::drive::Drive;
use crate::pen::Holder;
use crate::supervisor::SupervisorNumber;
use sardonyx_base::process::Process;
use sardonyx_base::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
use sardonyx_base::sync::{Condvar, Mutex};
use sardonyx_base::user_code::message_of;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};
use std::task::{Poll, Waker};
use std::time::Instant;

/// The logging stage: everything between a sealed group and its acknowledgement. It belongs to the
/// process that opened the log: in a forked child nothing is queued, written or waited for, and no lock
/// is taken.
#[derive(Debug)]
pub struct LogWriter {
    process: Process,
    /// The group being filled. Its lock is the right to append: [`crate::pen`].
    pub(crate) open: Mutex<OpenGroup>,
    pub(crate) holder: Holder,
    engine: SupervisorNumber,
    /// A step could not seal the open group, since the pen was taken.
    turned_away: AtomicBool,
    segments: Arc<Segments>,
    room: Arc<SegmentSupply>,
    pool: Arc<BufferPool>,
    policy: GroupPolicy,
    limits: GroupLimits,
    drive: Drive,
    work: Arc<Work>,
    /// Groups that are sealed or being written.
    outstanding: AtomicUsize,
    /// The group being filled has transactions.
    filling: AtomicBool,
    prefix: Mutex<DurablePrefix<SealedGroup>>,
    /// All groups below this number are durable.
    durable_below: AtomicU64,
    /// Where the durable log ends.
    state: LogState,
    waiting: Waiting,
    feeds: Vec<Arc<Feed>>,
    poison: OnceLock<LogError>,
    counters: Counters,
}

/// What the logging thread waits for.
#[derive(Debug, Default)]
struct Work {
    queue: Mutex<Queue>,
    arrived: Condvar,
}

impl Work {
    /// Has the logging thread look for a group.
    fn signal(&self) {
        self.queue.lock().signalled = true;
        self.arrived.notify_one();
    }
}

#[derive(Debug, Default)]
struct Queue {
    sealed: VecDeque<SealedGroup>,
    writing: usize,
    /// Somebody looked for a group while all places at the disk were taken.
    turned_away: bool,
    /// Something happened since the logging thread last looked.
    signalled: bool,
    /// When the group being filled got its first transaction; for [`GroupPolicy::Fixed`].
    filling_since: Option<Instant>,
    closed: bool,
}

impl LogWriter {
    /// Goes on where `sequencer` stands: everything before that is on disk.
    pub fn new(
        segments: Arc<Segments>,
        room: Arc<SegmentSupply>,
        sequencer: Sequencer,
        policy: GroupPolicy,
        limits: GroupLimits,
        feeds: Vec<Arc<Feed>>,
        drive: Drive,
    ) -> Self {
        let durable = sequencer.next();
        let buffers_max = drive.has_threads().then_some(limits.buffers);
        let work = Arc::new(Work::default());
        let at_work = work.clone();
        let buffer_bytes = limits.group_bytes.saturating_add(64 << 10);
        let pool = BufferPool::new(buffer_bytes, buffers_max, move || at_work.signal());
        let open = OpenGroup::new(
            sequencer,
            pool.take(),
            policy,
            limits.group_bytes,
            room.clone(),
        );
        let engine = SupervisorNumber::next();
        LogWriter {
            process: Process::current(),
            open: Mutex::new(open),
            holder: Holder::new(engine),
            engine,
            turned_away: AtomicBool::new(false),
            segments,
            room,
            pool: Arc::new(pool),
            policy,
            limits,
            drive,
            work,
            outstanding: AtomicUsize::new(0),
            filling: AtomicBool::new(false),
            prefix: Mutex::new(DurablePrefix::new(durable)),
            durable_below: AtomicU64::new(durable.group),
            state: LogState::private(SharedEnd {
                position: durable,
                tail: 0,
            }),
            waiting: Waiting::default(),
            feeds,
            poison: OnceLock::new(),
            counters: Counters::default(),
        }
    }

    /// Who takes the steps.
    #[inline]
    pub fn drive(&self) -> Drive {
        self.drive
    }

    /// The number of the supervisor that is to start the engine's threads.
    pub fn engine(&self) -> SupervisorNumber {
        self.engine
    }

    /// The process that opened the log.
    #[inline]
    pub fn process(&self) -> Process {
        self.process
    }

    /// The bounds.
    pub fn limits(&self) -> &GroupLimits {
        &self.limits
    }

    /// When groups are closed.
    pub fn policy(&self) -> GroupPolicy {
        self.policy
    }

    /// The buffers of groups.
    pub fn pool(&self) -> &Arc<BufferPool> {
        &self.pool
    }

    /// The room for more log.
    pub fn room(&self) -> &Arc<SegmentSupply> {
        &self.room
    }

    /// The log's files.
    pub fn segments(&self) -> &Arc<Segments> {
        &self.segments
    }

    /// The end of the durable log.
    pub fn durable(&self) -> LogPosition {
        self.state.end().position
    }

    /// Whether the group of this number and all earlier ones are durable.
    #[inline]
    pub fn is_durable(&self, number: u64) -> bool {
        self.durable_below.load(Ordering::Acquire) > number
    }

    /// Whether an error closed the log (I7).
    #[inline]
    pub fn is_poisoned(&self) -> bool {
        self.poison.get().is_some()
    }

    /// The error that closed the log, if one did (I7); [`LogError::Forked`] in a child.
    #[inline]
    pub fn check(&self) -> Result<(), LogError> {
        self.process.check()?;
        match self.poison.get() {
            None => Ok(()),
            Some(error) => Err(error.clone()),
        }
    }

    /// Refuses those who must not wait for others: a thread that holds the pen, and the engine's own.
    ///
    /// # Errors
    /// [`LogError::Nested`]; [`LogError::Forked`].
    #[inline]
    pub fn check_caller(&self) -> Result<(), LogError> {
        self.holder.check()
    }

    /// As [`LogWriter::check_caller`], for a task that is polled and not done.
    ///
    /// # Errors
    /// As there.
    pub fn check_polling_caller(&self) -> Result<(), LogError> {
        self.holder.check_polling()
    }

    /// Whether the disk is free to take a group now.
    #[inline]
    pub fn wants_group(&self) -> bool {
        self.outstanding.load(Ordering::SeqCst) < self.limits.depth
    }

    /// Whether the next thing that comes may be sealed at once, because the disk is free.
    #[inline]
    fn seals_at_once(&self) -> bool {
        self.policy == GroupPolicy::Adaptive && self.wants_group()
    }

    /// A transaction has ended in the open group, which the caller holds; hands it over if it is full.
    /// Returns the number of the group that holds the transaction.
    #[inline]
    pub(crate) fn transaction_ended(&self, open: &mut OpenGroup) -> u64 {
        if open.builder().transactions() == 1 {
            self.set_filling(true);
        }
        let group = open.group();
        if open.is_full() {
            self.hand_over(open);
        }
        group
    }

    /// Seals the open group, if it has transactions, and has it written.
    pub(crate) fn hand_over(&self, open: &mut OpenGroup) {
        if !open.is_empty() {
            self.push(self.seal(open));
        }
    }

    /// Seals the open group, also without transactions. The caller has it written.
    pub(crate) fn seal(&self, open: &mut OpenGroup) -> SealedGroup {
        let group = open.seal(&self.pool);
        self.set_filling(false);
        group
    }

    /// Seals the open group for a caller who writes it now and waits for it, if the disk is free and the
    /// policy lets a lone transaction go at once.
    #[inline]
    pub(crate) fn seal_to_force(&self, open: &mut OpenGroup) -> Option<SealedGroup> {
        let now = self.seals_at_once() && !open.is_empty();
        now.then(|| self.seal(open))
    }

    /// Seals the open group for a caller who does not wait for it, if it is time to write it: with threads,
    /// if the disk is free; else, when it holds as much as may be left unwritten.
    #[inline]
    pub(crate) fn seal_to_hand_on(&self, open: &mut OpenGroup) -> Option<SealedGroup> {
        let now = match self.drive {
            Drive::Threads => self.seals_at_once(),
            Drive::Callers => open.holds(DEFERRED_BYTES_MAX, DEFERRED_TRANSACTIONS_MAX),
        };
        (now && !open.is_empty()).then(|| self.seal(open))
    }

    /// Seals the open group if nobody holds the pen and there is a buffer for the next one. Does not wait:
    /// the caller may have a place at the disk meanwhile.
    fn seal_open(&self) -> Option<SealedGroup> {
        let mut open = self.open.try_lock();
        if open.is_none() {
            // The holder is told to look, unless it has let go before it could know.
            self.turned_away.store(true, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            open = self.open.try_lock();
        }
        let mut open = open?;
        if open.is_empty() {
            return None;
        }
        let group = open.try_seal(&self.pool)?;
        self.set_filling(false);
        Some(group)
    }

    /// Whether a step found the pen taken since this was last asked. For the holder that has let go.
    #[inline]
    pub(crate) fn was_turned_away(&self) -> bool {
        fence(Ordering::SeqCst);
        self.turned_away.load(Ordering::Relaxed) && self.turned_away.swap(false, Ordering::Relaxed)
    }

    /// Says that the group being filled got its first transaction, or was sealed.
    fn set_filling(&self, filling: bool) {
        self.filling.store(filling, Ordering::SeqCst);
        if let GroupPolicy::Fixed { .. } = self.policy {
            let mut queue = self.work.queue.lock();
            queue.filling_since = filling.then(Instant::now);
            if filling {
                queue.signalled = true;
                self.work.arrived.notify_one();
            }
        }
    }

    /// Hands a sealed group to the logging thread; without one, writes it: what was filled takes no memory
    /// then while the same call goes on filling.
    pub(crate) fn push(&self, group: SealedGroup) {
        if !self.process.is_current() {
            return;
        }
        if self.drive == Drive::Callers {
            return self.write_directly(group);
        }
        self.outstanding.fetch_add(1, Ordering::SeqCst);
        let mut queue = self.work.queue.lock();
        if self.poison.get().is_some() {
            drop(queue);
            self.outstanding.fetch_sub(1, Ordering::SeqCst);
            self.pool.give(group.into_buffer());
            return;
        }
        queue.sealed.push_back(group);
        queue.signalled = true;
        drop(queue);
        self.work.arrived.notify_one();
    }

    /// Writes a group that the caller sealed itself, on the caller's time. Failures poison the log
    /// and are found by [`LogWriter::wait`].
    pub(crate) fn write_directly(&self, group: SealedGroup) {
        if !self.process.is_current() {
            return;
        }
        self.outstanding.fetch_add(1, Ordering::SeqCst);
        self.work.queue.lock().writing += 1;
        self.write_group(group);
    }

    /// Waits until the group of this number is durable, taking steps meanwhile. For the engine's own
    /// threads, and for callers who cannot be inside the engine.
    ///
    /// # Errors
    /// The error that poisoned the log: the transaction's fate is unknown (I7).
    pub fn wait(&self, number: u64) -> Result<(), LogError> {
        self.process.check()?;
        loop {
            if self.is_durable(number) {
                return Ok(());
            }
            self.check()?;
            let seen = self.waiting.seen(number);
            if self.callers_step() {
                continue;
            }
            self.waiting.park(number, seen, || {
                self.is_durable(number) || self.poison.get().is_some()
            });
        }
    }

    /// Registers a waker for the group of this number.
    pub fn poll(&self, number: u64, waker: &Waker) -> Poll<Result<(), LogError>> {
        self.process.check()?;
        if self.is_durable(number) {
            return Poll::Ready(Ok(()));
        }
        self.waiting.register(number, waker);
        // It may have become durable, or the log poisoned, just before the waker was there.
        if self.is_durable(number) {
            return Poll::Ready(Ok(()));
        }
        match self.check() {
            Ok(()) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    /// Looks, after letting go of the pen, whether the disk became free meanwhile.
    #[inline]
    pub(crate) fn look_for_group(&self) {
        if !self.process.is_current() {
            return;
        }
        if self.drive == Drive::Callers {
            // A client that waits looks again, now that the pen is free.
            let next = self.durable_below.load(Ordering::Acquire);
            return self.waiting.wake(next..next + 2);
        }
        if self.seals_at_once() && self.filling.load(Ordering::SeqCst) {
            let misses = self.pool.misses();
            match self.seal_open() {
                Some(group) => self.push(group),
                None => self.after_a_miss(misses),
            }
        }
    }

    /// After an attempt to seal that failed, and after letting go of everything: if it was for want
    /// of a buffer, and one came back while we still held the pen, then the logging thread, which was
    /// told of it, could not use it.
    fn after_a_miss(&self, misses_before: u64) {
        if self.pool.misses() != misses_before && self.pool.is_ready() {
            self.work.signal();
        }
    }

    /// Writes one group, if the disk is free and there is one that is due. Returns whether it did.
    pub fn step(&self) -> bool {
        if !self.process.is_current() || !self.due() {
            return false;
        }
        let Some(group) = self.next_group() else {
            return false;
        };
        self.write_group(group);
        true
    }

    /// A step by a caller who waits. With the TPK paper's parameters a group is closed by its count or its
    /// time, which the logging thread watches, if there is one.
    fn callers_step(&self) -> bool {
        (self.policy == GroupPolicy::Adaptive || self.drive == Drive::Callers) && self.step()
    }

    /// Whether a group that is being filled may be closed now. Nobody watches the time but threads.
    fn due(&self) -> bool {
        let GroupPolicy::Fixed { time, .. } = self.policy else {
            return true;
        };
        let queue = self.work.queue.lock();
        self.drive == Drive::Callers
            || !queue.sealed.is_empty()
            || queue.closed
            || queue
                .filling_since
                .is_some_and(|since| since.elapsed() >= time)
    }

    /// Takes a sealed group, or has one sealed, and counts it as being written.
    fn next_group(&self) -> Option<SealedGroup> {
        let mut queue = self.work.queue.lock();
        if self.poison.get().is_some() {
            return None;
        }
        if queue.writing >= self.limits.depth {
            queue.turned_away = true;
            return None;
        }
        if let Some(group) = queue.sealed.pop_front() {
            queue.writing += 1;
            return Some(group);
        }
        if !self.filling.load(Ordering::SeqCst) {
            return None;
        }
        queue.writing += 1;
        drop(queue);
        let misses = self.pool.misses();
        let group = self.seal_open();
        if group.is_some() {
            // Not counted before: while we try, the holder of the pen must go on seeing that the disk is
            // free, or nobody would take the group if our attempt fails.
            self.outstanding.fetch_add(1, Ordering::SeqCst);
            return group;
        }
        let mut queue = self.work.queue.lock();
        // While we had a place at the disk, whoever else looked may have found none: what was handed
        // over meanwhile is ours to take, and what could be sealed now is theirs to look for again.
        let handed_over = queue.sealed.pop_front();
        if handed_over.is_none() {
            queue.writing -= 1;
            let turned_away = std::mem::take(&mut queue.turned_away);
            drop(queue);
            if turned_away {
                self.work.signal();
            }
            self.after_a_miss(misses);
        }
        handed_over
    }

    /// Writes a group that is counted as being written, and passes on what is durable thereby.
    fn write_group(&self, mut group: SealedGroup) {
        let started = Instant::now();
        // A disk of the program's own may panic, here on a client's thread, too, which would go on as if
        // nothing had been begun.
        let outcome = catch_unwind(AssertUnwindSafe(|| self.write_to_disk(&mut group)));
        let outcome = outcome.unwrap_or_else(|payload| {
            let cause = format!("the disk's code panicked: {}", message_of(payload));
            Err(LogError::Poisoned {
                cause: cause.into(),
            })
        });
        match outcome {
            Ok(()) => {
                self.counters.count(&group, started.elapsed());
                self.release(group);
            }
            Err(error) => {
                self.poison(error);
                self.pool.give(group.into_buffer());
            }
        }
        self.work.queue.lock().writing -= 1;
        self.outstanding.fetch_sub(1, Ordering::SeqCst);
        self.look_for_more();
    }

    fn write_to_disk(&self, group: &mut SealedGroup) -> Result<(), LogError> {
        self.check()?;
        group.finish(self.durable_below.load(Ordering::Acquire) - 1);
        let header = group.header();
        let layout = self.segments.layout();
        self.segments
            .file(layout.segment_of(header.lsn))?
            .write_durable_at(layout.offset_in_segment(header.lsn), group.bytes())?;
        Ok(())
    }

    /// The group is on stable storage: acknowledges and feeds, in order.
    fn release(&self, group: SealedGroup) {
        let number = group.header().number;
        let after = group.header().next_position();
        let mut prefix = self.prefix.lock();
        let durable = prefix.arrived(number, after, group, |group| {
            // Fed under the prefix's lock, so that every consumer sees the log's order.
            let group = Arc::new(DurableGroup::new(group, self.pool.clone()));
            for feed in &self.feeds {
                feed.push(group.clone());
            }
        });
        if durable != self.state.end().position {
            // Under the prefix's lock, too: one end after the other.
            self.state.publish(SharedEnd {
                position: durable,
                tail: 0,
            });
        }
        let before = self.durable_below.swap(durable.group, Ordering::AcqRel);
        drop(prefix);
        self.room.advance(durable);
        self.waiting.wake(before..durable.group);
    }

    /// After a write: if more has come meanwhile, someone must take it.
    fn look_for_more(&self) {
        let queue = self.work.queue.lock();
        let more = !queue.sealed.is_empty() || self.filling.load(Ordering::SeqCst);
        drop(queue);
        if !more {
            return;
        }
        if self.drive.has_threads() {
            return self.work.signal();
        }
        // Not only the next ones: for a group that was closed because it was full nobody may wait, but
        // for one behind it.
        let next = self.durable_below.load(Ordering::Acquire);
        self.waiting.wake(next..u64::MAX);
    }

    /// Closes the log for good after a failure (I7).
    pub fn poison(&self, cause: LogError) {
        if !self.process.is_current() {
            return;
        }
        let error = match cause {
            LogError::Poisoned { .. } | LogError::ThreadDied { .. } => cause,
            other => LogError::Poisoned {
                cause: other.to_string().into(),
            },
        };
        if self.poison.set(error.clone()).is_ok() {
            tracing::error!(%error, "the log is poisoned");
        }
        // Their buffers go back, so that nobody waits for one for ever; nor for room.
        let abandoned = std::mem::take(&mut self.work.queue.lock().sealed);
        self.outstanding
            .fetch_sub(abandoned.len(), Ordering::SeqCst);
        let early = self.prefix.lock().abandon();
        for group in abandoned.into_iter().chain(early) {
            self.pool.give(group.into_buffer());
        }
        // A thread that died kept its buffers.
        self.pool.stop_waiting();
        self.room.fail(error);
        self.waiting.wake_all();
        self.work.signal();
    }

    /// What the logging stage did since the database was opened.
    pub fn statistics(&self) -> LogStatistics {
        self.counters.read()
    }

    /// Ends [`LogWriter::run`] once nothing more is to be written.
    pub fn close(&self) {
        self.work.queue.lock().closed = true;
        self.work.arrived.notify_all();
    }
}
