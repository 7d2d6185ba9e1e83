//! The supply of segments: keeps the next ones prepared, ahead of the writers.
//!
//! A transaction is admitted only when the segment *after* the one being written is there. So an admitted transaction
//! can always be logged. A full disk or a full log refuses new transactions instead of stranding executed ones (I10).
//!
//! If ends of transactions need log of their own after admitted work (an inverse, a commit), work is admitted only
//! with one segment more ([`SegmentSupply::keep_for_ends`]). That one is for the ends of running transactions (I14).
//!
//! A log that is still in its first segment is small, and grows with use. There a transaction has its needs prepared
//! as it appends ([`super::room`]), and the supply keeps twice the used space.
//!
//! All of it is [`SegmentSupply::step`]: prepare a segment if there is need of one. A thread of the database repeats
//! it ([`SegmentSupply::run`]), or a thread that waits for room. If several processes share the log, the process that
//! drives the work of all repeats it, and also publishes the results.
//!
//! A full disk is like a log at its limit: a checkpoint may free segments, and they are used again without new room.
//! It is requested once for a place of the log, since a second one would free no more. Only when it has freed none, or
//! cannot be taken ([`FreesLog::obstacle`]), transactions are refused; the next one tries again. After any other
//! failure, a sync's above all, the thread tries nothing again (I7). A caller that takes the steps itself gets the
//! error, and begins a file anew with the next one.

mod admission;
mod state;

use super::segment::{MARGIN_BYTES, Prepared, Segments};
use super::{LogError, LogLayout, LogPosition, Lsn};
use crate::drive::Drive;
pub use admission::Admission;
use sardonyx_base::events;
use sardonyx_base::sync::atomic::{AtomicU64, Ordering};
use sardonyx_base::sync::{Condvar, Mutex, MutexGuard};
use state::State;
use std::sync::{Arc, OnceLock, Weak};

/// Keeps segments prepared.
#[derive(Debug)]
pub struct SegmentSupply {
    segments: Arc<Segments>,
    state: Mutex<State>,
    /// Signalled when there is something to do.
    wanted: Condvar,
    /// Signalled when more was prepared, or could not be.
    settled: Condvar,
    drive: Drive,
    /// Segments to be prepared beyond the one being written.
    ahead: AtomicU64,
    /// The consumer that frees log while a transaction runs.
    freeing: OnceLock<Weak<dyn FreesLog>>,
}

/// Frees log space that is not needed any more: implemented by the checkpoints.
pub trait FreesLog: Send + Sync {
    /// Asks for a checkpoint that has everything before `position`. Returns true if the supply will be notified of the
    /// result, by [`SegmentSupply::freed`] or [`SegmentSupply::look_again`].
    fn want(&self, position: LogPosition) -> bool;

    /// The reason why nothing can be freed now, and the remedy.
    fn obstacle(&self) -> Option<Arc<str>>;

    /// Without threads: does the possible part of the requested work.
    fn work_off(&self) {}

    /// Returns true if a checkpoint can be taken while a transaction runs that waits for it.
    fn frees_inside(&self) -> bool {
        true
    }
}

/// The result of a step of the supply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Supplied {
    /// Enough is prepared.
    Enough,
    /// One more is prepared; there may be need of another.
    OneMore,
    /// None could be prepared, but no transaction needs it yet, or a checkpoint will free some.
    Waits,
    /// None could be prepared, and transactions are refused: see [`SegmentSupply::refusal`].
    Refused,
}

impl SegmentSupply {
    /// With threads, [`SegmentSupply::run`] is going to run on one.
    pub fn new(segments: Arc<Segments>, drive: Drive) -> Self {
        let state = State {
            at: LogPosition::START,
            prepared_at: LogPosition::START,
            waited_for: Lsn(0),
            signalled: false,
            looking: false,
            waits_for_stable: false,
            failed_for: None,
            asked: None,
            freed: 0,
            refusal: None,
            poisoned: None,
            closed: false,
        };
        SegmentSupply {
            segments,
            state: Mutex::new(state),
            wanted: Condvar::new(),
            settled: Condvar::new(),
            drive,
            ahead: AtomicU64::new(2),
            freeing: OnceLock::new(),
        }
    }

