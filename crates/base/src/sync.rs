//! The primitives at which the engine's threads meet: mutexes, condition variables, atomics, a word
//! to park on, and threads themselves.
//!
//! In every ordinary build they are the standard library's and, by [`futex`], the kernel's, with nothing in
//! between. Built with `--cfg shuttle` they are Shuttle's, which runs all threads on one and chooses at each
//! of these primitives the next to run. So the hand-overs between stages are explored under thousands of
//! schedules, each of which replays from its seed (I11). The models are the tests whose names begin with
//! `shuttle`.

pub mod futex;
mod mutex;
pub mod word;

use std::ops::{Deref, DerefMut};

/// A value that is alone in its cache lines, and in the neighbours that the processor fetches with them:
/// frequent writes of one thread should not cost the readers of its neighbours. Its layout is fixed, so that
/// it may lie in shared memory.
#[derive(Debug, Default)]
#[repr(C, align(128))]
pub struct CacheLine<T>(pub T);

impl<T> Deref for CacheLine<T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for CacheLine<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

#[cfg(not(shuttle))]
pub use ordinary::*;
#[cfg(shuttle)]
pub use shuttled::*;

#[cfg(not(shuttle))]
mod ordinary {
    pub use super::futex::{Condvar, Mutex, MutexGuard};
    pub use std::sync::atomic;

    /// The standard library's threads, started so that they take no signals of the program's, and who
    /// is asking.
    pub mod thread {
        use crate::signals;
        pub use std::thread::*;

        /// Starts threads that take none of the program's signals: see [`signals`].
        #[derive(Debug)]
        pub struct Builder(std::thread::Builder);

        impl Builder {
            /// The common part of the threads that it starts.
            #[allow(clippy::new_without_default, reason = "as the standard library's")]
            pub fn new() -> Self {
                Builder(std::thread::Builder::new())
            }

            /// Names the thread.
            pub fn name(self, name: String) -> Self {
                Builder(self.0.name(name))
            }

            /// Starts it.
            ///
            /// # Errors
            /// The operating system's error if it can start no more threads.
            pub fn spawn<T: Send + 'static>(
                self,
                body: impl FnOnce() -> T + Send + 'static,
            ) -> std::io::Result<JoinHandle<T>> {
                let _blocked = signals::block();
                self.0.spawn(body)
            }
        }

        /// A number of the calling thread that no other thread has while it lives; never 0.
        #[inline]
        pub fn this_thread() -> usize {
            thread_local!(static HERE: u8 = const { 0 });
            HERE.with(|here| std::ptr::from_ref(here) as usize)
        }
    }

    use super::word::{self, Sleepers};
    use atomic::{AtomicU32, AtomicU64, Ordering};
    use std::time::Duration;

    /// A word to park on: threads sleep as long as it has the value that they saw.
    #[derive(Debug, Default)]
    pub struct ParkingWord(AtomicU32);

    impl ParkingWord {
        /// The value now.
        #[inline]
        pub fn value(&self) -> u32 {
            self.0.load(Ordering::SeqCst)
        }

        /// Changes the value, so that no thread parks on an earlier observation.
        #[inline]
        pub fn change(&self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }

        /// Parks while the value is `seen`. May return early.
        pub fn park(&self, seen: u32) {
            // Interruptions and changed words are as good as a wake-up: the caller looks again.
            word::wait(&self.0, Sleepers::OfProcess, seen, None);
        }

        /// Wakes everyone who is parked; call [`ParkingWord::change`] before.
        pub fn wake_all(&self) {
            word::wake(&self.0, Sleepers::OfProcess, u32::MAX);
        }
    }

    /// A word that counts changes, for the threads of several processes to wait for the next one. It may
    /// lie in memory that they share; zero is a valid value.
    #[repr(transparent)]
    #[derive(Debug, Default)]
    pub struct ChangesWord(AtomicU32);

    impl ChangesWord {
        /// The value of a word in memory that processes share. All of them use it by this type, and by nothing
        /// else.
        pub fn of(word: &AtomicU64) -> &ChangesWord {
            // SAFETY: a `ChangesWord` is an atomic of 4 bytes, which any bytes are; it is as long as half the
            // word, aligned less strictly, and borrowed for as long. All accesses to it are atomic.
            unsafe { &*std::ptr::from_ref(word).cast::<ChangesWord>() }
        }

        /// The changes so far.
        #[inline]
        pub fn value(&self) -> u32 {
            self.0.load(Ordering::SeqCst)
        }

        /// Counts a change, and wakes everyone who waits for one.
        pub fn change(&self) {
            self.0.fetch_add(1, Ordering::SeqCst);
            word::wake(&self.0, Sleepers::OfProcesses, u32::MAX);
        }

        /// Waits while the value is `seen`, at most so long. May return early.
        pub fn wait(&self, seen: u32, at_most: Duration) {
            // A changed word, an interruption and the time's end are as good as a wake-up: the caller
            // looks again.
            word::wait(&self.0, Sleepers::OfProcesses, seen, Some(at_most));
        }
    }
}

