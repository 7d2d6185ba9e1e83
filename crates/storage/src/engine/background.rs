//! The work behind an open log, the same for every writer: the supply of segments, and the checkpoints
//! that follow the log and free it. Assembled once, here; its steps are driven by threads of its own, or
//! by committing callers.

use super::StorageOptions;
use super::opening::needed_from;
use crate::checkpoint::{CheckpointPlace, CheckpointStage, Checkpointer};
use crate::disk::Disk;
use crate::drive::Drive;
use crate::log::follow::Feed;
use crate::log::pool::{BufferPool, DurableGroup};
use crate::log::seal::SealedGroup;
use crate::log::segment::Segments;
use crate::log::supply::SegmentSupply;
use crate::log::{LogError, LogPosition};
use crate::manifest::Manifest;
use crate::supervisor::Threads;
use std::sync::Arc;

/// Groups in memory at once: received or read, or waiting for the checkpointers.
const BUFFERS_MAX: usize = 24;

/// Buffers of groups of about this length are kept for the next ones.
const BUFFER_BYTES: usize = 1 << 20;

/// The supply of segments and the checkpoints of an open database.
#[derive(Clone, Debug)]
pub(super) struct Background {
    pub segments: Arc<Segments>,
    pub supply: Arc<SegmentSupply>,
    /// One for each stripe.
    pub feeds: Vec<Arc<Feed>>,
    pub stage: Arc<CheckpointStage>,
    /// The threads that take the steps.
    drive: Drive,
}

impl Background {
    /// Assembles the parts that work behind a log that is needed from a place on, and of which the checkpointers have
    /// everything.
    pub fn assemble(
        disk: &Arc<dyn Disk>,
        manifest: &Manifest,
        options: &StorageOptions,
        checkpointers: Vec<Checkpointer>,
        log_needed_from: LogPosition,
    ) -> Result<Background, LogError> {
        let (layout, drive) = (manifest.log_layout(), options.drive());
        let segments_max = options.segments_max(layout);
        let segments = Segments::open(disk.clone(), layout, log_needed_from.lsn, segments_max)?;
        let segments = Arc::new(segments.first_bytes(options.log_bytes_first));
        let supply = Arc::new(SegmentSupply::new(segments.clone(), drive));
        let feeds: Vec<Arc<Feed>> = checkpointers.iter().map(|_| Arc::default()).collect();
        let stage = match &options.checkpoint {
            CheckpointPlace::Local => {
                let interval = options.checkpoint_interval(layout);
                let (feeds, supply) = (feeds.clone(), supply.clone());
                CheckpointStage::new(checkpointers, feeds, supply, interval, drive)
            }
            CheckpointPlace::Followers => {
                CheckpointStage::left_to_followers(log_needed_from, supply.clone())
            }
        };
        Ok(Background {
            segments,
            supply,
            feeds,
            stage: Arc::new(stage),
            drive,
        })
    }

    /// The same for checkpointers that take over at `end`.
    #[inline]
    pub fn take_over(
        disk: &Arc<dyn Disk>,
        manifest: &Manifest,
        options: &StorageOptions,
        checkpointers: Vec<Checkpointer>,
        end: LogPosition,
    ) -> Result<Background, LogError> {
        let needed = needed_from(&checkpointers, end);
        Self::assemble(disk, manifest, options, checkpointers, needed)
    }

    /// The threads that take the steps.
    pub fn drive(&self) -> Drive {
        self.drive
    }

    /// Starts the threads, if it has some.
    pub fn start(&self, threads: &mut Threads) {
        if self.drive.has_threads() {
            let (supply, stage) = (self.supply.clone(), self.stage.clone());
            threads.spawn("log-supply", move || supply.run(&*stage));
            self.start_checkpoints(threads);
        }
    }

    /// Starts the threads of the checkpoints, one for each stripe, if it has some.
    pub fn start_checkpoints(&self, threads: &mut Threads) {
        for stripe in 0..self.stage.stripes() {
            if self.drive.has_threads() {
                let stage = self.stage.clone();
                threads.spawn(format!("checkpoint-{stripe}"), move || stage.run(stripe));
            }
        }
    }

    /// Without threads: does the waiting work for the checkpoints, a block at most.
    pub fn step(&self) {
        self.stage.callers_step();
    }

    /// A pool for groups that are received or read, and then given to the checkpoints.
    #[inline]
    pub fn pool(&self) -> Arc<BufferPool> {
        // A thread that needs a buffer waits for it, so no callback is needed.
        let buffers_max = self.drive.has_threads().then_some(BUFFERS_MAX);
        Arc::new(BufferPool::new(BUFFER_BYTES, buffers_max, || {}))
    }

    /// Gives a durable group to the checkpoints.
    #[inline]
    pub fn feed(&self, group: SealedGroup, pool: &Arc<BufferPool>) {
        let group = Arc::new(DurableGroup::new(group, pool.clone()));
        self.feeds.iter().for_each(|feed| feed.push(group.clone()));
    }

    /// Has the threads end; the groups that the checkpoints were given are still applied.
    #[inline]
    pub fn close(&self) {
        self.supply.close();
        self.stage.close();
    }
}
