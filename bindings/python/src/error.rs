//! Errors, and their Python exceptions.

use crate::directory::ArrayError;
use crate::value::to_python;
use pyo3::types::PyTuple;
use pyo3::{Bound, PyErr, Python};
use sardonyx_mapped::SegmentError;
use sardonyx_mapped::heap::HeapError;
use sardonyx_mapped::memory::{GrowError, PlaceError};
use std::path::PathBuf;

mod python {
    pyo3::import_exception!(sardonyx._exceptions, Conflict);
    pyo3::import_exception!(sardonyx._exceptions, Damaged);
    pyo3::import_exception!(sardonyx._exceptions, Duplicate);
    pyo3::import_exception!(sardonyx._exceptions, Error);
    pyo3::import_exception!(sardonyx._exceptions, Forked);
    pyo3::import_exception!(sardonyx._exceptions, Full);
    pyo3::import_exception!(sardonyx._exceptions, InsideTransaction);
    pyo3::import_exception!(sardonyx._exceptions, Locked);
    pyo3::import_exception!(sardonyx._exceptions, Mismatch);
    pyo3::import_exception!(sardonyx._exceptions, NoTransaction);
    pyo3::import_exception!(sardonyx._exceptions, NotFound);
    pyo3::import_exception!(sardonyx._exceptions, Poisoned);
    pyo3::import_exception!(sardonyx._exceptions, Refused);
    pyo3::import_exception!(sardonyx._exceptions, SlowReader);
    pyo3::import_exception!(sardonyx._exceptions, TransactionEnded);
    pyo3::import_exception!(sardonyx._exceptions, TransactionTooLarge);
    pyo3::import_exception!(sardonyx._exceptions, WrittenOutside);
}

