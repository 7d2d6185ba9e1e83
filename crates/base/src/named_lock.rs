//! A lock in memory that processes share, which its holder takes in its own name: so others can find out that the holder
//! is dead, and take the lock from it (I9).
//!
//! The caller says by which name a process goes, and if it lives: a process on a shared memory has a place in it, and a file
//! lock that ends with it ([`crate::shared_file`]). A name is used by one life of one place. So a name that is found here is that of the
//! holder, or of a dead one; and the kernel frees a file lock only when no thread of the process is in a system call any
//! more. So two holders never write at once.
//!
//! A holder changes what it guards in such an order that a death between any two stores leaves a sound state. A holder that
//! is *stopped* is not dead, and keeps the lock ([`crate::stopped`]).
//!
//! Invariants: the word is 0, or the holder's name. Its highest bit is set whenever a thread sleeps on it or is about to.
//! A thread sleeps for a bounded time, so that the death of a holder, or of the thread that was woken, holds up none.

use crate::sync::atomic::{AtomicU32, Ordering};
#[cfg(not(shuttle))]
use crate::sync::word::{self, Sleepers};
use std::time::{Duration, Instant};

/// Names are smaller.
pub const NAMES: u32 = WAITED_FOR;

const WAITED_FOR: u32 = 1 << 31;

/// The number of looks at a taken lock before the thread sleeps: a critical section is short, and a wake-up costs
/// microseconds.
const LOOKS: u32 = if cfg!(shuttle) { 1 } else { 300 };

/// The time after which a thread that waits looks whether the holder is dead.
pub const LOOK_AFTER: Duration = Duration::from_millis(5);

/// The time for which a thread waits for a holder that it expects to live.
const SOON: Duration = Duration::from_millis(1);

/// A lock that any process which has it mapped may take. Zero is a free one. Not recursive.
#[repr(transparent)]
#[derive(Debug, Default)]
pub struct NamedLock(AtomicU32);

/// The way in which a lock was got.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Got {
    /// As usual.
    Free,
    /// Its last holder died with it.
    FromTheDead,
}

impl NamedLock {
    /// The lock in a word of memory that processes share. All of them use it by this type, and by nothing else.
    #[cfg(not(shuttle))]
    pub fn of(word: &std::sync::atomic::AtomicU64) -> &NamedLock {
        // SAFETY: a `NamedLock` is an atomic of 4 bytes, which any bytes are; it is as long as half the word, aligned
        // less strictly, and borrowed for as long. All accesses to it are atomic.
        unsafe { &*std::ptr::from_ref(word).cast::<NamedLock>() }
    }

    /// Models have no memory that processes share, and do not call this.
    #[cfg(shuttle)]
    pub fn of(_: &std::sync::atomic::AtomicU64) -> &NamedLock {
        unreachable!("a model has a lock of its own")
    }

    /// The holder's name.
    #[inline]
    pub fn holder(&self) -> Option<u32> {
        let name = self.0.load(Ordering::SeqCst) & !WAITED_FOR;
        (name != 0).then_some(name)
    }

    /// Takes the lock if it is free. `name`: of this process, not 0, and smaller than [`NAMES`].
    #[inline]
    pub fn try_lock(&self, name: u32) -> bool {
        debug_assert!(name != 0 && name < NAMES);
        self.exchange(0, name)
    }

    /// Takes the lock if it is free, or its holder is dead.
    #[inline]
    pub fn try_inherit(&self, name: u32, lives: impl FnOnce(u32) -> bool) -> Option<Got> {
        match self.try_lock(name) {
            true => Some(Got::Free),
            false => self.take_from_the_dead(name, lives),
        }
    }

    #[cold]
    fn take_from_the_dead(&self, name: u32, lives: impl FnOnce(u32) -> bool) -> Option<Got> {
        let seen = self.0.load(Ordering::SeqCst);
        let holder = seen & !WAITED_FOR;
        let taken = holder != 0 && !lives(holder) && self.exchange(seen, name | seen & WAITED_FOR);
        taken.then_some(Got::FromTheDead)
    }

    /// Takes the lock unless that takes longer than about a millisecond; also from a dead holder.
    #[inline]
    pub fn lock_soon(&self, name: u32, lives: impl FnOnce(u32) -> bool) -> Option<Got> {
        match self.try_lock(name) {
            true => Some(Got::Free),
            false => self.lock_slowly(name, SOON, lives),
        }
    }

    /// Waits for the lock, about as long as [`LOOK_AFTER`], and then takes it if its holder is dead.
    pub fn lock_within(&self, name: u32, lives: impl FnOnce(u32) -> bool) -> Option<Got> {
        self.lock_slowly(name, LOOK_AFTER, lives)
    }

    #[cold]
    fn lock_slowly(
        &self,
        name: u32,
        time: Duration,
        lives: impl FnOnce(u32) -> bool,
    ) -> Option<Got> {
        for _ in 0..LOOKS {
            if self.0.load(Ordering::Relaxed) == 0 && self.try_lock(name) {
                return Some(Got::Free);
            }
            std::hint::spin_loop();
        }
        let until = Instant::now() + time;
        loop {
            let seen = self.0.load(Ordering::SeqCst);
            if seen == 0 {
                // Others may sleep: the next unlock wakes one.
                if self.exchange(0, name | WAITED_FOR) {
                    return Some(Got::Free);
                }
                continue;
            }
            let waited_for = seen | WAITED_FOR;
            if seen != waited_for && !self.exchange(seen, waited_for) {
                continue;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return self.take_from_the_dead(name, lives);
            }
            self.sleep(waited_for, left);
        }
    }

