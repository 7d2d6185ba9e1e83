//! Errors of an experiment.

use crate::complex_objects::workload::{ComplexObjectError, Subobject};
use crate::floor::FloorError;
use sardonyx_benchmark::BenchmarkError;
use sardonyx_mapped::memory::{GrowError, PlaceError};
use sardonyx_mapped::{RunError, SegmentError};
use std::path::PathBuf;

/// An engine's error.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The reason why an experiment has no figures.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// The segment failed.
    #[error(transparent)]
    Segment(#[from] SegmentError),
    /// An error that every experiment can have.
    #[error(transparent)]
    Benchmark(#[from] BenchmarkError),
    /// The recipe of the LIBXAC thesis failed, or the disk could not be timed.
    #[error(transparent)]
    Floor(#[from] FloorError),
    /// A typed access failed.
    #[error(transparent)]
    Access(#[from] PlaceError),
    /// The segment cannot be made long enough.
    #[error(transparent)]
    Grow(#[from] GrowError),
    /// The segment in a directory is not on stable storage, so that nothing durable can be timed.
    #[error("the segment in {} has no log: nothing in it is durable", directory.display())]
    NotDurable { directory: PathBuf },
    /// Memory held another value than the committed one: the times are not valid.
    #[error("{what} is {found}, but {expected} was committed")]
    Wrong {
        /// The compared value.
        what: String,
        /// The committed value.
        expected: i64,
        /// The value found.
        found: i64,
    },
    /// An engine that holds a tree failed.
    #[error("{engine} could not {operation}: {source}")]
    Engine {
        /// Its name.
        engine: &'static str,
        /// `open the tree`, `insert` and the like.
        operation: &'static str,
        /// The engine's error.
        #[source]
        source: Failure,
    },
    /// A tree does not hold what was inserted.
    #[error("{engine}: the {what} is {found} after the inserts, but should be {expected}")]
    WrongTree {
        /// The engine's name.
        engine: &'static str,
        /// The compared value.
        what: String,
        /// The expected value.
        expected: String,
        /// The value found.
        found: String,
    },
    /// The directory for the trees cannot be made or removed.
    #[error("the directory for {engine}'s tree: {source}")]
    Directory {
        /// The engine's name.
        engine: &'static str,
        /// The operating system's error.
        #[source]
        source: std::io::Error,
    },
    /// A worker's process failed, or could not be started.
    #[error("a process ({who}): {message}")]
    Worker {
        /// The task.
        who: String,
        /// The error, with the process' standard error output.
        message: String,
    },
    /// A task for a worker's process is not valid.
    #[error("not a task for a worker: {message}")]
    Task {
        /// The fault.
        message: String,
    },
    /// A database of complex objects, or transactions on it, that are not possible.
    #[error(transparent)]
    ComplexObjects(#[from] ComplexObjectError),
    /// A database of multi-level transactions could not be opened, or failed.
    #[error("{doing}: {source}")]
    Database {
        /// `opening the database` and the like.
        doing: &'static str,
        /// The engine's error.
        #[source]
        source: Failure,
    },
    /// A subobject's value is not the sum of the committed additions.
    #[error(
        "subobject {} of complex object {} is {found}, but the sum of what was committed is \
         {expected}; {others} other values are wrong, too",
        subobject.number, subobject.complex_object
    )]
    WrongSubobject {
        subobject: Subobject,
        /// The committed value.
        expected: i64,
        /// The value found.
        found: i64,
        /// The number of other wrong values.
        others: u64,
    },
    /// Options that do not fit together, or a value that is not possible.
    #[error("{0}")]
    Usage(String),
    /// The options ask for no run.
    #[error(
        "nothing to run: name at least one engine (or variant), and at least one insert (or \
         transaction) for each worker"
    )]
    Nothing,
    /// A number that is not possible.
    #[error("{what} {given}: {limits}")]
    Argument {
        /// The name of the number.
        what: &'static str,
        /// Its value.
        given: u64,
        /// The possible values.
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

/// Compares a found value with the committed one.
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
