//! What can go wrong with a standby's own storage and its process.

use crate::refusal::Refusal;
use sardonyx_base::process::FORKED;
use sardonyx_storage::checkpoint::CheckpointError;
use sardonyx_storage::disk::DiskError;
use sardonyx_storage::engine::{AppendError, OpenError};
use sardonyx_storage::log::LogError;
use sardonyx_storage::manifest::ManifestError;
use sardonyx_storage::recovery::RecoveryError;
use std::sync::Arc;

/// Why a standby cannot be opened, or cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StandbyError {
    /// This process was forked from the one that opened the standby. Nothing was done.
    #[error("{}", FORKED)]
    Forked,
    /// The directory cannot be opened as a database.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The disk failed.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The standby's log failed, or is full.
    #[error("the standby's log: {0}")]
    Log(#[from] LogError),
    /// The manifest is damaged.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The directory cannot be recovered.
    #[error(transparent)]
    Recovery(#[from] RecoveryError),
    /// The standby's checkpoints failed.
    #[error("the standby's checkpoints: {0}")]
    Checkpoint(#[from] Arc<CheckpointError>),
    /// It cannot listen there.
    #[error("cannot listen at {address}: {source}; is another standby running there?")]
    Listen {
        /// Where.
        address: String,
        /// What the operating system said.
        #[source]
        source: std::io::Error,
    },
    /// The system refused what the network's thread needs.
    #[error("cannot start the thread of the network: {0}")]
    Thread(#[source] std::io::Error),
    /// A primary is refused.
    #[error("the primary was refused: {0}")]
    Refused(#[from] Refusal),
    /// A group that cannot follow the standby's log.
    #[error("group {number} was received where group {expected} should come: {reason}")]
    Chain {
        /// The number of the group that came.
        number: u64,
        /// The number of the group that should come.
        expected: u64,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Bytes that are no group.
    #[error("{bytes} bytes were received where group {expected} should come, and are no group")]
    NoGroup {
        /// How many bytes.
        bytes: usize,
        /// The number of the group that should come.
        expected: u64,
    },
    /// A newer connection took over.
    #[error("a newer connection of the primary took over")]
    Superseded,
    /// An earlier write or sync failed (I7).
    #[error(
        "the standby stopped after a failed write ({cause}): nothing it reported is lost; start it \
         again when the cause is gone"
    )]
    Poisoned {
        /// The first failure.
        cause: Arc<str>,
    },
}

impl From<AppendError> for StandbyError {
    fn from(error: AppendError) -> Self {
        match error {
            AppendError::Log(error) => StandbyError::Log(error),
            AppendError::Chain {
                number,
                expected,
                reason,
            } => StandbyError::Chain {
                number,
                expected,
                reason,
            },
            AppendError::NoGroup { bytes, expected } => StandbyError::NoGroup { bytes, expected },
            AppendError::Superseded => StandbyError::Superseded,
            AppendError::Poisoned { cause } => StandbyError::Poisoned { cause },
            error => StandbyError::Poisoned {
                cause: error.to_string().into(),
            },
        }
    }
}
