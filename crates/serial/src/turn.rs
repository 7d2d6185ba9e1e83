//! Taking turns at the execution stage: one transaction at a time, and none inside another.
//!
//! Code that the engine runs may hold a reference to the database: a transaction's code, and on the
//! engine's threads a procedure's check, a waker, and the drop of a value. If it calls the database it
//! would wait for its own end; it is told so instead ([`SerialError::Nested`]).
//!
//! A child that the program forks has the execution stage as it was at that moment, perhaps taken by a
//! thread that is not there: it is told so before it looks ([`SerialError::Forked`]). A transaction's
//! code may fork, too; then the child does not give its turn back, which is the parent's.
//!
//! Invariant: I8 (serial): whoever holds the [`Turn`] is alone with the pages.

use crate::error::SerialError;
use crate::execution::Execution;
use sardonyx_base::process::Process;
use sardonyx_base::sync::atomic::{AtomicUsize, Ordering};
use sardonyx_base::sync::thread::this_thread;
use sardonyx_base::sync::{Mutex, MutexGuard};
use sardonyx_base::user_code::is_waking;
use sardonyx_storage::supervisor::SupervisorNumber;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Who is inside the engine, so that whoever would wait for itself is told. Apart from the rest: a ticket
/// that is kept beyond the database asks it, and shall not keep the pages.
#[derive(Debug)]
pub(crate) struct Inside {
    process: Process,
    /// Whose threads are the engine's.
    supervisor: SupervisorNumber,
    /// The thread whose turn it is, 0 if none. Relaxed suffices: a thread looks for itself only.
    holder: AtomicUsize,
}

impl Inside {
    /// # Errors
    /// [`SerialError::Nested`] if this thread has the turn, or is one of the engine's, and so must not
    /// wait for others; [`SerialError::Forked`].
    #[inline]
    pub fn check(&self) -> Result<(), SerialError> {
        self.process.check()?;
        if self.supervisor.is_own_thread() || self.has_turn() {
            return Err(SerialError::Nested);
        }
        Ok(())
    }

    /// As [`Inside::check`], for whoever is polled and not done: a transaction's code would poll it for
    /// ever. A waker that polls here and now is woken again.
    pub fn check_polling(&self) -> Result<(), SerialError> {
        match is_waking() {
            true => Ok(()),
            false => self.check(),
        }
    }

    #[inline]
    fn has_turn(&self) -> bool {
        let holder = self.holder.load(Ordering::Relaxed);
        holder != 0 && holder == this_thread()
    }
}

/// The execution stage, and who has it.
#[derive(Debug)]
pub(crate) struct Turns {
    process: Process,
    execution: Mutex<Execution>,
    inside: Arc<Inside>,
}

/// The execution stage, for as long as this lives.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    execution: MutexGuard<'a, Execution>,
    inside: &'a Inside,
    process: Process,
    /// Whether the thread was panicking already when it got the turn.
    was_panicking: bool,
}

impl Turns {
    pub fn new(execution: Execution, supervisor: SupervisorNumber) -> Self {
        Turns {
            process: Process::current(),
            execution: Mutex::new(execution),
            inside: Arc::new(Inside {
                process: Process::current(),
                supervisor,
                holder: AtomicUsize::new(0),
            }),
        }
    }

    /// Who is inside.
    pub fn inside(&self) -> &Arc<Inside> {
        &self.inside
    }

    /// Waits for this thread's turn.
    ///
    /// # Errors
    /// [`SerialError::Nested`] if this thread has it already, or is one of the engine's;
    /// [`SerialError::Forked`].
    #[inline]
    pub fn take(&self) -> Result<Turn<'_>, SerialError> {
        self.process.check()?;
        if self.inside.supervisor.is_own_thread() {
            return Err(SerialError::Nested);
        }
        if let Some(turn) = self.try_take() {
            return Ok(turn);
        }
        self.inside.check()?;
        Ok(self.hold(self.execution.lock()))
    }

    /// Waits for the turn of the execution stage's own thread.
    ///
    /// # Errors
    /// [`SerialError::Forked`].
    pub fn take_in_stage(&self) -> Result<Turn<'_>, SerialError> {
        self.process.check()?;
        Ok(self.hold(self.execution.lock()))
    }

    /// Takes the turn if nobody has it.
    #[inline]
    pub fn try_take(&self) -> Option<Turn<'_>> {
        Some(self.hold(self.execution.try_lock()?))
    }

    #[inline]
    fn hold<'a>(&'a self, execution: MutexGuard<'a, Execution>) -> Turn<'a> {
        self.inside.holder.store(this_thread(), Ordering::Relaxed);
        Turn {
            execution,
            inside: &self.inside,
            process: self.process,
            was_panicking: std::thread::panicking(),
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
        if std::thread::panicking() && !self.was_panicking {
            // All code of the program's is run under `catch_unwind`: this is the engine's own.
            self.execution.panicked();
        }
        // Before the guard is dropped, so that it never names a thread whose turn is over.
        self.inside.holder.store(0, Ordering::Relaxed);
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
