//! What can go wrong while measuring: always with what was being done, and where.

use std::io;
use std::path::{Path, PathBuf};

use sardonyx_workload::debit_credit::DebitCreditError;
use sardonyx_workload::model::Sums;

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
    /// The loop computed wrong balances, so its time means nothing.
    #[error("the four sums differ after the loop: {sums}")]
    Sums {
        /// The sums.
        sums: Sums,
    },
}

impl FloorError {
    pub(crate) fn file(
        operation: &'static str,
        directory: &Path,
        source: impl Into<io::Error>,
    ) -> Self {
        FloorError::File {
            operation,
            directory: directory.to_path_buf(),
            source: source.into(),
        }
    }
}
