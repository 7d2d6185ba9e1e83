//! The redo log: one stream of commit groups, addressed by LSN, kept in recycled segment files.
//!
//! - [`record`]: after-images of byte ranges and journal rows, and their encoding;
//! - [`group`]: the commit group, the unit that is valid whole or not at all (I4);
//! - [`segment`]: the files;
//! - `spanning`: writing a group to its segment, or to the several that it has for itself;
//! - [`seal`]: a group in memory, and the place of the next one;
//! - `open_group`: the group that is being filled, and its closing;
//! - [`policy`]: the rule that closes it, and the bounds;
//! - [`writer`]: group commit, from sealed to acknowledged;
//! - [`durable`]: groups in flight, and the durable prefix;
//! - [`statistics`]: counts of the stage;
//! - `waiting`: waiters for a group;
//! - [`pool`]: a bounded number of group buffers;
//! - [`supply`]: segments prepared ahead of the writers;
//! - [`room`]: room for a transaction in a log that is still small;
//! - [`follow`]: durable groups on their way to a consumer, from memory or from disk;
//! - [`published`]: the end of the durable log, for readers in other processes;
//! - [`recent`]: the newest groups in memory, for the carrier of the log to a store;
//! - [`LogState`]: the state of one log that several parties share, as atomics in private or shared memory;
//! - [`LogLeader`]: writes groups for all processes of a shared log; `group_leader`: which thread does, and who waits;
//! - [`reader`]: reading it back, and distinguishing the log's end from corruption.
//!
//! Source: TPK paper, section 2, "Logging".

pub mod durable;
mod error;
pub mod follow;
pub mod group;
mod group_leader;
mod leader;
pub(crate) mod open_group;
pub mod policy;
pub mod pool;
pub mod published;
pub mod reader;
pub mod recent;
pub mod record;
pub mod room;
pub mod seal;
pub mod segment;
mod shared_error;
pub(crate) mod spanning;
pub(crate) mod split;
mod state;
pub mod statistics;
pub mod supply;
mod text;
mod waiting;
pub mod writer;

pub use error::LogError;
pub use group_leader::{GroupLeader, GroupSize, GroupWords, LOOK_AFTER, LeaderStep, PublishedRedo};
pub use leader::LogLeader;
pub use shared_error::SharedLogError;
pub use state::{LogState, SharedEnd};
pub use text::TEXT_BYTES_MAX;

/// A log sequence number: the byte position in the whole log since the database was created.
/// Segment `lsn / segment_bytes`, offset `lsn % segment_bytes`; always a multiple of
/// [`crate::disk::DIRECT_ALIGNMENT`] at a group's start.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Lsn(pub u64);

impl std::fmt::Display for Lsn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A place between two groups: everything before it is in, nothing after it is. A backup block has one, a redo pass
/// starts at one, a log ends at one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LogPosition {
    /// The place of the next group (or the segment after it, if it did not fit there).
    pub lsn: Lsn,
    /// The next group's number.
    pub group: u64,
    /// Transactions committed before here since the database was created.
    pub transactions: u64,
    /// The incarnation of the last group before here; a group of an earlier one at this place is a leftover.
    pub incarnation: u32,
}

impl LogPosition {
    /// The beginning of every log.
    pub const START: LogPosition = LogPosition {
        lsn: Lsn(0),
        group: 1,
        transactions: 0,
        incarnation: 0,
    };
}

/// The layout of a log, apart from the place of its files; from the manifest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogLayout {
    /// The database's identity.
    pub identity: u64,
    /// Bytes of a segment file; a multiple of [`group::GROUP_ALIGNMENT`].
    pub segment_bytes: u64,
    /// The place at which the log began again at the last compaction.
    pub begins: LogBegin,
}

/// The first segment of a log, and the group at its start. A new log is small, so this segment may be
/// shorter than all others. A compaction begins the log again in a later one: the room between the last
/// group before and this segment holds no group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogBegin {
    /// The segment with which the log begins.
    pub segment: u64,
    /// The number of the group at its start.
    pub group: u64,
}

impl LogBegin {
    /// The beginning of every log that was not compacted.
    pub const START: LogBegin = LogBegin {
        segment: 0,
        group: LogPosition::START.group,
    };
}

impl LogLayout {
    /// The layout of a log that was never compacted.
    pub const fn new(identity: u64, segment_bytes: u64) -> Self {
        LogLayout {
            identity,
            segment_bytes,
            begins: LogBegin::START,
        }
    }

    /// The place at which the next group after a position is looked for: there, or at the start of the segment in
    /// which a compaction began the log again before that group.
    pub fn resumed(&self, position: LogPosition) -> LogPosition {
        match position.group == self.begins.group {
            true => LogPosition {
                lsn: position.lsn.max(self.begin()),
                ..position
            },
            false => position,
        }
    }

    /// The place at which the log began, or began again.
    #[inline]
    pub fn begin(&self) -> Lsn {
        self.segment_start(self.begins.segment)
    }

    /// True if this byte of the log is in the segment that may be short.
    #[inline]
    pub fn is_in_first(&self, lsn: Lsn) -> bool {
        lsn.0.wrapping_sub(self.begin().0) < self.segment_bytes
    }

    /// The segment that holds this byte of the log.
    pub fn segment_of(&self, lsn: Lsn) -> u64 {
        lsn.0 / self.segment_bytes
    }

    /// The byte's offset in its segment.
    pub fn offset_in_segment(&self, lsn: Lsn) -> u64 {
        lsn.0 % self.segment_bytes
    }

    /// The LSN of its first byte.
    pub fn segment_start(&self, segment: u64) -> Lsn {
        Lsn(segment * self.segment_bytes)
    }

    /// The place of a group of so many bytes on disk, if the log before it ends at `end`: there, or at the next
    /// segment's start if it does not fit.
    #[inline]
    pub fn place(&self, end: Lsn, on_disk: u64) -> Lsn {
        let offset = self.offset_in_segment(end);
        if offset + on_disk <= self.segment_bytes || offset == 0 {
            end
        } else {
            self.segment_start(self.segment_of(end) + 1)
        }
    }

    /// The bytes of the segments that a group of so many bytes on disk has for itself
    /// ([`group::GroupHeader::spanned_bytes`]); 0 if it fits into one.
    #[inline]
    pub fn spanned_bytes(&self, on_disk: u64) -> u64 {
        match on_disk <= self.segment_bytes {
            true => 0,
            false => on_disk.next_multiple_of(self.segment_bytes),
        }
    }

    /// The parts of so many bytes from `lsn` on, in order: the segment, the offset in it, and how many bytes
    /// of it.
    pub fn parts(&self, lsn: Lsn, bytes: u64) -> impl Iterator<Item = (u64, u64, u64)> + use<> {
        let (layout, end) = (*self, lsn.0 + bytes);
        let mut at = lsn.0;
        std::iter::from_fn(move || {
            let (segment, offset) = (
                layout.segment_of(Lsn(at)),
                layout.offset_in_segment(Lsn(at)),
            );
            let part = (layout.segment_bytes - offset).min(end - at);
            at += part;
            (part > 0).then_some((segment, offset, part))
        })
    }
}