#[cfg(shuttle)]
mod shuttled {
    pub use shuttle::sync::atomic;

    /// Shuttle's threads.
    pub mod thread {
        pub use shuttle::thread::*;

        /// Always 0: all threads are one here, and are not distinguished.
        pub fn this_thread() -> usize {
            0
        }
    }

    use std::ops::{Deref, DerefMut};
    use std::time::{Duration, Instant};

    /// The mutex, scheduled by Shuttle.
    #[derive(Debug, Default)]
    pub struct Mutex<T>(shuttle::sync::Mutex<T>);

    /// Its guard; empty only while its owner waits at a condition variable.
    #[derive(Debug)]
    pub struct MutexGuard<'a, T>(Option<shuttle::sync::MutexGuard<'a, T>>);

    impl<T> Mutex<T> {
        /// A mutex that the models' scheduler knows.
        pub fn new(value: T) -> Self {
            Mutex(shuttle::sync::Mutex::new(value))
        }

        /// Waits for the mutex. Like the ordinary one it does not care how its last owner ended.
        pub fn lock(&self) -> MutexGuard<'_, T> {
            MutexGuard(Some(self.0.lock().unwrap_or_else(|e| e.into_inner())))
        }

        /// Takes the mutex if it is free.
        pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            match self.0.try_lock() {
                Ok(guard) => Some(MutexGuard(Some(guard))),
                Err(std::sync::TryLockError::Poisoned(e)) => Some(MutexGuard(Some(e.into_inner()))),
                Err(std::sync::TryLockError::WouldBlock) => None,
            }
        }

        /// Like [`Mutex::lock`]: there is no time here.
        pub fn lock_within(&self, _time: Duration) -> Option<MutexGuard<'_, T>> {
            Some(self.lock())
        }

        /// The mutex's value.
        pub fn into_inner(self) -> T {
            self.0.into_inner().unwrap_or_else(|e| e.into_inner())
        }
    }

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            self.0.as_ref().expect("not waiting")
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            self.0.as_mut().expect("not waiting")
        }
    }

    /// The condition variable, scheduled by Shuttle.
    #[derive(Debug, Default)]
    pub struct Condvar(shuttle::sync::Condvar);

    impl Condvar {
        /// A condition variable.
        pub fn new() -> Self {
            Self::default()
        }

        /// Releases the mutex and waits.
        pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
            let inner = guard.0.take().expect("not waiting");
            guard.0 = Some(self.0.wait(inner).unwrap_or_else(|e| e.into_inner()));
        }

        /// Like [`Condvar::wait`]: there is no time here, so the moment never comes.
        pub fn wait_until<T>(&self, guard: &mut MutexGuard<'_, T>, _until: Instant) {
            self.wait(guard);
        }

        /// Wakes one.
        pub fn notify_one(&self) {
            self.0.notify_one();
        }

        /// Wakes all.
        pub fn notify_all(&self) {
            self.0.notify_all();
        }
    }

    /// A word to park on: threads sleep as long as it has the value that they saw. The futex's
    /// promise, that the value is compared and the thread put to sleep in one step, is kept by a
    /// mutex.
    #[derive(Debug, Default)]
    pub struct ParkingWord {
        value: atomic::AtomicU32,
        sleep: Mutex<()>,
        woken: Condvar,
    }

    impl ParkingWord {
        /// The value now.
        pub fn value(&self) -> u32 {
            self.value.load(atomic::Ordering::SeqCst)
        }

        /// Changes the value, so that no thread parks on an earlier observation.
        pub fn change(&self) {
            self.value.fetch_add(1, atomic::Ordering::SeqCst);
        }

        /// Parks while the value is `seen`. May return early.
        pub fn park(&self, seen: u32) {
            let mut sleep = self.sleep.lock();
            if self.value() == seen {
                self.woken.wait(&mut sleep);
            }
        }

        /// Wakes everyone who is parked; call [`ParkingWord::change`] before.
        pub fn wake_all(&self) {
            drop(self.sleep.lock());
            self.woken.notify_all();
        }
    }

    /// A word that counts changes; here, of threads of one process. There is no time, so that a wait ends
    /// by a change alone.
    #[derive(Debug, Default)]
    pub struct ChangesWord(ParkingWord);

    impl ChangesWord {
        /// The changes so far.
        pub fn value(&self) -> u32 {
            self.0.value()
        }

        /// Counts a change, and wakes everyone who waits for one.
        pub fn change(&self) {
            self.0.change();
            self.0.wake_all();
        }

        /// Waits while the value is `seen`.
        pub fn wait(&self, seen: u32, _at_most: Duration) {
            self.0.park(seen);
        }
    }
}
