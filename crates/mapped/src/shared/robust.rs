//! A lock in shared memory that survives its holder: the POSIX robust mutex. When a thread or a process
//! dies with it, the next one gets it and learns of that (I9).
//!
//! Its holder changes shared memory in such an order that a death between any two stores leaves a
//! consistent state. So the notice is for the record, not for a repair.
//!
//! A holder that is *stopped* is another matter: see [`stopped`](super::stopped).

use super::stopped::{ASK_EVERY, Patience, StoppedProcess, Waiting, this_process};
use std::cell::UnsafeCell;
use std::hint;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The number of looks at a taken lock before the thread parks: a critical section is short, and a
/// wake-up costs microseconds.
const SPINS: u32 = 300;

/// A robust mutex that any process which has it mapped may take. Not recursive.
#[repr(C)]
pub struct RobustLock {
    mutex: UnsafeCell<MaybeUninit<libc::pthread_mutex_t>>,
    /// The process that took it last; 0 once it gave it back. For who waits, not for the lock.
    holder: AtomicU32,
}

/// The way in which a lock was got.
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
    /// It has no other user yet, and is initialised once.
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
        // SAFETY: each reference comes from a segment whose creation is complete, so the mutex is
        // initialised; it is used by these calls only.
        self.got(unsafe { libc::pthread_mutex_trylock(self.raw()) })
    }

    /// The result of a call that takes the mutex.
    fn got(&self, said: i32) -> Option<Got> {
        let got = match said {
            0 => Got::Free,
            libc::EOWNERDEAD => self.make_consistent(),
            _ => return None,
        };
        self.holder.store(this_process(), Ordering::Relaxed);
        Some(got)
    }

    /// The process that holds it, as far as it has said so; 0 if none.
    pub fn holder(&self) -> u32 {
        self.holder.load(Ordering::Relaxed)
    }

    /// Takes the lock; looks a few times, then parks. `holds` says in words what it is. If the process
    /// that holds it is stopped, the program's callback is called.
    ///
    /// # Errors
    /// That process has been stopped for longer than the program wants to wait.
    ///
    /// # Panics
    /// If this thread holds it already.
    pub fn lock(&self, patience: &Patience, holds: &'static str) -> Result<Got, StoppedProcess> {
        self.lock_waiting(patience, holds, || Ok(()))
    }

    /// As [`lock`](Self::lock); while it waits, calls `waiting` every [`ASK_EVERY`], and at first as soon
    /// as it parks.
    ///
    /// # Errors
    /// The errors of `lock`, and of `waiting`; the lock is not taken then.
    ///
    /// # Panics
    /// As `lock`.
    pub fn lock_waiting<E: From<StoppedProcess>>(
        &self,
        patience: &Patience,
        holds: &'static str,
        mut waiting: impl FnMut() -> Result<(), E>,
    ) -> Result<Got, E> {
        if let Some(got) = self.lock_soon() {
            return Ok(got);
        }
        let mut stopped = Waiting::new(patience, holds);
        loop {
            waiting()?;
            if let Some(got) = self.lock_within(ASK_EVERY) {
                return Ok(got);
            }
            stopped.look(|| self.holder())?;
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
        self.lock_within(Duration::from_millis(1))
    }

    fn lock_within(&self, time: Duration) -> Option<Got> {
        let mut until = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: as in `try_lock`; the clock is the one that the call takes.
        let said = unsafe {
            libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut until);
            // Less than a second.
            until.tv_nsec += libc::c_long::from(time.subsec_nanos() as i32);
            if until.tv_nsec >= 1_000_000_000 {
                until.tv_nsec -= 1_000_000_000;
                until.tv_sec += 1;
            }
            libc::pthread_mutex_timedlock(self.raw(), &raw const until)
        };
        assert_ne!(
            said,
            libc::EDEADLK,
            "a thread took a lock in shared memory twice"
        );
        self.got(said)
    }

    fn make_consistent(&self) -> Got {
        // SAFETY: this thread has just got the mutex with EOWNERDEAD.
        unsafe { libc::pthread_mutex_consistent(self.raw()) };
        Got::FromTheDead
    }

    /// Gives the lock back. The caller holds it.
    pub fn unlock(&self) {
        self.holder.store(0, Ordering::Relaxed);
        // SAFETY: as in `try_lock`; an error-checking mutex refuses a thread that is not the holder.
        unsafe { libc::pthread_mutex_unlock(self.raw()) };
    }
}

// SAFETY: it is a mutex; all access to its memory is by the pthread calls, which synchronise.
unsafe impl Sync for RobustLock {}
// SAFETY: it stays in shared memory; references may be used by any thread.
unsafe impl Send for RobustLock {}
