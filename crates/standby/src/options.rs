//! How a standby works. The database's own shape (segments, blocks, stripes, journals) is the
//! primary's.

use sardonyx_base::token::Token;
use sardonyx_base::transport::Transport;
use sardonyx_storage::disk::DIRECT_ALIGNMENT;
use sardonyx_storage::engine::{OpenError, StorageOptions};
use sardonyx_storage::places::Directories;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How a standby works.
#[derive(Clone, Debug)]
pub struct StandbyOptions {
    pub(crate) log_bytes_max: u64,
    pub(crate) checkpoint_interval_bytes: Option<u64>,
    pub(crate) memory_bytes_max: u64,
    pub(crate) workers: usize,
    pub(crate) report_interval: Duration,
    pub(crate) wait_for_lock: Duration,
    pub(crate) token: Option<Token>,
    /// `None`: TCP as it is.
    pub(crate) transport: Option<Arc<dyn Transport>>,
    pub(crate) directories: Directories,
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
            wait_for_lock: Duration::ZERO,
            token: None,
            transport: None,
            directories: Directories::default(),
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
            directories: self.directories.clone(),
            ..StorageOptions::default()
        }
    }

    /// Refuses what works with no primary, before a directory is made.
    pub(crate) fn check(&self) -> Result<(), OpenError> {
        let least = 4 * DIRECT_ALIGNMENT as u64;
        if self.log_bytes_max < least {
            return Err(OpenError::Option {
                option: "log_bytes_max",
                value: self.log_bytes_max,
                requirement: "at least four segments of the primary's log, of which the shortest have 4096 \
                              bytes and the usual ones 64 MiB",
            });
        }
        if self.checkpoint_interval_bytes == Some(0) {
            return Err(OpenError::Option {
                option: "checkpoint_interval_bytes",
                value: 0,
                requirement: "at least 1 byte of log",
            });
        }
        // How many stripes there are the primary says.
        Ok(self.directories.check(u32::MAX)?)
    }

    /// Where the standby's log and backup are to be, all at once.
    pub fn directories(mut self, directories: Directories) -> Self {
        self.directories = directories;
        self
    }

    /// Where the standby's log is to be, if not in its own directory, or where it was moved to; see
    /// [`sardonyx_storage::places::Directories`].
    pub fn log_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directories.log = Some(directory.into());
        self
    }

    /// Where the standby's backup is to be, if not in its own directory, or where it was moved to.
    pub fn backup_directory(self, directory: impl Into<PathBuf>) -> Self {
        self.stripe_directories([directory])
    }

    /// Where the stripes of the standby's backup are to be, if not in its own directory, or where they were
    /// moved to: stripe `k` in number `k` modulo their count, which is at most that of the primary's stripes.
    pub fn stripe_directories(
        mut self,
        directories: impl IntoIterator<Item = impl Into<PathBuf>>,
    ) -> Self {
        self.directories.backup = directories.into_iter().map(Into::into).collect();
        self
    }

    /// Only a primary that has this token is served; one that has a token is not served without (default
    /// none).
    pub fn token(mut self, token: Token) -> Self {
        self.token = Some(token);
        self
    }

    /// What primaries' connections are made of, such as TLS (default: TCP as it is, which others can read).
    pub fn transport(mut self, transport: Arc<dyn Transport>) -> Self {
        self.transport = Some(transport);
        self
    }

    /// For how long an opening waits while others have the directory open (default: not at all).
    pub fn wait_for_lock(mut self, wait: Duration) -> Self {
        self.wait_for_lock = wait;
        self
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
