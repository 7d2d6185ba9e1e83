//! What can go wrong while measuring: always with what was being done, and where.

use std::io;
use std::path::{Path, PathBuf};

use crate::debit_credit::model::Sums;
use crate::debit_credit::requests::DebitCreditError;

/// Why the floor could not be measured.
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
        /// The directory that was named.
        directory: PathBuf,
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
    /// The system gave no memory.
    #[error("the system refused {bytes} bytes of memory (choose fewer accounts): {source}")]
    Memory {
        /// How much was asked for.
        bytes: usize,
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
    /// The system gave no thread, or would not lower its priority.
    #[error("could not start a thread: {source}")]
    Thread {
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
    /// The kernel refused a change of a mapping, or the handler of a signal.
    #[error("the kernel refused to {operation}: {source}")]
    Kernel {
        /// What was asked of it.
        operation: &'static str,
        /// What it said.
        #[source]
        source: io::Error,
    },
    /// A transaction was to touch more pages than are mapped, or none.
    #[error("{asked} pages were to be touched, but 1 to {mapped} are possible here")]
    Pages {
        /// How many pages the transaction was to touch.
        asked: usize,
        /// How many pages there are.
        mapped: usize,
    },
    /// A page held another value than was last committed to it, so the time means nothing.
    #[error("the {what} is {found} after the transaction, but {expected} was committed")]
    PageTouch {
        /// `value of a page` or `sum of the pages`.
        what: &'static str,
        /// What was committed.
        expected: i64,
        /// What was found.
        found: i64,
    },
    /// The loop computed wrong balances, so its time means nothing.
    #[error("the four sums differ after the loop: {sums}")]
    Sums {
        /// The sums.
        sums: Sums,
    },
}

impl FloorError {
    /// The kernel refused this.
    pub fn kernel(operation: &'static str, source: impl Into<io::Error>) -> Self {
        FloorError::Kernel {
            operation,
            source: source.into(),
        }
    }

    /// This operation on a file in this directory failed.
    pub fn file(operation: &'static str, directory: &Path, source: impl Into<io::Error>) -> Self {
        FloorError::File {
            operation,
            directory: directory.to_path_buf(),
            source: source.into(),
        }
    }
}
