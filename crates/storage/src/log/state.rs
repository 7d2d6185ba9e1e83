//! The state of an open log: its end, the end of its prepared segments, the reason for refusing transactions, its
//! poison, the wanted checkpoints. It may be in memory that several processes share: atomics only, no pointers, and
//! all zeroes are a valid value.
//!
//! The end of the log (place, number, transactions, and the caller's own tail) is published as a whole. There are two
//! slots, and one number that counts the published ends and so names the newest slot. The next end is written into the
//! other slot, and becomes the newest by one store. So a process that dies halfway has published nothing. A reader
//! without a lock sees the one or the other, never a mixture, and never waits.
//!
//! Invariants:
//! - I1: the end is moved only after the group before it is durable;
//! - I2: readers of a log that is being written read to the published end;
//! - I7: poison is for ever;
//! - I9: no state between two stores keeps the others from going on.
//!
//! Source: ours; the LIBXAC thesis has no such storage.

use super::SharedLogError;
use super::group::{GROUP_ALIGNMENT, group_bytes_on_disk};
use super::segment::{FIRST_BYTES, MARGIN_BYTES};
use super::text::SharedText;
use super::{LogLayout, LogPosition, Lsn};
use sardonyx_base::sync::ChangesWord;
use sardonyx_base::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::time::{Duration, Instant};

/// The bytes that the groups of pending transactions take beyond their records. They become three groups at most: the
/// one being written, one that a leader begins before the last of them is published, and one with that. There is one
/// more if all do not fit into one.
const SLACK_BYTES: u64 = MARGIN_BYTES + 8 * GROUP_ALIGNMENT as u64;

/// The end of a shared log: everything before is durable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SharedEnd {
    /// The next group's place, number and first transaction.
    pub position: LogPosition,
    /// The caller's tail with the last group: the byte of its own stream of records (the ring) up to which everything
    /// is in the log.
    pub tail: u64,
}

/// A published end. All fields are changed only while it is not the newest.
#[repr(C)]
#[derive(Debug, Default)]
struct EndSlot {
    lsn: AtomicU64,
    group: AtomicU64,
    transactions: AtomicU64,
    tail: AtomicU64,
    incarnation: AtomicU32,
    reserved: AtomicU32,
}

/// The log's state: in memory that several processes share, or in that of the one process that has the log for itself.
/// Of all this the latter needs the end alone: its threads meet at mutexes, and its refusals and its poison are typed
/// errors. It admits a transaction by one load of the prepared end.
///
/// The thread that moves the end holds the *writer lock* of the caller's shared memory. The holder of the driver's
/// lock changes the driver's fields. Every process can read everything.
#[repr(C)]
#[derive(Debug, Default)]
pub struct LogState {
    /// Ends published so far; the newest is in slot `published % 2`.
    published: AtomicU64,
    ends: [EndSlot; 2],
    /// The group that was last about to be written, and where: if its writer died and it is written
    /// again, perhaps longer, it may go to another place, and then this one must not look whole.
    placed_lsn: AtomicU64,
    placed_group: AtomicU64,
    /// The LSN up to which segments are prepared.
    prepared_end: AtomicU64,
    /// A caller waits for segments prepared up to this LSN.
    wanted_end: AtomicU64,
    /// The incarnation of this opening of the database; 0 before [`LogState::initialise`].
    incarnation: AtomicU32,
    /// Counted up when something changed that others may wait for.
    changes: ChangesWord,
    /// Checkpoints wanted and taken, as numbers of requests.
    wanted: AtomicU64,
    served: AtomicU64,
    /// The group up to which the last complete checkpoint has everything.
    complete_from: AtomicU64,
    /// The number of drivers so far.
    drivers: AtomicU32,
    /// The process of the driver; 0 if there is none, or none that published its number.
    driver: AtomicU32,
    /// No process becomes driver any more.
    driving_ended: AtomicU32,
    /// Set by the first failure, before its text.
    poisoned: AtomicU32,
    poison: SharedText,
    /// The reason why the last driver stopped.
    failure: SharedText,
    /// The reason why no segment can be prepared.
    refusal: SharedText,
}

impl LogState {
    /// The state before it is initialised: all zeroes, as fresh shared memory is.
    pub fn zeroed() -> Self {
        Self::default()
    }

    /// The state in these words of a memory that processes share; `None` if they are too few. All processes use them
    /// by this type, and by nothing else.
    #[cfg(not(shuttle))]
    pub fn of(words: &[AtomicU64]) -> Option<&LogState> {
        const { assert!(align_of::<LogState>() <= align_of::<AtomicU64>()) };
        if words.len() < Self::WORDS {
            return None;
        }
        // SAFETY: the state consists of atomic integers alone, so that any bytes are one; it fits into the
        // words, is aligned as they are, and is borrowed for as long. All accesses to it are atomic.
        Some(unsafe { &*words.as_ptr().cast::<LogState>() })
    }

