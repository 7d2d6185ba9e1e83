//! The turn of a thread to change the states of a view's pages: a lock that is taken in the fault
//! handler, too.
//!
//! Invariant: the states of a view's pages (its bits, its lists, the kernel's mappings, guards and protections) change
//! only in a [`Turn`]. A thread that has a turn takes no asynchronous signals. So no handler of the program runs on
//! top of a half-made change. There its own fault would find states that contradict each other, or wait for a turn
//! that only the code below it can release.
//!
//! A thread that asks for a turn that it has already gets an error instead of waiting for itself. In the
//! fault handler that is a fault of the library's own, which cannot be mended.

use sardonyx_base::signals::{self, Blocked};
use sardonyx_base::sync::futex::RawMutex;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Gives turns, one at a time.
#[derive(Debug)]
pub(super) struct Turns {
    /// All its state is in its word, so that it may be taken in a signal handler.
    mutex: RawMutex,
    /// The thread that has the turn: its number in the C library; 0 if none.
    thread: AtomicUsize,
}

/// The right to change the states of a view's pages, until it is dropped.
#[derive(Debug)]
#[must_use = "the turn is over when this is dropped"]
pub struct Turn<'a> {
    turns: &'a Turns,
    _of_a_thread: PhantomData<*const ()>,
    /// Taken back after the turn was given back, since fields are dropped later.
    _blocked: Option<Blocked>,
}

impl Turns {
    pub(super) const fn new() -> Self {
        Turns {
            mutex: RawMutex::INIT,
            thread: AtomicUsize::new(0),
        }
    }

    /// Waits for the turn, with signals blocked. Not for the fault handler.
    ///
    /// # Panics
    /// If the thread has the turn already.
    pub(super) fn take(&self) -> Turn<'_> {
        let blocked = signals::block();
        let taken = self.take_blocked(Some(blocked));
        taken.expect("a thread does not ask for a turn that it has")
    }

    /// Waits for the turn, in the fault handler, which runs with signals blocked. `None` if this thread
    /// has it.
    pub(super) fn take_in_handler(&self) -> Option<Turn<'_>> {
        self.take_blocked(None)
    }

    fn take_blocked(&self, blocked: Option<Blocked>) -> Option<Turn<'_>> {
        if !self.mutex.try_lock() {
            if self.is_mine() {
                return None;
            }
            self.mutex.lock();
        }
        self.thread.store(this_thread(), Ordering::Relaxed);
        Some(Turn {
            turns: self,
            _of_a_thread: PhantomData,
            _blocked: blocked,
        })
    }

    /// True if the calling thread has the turn. No other thread can make that true or false.
    pub(super) fn is_mine(&self) -> bool {
        self.thread.load(Ordering::Relaxed) == this_thread()
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.turns.thread.store(0, Ordering::Relaxed);
        // SAFETY: taken when this was made, by this thread, which a turn does not leave.
        unsafe { self.turns.mutex.unlock() };
    }
}

/// The number of this thread. Usable in a signal handler, and no system call.
fn this_thread() -> usize {
    // SAFETY: always succeeds, and reads the thread's own register only.
    unsafe { libc::pthread_self() as usize }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn turns_are_one_at_a_time_and_nobody_waits_for_himself() {
        let turns = Turns::new();
        let count = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        let turn = turns.take();
                        assert!(turns.is_mine() && turns.take_in_handler().is_none());
                        // Not one step: lost if another thread were in here, too.
                        let before = count.load(Ordering::Relaxed);
                        std::hint::spin_loop();
                        count.store(before + 1, Ordering::Relaxed);
                        drop(turn);
                        assert!(!turns.is_mine());
                    }
                });
            }
        });
        assert_eq!(count.into_inner(), 4000);
        assert!(turns.take_in_handler().is_some());
    }
}
