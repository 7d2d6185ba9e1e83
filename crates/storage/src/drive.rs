//! The threads that do the work between a sealed group and its acknowledgement, and the checkpoints.
//!
//! That work is a `step()`: it does one piece of the waiting work, and returns true if there was any. Either threads
//! of the engine take steps, and sleep while there are none. Or the callers of the database take them, when they wait
//! for something and when they are done. The work is then a function of the calls alone (I11). This is the only place
//! where that is decided.

/// The threads that take the steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Drive {
    /// Threads of the engine's own; a caller that waits may help them.
    #[default]
    Threads,
    /// The callers alone.
    Callers,
}

impl Drive {
    /// True if the engine has threads of its own.
    #[inline]
    pub fn has_threads(self) -> bool {
        self == Drive::Threads
    }
}