    /// Words of 8 bytes that a state takes.
    #[cfg(not(shuttle))]
    pub const WORDS: usize = size_of::<LogState>().div_ceil(8);

    /// The state of a log that one process has for itself, and that ends at `end`.
    pub(crate) fn private(end: SharedEnd) -> Self {
        let state = Self::zeroed();
        state.publish(end);
        state
    }

    /// Sets the end of the recovered log. Called once, on zeroed memory, before others see it. The tail begins at 0.
    pub fn initialise(&self, end: LogPosition, incarnation: u32) {
        self.publish(SharedEnd {
            position: end,
            tail: 0,
        });
        self.incarnation.store(incarnation, Ordering::Release);
    }

    /// The incarnation of this opening of the database, 0 before it is initialised. A process that joins compares it
    /// with the manifest's. Another one means that the database was opened alone meanwhile, and that this memory is a
    /// leftover.
    pub fn incarnation(&self) -> u32 {
        self.incarnation.load(Ordering::Acquire)
    }

    /// The end of the durable log.
    #[inline]
    pub fn end(&self) -> SharedEnd {
        self.read_end(|| {})
    }

    /// Reads the end; `meanwhile` is called in the middle of each attempt.
    #[inline(always)]
    fn read_end(&self, mut meanwhile: impl FnMut()) -> SharedEnd {
        loop {
            let published = self.published.load(Ordering::Acquire);
            let slot = &self.ends[(published % 2) as usize];
            let position = LogPosition {
                lsn: Lsn(slot.lsn.load(Ordering::Relaxed)),
                group: slot.group.load(Ordering::Relaxed),
                transactions: slot.transactions.load(Ordering::Relaxed),
                incarnation: slot.incarnation.load(Ordering::Relaxed),
            };
            meanwhile();
            let tail = slot.tail.load(Ordering::Relaxed);
            // The slot is changed only after the next end was published from the other one: had we
            // seen any of that change, we would see that one, too.
            fence(Ordering::Acquire);
            if self.published.load(Ordering::Relaxed) == published {
                return SharedEnd { position, tail };
            }
        }
    }

    /// The tail of the durable end: the caller's records before it are durable.
    #[inline]
    pub fn durable_tail(&self) -> u64 {
        self.end().tail
    }

    /// Publishes the next end. The caller holds the writer lock.
    pub(crate) fn publish(&self, end: SharedEnd) {
        let published = self.published.load(Ordering::Relaxed);
        // The store of `published` by the last publisher comes before the changes below.
        fence(Ordering::Release);
        let slot = &self.ends[((published + 1) % 2) as usize];
        let position = end.position;
        slot.lsn.store(position.lsn.0, Ordering::Relaxed);
        slot.group.store(position.group, Ordering::Relaxed);
        slot.transactions
            .store(position.transactions, Ordering::Relaxed);
        slot.incarnation
            .store(position.incarnation, Ordering::Relaxed);
        slot.tail.store(end.tail, Ordering::Relaxed);
        self.published.store(published + 1, Ordering::Release);
    }

    /// The place at which a leader, which may have died meanwhile, was about to write this group. The caller holds the
    /// writer lock.
    pub(super) fn placed(&self, group: u64) -> Option<Lsn> {
        let placed = self.placed_group.load(Ordering::Acquire) == group;
        placed.then(|| Lsn(self.placed_lsn.load(Ordering::Acquire)))
    }

    /// Records the place at which a group is about to be written. The caller holds the writer lock, and has ensured
    /// that the group is in no other place.
    pub(super) fn place(&self, group: u64, lsn: Lsn) {
        // A death between the two leaves another group's number, and nothing was written yet.
        self.placed_lsn.store(lsn.0, Ordering::Release);
        self.placed_group.store(group, Ordering::Release);
    }

    /// The LSN up to which segments are prepared.
    #[inline]
    pub fn prepared_end(&self) -> Lsn {
        Lsn(self.prepared_end.load(Ordering::Acquire))
    }

    /// Publishes how far segments are prepared. Never goes back.
    pub fn publish_prepared_end(&self, prepared_end: Lsn) {
        self.prepared_end
            .fetch_max(prepared_end.0, Ordering::AcqRel);
    }

