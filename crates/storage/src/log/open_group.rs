//! The group that is being filled, and the rule when it is closed. Owned by the execution stage:
//! whoever runs a transaction holds it exclusively.

use super::policy::{DEFERRED_BYTES_MAX, DEFERRED_TRANSACTIONS_MAX, GroupPolicy};
use super::seal::{GroupBuilder, SealedGroup, Sequencer};
use super::supply::Admission;
use super::writer::{GroupSource, LogWriter};
use super::{LogError, LogPosition, Lsn};
use crate::checkpoint::CheckpointStage;
use crate::disk::AlignedBuffer;
use std::sync::Arc;

/// The group being filled.
#[derive(Debug)]
pub struct OpenGroup {
    builder: GroupBuilder,
    sequencer: Sequencer,
    commit: Arc<LogWriter>,
    transactions_max: u32,
}

impl OpenGroup {
    /// Starts with an empty group.
    pub fn new(sequencer: Sequencer, commit: Arc<LogWriter>) -> Self {
        let transactions_max = match commit.policy() {
            GroupPolicy::Adaptive => u32::MAX,
            GroupPolicy::Fixed { transactions, .. } => transactions.max(1),
        };
        let builder = GroupBuilder::from_buffer(commit.pool().take());
        OpenGroup {
            builder,
            sequencer,
            commit,
            transactions_max,
        }
    }

    /// Where transactions append their records.
    #[inline]
    pub fn builder(&mut self) -> &mut GroupBuilder {
        &mut self.builder
    }

    /// The number of the group being filled.
    #[inline]
    pub fn group(&self) -> u64 {
        self.sequencer.next().group
    }

    /// The number of the last group that holds a transaction; 0 if none.
    #[inline]
    pub fn last_group(&self) -> u64 {
        if self.builder.is_empty() {
            self.group() - 1
        } else {
            self.group()
        }
    }

    /// Where the next sealed group goes.
    pub fn next(&self) -> LogPosition {
        self.sequencer.next()
    }

    /// Whether a transaction may run now: the log is sound and has room. `Err` says where room is
    /// needed, for [`super::supply::SegmentSupply::wait_for_room`], or why there will be none.
    // Always: once for every transaction, and almost always two loads and two comparisons.
    #[inline(always)]
    pub fn admit(&self) -> Result<(), Refusal> {
        self.admit_as(Admission::Whole)
    }

    /// Whether this may run now; see [`OpenGroup::admit`].
    #[inline(always)]
    pub fn admit_as(&self, admission: Admission) -> Result<(), Refusal> {
        let at = self.sequencer.next().lsn;
        if self.commit.room().has_room_for(admission, at) && !self.commit.is_poisoned() {
            return Ok(());
        }
        Err(self.refusal(at))
    }

    #[cold]
    fn refusal(&self, at: Lsn) -> Refusal {
        match self.commit.check() {
            Err(error) => Refusal::Log(error),
            Ok(()) => Refusal::NoRoom(at),
        }
    }

    /// Like [`OpenGroup::admit_as`]; waits for room if there is none, and makes some: writes or hands over what
    /// was filled, and takes a checkpoint, or asks for one, if the log is at its limit.
    ///
    /// # Errors
    /// [`LogError::Full`] if no room can be had; what closed the log.
    #[inline]
    pub fn admit_or_wait(
        &mut self,
        admission: Admission,
        checkpoint: &CheckpointStage,
    ) -> Result<(), LogError> {
        match self.admit_as(admission) {
            Ok(()) => Ok(()),
            Err(refusal) => self.wait_for_room(refusal, admission, checkpoint),
        }
    }

