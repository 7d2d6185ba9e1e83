//! The time: of the machine, or of a test that advances it.

use std::time::{Duration, Instant};

/// A clock that starts with the run.
pub trait Clock {
    /// The time since the beginning.
    fn now(&self) -> Duration;

    /// Waits until this time, and not less.
    fn wait_until(&self, time: Duration);
}

/// The machine's clock.
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
            // Asleep meanwhile: the processors are the engine's.
            std::thread::sleep(left);
        }
    }
}
