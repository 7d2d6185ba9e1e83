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
//! No hand-over is lost. A thread that leaves a group open because the disk was busy looks again after it released the
//! pen. A writer publishes that the disk is free before it looks for a group. Both accesses are sequentially
//! consistent, so one of them sees the other. A step that found the pen taken leaves word
//! (`LogWriter::was_turned_away`), and the holder steps in its place. A step that took a place at the disk and could
//! not seal takes the groups that were handed over meanwhile. It notifies the threads that found no place. A thread
//! without a buffer is notified when one is returned. Waiters register before they check the condition. The models in
//! `tests/shuttle_hand_over` explore all of that.
//!
//! Source: TPK paper, section 2, "Logging".

mod behind;
mod gathering;
mod remote;
mod sealing;
mod thread;
mod writing;

pub use gathering::Gathering;
pub use remote::{RemoteCopy, SendsAhead};

use super::durable::DurablePrefix;
use super::follow::Feed;
use super::open_group::OpenGroup;
use super::policy::{GroupLimits, GroupPolicy};
use super::pool::{BufferPool, DurableGroup};
use super::published::PublishedEnd;
use super::recent::RecentGroups;
use super::seal::{SealedGroup, Sequencer};
use super::segment::Segments;
use super::statistics::{Counters, LogStatistics};
use super::supply::SegmentSupply;
use super::waiting::Waiting;
use super::{LogError, LogPosition, LogState, SharedEnd};
use crate::drive::Drive;
use crate::pen::Holder;
use crate::supervisor::SupervisorNumber;
use behind::Behind;
use remote::Copying;
use sardonyx_base::events;
use sardonyx_base::process::Process;
use sardonyx_base::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use sardonyx_base::sync::{CacheLine, Condvar, Mutex};
use std::collections::VecDeque;
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
    pub(crate) open: CacheLine<Mutex<OpenGroup>>,
    pub(crate) holder: CacheLine<Holder>,
    /// The state that the logging threads watch while the holder of the pen appends.
    watched: CacheLine<Watched>,
    engine: SupervisorNumber,
    segments: Arc<Segments>,
    room: Arc<SegmentSupply>,
    pool: Arc<BufferPool>,
    policy: GroupPolicy,
    limits: GroupLimits,
    drive: Drive,
    work: Arc<Work>,
    prefix: CacheLine<Mutex<DurablePrefix<Arc<DurableGroup>>>>,
    /// All groups below this number are durable.
    durable_below: CacheLine<AtomicU64>,
    /// The end of the durable log.
    state: CacheLine<LogState>,
    waiting: Waiting,
    feeds: Vec<Arc<Feed>>,
    /// For the carrier of the log to a store, if there is one.
    recent: OnceLock<Arc<RecentGroups>>,
    /// Groups on their way to a copy elsewhere, if there is one.
    remote: Option<Copying>,
    /// Groups that the copy has and that are written here, on their way to stable storage here, if that is not waited
    /// for.
    behind: Option<Behind>,
    /// For readers in other processes.
    published: Option<PublishedEnd>,
    poison: OnceLock<LogError>,
    counters: CacheLine<Counters>,
}

/// Signals that there is a group to take, and that a thread missed one.
#[derive(Debug, Default)]
struct Watched {
    /// Groups that are sealed or being written.
    outstanding: AtomicUsize,
    /// The group being filled has transactions.
    filling: AtomicBool,
    /// All of them are put off: a logging thread leaves the group until it is due.
    put_off: AtomicBool,
    /// A caller waits for a group below this number: such a group is not put off.
    wanted_below: AtomicU64,
    /// A step could not seal the open group, since the pen was taken.
    turned_away: AtomicBool,
    /// So many programs report when their threads rest: [`Gathering`].
    gathering: AtomicUsize,
}

/// The events that the logging thread waits for.
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
    /// A thread looked for a group while all places at the disk were taken.
    turned_away: bool,
    /// Something happened since the logging thread last looked.
    signalled: bool,
    /// The time when the group being filled got its first transaction; for [`GroupPolicy::Fixed`].
    filling_since: Option<Instant>,
    /// The time when a group that is put off is due. A later group may be due later.
    due_at: Option<Instant>,
    /// Threads that sleep until a time.
    timed: usize,
    closed: bool,
}

impl Queue {
    /// True if a group that was put off is to be written now. In a model no time passes: it is due at once.
    fn is_due(&self) -> bool {
        let is_past = |at: Instant| self.closed || cfg!(shuttle) || at <= Instant::now();
        self.due_at.is_some_and(is_past)
    }
}