    /// Gives the lock back. The caller holds it.
    #[inline]
    pub fn unlock(&self) {
        if self.0.swap(0, Ordering::SeqCst) & WAITED_FOR != 0 {
            self.wake();
        }
    }

    #[inline]
    fn exchange(&self, from: u32, to: u32) -> bool {
        let exchanged = self
            .0
            .compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst);
        exchanged.is_ok()
    }

    #[cfg(not(shuttle))]
    fn sleep(&self, seen: u32, at_most: Duration) {
        // Other processes sleep at the same word. Whatever ends the wait, the caller looks again.
        word::wait(&self.0, Sleepers::OfProcesses, seen, Some(at_most));
    }

    #[cfg(not(shuttle))]
    #[cold]
    fn wake(&self) {
        word::wake(&self.0, Sleepers::OfProcesses, 1);
    }

    /// A sleep is bounded, so a model lets it end at once: others run meanwhile.
    #[cfg(shuttle)]
    fn sleep(&self, _seen: u32, _at_most: Duration) {
        crate::sync::thread::yield_now();
    }

    #[cfg(shuttle)]
    fn wake(&self) {}
}

#[cfg(all(test, shuttle))]
mod shuttle_models {
    use super::*;
    use crate::sync::atomic::AtomicBool;
    use crate::sync::thread;
    use std::sync::Arc;

    /// Processes take a lock in turn, and one of them dies with it: one at a time is in, and none waits for ever.
    #[test]
    fn shuttle_i9_one_process_at_a_time_has_the_lock_also_when_one_dies_with_it() {
        let body = || {
            let lock = Arc::new(NamedLock::default());
            let (inside, dead) = (
                Arc::new(AtomicU32::new(0)),
                Arc::new(AtomicBool::new(false)),
            );
            let processes: Vec<_> = (1..=3)
                .map(|name| {
                    let (lock, inside, dead) = (lock.clone(), inside.clone(), dead.clone());
                    thread::spawn(move || {
                        let lives = |name| name != 1 || !dead.load(Ordering::SeqCst);
                        for turn in 0..2 {
                            while lock.lock_within(name, lives).is_none() {}
                            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two are in");
                            assert_eq!(lock.holder(), Some(name));
                            inside.fetch_sub(1, Ordering::SeqCst);
                            if (name, turn) == (1, 1) {
                                dead.store(true, Ordering::SeqCst);
                                return;
                            }
                            lock.unlock();
                        }
                    })
                })
                .collect();
            for process in processes {
                process.join().expect("no assertion failed");
            }
        };
        shuttle::check_random(body, 2000);
        shuttle::check_pct(body, 2000, 3);
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn one_at_a_time_has_the_lock_and_all_get_it() {
        let shared = Arc::new((NamedLock::default(), AtomicU64::new(0)));
        let threads: Vec<_> = (1..=4)
            .map(|name| {
                let shared = shared.clone();
                std::thread::spawn(move || {
                    let (lock, count) = &*shared;
                    for _ in 0..5000 {
                        while lock.lock_within(name, |_| true).is_none() {}
                        assert_eq!(lock.holder(), Some(name));
                        // Not atomic as a whole: a second holder would lose one.
                        let seen = count.load(Ordering::Relaxed);
                        count.store(seen + 1, Ordering::Relaxed);
                        lock.unlock();
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(shared.1.load(Ordering::SeqCst), 20_000);
        assert_eq!(shared.0.holder(), None);
    }

    #[test]
    fn i9_a_lock_is_taken_from_the_dead_and_from_none_who_lives() {
        let word = AtomicU64::new(0);
        let lock = NamedLock::of(&word);
        assert!(lock.try_lock(7) && !lock.try_lock(7) && !lock.try_lock(8));
        assert_eq!(lock.try_inherit(8, |_| true), None);
        assert_eq!(lock.lock_soon(8, |_| true), None);
        assert_eq!(lock.lock_within(8, |holder| holder == 7), None);
        // Threads have slept: the name is the same to who looks.
        assert_eq!(lock.holder(), Some(7));
        let dead = |holder| holder != 7;
        assert_eq!(lock.try_inherit(8, dead), Some(Got::FromTheDead));
        assert_eq!(lock.holder(), Some(8));
        assert_eq!(lock.try_inherit(9, dead), None, "8 lives");
        lock.unlock();
        assert_eq!(lock.try_inherit(9, dead), Some(Got::Free));
        assert_eq!(lock.lock_soon(10, |_| false), Some(Got::FromTheDead));
        assert_eq!(word.load(Ordering::SeqCst) >> 32, 0);
    }

    #[test]
    fn a_holder_that_gave_way_while_it_was_looked_at_is_not_robbed() {
        let lock = NamedLock::default();
        assert!(lock.try_lock(7));
        let got = lock.take_from_the_dead(9, |_| {
            // It has died, and another one was faster.
            assert_eq!(
                lock.take_from_the_dead(8, |_| false),
                Some(Got::FromTheDead)
            );
            false
        });
        assert_eq!((got, lock.holder()), (None, Some(8)));
    }
}
