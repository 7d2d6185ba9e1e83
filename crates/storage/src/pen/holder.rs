//! The holder of the pen, so that a thread that would wait for itself gets an error.
//!
//! Code that the engine runs may hold a reference to the database: a transaction's code. On the engine's
//! threads these are a procedure's check, a waker, and the drop of a value. If it calls the database it
//! would wait for its own end; it gets an error instead ([`LogError::Nested`]).
//!
//! A child that the program forks has the pen as it was at that moment, perhaps held by a thread that
//! does not exist. It gets an error before it looks ([`LogError::Forked`]).

use crate::log::LogError;
use crate::supervisor::SupervisorNumber;
use sardonyx_base::process::Process;
use sardonyx_base::sync::atomic::{AtomicUsize, Ordering};
use sardonyx_base::sync::thread::this_thread;
use sardonyx_base::user_code::is_waking;

/// The thread that holds the pen, and the threads that may not wait for it.
#[derive(Debug)]
pub(crate) struct Holder {
    process: Process,
    /// The engine of these threads.
    engine: SupervisorNumber,
    /// 0 if no thread holds it. Relaxed suffices: a thread looks for itself only.
    thread: AtomicUsize,
}

impl Holder {
    /// A pen that is not held yet. `engine` is the supervisor of the engine's threads.
    pub fn new(engine: SupervisorNumber) -> Self {
        Holder {
            process: Process::current(),
            engine,
            thread: AtomicUsize::new(0),
        }
    }

    /// Refuses a forked child and the engine's own threads, before any lock is taken.
    #[inline]
    pub fn check_thread(&self) -> Result<(), LogError> {
        self.process.check()?;
        match self.engine.is_own_thread() {
            true => Err(LogError::Nested),
            false => Ok(()),
        }
    }

    /// Refuses callers that must not wait for others: as [`Holder::check_thread`], and the thread that holds the pen.
    #[inline]
    pub fn check(&self) -> Result<(), LogError> {
        self.check_thread()?;
        match self.is_this_thread() {
            true => Err(LogError::Nested),
            false => Ok(()),
        }
    }

    /// Returns true if the calling thread holds it.
    #[inline]
    pub fn is_this_thread(&self) -> bool {
        let holder = self.thread.load(Ordering::Relaxed);
        holder != 0 && holder == this_thread()
    }

    /// As [`Holder::check`], for a task that is polled and not done: a transaction's code would poll it
    /// for ever. A waker that polls here and now is woken again.
    pub fn check_polling(&self) -> Result<(), LogError> {
        match is_waking() {
            true => Ok(()),
            false => self.check(),
        }
    }

    /// The calling thread has the pen now.
    #[inline]
    pub fn took(&self) {
        self.thread.store(this_thread(), Ordering::Relaxed);
    }

    /// The calling thread is about to give it back.
    #[inline]
    pub fn gives_back(&self) {
        self.thread.store(0, Ordering::Relaxed);
    }
}
