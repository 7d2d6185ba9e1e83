//! Mutexes and condition variables that are one word each, on the kernel's futex.
//!
//! Why of our own: `parking_lot` keeps those who wait in one table of the process. A child made by `fork`
//! inherits that table as it was, locked by threads that do not exist and with entries on their stacks. So
//! it hangs at the first mutex of its own for which a thread has to wait. Here all state is in the word,
//! so that a mutex made in the child has nothing to do with its parent's. The standard library's mutexes
//! are like these, but give the guard away while waiting and are poisoned; the interface is the same as
//! `parking_lot`'s.
//!
//! Invariants: the word of a mutex is `WAITED_FOR` whenever a thread sleeps on it or is about to. A thread
//! that waits at a condition variable is counted before it releases the mutex.

use super::word::{self, Sleepers};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

pub use super::mutex::{Mutex, MutexGuard};

const FREE: u32 = 0;
const TAKEN: u32 = 1;
const WAITED_FOR: u32 = 2;

/// Looks so often before it sleeps: most mutexes are held for less than a system call takes.
const LOOKS: u32 = 100;

/// A mutex without content.
#[derive(Debug, Default)]
pub struct RawMutex(AtomicU32);

impl RawMutex {
    /// One that no thread has.
    #[allow(
        clippy::declare_interior_mutable_const,
        reason = "it begins a mutex, and is not used itself"
    )]
    pub const INIT: RawMutex = RawMutex(AtomicU32::new(FREE));

    /// Waits for it.
    #[inline]
    pub fn lock(&self) {
        if !self.try_lock() {
            self.lock_slowly();
        }
    }

    /// Takes it if no thread has it: the word leaves `FREE` only by an exchange that finds it there.
    #[inline]
    pub fn try_lock(&self) -> bool {
        self.0
            .compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Gives it back.
    ///
    /// # Safety
    /// The caller has it.
    #[inline]
    pub unsafe fn unlock(&self) {
        if self.0.swap(FREE, Ordering::Release) == WAITED_FOR {
            wake(&self.0, 1);
        }
    }

    /// True if a thread has it at this moment.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.0.load(Ordering::Relaxed) != FREE
    }

    #[cold]
    fn lock_slowly(&self) {
        if self.look() == FREE && self.try_lock() {
            return;
        }
        // From here on every unlock wakes a thread: others may sleep, too.
        while self.0.swap(WAITED_FOR, Ordering::Acquire) != FREE {
            sleep(&self.0, WAITED_FOR, None);
            self.look();
        }
    }

    /// Waits for it, at most so long. Returns whether the caller has it.
    #[cold]
    pub fn lock_within(&self, time: Duration) -> bool {
        if self.look() == FREE && self.try_lock() {
            return true;
        }
        let until = Instant::now() + time;
        // After each sleep it is tried before the time is looked at: a wake-up that came last is not lost.
        while self.0.swap(WAITED_FOR, Ordering::Acquire) != FREE {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            sleep(&self.0, WAITED_FOR, Some(left));
        }
        true
    }

    /// Looks for a while whether it is given back; not if others sleep for it already.
    fn look(&self) -> u32 {
        for _ in 0..LOOKS {
            match self.0.load(Ordering::Relaxed) {
                TAKEN => std::hint::spin_loop(),
                state => return state,
            }
        }
        TAKEN
    }
}

/// A condition variable.
#[derive(Debug, Default)]
pub struct Condvar {
    /// Counts notifications, so that none is slept through.
    notified: AtomicU32,
    waiting: AtomicU32,
}

/// True if a wait ended because its time was over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// True if the time was over.
    pub fn timed_out(self) -> bool {
        self.0
    }
}

impl Condvar {
    /// A condition variable.
    pub const fn new() -> Self {
        Condvar {
            notified: AtomicU32::new(0),
            waiting: AtomicU32::new(0),
        }
    }

    /// Releases the mutex and waits. May return early.
    pub fn wait<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>) {
        self.wait_at_most(guard, None);
    }

    /// Like [`Condvar::wait`], until this moment at most.
    pub fn wait_until<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        until: Instant,
    ) -> WaitTimeoutResult {
        let left = until.saturating_duration_since(Instant::now());
        WaitTimeoutResult(!self.wait_at_most(guard, Some(left)))
    }

    /// Returns false if the time was over.
    fn wait_at_most<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        time: Option<Duration>,
    ) -> bool {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let seen = self.notified.load(Ordering::SeqCst);
        let woken = MutexGuard::unlocked(guard, || sleep(&self.notified, seen, time));
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        woken
    }

    /// Wakes one.
    #[inline]
    pub fn notify_one(&self) {
        self.notify(1);
    }

    /// Wakes all.
    #[inline]
    pub fn notify_all(&self) {
        self.notify(i32::MAX as u32);
    }

    #[inline]
    fn notify(&self, threads: u32) {
        self.notified.fetch_add(1, Ordering::SeqCst);
        if self.waiting.load(Ordering::SeqCst) > 0 {
            wake(&self.notified, threads);
        }
    }
}

/// Sleeps while the word is `seen`; may return early. Returns false if the time was over.
fn sleep(word: &AtomicU32, seen: u32, time: Option<Duration>) -> bool {
    word::wait(word, Sleepers::OfProcess, seen, time)
}

#[cold]
fn wake(word: &AtomicU32, threads: u32) {
    word::wake(word, Sleepers::OfProcess, threads);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn threads_take_turns_and_nobody_is_forgotten() {
        let state = Arc::new((Mutex::new(0u64), Condvar::new()));
        let threads: Vec<_> = (0..4)
            .map(|me| {
                let state = state.clone();
                std::thread::spawn(move || {
                    for round in 0..500 {
                        let mut turn = state.0.lock();
                        while *turn != round * 4 + me {
                            state.1.wait(&mut turn);
                        }
                        *turn += 1;
                        drop(turn);
                        state.1.notify_all();
                    }
                })
            })
            .collect();
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
        assert_eq!(*state.0.lock(), 2000);
    }

    #[test]
    fn one_at_a_time_has_the_mutex() {
        let count = Arc::new(Mutex::new(0u64));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let count = count.clone();
                std::thread::spawn(move || (0..20_000).for_each(|_| *count.lock() += 1))
            })
            .collect();
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
        assert_eq!(*count.lock(), 80_000);
        let guard = count.lock();
        assert!(count.is_locked() && count.try_lock().is_none());
        assert!(count.lock_within(Duration::from_micros(1)).is_none());
        drop(guard);
        assert!(!count.is_locked() && count.try_lock().is_some());
        assert!(count.lock_within(Duration::from_secs(60)).is_some());
    }

    #[test]
    fn a_wait_ends_when_its_time_is_over_however_long_it_may_be() {
        let (mutex, condvar) = (Mutex::new(()), Condvar::new());
        let mut guard = mutex.lock();
        assert!(condvar.wait_until(&mut guard, Instant::now()).timed_out());
        assert!(mutex.is_locked(), "it is taken again");
        assert!(!sleep(
            &AtomicU32::new(1),
            1,
            Some(Duration::from_micros(1))
        ));
        // The word has changed: it returns at once.
        assert!(sleep(&AtomicU32::new(1), 2, Some(Duration::MAX)));
    }
}
