//! A mutex with content, over the word of [`RawMutex`], and its guard.
//!
//! The interface is that of `parking_lot`: no poisoning, and a guard that can be given up for a while.
//!
//! Invariant: a guard exists only while its thread has the mutex, but for the inside of [`MutexGuard::unlocked`], which
//! borrows the guard exclusively.

use super::futex::RawMutex;
use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

/// A mutex. Like `parking_lot`'s it does not care how its last owner ended.
#[derive(Default)]
pub struct Mutex<T: ?Sized> {
    raw: RawMutex,
    value: UnsafeCell<T>,
}

// SAFETY: the thread that receives the mutex owns the value, and may drop it there: `T: Send` allows that. The word itself
// has no thread.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: several threads share the mutex, and each reaches the value only by a guard. The word lets one guard exist at a
// time, and its unlock happens before the next lock. So a value is used by one thread after the other, as if it were sent:
// `T: Send` is enough.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

impl<T> Mutex<T> {
    /// An unlocked mutex.
    #[inline]
    pub const fn new(value: T) -> Self {
        Mutex {
            raw: RawMutex::INIT,
            value: UnsafeCell::new(value),
        }
    }

    /// The value.
    #[inline]
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits for the mutex.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.raw.lock();
        self.guard()
    }

    /// Takes the mutex if no thread has it.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.raw.try_lock().then(|| self.guard())
    }

    /// Waits for the mutex, at most so long.
    #[inline]
    pub fn lock_within(&self, time: Duration) -> Option<MutexGuard<'_, T>> {
        self.raw.lock_within(time).then(|| self.guard())
    }

    /// True if a thread has it at this moment.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.raw.is_locked()
    }

    /// The value, of a mutex that is borrowed exclusively.
    #[inline]
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// The guard of the thread that has just taken the mutex.
    #[inline]
    fn guard(&self) -> MutexGuard<'_, T> {
        MutexGuard {
            mutex: self,
            of_its_thread: PhantomData,
        }
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(value: T) -> Self {
        Mutex::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.try_lock() {
            Some(guard) => f.debug_struct("Mutex").field("data", &&*guard).finish(),
            None => f.write_str("Mutex { data: <locked> }"),
        }
    }
}

/// The right to a mutex's value; gives the mutex back when it is dropped.
#[must_use = "the mutex is given back at once if its guard is not kept"]
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    /// A guard stays in the thread that locked.
    of_its_thread: PhantomData<*mut ()>,
}

// SAFETY: a shared guard gives only shared references to the value.
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

impl<T: ?Sized> MutexGuard<'_, T> {
    /// Gives the mutex back while the closure runs, and takes it again, also if the closure panics.
    #[inline]
    pub fn unlocked<R>(guard: &mut Self, run: impl FnOnce() -> R) -> R {
        struct Relock<'a>(&'a RawMutex);
        impl Drop for Relock<'_> {
            fn drop(&mut self) {
                self.0.lock();
            }
        }
        // SAFETY: the guard has the mutex. No reference to the value can be used before it is taken again, because the
        // guard is borrowed exclusively until then.
        unsafe { guard.mutex.raw.unlock() };
        let _again = Relock(&guard.mutex.raw);
        run()
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard has the mutex, so no other thread has a reference to the value.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard has the mutex and is borrowed exclusively, so this reference is the only one.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard has the mutex.
        unsafe { self.mutex.raw.unlock() };
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn given_back_for_a_while_it_can_be_taken_by_another_and_comes_back() {
        let mutex = Mutex::new(1);
        let mut guard = mutex.lock();
        MutexGuard::unlocked(&mut guard, || {
            assert!(!mutex.is_locked());
            *mutex.lock() += 1;
        });
        assert!(mutex.is_locked());
        assert_eq!(*guard, 2);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            MutexGuard::unlocked(&mut guard, || panic!("in between"));
        }));
        assert!(panicked.is_err() && mutex.is_locked());
        drop(guard);
        assert!(!mutex.is_locked());
    }

    #[test]
    fn a_mutex_shows_its_value_unless_a_thread_has_it() {
        let mut mutex = Mutex::from(7);
        assert_eq!(format!("{mutex:?}"), "Mutex { data: 7 }");
        let guard = mutex.lock();
        assert_eq!(
            format!("{mutex:?} {guard:?} {guard}"),
            "Mutex { data: <locked> } 7 7"
        );
        drop(guard);
        *mutex.get_mut() = 8;
        assert_eq!(mutex.into_inner(), 8);
    }

    #[test]
    fn the_owner_that_panics_gives_it_back() {
        let mutex = Mutex::new(());
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let _guard = mutex.lock();
            panic!("while it has the mutex");
        }));
        assert!(panicked.is_err() && mutex.try_lock().is_some());
    }
}
