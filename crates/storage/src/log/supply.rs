//! Room for the log: keeps the next segment prepared, ahead of the writers.
//!
//! A transaction is admitted only when the segment *after* the one being written is there; so what
//! was admitted can always be logged, and a full disk or a full log refuses new transactions
//! instead of stranding executed ones (I10). Preparing happens on a thread of its own, or, when
//! running without threads, on the caller's.
//!
//! Where transactions have ends that need log of their own after work that was admitted (an inverse, a
//! commit), work is admitted only with one segment more ([`SegmentSupply::keep_for_ends`]): that one is for the
//! ends of what runs (I14).
//!
//! A full disk is like a log at its limit: a checkpoint may free segments, and they are used again
//! without new room. Only when one was taken and freed none are transactions refused; the next one
//! tries again.

use super::segment::{Prepared, Segments};
use super::{LogError, Lsn};
use sardonyx_base::sync::atomic::{AtomicU64, Ordering};
use sardonyx_base::sync::{Condvar, Mutex};
use std::sync::Arc;

/// Keeps segments prepared.
#[derive(Debug)]
pub struct SegmentSupply {
    segments: Arc<Segments>,
    state: Mutex<State>,
    /// Signalled when more is wanted, or when segments were freed.
    wanted: Condvar,
    /// Signalled when more was prepared, or could not be.
    settled: Condvar,
    threaded: bool,
    /// Segments to be prepared beyond the one being written.
    ahead: AtomicU64,
}

/// What is to be admitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admission {
    /// A transaction that is logged whole when it ends; or the end of one.
    Whole,
    /// A part of a transaction whose end will need log of its own.
    Work,
}

impl Admission {
    /// The segments that must be prepared beyond the one being written.
    #[inline]
    fn ahead(self) -> u64 {
        match self {
            Admission::Whole => 1,
            Admission::Work => 2,
        }
    }
}

#[derive(Debug, Default)]
struct State {
    /// The log is being written here.
    writing_at: Lsn,
    /// The last attempt to prepare failed.
    failed: Option<LogError>,
    /// Why waiting would not help once the log is at its limit.
    refused: Option<Arc<str>>,
    /// The log is poisoned: there will never be room.
    poisoned: Option<LogError>,
    /// All segments hold needed log: only a checkpoint can free some.
    at_limit: bool,
    /// How often a checkpoint was complete, so that none is missed while preparing.
    frees: u64,
    /// A checkpoint was asked for because the disk is full and the log was being written here: a
    /// second one would free no more.
    asked_at: Option<Lsn>,
    closed: bool,
}

impl State {
    /// Preparing may be tried again if there was no room for it. After any other failure, a sync's above
    /// all, it is not (I7).
    fn forget_want_of_room(&mut self) {
        self.failed.take_if(|error| error.is_want_of_room());
    }
}

impl SegmentSupply {
    /// `threaded`: [`SegmentSupply::run`] is going to run on a thread.
    pub fn new(segments: Arc<Segments>, threaded: bool) -> Self {
        SegmentSupply {
            segments,
            state: Mutex::new(State::default()),
            wanted: Condvar::new(),
            settled: Condvar::new(),
            threaded,
            ahead: AtomicU64::new(2),
        }
    }

    /// From now on there is a segment more, which only [`Admission::Whole`] may use.
    pub fn keep_for_ends(&self) {
        self.ahead.store(3, Ordering::Relaxed);
    }

    /// Whether a transaction may be admitted while the log is being written at `at`. One atomic
    /// load when there is room.
    #[inline]
    pub fn has_room(&self, at: Lsn) -> bool {
        self.has_room_for(Admission::Whole, at)
    }

    /// Whether this may be admitted while the log is being written at `at`.
    #[inline]
    pub fn has_room_for(&self, admission: Admission, at: Lsn) -> bool {
        self.segments.prepared_end() >= self.needed_end(at, admission.ahead())
    }

    fn wanted_end(&self, at: Lsn) -> Lsn {
        self.needed_end(at, self.ahead.load(Ordering::Relaxed))
    }

    #[inline]
    fn needed_end(&self, at: Lsn, ahead: u64) -> Lsn {
        let layout = self.segments.layout();
        layout.segment_start(layout.segment_of(at) + 1 + ahead)
    }

    /// Says where the log is being written, so that preparing goes on ahead of it.
    pub fn advance(&self, at: Lsn) {
        let mut state = self.state.lock();
        state.writing_at = state.writing_at.max(at);
        drop(state);
        if self.segments.prepared_end() < self.wanted_end(at) {
            self.wanted.notify_one();
        }
    }

    /// Waits until a transaction may be admitted. `make_room` is called when all segments hold
    /// needed log, or the disk is full. Without threads it takes a checkpoint, and says whether that
    /// freed any; with threads it asks for one, and says whether [`SegmentSupply::freed`] or
    /// [`SegmentSupply::refuse_when_full`] will be called in any case.
    ///
    /// # Errors
    /// [`LogError::Full`] if the disk is full or the log is at its limit and stays there;
    /// nothing is lost then, and a later attempt may succeed.
    pub fn wait_for_room(
        &self,
        at: Lsn,
        make_room: impl FnMut() -> Result<bool, LogError>,
    ) -> Result<(), LogError> {
        self.wait_for_room_for(Admission::Whole, at, make_room)
    }

