//! The threads that wait for the pen, counted: a thread that takes the pen again and again, as a large statement does, lets
//! them go first.
//!
//! The pen is given to the thread that runs when it is free. A waiting thread is asleep then, and takes longer to wake
//! than the releasing one takes to come back. Without this it could wait for many of such turns.
//!
//! Invariant: `left` never passes `came`, and both are equal when no thread waits.

use sardonyx_base::sync::atomic::{AtomicU64, Ordering};

/// Counts of threads that wait, from the beginning on.
#[derive(Debug, Default)]
pub(super) struct Waits {
    came: AtomicU64,
    /// The threads that wait no longer: they have the pen, or were interrupted.
    left: AtomicU64,
}

/// A thread that waits, until this is dropped.
pub(super) struct Waiting<'w>(&'w Waits);

impl Waits {
    /// A thread begins to wait.
    pub fn enter(&self) -> Waiting<'_> {
        self.came.fetch_add(1, Ordering::Relaxed);
        Waiting(self)
    }

    pub fn up_to_now(&self) -> Waited<'_> {
        Waited {
            waits: self,
            came: self.came.load(Ordering::Relaxed),
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.left.fetch_add(1, Ordering::Relaxed);
    }
}

/// The threads that have waited for a pen up to some moment: [`super::Pen::waited`].
#[derive(Debug)]
pub struct Waited<'p> {
    waits: &'p Waits,
    came: u64,
}

impl Waited<'_> {
    /// True if as many threads as had come by then wait no longer. Later ones count as they leave, so that this is true
    /// at some time, however many come.
    pub fn are_over(&self) -> bool {
        self.waits.left.load(Ordering::Relaxed) >= self.came
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_waited_are_over_when_as_many_have_left() {
        let waits = Waits::default();
        assert!(waits.up_to_now().are_over());
        let first = waits.enter();
        let waited = waits.up_to_now();
        assert!(!waited.are_over());
        // One that came later goes before it.
        drop(waits.enter());
        assert!(waited.are_over());
        let waited = waits.up_to_now();
        assert!(!waited.are_over());
        drop(first);
        assert!(waited.are_over());
    }
}
