//! Processes that are stopped (SIGSTOP, a debugger, a frozen job) while they hold something that all
//! need: noticed at once, named, and not waited for without end (I13).
//!
//! Locks cannot be taken from a stopped process. It may be between any two instructions, and when it
//! continues it writes as it was about to, to the ring or to the log's file, in spite of any successor
//! (I12). A *dead* process never writes again, so what it held is given on at once. Therefore a waiting
//! thread asks the system after a moment if the holder is stopped. If it is, the program's callback is
//! called. After the time that it chose, the wait ends in an error that names the process, so that it can
//! be continued (SIGCONT) or killed (SIGKILL); either frees the others.
//!
//! A holder that runs is waited for as long as it takes.

use crate::error::SegmentError;
use sardonyx_base::process::Process;
use sardonyx_base::sync::futex::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A waiting thread asks after the holder so often.
pub(crate) const ASK_EVERY: Duration = Duration::from_millis(20);

/// A process that is stopped, and what it holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct StoppedProcess {
    /// Its process id.
    pub process: u32,
    /// Its state as the system says: `T` (stopped) or `t` (by a debugger).
    pub state: char,
    /// The lock that it holds, in words.
    pub holds: &'static str,
    /// For how long it has been found stopped by who waits, in milliseconds.
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
pub struct Patience {
    policy: Mutex<Policy>,
    met: AtomicU64,
}

impl std::fmt::Debug for Patience {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Patience").finish_non_exhaustive()
    }
}

impl Patience {
    /// The least until the program has said what it wants.
    pub(crate) const WAIT: Duration = Duration::from_secs(10);

    pub(crate) fn new() -> Self {
        Patience {
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
    patience: &'a Patience,
    holds: &'static str,
    /// When it was looked last. Not before there was something to wait for: a clock is not free.
    asked: Option<Instant>,
    /// The process that was found stopped, and since when.
    found: Option<(u32, Instant)>,
}

impl<'a> Waiting<'a> {
    pub(crate) fn new(patience: &'a Patience, holds: &'static str) -> Self {
        Waiting {
            patience,
            holds,
            asked: None,
            found: None,
        }
    }

    /// Looks after the holder, unless that was done a moment ago. Called again and again by who waits.
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
        let Some(state) = stopped_state(process) else {
            self.found = None;
            return Ok(());
        };
        let (since, first) = match self.found {
            Some((before, since)) if before == process => (since, false),
            _ => (Instant::now(), true),
        };
        self.found = Some((process, since));
        let stopped = StoppedProcess {
            process,
            state,
            holds: self.holds,
            milliseconds: since.elapsed().as_millis() as u64,
        };
        let policy = self.patience.policy.lock().clone();
        if first {
            self.patience.met.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(process, %state, holds = self.holds, "a process is stopped that others wait for");
            if let Some(told) = &policy.told {
                told(&stopped);
            }
        }
        match since.elapsed() >= policy.wait {
            true => Err(stopped),
            false => Ok(()),
        }
    }
}

/// This process' id. Asked of the system once: it is wanted whenever a lock is taken.
pub(crate) fn this_process() -> u32 {
    /// The asking process, as [`Process`] numbers them, and its id.
    static KNOWN: AtomicU64 = AtomicU64::new(0);
    let number = u64::from(Process::current().number());
    let known = KNOWN.load(Ordering::Relaxed);
    if known >> 32 == number {
        return known as u32;
    }
    let id = std::process::id();
    KNOWN.store(number << 32 | u64::from(id), Ordering::Relaxed);
    id
}

/// The state of another process that is stopped.
fn stopped_state(process: u32) -> Option<char> {
    match process == this_process() {
        true => None,
        false => sardonyx_base::process::stopped_state(process),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_stopped_is_known_and_one_that_runs_or_is_gone_is_not() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let process = child.id();
        assert_eq!(stopped_state(process), None);
        // SAFETY: sends a signal to a child of this test that was not waited for.
        unsafe { libc::kill(process as i32, libc::SIGSTOP) };
        while stopped_state(process).is_none() {
            std::thread::yield_now();
        }
        assert_eq!(stopped_state(process), Some('T'));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(stopped_state(process), None);
        assert_eq!(stopped_state(std::process::id()), None);
    }
}
