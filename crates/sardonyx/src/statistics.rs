//! The statistics of an open database.

use sardonyx_serial::StageTimes;
use sardonyx_storage::checkpoint::CheckpointTotals;
use sardonyx_storage::log::statistics::LogStatistics;

/// Statistics since the database was opened. Each number is right; together they are not of one moment.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Statistics {
    /// Transactions committed, that changed something.
    pub committed: u64,
    /// Repetitions of transactions, after a conflict or a deadlock.
    pub run_again: u64,
    /// The logging stage. Of memory nothing: it is shared with other processes.
    pub log: LogStatistics,
    /// The checkpointing stage. Of memory nothing, as above.
    pub checkpoint: CheckpointTotals,
    /// The time that each stage was busy: of tables.
    pub stages: StageTimes,
    /// Statistics of memory only.
    #[cfg(feature = "memory")]
    pub memory: sardonyx_mapped::Statistics,
    /// Statistics of operations only.
    #[cfg(feature = "operations")]
    pub operations: sardonyx_multilevel::Statistics,
}
