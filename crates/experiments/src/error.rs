//! What can go wrong in an experiment.

use sardonyx_floor::FloorError;
use sardonyx_mapped::memory::{GrowError, PlaceError};
use sardonyx_mapped::{RunError, SegmentError};
use std::path::PathBuf;

/// Why an experiment has no figures.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// The segment failed.
    #[error(transparent)]
    Segment(#[from] SegmentError),
    /// The recipe of the thesis failed, or the disk could not be timed.
    #[error(transparent)]
    Floor(#[from] FloorError),
    /// A typed access failed.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The segment cannot be made long enough.
    #[error(transparent)]
    Grow(#[from] GrowError),
    /// The segment in a directory is not on stable storage, so that nothing durable can be timed.
    #[error("the segment in {} has no log: nothing in it is durable", directory.display())]
    NotDurable {
        /// The directory.
        directory: PathBuf,
    },
    /// Memory held something else than was committed: the times mean nothing.
    #[error("{what} is {found}, but {expected} was committed")]
    Wrong {
        /// What was looked at.
        what: String,
        /// What was committed.
        expected: i64,
        /// What was found.
        found: i64,
    },
    /// A number that cannot work.
    #[error("{what} {given}: {limits}")]
    Argument {
        /// Which number.
        what: &'static str,
        /// What it is.
        given: u64,
        /// What it may be.
        limits: String,
    },
}

impl From<RunError<ExperimentError>> for ExperimentError {
    fn from(error: RunError<ExperimentError>) -> Self {
        match error {
            RunError::Refused(error) => error,
            RunError::Segment(error) => error.into(),
        }
    }
}

/// Compares what was found with what was committed.
pub(crate) fn equal(
    what: impl FnOnce() -> String,
    expected: i64,
    found: i64,
) -> Result<(), ExperimentError> {
    if expected == found {
        return Ok(());
    }
    Err(ExperimentError::Wrong {
        what: what(),
        expected,
        found,
    })
}
