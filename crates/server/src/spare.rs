//! A second worker of the Redis clients' runtime, which sleeps until the first one is held by a write of the log.
//!
//! One thread serves Redis clients on few processors, and writes the log when it rests ([`crate::runtimes`]). A write that
//! hangs would stop all of these clients. Two workers that are both awake cost more than the commands they run, since the
//! runtime wakes the second one for half of them. So the second worker runs a task that only sleeps. A thread looks now and
//! then for a write that takes long. Then it wakes that worker, which serves clients until the write has ended.
//!
//! The runtime does not know that a worker sleeps, and may have given it other tasks before. A worker that has nothing to do
//! takes them over, but only if something wakes it. So the thread gives the runtime an empty task at each look. A worker that
//! is held at its rest counts as one that looks for tasks: then the runtime wakes no other one for a task of another
//! thread, such as an answer that is durable. So a timer wakes the awake worker, besides its clients.
//!
//! Invariants: at most one worker sleeps. While a worker writes for longer than [`HELD_MAX`], and a look, no worker sleeps;
//! after the write, one sleeps again. A server that ends wakes it.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;

/// A write that takes longer holds its worker.
const HELD_MAX: Duration = Duration::from_millis(100);
/// Between two looks for such a write.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);
/// Between two looks of the awake worker for tasks of other threads.
const BETWEEN_WAKES: Duration = Duration::from_millis(5);

/// The sleeping worker of a runtime.
#[derive(Debug, Default)]
pub struct Spare {
    state: Mutex<State>,
    changed: Condvar,
    /// Both workers serve clients. Changed under the lock of the state.
    is_awake: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    /// Since when a worker writes.
    writing: Option<Instant>,
    is_sleeping: bool,
    has_ended: bool,
}

/// A worker that writes.
struct Writes<'s> {
    spare: &'s Arc<Spare>,
    threads: Option<&'s Handle>,
}

impl Drop for Writes<'_> {
    fn drop(&mut self) {
        self.spare.written(self.threads);
    }
}

impl Spare {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a worker of a runtime sleep, and starts the thread that looks for writes.
    ///
    /// # Errors
    /// The system has no thread.
    pub fn start(self: &Arc<Self>, threads: &Handle) -> io::Result<()> {
        let (spare, handle) = (self.clone(), threads.clone());
        let thread = std::thread::Builder::new().name("sardonyx-spare".into());
        thread.spawn(move || spare.look(&handle))?;
        self.sleep_in(threads);
        Ok(())
    }

    fn sleep_in(self: &Arc<Self>, threads: &Handle) {
        let spare = self.clone();
        threads.spawn(async move {
            spare.sleep();
            while spare.is_awake() {
                tokio::time::sleep(BETWEEN_WAKES).await;
            }
        });
    }

    /// Sleeps on the calling worker.
    fn sleep(&self) {
        let mut state = self.state();
        // One that was woken may not have noticed before the write ended.
        if state.is_sleeping {
            return;
        }
        state.is_sleeping = true;
        while !self.is_awake() && !state.has_ended {
            state = (self.changed.wait(state)).unwrap_or_else(PoisonError::into_inner);
        }
        state.is_sleeping = false;
    }

    /// Looks for writes that hold their worker, until the server ends.
    fn look(&self, threads: &Handle) {
        let mut state = self.state();
        while !state.has_ended {
            if state
                .writing
                .is_some_and(|since| since.elapsed() > HELD_MAX)
            {
                self.is_awake.store(true, Ordering::Relaxed);
                self.changed.notify_all();
            }
            drop(state);
            threads.spawn(async {});
            let waited = self.changed.wait_timeout(self.state(), BETWEEN_LOOKS);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// True while both workers serve clients: then a worker leaves the log's groups to the logging threads.
    pub fn is_awake(&self) -> bool {
        self.is_awake.load(Ordering::Relaxed)
    }

    /// Writes on the calling worker, which is one of this runtime. If that took long, a worker sleeps again.
    pub fn write(self: &Arc<Self>, threads: Option<&Handle>, write: impl FnOnce()) {
        self.state().writing = Some(Instant::now());
        // Dropped also if it panics.
        let _writes = Writes {
            spare: self,
            threads,
        };
        write();
    }

    /// A write has ended.
    fn written(self: &Arc<Self>, threads: Option<&Handle>) {
        let mut state = self.state();
        state.writing = None;
        // From here on no look wakes the sleeper.
        if self.is_awake() && !state.has_ended {
            self.is_awake.store(false, Ordering::Relaxed);
            drop(state);
            if let Some(threads) = threads {
                self.sleep_in(threads);
            }
        }
    }

    /// The server ends: no worker sleeps from here on.
    pub fn end(&self) {
        self.state().has_ended = true;
        self.changed.notify_all();
    }
}