impl LogWriter {
    /// Continues at the position of `sequencer`: everything before that is on disk.
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
        let open = OpenGroup::new(sequencer, pool.take(), policy, limits, room.clone());
        let engine = SupervisorNumber::next();
        LogWriter {
            process: Process::current(),
            open: CacheLine(Mutex::new(open)),
            holder: CacheLine(Holder::new(engine)),
            watched: CacheLine::default(),
            engine,
            segments,
            room,
            pool: Arc::new(pool),
            policy,
            limits,
            drive,
            work,
            prefix: CacheLine(Mutex::new(DurablePrefix::new(durable))),
            durable_below: CacheLine(AtomicU64::new(durable.group)),
            state: CacheLine(LogState::private(SharedEnd {
                position: durable,
                tail: 0,
            })),
            waiting: Waiting::default(),
            feeds,
            recent: OnceLock::new(),
            remote: None,
            behind: None,
            published: None,
            poison: OnceLock::new(),
            counters: CacheLine::default(),
        }
    }

    /// This log, whose durable end is published for readers in other processes.
    #[must_use]
    pub(crate) fn publishing(mut self, published: PublishedEnd) -> Self {
        self.published = Some(published);
        self
    }

    /// The store has the groups before this number, for readers in other processes.
    #[cfg(feature = "hosts")]
    pub(crate) fn store_has(&self, before: u64) {
        let published = self.published.iter();
        published.for_each(|published| published.store_has(before));
    }

    /// The threads that take the steps.
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

    /// The rule that closes groups.
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

    /// The supply that keeps its segments prepared.
    pub(crate) fn supply(&self) -> &Arc<SegmentSupply> {
        &self.room
    }

    /// The end of the durable log.
    pub fn durable(&self) -> LogPosition {
        self.state.end().position
    }

    /// Returns true if the group of this number and all earlier ones are durable.
    #[inline]
    pub fn is_durable(&self, number: u64) -> bool {
        self.durable_below.load(Ordering::Acquire) > number
    }

    /// Returns true if an error closed the log (I7).
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

    /// Refuses callers that must not wait for others: a thread that holds the pen, and the engine's own.
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

    /// Waits until the group of this number is durable, taking steps meanwhile. For the engine's own threads, and for
    /// callers that cannot be inside the engine.
    ///
    /// # Errors
    /// The error that poisoned the log: the transaction's fate is unknown (I7).
    pub fn wait(&self, number: u64) -> Result<(), LogError> {
        self.process.check()?;
        loop {
            if self.is_durable(number) {
                return Ok(());
            }
            if let Err(error) = self.check() {
                return self.fate(number, error);
            }
            let seen = self.waiting.seen(number);
            self.want_group(number);
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
        if !self.gathers() && self.want_group(number) {
            self.work.signal();
        }
        // It may have become durable, or the log poisoned, just before the waker was there.
        if self.is_durable(number) {
            return Poll::Ready(Ok(()));
        }
        match self.check() {
            Ok(()) => Poll::Pending,
            Err(error) => Poll::Ready(self.fate(number, error)),
        }
    }

    /// The result for a group once this error has closed the log: it may have become durable just before.
    #[cold]
    fn fate(&self, number: u64, error: LogError) -> Result<(), LogError> {
        match self.is_durable(number) {
            true => Ok(()),
            false => Err(error),
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
        // Under the prefix's lock: nothing becomes durable afterwards. So no caller is informed that a group is
        // durable after another was informed that its fate is unknown.
        let mut prefix = self.prefix.lock();
        let is_first = self.poison.set(error.clone()).is_ok();
        let early = prefix.abandon();
        drop(prefix);
        if is_first {
            events::error!(%error, "the log is poisoned");
        }
        // Their buffers are returned, so that no thread waits for one for ever; nor for room.
        let abandoned = std::mem::take(&mut self.work.queue.lock().sealed);
        self.watched
            .outstanding
            .fetch_sub(abandoned.len(), Ordering::SeqCst);
        for group in abandoned {
            self.pool.give(group.into_buffer());
        }
        drop(early);
        if let Some(remote) = &self.remote {
            remote.abandon();
        }
        // A thread that died kept its buffers.
        self.pool.stop_waiting();
        self.room.fail(error);
        self.waiting.wake_all();
        self.work.signal();
        self.nudge_behind();
    }

    /// The newest groups in memory, for the carrier of the log to a store.
    #[inline]
    pub fn recent(&self) -> &Arc<RecentGroups> {
        self.recent.get_or_init(Arc::default)
    }

    /// Groups that are sealed and not durable yet: waiting for the disk, at it, or on their way to a copy
    /// elsewhere.
    pub fn outstanding(&self) -> usize {
        self.watched.outstanding.load(Ordering::Relaxed)
    }

    /// Returns true if nothing is durable before a copy of the log elsewhere has it.
    pub fn has_remote_copy(&self) -> bool {
        self.remote.is_some()
    }

    /// The work of the logging stage since the database was opened.
    #[inline]
    pub fn statistics(&self) -> LogStatistics {
        self.counters.read()
    }

    /// Ends [`LogWriter::run`] once nothing more is to be written.
    pub fn close(&self) {
        self.work.queue.lock().closed = true;
        self.look_for_end();
    }
}
