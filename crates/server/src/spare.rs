//! A second worker of the Redis clients' runtime, which sleeps until the first one is held by a write of the log.
//!
//! One thread serves Redis clients on few processors, and writes the log when it rests ([`crate::runtimes`]). A write that
//! hangs would stop all of these clients. Two workers that are both awake cost more than the commands they run, since the
//! runtime wakes the second one for half of them. So the second worker runs a task that only sleeps, and looks now and then
//! for a write that takes long. Then the task ends, and the worker serves clients until the write has ended.
//!
//! Invariants: while a worker writes for longer than [`HELD_MAX`], and a look, another one serves. After the write, one of
//! them sleeps again. A server that ends wakes the sleeper.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;

/// A write that takes longer holds its worker.
const HELD_MAX: Duration = Duration::from_millis(100);
/// Between two looks for such a write.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// The sleeping worker of a runtime.
#[derive(Debug, Default)]
pub struct Spare {
    state: Mutex<State>,
    ends: Condvar,
    /// The other worker serves clients. Changed under the lock of the state.
    is_awake: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    /// Since when a worker writes.
    writing: Option<Instant>,
    has_ended: bool,
}

impl Spare {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a worker of a runtime sleep.
    pub fn sleep_in(self: &Arc<Self>, threads: &Handle) {
        let spare = self.clone();
        threads.spawn(async move { spare.sleep() });
    }

    /// Sleeps on the calling thread until another worker is held by a write, or until the server ends.
    fn sleep(&self) {
        let mut state = self.state();
        loop {
            let is_held = state.writing.is_some_and(|since| since.elapsed() > HELD_MAX);
            if is_held || state.has_ended {
                self.is_awake.store(true, Ordering::Relaxed);
                return;
            }
            let woken = self.ends.wait_timeout(state, BETWEEN_LOOKS);
            (state, _) = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// True while both workers serve clients: then a worker leaves the log's groups to the logging threads.
    pub fn is_awake(&self) -> bool {
        self.is_awake.load(Ordering::Relaxed)
    }

    /// Writes on the calling worker, which is one of this runtime. If that took long, a worker sleeps again.
    pub fn write(self: &Arc<Self>, threads: Option<&Handle>, write: impl FnOnce()) {
        self.state().writing = Some(Instant::now());
        write();
        let mut state = self.state();
        state.writing = None;
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
        self.ends.notify_all();
    }
}
