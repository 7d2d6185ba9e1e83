//! A log elsewhere that has every group, too, before it is durable: a store that others keep ([`RemoteCopy`]).
//!
//! A group is written here first, and then appended there, by a thread of its own that takes all groups which
//! wait ([`LogWriter::run_remote`]). It is outstanding until both have it; or until the other has it, if nobody waits for
//! a sync here ([`behind`](super::behind)). So what fills meanwhile is one group, which
//! grows with the time that an append takes: throughput stays, and the response time is what is paid.
//!
//! Invariants: I1 (a group is durable when the copy has it and all earlier ones, and this disk, too, if that is waited
//! for), I2 (no consumer is fed before), I7 (an
//! append that failed closes the log: the group may be there or not), I10 (no group is sealed for want of company while as many as the log's depth are outstanding).

use super::LogWriter;
use crate::log::pool::DurableGroup;
use crate::log::{LogError, LogPosition};
use sardonyx_base::sync::atomic::Ordering;
use sardonyx_base::sync::{Condvar, Mutex};
use std::fmt::Debug;
use std::sync::Arc;

/// A copy of the log elsewhere.
pub trait RemoteCopy: Send + Debug {
    /// Appends groups behind all that were given before; returns when they are durable there.
    ///
    /// # Errors
    /// It is not known whether they are. Nothing more is appended.
    fn append(&mut self, groups: &[Arc<DurableGroup>]) -> Result<(), LogError>;

    /// All groups below this number are on stable storage here.
    fn is_stable_here(&mut self, _below: u64) {}
}

/// Groups that wait for a thread which takes all of them at once.
#[derive(Debug, Default)]
pub(super) struct GroupQueue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    groups: Vec<Arc<DurableGroup>>,
    /// Nobody takes them any more.
    ended: bool,
}

impl GroupQueue {
    /// The next group in the log's order. Returns whether somebody takes it.
    pub fn push(&self, group: Arc<DurableGroup>) -> bool {
        let mut waiting = self.waiting.lock();
        if !waiting.ended {
            waiting.groups.push(group);
            self.changed.notify_one();
        }
        !waiting.ended
    }

    /// Has its thread look again whether anything will come.
    pub fn nudge(&self) {
        // Under the lock, so that who has looked is waiting.
        let waiting = self.waiting.lock();
        self.changed.notify_one();
        drop(waiting);
    }

    /// Whether nobody takes groups any more.
    pub fn has_ended(&self) -> bool {
        self.waiting.lock().ended
    }
}

impl LogWriter {
    /// This log, of which nothing is durable before a copy elsewhere has it: somebody is to run
    /// [`LogWriter::run_remote`].
    #[must_use]
    pub fn with_remote_copy(mut self) -> Self {
        self.remote = Some(GroupQueue::default());
        self
    }

    /// Appends groups to the copy elsewhere until closed, or until that fails. The body of a thread.
    pub fn run_remote(&self, copy: &mut dyn RemoteCopy) {
        let Some(remote) = &self.remote else { return };
        while let Some(groups) = self.groups_for(remote, || self.has_ended()) {
            match copy.append(&groups) {
                Ok(()) => {
                    self.copied(groups);
                    copy.is_stable_here(self.stable_below());
                }
                Err(error) => self.poison(error),
            }
        }
        self.nudge_behind();
    }

    /// All groups that wait, when there are some; `None`: there will be none, since the log is poisoned, or all have come.
    pub(super) fn groups_for(
        &self,
        queue: &GroupQueue,
        have_all_come: impl Fn() -> bool,
    ) -> Option<Vec<Arc<DurableGroup>>> {
        let mut waiting = queue.waiting.lock();
        loop {
            if !self.is_poisoned() && !waiting.groups.is_empty() {
                return Some(std::mem::take(&mut waiting.groups));
            }
            if self.is_poisoned() || have_all_come() {
                waiting.ended = true;
                waiting.groups.clear();
                return None;
            }
            queue.changed.wait(&mut waiting);
        }
    }

    /// Whether the log is closed and nothing is on its way to the disk or to the copy.
    fn has_ended(&self) -> bool {
        let queue = self.work.queue.lock();
        queue.closed
            && queue.sealed.is_empty()
            && queue.writing == 0
            && self.watched.outstanding.load(Ordering::SeqCst) == 0
            && !self.watched.filling.load(Ordering::SeqCst)
    }

    /// The copy has these groups.
    fn copied(&self, groups: Vec<Arc<DurableGroup>>) {
        let Some(last) = groups.last() else { return };
        let durable: LogPosition = last.header().next_position();
        let count = groups.len();
        let prefix = self.prefix.lock();
        if self.is_poisoned() {
            return;
        }
        for group in groups {
            match &self.behind {
                None => self.feed(&group),
                Some(behind) => behind.push(group),
            }
        }
        self.publish(prefix, durable);
        self.have_ended(count);
    }

    /// Something has changed that may end the thread of the copy.
    pub(super) fn nudge_remote(&self) {
        if let Some(remote) = &self.remote {
            remote.nudge();
        }
    }
}
