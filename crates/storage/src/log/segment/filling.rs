//! Zeroes ahead of small groups, in room that is prepared and not written.
//!
//! The first write to a part of such room changes metadata, which its sync makes stable, too. For a group of a few
//! blocks that is as much as the group itself, and for one of many blocks little; filling the room with zeroes before costs
//! as much as the groups that go there. So zeroes are written only ahead of groups that are small on average, a short stretch
//! at a time, and a large group is itself the first write.
//!
//! ```text
//!   segment    [ groups and zeroes, written | not written                        ]
//!                          end of the log ──▶ ◀─ AHEAD_BYTES ─▶
//! ```
//!
//! Invariants:
//! - zeroes never overwrite a group: who writes one claims its place before, the zeroes go behind all that was claimed, and
//!   who claims a place that is just being filled waits until it is;
//! - a fill that failed is a failed write of the log (I7): from then on every claim fails, and no sync is believed.
//!
//! Whoever writes without claiming has no zeroes written ahead of it. So the segments of a log that several processes write,
//! whose claims this cannot see, are filled whole when they are prepared
//! ([`Segments::filled_whole`](super::Segments::filled_whole)).

use crate::log::LogError;
use crate::log::group::GROUP_ALIGNMENT;
use sardonyx_base::sync::atomic::{AtomicBool, Ordering};
use sardonyx_base::sync::{Condvar, Mutex};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// Zeroes reach so far behind the end of the log, and are written anew when half of them is used.
const AHEAD_BYTES: u64 = 2 << 20;

/// Groups that have fewer bytes than this on average are small: a first write takes longer by about as much as a disk
/// needs for so many bytes (0.12 to 0.2 ms, measured on ext4).
const SMALL_GROUP_BYTES: u64 = 64 << 10;

/// What of the segments is written.
#[derive(Debug)]
pub(super) struct Filling {
    state: Mutex<State>,
    /// Signalled when a fill has ended.
    ended: Condvar,
    /// Small groups have come near the end of what is written.
    wanted: AtomicBool,
    failure: OnceLock<LogError>,
}

#[derive(Debug)]
struct State {
    segments: BTreeMap<u64, Segment>,
    ahead_bytes: u64,
    /// What is being filled.
    fill: Option<Fill>,
    /// Where the last small group ended that found few written bytes behind it: segment and offset.
    wanted_at: Option<(u64, u64)>,
    /// The average length of the last groups.
    group_bytes: u64,
}

/// Bytes of a segment, from its start.
#[derive(Clone, Copy, Debug)]
struct Segment {
    /// Those that are written, or claimed by a group.
    written: u64,
    /// Those that are prepared.
    prepared: u64,
}

/// A part of a segment that is to be filled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Fill {
    pub segment: u64,
    pub from: u64,
    pub to: u64,
}

impl State {
    /// A group is about to be written here. Returns false if a fill is in its way.
    fn claim(&mut self, segment: u64, offset: u64, bytes: u64) -> bool {
        let end = offset + bytes;
        let is_in_the_way =
            |fill: Fill| fill.segment == segment && fill.from < end && offset < fill.to;
        if self.fill.is_some_and(is_in_the_way) {
            return false;
        }
        self.group_bytes = (3 * self.group_bytes + bytes) / 4;
        if let Some(of) = self.segments.get_mut(&segment) {
            of.written = of.written.max(end);
            let is_near = of.written < of.prepared && of.written - end < self.ahead_bytes / 2;
            if is_near && self.group_bytes < SMALL_GROUP_BYTES {
                self.wanted_at = Some((segment, end));
            }
        }
        true
    }

    /// What is to be filled now.
    fn begin(&mut self) -> Option<Fill> {
        let (segment, end) = self.wanted_at.take()?;
        if self.fill.is_some() {
            return None;
        }
        let Segment { written, prepared } = *self.segments.get(&segment)?;
        let (from, to) = (written, prepared.min(end + self.ahead_bytes));
        self.fill = (from < to).then_some(Fill { segment, from, to });
        self.fill
    }

    /// What was being filled is written.
    fn end(&mut self, fill: Fill) {
        if let Some(of) = self.segments.get_mut(&fill.segment) {
            of.written = of.written.max(fill.to);
        }
    }
}

impl Filling {
    pub fn new(segment_bytes: u64) -> Self {
        let quarter = (segment_bytes / 4).next_multiple_of(GROUP_ALIGNMENT as u64);
        let state = State {
            segments: BTreeMap::new(),
            ahead_bytes: AHEAD_BYTES.min(quarter),
            fill: None,
            wanted_at: None,
            group_bytes: 0,
        };
        Filling {
            state: Mutex::new(state),
            ended: Condvar::new(),
            wanted: AtomicBool::new(false),
            failure: OnceLock::new(),
        }
    }

    /// A segment is prepared to a length, and its file is written to another.
    pub fn found(&self, segment: u64, written: u64, prepared: u64) {
        let written = written - written % GROUP_ALIGNMENT as u64;
        let found = Segment { written, prepared };
        self.state.lock().segments.insert(segment, found);
    }

    /// A segment is prepared to a greater length than before.
    pub fn lengthened(&self, segment: u64, prepared: u64) {
        if let Some(of) = self.state.lock().segments.get_mut(&segment) {
            of.prepared = prepared;
        }
    }