    /// Sets the consumer that frees log for a transaction that needs more of it while it runs.
    pub(crate) fn set_freeing(&self, by: Weak<dyn FreesLog>) {
        // It is the same for all pens of a log.
        let _ = self.freeing.set(by);
    }

    /// The log's files.
    pub fn segments(&self) -> &Arc<Segments> {
        &self.segments
    }

    /// From now on there is a segment more, which only [`Admission::Whole`] may use.
    pub fn keep_for_ends(&self) {
        self.ahead.store(3, Ordering::Relaxed);
    }

    /// Returns true if a transaction may be admitted while the log is being written at `at`. One atomic load when
    /// there is room.
    #[inline]
    pub fn has_room(&self, at: Lsn) -> bool {
        self.has_room_for(Admission::Whole, at)
    }

    /// Returns true if this may be admitted while the log is being written at `at`.
    #[inline]
    pub fn has_room_for(&self, admission: Admission, at: Lsn) -> bool {
        self.segments.prepared_end() >= self.needed_for(admission, at)
    }

    /// To where the log must be prepared for this while it is being written at `at`.
    #[inline]
    pub(super) fn needed_for(&self, admission: Admission, at: Lsn) -> Lsn {
        match admission {
            Admission::Measured if self.segments.grows(at) => Lsn(at.0 + MARGIN_BYTES),
            admission => self.needed_end(at, admission.ahead()),
        }
    }

    fn wanted_end(&self, state: &State) -> Lsn {
        let (at, layout) = (state.at.lsn, self.segments.layout());
        let (begin, segment_bytes) = (layout.begin().0, layout.segment_bytes);
        let of_use = match self.segments.grows(at) {
            // The first segment is made longer when half of it is used; when half of the longest is, the
            // next ones are prepared, too.
            true if at.0 - begin < segment_bytes / 2 => Lsn(at.0 + (at.0 - begin) + 1),
            _ => self.needed_end(at, self.ahead.load(Ordering::Relaxed)),
        };
        of_use.max(state.waited_for)
    }

    /// Returns true if transactions have no room at the place where the log is being written.
    fn keeps_out(&self, state: &State) -> bool {
        let at = state.at.lsn;
        let needed = match self.segments.grows(at) {
            true => self.needed_for(Admission::Measured, at),
            false => self.needed_end(at, self.ahead.load(Ordering::Relaxed) - 1),
        };
        self.segments.prepared_end() < needed.max(state.waited_for)
    }

    #[inline]
    fn needed_end(&self, at: Lsn, ahead: u64) -> Lsn {
        let layout = self.segments.layout();
        layout.segment_start(layout.segment_of(at) + 1 + ahead)
    }

