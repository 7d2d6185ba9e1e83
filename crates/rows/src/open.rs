//! Errors of open transactions that could not commit: the same types for all stores of rows.

use crate::row::shown;
use crate::schema::Value;
use sardonyx_base::error::{Error, Kind};
use sardonyx_base::process::FORKED;
use std::fmt;

/// Another transaction changed something that an open transaction had read. The open one had no effect: run it again.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Conflict {
    /// The table that another transaction changed.
    pub table: String,
    /// The part of it that was read.
    pub with: ConflictWith,
}

/// The kinds of an open transaction's reads.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum ConflictWith {
    /// A row with this key, or its absence.
    Row(Vec<Value>),
    /// Rows in a range of an index, or their number.
    Range {
        /// The name, as in the schema.
        index: String,
    },
    /// All rows, or the first ones of all.
    Scan,
    /// The number of rows.
    Count,
    /// Its columns, indexes and constraints.
    Schema,
}

impl Conflict {
    /// With something that was read of a table.
    pub fn new(table: impl Into<String>, with: ConflictWith) -> Self {
        let table = table.into();
        Conflict { table, with }
    }

    /// The key of the row that was changed, inserted or deleted, if it is one row.
    pub fn key(&self) -> Option<&[Value]> {
        match &self.with {
            ConflictWith::Row(key) => Some(key),
            _ => None,
        }
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "table {:?} was changed by another transaction: ",
            self.table
        )?;
        match &self.with {
            ConflictWith::Row(key) => {
                let key: Vec<_> = key.iter().map(|value| shown(value.as_ref())).collect();
                write!(f, "the row with key {}", key.join(", "))?;
            }
            ConflictWith::Range { index } => write!(f, "rows in a range of the index {index:?}")?,
            ConflictWith::Scan => f.write_str("its rows were all looked at")?,
            ConflictWith::Count => f.write_str("it has another number of rows")?,
            ConflictWith::Schema => f.write_str("its columns, indexes or constraints changed")?,
        }
        f.write_str("; run this one again")
    }
}

impl std::error::Error for Conflict {}

/// An open transaction was ended at a bound, or because the database was closed. It had no effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransactionEnded {
    /// Too many were begun after it.
    #[error(
        "the open transaction was ended, and had no effect: more than {max} were open, and it was the oldest; commit or \
         roll back those that are not needed, or set `open_transactions_max` to more, and run it again"
    )]
    Displaced {
        /// The number that may be open.
        max: usize,
    },
    /// All open ones together needed more bytes than they may keep.
    #[error(
        "the open transaction was ended, and had no effect: the open ones needed more than {bytes_max} bytes together, and \
         it was the oldest; commit or roll back those that are not needed, or set `open_transactions_bytes_max` to more, \
         and run it again"
    )]
    Outgrown {
        /// Bytes that they may keep together.
        bytes_max: usize,
    },
    /// The database was closed.
    #[error(
        "the database was closed while the transaction was open, which had no effect; open the database and run it again"
    )]
    Closed,
    /// This is a child of the process that began it.
    #[error("{}", FORKED)]
    Forked,
}

impl TransactionEnded {
    /// The kind of error that it is.
    pub fn kind(self) -> Kind {
        match self {
            TransactionEnded::Displaced { .. } | TransactionEnded::Outgrown { .. } => Error::Limit,
            TransactionEnded::Closed => Error::Closed,
            TransactionEnded::Forked => Error::Forked,
        }
    }
}
