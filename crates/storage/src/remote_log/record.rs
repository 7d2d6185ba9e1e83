//! The record of a store's place in the log of a database that is open here: the file `STORE` ([`Known`]). It is
//! written before the first entry, now and then ([`record_bytes`](super::copy::record_bytes)), and when the log is full
//! and the store has more of it than is recorded.
//!
//! Only the log that is stable here is recorded, and the log is kept from there on. A record that fails is tried again
//! when the next one is due, or room is wanted.
//!
//! Invariants: I2 (no log is recorded that a power cut may take), I6 (the log is freed only up to the record).

use super::known::Known;
use crate::checkpoint::{CheckpointStage, RecordsStore};
use crate::disk::Disk;
use crate::log::LogPosition;
use crate::log::segment::{LogPin, Segments};
use crate::log::writer::LogWriter;
use sardonyx_base::sync::Mutex;
use std::sync::{Arc, OnceLock};

/// The store's progress with the log, and the part of it that is recorded.
#[derive(Debug)]
pub(super) struct Record {
    disk: Arc<dyn Disk>,
    stage: Arc<CheckpointStage>,
    /// The stable log here, once it is open.
    log: OnceLock<Arc<LogWriter>>,
    /// So much log goes to the store between two records.
    bytes_between: u64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The store has this.
    known: Known,
    unrecorded_bytes: u64,
    /// To be recorded when it is stable here.
    due: Option<Known>,
    /// The end of the log that is recorded as the store's.
    recorded: LogPosition,
    /// Keeps the log from there on.
    pin: Option<LogPin>,
    /// Nothing is written any more.
    is_over: bool,
}

impl Record {
    /// The log here reaches back to the recorded place. If that is not the known one, that one is due.
    pub fn new(
        (known, recorded): (Known, Known),
        disk: Arc<dyn Disk>,
        stage: Arc<CheckpointStage>,
        segments: &Arc<Segments>,
        bytes_between: u64,
    ) -> Arc<Self> {
        stage.store_has(known.log, recorded.log);
        let state = State {
            known,
            unrecorded_bytes: 0,
            due: (recorded != known).then_some(known),
            recorded: recorded.log,
            pin: segments.pin(recorded.log.lsn),
            is_over: false,
        };
        Arc::new(Record {
            disk,
            stage,
            log: OnceLock::new(),
            bytes_between,
            state: Mutex::new(state),
        })
    }

    /// From now on it is recorded when room is wanted in this log, too.
    pub fn serve(self: &Arc<Self>, log: &Arc<LogWriter>) {
        if self.log.set(log.clone()).is_ok() {
            let weak = Arc::downgrade(self);
            self.stage.set_record(weak);
        }
    }

    /// The store has this, of which so many bytes are new.
    pub fn store_has(&self, known: Known, bytes: u64) {
        let mut state = self.state.lock();
        state.known = known;
        state.unrecorded_bytes += bytes;
        if state.unrecorded_bytes >= self.bytes_between && state.due.is_none() {
            state.unrecorded_bytes = 0;
            state.due = Some(known);
        }
        self.stage.store_has(known.log, state.recorded);
        let log = self.log.get();
        log.iter().for_each(|log| log.store_has(known.log.group));
    }

    /// The groups below this number are stable here: records the due part of them.
    pub fn write_below(&self, below: u64) {
        let mut state = self.state.lock();
        if state.due.is_some_and(|due| due.log.group <= below) {
            self.write(&mut state);
        }
    }

    /// All that the store has is stable here: it is written down.
    pub fn write_all(&self) {
        let mut state = self.state.lock();
        state.due = Some(state.known);
        self.write(&mut state);
    }

    /// Waits for a write of another thread, and keeps later ones from the directory: another opening of it may begin.
    pub fn end(&self) {
        self.state.lock().is_over = true;
    }

    /// Records the due part. If that fails the log is kept from the former record on.
    fn write(&self, state: &mut State) {
        let Some(known) = state.due.filter(|_| !state.is_over) else {
            return;
        };
        match known.write(&*self.disk) {
            Ok(()) => {
                state.due = None;
                state.recorded = known.log;
                state.pin.iter().for_each(|pin| pin.advance(known.log.lsn));
                self.stage.is_unrecorded(None);
                self.stage.store_has(state.known.log, known.log);
            }
            Err(error) => self.stage.is_unrecorded(Some(error)),
        }
    }
}

impl RecordsStore for Record {
    fn record_soon(&self) {
        let mut state = self.state.lock();
        if state.known.log.group > state.recorded.group {
            state.due = Some(state.known);
        }
        drop(state);
        // If it is not stable yet, it is written behind the next groups ([`Record::write_below`]).
        self.record_now();
    }

    fn record_now(&self) {
        let Some(log) = self.log.get() else { return };
        let mut state = self.state.lock();
        let end = state.known.log;
        if end.group <= state.recorded.group {
            return;
        }
        let is_stable = || end.group <= log.stable_below();
        if !is_stable() {
            // Log that becomes stable after this has the supply look again; earlier log is seen here.
            log.supply().look_again_when_stable();
            if !is_stable() {
                return;
            }
        }
        state.due = Some(state.known);
        self.write(&mut state);
    }
}
