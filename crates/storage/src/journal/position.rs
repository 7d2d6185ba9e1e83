//! The place of a journal's row, for readers that come back. Positions are in the order of the rows. A position means
//! the same row for as long as the database lives, also when the row has moved.

use super::chunk::RowPlace;
use std::fmt;
use std::ops::{Bound, Range, RangeBounds};
use std::str::FromStr;

/// The position of a journal's row: behind all rows of smaller positions, in all journals.
///
/// It is printed, and read, as `group:row`.
///
/// ```
/// # mod sardonyx { pub use sardonyx_storage::journal as journals; }
/// use sardonyx::journals::JournalPosition;
/// let position: JournalPosition = "17:3".parse()?;
/// assert!(JournalPosition::START < position && position < position.next());
/// assert_eq!(position.next().to_string(), "17:4");
/// # Ok::<(), sardonyx_storage::journal::InvalidPosition>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct JournalPosition {
    /// The number of the commit group that the row was appended in; from 1.
    pub group: u64,
    /// The row's number among those that were appended in the group, to all journals; from 0.
    pub row: u32,
}

/// A text that is no position.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{text:?} is no position in a journal: write group:row, such as 17:3")]
pub struct InvalidPosition {
    /// The text as it was given.
    pub text: String,
}

impl JournalPosition {
    /// Before all rows.
    pub const START: JournalPosition = JournalPosition { group: 0, row: 0 };
    /// Behind all rows.
    pub const END: JournalPosition = JournalPosition {
        group: u64::MAX,
        row: u32::MAX,
    };

    /// The same range of positions, its first included, its last excluded.
    pub fn half_open(range: impl RangeBounds<JournalPosition>) -> Range<JournalPosition> {
        let start = match range.start_bound() {
            Bound::Included(start) => *start,
            Bound::Excluded(before) => before.next(),
            Bound::Unbounded => JournalPosition::START,
        };
        let end = match range.end_bound() {
            Bound::Included(last) => last.next(),
            Bound::Excluded(end) => *end,
            Bound::Unbounded => JournalPosition::END,
        };
        start..end
    }

    /// The smallest position behind this one: where to go on after this row.
    pub fn next(self) -> JournalPosition {
        let JournalPosition { group, row } = self;
        match row.checked_add(1) {
            Some(row) => JournalPosition { group, row },
            None => JournalPosition {
                group: group.saturating_add(1),
                row: 0,
            },
        }
    }
}

impl RowPlace {
    /// The row's position.
    pub fn position(&self) -> JournalPosition {
        JournalPosition {
            group: self.group,
            row: self.row,
        }
    }
}

impl fmt::Display for JournalPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.group, self.row)
    }
}

impl FromStr for JournalPosition {
    type Err = InvalidPosition;

    #[inline]
    fn from_str(text: &str) -> Result<Self, InvalidPosition> {
        let parts = text.split_once(':');
        let position =
            parts.and_then(|(group, row)| Some((group.parse().ok()?, row.parse().ok()?)));
        let (group, row) = position.ok_or_else(|| InvalidPosition {
            text: text.to_string(),
        })?;
        Ok(JournalPosition { group, row })
    }
}
