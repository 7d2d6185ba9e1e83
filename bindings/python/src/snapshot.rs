//! `with segment.snapshot() as snapshot:`.

use crate::directory::{self, ArrayError};
use crate::error::Failure;
use crate::lent::{Lent, lock};
use crate::record::Array;
use crate::thread_session::ndarray;
use pyo3::prelude::*;
use sardonyx_mapped::{Begin, Segment, Transaction};
use std::sync::{Arc, Mutex};

/// The arrays as they were at one moment, read-only, from ``segment.snapshot()``. It never fails because of
/// others and never blocks them, but old versions are kept for it until it is closed.
#[pyclass(frozen, module = "sardonyx")]
pub struct Snapshot {
    /// `None` when it is over.
    lent: Mutex<Option<Arc<Lent>>>,
}

impl Snapshot {
    pub(crate) fn new(segment: &Segment) -> Result<Self, Failure> {
        let mut session = segment.session()?;
        let begin = Begin {
            exclusive: false,
            read_only: true,
        };
        session.begin(begin)?;
        Ok(Snapshot {
            lent: Mutex::new(Some(Lent::new(segment, session, true))),
        })
    }

    fn read<R>(
        &self,
        part: impl FnOnce(&Transaction<'_>) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let lent = self.lent()?;
        lent.with(|session| session.with_running(|transaction| part(transaction)))?
    }

    fn lent(&self) -> Result<Arc<Lent>, Failure> {
        lock(&self.lent).clone().ok_or(Failure::SnapshotOver)
    }

    fn end(&self) -> Result<(), Failure> {
        match lock(&self.lent).take() {
            Some(lent) => Ok(lent.with(|session| session.abort())?),
            None => Ok(()),
        }
    }

    fn find(&self, name: &str) -> Result<Option<Array>, Failure> {
        self.read(|transaction| directory::find(transaction, name))
    }
}

#[pymethods]
impl Snapshot {
    /// The array of a name, as it was. Its memory is not copied.
    fn array<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let array = self.find(name)?;
        let array = array.ok_or_else(|| ArrayError::NotFound { name: name.into() });
        Ok(ndarray(
            py,
            &self.lent()?,
            name,
            &array.map_err(Failure::from)?,
        )?)
    }

    /// The names of all arrays, sorted.
    fn names(&self) -> PyResult<Vec<String>> {
        Ok(self.read(|transaction| directory::names(transaction))?)
    }

    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.array(py, name)
    }

    fn __contains__(&self, name: &str) -> PyResult<bool> {
        Ok(self.find(name)?.is_some())
    }

    /// Ends it, so that no versions are kept for it any more. Its arrays can still be read, but show some
    /// committed state from now on, not one moment: copy the data that you want to keep.
    fn close(&self) -> PyResult<()> {
        Ok(self.end()?)
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: Bound<'_, PyAny>) -> PyResult<bool> {
        self.end()?;
        Ok(false)
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        // The error has no receiver; an aborted session that failed is not used again.
        let _ = self.end();
    }
}
