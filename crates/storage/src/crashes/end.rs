//! The end of a life: a fault of the disk, and the disk that the next life finds after it.

use crate::disk::{Faults, SimulatedDisk};

/// The end of a life. Steps and syncs of the disk count from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// By itself; then the machine loses its power.
    Cut,
    /// The machine crashes at this step.
    Crash(u64),
    /// The process is killed at this step; the machine goes on.
    Kill(u64),
    /// This sync fails, and the process ends; the machine goes on.
    FailedSync(u64),
    /// This sync fails, and then the machine crashes.
    FailedSyncThenCut(u64),
    /// This write fails, and then the machine crashes.
    FailedWrite(u64),
    /// From the first step on, and before the second one, the disk is full; then the machine crashes.
    Full(u64, u64),
}

impl End {
    /// The faults of the disk in the life that ends so.
    pub fn faults(self) -> Faults {
        let mut faults = Faults::default();
        match self {
            End::Cut => {}
            End::Crash(step) => faults.crash_at_step = Some(step),
            End::Kill(step) => faults.kill_at_step = Some(step),
            End::FailedSync(sync) | End::FailedSyncThenCut(sync) => {
                faults.fail_sync_at = Some(sync);
            }
            End::FailedWrite(write) => faults.fail_write_at = Some(write),
            End::Full(from, until) => faults.full_steps = Some((from, until)),
        }
        faults
    }

    /// True if the machine goes on, so that the next process finds everything that was written.
    pub fn is_of_the_process(self) -> bool {
        matches!(self, End::Kill(_) | End::FailedSync(_))
    }

    /// The disk of the life after this end, which itself ends by these faults.
    pub fn next(self, disk: &SimulatedDisk, faults: Faults) -> SimulatedDisk {
        match self.is_of_the_process() {
            true => disk.next_process(faults),
            false => disk.restart(faults),
        }
    }
}
