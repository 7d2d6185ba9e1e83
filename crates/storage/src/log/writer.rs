//! Group commit: from a sealed group to "durable", and to the log's consumers.
//!
//! ```text
//!   execution ──fills──▶ OpenGroup ──seals──▶ queue ──▶ write_group ──▶ DurablePrefix ──▶ waiters
//!   (one at a time)                          ▲          (depth at     (in order, I1)     wakers
//!                                            │           once)                           feeds
//!                          logging thread ───┘ or a waiting client itself
//! ```
//!
//! Whoever finds the disk free writes: the logging thread while there is traffic, or a lone client
//! that waits for its own transaction and so saves the hand-over. A group fills while others are
//! being written.
//!
//! Invariants: I1 (nothing is durable before all earlier groups are), I7 (the first failed write or
//! sync poisons the log; nothing is written, acknowledged or fed afterwards), I10 (buffers, queue).
//!
//! No hand-over is lost: whoever leaves a group unsealed does so because the disk was busy, and
//! looks again after letting go of the execution stage; whoever finishes writing first says that
//! the disk is free and then looks for a group. One of the two sees the other (both are sequentially
//! consistent). Whoever took a place at the disk and could not seal takes what was handed over
//! meanwhile, and tells those who were turned away; whoever found no buffer is told when one comes
//! back; whoever parks has noted, before looking, what a wake-up changes. All of that is explored by
//! the models in `tests/shuttle_hand_over.rs`.
//!
//! Source: Li & Naughton, section 2, "Logging".

use super::durable::DurablePrefix;
use super::follow::Feed;
use super::policy::{GroupLimits, GroupPolicy};
use super::pool::{BufferPool, DurableGroup};
use super::seal::SealedGroup;
use super::segment::Segments;
use super::statistics::{Counters, LogStatistics};
use super::supply::SegmentSupply;
use super::waiting::Waiting;
use super::{LogError, LogPosition};
use sardonyx_base::process::Process;
use sardonyx_base::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use sardonyx_base::sync::{Condvar, Mutex};
use sardonyx_base::user_code::message_of;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

/// Gives the group that is being filled to whoever has the disk free.
pub trait GroupSource: Send + Sync {
    /// Seals and returns the group that is being filled, if it has transactions and its owner is
    /// not busy. Must not wait, neither for the execution stage nor for a buffer
    /// ([`super::open_group::OpenGroup::try_seal`]): the caller has a place at the disk meanwhile.
    fn try_seal(&self) -> Option<SealedGroup>;
}

/// The logging stage: everything between a sealed group and its acknowledgement. It belongs to the
/// process that opened the log: in a forked child nothing is queued, written or waited for, and no lock
/// is taken.
#[derive(Debug)]
pub struct LogWriter {
    process: Process,
    segments: Arc<Segments>,
    room: Arc<SegmentSupply>,
    pool: Arc<BufferPool>,
    policy: GroupPolicy,
    limits: GroupLimits,
    threaded: bool,
    work: Arc<Work>,
    /// Groups that are sealed or being written.
    outstanding: AtomicUsize,
    /// The group being filled has transactions.
    filling: AtomicBool,
    prefix: Mutex<DurablePrefix<SealedGroup>>,
    /// All groups below this number are durable.
    durable_below: AtomicU64,
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
    /// Goes on at `durable`, everything before which is on disk. `threaded`: [`LogWriter::run`]
    /// is going to run on a thread.
    pub fn new(
        segments: Arc<Segments>,
        room: Arc<SegmentSupply>,
        durable: LogPosition,
        policy: GroupPolicy,
        limits: GroupLimits,
        feeds: Vec<Arc<Feed>>,
        threaded: bool,
    ) -> Self {
        let buffers_max = threaded.then_some(limits.buffers);
        let work = Arc::new(Work::default());
        let at_work = work.clone();
        let buffer_bytes = limits.group_bytes.saturating_add(64 << 10);
        let pool = BufferPool::new(buffer_bytes, buffers_max, move || at_work.signal());
        LogWriter {
            process: Process::current(),
            segments,
            room,
            pool: Arc::new(pool),
            policy,
            limits,
            threaded,
            work,
            outstanding: AtomicUsize::new(0),
            filling: AtomicBool::new(false),
            prefix: Mutex::new(DurablePrefix::new(durable)),
            durable_below: AtomicU64::new(durable.group),
            waiting: Waiting::default(),
            feeds,
            poison: OnceLock::new(),
            counters: Counters::default(),
        }
    }

