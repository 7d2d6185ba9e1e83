//! Writing: from a sealed group to its acknowledgement, one step a group.

use super::{LogWriter, Queue};
use crate::drive::Drive;
use crate::log::durable::DurablePrefix;
use crate::log::policy::GroupPolicy;
use crate::log::pool::DurableGroup;
use crate::log::seal::SealedGroup;
use crate::log::{LogError, LogPosition, SharedEnd, spanning};
use sardonyx_base::sync::MutexGuard;
use sardonyx_base::sync::atomic::Ordering;
use sardonyx_base::user_code::message_of;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

impl LogWriter {
    /// Hands a sealed group to the logging thread; without one, writes it, so that the group takes no memory while the
    /// same call goes on filling.
    pub(crate) fn push(&self, group: SealedGroup) {
        if !self.process.is_current() {
            return;
        }
        if self.drive == Drive::Callers {
            return self.write_directly(group);
        }
        self.watched.outstanding.fetch_add(1, Ordering::SeqCst);
        let mut queue = self.work.queue.lock();
        if self.poison.get().is_some() {
            drop(queue);
            self.watched.outstanding.fetch_sub(1, Ordering::SeqCst);
            self.pool.give(group.into_buffer());
            return;
        }
        queue.sealed.push_back(group);
        queue.signalled = true;
        drop(queue);
        self.work.arrived.notify_one();
    }

    /// Writes a group that the caller sealed itself, on the caller's time. Failures poison the log
    /// and are found by [`LogWriter::wait`].
    pub(crate) fn write_directly(&self, group: SealedGroup) {
        if !self.process.is_current() {
            return;
        }
        self.watched.outstanding.fetch_add(1, Ordering::SeqCst);
        self.work.queue.lock().writing += 1;
        self.write_group(group);
    }

    /// Writes one group, if the disk is free and there is one that is due. Returns whether it did.
    pub fn step(&self) -> bool {
        if !self.process.is_current() || !self.due() {
            return false;
        }
        let Some(group) = self.next_group() else {
            return false;
        };
        self.write_group(group);
        true
    }

    /// A step by a waiting caller. With the TPK paper's parameters a group is closed by its count or its time, which
    /// the logging thread watches, if there is one.
    pub(super) fn callers_step(&self) -> bool {
        (self.policy == GroupPolicy::Adaptive || self.drive == Drive::Callers) && self.step()
    }

    /// Returns true if a group that is being filled may be closed now. Only threads watch the time.
    fn due(&self) -> bool {
        let GroupPolicy::Fixed { time, .. } = self.policy else {
            return true;
        };
        let queue = self.work.queue.lock();
        self.drive == Drive::Callers
            || !queue.sealed.is_empty()
            || queue.closed
            || queue
                .filling_since
                .is_some_and(|since| since.elapsed() >= time)
    }

    /// Before this thread goes to the disk: if it was the one that slept until a group is due, another does.
    fn have_time_watched(&self, queue: &Queue) {
        if queue.due_at.is_some() && queue.timed == 0 {
            self.work.arrived.notify_one();
        }
    }

    /// Takes a sealed group, or has one sealed, and counts it as being written.
    fn next_group(&self) -> Option<SealedGroup> {
        let mut queue = self.work.queue.lock();
        if self.poison.get().is_some() {
            return None;
        }
        if queue.is_due() {
            queue.due_at = None;
            self.end_putting_off();
        }
        if queue.writing >= self.limits.depth {
            queue.turned_away = true;
            return None;
        }
        if let Some(group) = queue.sealed.pop_front() {
            queue.writing += 1;
            self.have_time_watched(&queue);
            return Some(group);
        }
        if !self.is_filling() || (self.remote.is_some() && !self.wants_group()) {
            // While a copy elsewhere is being made the group goes on filling.
            return None;
        }
        queue.writing += 1;
        self.have_time_watched(&queue);
        drop(queue);
        let misses = self.pool.misses();
        let group = self.seal_open();
        if group.is_some() {
            // Not counted before: while we try, the holder of the pen must go on seeing that the disk is free.
            // Otherwise no thread would take the group if our attempt fails.
            self.watched.outstanding.fetch_add(1, Ordering::SeqCst);
            return group;
        }
        let mut queue = self.work.queue.lock();
        // While we had a place at the disk, another thread may have found none. Groups handed over meanwhile are ours
        // to take, and a group that could be sealed now is theirs to look for again.
        let handed_over = queue.sealed.pop_front();
        if handed_over.is_none() {
            queue.writing -= 1;
            let turned_away = std::mem::take(&mut queue.turned_away);
            drop(queue);
            self.nudge_remote();
            if turned_away {
                self.work.signal();
            }
            self.after_a_miss(misses);
        }
        handed_over
    }