    /// Prepares segments before the first transaction of a log that ends at `at`: so many files, whole, and in any
    /// case the segment after the one that is written, unless the log is still small. Existing ones are made stable.
    /// If the disk has no room for them, transactions are refused later, but the database is opened: something may yet
    /// be freed.
    ///
    /// # Errors
    /// The disk's, but not want of room.
    pub fn prepare_for_opening(&self, at: LogPosition, files: u64) -> Result<(), LogError> {
        self.segments.confirm(at.lsn)?;
        self.advance(at);
        // The groups before the opening say nothing about the ones to come.
        self.state.lock().prepared_at = at;
        let admission = match files {
            0 => Admission::Measured,
            _ => Admission::Whole,
        };
        while self.segments.count().1 < files || !self.has_room_for(admission, at.lsn) {
            match self.segments.prepare_next() {
                Ok(Prepared::Yes) => {}
                Ok(Prepared::NoRoom) => break,
                Err(error) if error.is_want_of_room() => {
                    events::warn!(%error, "no room for more log");
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Prepares the space of a group of so many bytes that is written at `at`, on the calling thread.
    ///
    /// # Errors
    /// [`LogError::Full`] if there is no room for it: nothing is lost, and a later attempt may succeed. Any
    /// other failure is the end of preparing (I7).
    pub(crate) fn prepare_for_group(&self, at: Lsn, bytes: u64) -> Result<(), LogError> {
        self.prepare_with(|segments| segments.prepare_for_group(at, bytes))
    }

    /// Prepares the space of a group that ends at `end`, and the space that is to stay prepared behind it. The log is
    /// being written at `at`. It does so on the calling thread, which holds the pen. If the log is at its limit, a
    /// checkpoint of its durable part frees some of it meanwhile, unless that needs the pen ([`FreesLog::frees_inside`]).
    ///
    /// # Errors
    /// As [`SegmentSupply::prepare_for_group`].
    pub(super) fn prepare_for_large(&self, at: Lsn, end: Lsn) -> Result<(), LogError> {
        let needed = self.segments.needed_behind(at, end);
        let prepared = self.prepare_with(|segments| segments.prepare_until(needed));
        let Err(error) = prepared else { return Ok(()) };
        if !error.is_want_of_room() {
            return Err(error);
        }
        let freeing = self.freeing.get().and_then(Weak::upgrade);
        if let Some(by) = &freeing
            && !by.frees_inside()
        {
            // Taken when the transaction has ended, so that the next attempt finds room.
            let at = self.state.lock().at;
            by.want(at);
            return Err(error.refused_inside());
        }
        let mut state = self.state.lock();
        let before = state.waited_for;
        state.waited_for = before.max(needed);
        state.forget_want_of_room();
        self.signal(state);
        let outcome = match freeing {
            _ if self.drive.has_threads() => self.wait_until_prepared(needed, || Ok(())),
            Some(by) => self.make_room_here(needed, &*by, || {
                by.work_off();
                Ok(())
            }),
            None => Err(error),
        };
        outcome.inspect_err(|_| {
            // Others need less.
            let mut state = self.state.lock();
            state.waited_for = before;
            state.failed_for = None;
            state.forget_want_of_room();
        })
    }

    fn prepare_with(
        &self,
        prepare: impl FnOnce(&Segments) -> Result<(), LogError>,
    ) -> Result<(), LogError> {
        let state = self.state.lock();
        if let Some(error) = &state.poisoned {
            return Err(error.clone());
        }
        if let Some(error) = &state.refusal
            && !error.is_want_of_room()
        {
            return Err(error.clone());
        }
        drop(state);
        let prepared = prepare(&self.segments);
        if let Err(error) = &prepared
            && !error.is_want_of_room()
        {
            self.refuse(self.state.lock(), error.clone());
        }
        prepared
    }

    /// Others wait for the log to be prepared up to here, and no further.
    pub(crate) fn wait_for(&self, end: Lsn) {
        self.state.lock().waited_for = end;
    }

    /// Sets the place at which the log is being written, so that preparing goes on ahead of it.
    pub fn advance(&self, at: LogPosition) {
        let mut state = self.state.lock();
        state.reach(at);
        let looks = state.is_more_stable();
        let wanted = self.wanted_end(&state);
        // After a lack of room, another attempt waits until something was freed, or a caller waits.
        if self.segments.prepared_end() < wanted && state.failed_for != Some(wanted) {
            return self.signal(state);
        }
        drop(state);
        if looks {
            self.wanted.notify_one();
        }
    }

    fn signal(&self, mut state: MutexGuard<'_, State>) {
        state.signalled = true;
        drop(state);
        self.wanted.notify_one();
    }

    /// Prepares a segment if there is need of one. If there is no room for it, and transactions are
    /// kept out thereby, asks for a checkpoint that frees some; if that is of no use, refuses them.
    pub fn step(&self, by: &dyn FreesLog) -> Supplied {
        let mut state = self.state.lock();
        let signalled = std::mem::take(&mut state.signalled);
        state.looking = false;
        let wanted = self.wanted_end(&state);
        if self.segments.prepared_end() >= wanted {
            state.refusal = None;
            return Supplied::Enough;
        }
        // Read before the attempt: log freed meanwhile may be the missing one.
        let (at, freed) = (state.at, state.freed);
        let tried = state.failed_for == Some(wanted) && state.is_freeing() && !signalled;
        if let Some(bytes) = state.group_bytes() {
            self.segments.expect_groups_of(bytes);
        }
        drop(state);
        let error = match tried {
            true => self.segments.at_limit(),
            false => match self.segments.prepare_next() {
                Ok(Prepared::Yes) => return self.prepared_one(at),
                Ok(Prepared::NoRoom) => self.segments.at_limit(),
                Err(error) => error.or_full(),
            },
        };
        if !error.is_want_of_room() {
            return self.refuse(self.state.lock(), error);
        }
        self.make_room(by, (at, freed), wanted, error)
    }

    /// A segment was prepared while the log was being written at `at`.
    fn prepared_one(&self, at: LogPosition) -> Supplied {
        let mut state = self.state.lock();
        (state.refusal, state.failed_for) = (None, None);
        state.prepared_at = at;
        drop(state);
        self.settled.notify_all();
        Supplied::OneMore
    }

    /// A segment found no room: `error`.
    fn make_room(
        &self,
        by: &dyn FreesLog,
        (at, freed): (LogPosition, u64),
        wanted: Lsn,
        error: LogError,
    ) -> Supplied {
        let mut state = self.state.lock();
        state.failed_for = Some(wanted);
        if !self.keeps_out(&state) {
            return Supplied::Waits;
        }
        // The next checkpoint may not be due yet, and nothing that would make it so can be written
        // before it is complete.
        if state
            .asked
            .is_none_or(|asked| asked < at.group && asked <= freed)
        {
            state.asked = Some(at.group);
            drop(state);
            let told = by.want(at);
            state = self.state.lock();
            if !told {
                // There is nothing to wait for: the next step decides.
                state.freed = state.freed.max(at.group);
                state.failed_for = None;
                self.signal(state);
                return Supplied::Waits;
            }
            // A caller that waits may be able to help.
            self.settled.notify_all();
        }
        let useless = state.asked.is_some_and(|asked| asked <= freed);
        drop(state);
        let obstacle = by.obstacle();
        // No more will be freed. Some may have been, by the wish or just before the obstacle came.
        if obstacle.is_some() && matches!(self.segments.prepare_next(), Ok(Prepared::Yes)) {
            return self.prepared_one(at);
        }
        let mut state = self.state.lock();
        match obstacle {
            Some(reason) => self.refuse(state, LogError::Full { reason }),
            None if useless => self.refuse(state, error),
            None => {
                state.refusal = None;
                Supplied::Waits
            }
        }
    }

    fn refuse(&self, mut state: MutexGuard<'_, State>, error: LogError) -> Supplied {
        if state.refusal.is_none() {
            events::warn!(%error, "no room for more log");
        }
        state.refusal = Some(error);
        drop(state);
        self.settled.notify_all();
        Supplied::Refused
    }

    /// Waits until this may be admitted. Without threads the caller does the work. It takes the steps of the supply.
    ///
    /// While these wait for a checkpoint, it calls `drive`, which does its part for that. With threads it calls it once.
    /// Without, it calls it until there is room, so `drive` also makes the filling group durable and takes a step of
    /// checkpointing.
    ///
    /// # Errors
    /// [`LogError::Full`] if the disk is full or the log is at its limit and stays there; nothing is lost then, and a
    /// later attempt may succeed. The error that `drive` returns.
    #[cold]
    pub fn wait_for_room(
        &self,
        admission: Admission,
        at: LogPosition,
        by: &dyn FreesLog,
        drive: impl FnMut() -> Result<(), LogError>,
    ) -> Result<(), LogError> {
        let mut state = self.state.lock();
        state.reach(at);
        let needed = self.needed_for(admission, at.lsn);
        state.waited_for = state.waited_for.max(needed);
        state.forget_want_of_room();
        self.signal(state);
        if !self.drive.has_threads() {
            return self.make_room_here(needed, by, drive);
        }
        self.wait_until_prepared(needed, drive)
    }

    /// Waits until the thread has prepared the log up to here. If that waits for a checkpoint, calls `help` first.
    fn wait_until_prepared(
        &self,
        needed: Lsn,
        help: impl FnOnce() -> Result<(), LogError>,
    ) -> Result<(), LogError> {
        let mut help = Some(help);
        let mut state = self.state.lock();
        loop {
            if let Some(error) = &state.poisoned {
                return Err(error.clone());
            }
            if self.segments.prepared_end() >= needed {
                return Ok(());
            }
            if let Some(error) = &state.refusal {
                return Err(error.clone());
            }
            if state.closed {
                return Err(LogError::Closed);
            }
            if state.is_freeing()
                && let Some(help) = help.take()
            {
                drop(state);
                help()?;
                state = self.state.lock();
                continue;
            }
            self.settled.wait(&mut state);
        }
    }

    fn make_room_here(
        &self,
        needed: Lsn,
        by: &dyn FreesLog,
        mut drive: impl FnMut() -> Result<(), LogError>,
    ) -> Result<(), LogError> {
        let mut driven = false;
        while self.segments.prepared_end() < needed {
            if let Some(error) = self.state.lock().poisoned.clone() {
                return Err(error);
            }
            match (self.step(by), self.refusal()) {
                // No other thread tries again after a lack of room.
                (Supplied::Refused, Some(error)) if driven || !error.is_want_of_room() => {
                    return Err(error);
                }
                (Supplied::Refused | Supplied::Waits, _) => {
                    drive()?;
                    driven = true;
                }
                (Supplied::OneMore | Supplied::Enough, _) => {}
            }
        }
        Ok(())
    }

    /// The error of transactions that are refused for want of room, if they are.
    pub fn refusal(&self) -> Option<LogError> {
        self.state.lock().refusal.clone()
    }

    /// The log before `position` is freed, or the checkpoints that were asked for could free no more of it.
    pub fn freed(&self, position: LogPosition) {
        if !self.segments.process().is_current() {
            return;
        }
        let mut state = self.state.lock();
        state.freed = state.freed.max(position.group);
        state.failed_for = None;
        state.forget_want_of_room();
        self.signal(state);
    }

    /// The result of [`FreesLog::obstacle`] has changed.
    pub fn look_again(&self) {
        // No new attempt: on a full disk it would take the room that the checkpoint is given.
        self.state.lock().looking = true;
        self.wanted.notify_one();
    }

    /// The result of [`FreesLog::obstacle`] may change when more of the log is stable here.
    pub(crate) fn look_again_when_stable(&self) {
        self.state.lock().waits_for_stable = true;
    }

    /// More of the log is stable here than before, although no more of it is durable.
    pub(super) fn is_more_stable(&self) {
        if self.state.lock().is_more_stable() {
            self.wanted.notify_one();
        }
    }

    /// The log is poisoned (I7): callers that wait for room get the error, because no further log is written that a
    /// checkpoint could take in and free.
    pub fn fail(&self, error: LogError) {
        self.state.lock().poisoned.get_or_insert(error);
        self.settled.notify_all();
    }

    /// Ends [`SegmentSupply::run`] and all waits.
    pub fn close(&self) {
        self.state.lock().closed = true;
        self.wanted.notify_all();
        self.settled.notify_all();
    }

    /// Takes steps until closed. The body of a thread.
    pub fn run(&self, by: &dyn FreesLog) {
        let mut state = self.state.lock();
        while !state.closed {
            drop(state);
            let did = self.step(by);
            state = self.state.lock();
            while did != Supplied::OneMore && !state.is_to_be_tried() && !state.closed {
                self.wanted.wait(&mut state);
            }
        }
    }
}
