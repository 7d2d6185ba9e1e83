//! The clock of leases and ages. It goes on while the machine sleeps, as other hosts' clocks do; [`Instant`] does not. A host
//! that wakes up would take its lease for alive, hours after another one took over, and old rows for new ones.

use rustix::time::{ClockId, clock_gettime};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// This moment; only to be compared with others of this clock.
pub(crate) fn now() -> Instant {
    static START: OnceLock<(Instant, Duration)> = OnceLock::new();
    let (start, at_start) = *START.get_or_init(|| (Instant::now(), since_boot()));
    start + since_boot().saturating_sub(at_start)
}

/// A moment by both clocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Moment {
    /// The moment itself, not its age.
    pub at: Instant,
    since_boot: Instant,
}

impl Moment {
    /// This moment, or one a moment before it.
    pub fn now() -> Moment {
        Moment {
            since_boot: now(),
            at: Instant::now(),
        }
    }

    /// The time since then, also that during which the machine slept.
    pub fn age(&self) -> Duration {
        now().saturating_duration_since(self.since_boot)
    }
}

/// The time since the machine was started, sleep included.
fn since_boot() -> Duration {
    let time = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}
