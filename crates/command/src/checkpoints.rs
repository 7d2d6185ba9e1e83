//! The argument that names the source of a database's checkpoints.

use clap::ValueEnum;
use sardonyx::Checkpoints;

/// The value of `--checkpoints`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum CheckpointSource {
    /// A second copy of the data in memory.
    Copy,
    /// Snapshots of the pages, which take half of the memory.
    Snapshot,
}

impl From<CheckpointSource> for Checkpoints {
    fn from(source: CheckpointSource) -> Checkpoints {
        match source {
            CheckpointSource::Copy => Checkpoints::FromCopy,
            CheckpointSource::Snapshot => Checkpoints::FromSnapshots,
        }
    }
}
