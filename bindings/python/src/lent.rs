//! The memory of a session that is lent to NumPy, and the buffers on it.
//!
//! Invariants: a view stays mapped as long as a buffer on it lives; buffers are writable only while the
//! session's transaction runs; a session is reused only when no buffer on it is left.

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use sardonyx_mapped::{Segment, Session};
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A session whose memory is lent.
pub struct Lent {
    home: Segment,
    /// `None` only while it is dropped.
    session: Mutex<Option<Session>>,
    base: usize,
    writable: AtomicBool,
    /// True if the session is returned to a pool after its last use.
    pooled: bool,
}

/// A lock that survives panics: its contents are changed by whole assignments.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Lent {
    /// Lends a session's memory. It is `pooled` if it is never written.
    pub fn new(home: &Segment, session: Session, pooled: bool) -> Arc<Lent> {
        Arc::new(Lent {
            home: home.clone(),
            base: session.address().addr(),
            session: Mutex::new(Some(session)),
            writable: AtomicBool::new(false),
            pooled,
        })
    }

    /// The segment that it is a view of.
    pub fn home(&self) -> &Segment {
        &self.home
    }

    /// Uses the session. Only its own thread does, except to end a snapshot, so no thread waits here.
    pub fn with<R>(&self, part: impl FnOnce(&mut Session) -> R) -> R {
        let mut session = lock(&self.session);
        part(
            session
                .as_mut()
                .expect("a session is there until it is dropped"),
        )
    }

    /// Sets if buffers may be written from now on.
    pub fn set_writable(&self, writable: bool) {
        self.writable.store(writable, Ordering::SeqCst);
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if self.pooled
            && let Some(session) = lock(&self.session).take()
        {
            self.home.give_back(session);
        }
    }
}

/// A range of a view as a Python buffer: the base of an array.
#[pyclass(frozen, module = "sardonyx")]
pub struct Place {
    lent: Arc<Lent>,
    offset: u64,
    bytes: u64,
}

impl Place {
    /// A range of a view.
    pub fn new(lent: Arc<Lent>, offset: u64, bytes: u64) -> Self {
        Place {
            lent,
            offset,
            bytes,
        }
    }
}

#[pymethods]
impl Place {
    /// # Safety
    /// Python calls this, with a structure to fill.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("there is no buffer to fill"));
        }
        let place = slf.get();
        let readonly = !place.lent.writable.load(Ordering::SeqCst);
        let start = std::ptr::with_exposed_provenance_mut::<std::ffi::c_void>(
            place.lent.base + place.offset as usize,
        );
        let bytes = place.bytes as ffi::Py_ssize_t;
        // SAFETY: the range is mapped as long as `slf` lives, to which the buffer takes a reference; a buffer
        // that must be writable is refused if it may not be written.
        let filled = unsafe {
            ffi::PyBuffer_FillInfo(
                view,
                slf.as_ptr(),
                start,
                bytes,
                c_int::from(readonly),
                flags,
            )
        };
        match filled {
            0 => Ok(()),
            _ => Err(PyErr::fetch(slf.py())),
        }
    }
}
