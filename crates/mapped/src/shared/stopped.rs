//! Processes that are stopped while they hold something that all need: noticed at once, named, and not waited for without
//! end (I13). [`sardonyx_base::stopped`] has the reason for waiting at all.
//!
//! A waiting thread asks the system after a moment if the holder is stopped. If it is, the program's callback is
//! called. After the time that it chose, the wait ends in an error that names the process. Continuing (SIGCONT) or
//! killing (SIGKILL) that process frees the others.

use crate::error::SegmentError;
use sardonyx_base::stopped::StoppedProcesses;
use sardonyx_base::sync::futex::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A waiting thread asks after the holder so often.
pub(crate) const ASK_EVERY: Duration = Duration::from_millis(20);

/// A process that is stopped, and the lock that it holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct StoppedProcess {
    /// Its process id.
    pub process: u32,
    /// Its state as the system says: `T` (stopped) or `t` (by a debugger).
    pub state: char,
    /// The lock that it holds, in words.
    pub holds: &'static str,
    /// The time for which the waiting process has found it stopped, in milliseconds.
    pub milliseconds: u64,
}

impl From<StoppedProcess> for SegmentError {
    fn from(stopped: StoppedProcess) -> Self {
        SegmentError::ProcessStopped {
            process: stopped.process,
            state: stopped.state,
            holds: stopped.holds,
            seconds: stopped.milliseconds / 1000,
        }
    }
}

/// The callback for a stopped process that others wait for.
pub type StoppedCallback = Arc<dyn Fn(&StoppedProcess) + Send + Sync>;

/// The time to wait for a stopped process, and the callback.
#[derive(Clone)]
struct Policy {
    wait: Duration,
    told: Option<StoppedCallback>,
}

/// The waits of this process's threads for locks of other processes.
pub struct LockWaits {
    policy: Mutex<Policy>,
    met: AtomicU64,
}

impl std::fmt::Debug for LockWaits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LockWaits").finish_non_exhaustive()
    }
}

impl LockWaits {
    /// The least wait until the program has chosen one.
    pub(crate) const WAIT: Duration = Duration::from_secs(10);

    pub(crate) fn new() -> Self {
        LockWaits {
            policy: Mutex::new(Policy {
                wait: Self::WAIT,
                told: None,
            }),
            met: AtomicU64::new(0),
        }
    }

    pub(crate) fn set(&self, wait: Duration, told: Option<StoppedCallback>) {
        *self.policy.lock() = Policy { wait, told };
    }

    /// The number of times that a thread here had to wait for a stopped process.
    pub(crate) fn met(&self) -> u64 {
        self.met.load(Ordering::Relaxed)
    }
}

/// One wait for something that a process holds.
#[derive(Debug)]
pub(crate) struct Waiting<'a> {
    lock_waits: &'a LockWaits,
    holds: &'static str,
    /// When it was looked last. Not before there was something to wait for: a clock is not free.
    asked: Option<Instant>,
    found: StoppedProcesses,
}

impl<'a> Waiting<'a> {
    pub(crate) fn new(lock_waits: &'a LockWaits, holds: &'static str) -> Self {
        Waiting {
            lock_waits,
            holds,
            asked: None,
            found: StoppedProcesses::default(),
        }
    }

    /// Looks after the holder, unless that was done a moment ago. A waiting thread calls it again and again.
    ///
    /// # Errors
    /// It has been stopped for longer than the program wants to wait.
    pub(crate) fn look(&mut self, holder: impl FnOnce() -> u32) -> Result<(), StoppedProcess> {
        let asked = *self.asked.get_or_insert_with(Instant::now);
        if asked.elapsed() < ASK_EVERY {
            return Ok(());
        }
        self.asked = Some(Instant::now());
        let process = holder();
        self.found.retain(|other| other == process);
        let Some(found) = self.found.look(process) else {
            return Ok(());
        };
        let stopped = StoppedProcess {
            process,
            state: found.state,
            holds: self.holds,
            milliseconds: found.time.as_millis() as u64,
        };
        let policy = self.lock_waits.policy.lock().clone();
        if found.is_new {
            self.lock_waits.met.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(process, state = %found.state, holds = self.holds, "a process is stopped that others wait for");
            if let Some(told) = &policy.told {
                told(&stopped);
            }
        }
        match found.time >= policy.wait {
            true => Err(stopped),
            false => Ok(()),
        }
    }
}
