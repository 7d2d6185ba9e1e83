//! A place between two entries, and which entry may follow there.

use super::RemoteLogError;
use super::entry::Entry;
use std::fmt;

/// The number of an ownership of a log: it grows along the log, and each has one writer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Epoch(pub u64);

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A place between two entries: everything before it is in, nothing after it is. The keeper of a copy of the database
/// keeps this beside it, and continues from here.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EntryPosition {
    /// The next entry's number.
    pub next: u64,
    /// The epoch of the entry before; 0 if there is none.
    pub epoch: Epoch,
    /// The epoch's writer.
    pub writer: u64,
    /// The checksum of the entry before.
    pub checksum: u32,
    /// The creation time of the entry before ([`super::entry::EntryHead::time`]).
    pub time: u64,
}

impl EntryPosition {
    /// The beginning of every log.
    pub const START: EntryPosition = EntryPosition {
        next: 1,
        epoch: Epoch(0),
        writer: 0,
        checksum: 0,
        time: 0,
    };

    /// The place behind an entry, if that one may follow here in the log of this database.
    ///
    /// # Errors
    /// [`RemoteLogError::Identity`], [`RemoteLogError::Chain`].
    #[inline]
    pub fn after(&self, identity: u64, entry: &Entry) -> Result<EntryPosition, RemoteLogError> {
        let head = entry.head();
        let number = self.next;
        if head.identity != identity {
            return Err(RemoteLogError::Identity {
                number,
                expected: identity,
                found: head.identity,
            });
        }
        let reason = match () {
            () if head.number != number => "has the number of another place",
            () if head.checksum_before != self.checksum => "follows another entry",
            () if head.is_fence() && head.epoch <= self.epoch => "begins an epoch that was before",
            () if !head.is_fence() && (head.epoch, head.writer) != (self.epoch, self.writer) => {
                "is of a writer that did not claim the log"
            }
            () if head.time < self.time => "is older than the entry before it",
            () => return Ok(head.position_after()),
        };
        Err(RemoteLogError::Chain { number, reason })
    }
}
