//! Errors of a checkpoint while it is being made.

#![allow(missing_docs, reason = "the text of each error names its fields")]

use super::install::InstallError;
use crate::disk::DiskError;
use crate::journal::JournalError;
use crate::log::LogError;
use crate::log::record::RecordError;
use crate::store::StoreError;
use sardonyx_base::process::{FORKED, Forked};
use std::sync::Arc;

/// A failed checkpoint operation. After most of them the checkpointer is poisoned: it does nothing
/// more, and the log is kept from where it was needed before (I6). The exceptions are
/// [`CheckpointError::AlreadyWriting`], [`CheckpointError::NotWriting`] and those that may be tried
/// again ([`CheckpointError::may_be_tried_again`]).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The backup's disk failed.
    #[error("the backup cannot be written: {0}")]
    Disk(#[from] DiskError),
    /// DB' cannot grow.
    #[error("the checkpointer's copy of the database cannot grow: {0}")]
    Store(#[from] StoreError),
    /// The journal's archive cannot be written.
    #[error("the journal's archive cannot be written: {0}")]
    Journal(#[from] JournalError),
    /// The groups did not come in order.
    #[error("the checkpointer was given group {found}, after group {}", expected - 1)]
    Gap {
        /// The number of the group that should have come.
        expected: u64,
        /// The number of the group that came.
        found: u64,
    },
    /// A group's payload cannot be decoded, although its checksum is right.
    #[error("group {group}: {source}")]
    Record {
        /// The group's number.
        group: u64,
        /// The fault.
        #[source]
        source: RecordError,
    },
    /// An earlier operation failed.
    #[error(
        "the checkpointer stopped after a failure ({cause}); the log is kept, so nothing is lost: \
         reopen the database when the cause is removed"
    )]
    Poisoned {
        /// The first failure.
        cause: String,
    },
    /// The disk has no room for the checkpoint. It is tried again until there is.
    #[error(
        "the checkpoint waits for room, and goes on by itself when there is some ({cause}); nothing \
         is lost: free disk space"
    )]
    Waiting {
        /// The last error found.
        cause: Arc<CheckpointError>,
    },
    /// The record of a store's progress cannot be written, so the log that it has is not freed.
    #[error("the store's progress with the log cannot be recorded here: {cause}")]
    Unrecorded { cause: DiskError },
    /// The log is freed by the store that has it, and that gives no answer.
    #[error("the log here is freed when the store has it, and the store gives no answer: {reason}")]
    StoreAway { reason: Arc<str> },
    /// A checkpoint was begun while one is being written.
    #[error("checkpoint {number} is still being written")]
    AlreadyWriting { number: u64 },
    /// A block was to be written, but no checkpoint was begun.
    #[error("no checkpoint is being written")]
    NotWriting,
    /// The log is closed, so the group behind which a block was copied never becomes durable.
    #[error("the log is closed ({0}): no checkpoint can be taken from snapshots of the pages")]
    Log(#[from] LogError),
    /// The engine was opened for checkpoints from snapshots, by a way of running transactions that has none.
    #[error(
        "checkpoints can be taken from snapshots for tables only: take them from the second copy"
    )]
    NoPages,
    /// A block was to be written before its content was copied, or durable.
    #[error("the next block is not copied yet, or not durable")]
    NotReady,
    /// The checkpointers belong to the process that this one was forked from.
    #[error("{}", FORKED)]
    Forked,
}

impl From<Forked> for CheckpointError {
    fn from(_: Forked) -> Self {
        CheckpointError::Forked
    }
}

impl CheckpointError {
    /// True if the same step may be tried again later: the disk had no room (or the system no
    /// descriptor or memory), and nothing was left half done. Never so after a failed sync (I7).
    pub fn may_be_tried_again(&self) -> bool {
        match self {
            CheckpointError::Disk(error) => error.may_be_tried_again(),
            CheckpointError::Journal(error) => error.may_be_tried_again(),
            _ => false,
        }
    }

    pub(super) fn install(group: u64, error: InstallError) -> Self {
        match error {
            InstallError::Record(source) => CheckpointError::Record { group, source },
            InstallError::Store(source) => CheckpointError::Store(source),
        }
    }
}