    /// Writes a group that is counted as being written, and passes on the groups that become durable.
    fn write_group(&self, mut group: SealedGroup) {
        let started = Instant::now();
        group.finish(self.stable_below() - 1);
        let group = Arc::new(DurableGroup::new(group, self.pool.clone()));
        // A disk of the program's own may panic, here on a client's thread, too, which would go on as if
        // nothing had been begun.
        let outcome = catch_unwind(AssertUnwindSafe(|| self.write_to_disk(&group)));
        let outcome = outcome.unwrap_or_else(|payload| {
            let cause = format!("the disk's code panicked: {}", message_of(payload));
            Err(LogError::Poisoned {
                cause: cause.into(),
            })
        });
        let ended = match outcome {
            Ok(()) => {
                self.counters.count(&group, started.elapsed());
                self.release(group)
            }
            Err(error) => {
                self.poison(error);
                1
            }
        };
        self.leave_disk(ended);
    }

    /// A group has left its place at the disk, which an earlier one may need, and so many are not outstanding any
    /// more: with a copy elsewhere, those that both have now.
    fn leave_disk(&self, groups: usize) {
        let mut queue = self.work.queue.lock();
        queue.writing -= 1;
        // Both under the lock under which `close` sets `closed`. If it is set by now, the threads that wait for the end
        // are woken below; if not, `close` wakes them afterwards, and they see this.
        self.watched.outstanding.fetch_sub(groups, Ordering::SeqCst);
        let closed = queue.closed;
        drop(queue);
        self.look_for_more();
        if closed {
            self.look_for_end();
        }
    }

    /// So many groups are not outstanding any more. The copy's thread calls this, and looks for the end by itself.
    pub(super) fn have_ended(&self, groups: usize) {
        self.watched.outstanding.fetch_sub(groups, Ordering::SeqCst);
        self.look_for_more();
    }

    /// Has all threads of the log look again whether it has ended: a group that the closed log still had has left, which a
    /// client that waits may have written, or the log is closed now.
    pub(super) fn look_for_end(&self) {
        self.work.arrived.notify_all();
        self.nudge_remote();
    }

    fn write_to_disk(&self, group: &Arc<DurableGroup>) -> Result<(), LogError> {
        self.check()?;
        // A copy, since this buffer goes back to its pool. Only if the log is carried to a store.
        if let Some(recent) = self.recent.get() {
            recent.put(group.header(), group.bytes());
        }
        if let Some(remote) = &self.remote
            && !remote.begin(group.clone())
        {
            return Err(LogError::Closed);
        }
        spanning::write_sealed(&self.segments, group, self.behind.is_none())
    }

    /// The group is on stable storage, or written if that is not waited for. Acknowledges and feeds, in order, the
    /// groups that a copy elsewhere has, too. Returns the number of groups that are not outstanding any more.
    fn release(&self, group: Arc<DurableGroup>) -> usize {
        let number = group.header().number;
        let after = group.header().next_position();
        let mut prefix = self.prefix.lock();
        if self.is_poisoned() {
            return 1;
        }
        let mut released = 0;
        let durable = prefix.arrived(number, after, group, |group| {
            released += 1;
            self.pass_on(group);
        });
        self.publish(prefix, durable);
        match self.remote.is_some() {
            true => released,
            false => 1,
        }
    }

    /// Gives a durable group to all consumers. Under the prefix's lock.
    pub(super) fn feed(&self, group: &Arc<DurableGroup>) {
        for feed in &self.feeds {
            feed.push(group.clone());
        }
    }

    /// Everything before `durable` is: notifies the waiters.
    pub(super) fn publish(
        &self,
        prefix: MutexGuard<'_, DurablePrefix<Arc<DurableGroup>>>,
        durable: LogPosition,
    ) {
        if durable == self.state.end().position {
            return;
        }
        // Under the prefix's lock: one end after the other.
        self.state.publish(SharedEnd {
            position: durable,
            tail: 0,
        });
        if self.behind.is_none() {
            self.publish_stable(durable);
        }
        let before = self.durable_below.swap(durable.group, Ordering::AcqRel);
        drop(prefix);
        self.room.advance(durable);
        self.waiting.wake(before..durable.group);
    }

    /// Everything before here is durable, and stable here: publishes it for readers in other processes. Under the
    /// prefix's lock, and before it is acknowledged: acknowledged transactions can be read there, even if this process
    /// is killed now.
    pub(super) fn publish_stable(&self, stable: LogPosition) {
        if let Some(published) = &self.published {
            published.publish(stable);
        }
    }

    /// After a write: if more has come meanwhile, someone must take it.
    fn look_for_more(&self) {
        let queue = self.work.queue.lock();
        let more = !queue.sealed.is_empty() || self.is_filling();
        drop(queue);
        if !more {
            return;
        }
        if self.drive.has_threads() {
            return self.work.signal();
        }
        // Not only the next ones: a group that was closed because it was full may have no waiter, but one behind it
        // may.
        let next = self.durable_below.load(Ordering::Acquire);
        self.waiting.wake(next..u64::MAX);
    }
}
