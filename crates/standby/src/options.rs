//! How a standby works. The database's own shape (segments, blocks, stripes, journals) is the
//! primary's.

use sardonyx_storage::engine::StorageOptions;
use std::time::Duration;

/// How a standby works.
#[derive(Clone, Debug)]
pub struct StandbyOptions {
    pub(crate) log_bytes_max: u64,
    pub(crate) checkpoint_interval_bytes: Option<u64>,
    pub(crate) memory_bytes_max: u64,
    pub(crate) workers: usize,
    pub(crate) report_interval: Duration,
    /// Whether the checkpoints have threads of their own. Only tests go without.
    pub(crate) threaded: bool,
}

impl Default for StandbyOptions {
    fn default() -> Self {
        StandbyOptions {
            log_bytes_max: 2 << 30,
            checkpoint_interval_bytes: None,
            memory_bytes_max: 1 << 40,
            workers: std::thread::available_parallelism().map_or(1, usize::from),
            report_interval: Duration::from_millis(100),
            threaded: true,
        }
    }
}

impl StandbyOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// How its storage is opened.
    pub(crate) fn storage(&self) -> StorageOptions {
        // More than half of the log would leave no room for what comes while one is written.
        let longest = self.log_bytes_max / 2;
        StorageOptions {
            log_bytes_max: self.log_bytes_max,
            checkpoint_interval_bytes: self.checkpoint_interval_bytes.map(|it| it.min(longest)),
            memory_bytes_max: self.memory_bytes_max,
            workers: self.workers,
            threaded: self.threaded,
            ..StorageOptions::default()
        }
    }

    /// The most bytes of log on the standby's disk (default 2 GiB); at least four segments of the
    /// primary's.
    pub fn log_bytes_max(mut self, bytes: u64) -> Self {
        self.log_bytes_max = bytes;
        self
    }

    /// A checkpoint begins after so many bytes of log (default: three eighths of the log; never
    /// more than half of it).
    pub fn checkpoint_interval_bytes(mut self, bytes: u64) -> Self {
        self.checkpoint_interval_bytes = Some(bytes);
        self
    }

    /// The most bytes of pages in memory (default 1 TiB of address space).
    pub fn memory_bytes_max(mut self, bytes: u64) -> Self {
        self.memory_bytes_max = bytes;
        self
    }

    /// Threads for recovery (default: one for each processor).
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers.max(1);
        self
    }

    /// How often the standby looks whether there is something to report that did not follow from a
    /// received group, such as a completed checkpoint (default 100 ms).
    pub fn report_interval(mut self, interval: Duration) -> Self {
        self.report_interval = interval.max(Duration::from_millis(1));
        self
    }
}
