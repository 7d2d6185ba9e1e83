//! The clock of leases. It goes on while the machine sleeps, as other hosts' clocks do; [`Instant`] does not. A host that
//! wakes up would take its lease for alive, hours after another one took over.

use rustix::time::{ClockId, clock_gettime};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// This moment; only to be compared with others of this clock.
pub(super) fn now() -> Instant {
    static START: OnceLock<(Instant, Duration)> = OnceLock::new();
    let (start, at_start) = *START.get_or_init(|| (Instant::now(), since_boot()));
    start + since_boot().saturating_sub(at_start)
}

/// The time since the machine was started, sleep included.
fn since_boot() -> Duration {
    let time = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}
