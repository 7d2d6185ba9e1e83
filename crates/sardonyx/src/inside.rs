//! Threads that have the serial stage for code of another language. Calls there that would wait for its end are refused.

use crate::Error;
use sardonyx_base::process::Process;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ThreadId;

/// The thread that is inside of a transaction that it drives. Its calls that would wait for that end are refused.
#[derive(Clone, Debug, Default)]
pub struct Inside(Arc<Mutex<Option<(ThreadId, Process)>>>);

impl Inside {
    /// Checks that this thread does not drive a transaction.
    ///
    /// # Errors
    /// [`Error::Nested`].
    #[inline]
    pub fn check_outside(&self) -> Result<(), Error> {
        match self.get() == Some(std::thread::current().id()) {
            true => Err(Error::Nested(
                "this thread is inside of a transaction on these tables; use that one, or end it"
                    .into(),
            )),
            false => Ok(()),
        }
    }

    /// True if some thread drives a transaction.
    #[inline]
    pub fn is_any(&self) -> bool {
        self.get().is_some()
    }

    #[inline]
    fn get(&self) -> Option<ThreadId> {
        let inside = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A forked child drives nothing: the transaction is its parent's.
        let inside = inside.filter(|(_, process)| process.is_current());
        inside.map(|(thread, _)| thread)
    }

    /// Marks that this thread drives one, as long as the mark lives.
    #[inline]
    pub fn enter(&self) -> Driving {
        let own = std::thread::current().id();
        let mut inside = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *inside = Some((own, Process::current()));
        drop(inside);
        Driving(self.clone(), own)
    }
}

/// The mark of a thread that drives a transaction.
#[derive(Debug)]
pub struct Driving(Inside, ThreadId);

impl Drop for Driving {
    #[inline]
    fn drop(&mut self) {
        let mut inside = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The next one may have begun before this one's end is reported.
        if inside.is_some_and(|(thread, _)| thread == self.1) {
            *inside = None;
        }
    }
}
