//! An orderly end leaves little to redo: the checkpoints of a close, and of an opening that redid much.
//!
//! A program that runs for a short time, again and again, never comes to the end of a checkpoint's
//! interval. Or it ends while a checkpoint is being written, which is lost then. Its log grows all the
//! same, up to the log's limit, and so does the time of its openings. So a close finishes the checkpoint
//! that is being written; or, if the next opening would have much to redo, takes one. It does so for a
//! bounded time: the rest is left to the next one.
//!
//! Invariant: nothing depends on it. The log is whole, marked and recorded before.

use super::stage::CheckpointStage;
use crate::log::LogPosition;
use sardonyx_base::events;
use std::time::{Duration, Instant};

/// The part of a checkpoint's interval that is much to redo: with the usual options 96 MiB of log, about
/// half a second of an opening.
const MUCH: u64 = 8;

impl CheckpointStage {
    /// Before a close: finishes the checkpoints that are being written, and takes one where there is
    /// much to redo, for at most `within`. `end`: the end of the durable log. If followers take the
    /// checkpoints, nothing is to be done.
    pub fn settle(&self, end: LogPosition, within: Duration) {
        if self.is_left_to_followers() || within.is_zero() || self.failure().is_some() {
            return;
        }
        let started = Instant::now();
        if !self.want_what_is_worth_it(end) {
            return;
        }
        // A time further away than there is never comes.
        let until = started.checked_add(within);
        let over = || until.is_some_and(|until| Instant::now() >= until);
        while !self.is_settled(until) {
            if over() {
                events::info!(?within, "closing leaves a checkpoint unfinished");
                return;
            }
        }
        events::debug!(took = ?started.elapsed(), "a checkpoint was finished before closing");
    }

    /// After an opening: asks for a checkpoint if much was redone, so that it need not be redone again.
    pub fn settle_after_opening(&self, end: LogPosition) {
        if !self.is_left_to_followers() && self.is_much(self.complete_from(), end) {
            self.want(end);
        }
    }

    /// True if so much log is much to redo. A small part of a large database's pages is not: writing
    /// them all would take longer.
    fn is_much(&self, from: LogPosition, end: LogPosition) -> bool {
        let redo = end.lsn.0.saturating_sub(from.lsn.0);
        let pages = self.stored_bytes();
        redo >= self.interval().bytes / MUCH && redo >= pages / MUCH
    }

    /// Asks each stripe for the end of its checkpoint, or for one. Returns whether any was.
    fn want_what_is_worth_it(&self, end: LogPosition) -> bool {
        let complete_from = self.complete_from();
        let much = self.is_much(complete_from, end);
        let mut wanted = false;
        for stripe in 0..self.stripes() {
            // The checkpoint that is being written has the log before its beginning.
            let position = match self.writing_from(stripe) {
                Some(began_at) => Some(began_at),
                None => much.then_some(end),
            };
            if let Some(position) = position {
                self.want_of(stripe, position);
                wanted = true;
            }
        }
        wanted
    }
}
