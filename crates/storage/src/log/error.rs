//! Errors of the log.

#![allow(missing_docs, reason = "the text of each error names its fields")]

use super::Lsn;
use crate::disk::DiskError;
use sardonyx_base::process::{FORKED, Forked};
use sardonyx_base::waiting::Reason;
use std::sync::Arc;

/// A failed log operation.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The disk failed.
    #[error(transparent)]
    Disk(#[from] Arc<DiskError>),
    /// A segment that the log needs is not there.
    #[error("{file} is missing: the log is needed from LSN {needed}")]
    MissingSegment {
        /// The file that should be there.
        file: String,
        /// The first LSN needed from it.
        needed: Lsn,
    },
    /// A segment file is shorter than a segment, or longer.
    #[error("{file} has {found_bytes} bytes, a segment of this database has {expected_bytes}")]
    SegmentLength {
        file: String,
        found_bytes: u64,
        /// Bytes it should have.
        expected_bytes: u64,
    },
    /// The first segment, which grows with use, is shorter than the log in it.
    #[error(
        "{file} has {found_bytes} bytes, but the log in it went on beyond them, to {needed_bytes} at \
         least: the file was cut"
    )]
    SegmentCut {
        file: String,
        found_bytes: u64,
        /// Bytes it had at least.
        needed_bytes: u64,
    },
    /// A segment begins with a group that no write of this log has put there.
    #[error(
        "{file} begins, at offset 0, with {found}: it is not a segment of this log under this name; \
         was the file replaced, or copied from elsewhere?"
    )]
    ForeignSegment {
        file: String,
        /// Whose group it is, or which.
        found: String,
    },
    /// A group is broken, and a later one proves that it had been durable (I4).
    #[error(
        "{file} is corrupt at offset {offset}: {reason} where group {number} should be; \
         the later group {proof_number} in {proof_file} at offset {proof_offset} is whole and \
         knew group {number} to be durable"
    )]
    Corrupt {
        /// The file with the broken group.
        file: String,
        /// The offset at which the broken group should start, in bytes.
        offset: u64,
        reason: &'static str,
        /// The broken group's number.
        number: u64,
        /// The number of the group that proves it.
        proof_number: u64,
        /// The file with that group.
        proof_file: String,
        /// The offset of that group, in bytes.
        proof_offset: u64,
    },
    /// A whole group contradicts the one before it.
    #[error("{file} is corrupt at offset {offset}: group {number}: {reason}")]
    Inconsistent {
        file: String,
        /// The offset of the group, in bytes.
        offset: u64,
        /// The group's number.
        number: u64,
        /// The contradiction.
        reason: String,
    },
    /// An earlier write or sync failed (I7). Waiting transactions have an unknown fate; reopening the database
    /// recovers the durable ones.
    #[error(
        "the log is closed after a failed write ({cause}): transactions not yet acknowledged have \
         an unknown fate; reopen the database to recover the durable ones"
    )]
    Poisoned {
        /// The first failure.
        cause: Arc<str>,
    },
    /// A thread of the engine panicked, or the engine's own code on a client's thread: that is an error in the engine,
    /// or in a disk of the program's own. Waiting transactions have an unknown fate, as after a failed write;
    /// reopening the database recovers the durable ones.
    #[error(
        "the log is closed because the engine's thread {thread:?} died ({message}): transactions not \
         yet acknowledged have an unknown fate; reopen the database to recover the durable ones"
    )]
    ThreadDied {
        /// The thread's name.
        thread: Arc<str>,
        /// The message of the panic.
        message: Arc<str>,
    },
    /// No room for more log (I10): its limit or the disk is full, and nothing can be freed.
    #[error("no room for more log: {reason}")]
    Full {
        /// The reason, and the remedy.
        reason: Arc<str>,
    },
    #[error("the log is closed")]
    Closed,
    /// Code that the database itself runs called it: a transaction's, a procedure's, or a waker's or a
    /// value's drop on one of the engine's threads. Nothing was run: it would wait for its own end.
    #[error(
        "a transaction cannot begin another on the same database, nor wait for one; use the one it was \
         given, or begin the other when it has ended"
    )]
    Nested,
    /// The wait for the right to append was ended from outside. Nothing was written.
    #[error("the wait for a turn was ended: {0:?}")]
    Interrupted(Reason),
    /// The log belongs to the process that this one was forked from. Nothing was written.
    #[error("{}", FORKED)]
    Forked,
}

impl From<Forked> for LogError {
    fn from(_: Forked) -> Self {
        LogError::Forked
    }
}

impl LogError {
    /// Returns true if only room for more log is missing: nothing is broken, and a later attempt may succeed.
    pub fn is_want_of_room(&self) -> bool {
        match self {
            LogError::Full { .. } => true,
            LogError::Disk(error) => error.may_be_tried_again(),
            _ => false,
        }
    }

    /// A full disk means a full log: nothing is broken, and nothing was lost. The advice comes first: other processes
    /// receive the text cut to a few words.
    pub(crate) fn or_full(self) -> LogError {
        match &self {
            LogError::Disk(disk) if disk.may_be_tried_again() => LogError::Full {
                reason: format!("free disk space and try again ({disk})").into(),
            },
            _ => self,
        }
    }
}

impl LogError {
    /// The error of a running transaction for which there is no room, as this one says, and that keeps a checkpoint from
    /// making some.
    pub(crate) fn refused_inside(&self) -> LogError {
        LogError::Full {
            reason: format!(
                "{}; a checkpoint may free some log, but none can be taken from snapshots while a transaction runs: it is \
                 taken when this one has ended, so run the transaction again",
                self.want_of_room()
            )
            .into(),
        }
    }

    /// The reason why there is no room, and the remedy, in few words.
    pub(crate) fn want_of_room(&self) -> String {
        match self {
            LogError::Full { reason } => reason.to_string(),
            error => error.to_string(),
        }
    }

    /// The calling thread has died of a panic with this message.
    #[cold]
    pub fn thread_died(message: &str) -> LogError {
        let thread = std::thread::current();
        LogError::ThreadDied {
            thread: thread.name().unwrap_or("a client's").into(),
            message: message.into(),
        }
    }
}

impl From<DiskError> for LogError {
    fn from(error: DiskError) -> Self {
        LogError::Disk(Arc::new(error))
    }
}
