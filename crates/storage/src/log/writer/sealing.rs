//! Sealing: the time at which the group that is being filled is closed, and the thread that closes it.
//!
//! A group is closed when it is full; when a caller waits for it and the disk is free; when the disk becomes free;
//! with the TPK paper's parameters, by its count or its time; and without threads, when it holds as much as may be
//! left unwritten.

use super::LogWriter;
use crate::drive::Drive;
use crate::log::open_group::OpenGroup;
use crate::log::policy::{
    DEFERRED_BYTES_MAX, DEFERRED_TIME_MAX, DEFERRED_TRANSACTIONS_MAX, GroupPolicy,
};
use crate::log::seal::SealedGroup;
use sardonyx_base::sync::atomic::{Ordering, fence};
use std::time::Instant;

impl LogWriter {
    /// Returns true if the disk is free to take a group now.
    #[inline]
    pub fn wants_group(&self) -> bool {
        self.watched.outstanding.load(Ordering::SeqCst) < self.limits.depth
    }

    /// Returns true if the next transaction may be sealed at once, because the disk is free.
    #[inline]
    fn seals_at_once(&self) -> bool {
        self.policy == GroupPolicy::Adaptive && self.wants_group()
    }

    /// A transaction has ended in the open group, which the caller holds; hands it over if it is full.
    /// Returns the number of the group that holds the transaction.
    #[inline]
    pub(crate) fn transaction_ended(&self, open: &mut OpenGroup) -> u64 {
        if open.builder().transactions() == 1 {
            self.set_filling(true);
        }
        let group = open.group();
        match open.is_full() {
            true => self.hand_over_full(open),
            false => group,
        }
    }

    /// Hands a full group over; or two, if the transaction that has just ended needs one for itself. Returns the
    /// number of its group.
    #[cold]
    fn hand_over_full(&self, open: &mut OpenGroup) -> u64 {
        if let Some(earlier) = open.split_off_earlier(&self.pool) {
            self.push(earlier);
        }
        let group = open.group();
        self.hand_over(open);
        group
    }

    /// Seals the open group, if it has transactions, and has it written.
    pub(crate) fn hand_over(&self, open: &mut OpenGroup) {
        if !open.is_empty() {
            self.push(self.seal(open));
        }
    }

    /// Seals the open group, also without transactions. The caller has it written.
    pub(crate) fn seal(&self, open: &mut OpenGroup) -> SealedGroup {
        let group = open.seal(&self.pool);
        self.set_filling(false);
        group
    }

    /// Seals the open group for a caller that writes it now and waits for it. Returns it if the disk is free and the
    /// policy lets a lone transaction go at once.
    #[inline]
    pub(crate) fn seal_to_force(&self, open: &mut OpenGroup) -> Option<SealedGroup> {
        if open.is_empty() {
            return None;
        }
        if self.seals_at_once() {
            return Some(self.seal(open));
        }
        self.want(open);
        None
    }

    /// Seals the open group for a caller that does not wait for it, if it is time to write it: with threads,
    /// if the disk is free and there is a buffer for the next group, since the group may as well go on
    /// filling; else, when it holds as much as may be left unwritten.
    #[inline]
    pub(crate) fn seal_to_hand_on(&self, open: &mut OpenGroup) -> Option<SealedGroup> {
        match self.drive {
            Drive::Threads => {
                let sealed = self.seals_at_once().then(|| self.try_seal(open)).flatten();
                if sealed.is_none() {
                    self.want(open);
                }
                sealed
            }
            Drive::Callers => {
                let much = open.holds(DEFERRED_BYTES_MAX, DEFERRED_TRANSACTIONS_MAX);
                (much && !open.is_empty()).then(|| self.seal(open))
            }
        }
    }

    /// Seals the open group, if it has transactions and there is a buffer for the next one.
    pub(crate) fn try_seal(&self, open: &mut OpenGroup) -> Option<SealedGroup> {
        if open.is_empty() {
            return None;
        }
        let group = open.try_seal(&self.pool)?;
        self.set_filling(false);
        Some(group)
    }

