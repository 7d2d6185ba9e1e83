//! `with segment.transaction():` and `with segment.nested():`.

use crate::error::Failure;
use crate::lent::lock;
use crate::row::failed;
use crate::thread_session::ThreadSession;
use crate::ticket::Ticket;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use sardonyx_mapped::{Begin, Savepoint, SegmentError};
use std::sync::Mutex;

/// A transaction, from ``segment.transaction()``. It begins where its ``with`` block begins, and
/// commits at the end of it; an exception that leaves the block undoes it.
#[pyclass(frozen, module = "sardonyx")]
pub struct Transaction {
    session: Py<ThreadSession>,
    begin: Begin,
    wait: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: bool,
    ticket: Option<sardonyx_mapped::Ticket>,
}

impl Transaction {
    pub(crate) fn new(session: Py<ThreadSession>, exclusive: bool, wait: bool) -> Self {
        let begin = Begin {
            exclusive,
            read_only: false,
        };
        Transaction {
            session,
            begin,
            wait,
            state: Mutex::default(),
        }
    }
}

/// The outcome of an undoing, which is not an error in a forked child.
fn without_forked(undone: Result<(), Failure>) -> Result<(), Failure> {
    match undone {
        Err(Failure::Segment(SegmentError::Forked)) => Ok(()),
        undone => undone,
    }
}

#[pymethods]
impl Transaction {
    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        let this = slf.get();
        this.session.get().begin(slf.py(), this.begin)?;
        *lock(&this.state) = State {
            running: true,
            ticket: None,
        };
        Ok(slf)
    }

    #[pyo3(signature = (*exception))]
    fn __exit__(&self, py: Python<'_>, exception: Bound<'_, PyTuple>) -> PyResult<bool> {
        if !lock(&self.state).running {
            return Err(Failure::from(SegmentError::NoTransaction).into());
        }
        let session = self.session.get();
        let ended = match failed(&exception) {
            false => session.commit(py).map(Some),
            // A forked child has nothing to undo: the exception is the error there.
            true => without_forked(session.abort(py)).map(|()| None),
        };
        // Only after this failure it is still running.
        if let Err(Failure::OtherThread) = ended {
            return Err(Failure::OtherThread.into());
        }
        lock(&self.state).running = false;
        if let Some(position) = ended? {
            let ticket = session.home().ticket(position);
            lock(&self.state).ticket = Some(ticket.clone());
            if self.wait {
                py.detach(|| ticket.wait()).map_err(Failure::from)?;
            }
        }
        Ok(false)
    }

    /// The committed transaction's claim to durability; ``None`` before, and if it was undone.
    #[getter]
    fn ticket(&self) -> Option<Ticket> {
        lock(&self.state).ticket.clone().map(Ticket::new)
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if lock(&self.state).running {
            self.session.get().abandon();
        }
    }
}

/// A part of a transaction that can fail alone, from ``segment.nested()``: an exception that leaves its block
/// undoes the part, and the transaction continues if the program catches it.
#[pyclass(frozen, module = "sardonyx")]
pub struct Nested {
    session: Py<ThreadSession>,
    savepoint: Mutex<Option<Savepoint>>,
}

impl Nested {
    pub(crate) fn new(session: Py<ThreadSession>) -> Self {
        Nested {
            session,
            savepoint: Mutex::default(),
        }
    }
}

#[pymethods]
impl Nested {
    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        let savepoint = slf.get().session.get().savepoint()?;
        *lock(&slf.get().savepoint) = Some(savepoint);
        Ok(slf)
    }

    #[pyo3(signature = (*exception))]
    fn __exit__(&self, py: Python<'_>, exception: Bound<'_, PyTuple>) -> PyResult<bool> {
        let Some(savepoint) = lock(&self.savepoint).take() else {
            return Err(Failure::from(SegmentError::NoTransaction).into());
        };
        if failed(&exception) {
            without_forked(self.session.get().rollback_to(py, &savepoint))?;
        }
        Ok(false)
    }
}
