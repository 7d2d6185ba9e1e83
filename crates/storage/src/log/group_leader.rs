//! Group commit of processes that share memory: the first thread that waits for durability writes for all, without a
//! server.
//!
//! Transactions commit in the shared memory, by publishing their redo there in one order ([`PublishedRedo`]). The *writer
//! lock* makes one thread of one process the leader. It takes all published redo that is not durable yet, and writes it as
//! one commit group ([`LogLeader`]). If it is killed, the next one gets the lock and writes the group again; nothing was
//! acknowledged in between (I1, I9).
//!
//! The leader waits a moment for the writers of the last group. They were acknowledged just now and will be back soon, and
//! a group with them costs no more. If they do not come, as of two that change one page in turn, so many groups do not
//! wait: one, two, four, and so on up to a bound.
//!
//! Invariants: a thread that waits sleeps for a bounded time, and looks after the leader then. It notes that it waits
//! before it looks whether it has to, and the leader looks for such notes after it has written: no wake-up is lost.

use super::{LogLayout, LogLeader, LogPosition, LogState, SharedLogError};
use sardonyx_base::named_lock::NamedLock;
use sardonyx_base::sync::{ChangesWord, Mutex};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A waiting thread looks after the leader so often: it may have died.
pub const LOOK_AFTER: Duration = Duration::from_millis(5);

/// The time that a waiting thread looks before it sleeps: on two processors a wake-up costs about as much.
const LOOK: Duration = Duration::from_micros(10);

/// The leader waits for the writers of the last group for this part of the time that writing it took, but not longer than
/// [`GATHER_MAX`].
const GATHER_PART: u64 = 2;
const GATHER_MAX: Duration = Duration::from_micros(100);

/// After so many looks the leader lets others use its processor.
const LOOKS: u32 = 64;

/// At most so many groups in a row do not wait for writers that did not come.
const HURRIED_MAX: u64 = 64;

/// Words with a bit for each writer, at most.
const WRITER_WORDS_MAX: usize = 16;

/// Everything that the processes share about commit groups. Zero is the state of a new memory.
#[derive(Clone, Copy, Debug)]
pub struct GroupWords<'a> {
    /// Held by the leader.
    pub writer: &'a NamedLock,
    /// The published redo before it is on stable storage.
    pub durable: &'a AtomicU64,
    /// Counts groups, written or not: a thread that waits for one waits for it to change.
    pub groups: &'a ChangesWord,
    /// Nonzero if a thread may wait for that.
    pub waited: &'a AtomicU64,
    /// The time of the last group's write, in nanoseconds.
    pub write_time: &'a AtomicU64,
    /// The groups that are not to wait for writers.
    pub hurried: &'a AtomicU64,
    /// Their number when it was last decided.
    pub in_vain: &'a AtomicU64,
    /// The writers of the last group, a bit for each.
    pub last_writers: &'a [AtomicU64],
}

/// A place at which a test lets the leader die, and an experiment lets it sleep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LeaderStep {
    /// A group is about to be written.
    Leading,
    /// It is on stable storage, and nothing was acknowledged.
    Written,
    /// That is known to all, and the lock is still held.
    Led,
}

/// The records of a group, as far as they are found.
#[derive(Debug)]
pub struct GroupSize {
    bytes_max: u64,
    bytes: u64,
    transactions: u32,
}

impl GroupSize {
    /// Counts the transactions taken so far.
    pub fn transactions(&self) -> u32 {
        self.transactions
    }

    /// True if a transaction with so many bytes of records comes into the group: the first one always does.
    pub fn takes(&mut self, bytes: usize) -> bool {
        self.bytes += bytes as u64;
        let takes = self.bytes <= self.bytes_max || self.transactions == 0;
        self.transactions += u32::from(takes);
        takes
    }
}

/// The redo of committed transactions in shared memory, as one of its processes sees it.
pub trait PublishedRedo {
    /// The caller's error.
    type Error: From<SharedLogError>;

    /// The words about groups.
    fn words(&self) -> GroupWords<'_>;

    /// The processes' knowledge of the log.
    fn log_state(&self) -> &LogState;

    /// The end of what is published.
    fn tail(&self) -> u64;

    /// This process' name, for the lock.
    fn name(&self) -> u32;

    /// False if the process of a name has died.
    fn lives(&self, name: u32) -> bool;

    /// The writer of the frame at a position before the tail, as a number of a bit; and the position behind it, which is
    /// further on whatever the memory has.
    fn frame_writer(&self, at: u64) -> (usize, u64);

