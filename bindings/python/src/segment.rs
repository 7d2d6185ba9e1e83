//! Segments of arrays.

use crate::directory::{self, ArrayError};
use crate::error::Failure;
use crate::lent::lock;
use crate::snapshot::Snapshot;
use crate::thread_session::{Asked, ThreadSession, describe};
use crate::ticket::Ticket;
use crate::transaction::{Nested, Transaction};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use sardonyx_base::waiting::back_off;
use sardonyx_mapped::{Access, Begin, MechanismKind, Options};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

/// A transaction that conflicts so often gets priority.
const ATTEMPTS_BEFORE_PRIORITY: u32 = 6;

/// Arrays by name in memory that is shared, transactional and, if it has a directory, durable. Made
/// by ``sardonyx.segment``, ``sardonyx.volatile`` and ``sardonyx.private``.
#[pyclass(frozen, module = "sardonyx")]
pub struct Segment {
    /// `None` when it was closed.
    handle: Mutex<Option<Handle>>,
    name: String,
}

struct Handle {
    segment: sardonyx_mapped::Segment,
    /// A `threading.local` with each thread's session, which ends with its thread.
    sessions: Py<PyAny>,
}

impl Segment {
    fn new(py: Python<'_>, segment: sardonyx_mapped::Segment, name: String) -> PyResult<Self> {
        let sessions = py.import("threading")?.getattr("local")?.call0()?.unbind();
        Ok(Segment {
            handle: Mutex::new(Some(Handle { segment, sessions })),
            name,
        })
    }

    fn segment(&self) -> Result<sardonyx_mapped::Segment, Failure> {
        let handle = lock(&self.handle);
        handle
            .as_ref()
            .map(|handle| handle.segment.clone())
            .ok_or(Failure::Closed)
    }

    /// The calling thread's session.
    fn session<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, ThreadSession>> {
        let (segment, sessions) = match &*lock(&self.handle) {
            Some(handle) => (handle.segment.clone(), handle.sessions.clone_ref(py)),
            None => return Err(Failure::Closed.into()),
        };
        let sessions = sessions.bind(py);
        if let Some(session) = sessions.getattr_opt("session")? {
            return Ok(session.cast_into::<ThreadSession>()?);
        }
        let session = Bound::new(py, ThreadSession::new(&segment)?)?;
        sessions.setattr("session", &session)?;
        Ok(session)
    }

    fn run_until_committed<'py>(
        &self,
        function: &Bound<'py, PyAny>,
        arguments: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<(Bound<'py, PyAny>, sardonyx_mapped::Ticket)> {
        let py = function.py();
        let session = self.session(py)?;
        let session = session.get();
        for attempt in 0_u32.. {
            let begin = Begin {
                exclusive: attempt >= ATTEMPTS_BEFORE_PRIORITY,
                read_only: false,
            };
            session.begin(py, begin)?;
            let returned = function
                .call(arguments, keywords)
                .and_then(refuse_coroutine);
            let result = match returned {
                Ok(result) => result,
                Err(error) => {
                    session.abort(py)?;
                    return Err(error);
                }
            };
            match session.commit(py) {
                Ok(position) => return Ok((result, session.home().ticket(position))),
                Err(error) if error.is_conflict() => {
                    py.check_signals()?;
                    py.detach(|| back_off(attempt));
                }
                Err(error) => return Err(error.into()),
            }
        }
        unreachable!("an exclusive transaction does not conflict")
    }
}

