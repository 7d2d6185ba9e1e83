//! Processes that are stopped (SIGSTOP, a debugger, a frozen job) while others wait: fenced, never robbed.
//!
//! [`sardonyx_base::stopped`] says why locks cannot be taken from a stopped process. So it is killed, after the time that
//! was chosen ([`NodeOptions::stopped_process_wait`](super::NodeOptions::stopped_process_wait)), and is then dead as any
//! other. The signal goes to its pidfd, so that it can meet no other process that was given the same number.
//!
//! The waits of single transactions are not looked up. A node seems to wait for a stopped one if some transaction of
//! its own has waited at every look since then. Such a wait is for a lock, the log or a recovery.

use rustix::process::{Signal, pidfd_send_signal};
use sardonyx_base::stopped::StoppedProcesses;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// The processes that were found stopped, and since when.
#[derive(Debug)]
pub(super) struct Fence {
    wait: Duration,
    found: StoppedProcesses,
}

impl Fence {
    pub fn new(wait: Duration) -> Self {
        Fence {
            wait,
            found: StoppedProcesses::default(),
        }
    }

    /// Looks which of the processes are stopped, and kills one that has been for too long. `waits`: some transaction
    /// here waits.
    pub fn look(&mut self, processes: &[(u32, OwnedFd)], waits: bool) {
        let is_there = |process: u32| processes.iter().any(|(other, _)| *other == process);
        self.found.retain(|process| waits && is_there(process));
        if !waits {
            return;
        }
        for (process, handle) in processes {
            let Some(found) = self.found.look(*process) else {
                continue;
            };
            if found.is_new {
                tracing::warn!(process, state = %found.state, "a node's process is stopped while this one waits");
            } else if found.time >= self.wait {
                let killed = pidfd_send_signal(handle, Signal::KILL);
                tracing::warn!(process, ?killed, "a stopped node's process is killed");
            }
        }
    }
}
