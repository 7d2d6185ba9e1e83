//! Segments prepared ahead of the leaders of all processes: one step of it, to be repeated.
//!
//! Invariants: I6 (a segment is used again only after the checkpoints freed it), I10 (a full disk or
//! a full log is said in the shared state, and refuses rather than strands).

use super::state::SharedLogState;
use crate::checkpoint::{CheckpointStage, Waiting};
use crate::log::segment::{Prepared, Segments};
use crate::log::{LogError, LogPosition, Lsn};
use sardonyx_base::sync::futex::Mutex;
use std::sync::Arc;

/// Segments prepared beyond the one being written.
const AHEAD: u64 = 2;

/// What a step did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Preparation {
    /// Enough is prepared.
    Enough,
    /// One more is prepared; there may be need of another.
    OneMore,
    /// None could be: a checkpoint must free some, or the disk is full.
    Refused,
}

/// Prepares segments.
#[derive(Debug)]
pub(super) struct Preparing {
    segments: Arc<Segments>,
    stage: Arc<CheckpointStage>,
    /// The last checkpoint that was asked for because the log was at its limit.
    asked: Mutex<Option<LogPosition>>,
}

impl Preparing {
    pub(super) fn new(segments: Arc<Segments>, stage: Arc<CheckpointStage>) -> Self {
        Preparing {
            segments,
            stage,
            asked: Mutex::new(None),
        }
    }

    /// Prepares a segment if there is need of one.
    pub(super) fn step(&self, state: &SharedLogState) -> Preparation {
        self.publish(state);
        let end = state.end().position;
        if self.segments.prepared_end() >= self.needed_end(end, AHEAD) {
            return Preparation::Enough;
        }
        match self.segments.prepare_next() {
            Ok(Prepared::Yes) => {
                state.refuse(None);
                self.publish(state);
                state.notify();
                Preparation::OneMore
            }
            Ok(Prepared::NoRoom) => {
                self.make_room(state, end);
                Preparation::Refused
            }
            Err(error) => {
                // A checkpoint may free segments, which are used again without new room: it is waited
                // for, once.
                if !(error.is_want_of_room() && self.make_room(state, end)) {
                    self.refuse(state, &explain(&error));
                }
                Preparation::Refused
            }
        }
    }

    fn publish(&self, state: &SharedLogState) {
        state.publish_prepared_end(self.segments.prepared_end());
    }

    fn needed_end(&self, end: LogPosition, ahead: u64) -> Lsn {
        let layout = self.segments.layout();
        layout.segment_start(layout.segment_of(end.lsn) + 1 + ahead)
    }

    /// All segments hold needed log, or the disk is full. If that keeps transactions out, a checkpoint
    /// is asked for: the next one may not be due yet, and nothing that would make it so can be written
    /// before. Returns whether there may be room when it is complete.
    fn make_room(&self, state: &SharedLogState, end: LogPosition) -> bool {
        if self.segments.prepared_end() >= self.needed_end(end, 1) {
            return true;
        }
        if let Some(error) = self.stage.failure() {
            let reason = format!("nothing can be freed, because checkpointing stopped: {error}");
            self.refuse(state, &reason);
            return false;
        }
        let mut asked = self.asked.lock();
        let complete = self.stage.complete_from().group;
        if asked.is_none_or(|asked| asked.group < end.group && asked.group <= complete) {
            *asked = Some(end);
            self.stage.want(end);
        }
        if let Some(Waiting { cause, .. }) = self.stage.waiting() {
            // What to do comes first: the text may be cut off.
            let reason = format!("free disk space and try again (the checkpoint waits: {cause})");
            self.refuse(state, &reason);
            return false;
        }
        asked.is_some_and(|asked| asked.group > complete)
    }

    fn refuse(&self, state: &SharedLogState, reason: &str) {
        let before = state.refusal();
        state.refuse(Some(reason));
        // Told once: whoever waits for room may poke us, and we would wake each other for ever.
        if before.is_none() {
            tracing::warn!(%reason, "no room for more log");
            state.notify();
        }
    }
}

/// A full disk means a full log: nothing is broken, and nothing was lost.
fn explain(error: &LogError) -> String {
    match error {
        LogError::Disk(disk) if disk.may_be_tried_again() => {
            format!("free disk space and try again ({disk})")
        }
        _ => error.to_string(),
    }
}