/// The conflicts on each array's pages, the most first, and all others.
fn conflicts_by_array(
    segment: &sardonyx_mapped::Segment,
) -> Result<(Vec<(String, u64)>, u64), Failure> {
    let conflicts = segment.conflicts();
    let mut elsewhere = conflicts.elsewhere;
    let mut counts: Vec<(String, u64)> = Vec::new();
    if conflicts.pages.is_empty() {
        return Ok((counts, elsewhere));
    }
    let snapshot = segment.snapshot()?;
    let mut arrays = Vec::new();
    for name in directory::names(&snapshot)? {
        arrays.extend(directory::find(&snapshot, &name)?.map(|array| (name, array)));
    }
    drop(snapshot);
    for on_page in conflicts.pages {
        let found = arrays.iter().find(|(_, array)| array.is_on(on_page.page));
        let Some((name, _)) = found else {
            elsewhere += on_page.conflicts;
            continue;
        };
        match counts.iter_mut().find(|(known, _)| known == name) {
            Some((_, count)) => *count += on_page.conflicts,
            None => counts.push((name.clone(), on_page.conflicts)),
        }
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    Ok((counts, elsewhere))
}

/// A coroutine would run after the end of the transaction.
fn refuse_coroutine(result: Bound<'_, PyAny>) -> PyResult<Bound<'_, PyAny>> {
    match result.hasattr("__await__")? {
        true => {
            // A closed coroutine does not warn that it was never awaited. Other objects need not have the
            // method.
            let _ = result.call_method0("close");
            let message =
                "the function is asynchronous and has done nothing yet: run one that is not";
            Err(PyTypeError::new_err(message))
        }
        false => Ok(result),
    }
}

#[pymethods]
impl Segment {
    /// The array of a name. If there is none, it is made, full of zeroes, of the given shape and element type
    /// (``"f8"`` if none is given); without a shape ``NotFound`` is raised.
    ///
    /// It is a plain ``numpy.ndarray``, of the calling thread, writable inside of the thread's
    /// transactions, now and later.
    #[pyo3(signature = (name, shape=None, dtype=None, *, zeroed=true))]
    fn array<'py>(
        &self,
        py: Python<'py>,
        name: String,
        shape: Option<Bound<'py, PyAny>>,
        dtype: Option<Bound<'py, PyAny>>,
        zeroed: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let shape = shape.map(|shape| match shape.extract::<u64>() {
            Ok(length) => Ok(vec![length]),
            Err(_) if shape.hasattr("__array_interface__")? => Err(PyTypeError::new_err(
                "an array was given for the shape: make the array by its shape and type, and assign the \
                 data, `segment.array(name, data.shape, data.dtype)[...] = data`",
            )),
            Err(_) => shape.extract::<Vec<u64>>(),
        });
        let asked = Asked {
            name,
            shape: shape.transpose()?,
            dtype: dtype.map(|dtype| describe(py, dtype)).transpose()?,
            zeroed,
        };
        Ok(self.session(py)?.get().array(py, &asked)?)
    }

    fn __getitem__<'py>(&self, py: Python<'py>, name: String) -> PyResult<Bound<'py, PyAny>> {
        self.array(py, name, None, None, true)
    }

    /// A transaction for a ``with`` block: committed at its end, and undone if an exception leaves it.
    /// ``exclusive`` keeps others from committing meanwhile, so that it cannot conflict. With ``wait=False``
    /// the end does not wait for stable storage: see ``Transaction.ticket``.
    #[pyo3(signature = (*, exclusive=false, wait=true))]
    fn transaction(&self, py: Python<'_>, exclusive: bool, wait: bool) -> PyResult<Transaction> {
        Ok(Transaction::new(
            self.session(py)?.unbind(),
            exclusive,
            wait,
        ))
    }

    /// A part of the running transaction that can fail alone, for a ``with`` block.
    fn nested(&self, py: Python<'_>) -> PyResult<Nested> {
        Ok(Nested::new(self.session(py)?.unbind()))
    }

    /// Calls ``function(*args, **kwargs)`` in a transaction, again after a conflict until it commits, and
    /// returns its result when it is durable. The function may be called several times: its effects outside
    /// of the segment are not undone.
    #[pyo3(signature = (function, /, *args, **kwargs))]
    fn run<'py>(
        &self,
        function: Bound<'py, PyAny>,
        args: Bound<'py, PyTuple>,
        kwargs: Option<Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (result, ticket) = self.run_until_committed(&function, &args, kwargs.as_ref())?;
        function
            .py()
            .detach(|| ticket.wait())
            .map_err(Failure::from)?;
        Ok(result)
    }

    /// As ``run``, but returns when it is visible to all: the function's result, and a ticket.
    #[pyo3(signature = (function, /, *args, **kwargs))]
    fn run_later<'py>(
        &self,
        function: Bound<'py, PyAny>,
        args: Bound<'py, PyTuple>,
        kwargs: Option<Bound<'py, PyDict>>,
    ) -> PyResult<(Bound<'py, PyAny>, Ticket)> {
        let (result, ticket) = self.run_until_committed(&function, &args, kwargs.as_ref())?;
        Ok((result, Ticket::new(ticket)))
    }

    /// The arrays in their present state, for reading.
    fn snapshot(&self) -> PyResult<Snapshot> {
        Ok(Snapshot::new(&self.segment()?)?)
    }

    /// The names of all arrays, sorted.
    fn names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let session = self.session(py)?;
        Ok(session
            .get()
            .in_transaction(py, |transaction| directory::names(transaction))?)
    }

    fn __contains__(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        let session = self.session(py)?;
        let found = session
            .get()
            .in_transaction(py, |tx| directory::find(tx, name))?;
        Ok(found.is_some())
    }

    /// Removes an array; returns ``True`` if it existed. Arrays handed out, in any process, can never be
    /// written again.
    fn remove(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        Ok(self.session(py)?.get().remove(py, name)?)
    }

    /// Arrays are made by ``array``: raises ``TypeError``, which says so.
    fn __setitem__(&self, name: &str, _value: Bound<'_, PyAny>) -> PyResult<()> {
        let message = format!(
            "an array is not set as a whole: `segment.array({name:?}, data.shape, data.dtype)[...] = data` \
             makes it and assigns its elements, in a transaction"
        );
        Err(PyTypeError::new_err(message))
    }

    fn __delitem__(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        match self.remove(py, name)? {
            true => Ok(()),
            false => Err(Failure::from(ArrayError::NotFound { name: name.into() }).into()),
        }
    }

    /// Announces that the running transaction is going to read or write an array, or a part of one. That is
    /// cheaper than detecting it page by page. It is needed before a system call writes into the array
    /// (``file.readinto``), or, with the mechanism ``"signal"``, reads from it in a transaction
    /// (``file.write``). Returns the array: ``segment.touch(prices).tofile(path)``.
    #[pyo3(signature = (array, *, write=false))]
    fn touch<'py>(
        &self,
        py: Python<'py>,
        array: Bound<'py, PyAny>,
        write: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let bounds = py
            .import("numpy.lib.array_utils")?
            .call_method1("byte_bounds", (&array,))?;
        let access = if write { Access::Write } else { Access::Read };
        self.session(py)?.get().touch(bounds.extract()?, access)?;
        Ok(array)
    }

    /// The number of conflicts of this process' transactions with others, since it opened the segment: a
    /// dictionary from the names of arrays to numbers, the largest first. ``None`` has the conflicts outside
    /// of arrays' elements: arrays that were made or removed, or too many different pages. Two transactions
    /// conflict if they use one page of 4096 bytes that one of them changes: see ``spread``.
    fn conflicts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let segment = self.segment()?;
        let (counts, elsewhere) = py.detach(|| conflicts_by_array(&segment))?;
        let by_name = PyDict::new(py);
        for (name, count) in counts {
            by_name.set_item(name, count)?;
        }
        if elsewhere > 0 {
            by_name.set_item(py.None(), elsewhere)?;
        }
        Ok(by_name)
    }

    /// Takes a checkpoint, so that the next opening after a crash has less to redo.
    fn checkpoint(&self, py: Python<'_>) -> PyResult<()> {
        let segment = self.segment()?;
        Ok(py.detach(|| segment.checkpoint()).map_err(Failure::from)?)
    }

    /// The mechanism that detects the pages of transactions.
    #[getter]
    fn mechanism(&self) -> PyResult<&'static str> {
        Ok(match self.segment()?.mechanism() {
            MechanismKind::Signal => "signal",
            MechanismKind::Explicit => "explicit",
            _ => "asynchronous",
        })
    }

    /// Bytes of the segment.
    #[getter]
    fn nbytes(&self) -> PyResult<u64> {
        Ok(self.segment()?.length())
    }

    /// ``True`` if it outlives its processes.
    #[getter]
    fn durable(&self) -> PyResult<bool> {
        Ok(self.segment()?.is_durable())
    }

    /// Closes this handle. The memory is freed with its last array.
    fn close(&self) {
        let handle = lock(&self.handle).take();
        drop(handle);
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: Bound<'_, PyAny>) -> bool {
        self.close();
        false
    }

    fn __repr__(&self) -> String {
        match self.segment() {
            Ok(segment) => format!(
                "<sardonyx.Segment {} of {} bytes>",
                self.name,
                segment.length()
            ),
            Err(_) => format!("<sardonyx.Segment {}, closed>", self.name),
        }
    }
}