    /// Returns true if a transaction may be admitted (I10): the segment after the one being written is prepared. In a
    /// log that is still in its first segment, so much must be prepared as `pending` bytes need: the frames of all
    /// that is published and not yet durable, and this transaction's. An admitted transaction can always be logged, as
    /// long as all that is not yet durable fits into one segment.
    #[inline]
    pub fn admits(&self, layout: LogLayout, pending: u64) -> bool {
        self.prepared_end() >= self.needed_end(layout, pending)
    }

    fn needed_end(&self, layout: LogLayout, pending: u64) -> Lsn {
        let at = self.end().position.lsn;
        let small = at.0.saturating_add(pending).saturating_add(SLACK_BYTES);
        match FIRST_BYTES < layout.segment_bytes && small <= layout.segment_bytes {
            true => Lsn(small),
            false => layout.segment_start(layout.segment_of(at) + 2),
        }
    }

    /// Asks for the room that [`LogState::admits`] lacks.
    pub fn want_room(&self, layout: LogLayout, pending: u64) {
        self.want_prepared(self.needed_end(layout, pending));
    }

    /// Returns true if a transaction with so many bytes of records may be admitted that is a group of its own, at any
    /// size. It is written after all that is published is durable, and nothing is published before it is durable
    /// itself. Its own space is prepared then, and the rest of the segment in which the log ends after it.
    pub fn admits_alone(&self, layout: LogLayout, records: u64) -> bool {
        self.prepared_end() >= self.needed_alone(layout, records)
    }

    /// Asks for the room that [`LogState::admits_alone`] lacks.
    pub fn want_room_alone(&self, layout: LogLayout, records: u64) {
        self.want_prepared(self.needed_alone(layout, records));
    }

    fn needed_alone(&self, layout: LogLayout, records: u64) -> Lsn {
        let on_disk = group_bytes_on_disk(records as usize) as u64;
        let start = layout.place(self.end().position.lsn, on_disk);
        let end = Lsn(start.0 + layout.spanned_bytes(on_disk).max(on_disk));
        layout.segment_start(layout.segment_of(end) + 1)
    }

    fn want_prepared(&self, end: Lsn) {
        self.wanted_end.fetch_max(end.0, Ordering::AcqRel);
        self.notify();
    }

    /// A caller that asked for more than there can be has given up: the supply need not try for it any more.
    pub fn give_up_room(&self) {
        self.wanted_end.store(0, Ordering::Release);
    }

    /// The LSN up to which a caller waits for prepared segments.
    pub(crate) fn wanted_end(&self) -> Lsn {
        Lsn(self.wanted_end.load(Ordering::Acquire))
    }

    /// Waits until a transaction may be admitted, and so until [`super::LogLeader::write_group`]
    /// finds room. To be called without any lock.
    ///
    /// # Errors
    /// [`SharedLogError::Full`] if no segment can be prepared; [`SharedLogError::Driver`] if the driver that should
    /// prepare it failed; [`SharedLogError::Poisoned`]; [`SharedLogError::NoRoom`] if nothing of that happened in
    /// time. Nothing is lost; try again or give up.
    #[cold]
    pub fn wait_for_room(
        &self,
        layout: LogLayout,
        at_most: Duration,
    ) -> Result<(), SharedLogError> {
        let until = Instant::now().checked_add(at_most);
        self.want_room(layout, u64::MAX);
        let mut seen = self.changes();
        loop {
            self.check()?;
            if self.admits(layout, u64::MAX) {
                return Ok(());
            }
            if let Some(error) = self.refusal().or_else(|| self.failure()) {
                return Err(error);
            }
            let left = until.map_or(at_most, |until| {
                until.saturating_duration_since(Instant::now())
            });
            if left.is_zero() {
                return Err(SharedLogError::NoRoom);
            }
            seen = self.wait(seen, left);
        }
    }

    /// The reason why no segment can be prepared, if that is so: a caller that waits for room should give up.
    pub fn refusal(&self) -> Option<SharedLogError> {
        let reason = self.refusal.get()?;
        Some(SharedLogError::Full { reason })
    }

    pub(crate) fn refuse(&self, reason: Option<&str>) {
        match reason {
            Some(reason) => self.refusal.set(reason),
            None => self.refusal.clear(),
        }
    }

    /// Closes the log for good after a failed write (I7). The first reason stays. Any thread may call it, with any
    /// locks held.
    pub fn poison(&self, reason: &str) {
        if self.poisoned.swap(1, Ordering::AcqRel) == 0 {
            self.poison.set(reason);
        }
        self.notify();
    }

    /// Returns true if a failed write closed the log.
    #[inline]
    pub fn is_poisoned(&self) -> bool {
        self.poisoned.load(Ordering::Acquire) != 0
    }

