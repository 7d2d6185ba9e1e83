//! The processor time of threads: a measure that does not grow when other programs use the processors, too.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// The processor time that the calling thread has used.
pub fn processor_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}