    #[cold]
    fn wait_for_room(
        &mut self,
        mut refusal: Refusal,
        admission: Admission,
        checkpoint: &CheckpointStage,
    ) -> Result<(), LogError> {
        loop {
            if let Refusal::Log(error) = refusal {
                return Err(error);
            }
            // What waits in the group must not wait for room as well.
            self.hand_over();
            let (next, last, commit) = (self.next(), self.last_group(), &self.commit);
            let room = commit.room();
            room.wait_for_room(admission, next, checkpoint, || {
                // A checkpoint has only what is durable; another client may be writing the rest.
                commit.wait(last, &NothingFilling)?;
                checkpoint.work_off();
                Ok(())
            })?;
            // The group handed over moved the log's place on, maybe into a segment of its own.
            refusal = match self.admit_as(admission) {
                Ok(()) => return Ok(()),
                Err(refusal) => refusal,
            };
        }
    }

    /// Says that a transaction with records has ended in the builder
    /// ([`GroupBuilder::end_transaction`] returned true); closes the group if it is full. Returns
    /// the number of the group that holds the transaction.
    #[inline]
    pub fn transaction_ended(&mut self) -> u64 {
        if self.builder.transactions() == 1 {
            self.commit.set_filling(true);
        }
        let group = self.group();
        if self.builder.payload().len() >= self.commit.limits().group_bytes
            || self.builder.transactions() >= self.transactions_max
        {
            self.hand_over();
        }
        group
    }

    /// Seals the group and hands it to the logging thread, if it has transactions.
    pub fn hand_over(&mut self) {
        if let Some(group) = self.seal() {
            self.commit.push(group);
        }
    }

    /// Seals the group, if it has transactions, and starts the next.
    pub fn seal(&mut self) -> Option<SealedGroup> {
        if self.builder.is_empty() {
            None
        } else {
            Some(self.seal_even_if_empty())
        }
    }

    /// Like [`OpenGroup::seal`], for whoever has a place at the disk: does not wait for a buffer. If
    /// there is none, the logging thread looks again when one comes back.
    pub fn try_seal(&mut self) -> Option<SealedGroup> {
        if self.builder.is_empty() {
            return None;
        }
        let next = self.commit.pool().try_take()?;
        Some(self.seal_with(next))
    }

    /// Seals the group, also without transactions: an empty one marks a clean close.
    pub fn seal_even_if_empty(&mut self) -> SealedGroup {
        // Waits while all buffers are out; the logging thread and the checkpointer, who return
        // them, never wait for the execution stage.
        let next = self.commit.pool().take();
        self.seal_with(next)
    }

    fn seal_with(&mut self, next: AlignedBuffer) -> SealedGroup {
        let next = GroupBuilder::from_buffer(next);
        let group = self
            .sequencer
            .seal(std::mem::replace(&mut self.builder, next));
        self.commit.set_filling(false);
        group
    }

    /// Without threads: seals the group for a caller who will write it, although nobody waits for it, if
    /// it holds as much as may be left unwritten ([`DEFERRED_BYTES_MAX`]).
    #[inline]
    pub fn seal_if_overdue(&mut self) -> Option<SealedGroup> {
        let much = self.builder.payload().len() >= DEFERRED_BYTES_MAX
            || self.builder.transactions() >= DEFERRED_TRANSACTIONS_MAX;
        if much && !self.commit.is_threaded() {
            self.seal()
        } else {
            None
        }
    }

    /// Seals the group for a caller who will write it, if the disk is free and the policy lets a
    /// lone transaction go at once.
    #[inline]
    pub fn seal_if_wanted(&mut self) -> Option<SealedGroup> {
        let adaptive = self.commit.policy() == GroupPolicy::Adaptive;
        if adaptive && self.commit.wants_group() {
            self.seal()
        } else {
            None
        }
    }
}

/// Whoever waits for room has handed over what could be sealed.
struct NothingFilling;

impl GroupSource for NothingFilling {
    fn try_seal(&self) -> Option<SealedGroup> {
        None
    }
}

/// Why a transaction may not run.
#[derive(Debug)]
pub enum Refusal {
    /// A segment must be prepared first; the log is being written here.
    NoRoom(Lsn),
    /// The log is poisoned or closed.
    Log(LogError),
}
