//! The reasons why a copy did not take groups, below the errors of openings, one of which says them.

#![allow(missing_docs, reason = "the text of each error names its fields")]

use crate::log::LogError;
use std::sync::Arc;

/// The reason why groups were not appended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AppendError {
    /// The log failed, or is full.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A group that cannot follow the log.
    #[error("group {number} was received where group {expected} should come: {reason}")]
    Chain {
        /// The number of the group that came.
        number: u64,
        /// The number of the group that should come.
        expected: u64,
        /// The fault.
        reason: &'static str,
    },
    /// Bytes that are no group.
    #[error("{bytes} bytes were received where group {expected} should come, and are no group")]
    NoGroup {
        /// The received length.
        bytes: usize,
        /// The number of the group that should come.
        expected: u64,
    },
    /// An earlier write or sync failed (I7).
    #[error(
        "the copy stopped after a failed write ({cause}): nothing is lost; open it again when the cause is removed"
    )]
    Poisoned {
        /// The first failure.
        cause: Arc<str>,
    },
}
