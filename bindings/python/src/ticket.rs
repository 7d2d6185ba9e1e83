//! Tickets of committed transactions: a thread waits for durability, or a task awaits it.

use crate::error::Failure;
use pyo3::prelude::*;

/// A committed transaction's claim to be on stable storage: ``ticket.wait()``, or ``await ticket`` in
/// asyncio. It becomes durable anyway, after all earlier commits.
#[pyclass(frozen, module = "sardonyx")]
pub struct Ticket(sardonyx_mapped::Ticket);

impl Ticket {
    pub(crate) fn new(ticket: sardonyx_mapped::Ticket) -> Self {
        Ticket(ticket)
    }
}

#[pymethods]
impl Ticket {
    /// Returns when the transaction is on stable storage; at once, if it changed nothing or the
    /// segment has no directory.
    pub fn wait(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.wait())
            .map_err(|error| Failure::from(error).into())
    }

    /// Waits in a thread of the running event loop's pool.
    fn __await__<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let running = slf
            .py()
            .import("asyncio")?
            .call_method0("get_running_loop")?;
        let wait = slf.getattr("wait")?;
        running
            .call_method1("run_in_executor", (slf.py().None(), wait))?
            .call_method0("__await__")
    }
}
