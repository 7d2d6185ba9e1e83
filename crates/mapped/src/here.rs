//! The mark of a process that has a segment open, below the segments' states: each has one as its last field.

use sardonyx_base::process::Process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Says, when it is dropped, that everything of a process' state is closed: its last field.
#[derive(Debug)]
pub(crate) struct Here {
    pub process: Process,
    pub closed: Arc<AtomicBool>,
    /// Wakes the openings that wait for this.
    pub wake: fn(),
}

impl Drop for Here {
    fn drop(&mut self) {
        if self.process.is_current() {
            self.closed.store(true, Ordering::SeqCst);
            (self.wake)();
        }
    }
}