    /// Seals the open group if the pen is free and there is a buffer for the next one. Does not wait: the caller may
    /// have a place at the disk meanwhile.
    pub(super) fn seal_open(&self) -> Option<SealedGroup> {
        let mut open = self.open.try_lock();
        if open.is_none() {
            // Asks the holder to look, unless it has released the pen before it could know.
            self.watched.turned_away.store(true, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            open = self.open.try_lock();
        }
        self.try_seal(&mut *open?)
    }

    /// Returns true if a step found the pen taken since this was last asked. For a holder that has released it.
    #[inline]
    pub(crate) fn was_turned_away(&self) -> bool {
        fence(Ordering::SeqCst);
        self.watched.turned_away.load(Ordering::Relaxed)
            && self.watched.turned_away.swap(false, Ordering::Relaxed)
    }

    /// Puts the open group off, if there are threads and none of its transactions is wanted. Returns `None` if not, and
    /// otherwise whether the caller [has it written](LogWriter::write_when_due).
    #[inline]
    pub(crate) fn put_off(&self, open: &mut OpenGroup) -> Option<bool> {
        if self.policy != GroupPolicy::Adaptive || self.drive != Drive::Threads {
            return None;
        }
        let is_first = open.put_off()?;
        if is_first {
            // Before the pen is released: until then, no thread can seal the group.
            self.watched.put_off.store(true, Ordering::SeqCst);
            // A caller that asks from here on ends it.
            if self.watched.wanted_below.load(Ordering::SeqCst) > open.group() {
                self.want(open);
                return None;
            }
        }
        Some(is_first)
    }

    /// Notes that the open group is to be written as soon as the disk is free.
    #[inline]
    fn want(&self, open: &mut OpenGroup) {
        open.want();
        self.end_putting_off();
    }

    /// Has a logging thread write the group that is put off when it is due.
    pub(crate) fn write_when_due(&self) {
        if !self.process.is_current() {
            return;
        }
        let due_at = Instant::now() + DEFERRED_TIME_MAX;
        let mut queue = self.work.queue.lock();
        // A thread that waits for an earlier time waits on.
        queue.due_at = Some(due_at);
        let is_watched = queue.timed > 0;
        drop(queue);
        if !is_watched {
            self.work.arrived.notify_one();
        }
    }

    /// A caller waits for the group of this number: it is not put off, nor will it be. Returns whether it was.
    #[inline]
    pub(super) fn want_group(&self, number: u64) -> bool {
        let wanted = &self.watched.wanted_below;
        if wanted.load(Ordering::SeqCst) <= number {
            wanted.fetch_max(number + 1, Ordering::SeqCst);
        }
        self.end_putting_off()
    }

    /// The open group is no longer put off: a caller waits for it, or has handed a transaction of it on. Returns
    /// whether it was. A group opened meanwhile may be meant; it is only written earlier.
    #[inline]
    pub(crate) fn end_putting_off(&self) -> bool {
        let watched = &self.watched.put_off;
        watched.load(Ordering::SeqCst) && watched.swap(false, Ordering::SeqCst)
    }

    /// True if the group being filled has transactions, and is not put off.
    #[inline]
    pub(super) fn is_filling(&self) -> bool {
        self.watched.filling.load(Ordering::SeqCst) && !self.watched.put_off.load(Ordering::SeqCst)
    }

    /// Notes that the group being filled got its first transaction, or was sealed.
    fn set_filling(&self, filling: bool) {
        self.watched.filling.store(filling, Ordering::SeqCst);
        if !filling {
            self.end_putting_off();
        }
        if let GroupPolicy::Fixed { .. } = self.policy {
            let mut queue = self.work.queue.lock();
            queue.filling_since = filling.then(Instant::now);
            if filling {
                queue.signalled = true;
                self.work.arrived.notify_one();
            }
        }
    }

    /// Looks, after releasing the pen, if the disk became free meanwhile.
    #[inline]
    pub(crate) fn look_for_group(&self) {
        if !self.process.is_current() {
            return;
        }
        if self.drive == Drive::Callers {
            // A client that waits looks again, now that the pen is free.
            let next = self.durable_below.load(Ordering::Acquire);
            return self.waiting.wake(next..next + 2);
        }
        if self.seals_at_once() && self.is_filling() {
            let misses = self.pool.misses();
            match self.seal_open() {
                Some(group) => self.push(group),
                None => self.after_a_miss(misses),
            }
        }
    }

    /// After an attempt to seal that failed, and after releasing everything. It may have failed for want of a buffer,
    /// and one came back while we still held the pen. Then the logging thread was notified but could not use it.
    pub(super) fn after_a_miss(&self, misses_before: u64) {
        if self.pool.misses() != misses_before && self.pool.is_ready() {
            self.work.signal();
        }
    }
}