fn options(
    mechanism: &str,
    versions_bytes: Option<u64>,
    transaction_bytes: Option<u64>,
    address_space_bytes: Option<u64>,
    shared_memory: Option<PathBuf>,
    slow_reader_wait: Option<f64>,
) -> PyResult<Options> {
    let mechanism = match mechanism {
        "best" => MechanismKind::Best,
        "asynchronous" => MechanismKind::Asynchronous,
        "signal" => MechanismKind::Signal,
        other => {
            let message = format!(
                "there is no mechanism {other:?} for arrays: choose \"best\", \"asynchronous\" or \
                 \"signal\""
            );
            return Err(PyValueError::new_err(message));
        }
    };
    // NumPy writes arrays to files by system calls, which the program cannot announce.
    let mut options = Options::new()
        .mechanism(mechanism)
        .ready_for_system_calls(true);
    if let Some(bytes) = versions_bytes {
        options = options.versions_bytes(bytes);
    }
    if let Some(bytes) = transaction_bytes {
        options = options.transaction_bytes(bytes);
    }
    if let Some(bytes) = address_space_bytes {
        options = options.address_space_bytes(bytes);
    }
    if let Some(directory) = shared_memory {
        options = options.shared_memory(directory);
    }
    if let Some(seconds) = slow_reader_wait {
        let wait = Duration::try_from_secs_f64(seconds);
        let wait = wait.map_err(|error| PyValueError::new_err(error.to_string()))?;
        options = options.slow_reader_wait(wait);
    }
    Ok(options)
}

