//! Groups that gather while a program's threads have work, and are written when one of them rests.
//!
//! A server whose processors are busy runs many transactions before a client has its answer, however early the log is
//! written. A write for each of them costs system calls and wake-ups that the transactions need. So a server says that it
//! reports when a thread of its runtime has nothing to do ([`Gathering::rest`]). Until then a group that is handed on is
//! put off, as one of deferred transactions is: it is due within
//! [`DEFERRED_TIME_MAX`](crate::log::policy::DEFERRED_TIME_MAX). With one client, the thread rests at once.
//!
//! Invariant: a group that gathers is written by the first thread that rests, by a thread that waits for it, or when it
//! is due. So no report that is missing delays a transaction for longer. A panic in the writer closes the log (I7). It
//! does not reach the thread that rests, which may be the only one of its clients.

use super::LogWriter;
use crate::drive::Drive;
use crate::log::LogError;
use crate::log::policy::{DEFERRED_TIME_MAX, GroupPolicy};
use sardonyx_base::sync::atomic::Ordering;
use sardonyx_base::user_code::message_of;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A program reports when its threads rest, until this is dropped.
#[derive(Debug)]
pub struct Gathering(Arc<LogWriter>);

impl Gathering {
    /// The calling thread has nothing to do: a group that gathers is written as soon as the disk is free. Never waits.
    #[inline]
    pub fn rest(&self) {
        self.resting(LogWriter::rest);
    }

    /// As [`Gathering::rest`]; the calling thread itself writes the group if the last one took no longer than
    /// [`DEFERRED_TIME_MAX`](crate::log::policy::DEFERRED_TIME_MAX), and no group waits for a logging thread. For a thread
    /// whose clients all wait for answers: that saves a wake-up of a logging thread, and its wake-up of this one. A write
    /// that hangs holds the thread.
    #[inline]
    pub fn rest_writing(&self) {
        self.resting(LogWriter::rest_writing);
    }

    /// Runs the work of a thread that rests. A group that it took may be lost to the logging threads after a panic.
    #[inline]
    fn resting(&self, rests: impl FnOnce(&LogWriter)) {
        if cfg!(shuttle) {
            // A panic is the model's finding.
            return rests(&self.0);
        }
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| rests(&self.0))) {
            self.0.poison(LogError::thread_died(&message_of(payload)));
        }
    }
}

impl Drop for Gathering {
    fn drop(&mut self) {
        self.0.watched.gathering.fetch_sub(1, Ordering::SeqCst);
        // A group that gathers has tasks that wait for it, and did not ask.
        self.0.rest();
    }
}

impl LogWriter {
    /// Groups that are handed on gather from here on: the caller [reports](Gathering::rest) when a thread rests.
    pub fn gather(self: &Arc<Self>) -> Gathering {
        self.watched.gathering.fetch_add(1, Ordering::SeqCst);
        Gathering(self.clone())
    }

    /// True if groups gather. The TPK paper's parameters close groups by count and time; without threads, callers do.
    #[inline]
    pub(crate) fn gathers(&self) -> bool {
        self.watched.gathering.load(Ordering::Relaxed) > 0
            && self.policy == GroupPolicy::Adaptive
            && self.drive == Drive::Threads
    }

    #[inline]
    fn rest(&self) {
        if self.process.is_current() && self.end_putting_off() {
            self.look_for_group();
        }
    }

    #[inline]
    fn rest_writing(&self) {
        if !self.process.is_current() || !self.end_putting_off() {
            return;
        }
        // The calling thread serves no client meanwhile.
        let is_slow = self.counters.last_write() > DEFERRED_TIME_MAX;
        if is_slow || !self.work.queue.lock().sealed.is_empty() {
            return self.look_for_group();
        }
        if !self.step() {
            self.look_for_group();
        }
    }
}
