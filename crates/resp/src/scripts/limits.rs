//! Bounds of a script: steps, time, and the memory that the program takes for it besides its interpreter's.
//!
//! Steps are taken by instructions, by commands, and by all functions of the program, by the bytes and values that
//! they read. The steps of all scripts of a transaction count together, and so does the time. The hook checks the
//! time, as does each command before it runs, so that a script ends soon behind its deadline.
//!
//! Invariants: once a script is over, it stays so, even if it catches the error. No text that the program makes for a
//! script has more than [`BYTES_MAX`] bytes.

use crate::data::Spent;
use sardonyx_base::random::Random;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The most steps of a transaction's scripts: instructions of Lua, with [`CALL_STEPS`] for each command.
pub(super) const STEPS_MAX: i64 = 20_000_000;
/// A command counts for so many steps,
pub(super) const CALL_STEPS: i64 = 500;
/// and so many bytes that are copied or looked at count for one.
const STEP_BYTES: usize = 16;
/// A value of a table that is looked at counts for so many, as does one that is made.
pub(super) const VALUE_STEPS: i64 = 20;
/// The longest time of a transaction's scripts. Steps bound it already, but for commands that take long.
pub(super) const TIME_MAX: Duration = Duration::from_secs(30);
/// The most bytes of a text that the program makes for a script, and of a command's.
pub(super) const BYTES_MAX: usize = 64 << 20;

/// Why a script goes on no further.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum Stop {
    #[error("the script has run for too long")]
    Over,
    #[error("not enough memory")]
    Memory,
}

impl From<Stop> for String {
    fn from(stop: Stop) -> String {
        stop.to_string()
    }
}

/// The rest of a script's bounds.
#[derive(Debug)]
pub(super) struct Limits {
    steps: AtomicI64,
    is_over: AtomicBool,
    is_late: AtomicBool,
    since: Mutex<Option<Instant>>,
    clock: fn() -> Instant,
    random: Mutex<Option<Random>>,
    /// The version of the protocol that its commands answer with.
    pub is_new: AtomicBool,
}

impl Limits {
    /// With a clock, from which deadlines are taken.
    pub fn new(clock: fn() -> Instant) -> Limits {
        Limits {
            steps: AtomicI64::new(STEPS_MAX),
            is_over: AtomicBool::new(false),
            is_late: AtomicBool::new(false),
            since: Mutex::new(None),
            clock,
            random: Mutex::new(None),
            is_new: AtomicBool::new(false),
        }
    }

    /// Begins a script of a transaction whose scripts have taken so much.
    pub fn begin(&self, spent: Spent) {
        self.steps.store(STEPS_MAX - spent.steps, Ordering::Relaxed);
        self.is_over
            .store(spent.steps >= STEPS_MAX, Ordering::Relaxed);
        self.is_late.store(false, Ordering::Relaxed);
        self.is_new.store(false, Ordering::Relaxed);
        let since = spent.since.unwrap_or_else(self.clock);
        *self.since.lock().unwrap_or_else(PoisonError::into_inner) = Some(since);
    }

    /// The memory and steps that the scripts of the transaction have taken so far.
    pub fn spent(&self) -> Spent {
        Spent {
            steps: STEPS_MAX - self.left(),
            since: *self.since.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }

    /// Steps that are left; less than none if more were wanted.
    pub fn left(&self) -> i64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// True if the script is ended.
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// True if the script is ended by its deadline.
    pub fn is_late(&self) -> bool {
        self.is_late.load(Ordering::Relaxed)
    }

    /// Ends the script.
    pub fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// Takes steps.
    ///
    /// # Errors
    /// [`Stop::Over`] if there are none.
    pub fn take(&self, steps: i64) -> Result<(), Stop> {
        let left = self.steps.fetch_sub(steps, Ordering::Relaxed);
        if left <= steps {
            self.end();
        }
        match self.is_over() {
            true => Err(Stop::Over),
            false => Ok(()),
        }
    }

    /// Takes the steps of so many bytes.
    ///
    /// # Errors
    /// As [`Limits::take`].
    pub fn work(&self, bytes: usize) -> Result<(), Stop> {
        self.take((bytes / STEP_BYTES) as i64 + 1)
    }

    /// The same, before a text of so many bytes is made.
    ///
    /// # Errors
    /// [`Stop::Memory`] for more than [`BYTES_MAX`]; as [`Limits::take`].
    pub fn room(&self, bytes: usize) -> Result<(), Stop> {
        match bytes > BYTES_MAX {
            true => Err(Stop::Memory),
            false => self.work(bytes),
        }
    }

    /// Looks at the time.
    ///
    /// # Errors
    /// [`Stop::Over`] behind the deadline.
    pub fn check_time(&self) -> Result<(), Stop> {
        let since = *self.since.lock().unwrap_or_else(PoisonError::into_inner);
        let is_late =
            since.is_some_and(|since| (self.clock)().saturating_duration_since(since) > TIME_MAX);
        if is_late && !self.is_over() {
            self.is_late.store(true, Ordering::Relaxed);
            self.end();
        }
        match self.is_over() {
            true => Err(Stop::Over),
            false => Ok(()),
        }
    }

    pub fn next_random(&self) -> u64 {
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        random.get_or_insert_with(|| Random::new(0)).next()
    }

    pub fn seed(&self, seed: u64) {
        let random = self.random.lock();
        *random.unwrap_or_else(PoisonError::into_inner) = Some(Random::new(seed));
    }
}

/// A text that grows within a script's bounds.
pub(super) struct Gathered<'l> {
    limits: &'l Limits,
    bytes: Vec<u8>,
}

impl<'l> Gathered<'l> {
    /// An empty one.
    pub fn new(limits: &'l Limits) -> Self {
        Gathered {
            limits,
            bytes: Vec::new(),
        }
    }

    /// Takes the steps of a value that is looked at.
    ///
    /// # Errors
    /// As [`Limits::take`].
    pub fn visit(&self) -> Result<(), Stop> {
        self.limits.take(VALUE_STEPS)
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// As [`Limits::room`].
    pub fn extend(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        if bytes.len() >= STEP_BYTES {
            self.limits.work(bytes.len())?;
        }
        if self.bytes.len() + bytes.len() > BYTES_MAX {
            return Err(Stop::Memory);
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// The text.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_and_time_of_a_transaction_are_taken_together() {
        let limits = Limits::new(Instant::now);
        limits.begin(Spent::default());
        assert_eq!(limits.take(STEPS_MAX - 10), Ok(()));
        let spent = limits.spent();
        limits.begin(spent);
        assert_eq!(limits.take(10), Err(Stop::Over));
        // It stays so.
        assert_eq!(limits.take(0), Err(Stop::Over));
        let now = Instant::now();
        let late = Spent {
            steps: 0,
            since: now.checked_sub(TIME_MAX + Duration::from_secs(1)),
        };
        limits.begin(late);
        assert_eq!(limits.take(1), Ok(()));
        assert_eq!(limits.check_time(), Err(Stop::Over));
        assert!(limits.is_late());
        assert_eq!(limits.room(BYTES_MAX + 1), Err(Stop::Memory));
    }
}
