//! The modes of locks on tables and on rows, and the modes that exclude each other.
//!
//! Source: PostgreSQL 15, tables 13.2 "Conflicting Lock Modes" and 13.3 "Conflicting Row-Level Locks".

use sqlparser::ast::LockTableMode;

/// A mode of a lock on a table. Advisory locks have the modes `Share` and `Exclusive`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub(crate) enum TableMode {
    AccessShare,
    RowShare,
    RowExclusive,
    ShareUpdateExclusive,
    Share,
    ShareRowExclusive,
    Exclusive,
    AccessExclusive,
}

/// Several modes, a bit for each.
pub(crate) type Modes = u8;

impl TableMode {
    pub const ALL: [TableMode; 8] = [
        TableMode::AccessShare,
        TableMode::RowShare,
        TableMode::RowExclusive,
        TableMode::ShareUpdateExclusive,
        TableMode::Share,
        TableMode::ShareRowExclusive,
        TableMode::Exclusive,
        TableMode::AccessExclusive,
    ];

    pub fn of(mode: Option<&LockTableMode>) -> TableMode {
        match mode {
            Some(LockTableMode::AccessShare) => TableMode::AccessShare,
            Some(LockTableMode::RowShare) => TableMode::RowShare,
            Some(LockTableMode::RowExclusive) => TableMode::RowExclusive,
            Some(LockTableMode::ShareUpdateExclusive) => TableMode::ShareUpdateExclusive,
            Some(LockTableMode::Share) => TableMode::Share,
            Some(LockTableMode::ShareRowExclusive) => TableMode::ShareRowExclusive,
            Some(LockTableMode::Exclusive) => TableMode::Exclusive,
            Some(LockTableMode::AccessExclusive) | None => TableMode::AccessExclusive,
        }
    }

    pub fn bit(self) -> Modes {
        1 << self as u8
    }

    /// The modes in which no other session holds the lock at the same time.
    pub fn excluded(self) -> Modes {
        match self {
            TableMode::AccessShare => 0b1000_0000,
            TableMode::RowShare => 0b1100_0000,
            TableMode::RowExclusive => 0b1111_0000,
            TableMode::ShareUpdateExclusive => 0b1111_1000,
            TableMode::Share => 0b1110_1100,
            TableMode::ShareRowExclusive => 0b1111_1100,
            TableMode::Exclusive => 0b1111_1110,
            TableMode::AccessExclusive => 0b1111_1111,
        }
    }

    /// True if a holder of some modes has this one with them: one of them excludes all that it excludes.
    pub fn is_within(self, held: Modes) -> bool {
        let stronger = |mode: &TableMode| self.excluded() & !mode.excluded() == 0;
        let mut all = TableMode::ALL.iter().filter(|mode| stronger(mode));
        all.any(|mode| held & mode.bit() != 0)
    }
}

/// A mode of a lock on a row, the weakest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub(crate) enum RowMode {
    KeyShare,
    Share,
    NoKeyUpdate,
    Update,
}

impl RowMode {
    pub fn bit(self) -> Modes {
        1 << self as u8
    }

    /// This mode and the stronger ones.
    pub fn or_stronger(self) -> Modes {
        0b1111 & !(self.bit() - 1)
    }

    /// The modes in which no other session holds the lock at the same time.
    pub fn excluded(self) -> Modes {
        match self {
            RowMode::KeyShare => 0b1000,
            RowMode::Share => 0b1100,
            RowMode::NoKeyUpdate => 0b1110,
            RowMode::Update => 0b1111,
        }
    }

    /// The clause of a query.
    pub fn word(self) -> &'static str {
        match self {
            RowMode::KeyShare => "FOR KEY SHARE",
            RowMode::Share => "FOR SHARE",
            RowMode::NoKeyUpdate => "FOR NO KEY UPDATE",
            RowMode::Update => "FOR UPDATE",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{RowMode, TableMode};

    #[test]
    fn two_modes_exclude_each_other_or_neither_does() {
        let all = TableMode::ALL;
        for (a, b) in all.iter().flat_map(|a| all.iter().map(move |b| (*a, *b))) {
            let excludes = |a: TableMode, b: TableMode| a.excluded() & b.bit() != 0;
            assert_eq!(excludes(a, b), excludes(b, a), "{a:?} {b:?}");
        }
        let rows = [
            RowMode::KeyShare,
            RowMode::Share,
            RowMode::NoKeyUpdate,
            RowMode::Update,
        ];
        for (a, b) in rows.iter().flat_map(|a| rows.iter().map(move |b| (*a, *b))) {
            let excludes = |a: RowMode, b: RowMode| a.excluded() & b.bit() != 0;
            assert_eq!(excludes(a, b), excludes(b, a), "{a:?} {b:?}");
        }
    }
}