    /// Finds the frames from a position on, up to another one, as long as the group takes them. Passes their records, whole
    /// when put together, the position behind them, and [`GroupSize::transactions`].
    ///
    /// # Errors
    /// The errors of `write`; what is there is no frame ([`SharedLogError::Poisoned`]).
    fn with_group<R>(
        &self,
        from: u64,
        to: u64,
        size: &mut GroupSize,
        write: impl FnOnce(&[&[u8]], u64, u32) -> Result<R, SharedLogError>,
    ) -> Result<R, SharedLogError>;

    /// This thread has waited for another leader, or for the driver.
    ///
    /// # Errors
    /// It is to wait no longer.
    fn has_waited(&self, looks: &mut Self::Looks<'_>) -> Result<(), Self::Error>;

    /// The looks of one wait after those who are waited for.
    type Looks<'a>
    where
        Self: 'a;

    /// The looks of a wait that begins.
    fn looks(&self) -> Self::Looks<'_>;

    /// Called at a step. The time of the first is a part of the write's.
    #[inline]
    fn step(&self, _step: LeaderStep) {}

    /// Called when a group is durable, with the lock.
    #[inline]
    fn group_written(&self) {}
}

/// One process' use of a log that it writes with others.
#[derive(Debug)]
pub struct GroupLeader {
    leader: Mutex<LogLeader>,
    layout: LogLayout,
    group_bytes_max: u64,
    gathers: bool,
}

impl GroupLeader {
    /// The use of this leader.
    pub fn new(leader: LogLeader) -> Self {
        GroupLeader {
            layout: leader.layout(),
            // So that what is published and not durable, and one more transaction, become few groups.
            group_bytes_max: leader.group_bytes_max() as u64 / 2,
            leader: Mutex::new(leader),
            gathers: true,
        }
    }

    /// The same without looking at clocks: no leader waits for writers.
    pub fn without_clocks(self) -> Self {
        GroupLeader {
            gathers: false,
            ..self
        }
    }

    /// The log's layout.
    pub fn layout(&self) -> LogLayout {
        self.layout
    }

    /// More bytes of records than this are written as a group of one transaction.
    pub fn group_bytes_max(&self) -> u64 {
        self.group_bytes_max
    }

    /// Writes one group with what is published and not durable, unless another thread does. Returns true unless another
    /// one did.
    ///
    /// # Errors
    /// The errors of [`LogLeader::write_group`].
    pub fn try_lead(&self, redo: &impl PublishedRedo) -> Result<bool, SharedLogError> {
        let words = redo.words();
        let inherited = words
            .writer
            .try_inherit(redo.name(), |name| redo.lives(name));
        match inherited {
            Some(_) => self.lead_and_tell(redo, &words).map(|()| true),
            None => Ok(false),
        }
    }

    fn lead_and_tell(
        &self,
        redo: &impl PublishedRedo,
        words: &GroupWords<'_>,
    ) -> Result<(), SharedLogError> {
        let led = self.lead(redo, words);
        redo.step(LeaderStep::Led);
        words.give_back();
        led
    }

    /// The caller holds the writer lock.
    fn lead(
        &self,
        redo: &impl PublishedRedo,
        words: &GroupWords<'_>,
    ) -> Result<(), SharedLogError> {
        let state = redo.log_state();
        let from = state.durable_tail();
        // An earlier leader may have died between the log's end and this.
        words.durable.fetch_max(from, Ordering::SeqCst);
        if from == redo.tail() {
            return Ok(());
        }
        let writers = self.gathers.then(|| gather(redo, words, from));
        let mut size = GroupSize {
            bytes_max: self.group_bytes_max,
            bytes: 0,
            transactions: 0,
        };
        let to = redo.tail();
        let (end, took) = redo.with_group(from, to, &mut size, |records, end, transactions| {
            let began = self.gathers.then(Instant::now);
            redo.step(LeaderStep::Leading);
            self.leader
                .lock()
                .write_group(state, transactions, records, end)?;
            Ok((end, began.map(|began| began.elapsed())))
        })?;
        if let (Some(took), Some(writers)) = (took, writers) {
            let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
            words.write_time.store(took, Ordering::Relaxed);
            for (word, writers) in words.last_writers.iter().zip(writers) {
                word.store(writers, Ordering::Relaxed);
            }
        }
        redo.step(LeaderStep::Written);
        words.durable.store(end, Ordering::SeqCst);
        redo.group_written();
        Ok(())
    }