/// Any error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// An error of the engine.
    #[error(transparent)]
    Segment(#[from] SegmentError),
    /// An error of the heap in the segment.
    #[error(transparent)]
    Heap(#[from] HeapError),
    /// A place that is not in the segment.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// A request for an array that is not possible.
    #[error(transparent)]
    Array(#[from] ArrayError),
    /// An exception of Python.
    #[error(transparent)]
    Python(#[from] PyErr),
    /// An error of the engine on tables.
    #[error(transparent)]
    Tables(#[from] sardonyx::Error),
    /// An error of the engine on a snapshot of tables.
    #[error(transparent)]
    OfSnapshot(sardonyx::Error),
    /// The transaction on tables is over, or did not begin.
    #[error("the transaction is not running: use `with tables.transaction() as tx:`")]
    NotRunning,
    /// The transaction was begun, and not ended.
    #[error("this transaction is running already: `tables.transaction()` gives another one")]
    RunsAlready,
    /// The handle was closed.
    #[error("this database was closed; open it again")]
    Closed,
    /// The directory to open as tables has arrays.
    #[error(
        "the database in {} is a segment with arrays, and not one of tables: open it by \
         sardonyx.segment(path)", path.display()
    )]
    IsSegment {
        /// Its directory.
        path: PathBuf,
    },
    /// Another transaction changed data that this one used.
    #[error("{}", conflict(*page, array.as_deref()))]
    Conflict {
        page: u64,
        /// The array, if the page has one's elements.
        array: Option<String>,
    },
    /// The snapshot was closed.
    #[error("this snapshot is over; take another")]
    SnapshotOver,
    /// A transaction belongs to the thread that began it.
    #[error("this transaction was begun by another thread, which must end it")]
    OtherThread,
}

impl Failure {
    /// Returns true if the transaction must be run again.
    pub fn is_conflict(&self) -> bool {
        matches!(
            self,
            Failure::Conflict { .. } | Failure::Segment(SegmentError::Conflict { .. })
        )
    }
}

/// True if an exception says that other transactions were in the way, so that it may succeed if it is run
/// again.
pub fn is_to_run_again(py: Python<'_>, raised: &PyErr) -> bool {
    raised.is_instance_of::<python::Conflict>(py)
        || raised.is_instance_of::<python::TransactionEnded>(py)
}

fn conflict(page: u64, array: Option<&str>) -> String {
    let of = array.map_or(String::new(), |name| format!(" of the array {name:?}"));
    format!("another transaction changed page {page}{of}, which this one used; run it again")
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> PyErr {
        let message = failure.to_string();
        match failure {
            Failure::Python(error) => error,
            Failure::Segment(SegmentError::Open(error)) => of_tables(&error.into(), message),
            Failure::Segment(error) => of_segment(&error, message),
            Failure::Heap(error) => of_heap(&error, message),
            Failure::Place(_) => python::Damaged::new_err(message),
            Failure::Array(error) => match error {
                ArrayError::NotFound { .. } => python::NotFound::new_err(message),
                ArrayError::Mismatch { .. } => python::Mismatch::new_err(message),
                ArrayError::Shape { .. } | ArrayError::Reserved { .. } => {
                    pyo3::exceptions::PyValueError::new_err(message)
                }
                ArrayError::Damaged { .. } => python::Damaged::new_err(message),
            },
            Failure::Conflict { page, array } => python::Conflict::new_err((message, page, array)),
            Failure::Tables(error) => of_tables(&error, message),
            // No transaction was ended.
            Failure::OfSnapshot(error)
                if error
                    .downcast_ref::<sardonyx::errors::SnapshotEnded>()
                    .is_some() =>
            {
                python::SlowReader::new_err(message)
            }
            Failure::OfSnapshot(error) => of_tables(&error, message),
            Failure::NotRunning => python::NoTransaction::new_err(message),
            Failure::RunsAlready => python::InsideTransaction::new_err(message),
            Failure::IsSegment { .. } => python::Mismatch::new_err(message),
            Failure::Closed => python::Error::new_err(message),
            Failure::SnapshotOver => python::NoTransaction::new_err(message),
            Failure::OtherThread => python::Error::new_err(message),
        }
    }
}

fn of_segment(error: &SegmentError, message: String) -> PyErr {
    match error {
        SegmentError::Conflict { .. } => python::Conflict::new_err(message),
        SegmentError::WrittenOutside { page } => python::WrittenOutside::new_err(format!(
            "page {page} was written outside of a transaction, through a slice that was kept; the \
             write was undone: write inside of `with segment.transaction():`"
        )),
        SegmentError::InsideTransaction => python::InsideTransaction::new_err(
            "this thread is inside of a transaction on this segment; use `segment.nested()` for a \
             part that can fail alone",
        ),
        SegmentError::NoTransaction => python::NoTransaction::new_err(
            "no transaction is running in this thread: use `with segment.transaction():`",
        ),
        SegmentError::Forked => python::Forked::new_err(message),
        SegmentError::TransactionTooLarge { .. } => python::TransactionTooLarge::new_err(message),
        SegmentError::SlowReader { .. } => python::SlowReader::new_err(message),
        SegmentError::SharedMemoryFull { .. }
        | SegmentError::AddressSpaceFull { .. }
        | SegmentError::TooMany { .. }
        | SegmentError::LogFull { .. } => python::Full::new_err(message),
        SegmentError::Poisoned { .. } => python::Poisoned::new_err(message),
        _ => python::Error::new_err(message),
    }
}

fn of_tables(error: &sardonyx::Error, message: String) -> PyErr {
    use sardonyx::Error;
    match error {
        Error::Duplicate(_) => python::Duplicate::new_err(message),
        Error::NotFound(_) => python::NotFound::new_err(message),
        Error::Refused(_) => python::Refused::new_err(message),
        Error::Conflict(_) => conflict_of_tables(error, message),
        // The errors that `is_to_run_again` knows.
        _ if sardonyx::low_level::is_to_run_again(error) => {
            python::TransactionEnded::new_err(message)
        }
        Error::Limit(_) => python::TransactionTooLarge::new_err(message),
        Error::Full(_) => python::Full::new_err(message),
        Error::Damaged(_) => python::Damaged::new_err(message),
        Error::Poisoned(_) => python::Poisoned::new_err(message),
        Error::Nested(_) => python::InsideTransaction::new_err(message),
        Error::Forked(_) => python::Forked::new_err(message),
        Error::Locked(_) => python::Locked::new_err(message),
        _ => python::Error::new_err(message),
    }
}

/// A conflict, with the table and the row's key.
fn conflict_of_tables(error: &sardonyx::Error, message: String) -> PyErr {
    let Some(conflict) = error.downcast_ref::<sardonyx::errors::Conflict>() else {
        return python::Conflict::new_err(message);
    };
    Python::attach(|py| {
        let key = conflict.key().map(|key| {
            let values = key.iter().map(|value| to_python(py, value.as_ref()));
            PyTuple::new(py, values.collect::<Result<Vec<_>, _>>()?)
        });
        match key.transpose() {
            Ok(key) => {
                let key = key.map(Bound::unbind);
                let none = || py.None();
                python::Conflict::new_err((message, none(), none(), conflict.table.clone(), key))
            }
            Err(error) => error,
        }
    })
}

fn of_heap(error: &HeapError, message: String) -> PyErr {
    match error {
        HeapError::Grow(GrowError::Full { .. } | GrowError::Refused { .. })
        | HeapError::Impossible { .. } => python::Full::new_err(message),
        HeapError::RootName { .. } => pyo3::exceptions::PyValueError::new_err(message),
        HeapError::RootType { .. } => python::Mismatch::new_err(message),
        _ => python::Damaged::new_err(message),
    }
}
