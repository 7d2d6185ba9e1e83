//! A log whose groups are acknowledged when the copy elsewhere has them, without waiting for a sync here.
//!
//! ```text
//!   written here, not synced ┐
//!   appended to the copy     ┴─▶ acknowledged ─▶ synced here ─▶ given to the checkpoints
//! ```
//!
//! A thread of its own syncs all groups that were acknowledged meanwhile ([`LogWriter::run_behind`]). A group's
//! knowledge of earlier durable groups is of this disk. A crash may take from this log a group that the copy has. That
//! is the log's end and no damage, and the next opening reads on from the copy.
//!
//! Invariants:
//! - I1, in the copy;
//! - I2: a consumer is fed with groups that are in the copy *and* stable here, so a backup never holds what the log
//!   beside it lacks;
//! - I4: `durable_number` is the last group stable here;
//! - I7: a failed sync poisons;
//! - I10: groups keep their buffers until they are stable. If the disk hangs, transactions wait when all are taken.

use super::LogWriter;
use super::remote::GroupQueue;
use crate::log::pool::DurableGroup;
use crate::log::{LogError, LogPosition};
use sardonyx_base::sync::atomic::{AtomicU64, Ordering};
use sardonyx_base::sync::{Condvar, Mutex};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Groups that are acknowledged and not stable here.
#[derive(Debug)]
pub(super) struct Behind {
    queue: GroupQueue,
    /// All groups below this number are stable here.
    stable_below: AtomicU64,
    /// For waiters until that has grown.
    told: Mutex<()>,
    grown: Condvar,
}

impl Behind {
    fn new(stable: LogPosition) -> Self {
        Behind {
            queue: GroupQueue::default(),
            stable_below: AtomicU64::new(stable.group),
            told: Mutex::new(()),
            grown: Condvar::new(),
        }
    }

    /// The next group in the log's order. If it has no consumer any more, the log is poisoned.
    pub fn push(&self, group: Arc<DurableGroup>) {
        self.queue.push(group);
    }

    fn stable_below(&self) -> u64 {
        self.stable_below.load(Ordering::Acquire)
    }

    /// Has all waiters look again.
    fn nudge(&self) {
        self.queue.nudge();
        // Under the lock, so that a thread that has looked is waiting.
        let told = self.told.lock();
        self.grown.notify_all();
        drop(told);
    }
}

impl LogWriter {
    /// This log, with a copy elsewhere, whose groups are synced here behind their acknowledgement: a thread is to run
    /// [`LogWriter::run_behind`].
    #[must_use]
    #[inline]
    pub fn synced_behind(mut self) -> Self {
        self.behind = Some(Behind::new(self.durable()));
        self
    }

    /// Syncs the copy's groups until closed, or until that fails. The body of a thread.
    #[cfg(feature = "hosts")]
    pub fn run_behind(&self) {
        let (Some(behind), Some(remote)) = (&self.behind, &self.remote) else {
            return;
        };
        while let Some(groups) = self.groups_for(&behind.queue, None, || remote.has_ended()) {
            match self.sync_files_of(&groups) {
                Ok(()) => self.is_stable(behind, &groups),
                Err(error) => self.poison(error),
            }
        }
        behind.nudge();
    }

    fn sync_files_of(&self, groups: &[Arc<DurableGroup>]) -> Result<(), LogError> {
        let layout = self.segments.layout();
        let mut segments = BTreeSet::new();
        for group in groups {
            segments.insert(layout.segment_of(group.header().lsn));
        }
        for segment in segments {
            self.segments.file(segment)?.sync()?;
        }
        Ok(())
    }

    /// The copy and this disk have these groups.
    fn is_stable(&self, behind: &Behind, groups: &[Arc<DurableGroup>]) {
        let Some(last) = groups.last() else { return };
        // Nothing is fed after the log is poisoned.
        let prefix = self.prefix.lock();
        if self.is_poisoned() {
            return;
        }
        let stable = last.header().next_position();
        behind.stable_below.store(stable.group, Ordering::Release);
        self.publish_stable(stable);
        groups.iter().for_each(|group| self.feed(group));
        drop(prefix);
        self.room.is_more_stable();
        behind.nudge();
    }

    /// All groups below this number are on stable storage here.
    pub fn stable_below(&self) -> u64 {
        match &self.behind {
            None => self.durable_below.load(Ordering::Acquire),
            Some(behind) => behind.stable_below(),
        }
    }

    /// Waits until the durable log up to here is on stable storage here, too.
    ///
    /// # Errors
    /// The log is poisoned; it was closed before.
    pub fn wait_until_stable(&self, end: LogPosition) -> Result<(), LogError> {
        self.process.check()?;
        let Some(behind) = &self.behind else {
            // Every durable group is stable here. A copy may have more, if the log was closed by an error.
            return match self.durable().group < end.group {
                false => Ok(()),
                true => Err(self.check().err().unwrap_or(LogError::Closed)),
            };
        };
        let mut told = behind.told.lock();
        while behind.stable_below() < end.group {
            self.check()?;
            if behind.queue.has_ended() {
                return Err(LogError::Closed);
            }
            behind.grown.wait(&mut told);
        }
        Ok(())
    }

    /// Something has changed that may end the thread that syncs.
    pub(super) fn nudge_behind(&self) {
        if let Some(behind) = &self.behind {
            behind.nudge();
        }
    }
}