/// The segment in a directory, which is made if there is none. Several processes can have it open at once;
/// commits are durable.
#[expect(clippy::too_many_arguments, reason = "one for each keyword")]
#[pyfunction]
#[pyo3(signature = (
    directory, *, mechanism="best", versions_bytes=None, transaction_bytes=None, address_space_bytes=None,
    shared_memory=None, slow_reader_wait=None, log_directory=None, backup_directory=None
))]
pub fn segment(
    py: Python<'_>,
    directory: PathBuf,
    mechanism: &str,
    versions_bytes: Option<u64>,
    transaction_bytes: Option<u64>,
    address_space_bytes: Option<u64>,
    shared_memory: Option<PathBuf>,
    slow_reader_wait: Option<f64>,
    log_directory: Option<PathBuf>,
    backup_directory: Option<PathBuf>,
) -> PyResult<Segment> {
    let mut options = options(
        mechanism,
        versions_bytes,
        transaction_bytes,
        address_space_bytes,
        shared_memory,
        slow_reader_wait,
    )?;
    if let Some(directory) = log_directory {
        options = options.log_directory(directory);
    }
    if let Some(directory) = backup_directory {
        options = options.backup_directory(directory);
    }
    let name = format!("at {}", directory.display());
    let segment = py
        .detach(|| options.open(&directory))
        .map_err(Failure::from)?;
    Segment::new(py, segment, name)
}

/// A segment in memory, shared by all processes of this machine that open this name, for as long as
/// one has it open.
#[expect(clippy::too_many_arguments, reason = "one for each keyword")]
#[pyfunction]
#[pyo3(signature = (
    name, *, mechanism="best", versions_bytes=None, transaction_bytes=None, address_space_bytes=None, shared_memory=None,
    slow_reader_wait=None
))]
pub fn volatile(
    py: Python<'_>,
    name: &str,
    mechanism: &str,
    versions_bytes: Option<u64>,
    transaction_bytes: Option<u64>,
    address_space_bytes: Option<u64>,
    shared_memory: Option<PathBuf>,
    slow_reader_wait: Option<f64>,
) -> PyResult<Segment> {
    if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
        let message = format!("{name:?} cannot be a segment's name: it must be a file name");
        return Err(PyValueError::new_err(message));
    }
    let options = options(
        mechanism,
        versions_bytes,
        transaction_bytes,
        address_space_bytes,
        shared_memory,
        slow_reader_wait,
    )?;
    let segment = py
        .detach(|| options.open_volatile(name))
        .map_err(Failure::from)?;
    Segment::new(py, segment, format!("named {name:?}"))
}

/// A segment in memory that only this process has: for its threads.
#[pyfunction]
#[pyo3(signature = (
    *, mechanism="best", versions_bytes=None, transaction_bytes=None, address_space_bytes=None, slow_reader_wait=None
))]
pub fn private(
    py: Python<'_>,
    mechanism: &str,
    versions_bytes: Option<u64>,
    transaction_bytes: Option<u64>,
    address_space_bytes: Option<u64>,
    slow_reader_wait: Option<f64>,
) -> PyResult<Segment> {
    let options = options(
        mechanism,
        versions_bytes,
        transaction_bytes,
        address_space_bytes,
        None,
        slow_reader_wait,
    )?;
    let segment = py
        .detach(|| options.open_private())
        .map_err(Failure::from)?;
    Segment::new(py, segment, "private".into())
}
