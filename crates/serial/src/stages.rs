//! The time spent in each stage, as in the TPK paper's section 4: without waiting for input.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A stage's busy time; counted per batch, so it costs two readings of the clock per batch.
#[derive(Debug, Default)]
pub struct StageTime(AtomicU64);

impl StageTime {
    /// Called when a batch is done, with the moment at which the stage took it.
    pub fn add_since(&self, started: Instant) {
        self.0
            .fetch_add(started.elapsed().as_nanos() as u64, Ordering::Relaxed);
    }

    /// The busy time so far.
    pub fn total(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }
}

/// The time that each stage has been busy since the database was opened. If a stage has several
/// threads, the sum over them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct StageTimes {
    /// Taking and checking requests.
    pub input: Duration,
    /// Running transactions.
    pub execution: Duration,
    /// Checksumming and writing commit groups, waiting for the disk included.
    pub logging: Duration,
    /// Giving results to clients.
    pub output: Duration,
    /// Installing changes into DB' and writing blocks.
    pub checkpoint: Duration,
}
