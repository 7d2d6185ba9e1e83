//! The time that passes: of the machine, or of a test that lets it pass.

use std::time::{Duration, Instant};

/// A clock that began when the run did.
pub trait Clock {
    /// The time since the beginning.
    fn now(&self) -> Duration;

    /// Lets time pass until then; not before.
    fn wait_until(&self, time: Duration);
}

/// The machine's.
#[derive(Clone, Copy, Debug)]
pub struct WallClock {
    began: Instant,
}

impl WallClock {
    /// A clock that begins at this moment.
    pub fn since(began: Instant) -> Self {
        WallClock { began }
    }
}

impl Clock for WallClock {
    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    fn wait_until(&self, time: Duration) {
        let left = time.saturating_sub(self.began.elapsed());
        if !left.is_zero() {
            // Not awake meanwhile: the processors are the engine's.
            std::thread::sleep(left);
        }
    }
}
