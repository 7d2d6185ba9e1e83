//! The session of a Python thread on a segment, and the arrays handed out on it.
//!
//! Invariant: an array handed out is writable only while a transaction of this thread runs. The array of its
//! name must also be the same still, in place, shape and type.

use crate::directory::{self, ArrayError, New};
use crate::error::Failure;
use crate::lent::{Lent, Place, lock};
use crate::record::Array;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyWeakrefMethods, PyWeakrefReference};
use sardonyx_mapped::{
    Access, Begin, Memory, MemoryAccess, P, Savepoint, Segment, SegmentError, Transaction,
};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

/// The session of a thread. See the [module](self).
#[pyclass(frozen, module = "sardonyx")]
pub struct ThreadSession {
    lent: Arc<Lent>,
    handed: Mutex<Handed>,
    /// The transaction's object was dropped, so that the program cannot end it any more.
    abandoned: AtomicBool,
    arena: u64,
}

/// The arrays handed out.
#[derive(Default)]
struct Handed {
    arrays: Vec<HandedArray>,
    /// The thread whose transaction runs.
    runner: Option<ThreadId>,
    /// The place of the count of removals, and its value when the arrays were looked up.
    removals: Option<(P<u64>, u64)>,
    /// The running transaction made or removed arrays.
    changed: bool,
    /// The arrays must be looked up before they are written again.
    doubtful: bool,
}

struct HandedArray {
    name: String,
    array: Array,
    object: Py<PyWeakrefReference>,
    /// True if it is still the array of this name.
    valid: bool,
}

/// A request for an array.
pub struct Asked<'py> {
    pub name: String,
    /// Its shape, needed to make it.
    pub shape: Option<Vec<u64>>,
    /// Its element type and the description of that.
    pub dtype: Option<(Bound<'py, PyAny>, String)>,
    /// True if a new one must be zero.
    pub zeroed: bool,
}

impl ThreadSession {
    /// A session for the calling thread.
    pub fn new(segment: &Segment) -> Result<Self, Failure> {
        static SESSIONS: AtomicU64 = AtomicU64::new(0);
        let number = SESSIONS.fetch_add(1, Ordering::Relaxed);
        Ok(ThreadSession {
            lent: Lent::new(segment, segment.session()?, false),
            handed: Mutex::default(),
            abandoned: AtomicBool::new(false),
            arena: u64::from(std::process::id()).wrapping_add(number),
        })
    }

    pub fn home(&self) -> &Segment {
        self.lent.home()
    }

    /// Begins a transaction and makes the arrays writable.
    pub fn begin(&self, py: Python<'_>, begin: Begin) -> Result<(), Failure> {
        let mut handed = lock(&self.handed);
        if handed.runner.is_some() {
            if !self.abandoned.swap(false, Ordering::SeqCst) {
                return Err(SegmentError::InsideTransaction.into());
            }
            self.stop(py, &mut handed)?;
        }
        py.detach(|| self.lent.with(|session| session.begin_checked(begin)))?;
        handed.runner = Some(std::thread::current().id());
        self.abandoned.store(false, Ordering::SeqCst);
        let ready = self
            .look_up_if_doubtful(&mut handed)
            .and_then(|()| self.open(py, &mut handed));
        if ready.is_err() {
            self.stop(py, &mut handed)?;
        }
        ready
    }

    /// Lets arrays be written.
    fn open(&self, py: Python<'_>, handed: &mut Handed) -> Result<(), Failure> {
        self.lent.set_writable(true);
        handed.set_flags(py, true)
    }

    /// Makes arrays read-only.
    fn close(&self, py: Python<'_>, handed: &mut Handed) -> Result<(), Failure> {
        self.lent.set_writable(false);
        handed.set_flags(py, false)
    }

    fn look_up_if_doubtful(&self, handed: &mut Handed) -> Result<(), Failure> {
        self.lent.with(|session| {
            session.with_running(|transaction| {
                let now = match handed.removals {
                    Some((place, before)) => {
                        let now = transaction.read(place)?;
                        handed.doubtful |= now != before;
                        Some((place, now))
                    }
                    None => None,
                };
                if handed.doubtful {
                    return handed.look_up(transaction);
                }
                handed.removals = now;
                Ok(())
            })
        })?
    }

    /// Ends the transaction without effect.
    pub fn abort(&self, py: Python<'_>) -> Result<(), Failure> {
        let mut handed = lock(&self.handed);
        self.check_runner(&handed)?;
        self.stop(py, &mut handed)
    }

    fn stop(&self, py: Python<'_>, handed: &mut Handed) -> Result<(), Failure> {
        let closed = self.close(py, handed);
        handed.ended(false);
        py.detach(|| self.lent.with(|session| session.abort()))?;
        closed
    }

    /// Commits. Returns the end of its records, to wait for.
    pub fn commit(&self, py: Python<'_>) -> Result<Option<u64>, Failure> {
        let mut handed = lock(&self.handed);
        self.check_runner(&handed)?;
        if let Err(error) = self.close(py, &mut handed) {
            self.stop(py, &mut handed)?;
            return Err(error);
        }
        let committed = py.detach(|| self.lent.with(|session| session.commit()));
        handed.ended(committed.is_ok());
        committed.map_err(|error| handed.failure(error))
    }

