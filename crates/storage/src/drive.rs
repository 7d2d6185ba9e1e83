//! Who does the work between a sealed group and its acknowledgement, and the checkpoints.
//!
//! That work is a `step()`: it does one piece of what there is to do, and says whether there was any.
//! Either threads of the engine take steps, and sleep while there are none to take; or those who
//! call the database do, when they wait for something and when they are done, and what runs is a
//! function of the calls alone (I11). This is the only place where that is decided.

/// Who takes the steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Drive {
    /// Threads of the engine's own; a caller that waits may help them.
    #[default]
    Threads,
    /// Nobody but the callers.
    Callers,
}

impl Drive {
    /// Whether the engine has threads of its own.
    #[inline]
    pub fn has_threads(self) -> bool {
        self == Drive::Threads
    }
}
