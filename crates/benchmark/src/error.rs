//! Errors that every experiment can have.

#![allow(missing_docs, reason = "the text of each error names its fields")]

use crate::floor::FloorError;
use std::path::PathBuf;

/// The reason why an experiment has no figures, apart from its subject.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchmarkError {
    /// The floor cannot be measured, or the disk cannot be timed.
    #[error(transparent)]
    Floor(#[from] FloorError),
    /// Options that do not fit together, or a value that is not possible.
    #[error("{0}")]
    Usage(String),
    /// The path for a new database exists already.
    #[error(
        "{path} exists already (kept by --keep, or left by a run that was killed): remove it, or \
         name another place with --directory",
        path = path.display()
    )]
    Exists { path: PathBuf },
    /// The directory for the measurement cannot be created.
    #[error("making the directory {}: {source}", path.display())]
    Place {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: std::io::Error,
    },
}