    /// Like [`SegmentSupply::wait_for_room`].
    ///
    /// # Errors
    /// As there.
    #[cold]
    pub fn wait_for_room_for(
        &self,
        admission: Admission,
        at: Lsn,
        mut make_room: impl FnMut() -> Result<bool, LogError>,
    ) -> Result<(), LogError> {
        if !self.threaded {
            while !self.has_room_for(admission, at) {
                match self.segments.prepare_next().map_err(full) {
                    Ok(Prepared::Yes) => continue,
                    Ok(Prepared::NoRoom) => {}
                    Err(error @ LogError::Full { .. }) => {
                        let asked_at = self.state.lock().asked_at.replace(at);
                        if asked_at == Some(at) {
                            return Err(error);
                        }
                    }
                    Err(error) => return Err(error),
                }
                // If it freed none, another client's checkpoint may have, just before.
                if !make_room()?
                    && let Prepared::NoRoom = self.segments.prepare_next().map_err(full)?
                {
                    return Err(self.at_limit());
                }
            }
            return Ok(());
        }
        let mut asked = false;
        let mut state = self.state.lock();
        state.writing_at = state.writing_at.max(at);
        state.forget_want_of_room();
        loop {
            if let Some(error) = &state.poisoned {
                return Err(error.clone());
            }
            if self.has_room_for(admission, at) {
                return Ok(());
            }
            if let Some(error) = state.failed.clone() {
                let full = matches!(error, LogError::Full { .. });
                if !full || state.asked_at.replace(at) == Some(at) {
                    return Err(error);
                }
                let frees = state.frees;
                drop(state);
                let told = make_room()?;
                state = self.state.lock();
                while told
                    && state.frees == frees
                    && state.refused.is_none()
                    && state.poisoned.is_none()
                    && !state.closed
                {
                    self.settled.wait(&mut state);
                }
                state.forget_want_of_room();
                continue;
            }
            if let Some(reason) = &state.refused
                && state.at_limit
            {
                return Err(LogError::Full {
                    reason: reason.clone(),
                });
            }
            if state.closed {
                return Err(LogError::Closed);
            }
            if state.at_limit && !asked {
                // The next checkpoint may not be due yet, and nothing that would make it so can be
                // written before it is complete.
                asked = true;
                drop(state);
                make_room()?;
                state = self.state.lock();
                continue;
            }
            self.wanted.notify_one();
            self.settled.wait(&mut state);
        }
    }

    fn at_limit(&self) -> LogError {
        if let Some(reason) = self.state.lock().refused.clone() {
            return LogError::Full { reason };
        }
        LogError::Full {
            reason: format!(
                "all {} segments of {} bytes hold log that is still needed; raise the log's limit",
                self.segments.segments_max(),
                self.segments.layout().segment_bytes
            )
            .into(),
        }
    }

    /// Segments were freed, or a checkpoint is complete.
    pub fn freed(&self) {
        if !self.segments.process().is_current() {
            return;
        }
        let mut state = self.state.lock();
        state.frees += 1;
        state.at_limit = false;
        state.forget_want_of_room();
        drop(state);
        self.wanted.notify_one();
        self.settled.notify_all();
    }

    /// From now on, a full log is an error at once rather than a wait: whoever should free it (a
    /// standby) is away. `None` takes that back.
    pub fn refuse_when_full(&self, reason: Option<Arc<str>>) {
        self.state.lock().refused = reason;
        self.settled.notify_all();
    }

    /// The log is poisoned (I7): whoever waits for room is told, because nothing more is written
    /// that a checkpoint could take in and free.
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

    /// Prepares segments until closed. The body of a thread.
    pub fn run(&self) {
        let mut state = self.state.lock();
        while !state.closed {
            let wanted_end = self.wanted_end(state.writing_at);
            if self.segments.prepared_end() >= wanted_end || state.failed.is_some() {
                self.wanted.wait(&mut state);
                continue;
            }
            let frees = state.frees;
            drop(state);
            let outcome = self.segments.prepare_next();
            state = self.state.lock();
            match outcome {
                Ok(Prepared::Yes) => state.at_limit = false,
                Ok(Prepared::NoRoom) => {
                    // Told once: who waits for room wakes us, and we would wake each other for ever.
                    if !std::mem::replace(&mut state.at_limit, true) {
                        self.settled.notify_all();
                    }
                    // Only a checkpoint can free some; `freed` wakes us.
                    if !state.closed && state.frees == frees {
                        self.wanted.wait(&mut state);
                    }
                    continue;
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot prepare a log segment");
                    state.failed = Some(full(error));
                }
            }
            self.settled.notify_all();
        }
    }
}

/// A full disk means a full log: nothing is broken, and nothing was lost.
fn full(error: LogError) -> LogError {
    match &error {
        LogError::Disk(disk) if disk.may_be_tried_again() => LogError::Full {
            reason: format!("{disk}; free disk space and try again").into(),
        },
        _ => error,
    }
}
