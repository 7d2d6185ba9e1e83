//! The group that is being filled: its records, its place in the log, and when it is full.
//!
//! It belongs to the log writer, under the lock that is the right to append ([`crate::pen`]): a thread
//! with a transaction appends to it, and a thread with a free disk seals it.

use super::group::group_bytes_on_disk;
use super::policy::{GroupLimits, GroupPolicy};
use super::pool::BufferPool;
use super::room::Room;
use super::seal::{GroupBuilder, SealedGroup, Sequencer};
use super::supply::{Admission, SegmentSupply};
use super::{LogPosition, Lsn};
use crate::disk::AlignedBuffer;
use std::sync::Arc;

/// The group being filled.
#[derive(Debug)]
pub(crate) struct OpenGroup {
    builder: GroupBuilder,
    sequencer: Sequencer,
    /// The log must be prepared to here before a [`Admission::Whole`] is admitted. Kept, because it costs
    /// a division and changes with each group only.
    needed_end: Lsn,
    /// The same for [`Admission::Measured`].
    measured_end: Lsn,
    segment_bytes: u64,
    group_bytes: usize,
    transactions_max: u32,
    /// A caller waits for a transaction of it, or has handed one on.
    wanted: bool,
    put_off: bool,
}

impl OpenGroup {
    /// Starts with an empty group in this buffer.
    pub fn new(
        sequencer: Sequencer,
        buffer: AlignedBuffer,
        policy: GroupPolicy,
        limits: GroupLimits,
        supply: Arc<SegmentSupply>,
    ) -> Self {
        let transactions_max = match policy {
            GroupPolicy::Adaptive => u32::MAX,
            GroupPolicy::Fixed { transactions, .. } => transactions.max(1),
        };
        let at = sequencer.next().lsn;
        let mut builder = GroupBuilder::from_buffer(buffer);
        let measured_end = supply.needed_for(Admission::Measured, at);
        builder.set_room(Some(Room::new(supply, at, limits)));
        OpenGroup {
            builder,
            needed_end: Admission::Whole.needed_end(sequencer.layout(), at),
            measured_end,
            segment_bytes: sequencer.layout().segment_bytes,
            sequencer,
            group_bytes: limits.group_bytes,
            transactions_max,
            wanted: false,
            put_off: false,
        }
    }

    /// The builder to which transactions append their records.
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

    /// The place of the next sealed group.
    pub fn next(&self) -> LogPosition {
        self.sequencer.next()
    }

    /// To where the log must be prepared before this is admitted.
    #[inline]
    pub fn needed_end(&self, admission: Admission) -> Lsn {
        match admission {
            Admission::Measured => self.measured_end,
            admission => Lsn(self.needed_end.0 + (admission.ahead() - 1) * self.segment_bytes),
        }
    }

    /// Returns true if it has no transaction.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.builder.is_empty()
    }

    /// Returns true if it holds as much as a group may.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.holds(self.group_bytes, self.transactions_max)
    }

    /// Returns true if it holds so many bytes of records or so many transactions.
    #[inline]
    pub fn holds(&self, bytes: usize, transactions: u32) -> bool {
        self.builder.payload().len() >= bytes || self.builder.transactions() >= transactions
    }

    /// Notes that it is to be written as soon as the disk is free: it is not put off any more.
    pub fn want(&mut self) {
        self.wanted = !self.is_empty();
    }

    /// Puts it off, unless a transaction of it is wanted: then returns `None`. Otherwise returns whether this is the
    /// first time; if it is empty, there is nothing to put off.
    #[inline]
    pub fn put_off(&mut self) -> Option<bool> {
        if self.is_empty() {
            return Some(false);
        }
        (!self.wanted).then(|| !std::mem::replace(&mut self.put_off, true))
    }

    /// If the last transaction does not fit into a segment with those before it: seals these, and leaves it alone
    /// in the next group, which is full. Waits for a buffer as [`OpenGroup::seal`] does.
    #[cold]
    pub fn split_off_earlier(&mut self, pool: &BufferPool) -> Option<SealedGroup> {
        let on_disk = group_bytes_on_disk(self.builder.payload().len()) as u64;
        if on_disk <= self.segment_bytes || self.builder.transactions() < 2 {
            return None;
        }
        let mut earlier = GroupBuilder::from_buffer(pool.take());
        self.builder.take_earlier(&mut earlier);
        let group = self.sequencer.seal(earlier);
        let at = self.sequencer.next().lsn;
        self.needed_end = Admission::Whole.needed_end(self.sequencer.layout(), at);
        if let Some(room) = self.builder.room_mut() {
            self.measured_end = room.move_to(at);
        }
        Some(group)
    }

    /// Seals the group, also without transactions (an empty one marks a clean close), and starts the next. Waits for a
    /// buffer while all are out. The logging thread and the checkpointer, which return them, never wait for the right
    /// to append.
    pub fn seal(&mut self, pool: &BufferPool) -> SealedGroup {
        self.seal_with(pool.take())
    }

    /// Seals the group if there is a buffer for the next one. If not, the pool notifies the logging thread when one
    /// comes back.
    pub fn try_seal(&mut self, pool: &BufferPool) -> Option<SealedGroup> {
        pool.try_take().map(|buffer| self.seal_with(buffer))
    }

    fn seal_with(&mut self, buffer: AlignedBuffer) -> SealedGroup {
        (self.wanted, self.put_off) = (false, false);
        let next = GroupBuilder::from_buffer(buffer);
        let mut full = std::mem::replace(&mut self.builder, next);
        let mut room = full.take_room();
        let group = self.sequencer.seal(full);
        let at = self.sequencer.next().lsn;
        self.needed_end = Admission::Whole.needed_end(self.sequencer.layout(), at);
        if let Some(room) = &mut room {
            self.measured_end = room.move_to(at);
        }
        self.builder.set_room(room);
        group
    }
}