    /// The segments before this are not written any more.
    pub fn forget_before(&self, segment: u64) {
        let mut state = self.state.lock();
        state.segments = state.segments.split_off(&segment);
    }

    /// A group is about to be written here. Waits until no fill is in its way.
    ///
    /// # Errors
    /// That of a fill that failed.
    pub fn claim(&self, segment: u64, offset: u64, bytes: u64) -> Result<(), LogError> {
        let mut state = self.state.lock();
        while !state.claim(segment, offset, bytes) {
            self.ended.wait(&mut state);
        }
        if state.wanted_at.is_some() {
            self.wanted.store(true, Ordering::Relaxed);
        }
        drop(state);
        self.check()
    }

    /// Whether [`Filling::begin`] may give something.
    #[inline]
    pub fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    /// What is to be filled now. The caller fills it, and then says so ([`Filling::end`]).
    pub fn begin(&self) -> Option<Fill> {
        self.wanted.store(false, Ordering::Relaxed);
        let mut state = self.state.lock();
        match self.failure.get() {
            None => state.begin(),
            Some(_) => None,
        }
    }

    /// A fill has ended, well or not.
    pub fn end(&self, fill: Fill, outcome: Result<(), LogError>) {
        let mut state = self.state.lock();
        match outcome {
            Ok(()) => state.end(fill),
            Err(error) => drop(self.failure.set(error)),
        }
        state.fill = None;
        drop(state);
        self.ended.notify_all();
    }

    /// Whether all fills went well, so that a sync of the log's files that said so can be believed.
    ///
    /// # Errors
    /// That of the fill that failed.
    #[inline]
    pub fn check(&self) -> Result<(), LogError> {
        match self.failure.get() {
            None => Ok(()),
            Some(error) => Err(error.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT_BYTES: u64 = 64 << 20;

    fn filling(prepared: u64) -> Filling {
        let filling = Filling::new(SEGMENT_BYTES);
        filling.found(3, 0, prepared);
        filling
    }

    /// The bytes that are filled while groups of these sizes are written, one after the other.
    fn filled(sizes: impl IntoIterator<Item = u64>) -> u64 {
        let (filling, mut offset, mut filled) = (filling(SEGMENT_BYTES), 0, 0);
        for bytes in sizes {
            filling.claim(3, offset, bytes).unwrap();
            offset += bytes;
            if filling.is_wanted()
                && let Some(fill) = filling.begin()
            {
                assert!(fill.from >= offset, "a group is overwritten");
                filled += fill.to - fill.from;
                filling.end(fill, Ok(()));
            }
        }
        filled
    }

    #[test]
    fn zeroes_are_ahead_of_small_groups_and_not_of_large_ones() {
        let small = filled([4096; 1024]);
        assert!(
            (4 << 20..=(4 << 20) + AHEAD_BYTES).contains(&small),
            "{small}"
        );
        // Before it is known that they are large.
        assert_eq!(filled([1 << 20; 32]), 0);
        let alternating = [4096, 1 << 20].into_iter().cycle().take(40);
        assert!(filled(alternating) <= AHEAD_BYTES);
    }

    #[test]
    fn a_fill_ends_where_the_segment_is_prepared_to_and_is_wanted_again_when_that_grows() {
        let filling = filling(16 << 10);
        filling.claim(3, 0, 4096).unwrap();
        let fill = filling.begin().unwrap();
        assert_eq!((fill.from, fill.to), (4096, 16 << 10));
        filling.end(fill, Ok(()));
        filling.claim(3, 4096, 4096).unwrap();
        assert!(!filling.is_wanted(), "all is written");
        filling.lengthened(3, 32 << 10);
        filling.claim(3, 8192, 4096).unwrap();
        let fill = filling.begin().unwrap();
        assert_eq!((fill.from, fill.to), (16 << 10, 32 << 10));
        filling.end(fill, Ok(()));
        // Of a segment that is not of the log any more nothing is filled.
        filling.lengthened(3, 64 << 10);
        filling.claim(3, 12 << 10, 4096).unwrap();
        filling.forget_before(4);
        assert_eq!(filling.begin(), None);
    }

    #[test]
    fn i7_after_a_failed_fill_nothing_is_claimed_believed_or_filled() {
        let filling = filling(SEGMENT_BYTES);
        filling.claim(3, 0, 4096).unwrap();
        let fill = filling.begin().unwrap();
        assert!(filling.check().is_ok());
        filling.end(fill, Err(LogError::Closed));
        assert!(filling.check().is_err());
        assert!(filling.claim(3, 4096, 4096).is_err());
        assert_eq!(filling.begin(), None);
    }

    #[test]
    fn zeroes_go_behind_all_claims_and_who_claims_in_them_waits() {
        let filling = filling(SEGMENT_BYTES);
        // The second of two groups is written first.
        filling.claim(3, 4096, 4096).unwrap();
        let fill = filling.begin().unwrap();
        assert_eq!(fill.from, 8192);
        let mut state = filling.state.lock();
        assert!(state.claim(3, 0, 4096), "the first one is before the fill");
        assert!(!state.claim(3, 8192, 4096));
        assert!(!state.claim(3, fill.to - 4096, 8192));
        assert!(state.claim(3, fill.to, 4096), "behind it");
        assert!(state.claim(4, 8192, 4096), "another segment's");
        drop(state);
        filling.end(fill, Ok(()));
        filling.claim(3, 8192, 4096).unwrap();
    }
}
