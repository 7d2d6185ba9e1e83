//! The time, as the copies use it: how long a copy is silent, and pauses. An exploration has another one.

use std::fmt::Debug;
use std::time::{Duration, Instant};

/// A clock that never goes back, and pauses.
pub(super) trait Time: Send + Sync + Debug {
    fn elapsed(&self) -> Duration;
    fn pause(&self, time: Duration);
}

#[derive(Debug)]
pub(super) struct SystemTime(pub Instant);

impl Time for SystemTime {
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    fn pause(&self, time: Duration) {
        std::thread::sleep(time);
    }
}

/// The times that are waited.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// A copy that has given no answer to a write for so long is left out.
    pub write: Duration,
    /// The same for reads, of a process that does not write: the one that does is to be first.
    pub read: Duration,
    /// Between two attempts.
    pub pause: Duration,
}