    /// Returns when everything published before this position is durable.
    ///
    /// # Errors
    /// The log's, also if it failed before; that of [`PublishedRedo::has_waited`].
    pub fn wait<P: PublishedRedo>(&self, redo: &P, position: u64) -> Result<(), P::Error> {
        let words = redo.words();
        let is_durable = || words.durable.load(Ordering::SeqCst) >= position;
        let (mut looking, mut looks) = (None, None);
        while !is_durable() {
            redo.log_state().check()?;
            if words.writer.try_lock(redo.name()) {
                self.led(redo, self.lead_and_tell(redo, &words))?;
                looking = None;
                continue;
            }
            let since = *looking.get_or_insert_with(Instant::now);
            // If others sleep already, the processors are wanted.
            if since.elapsed() < LOOK && words.waited.load(Ordering::Relaxed) == 0 {
                std::hint::spin_loop();
                continue;
            }
            words.sleep(is_durable);
            if is_durable() {
                break;
            }
            redo.has_waited(looks.get_or_insert_with(|| redo.looks()))?;
            let inherited = words
                .writer
                .try_inherit(redo.name(), |name| redo.lives(name));
            if inherited.is_some() {
                self.led(redo, self.lead_and_tell(redo, &words))?;
            }
        }
        Ok(())
    }

    /// The driver is preparing a segment, or freeing one, if there was no room.
    fn led<P: PublishedRedo>(
        &self,
        redo: &P,
        led: Result<(), SharedLogError>,
    ) -> Result<(), P::Error> {
        if !matches!(led, Err(SharedLogError::NoRoom)) {
            return Ok(led?);
        }
        let state = redo.log_state();
        let seen = state.changes();
        state.notify();
        state.wait(seen + 1, LOOK_AFTER);
        Ok(())
    }

    /// Marks the log's end, and returns its place: this is the last process. The caller holds the writer lock, or is alone.
    ///
    /// # Errors
    /// The errors of [`LogLeader::write_end_mark`].
    #[inline]
    pub fn end(&self, state: &LogState) -> Result<LogPosition, SharedLogError> {
        self.leader.lock().write_end_mark(state)
    }
}

impl GroupWords<'_> {
    /// Gives the writer lock back, and wakes those who wait for a group.
    pub fn give_back(&self) {
        self.writer.unlock();
        if self.waited.load(Ordering::SeqCst) != 0 {
            self.waited.store(0, Ordering::SeqCst);
            self.groups.change();
        }
    }

    /// Sleeps until a group was written, unless `is_over`; for a bounded time.
    fn sleep(&self, is_over: impl Fn() -> bool) {
        let seen = self.groups.value();
        self.waited.store(1, Ordering::SeqCst);
        // The leader may have given the lock back before that was noted.
        if !is_over() && self.writer.holder().is_some() {
            self.groups.wait(seen, LOOK_AFTER);
        }
    }
}

/// Waits a moment until the writers of the last group are in this one. Returns those that are.
fn gather(redo: &impl PublishedRedo, words: &GroupWords<'_>, from: u64) -> [u64; WRITER_WORDS_MAX] {
    let mut writers = [0; WRITER_WORDS_MAX];
    let last = words.last_writers.get(..WRITER_WORDS_MAX);
    let last = last.unwrap_or(words.last_writers);
    let mut seen = from;
    let took = words.write_time.load(Ordering::Relaxed);
    let at_most = Duration::from_nanos(took / GATHER_PART).min(GATHER_MAX);
    let (mut began, mut looks) = (None, 0);
    loop {
        let to = redo.tail();
        while seen < to {
            let (writer, end) = redo.frame_writer(seen);
            let writer = writer % (64 * last.len().max(1));
            writers[writer / 64] |= 1 << (writer % 64);
            seen = end;
        }
        let mut last = last.iter().zip(&writers);
        if last.all(|(last, now)| last.load(Ordering::Relaxed) & !now == 0) {
            if began.is_some() {
                words.in_vain.store(0, Ordering::Relaxed);
            }
            return writers;
        }
        let left = words.hurried.load(Ordering::Relaxed);
        if left > 0 {
            words.hurried.store(left - 1, Ordering::Relaxed);
            return writers;
        }
        if began.get_or_insert_with(Instant::now).elapsed() >= at_most {
            let more = (2 * words.in_vain.load(Ordering::Relaxed)).clamp(1, HURRIED_MAX);
            words.in_vain.store(more, Ordering::Relaxed);
            words.hurried.store(more, Ordering::Relaxed);
            return writers;
        }
        looks += 1;
        match looks % LOOKS {
            0 => std::thread::yield_now(),
            _ => std::hint::spin_loop(),
        }
    }
}
