//! The locks of a segment, taken in the name of this process, and the waits for them: see
//! [`named_lock`](sardonyx_base::named_lock).
//!
//! A name is a process' place and how many had it before. A process counts its place up when it has the file lock on it, and
//! before it takes any other lock. So a name that is found in a lock is that of a process that lives, or of one that died
//! with it.

use super::Region;
use crate::shared::backing::{holder, place};
use crate::shared::control::{PROCESSES, Process};
use crate::shared::stopped::{StoppedProcess, Waiting};
use sardonyx_base::named_lock::{Got, NAMES, NamedLock};
use sardonyx_base::process::start_of;
use std::sync::atomic::Ordering;

/// Bits of a name with the place, plus one.
const PLACE_BITS: u32 = 9;
const _: () = assert!(PROCESSES < 1 << PLACE_BITS);

/// The lives of a place that are distinguished.
const LIVES: u32 = NAMES >> PLACE_BITS;

/// Locks.
impl Region {
    /// Takes the name of a place on which this process has the lock.
    pub(super) fn take_name(&mut self, n: usize) {
        let life = &self.control().processes[n].life;
        let life = life.fetch_add(1, Ordering::SeqCst).wrapping_add(1);
        self.name = (life % LIVES) << PLACE_BITS | (n as u32 + 1);
    }

    /// This process' name.
    #[inline]
    pub(crate) fn name(&self) -> u32 {
        self.name
    }

    /// False if the process of a name has died, or has left.
    pub(crate) fn lives(&self, name: u32) -> bool {
        if name == self.name {
            return true;
        }
        let found = place_of(name).and_then(|n| Some((n, self.control().processes.get(n)?)));
        found.is_some_and(|(n, process)| {
            process.life.load(Ordering::SeqCst) % LIVES == name >> PLACE_BITS
                && (holder(&self.file, place(n)).is_some() || runs(process))
        })
    }

    /// The process that holds a lock, by its id; 0 if none does.
    pub(crate) fn holder_of(&self, lock: &NamedLock) -> u32 {
        let name = lock.holder();
        let process = match name {
            Some(name) if name == self.name => Some(std::process::id()),
            name => name
                .and_then(place_of)
                .and_then(|n| holder(&self.file, place(n))),
        };
        process.unwrap_or(0)
    }

    /// Takes a lock if it is free, or its holder is dead.
    pub(crate) fn try_lock(&self, lock: &NamedLock) -> Option<Got> {
        lock.try_inherit(self.name, |name| self.lives(name))
    }

    /// Takes a lock unless that takes longer than about a millisecond.
    pub(crate) fn lock_soon(&self, lock: &NamedLock) -> Option<Got> {
        lock.lock_soon(self.name, |name| self.lives(name))
    }

    /// Takes a lock; `holds` says in words what it is. If the process that holds it is stopped, the program's callback is
    /// called.
    ///
    /// # Errors
    /// That process has been stopped for longer than the program wants to wait.
    pub(crate) fn lock(
        &self,
        lock: &NamedLock,
        holds: &'static str,
    ) -> Result<Got, StoppedProcess> {
        self.lock_waiting(lock, holds, || Ok(()))
    }

    /// As [`lock`](Self::lock). While it waits, it calls `waiting` again and again, at first as soon as it sleeps for
    /// longer.
    ///
    /// # Errors
    /// The errors of `lock`, and of `waiting`; the lock is not taken then.
    pub(crate) fn lock_waiting<E: From<StoppedProcess>>(
        &self,
        lock: &NamedLock,
        holds: &'static str,
        mut waiting: impl FnMut() -> Result<(), E>,
    ) -> Result<Got, E> {
        if let Some(got) = self.lock_soon(lock) {
            return Ok(got);
        }
        let mut stopped = Waiting::new(self.lock_waits(), holds);
        loop {
            waiting()?;
            if let Some(got) = lock.lock_within(self.name, |name| self.lives(name)) {
                return Ok(got);
            }
            stopped.look(|| self.holder_of(lock))?;
        }
    }
}

/// True if the process of a place runs, although it may have lost the file lock: the system drops that when the process
/// closes any descriptor of the file. In another namespace of ids the process is not found, and the file lock alone counts.
fn runs(process: &Process) -> bool {
    let start = process.start.load(Ordering::SeqCst);
    start != 0 && start_of(process.pid.load(Ordering::SeqCst)) == Some(start)
}

fn place_of(name: u32) -> Option<usize> {
    (name % (1 << PLACE_BITS))
        .checked_sub(1)
        .map(|n| n as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, AtomicU64};

    #[test]
    fn i9_a_process_that_runs_is_found_without_its_file_lock_and_another_of_its_id_is_not() {
        let own = std::process::id();
        let began = start_of(own).expect("this process runs");
        let place = |pid, start| Process {
            pid: AtomicU32::new(pid),
            life: AtomicU32::new(1),
            start: AtomicU64::new(start),
        };
        assert!(runs(&place(own, began)));
        assert!(!runs(&place(own, began + 1)), "an id that is used again");
        assert!(!runs(&place(own, 0)), "a start that is not known");
        assert!(!runs(&place(0, began)), "a place that was left");
        let mut child = std::process::Command::new("true").spawn().expect("a child");
        child.wait().expect("it ends");
        assert!(!runs(&place(child.id(), began)));
    }
}
