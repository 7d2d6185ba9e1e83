//! A log elsewhere that has every group, too, before it is durable: a store that others keep ([`RemoteCopy`]).
//!
//! A group goes to both at once: before writing, the thread hands the group to the copy's thread, which appends all
//! groups that wait there ([`LogWriter::run_remote`]). Either may be first. The group is outstanding until both have
//! it; if a sync here is not waited for ([`behind`](super::behind)), it only has to be written here. So the
//! transactions of that time become one group, which grows with the duration of an append: throughput stays, and the
//! response time is that of the slower one.
//!
//! While an append is on its way, later groups can be sent ahead ([`SendsAhead`]): the next append has only to end them. Nothing
//! depends on that.
//!
//! A crash may leave a group at either place alone. One that is only here is put into the copy by the next opening, or
//! cut off, if another owner went on. One that is only in the copy is appended here by the next opening. Its first act
//! is to overwrite the bytes behind the log's end. Neither was acknowledged. After a failed write here the copy may
//! have the group, after a failed append this log may: both close the log, and the next opening decides by the copy.
//!
//! Invariants:
//! - I1: a group is durable when the copy has it and all earlier ones, and this disk, too, if that is waited for;
//! - I2: no consumer is fed before;
//! - I4: `durable_number` is the last group that both have. So a group that is missing here is the log's end, with any
//!   bytes behind it;
//! - I7: an append that failed closes the log: the group may be there or not;
//! - I10: while as many groups as the log's depth are outstanding, none is sealed for want of company.

use super::LogWriter;
use crate::log::durable::DurablePrefix;
use crate::log::pool::DurableGroup;
use crate::log::{LogError, LogPosition};
use sardonyx_base::sync::atomic::Ordering;
use sardonyx_base::sync::{CacheLine, Condvar, Mutex};
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

/// The way of groups to a copy that is still busy with those before: so only the last step is left when it is their turn. A hint
/// without effect on the copy, which is given each group once more ([`RemoteCopy::append`]).
pub trait SendsAhead: Send + Sync + Debug {
    /// Sends the next group, if that is possible.
    fn send(&self, group: &Arc<DurableGroup>);

    /// The groups that were sent since the last call are the first ones of those that the copy is given now. Does not wait.
    fn end(&self);
}

/// A smaller group is sent with its entry: it is there as soon as another thread has been woken up. Models have small groups.
const AHEAD_BYTES_LEAST: usize = if cfg!(shuttle) { 0 } else { 64 << 10 };

/// Groups that wait for a thread which takes all of them at once.
#[derive(Debug, Default)]
pub(super) struct GroupQueue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
    /// For the thread that sends groups ahead.
    gathered: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    groups: Vec<Arc<DurableGroup>>,
    /// They have no consumer any more.
    ended: bool,
    /// The consumer is busy with groups before these.
    is_busy: bool,
    /// So many of the groups were sent ahead.
    sent: usize,
    /// One is being sent.
    is_sending: bool,
}

fn is_large(group: &DurableGroup) -> bool {
    group.bytes().len() >= AHEAD_BYTES_LEAST
}

impl Waiting {
    fn end(&mut self) {
        self.ended = true;
        self.groups.clear();
        self.sent = 0;
    }
}

impl GroupQueue {
    /// Adds the next group in the log's order. Returns true if it has a consumer.
    pub fn push(&self, group: Arc<DurableGroup>) -> bool {
        let mut waiting = self.waiting.lock();
        if !waiting.ended {
            let may_go_ahead = waiting.is_busy && is_large(&group);
            waiting.groups.push(group);
            self.changed.notify_one();
            if may_go_ahead {
                self.gathered.notify_one();
            }
        }
        !waiting.ended
    }

    /// Has its threads look again whether anything will come.
    pub fn nudge(&self) {
        // Under the lock, so that a thread that has looked is waiting.
        let waiting = self.waiting.lock();
        self.changed.notify_one();
        self.gathered.notify_one();
        drop(waiting);
    }

    /// Returns true if groups have no consumer any more.
    pub fn has_ended(&self) -> bool {
        self.waiting.lock().ended
    }

    /// Sends groups ahead, in their order, while their consumer is busy with those before, until they have none, or as long as
    /// this holds.
    #[cfg(feature = "hosts")]
    fn send_ahead(&self, ahead: &dyn SendsAhead, goes_on: impl Fn() -> bool) {
        let mut waiting = self.waiting.lock();
        while !waiting.ended && goes_on() {
            let next = waiting.groups.get(waiting.sent).cloned();
            let Some(group) = next.filter(|next| waiting.is_busy && is_large(next)) else {
                self.gathered.wait(&mut waiting);
                continue;
            };
            waiting.is_sending = true;
            drop(waiting);
            ahead.send(&group);
            drop(group);
            waiting = self.waiting.lock();
            waiting.is_sending = false;
            waiting.sent += 1;
            // It may wait for this one.
            self.changed.notify_one();
        }
    }
}

