//! The shared parts of the processes on a segment: its memory, the ring of redo records, the
//! processes' places.

pub mod backing;
pub mod control;
pub mod region;
pub mod ring;
pub mod spill;
pub mod stopped;
pub mod versions;
