//! The errors of an entry log.

#![allow(missing_docs, reason = "the text of each error names its fields")]

use crate::disk::DiskError;
use crate::lines::Misread;
use crate::log::LogError;
use std::sync::Arc;

/// A failed operation of an entry log.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum EntryLogError {
    /// The log's files are damaged, or the disk cannot read them.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The file that describes the log is damaged.
    #[error(transparent)]
    File(Misread),
    /// There is no room. Nothing was done, and a later attempt may succeed.
    #[error("{0}")]
    NoRoom(#[source] LogError),
    /// The entry is longer than any. Nothing was done.
    #[error(
        "an entry of {bytes} bytes is too large: at most {} are taken",
        super::ENTRY_BYTES_MAX
    )]
    TooLarge { bytes: u64 },
    /// A write failed (I7). The fate of the changes that waited for it is not known.
    #[error(
        "a write of its log failed ({cause}), so no more entries are taken: start it again, and it continues with \
         the stable ones"
    )]
    Poisoned {
        /// The first failure.
        cause: Arc<str>,
    },
    /// Another process has the log open.
    #[error(
        "{file} is locked by another process{}: one process keeps this log; use that one, or end it first",
        named(.holders)
    )]
    InUse {
        /// The file that is locked.
        file: String,
        /// The processes that hold it, as far as the system shows them.
        holders: Vec<u32>,
    },
    /// The directory has a log of something else.
    #[error(
        "{file} is no part of a log of entries: give a directory that is empty, or has such a log"
    )]
    Foreign {
        /// An existing file.
        file: String,
    },
    /// The directory is used otherwise.
    #[error("{reason}")]
    OtherUse {
        /// The way of it, and the remedy.
        reason: String,
    },
    /// The segment with which the log begins is lost.
    #[error(
        "{file} is missing, or damaged at offset 0: the log is needed from there on; put the file back"
    )]
    Beginning { file: String },
    /// The log ends before the place that it had reached.
    #[error(
        "{file} ends the log at offset {offset}, before group {group}, but the log had reached group {recorded} \
         by {described}: segments are missing, or were replaced by older ones"
    )]
    CutShort {
        /// The file in which the log ends.
        file: String,
        /// The place of its end there.
        offset: u64,
        /// The number of the next group there.
        group: u64,
        /// The number of the next group that was recorded.
        recorded: u64,
        /// The file with that statement.
        described: String,
    },
}

fn named(processes: &[u32]) -> String {
    match processes {
        [] => String::new(),
        _ => format!(" ({processes:?})"),
    }
}

impl From<DiskError> for EntryLogError {
    fn from(error: DiskError) -> Self {
        EntryLogError::Log(error.into())
    }
}
