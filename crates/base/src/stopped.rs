//! Processes that are stopped (SIGSTOP, a debugger, a frozen job) while others wait for them: since when each was found so.
//!
//! Locks cannot be taken from a stopped process. It may be between any two instructions, and when it continues it writes as
//! it was about to, in spite of any successor (I12). A *dead* process never writes again, so what it held is given on. What
//! becomes of a stopped one is the caller's: it reports an error, or kills the process, after a time of its choice.
//!
//! A holder that runs is waited for as long as it takes.

use crate::process::stopped_state;
use std::time::{Duration, Instant};

/// The processes that were found stopped at each look, and since when.
#[derive(Debug, Default)]
pub struct StoppedProcesses(Vec<(u32, Instant)>);

/// The report of one look at a process that a signal or a debugger keeps from running.
#[derive(Clone, Copy, Debug)]
pub struct Stopped {
    /// Its state as the system says: `T` (stopped) or `t` (by a debugger).
    pub state: char,
    /// For how long each look has found it so.
    pub time: Duration,
    /// This is the first look that has.
    pub is_new: bool,
}

impl StoppedProcesses {
    /// Looks at a process. This one is never found stopped.
    pub fn look(&mut self, process: u32) -> Option<Stopped> {
        let known = self.0.iter().position(|(other, _)| *other == process);
        let state = (process != std::process::id())
            .then(|| stopped_state(process))
            .flatten();
        let Some(state) = state else {
            if let Some(known) = known {
                self.0.swap_remove(known);
            }
            return None;
        };
        if known.is_none() {
            self.0.push((process, Instant::now()));
        }
        Some(Stopped {
            state,
            time: known.map_or(Duration::ZERO, |known| self.0[known].1.elapsed()),
            is_new: known.is_none(),
        })
    }

    /// Forgets the others: the caller waits for them no more.
    pub fn retain(&mut self, waits_for: impl Fn(u32) -> bool) {
        self.0.retain(|(process, _)| waits_for(*process));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_stopped_is_known_and_one_that_runs_or_has_ended_is_not() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let (process, mut looks) = (child.id(), StoppedProcesses::default());
        assert!(looks.look(process).is_none());
        // SAFETY: sends a signal to a child of this test that was not waited for.
        unsafe { libc::kill(process as i32, libc::SIGSTOP) };
        let first = loop {
            match looks.look(process) {
                Some(stopped) => break stopped,
                None => std::thread::yield_now(),
            }
        };
        assert_eq!((first.state, first.is_new), ('T', true));
        assert_eq!(first.time, Duration::ZERO);
        let second = looks.look(process).unwrap();
        assert!(!second.is_new);
        assert!(looks.look(process).unwrap().time >= second.time);
        looks.retain(|other| other != process);
        assert!(looks.look(process).unwrap().is_new);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(looks.look(process).is_none() && looks.0.is_empty());
        assert!(looks.look(std::process::id()).is_none());
    }
}
