//! Room for the group being filled, while the log's first segment grows with use.
//!
//! From the second segment on, a transaction is admitted when the segment after the one being written is prepared; so
//! all its records have room. In a small log that would prepare far more than is used. There a transaction is admitted
//! at once. Before it appends a record that goes beyond the prepared end, it has more prepared
//! ([`GroupBuilder::make_room`](super::seal::GroupBuilder::make_room)). If there is no room for that, it gets an error
//! and is undone: a transaction that was executed whole can always be logged (I10).
//!
//! A *large* transaction, one with more records than may share a group ([`GroupLimits::transaction_bytes`]), has a
//! group for itself. That spans segments if it does not fit into one ([`super::group`]). The log is prepared for it
//! step by step, before the records are appended. If the log is at its limit, a checkpoint of its durable part makes
//! room meanwhile. So the transaction may be as large as the log ([`large_bytes_max`]). One for which there is no room
//! gets an error and is undone like any other.

use super::group::{GROUP_ALIGNMENT, GROUP_HEADER_BYTES, PAYLOAD_BYTES_MAX, group_bytes_on_disk};
use super::policy::GroupLimits;
use super::segment::MARGIN_BYTES;
use super::supply::{Admission, SegmentSupply};
use super::{LogError, LogLayout, Lsn};
use std::sync::Arc;

/// Bytes beyond the requested ones, since requests may be slightly wrong.
const SLACK_BYTES: u64 = 2 * GROUP_ALIGNMENT as u64;

/// The place of the group being filled, and the supply that prepares the log for it.
#[derive(Debug)]
pub struct Room {
    supply: Arc<SegmentSupply>,
    at: Lsn,
    limits: GroupLimits,
    /// The last recorded maximum.
    transaction_bytes_max: usize,
}

/// The most bytes of records of one transaction in a log of so many segments at most. Beside its own group there are
/// three segments: one in which the log ends before it, one for the transactions of the group before, and one in which
/// the log ends after it.
pub fn large_bytes_max(layout: LogLayout, segments_max: u64) -> usize {
    let spanned = segments_max.saturating_sub(3) * layout.segment_bytes;
    let fits = spanned.saturating_sub(GROUP_HEADER_BYTES as u64) & !7;
    usize::try_from(fits.min(PAYLOAD_BYTES_MAX)).unwrap_or(usize::MAX)
}

/// The reason why a transaction may not append more.
#[derive(Debug)]
pub enum NoRoom {
    /// It would have so many bytes of records, which is too many.
    TooLarge {
        /// Bytes of its records.
        bytes: usize,
    },
    /// The log has no more room, or has failed.
    Log(LogError),
}

impl Room {
    /// Room for a group at a place.
    pub fn new(supply: Arc<SegmentSupply>, at: Lsn, limits: GroupLimits) -> Self {
        Room {
            supply,
            at,
            limits,
            transaction_bytes_max: 0,
        }
    }

    /// The group before was sealed; the next one goes here. Returns to where the log must be prepared before
    /// a transaction is admitted.
    pub(super) fn move_to(&mut self, at: Lsn) -> Lsn {
        self.at = at;
        let prepared_end = self.supply.segments().prepared_end();
        debug_assert!(prepared_end > at, "a group was admitted that finds no room");
        self.supply.needed_for(Admission::Measured, at)
    }

    /// The most bytes of records of one transaction, as last computed.
    pub(super) fn transaction_bytes_max(&self) -> usize {
        self.transaction_bytes_max
    }

    /// The most bytes of records of a transaction that may share its group with others.
    pub(super) fn shared_bytes_max(&self) -> usize {
        self.limits.transaction_bytes
    }

    /// The length, header included, up to which the group has room.
    pub(super) fn group_bytes_max(&self) -> usize {
        let segments = self.supply.segments();
        let (layout, prepared_end) = (segments.layout(), segments.prepared_end());
        if !segments.grows(self.at)
            || prepared_end >= layout.segment_start(layout.begins.segment + 2)
        {
            return usize::MAX;
        }
        let kept = self.at.0 + MARGIN_BYTES + SLACK_BYTES;
        usize::try_from(prepared_end.0.saturating_sub(kept)).unwrap_or(usize::MAX)
    }

    /// Has the log prepared for a group of this length, header included.
    pub(super) fn make(
        &mut self,
        group_bytes: usize,
        transaction_bytes_max: usize,
    ) -> Result<(), LogError> {
        self.transaction_bytes_max = transaction_bytes_max;
        if group_bytes <= self.group_bytes_max() {
            return Ok(());
        }
        let bytes = group_bytes.next_multiple_of(GROUP_ALIGNMENT) as u64;
        self.supply.prepare_for_group(self.at, bytes + SLACK_BYTES)
    }

    /// Has the log prepared for a transaction with so many bytes of records, in a group for itself. Before it is a
    /// group of those that ended before. Returns the number of bytes that are prepared, which are some more.
    pub(super) fn make_large(
        &mut self,
        transaction_bytes: usize,
        transaction_bytes_max: usize,
    ) -> Result<usize, LogError> {
        self.transaction_bytes_max = transaction_bytes_max;
        let layout = self.supply.segments().layout();
        let step = (layout.segment_bytes / 8).max(GROUP_ALIGNMENT as u64) as usize;
        let bytes = transaction_bytes
            .next_multiple_of(step)
            .min(transaction_bytes_max);
        // A group with more than this would have been closed. Transactions that end before this one, or after it was
        // undone, may have taken up to that.
        let earlier = group_bytes_on_disk(self.limits.group_bytes) as u64;
        let before = Lsn(layout.place(self.at, earlier).0 + earlier);
        let on_disk = group_bytes_on_disk(bytes) as u64;
        let end = layout.place(before, on_disk).0 + layout.spanned_bytes(on_disk).max(on_disk);
        self.supply.prepare_for_large(self.at, Lsn(end))?;
        Ok(bytes)
    }
}
