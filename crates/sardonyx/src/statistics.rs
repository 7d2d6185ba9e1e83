//! What an open database did, in numbers.

use sardonyx_serial::StageTimes;
use sardonyx_storage::checkpoint::CheckpointTotals;
use sardonyx_storage::log::statistics::LogStatistics;

/// What was done since the database was opened. Each number is right; together they are not one moment's.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Statistics {
    /// Transactions committed, that changed something.
    pub committed: u64,
    /// Times that one was run again, after a conflict or a deadlock.
    pub run_again: u64,
    /// The logging stage. Of memory nothing: it is shared with other processes.
    pub log: LogStatistics,
    /// The checkpointing stage. Of memory nothing, as above.
    pub checkpoint: CheckpointTotals,
    /// The time that each stage was busy: of tables.
    pub stages: StageTimes,
    /// What only memory counts.
    #[cfg(feature = "memory")]
    pub memory: sardonyx_mapped::Statistics,
    /// What only operations count.
    #[cfg(feature = "operations")]
    pub operations: sardonyx_multilevel::Statistics,
}
