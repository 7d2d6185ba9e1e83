//! The ids of entries.

use std::fmt;

/// The id of an entry: a time in milliseconds, and a number among those of the same time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct EntryId {
    pub ms: u64,
    pub seq: u64,
}

impl EntryId {
    /// Before all entries: no entry has it.
    pub const MIN: EntryId = EntryId { ms: 0, seq: 0 };
    /// The last one that there can be.
    pub const MAX: EntryId = EntryId {
        ms: u64::MAX,
        seq: u64::MAX,
    };

    /// The one behind it.
    pub fn next(self) -> Option<EntryId> {
        let EntryId { ms, seq } = self;
        match seq.checked_add(1) {
            Some(seq) => Some(EntryId { ms, seq }),
            None => ms.checked_add(1).map(|ms| EntryId { ms, seq: 0 }),
        }
    }

    /// The one before it.
    pub fn previous(self) -> Option<EntryId> {
        let EntryId { ms, seq } = self;
        let last = |ms| EntryId { ms, seq: u64::MAX };
        match seq.checked_sub(1) {
            Some(seq) => Some(EntryId { ms, seq }),
            None => ms.checked_sub(1).map(last),
        }
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.ms, self.seq)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_follow_each_other_and_end() {
        let id = |ms, seq| EntryId { ms, seq };
        assert_eq!(id(1, 2).next(), Some(id(1, 3)));
        assert_eq!(id(1, u64::MAX).next(), Some(id(2, 0)));
        assert_eq!(EntryId::MAX.next(), None);
        assert_eq!(id(1, 0).previous(), Some(id(0, u64::MAX)));
        assert_eq!(EntryId::MIN.previous(), None);
        assert!(id(1, u64::MAX) < id(2, 0) && EntryId::MIN < id(0, 1));
        assert_eq!(id(5, 7).to_string(), "5-7");
    }
}
