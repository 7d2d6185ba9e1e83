//! Errors of a measurement, each with the operation and its place.

#![allow(missing_docs, reason = "the text of each error names its fields")]

use std::io;
use std::path::{Path, PathBuf};

use crate::debit_credit::model::Sums;
use crate::debit_credit::requests::DebitCreditError;

/// The reason why the floor could not be measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FloorError {
    /// The number of accounts is not possible.
    #[error(transparent)]
    Scale(#[from] DebitCreditError),
    /// A file operation failed.
    #[error("could not {operation} a file in {}: {source}", directory.display())]
    File {
        /// `create`, `preallocate` or `write`.
        operation: &'static str,
        directory: PathBuf,
        /// The operating system's error.
        #[source]
        source: io::Error,
    },
    /// The system gave no memory.
    #[error("the system refused {bytes} bytes of memory (choose fewer accounts): {source}")]
    Memory {
        /// The number of bytes requested.
        bytes: usize,
        /// The operating system's error.
        #[source]
        source: io::Error,
    },
    /// The system gave no thread, or would not lower its priority.
    #[error("could not start a thread: {source}")]
    Thread {
        /// The operating system's error.
        #[source]
        source: io::Error,
    },
    /// The kernel refused a change of a mapping, or the handler of a signal.
    #[error("the kernel refused to {operation}: {source}")]
    Kernel {
        operation: &'static str,
        /// The operating system's error.
        #[source]
        source: io::Error,
    },
    /// A transaction asks for more pages than are mapped, or for none.
    #[error("{asked} pages were to be touched, but 1 to {mapped} are possible here")]
    Pages {
        /// The number of pages of the transaction.
        asked: usize,
        /// The number of mapped pages.
        mapped: usize,
    },
    /// A page held another value than was last committed to it, so the time is not valid.
    #[error("the {what} is {found} after the transaction, but {expected} was committed")]
    PageTouch {
        /// `value of a page` or `sum of the pages`.
        what: &'static str,
        /// The committed value.
        expected: i64,
        /// The value found.
        found: i64,
    },
    /// The loop computed wrong balances, so its time is not valid.
    #[error("the four sums differ after the loop: {sums}")]
    Sums { sums: Sums },
}

impl FloorError {
    /// For a system call without a file.
    pub fn kernel(operation: &'static str, source: impl Into<io::Error>) -> Self {
        FloorError::Kernel {
            operation,
            source: source.into(),
        }
    }

    /// For a system call on a file in `directory`.
    pub fn file(operation: &'static str, directory: &Path, source: impl Into<io::Error>) -> Self {
        FloorError::File {
            operation,
            directory: directory.to_path_buf(),
            source: source.into(),
        }
    }
}
