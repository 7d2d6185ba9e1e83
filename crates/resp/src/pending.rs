//! Answers of a session that wait to be sent: how many bytes they take, and when the rest of a flight is to wait for them.
//!
//! A client that asks for many large values and does not read must not take all memory there is. So a flight whose answers
//! are large is answered in parts ([`Pending::is_full`]), and the answers of all sessions share one bound.

use crate::failure::Failure;
use sardonyx_base::memory::{Budget, Share};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Answers up to so many bytes are not counted among those of all sessions.
const SMALL_BYTES: usize = 64 << 10;
/// An answer takes its bytes twice: as a value, and as it is sent.
const COPIES: usize = 2;

/// What the answers of a session take.
#[derive(Debug)]
pub(crate) struct Pending {
    /// From so many bytes on the rest of a flight waits.
    full: usize,
    bytes: AtomicUsize,
    budget: Arc<Budget>,
    share: Mutex<Share>,
}

impl Pending {
    pub fn new(full: usize, budget: Arc<Budget>) -> Pending {
        Pending {
            full,
            bytes: AtomicUsize::new(0),
            share: Mutex::new(Share::of(budget.clone())),
            budget,
        }
    }

    /// Whether the answers so far are to be sent before more commands run.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) >= self.full
    }

    /// Checks that something may be stored.
    ///
    /// # Errors
    /// [`Failure::Memory`].
    #[inline]
    pub fn check(&self) -> Result<(), Failure> {
        Ok(self.budget.check()?)
    }

    /// Counts an answer.
    ///
    /// # Errors
    /// [`Failure::Memory`] if there is no memory for it.
    #[inline]
    pub fn take(&self, bytes: usize) -> Result<(), Failure> {
        // One thread at a time has the serial stage.
        let all = self.bytes.load(Ordering::Relaxed).saturating_add(bytes);
        if all > SMALL_BYTES {
            self.share().cover(all.saturating_mul(COPIES))?;
        }
        self.bytes.store(all, Ordering::Relaxed);
        Ok(())
    }

    /// All answers were sent.
    pub fn release(&self) {
        if self.bytes.swap(0, Ordering::Relaxed) > SMALL_BYTES {
            *self.share() = Share::of(self.budget.clone());
        }
    }

    fn share(&self) -> MutexGuard<'_, Share> {
        self.share.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
