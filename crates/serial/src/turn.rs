//! Taking turns at the execution stage: one transaction at a time, and none inside another.
//!
//! A transaction's code may hold a reference to the database that runs it. If it calls that database
//! it would wait for its own end; it is told so instead ([`SerialError::Nested`]).
//!
//! A child that the program forks has the execution stage as it was at that moment, perhaps taken by a
//! thread that is not there: it is told so before it looks ([`SerialError::Forked`]). A transaction's
//! code may fork, too; then the child does not give its turn back, which is the parent's.
//!
//! Invariant: I8 (serial): whoever holds the [`Turn`] is alone with the pages.

use crate::error::SerialError;
use crate::execution::Execution;
use sardonyx_storage::process::Process;
use sardonyx_storage::sync::atomic::{AtomicUsize, Ordering};
use sardonyx_storage::sync::thread::this_thread;
use sardonyx_storage::sync::{Mutex, MutexGuard};
use std::ops::{Deref, DerefMut};

/// The execution stage, and who has it.
#[derive(Debug)]
pub(crate) struct Turns {
    process: Process,
    execution: Mutex<Execution>,
    /// The thread whose turn it is, 0 if none. Relaxed suffices: a thread looks for itself only.
    holder: AtomicUsize,
}

/// The execution stage, for as long as this lives.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    execution: MutexGuard<'a, Execution>,
    holder: &'a AtomicUsize,
    process: Process,
}

impl Turns {
    pub fn new(execution: Execution) -> Self {
        Turns {
            process: Process::current(),
            execution: Mutex::new(execution),
            holder: AtomicUsize::new(0),
        }
    }

    /// Waits for this thread's turn.
    ///
    /// # Errors
    /// [`SerialError::Nested`] if this thread has it already; [`SerialError::Forked`].
    #[inline]
    pub fn take(&self) -> Result<Turn<'_>, SerialError> {
        self.process.check()?;
        if let Some(turn) = self.try_take() {
            return Ok(turn);
        }
        self.check_not_nested()?;
        Ok(self.hold(self.execution.lock()))
    }

    /// Takes the turn if nobody has it.
    #[inline]
    pub fn try_take(&self) -> Option<Turn<'_>> {
        Some(self.hold(self.execution.try_lock()?))
    }

    /// # Errors
    /// [`SerialError::Nested`] if this thread has the turn, and so must not wait for others;
    /// [`SerialError::Forked`].
    #[inline]
    pub fn check_not_nested(&self) -> Result<(), SerialError> {
        self.process.check()?;
        let holder = self.holder.load(Ordering::Relaxed);
        if holder != 0 && holder == this_thread() {
            return Err(SerialError::Nested);
        }
        Ok(())
    }

    #[inline]
    fn hold<'a>(&'a self, execution: MutexGuard<'a, Execution>) -> Turn<'a> {
        self.holder.store(this_thread(), Ordering::Relaxed);
        Turn {
            execution,
            holder: &self.holder,
            process: self.process,
        }
    }
}

impl Turn<'_> {
    /// The same turn, after code of the user's has run in it.
    ///
    /// # Errors
    /// [`SerialError::Forked`] in a child that the code made: the turn is not given back there, since
    /// others may have waited for it.
    #[inline]
    pub fn still_ours(self) -> Result<Self, SerialError> {
        match self.process.check() {
            Ok(()) => Ok(self),
            Err(forked) => {
                std::mem::forget(self);
                Err(forked.into())
            }
        }
    }
}

impl Drop for Turn<'_> {
    #[inline]
    fn drop(&mut self) {
        // Before the guard is dropped, so that it never names a thread whose turn is over.
        self.holder.store(0, Ordering::Relaxed);
    }
}

impl Deref for Turn<'_> {
    type Target = Execution;

    fn deref(&self) -> &Execution {
        &self.execution
    }
}

impl DerefMut for Turn<'_> {
    fn deref_mut(&mut self) -> &mut Execution {
        &mut self.execution
    }
}
