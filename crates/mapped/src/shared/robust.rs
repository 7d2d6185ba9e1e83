//! A lock in shared memory that survives its holder: the POSIX robust mutex. When a thread or a
//! process dies with it, the next one gets it and is told so (I9).
//!
//! Whoever holds it changes shared memory in such an order that a death between any two stores leaves
//! a state that is consistent as it stands; so being told is for the record, not for a repair.

use std::cell::UnsafeCell;
use std::hint;
use std::mem::MaybeUninit;

/// How often a taken lock is looked at before the thread parks: a critical section is short, and a
/// wake-up costs microseconds.
const SPINS: u32 = 300;

/// A robust mutex that any process which has it mapped may take. Not recursive.
#[repr(C)]
pub struct RobustLock {
    mutex: UnsafeCell<MaybeUninit<libc::pthread_mutex_t>>,
}

/// How a lock was got.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Got {
    /// As usual.
    Free,
    /// Its last holder died with it.
    FromTheDead,
}

impl RobustLock {
    /// Makes a lock in zeroed shared memory.
    ///
    /// # Safety
    /// Nobody else uses it yet, and it is initialised once.
    pub unsafe fn initialise(&self) {
        let mutex = self.mutex.get().cast::<libc::pthread_mutex_t>();
        let mut attributes = MaybeUninit::uninit();
        let attributes = attributes.as_mut_ptr();
        // SAFETY: the attributes are initialised before they are used; the mutex's memory is ours
        // alone, as the caller promises; these calls do not fail with these arguments.
        unsafe {
            libc::pthread_mutexattr_init(attributes);
            libc::pthread_mutexattr_setpshared(attributes, libc::PTHREAD_PROCESS_SHARED);
            libc::pthread_mutexattr_setrobust(attributes, libc::PTHREAD_MUTEX_ROBUST);
            libc::pthread_mutexattr_settype(attributes, libc::PTHREAD_MUTEX_ERRORCHECK);
            libc::pthread_mutex_init(mutex, attributes);
            libc::pthread_mutexattr_destroy(attributes);
        }
    }

    fn raw(&self) -> *mut libc::pthread_mutex_t {
        self.mutex.get().cast()
    }

    /// Takes the lock if it is free.
    pub fn try_lock(&self) -> Option<Got> {
        // SAFETY: whoever has a reference got it from a segment whose creation is complete, so the
        // mutex is initialised; it is used by these calls only.
        match unsafe { libc::pthread_mutex_trylock(self.raw()) } {
            0 => Some(Got::Free),
            libc::EOWNERDEAD => Some(self.make_consistent()),
            _ => None,
        }
    }

    /// Takes the lock; looks a few times, then parks.
    ///
    /// # Panics
    /// If this thread holds it already.
    pub fn lock(&self) -> Got {
        for _ in 0..SPINS {
            if let Some(got) = self.try_lock() {
                return got;
            }
            hint::spin_loop();
        }
        // SAFETY: as in `try_lock`.
        match unsafe { libc::pthread_mutex_lock(self.raw()) } {
            0 => Got::Free,
            libc::EOWNERDEAD => self.make_consistent(),
            error => panic!("a lock in shared memory: error {error}; a thread took it twice"),
        }
    }

    /// Takes the lock unless that takes longer than about a millisecond.
    pub fn lock_soon(&self) -> Option<Got> {
        for _ in 0..SPINS {
            if let Some(got) = self.try_lock() {
                return Some(got);
            }
            hint::spin_loop();
        }
        let mut until = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: as in `try_lock`; the clock is the one that the call takes.
        let outcome = unsafe {
            libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut until);
            until.tv_nsec += 1_000_000;
            if until.tv_nsec >= 1_000_000_000 {
                until.tv_nsec -= 1_000_000_000;
                until.tv_sec += 1;
            }
            libc::pthread_mutex_timedlock(self.raw(), &raw const until)
        };
        match outcome {
            0 => Some(Got::Free),
            libc::EOWNERDEAD => Some(self.make_consistent()),
            _ => None,
        }
    }

    fn make_consistent(&self) -> Got {
        // SAFETY: this thread has just got the mutex with EOWNERDEAD.
        unsafe { libc::pthread_mutex_consistent(self.raw()) };
        Got::FromTheDead
    }

    /// Gives the lock back. No effect if this thread does not hold it.
    pub fn unlock(&self) {
        // SAFETY: as in `try_lock`; an error-checking mutex refuses a thread that is not the holder.
        unsafe { libc::pthread_mutex_unlock(self.raw()) };
    }
}

// SAFETY: it is a mutex; all access to its memory is by the pthread calls, which synchronise.
unsafe impl Sync for RobustLock {}
// SAFETY: it stays in shared memory; references may be used by any thread.
unsafe impl Send for RobustLock {}