    /// Whether groups are written by threads of their own.
    pub fn is_threaded(&self) -> bool {
        self.threaded
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

    /// The end of the durable log. (A lock is taken.)
    pub fn durable(&self) -> LogPosition {
        self.prefix.lock().durable()
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

    /// Whether the disk is free to take a group now.
    #[inline]
    pub fn wants_group(&self) -> bool {
        self.outstanding.load(Ordering::SeqCst) < self.limits.depth
    }

    /// Says that the group being filled got its first transaction, or was sealed.
    pub(super) fn set_filling(&self, filling: bool) {
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
    pub fn push(&self, group: SealedGroup) {
        if !self.process.is_current() {
            return;
        }
        if !self.threaded {
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
    pub fn write_directly(&self, group: SealedGroup) {
        if !self.process.is_current() {
            return;
        }
        self.outstanding.fetch_add(1, Ordering::SeqCst);
        self.work.queue.lock().writing += 1;
        self.write_group(group);
    }

    /// Waits until the group of this number is durable, writing what there is to write meanwhile.
    ///
    /// # Errors
    /// The error that poisoned the log: the transaction's fate is unknown (I7).
    pub fn wait(&self, number: u64, source: &dyn GroupSource) -> Result<(), LogError> {
        self.process.check()?;
        loop {
            if self.is_durable(number) {
                return Ok(());
            }
            self.check()?;
            let seen = self.waiting.seen(number);
            if self.help(source) {
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

    /// Looks, after letting go of the execution stage, whether the disk became free meanwhile.
    #[inline]
    pub fn after_execution(&self, source: &dyn GroupSource) {
        if !self.process.is_current() {
            return;
        }
        if !self.threaded {
            self.after_execution_without_threads();
        } else if self.wants_group()
            && self.filling.load(Ordering::SeqCst)
            && self.policy == GroupPolicy::Adaptive
        {
            let misses = self.pool.misses();
            match source.try_seal() {
                Some(group) => self.push(group),
                None => self.after_a_miss(misses),
            }
        }
    }

    /// After an attempt to seal that failed, and after letting go of everything: if it was for want
    /// of a buffer, and one came back while we still held the execution stage, then the logging
    /// thread, which was told of it, could not use it.
    fn after_a_miss(&self, misses_before: u64) {
        if self.pool.misses() != misses_before && self.pool.is_ready() {
            self.work.signal();
        }
    }

    /// Without a logging thread, a client that waits must look again now that the execution stage is free.
    fn after_execution_without_threads(&self) {
        let next = self.durable_below.load(Ordering::Acquire);
        self.waiting.wake(next..next + 2);
    }

    /// Writes one group if the disk is free and there is one. Returns whether it did.
    pub fn help(&self, source: &dyn GroupSource) -> bool {
        if !self.process.is_current() {
            return false;
        }
        // With the paper's parameters a group is closed by its count or its time, which only the
        // logging thread watches; a waiting client must not close it early.
        if self.policy != GroupPolicy::Adaptive && self.threaded {
            return false;
        }
        match self.next_group(source) {
            Some(group) => {
                self.write_group(group);
                true
            }
            None => false,
        }
    }

    /// Takes a sealed group, or has one sealed, and counts it as being written.
    fn next_group(&self, source: &dyn GroupSource) -> Option<SealedGroup> {
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
        let group = source.try_seal();
        if group.is_some() {
            // Not counted before: while we try, whoever holds the execution stage must go on seeing
            // that the disk is free, or nobody would take the group if our attempt fails.
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
        if self.threaded {
            self.work.signal();
        } else {
            // Not only the next ones: for a group that was closed because it was full nobody may
            // wait, but for one behind it.
            let next = self.durable_below.load(Ordering::Acquire);
            self.waiting.wake(next..u64::MAX);
        }
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

    /// The logging stage: writes groups until closed. The body of a thread; several may run.
    pub fn run(&self, source: &dyn GroupSource) {
        let mut spun = false;
        loop {
            if self.due()
                && let Some(group) = self.next_group(source)
            {
                self.write_group(group);
                spun = false;
                continue;
            }
            if !spun {
                spun = true;
                if self.spin() {
                    continue;
                }
            }
            // A group is filling but its owner is busy: the owner will look (`after_execution`).
            if self.idle() {
                return;
            }
            spun = false;
        }
    }

    /// Whether a group that is being filled may be closed now.
    fn due(&self) -> bool {
        let GroupPolicy::Fixed { time, .. } = self.policy else {
            return true;
        };
        let queue = self.work.queue.lock();
        !queue.sealed.is_empty()
            || queue.closed
            || queue
                .filling_since
                .is_some_and(|since| since.elapsed() >= time)
    }

    /// Looks for work a short while before parking: a park and a wake-up cost more than this.
    fn spin(&self) -> bool {
        // In a model there is no time that could pass.
        if self.policy != GroupPolicy::Adaptive || cfg!(shuttle) {
            return false;
        }
        let until = Instant::now() + Duration::from_micros(20);
        loop {
            for _ in 0..32 {
                if self.wants_group() && self.filling.load(Ordering::Relaxed) {
                    return true;
                }
                std::hint::spin_loop();
            }
            if Instant::now() >= until {
                return false;
            }
        }
    }

    /// Waits for something to do. Returns whether the stage is closed and empty.
    fn idle(&self) -> bool {
        let mut queue = self.work.queue.lock();
        if queue.signalled {
            queue.signalled = false;
            return false;
        }
        if queue.closed {
            let empty = queue.sealed.is_empty() && !self.filling.load(Ordering::SeqCst);
            return empty || self.poison.get().is_some();
        }
        let due_at = match (self.policy, queue.filling_since) {
            // One that is further away than time reaches never comes.
            (GroupPolicy::Fixed { time, .. }, Some(since)) => since.checked_add(time),
            _ => None,
        };
        match due_at {
            Some(due_at) => {
                self.work.arrived.wait_until(&mut queue, due_at);
            }
            None => self.work.arrived.wait(&mut queue),
        }
        queue.signalled = false;
        false
    }
}
