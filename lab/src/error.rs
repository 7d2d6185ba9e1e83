//! What can go wrong in an experiment.

use crate::complex_objects::workload::{ComplexObjectError, Subobject};
use crate::floor::FloorError;
use sardonyx_benchmark::BenchmarkError;
use sardonyx_mapped::memory::{GrowError, PlaceError};
use sardonyx_mapped::{RunError, SegmentError};
use std::path::PathBuf;

/// What an engine says went wrong, in its own words.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Why an experiment has no figures.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// The segment failed.
    #[error(transparent)]
    Segment(#[from] SegmentError),
    /// What every experiment can have.
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
    /// An engine that holds a tree failed.
    #[error("{engine} could not {operation}: {source}")]
    Engine {
        /// Its name.
        engine: &'static str,
        /// `open the tree`, `insert` and the like.
        operation: &'static str,
        /// What it said.
        #[source]
        source: Failure,
    },
    /// A tree does not hold what was inserted.
    #[error("{engine}: the {what} is {found} after the inserts, but should be {expected}")]
    WrongTree {
        /// The engine's name.
        engine: &'static str,
        /// What was compared.
        what: String,
        /// What should be there.
        expected: String,
        /// What is there.
        found: String,
    },
    /// The directory for the trees cannot be made or removed.
    #[error("the directory for {engine}'s tree: {source}")]
    Directory {
        /// The engine's name.
        engine: &'static str,
        /// What the operating system said.
        #[source]
        source: std::io::Error,
    },
    /// A worker's process failed, or could not be started.
    #[error("a process ({who}): {message}")]
    Worker {
        /// What it was to do.
        who: String,
        /// What went wrong, with what the process wrote to its standard error.
        message: String,
    },
    /// A task for a worker's process is not one.
    #[error("not a task for a worker: {message}")]
    Task {
        /// What is wrong with it.
        message: String,
    },
    /// A database of complex objects, or transactions on it, that cannot be.
    #[error(transparent)]
    ComplexObjects(#[from] ComplexObjectError),
    /// A database of multi-level transactions could not be opened, or failed.
    #[error("{doing}: {source}")]
    Database {
        /// `opening the database` and the like.
        doing: &'static str,
        /// What the engine said.
        #[source]
        source: Failure,
    },
    /// A subobject's value is not the sum of what was committed.
    #[error(
        "subobject {} of complex object {} is {found}, but the sum of what was committed is \
         {expected}; {others} other values are wrong, too",
        subobject.number, subobject.complex_object
    )]
    WrongSubobject {
        /// Which.
        subobject: Subobject,
        /// What was committed.
        expected: i64,
        /// What was found.
        found: i64,
        /// How many others are wrong.
        others: u64,
    },
    /// Options that do not fit together, or a value that cannot work.
    #[error("{0}")]
    Usage(String),
    /// Nothing was asked for.
    #[error(
        "nothing to run: name at least one engine (or variant), and at least one insert (or \
         transaction) for each worker"
    )]
    Nothing,
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