/// Groups on their way to the copy elsewhere.
#[derive(Debug)]
pub(super) struct Copying {
    /// Groups whose writing began before that of an earlier one did: the copy has the log's order.
    begun: Mutex<DurablePrefix<Arc<DurableGroup>>>,
    queue: GroupQueue,
}

impl Copying {
    fn new(end: LogPosition) -> Self {
        Copying {
            begun: Mutex::new(DurablePrefix::new(end)),
            queue: GroupQueue::default(),
        }
    }

    /// A group is about to be written here. Returns false if the copy's thread has ended.
    pub fn begin(&self, group: Arc<DurableGroup>) -> bool {
        let (number, after) = (group.header().number, group.header().next_position());
        let mut is_taken = true;
        let mut begun = self.begun.lock();
        begun.arrived(number, after, group, |group| {
            is_taken &= self.queue.push(group);
        });
        is_taken
    }

    /// Nothing more is copied.
    pub fn abandon(&self) {
        let abandoned = self.begun.lock().abandon();
        drop(abandoned);
        self.queue.nudge();
    }

    /// Returns true if the copy's thread has ended.
    pub fn has_ended(&self) -> bool {
        self.queue.has_ended()
    }
}

impl LogWriter {
    /// This log, of which nothing is durable before a copy elsewhere has it: a thread is to run
    /// [`LogWriter::run_remote`].
    #[must_use]
    #[inline]
    pub fn with_remote_copy(mut self) -> Self {
        let end = self.durable();
        self.remote = Some(Copying::new(end));
        self.prefix = CacheLine(Mutex::new(DurablePrefix::with_copy(end)));
        self
    }

    /// Appends groups to the copy elsewhere until closed, or until that fails. The body of a thread.
    #[cfg(feature = "hosts")]
    pub fn run_remote(&self, copy: &mut dyn RemoteCopy, ahead: Option<&dyn SendsAhead>) {
        let Some(remote) = &self.remote else { return };
        while let Some(groups) = self.groups_for(&remote.queue, ahead, || self.has_ended()) {
            match copy.append(&groups) {
                Ok(()) => {
                    self.copied(&groups);
                    // Groups that this disk lacks yet are recorded after the next append.
                    copy.is_stable_here(self.stable_below());
                }
                Err(error) => self.poison(error),
            }
        }
        self.nudge_behind();
    }

    /// Sends groups to the copy elsewhere while that is busy, until [`LogWriter::run_remote`] has ended. The body of a thread.
    #[cfg(feature = "hosts")]
    pub fn run_ahead(&self, ahead: &dyn SendsAhead) {
        if let Some(remote) = &self.remote {
            remote.queue.send_ahead(ahead, || !self.is_poisoned());
        }
    }

    /// All groups that wait, when there are some; `None`: there will be none, since the log is poisoned, or all have come.
    pub(super) fn groups_for(
        &self,
        queue: &GroupQueue,
        ahead: Option<&dyn SendsAhead>,
        have_all_come: impl Fn() -> bool,
    ) -> Option<Vec<Arc<DurableGroup>>> {
        let mut waiting = queue.waiting.lock();
        waiting.is_busy = false;
        loop {
            let is_free = !waiting.is_sending;
            if is_free && !self.is_poisoned() && !waiting.groups.is_empty() {
                (waiting.is_busy, waiting.sent) = (true, 0);
                ahead.iter().for_each(|ahead| ahead.end());
                return Some(std::mem::take(&mut waiting.groups));
            }
            if is_free && (self.is_poisoned() || have_all_come()) {
                waiting.end();
                queue.gathered.notify_one();
                return None;
            }
            queue.changed.wait(&mut waiting);
        }
    }

    /// Returns true if the log is closed and nothing is on its way to the disk or to the copy.
    fn has_ended(&self) -> bool {
        let queue = self.work.queue.lock();
        queue.closed
            && queue.sealed.is_empty()
            && queue.writing == 0
            && self.watched.outstanding.load(Ordering::SeqCst) == 0
            && !self.watched.filling.load(Ordering::SeqCst)
    }

    /// The copy has these groups, and all before. This disk may have them or not.
    fn copied(&self, groups: &[Arc<DurableGroup>]) {
        let Some(last) = groups.last() else { return };
        let below = last.header().number + 1;
        let mut prefix = self.prefix.lock();
        if self.is_poisoned() {
            return;
        }
        let mut ended = 0;
        let durable = prefix.copied(below, |group| {
            ended += 1;
            self.pass_on(group);
        });
        self.publish(prefix, durable);
        self.have_ended(ended);
    }

    /// A group is durable: gives it to the consumers, or has it synced here before that. Under the prefix's lock, so that
    /// all see the log's order.
    pub(super) fn pass_on(&self, group: Arc<DurableGroup>) {
        match &self.behind {
            None => self.feed(&group),
            Some(behind) => behind.push(group),
        }
    }

    /// Something has changed that may end the thread of the copy.
    pub(super) fn nudge_remote(&self) {
        if let Some(remote) = &self.remote {
            remote.queue.nudge();
        }
    }
}
