//! Errors of the journal's archive.

#![allow(missing_docs, reason = "the text of each error names its fields")]

use super::JournalPosition;
use crate::disk::DiskError;
use crate::log::record::RecordError;
use crate::log::{LogError, Lsn};

/// A failed journal operation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The disk failed.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The log failed.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A chunk is broken and rows are lost with it: the log no longer has them.
    #[error(
        "{file} is damaged at offset {offset}: {reason}; rows from LSN {from} on are lost with it"
    )]
    Damaged {
        file: String,
        /// The start of the chunk, in bytes.
        offset: u64,
        /// The fault.
        reason: &'static str,
        /// The rows lost begin here.
        from: Lsn,
    },
    /// A chunk's rows cannot be decoded, although its checksum is right.
    #[error("{file}, chunk at offset {offset}: {source}")]
    Record {
        file: String,
        /// The start of the chunk, in bytes.
        offset: u64,
        /// The fault.
        #[source]
        source: RecordError,
    },
    /// The log ends before the archive: log that was durable is missing.
    #[error(
        "the journal's archive reaches to group {archive_group}, but the log ends at group \
         {log_group}: log is missing"
    )]
    BeyondLog {
        /// The group after the archive's last.
        archive_group: u64,
        /// The group after the log's last.
        log_group: u64,
    },
    /// The reader was slower than the retention of its rows: the log was freed before it read them, and the archive
    /// does not have the rows any more, or has them elsewhere.
    #[error(
        "the journal's rows from LSN {from} on were removed before they were read: the log was freed, \
         and the archive here no longer has them; read faster, or keep more of the archive"
    )]
    Overtaken {
        /// The rows not read begin here.
        from: Lsn,
    },
    /// The rows at the position where reading was to begin are not kept any more.
    #[error(
        "the journal's rows from position {from} on were removed: the oldest that is kept is of group {oldest}; \
         begin there, or keep more of the archive"
    )]
    Removed {
        /// The place at which reading was to begin.
        from: JournalPosition,
        /// The oldest group whose rows are kept.
        oldest: u64,
    },
    /// The database keeps no journal rows.
    #[error("the database keeps no journal rows (its manifest has `journal = nothing`)")]
    NotKept,
}

impl JournalError {
    /// True if the same operation may be tried again later ([`DiskError::may_be_tried_again`]).
    pub fn may_be_tried_again(&self) -> bool {
        matches!(self, JournalError::Disk(error) if error.may_be_tried_again())
    }
}
