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
    /// Has the next group find a way. May take as long as a connection does: the copy does not wait for it. Returns false if
    /// there is none now.
    fn prepare(&self) -> bool {
        true
    }

    /// Sends the next group, if that is possible. The next append waits for the end of this.
    fn send(&self, group: &Arc<DurableGroup>);

    /// The groups that were sent since the last call are the first ones of those that the copy is given now. Does not wait.
    fn end(&self);

    /// No more are sent: what is kept of those before is let go.
    fn give_up(&self) {}
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
    /// The next group that is to be sent ahead.
    #[cfg(feature = "hosts")]
    fn next_ahead(&self) -> Option<&Arc<DurableGroup>> {
        let next = self.groups.get(self.sent);
        next.filter(|next| self.is_busy && is_large(next))
    }

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
        let (mut waiting, mut has_way) = (self.waiting.lock(), true);
        while !waiting.ended && goes_on() {
            let next = waiting.next_ahead().cloned().filter(|_| has_way);
            has_way = true;
            let Some(group) = next else {
                self.gathered.wait(&mut waiting);
                continue;
            };
            drop(waiting);
            has_way = ahead.prepare();
            waiting = self.waiting.lock();
            // Its consumer may have it by now.
            let is_next = |next: &Arc<_>| Arc::ptr_eq(next, &group);
            if !has_way || !waiting.next_ahead().is_some_and(is_next) {
                continue;
            }
            waiting.is_sending = true;
            drop(waiting);
            let sending = Sending(self);
            ahead.send(&group);
            drop(group);
            drop(sending);
            waiting = self.waiting.lock();
        }
        drop(waiting);
        ahead.give_up();
    }
}

/// A group is being sent ahead. Its consumer waits for the end, also of a thread that dies.
#[cfg(feature = "hosts")]
struct Sending<'a>(&'a GroupQueue);

#[cfg(feature = "hosts")]
impl Drop for Sending<'_> {
    fn drop(&mut self) {
        let mut waiting = self.0.waiting.lock();
        waiting.is_sending = false;
        waiting.sent += 1;
        self.0.changed.notify_one();
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

#[cfg(all(test, not(shuttle), feature = "hosts"))]
mod tests {
    use super::*;
    use crate::log::LogLayout;
    use crate::log::pool::BufferPool;
    use crate::log::seal::{GroupBuilder, Sequencer};
    use crate::page::Address;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// A queue whose consumer is busy, and that has a large group.
    fn busy() -> GroupQueue {
        let pool = Arc::new(BufferPool::new(4096, None, || ()));
        let mut builder = GroupBuilder::from_buffer(pool.take());
        for _ in 0..AHEAD_BYTES_LEAST / 1000 + 1 {
            builder.push_write(Address(0), &[7; 1000]);
        }
        builder.end_transaction();
        let layout = LogLayout::new(7, 1 << 20);
        let mut sealed = Sequencer::new(layout, 1, LogPosition::START).seal(builder);
        sealed.finish(0);
        let queue = GroupQueue::default();
        queue.waiting.lock().is_busy = true;
        assert!(queue.push(Arc::new(DurableGroup::new(sealed, pool))));
        queue
    }

    /// A way of groups. It looks at the queue, or fails.
    #[derive(Debug)]
    struct Way<'a> {
        queue: &'a GroupQueue,
        has_way: bool,
        dies: bool,
        was_waited_for: Mutex<Vec<bool>>,
    }

    impl Way<'_> {
        fn looks(&self) {
            let is_sending = self.queue.waiting.lock().is_sending;
            self.was_waited_for.lock().push(is_sending);
        }
    }

    impl SendsAhead for Way<'_> {
        fn prepare(&self) -> bool {
            self.looks();
            if !self.has_way {
                self.queue.waiting.lock().end();
            }
            self.has_way
        }

        fn send(&self, _: &Arc<DurableGroup>) {
            self.looks();
            assert!(!self.dies, "as a thread that dies");
            self.queue.waiting.lock().end();
        }

        fn end(&self) {}
    }

    fn sent_ahead(has_way: bool, dies: bool) -> (GroupQueue, Vec<bool>, bool) {
        let queue = busy();
        let was_waited_for = Mutex::default();
        let way = Way {
            queue: &queue,
            has_way,
            dies,
            was_waited_for,
        };
        let ended = catch_unwind(AssertUnwindSafe(|| queue.send_ahead(&way, || true)));
        let seen = way.was_waited_for.into_inner();
        (queue, seen, ended.is_ok())
    }

    #[test]
    fn i7_a_thread_that_dies_while_it_sends_ahead_keeps_no_consumer_waiting() {
        let (queue, _, has_ended) = sent_ahead(true, true);
        assert!(!has_ended);
        assert!(!queue.waiting.lock().is_sending);
    }

    #[test]
    fn a_consumer_waits_for_a_group_that_is_sent_and_not_for_its_way() {
        assert_eq!(sent_ahead(true, false).1, [false, true]);
        assert_eq!(sent_ahead(false, false).1, [false]);
    }
}
