//! The processes on a shared memory: the living, the dead, and the slots that they hold for their sessions.
//!
//! A process holds an advisory lock on its place for as long as it lives; the kernel gives the lock back
//! however the process ends. A process that takes the lock on a place, or sees that it is free, buries the
//! earlier holder. With the place it has a name, by which it takes the segment's other locks. Slots are given out under
//! the lock on the segment's growth.

use super::Region;
use crate::error::SegmentError;
use crate::planted::{self, Step};
use crate::shared::backing::{holder, place, take};
use crate::shared::control::{IDLE, PROCESSES, Process, SLOTS, Slot};
use sardonyx_base::process::start_of;
use std::sync::atomic::Ordering;

/// Processes and slots.
impl Region {
    /// Takes a place among the processes.
    pub(super) fn register(&mut self) -> Result<(), SegmentError> {
        let found = (0..PROCESSES).find(|n| self.lock_place(*n));
        let n = found.ok_or(SegmentError::TooMany {
            what: "processes",
            limit: PROCESSES,
        })?;
        self.take_name(n);
        self.lock_growth()?;
        let control = self.control();
        // The earlier holder of the place is dead, since the lock on it was free. Another process may have been about to
        // bury it, so that this one is there only when it has the lock.
        self.bury(n);
        let process = std::process::id();
        let start = start_of(process).unwrap_or(0);
        control.processes[n].start.store(start, Ordering::SeqCst);
        control.processes[n].pid.store(process, Ordering::SeqCst);
        planted::step(Step::ProcessRegistered);
        control.growth.unlock();
        self.process = n;
        Ok(())
    }

    /// Takes the advisory lock on a process' place, which goes with the process. It belongs to the
    /// process and not to the open file, so that a forked child does not keep it alive.
    fn lock_place(&self, n: usize) -> bool {
        // A second region on the same file in this process would be granted the lock, too.
        let free = self.process_is_gone(n)
            && self.control().processes[n].pid.load(Ordering::SeqCst) != std::process::id();
        free && take(&self.file, place(n))
    }

    /// True if no process holds this place. (One's own locks are not seen.)
    fn process_is_gone(&self, n: usize) -> bool {
        holder(&self.file, place(n)).is_none()
    }

    /// Frees the slots of an ended process.
    pub(super) fn bury(&self, n: usize) -> bool {
        let control = self.control();
        let mut found = false;
        for slot in control.slots.iter() {
            if slot.process.load(Ordering::SeqCst) == n as u32 + 1 {
                found = true;
                slot.snapshot.store(IDLE, Ordering::SeqCst);
                slot.process.store(0, Ordering::SeqCst);
                planted::step(Step::Burying);
            }
        }
        control.processes[n].pid.store(0, Ordering::SeqCst);
        found
    }

    /// Looks for processes that died and frees their locks and slots. True if one was found. If another process is at
    /// it, or was stopped at it, that is left to the next time.
    pub fn bury_the_dead(&self) -> bool {
        let control = self.control();
        if self.lock_soon(&control.growth).is_none() {
            return false;
        }
        let mut found = false;
        for (n, process) in control.processes.iter().enumerate() {
            let dead = n != self.process
                && process.pid.load(Ordering::SeqCst) != 0
                && self.process_is_gone(n);
            if dead {
                found |= self.bury(n);
            }
        }
        control.growth.unlock();
        found
    }

    /// The process that a slot belongs to.
    pub fn process_of(&self, slot: usize) -> u32 {
        let place = self.control().slots[slot].process.load(Ordering::Relaxed) as usize;
        let process = |n: usize| self.control().processes.get(n);
        let process: Option<&Process> = place.checked_sub(1).and_then(process);
        process.map_or(0, |process| process.pid.load(Ordering::Relaxed))
    }

    /// Gives a slot out.
    pub fn take_slot(&self) -> Result<usize, SegmentError> {
        let control = self.control();
        self.lock_growth()?;
        let free = |slot: &Slot| slot.process.load(Ordering::SeqCst) == 0;
        let found = control.slots.iter().position(free);
        if let Some(n) = found {
            let slot = &control.slots[n];
            slot.snapshot.store(IDLE, Ordering::SeqCst);
            slot.generation.fetch_add(1, Ordering::SeqCst);
            planted::step(Step::SlotCounted);
            slot.process
                .store(self.process as u32 + 1, Ordering::SeqCst);
            control.slots_used.fetch_max(n as u32 + 1, Ordering::SeqCst);
            planted::step(Step::SlotTaken);
        }
        control.growth.unlock();
        found.ok_or(SegmentError::TooMany {
            what: "sessions",
            limit: SLOTS,
        })
    }

    /// Takes a slot back.
    pub fn free_slot(&self, n: usize) {
        let slot = &self.control().slots[n];
        slot.snapshot.store(IDLE, Ordering::SeqCst);
        slot.process.store(0, Ordering::SeqCst);
    }

    /// This process has done with it, except for unmapping it: from now on it does not count as another one. Several
    /// may leave at the same moment. Each one says so first, and then looks for others, so one of them finds that there
    /// is none.
    pub fn leave(&self) {
        let control = self.control();
        control.processes[self.process]
            .pid
            .store(0, Ordering::SeqCst);
    }

    /// True if another process is on it that has not [left](Region::leave).
    pub fn has_others(&self) -> bool {
        let control = self.control();
        (0..PROCESSES).any(|n| {
            n != self.process
                && control.processes[n].pid.load(Ordering::SeqCst) != 0
                && !self.process_is_gone(n)
        })
    }
}