    /// # Errors
    /// [`SharedLogError::Poisoned`] if a failed write closed the log.
    #[inline]
    pub fn check(&self) -> Result<(), SharedLogError> {
        match self.is_poisoned() {
            false => Ok(()),
            true => Err(self.poisoned_error()),
        }
    }

    #[cold]
    fn poisoned_error(&self) -> SharedLogError {
        // The process that poisoned it may have died before it recorded the reason.
        let reason = self.poison.get();
        let reason = reason
            .unwrap_or_else(|| "the process that saw it died before it recorded the reason".into());
        SharedLogError::Poisoned { reason }
    }

    /// Asks the driver for a checkpoint that has everything durable now. Returns the request's
    /// number, for [`LogState::checkpoint`].
    pub fn want_checkpoint(&self) -> u64 {
        let number = self.wanted.fetch_add(1, Ordering::AcqRel) + 1;
        self.notify();
        number
    }

    /// Returns true if the checkpoint of this request is complete. If not, wait for a change and ask again.
    ///
    /// # Errors
    /// [`SharedLogError::Driver`] if the last driver failed and no other has taken over yet.
    pub fn checkpoint(&self, request: u64) -> Result<bool, SharedLogError> {
        if self.served.load(Ordering::Acquire) >= request {
            return Ok(true);
        }
        match self.failure() {
            Some(error) => Err(error),
            None => Ok(false),
        }
    }

    /// Asks for a checkpoint that has everything durable now, and waits for it.
    ///
    /// # Errors
    /// As [`LogState::checkpoint`]. It waits for ever where no process runs a
    /// [`crate::engine::Election`].
    pub fn take_checkpoint(&self) -> Result<(), SharedLogError> {
        let request = self.want_checkpoint();
        let mut seen = self.changes();
        while !self.checkpoint(request)? {
            seen = self.wait(seen, Duration::from_millis(100));
        }
        Ok(())
    }

    pub(crate) fn wanted(&self) -> u64 {
        self.wanted.load(Ordering::Acquire)
    }

    pub(crate) fn served(&self) -> u64 {
        self.served.load(Ordering::Acquire)
    }

    pub(crate) fn serve(&self, request: u64) {
        self.served.fetch_max(request, Ordering::AcqRel);
        self.notify();
    }

    /// The group up to which the last complete checkpoint has everything, as the driver knows.
    pub fn complete_from(&self) -> u64 {
        self.complete_from.load(Ordering::Acquire)
    }

    pub(crate) fn publish_complete_from(&self, group: u64) {
        self.complete_from.store(group, Ordering::Release);
    }

    /// The number of drivers so far.
    pub fn drivers(&self) -> u32 {
        self.drivers.load(Ordering::Acquire)
    }

    /// Makes this process the driver; the failures of the one before are cleared.
    pub(crate) fn begin_driving(&self) {
        self.driver.store(std::process::id(), Ordering::Release);
        self.drivers.fetch_add(1, Ordering::AcqRel);
        self.failure.clear();
        self.refusal.clear();
    }

    /// The driver's process id, so that a waiter can check that process; 0 if there is none.
    pub fn driver(&self) -> u32 {
        self.driver.load(Ordering::Acquire)
    }

    /// The driver gives its lock back.
    pub(crate) fn end_driving(&self) {
        self.driver.store(0, Ordering::Release);
    }

    /// The reason why the last driver stopped, if it failed and no other has taken over.
    pub fn failure(&self) -> Option<SharedLogError> {
        let reason = self.failure.get()?;
        Some(SharedLogError::Driver { reason })
    }

    /// Publishes the reason why the driver stopped; `for_good` if another one should not try.
    pub(crate) fn fail_driving(&self, reason: &str, for_good: bool) {
        if for_good {
            self.driving_ended.store(1, Ordering::Release);
        }
        self.failure.set(reason);
        self.notify();
    }

    /// Returns true if no process becomes driver any more, until the database is opened anew.
    pub fn driving_has_ended(&self) -> bool {
        self.driving_ended.load(Ordering::Acquire) != 0
    }

    /// The number that [`LogState::wait`] takes; read it before checking the awaited condition.
    #[inline]
    pub fn changes(&self) -> u32 {
        self.changes.value()
    }

    /// Waits until something changed since `seen` was read, or the time is over, or for no reason.
    /// Returns the number now.
    pub fn wait(&self, seen: u32, at_most: Duration) -> u32 {
        self.changes.wait(seen, at_most);
        self.changes()
    }

    /// Has all callers of [`LogState::wait`] look again: there is room, or need of some; a checkpoint is wanted, or
    /// complete; the log is poisoned. Not for every commit.
    pub fn notify(&self) {
        self.changes.change();
    }
}

#[cfg(test)]
mod tests;
