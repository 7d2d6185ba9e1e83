//! Room for the group being filled, while the log's first segment grows with use.
//!
//! From the second segment on, a transaction is admitted when the segment after the one being written is
//! prepared, and so whatever it writes finds room. In a small log that would prepare far more than is
//! used. There a transaction is admitted at once, and before it appends a record that goes beyond what is
//! prepared it has more prepared ([`GroupBuilder::make_room`](super::seal::GroupBuilder::make_room)). If
//! there is no room for that, it gets an error and is undone: what was executed whole can always be logged
//! (I10).

use super::group::GROUP_ALIGNMENT;
use super::segment::MARGIN_BYTES;
use super::supply::{Admission, SegmentSupply};
use super::{LogError, Lsn};
use std::sync::Arc;

/// Bytes beyond those that were asked for, as those who ask may be a little wrong.
const SLACK_BYTES: u64 = 2 * GROUP_ALIGNMENT as u64;

/// Where the group being filled goes, and what prepares the log for it.
#[derive(Debug)]
pub struct Room {
    supply: Arc<SegmentSupply>,
    at: Lsn,
    /// What was said last.
    transaction_bytes_max: usize,
}

/// Why a transaction may not append more.
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
    pub fn new(supply: Arc<SegmentSupply>, at: Lsn) -> Self {
        Room {
            supply,
            at,
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

    /// The most bytes of records of one transaction, as it was said last.
    pub(super) fn transaction_bytes_max(&self) -> usize {
        self.transaction_bytes_max
    }

    /// The length, header included, up to which the group has room.
    pub(super) fn group_bytes_max(&self) -> usize {
        let segments = self.supply.segments();
        let (layout, prepared_end) = (segments.layout(), segments.prepared_end());
        if !segments.grows(self.at) || prepared_end >= layout.segment_start(2) {
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
}