    fn check_runner(&self, handed: &Handed) -> Result<(), Failure> {
        match handed.runner {
            None => Err(SegmentError::NoTransaction.into()),
            Some(runner) if runner != std::thread::current().id() => Err(Failure::OtherThread),
            Some(_) => Ok(()),
        }
    }

    /// Marks the running transaction as one that the program cannot end any more.
    pub fn abandon(&self) {
        self.abandoned.store(true, Ordering::SeqCst);
    }

    /// Creates a savepoint in the running transaction.
    pub fn savepoint(&self) -> Result<Savepoint, Failure> {
        self.check_runner(&lock(&self.handed))?;
        Ok(self.lent.with(|session| session.savepoint())?)
    }

    pub fn rollback_to(&self, py: Python<'_>, savepoint: &Savepoint) -> Result<(), Failure> {
        let mut handed = lock(&self.handed);
        self.check_runner(&handed)?;
        self.lent.with(|session| session.rollback_to(savepoint))?;
        if handed.changed {
            self.look_up(py, &mut handed)?;
        }
        Ok(())
    }

    /// Looks up all arrays in the running transaction.
    fn look_up(&self, py: Python<'_>, handed: &mut Handed) -> Result<(), Failure> {
        self.lent
            .with(|session| session.with_running(|tx| handed.look_up(tx)))??;
        handed.set_flags(py, true)
    }

    /// Uses the running transaction. If none is running, it uses one of its own, which is repeated until it
    /// commits, and returns when it is durable.
    pub fn in_transaction<R>(
        &self,
        py: Python<'_>,
        mut part: impl FnMut(&mut Transaction<'_>) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let handed = lock(&self.handed);
        if handed.runner.is_some() && !self.abandoned.load(Ordering::SeqCst) {
            self.check_runner(&handed)?;
            return self.lent.with(|session| session.with_running(part))?;
        }
        drop(handed);
        loop {
            self.begin(py, Begin::default())?;
            let done = self.lent.with(|session| session.with_running(&mut part));
            let done = done.map_err(Failure::from).flatten();
            let done = match done {
                Ok(done) => done,
                Err(error) => {
                    self.abort(py)?;
                    return Err(error);
                }
            };
            match self.commit(py) {
                Ok(position) => {
                    let ticket = self.home().ticket(position);
                    py.detach(|| ticket.wait())?;
                    return Ok(done);
                }
                Err(error) if error.is_conflict() => py.check_signals()?,
                Err(error) => return Err(error),
            }
        }
    }

    /// Announces that the bytes between two addresses are going to be touched.
    pub fn touch(&self, (low, high): (usize, usize), access: Access) -> Result<(), Failure> {
        self.check_runner(&lock(&self.handed))?;
        self.lent.with(|session| {
            let base = session.address().addr();
            let outside = SegmentError::Outside {
                offset: low as u64,
                length: high.saturating_sub(low) as u64,
                bytes: session.length(),
            };
            let start = low.checked_sub(base).ok_or(outside)?;
            let end = high.saturating_sub(base).max(start);
            session.touch(start as u64..end as u64, access)
        })?;
        Ok(())
    }

    /// Hands out an array, which is made if there is none and a shape is given.
    pub fn array<'py>(
        &self,
        py: Python<'py>,
        asked: &Asked<'py>,
    ) -> Result<Bound<'py, PyAny>, Failure> {
        let arena = self.arena;
        let description = match &asked.dtype {
            Some((dtype, description)) => (dtype.clone(), description.clone()),
            None => describe(py, "f8")?,
        };
        let element_bytes = description.0.getattr("itemsize")?.extract()?;
        let (array, made, removals) = self.in_transaction(py, |transaction| {
            let found = directory::find(transaction, &asked.name)?;
            let made = found.is_none();
            let array = match (found, &asked.shape) {
                (Some(array), _) => array,
                (None, None) => {
                    return Err(ArrayError::NotFound {
                        name: asked.name.clone(),
                    }
                    .into());
                }
                (None, Some(shape)) => {
                    let new = New {
                        name: &asked.name,
                        shape: shape.clone(),
                        element_bytes,
                        description: description.1.clone(),
                        zeroed: asked.zeroed,
                    };
                    new.make(transaction, arena)?
                }
            };
            Ok((array, made, count_removals(transaction)?))
        })?;
        asked.check(py, &array)?;
        let mut handed = lock(&self.handed);
        if let Some(object) = handed.known(py, &asked.name, &array) {
            return Ok(object);
        }
        // Others are as they were looked up before; the next begin checks that.
        handed.removals = handed.removals.or(removals);
        handed.changed |= made && handed.runner.is_some();
        let object = ndarray(py, &self.lent, &asked.name, &array)?;
        handed
            .arrays
            .retain(|array| array.object.bind(py).upgrade().is_some());
        handed.arrays.push(HandedArray {
            name: asked.name.clone(),
            array,
            object: PyWeakrefReference::new(&object)?.unbind(),
            valid: true,
        });
        Ok(object)
    }

    /// Removes an array. Those handed out are never writable again.
    pub fn remove(&self, py: Python<'_>, name: &str) -> Result<bool, Failure> {
        let removed =
            self.in_transaction(py, |transaction| directory::remove(transaction, name))?;
        let mut handed = lock(&self.handed);
        if removed && handed.runner.is_some() {
            handed.changed = true;
            self.look_up(py, &mut handed)?;
        }
        Ok(removed)
    }
}

