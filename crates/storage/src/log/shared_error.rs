//! Errors of a log that several processes share.

use crate::disk::DiskError;
use crate::log::LogError;
use std::sync::Arc;

/// A failed operation on a shared log.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum SharedLogError {
    /// A write failed, in this process or in another (I7).
    #[error(
        "the shared log is closed after a failed write ({reason}): transactions not yet \
         acknowledged have an unknown fate; close the database in every process and open it again to recover the \
         durable ones"
    )]
    Poisoned {
        /// The first failure; cut off after [`super::TEXT_BYTES_MAX`] bytes.
        reason: String,
    },
    /// The group's segment is not prepared yet. Nothing was written; the driver is at it. Release the writer lock,
    /// wait, and try again.
    #[error("the log's next segment is not prepared yet: wait for the driver and try again")]
    NoRoom,
    /// The group's segment cannot be prepared (I10). Nothing was written, and a later attempt may
    /// succeed.
    #[error("no room for more log: {reason}")]
    Full {
        /// The reason, and the remedy.
        reason: String,
    },
    /// More records than a group can have. Nothing was written.
    #[error("a commit group of {bytes} bytes of records: at most {bytes_max} fit into a segment")]
    TooLarge {
        /// Bytes of records.
        bytes: usize,
        /// The most there may be.
        bytes_max: usize,
    },
    /// The shared memory is of another opening of the database than the manifest that was read.
    #[error(
        "the shared state is of incarnation {found} and this process joined incarnation \
         {expected}: release the lock and open the database again"
    )]
    OtherIncarnation {
        /// The incarnation in the manifest.
        expected: u32,
        /// The incarnation in the shared state.
        found: u32,
    },
    /// The checkpointing of the shared database stopped.
    #[error(
        "checkpointing stopped in the process that did it ({reason}); nothing is lost: close the \
         database in every process and open it again when the cause is removed"
    )]
    Driver {
        /// The reason; cut off after [`super::TEXT_BYTES_MAX`] bytes.
        reason: String,
    },
    /// A segment cannot be opened. Nothing was written.
    #[error(transparent)]
    Log(#[from] LogError),
}

impl From<DiskError> for SharedLogError {
    fn from(error: DiskError) -> Self {
        SharedLogError::Log(LogError::Disk(Arc::new(error)))
    }
}
