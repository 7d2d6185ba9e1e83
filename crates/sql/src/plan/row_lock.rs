//! Tables whose rows a query locks, as its plan has them ([`super::row_locks`] finds them).

use crate::lock_modes::RowMode;

/// The way of a query with rows that others have claimed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Meeting {
    /// It claims them, too: the comparison at the commit decides.
    Claims,
    /// `SKIP LOCKED`.
    Skips,
    /// `NOWAIT`.
    Fails,
}

/// A table whose rows a query locks.
#[derive(Clone, Debug)]
pub(crate) struct RowLock {
    pub table: u16,
    pub name: String,
    /// The places of the primary key in the row of `FROM`.
    pub key: Vec<usize>,
    pub mode: RowMode,
    pub meeting: Meeting,
}

/// The locks of a query.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowLocks {
    pub tables: Vec<RowLock>,
    /// True for a query of `WITH`, whose rows the query around it does not lock.
    pub is_named: bool,
}
