//! What can be wrong with a file of rows, as a whole or in a line.

use std::fmt;
use std::io;

/// Why a file cannot be read or written at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InterchangeError {
    /// The file cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The header names a column that the table has not.
    #[error("the header names {column:?}, which is no column of the table")]
    UnknownColumn {
        /// The name.
        column: String,
    },
    /// The header names a column twice.
    #[error("the header names {column:?} twice")]
    ColumnTwice {
        /// The name.
        column: String,
    },
    /// There is no header, or not one that can be understood.
    #[error("line {line}: {reason}")]
    Header {
        /// The line's number, from 1.
        line: u64,
        /// What is wrong.
        reason: String,
    },
    /// Nothing says what the columns are.
    #[error("the columns cannot be inferred: {reason}")]
    NothingToInfer {
        /// Why.
        reason: &'static str,
    },
}

/// A line that is no row of the table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadLine {
    /// The number of the line in which the row begins, from 1.
    pub line: u64,
    /// The column with the value that does not fit, if it is one.
    pub column: Option<String>,
    /// What is wrong.
    pub reason: String,
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.line)?;
        if let Some(column) = &self.column {
            write!(f, ", column {column:?}")?;
        }
        write!(f, ": {}", self.reason)
    }
}
