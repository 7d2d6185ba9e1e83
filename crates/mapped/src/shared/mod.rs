//! What the processes on a segment share: its memory, the ring of redo records, who is there.

pub mod backing;
pub mod control;
pub mod region;
pub mod ring;
pub mod robust;
pub mod spill;
pub mod stopped;
pub mod versions;