impl Handed {
    /// An error of the engine; a conflict with the name of the array.
    fn failure(&self, error: SegmentError) -> Failure {
        // Page 0 is the heap's: there it means that the snapshot kept old versions for too long.
        let SegmentError::Conflict { page: page @ 1.. } = error else {
            return error.into();
        };
        let mut arrays = self.arrays.iter().filter(|handed| handed.valid);
        let found = arrays.find(|handed| handed.array.is_on(page));
        Failure::Conflict {
            page,
            array: found.map(|handed| handed.name.clone()),
        }
    }

    /// The transaction is over.
    fn ended(&mut self, committed: bool) {
        self.runner = None;
        // The arrays that it had made or removed are as before, as are the places that it had looked up.
        let changed = std::mem::take(&mut self.changed);
        if !committed && changed {
            self.doubtful = true;
            self.removals = None;
        }
    }

    /// The array that was handed out under a name, if it is that one and is still referenced.
    fn known<'py>(&self, py: Python<'py>, name: &str, array: &Array) -> Option<Bound<'py, PyAny>> {
        let known = self
            .arrays
            .iter()
            .find(|known| known.valid && known.name == name && known.array == *array);
        known?.object.bind(py).upgrade()
    }

    /// Checks which arrays still are those of their names.
    fn look_up(&mut self, transaction: &Transaction<'_>) -> Result<(), Failure> {
        for handed in &mut self.arrays {
            let found = directory::find(transaction, &handed.name)?;
            handed.valid = found.as_ref() == Some(&handed.array);
        }
        self.removals = count_removals(transaction)?;
        self.doubtful = false;
        Ok(())
    }

    fn set_flags(&mut self, py: Python<'_>, writable: bool) -> Result<(), Failure> {
        for handed in &self.arrays {
            if let Some(object) = handed.object.bind(py).upgrade() {
                object.call_method1("setflags", (writable && handed.valid,))?;
            }
        }
        Ok(())
    }
}

fn count_removals<M: Memory + ?Sized>(memory: &M) -> Result<Option<(P<u64>, u64)>, Failure> {
    match directory::removals(memory)? {
        Some(place) => Ok(Some((place, memory.read(place)?))),
        None => Ok(None),
    }
}

/// An element type and its description.
pub fn describe<'py>(
    py: Python<'py>,
    dtype: impl IntoPyObject<'py>,
) -> PyResult<(Bound<'py, PyAny>, String)> {
    py.import("sardonyx._types")?
        .call_method1("describe", (dtype,))?
        .extract()
}

/// An array on the memory of a session. It is writable if the session's buffers are.
pub fn ndarray<'py>(
    py: Python<'py>,
    lent: &Arc<Lent>,
    name: &str,
    array: &Array,
) -> Result<Bound<'py, PyAny>, Failure> {
    let description = (array.description.as_str(),);
    let dtype = py
        .import("sardonyx._types")?
        .call_method1("restore", description)?;
    let place = Bound::new(py, Place::new(lent.clone(), array.data, array.data_bytes))?;
    let shape = PyTuple::new(py, &array.shape)?;
    let made = py
        .import("numpy")?
        .getattr("ndarray")?
        .call1((shape, dtype, place));
    made.map_err(|error| {
        let what = "its shape and type do not fit its bytes";
        let damaged = ArrayError::Damaged {
            name: name.into(),
            offset: array.data,
            what,
        };
        let damaged = PyErr::from(Failure::from(damaged));
        damaged.set_cause(py, Some(error));
        damaged.into()
    })
}

impl Asked<'_> {
    /// Checks that an array is the requested one.
    pub fn check(&self, py: Python<'_>, array: &Array) -> Result<(), Failure> {
        let mismatch = |what, stored: String, asked: String| ArrayError::Mismatch {
            name: self.name.clone(),
            what,
            stored,
            asked,
        };
        if let Some(shape) = self.shape.as_ref().filter(|shape| **shape != array.shape) {
            let (stored, asked) = (format!("{:?}", array.shape), format!("{shape:?}"));
            return Err(mismatch("shape", stored, asked).into());
        }
        if let Some((dtype, description)) = &self.dtype
            && *description != array.description
        {
            let stored = array.description.as_str();
            let stored = py
                .import("sardonyx._types")?
                .call_method1("restore", (stored,))?;
            if !stored.eq(dtype)? {
                let (stored, asked) = (stored.str()?.to_string(), dtype.str()?.to_string());
                return Err(mismatch("type", stored, asked).into());
            }
        }
        Ok(())
    }
}
