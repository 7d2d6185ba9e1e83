//! A log and its pen by themselves, without the engine: there are no checkpoints, so a full log stays full.

#![cfg_attr(
    shuttle,
    allow(dead_code, reason = "the Shuttle models use a part of it")
)]

pub mod held;
pub mod store;
pub mod watched;

use sardonyx_storage::checkpoint::{CheckpointInterval, CheckpointStage};
use sardonyx_storage::disk::Disk;
use sardonyx_storage::drive::Drive;
use sardonyx_storage::log::follow::Feed;
use sardonyx_storage::log::policy::{GroupLimits, GroupPolicy};
use sardonyx_storage::log::seal::Sequencer;
use sardonyx_storage::log::segment::Segments;
use sardonyx_storage::log::supply::{FreesLog, SegmentSupply};
use sardonyx_storage::log::writer::LogWriter;
use sardonyx_storage::log::{LogLayout, LogPosition, Lsn};
use sardonyx_storage::pen::Pen;
use std::sync::Arc;

/// Small segments.
pub const LAYOUT: LogLayout = LogLayout::new(5, 64 << 10);

/// The parameters of a log.
pub struct LogAlone {
    pub layout: LogLayout,
    pub policy: GroupPolicy,
    pub drive: Drive,
    pub depth: usize,
    pub buffers: usize,
    pub segments_max: u64,
    /// Segments that are prepared at first.
    pub prepared: u64,
    pub feeds: Vec<Arc<Feed>>,
    /// True if groups go to a copy elsewhere, too.
    pub is_copied: bool,
    /// True if a sync here is not waited for.
    pub is_synced_behind: bool,
}

impl Default for LogAlone {
    fn default() -> Self {
        LogAlone {
            layout: LAYOUT,
            policy: GroupPolicy::Adaptive,
            drive: Drive::Threads,
            depth: 1,
            buffers: 4,
            segments_max: 64,
            prepared: 2,
            feeds: Vec::new(),
            is_copied: false,
            is_synced_behind: false,
        }
    }
}

impl LogAlone {
    /// Begins the log on this disk. No thread is started, for any value of `drive`.
    pub fn pen<A>(self, disk: Arc<dyn Disk>, appender: A) -> Pen<A> {
        let segments = Segments::open(disk, self.layout, Lsn(0), self.segments_max);
        let segments = Arc::new(segments.expect("segments"));
        for _ in 0..self.prepared {
            segments.prepare_next().expect("room");
        }
        let supply = Arc::new(SegmentSupply::new(segments.clone(), self.drive));
        let limits = GroupLimits {
            group_bytes: 8 << 10,
            transaction_bytes: 1 << 10,
            depth: self.depth,
            buffers: self.buffers,
        };
        let interval = CheckpointInterval {
            bytes: u64::MAX,
            transactions: u64::MAX,
            follows_size: false,
        };
        let checkpoint = CheckpointStage::new(vec![], vec![], supply.clone(), interval, self.drive);
        let log = LogWriter::new(
            segments,
            supply,
            Sequencer::new(self.layout, 1, LogPosition::START),
            self.policy,
            limits,
            self.feeds,
            self.drive,
        );
        let log = match self.is_copied {
            true if self.is_synced_behind => log.with_remote_copy().synced_behind(),
            true => log.with_remote_copy(),
            false => log,
        };
        Pen::new(Arc::new(log), Arc::new(checkpoint), appender)
    }
}

/// No checkpoint can be had.
pub struct NoCheckpoints;

impl FreesLog for NoCheckpoints {
    fn want(&self, _: LogPosition) -> bool {
        false
    }
    fn obstacle(&self) -> Option<Arc<str>> {
        None
    }
}
