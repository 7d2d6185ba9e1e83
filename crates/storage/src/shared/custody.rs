//! The custody of a shared database: what one process at a time does for all. It prepares segments,
//! reads the durable log from disk, applies it to DB', has the sliding backup written, and frees the
//! segments that no checkpoint needs.
//!
//! It takes nothing from the memory of the processes but how far the log is durable, so it is the
//! same for its own process's transactions and for those of others, and it can be taken over: who
//! comes next recovers DB' from the backup and the log, like anyone who opens the database, up to
//! the published end.
//!
//! Invariants: I2 (only what is published as durable is read), I6, I10 (buffers).
//!
//! Source: Li & Naughton, section 2, "Checkpointing"; section 3, configuration C, where the
//! checkpointer has the log from elsewhere, too.

use super::state::SharedLogState;
use crate::checkpoint::{CheckpointError, CheckpointStage, Checkpointer};
use crate::disk::{Disk, DiskError};
use crate::engine::StorageOptions;
use crate::log::feed::Feed;
use crate::log::group::GroupHeader;
use crate::log::pool::{BufferPool, DurableGroup};
use crate::log::reader::LogReader;
use crate::log::seal::SealedGroup;
use crate::log::segment::Segments;
use crate::log::supply::{SegmentSupply, Supplied};
use crate::log::{LogError, LogLayout, LogPosition, Lsn};
use crate::manifest::Manifest;
use crate::recovery::{RecoveryError, RecoveryOptions, recover_until};
use crate::supervisor::{Supervisor, join};
use sardonyx_base::sync::thread::JoinHandle;
use std::sync::Arc;

/// Groups in memory at once: read, or waiting for the checkpointers.
const BUFFERS_MAX: usize = 24;

/// Buffers of groups of about this length are kept for the next ones.
const BUFFER_BYTES: usize = 1 << 20;

/// Why a custodian stopped. Nothing is lost: the log is kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CustodyError {
    /// The disk failed.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The log is damaged, or its disk failed.
    #[error(transparent)]
    Log(#[from] LogError),
    /// DB' cannot be recovered.
    #[error(transparent)]
    Recovery(#[from] RecoveryError),
    /// A checkpoint failed.
    #[error(transparent)]
    Checkpoint(#[from] Arc<CheckpointError>),
    /// One of its threads died.
    #[error(transparent)]
    Died(LogError),
}

impl CustodyError {
    /// A thread of the custodian's has died of a panic with this message.
    pub(super) fn panicked(message: String) -> CustodyError {
        CustodyError::Died(LogError::thread_died(&message))
    }

    /// Whether it is this process's own trouble, so that another one may do better. It is not if the
    /// disk failed: after a failed sync nobody knows what is stable of what can be read, and a
    /// successor would recover from just that (I7).
    pub(super) fn is_local(&self) -> bool {
        match self {
            CustodyError::Recovery(RecoveryError::Store(_)) | CustodyError::Died(_) => true,
            CustodyError::Checkpoint(error) => matches!(**error, CheckpointError::Store(_)),
            _ => false,
        }
    }

    /// Whether the next step may do what this one could not: there was no room, or no descriptor.
    pub(super) fn may_be_tried_again(&self) -> bool {
        match self {
            CustodyError::Disk(error) => error.may_be_tried_again(),
            CustodyError::Log(error) => error.is_want_of_room(),
            _ => false,
        }
    }
}

/// How much of the log may be left unread: at most this,
const PATIENCE_BYTES: u64 = 4 << 20;

/// and at most this part of what the log may have.
const PATIENCE_PART: u64 = 64;

/// The checkpointers and the log's segments of a shared database. Whoever has it holds the
/// custodian's lock while using it ([`super::Custodian`] sees to that).
#[derive(Debug)]
pub struct Custody {
    disk: Arc<dyn Disk>,
    layout: LogLayout,
    supply: Arc<SegmentSupply>,
    stage: Arc<CheckpointStage>,
    feeds: Vec<Arc<Feed>>,
    pool: Arc<BufferPool>,
    /// Less than this may be left unread until there is more, or until a checkpoint is asked for.
    patience_bytes: u64,
    /// Opened when there is something to read.
    reader: Option<LogReader>,
    /// Up to where the checkpointers were given the log.
    fed: LogPosition,
    /// The last request for a checkpoint that is being served, and up to where it must go.
    serving: Option<(u64, LogPosition)>,
    threaded: bool,
    threads: Vec<JoinHandle<()>>,
}

impl Custody {
    /// Takes over: recovers DB' up to the published end of the log, which others go on writing.
    /// The caller holds the custodian's lock.
    ///
    /// # Errors
    /// What recovery may give.
    pub fn take_over(
        disk: &Arc<dyn Disk>,
        manifest: &Manifest,
        options: &StorageOptions,
        state: &SharedLogState,
    ) -> Result<Custody, CustodyError> {
        let recovery = RecoveryOptions {
            memory_max_bytes: options.memory_bytes_max,
            workers: options.workers,
            dry_run: false,
        };
        let recovered = recover_until(disk, manifest, recovery, state.end().position)?;
        // The pages are those of the shared memory already.
        drop(recovered.store);
        let (checkpointers, end) = (recovered.checkpointers, recovered.end);
        Ok(Self::new(disk, manifest, options, checkpointers, end)?)
    }

    /// The custody of a database whose checkpointers have the log up to `end`.
    pub(super) fn new(
        disk: &Arc<dyn Disk>,
        manifest: &Manifest,
        options: &StorageOptions,
        checkpointers: Vec<Checkpointer>,
        end: LogPosition,
    ) -> Result<Custody, LogError> {
        let layout = manifest.log_layout();
        let needed_from = checkpointers.iter().map(Checkpointer::log_needed_from);
        let needed_from = needed_from.min().unwrap_or(end).lsn;
        let segments_max = options.segments_max(layout);
        let segments = Segments::open(disk.clone(), layout, needed_from, segments_max)?;
        let segments = Arc::new(segments);
        let supply = Arc::new(SegmentSupply::new(segments.clone(), options.threaded));
        let feeds: Vec<Arc<Feed>> = checkpointers.iter().map(|_| Arc::default()).collect();
        let threaded = options.threaded;
        let stage = Arc::new(CheckpointStage::new(
            checkpointers,
            feeds.clone(),
            segments,
            supply.clone(),
            options.checkpoint_interval(layout),
            threaded,
        ));
        let buffers_max = threaded.then_some(BUFFERS_MAX);
        Ok(Custody {
            disk: disk.clone(),
            layout,
            supply,
            stage,
            feeds,
            pool: Arc::new(BufferPool::new(BUFFER_BYTES, buffers_max, || {})),
            patience_bytes: PATIENCE_BYTES.min(segments_max * layout.segment_bytes / PATIENCE_PART),
            reader: None,
            fed: end,
            serving: None,
            threaded,
            threads: Vec::new(),
        })
    }

    /// Prepares so many segments, and at least one more than is being written, before the first
    /// transaction.
    pub(super) fn prepare(&self, segments: u64) -> Result<(), LogError> {
        self.supply.prepare_for_opening(self.fed, segments)
    }

    /// The LSN up to which segments are prepared.
    pub fn prepared_end(&self) -> Lsn {
        self.supply.segments().prepared_end()
    }

    /// Up to where the last complete checkpoint has everything.
    pub fn complete_from(&self) -> LogPosition {
        self.stage.complete_from()
    }

    /// Up to where the checkpointers were given the log.
    pub fn fed(&self) -> LogPosition {
        self.fed
    }

    /// Whether a checkpoint that somebody asked for is being taken.
    pub(super) fn is_serving(&self) -> bool {
        self.serving.is_some()
    }

    /// What keeps the segments prepared, for a thread of its own.
    pub(super) fn preparing(&self) -> Preparing {
        Preparing {
            supply: self.supply.clone(),
            stage: self.stage.clone(),
        }
    }

    /// Starts the checkpointing threads, one for each stripe, if the options say so.
    pub(super) fn start(&mut self) {
        let stripes = if self.threaded {
            self.stage.stripes()
        } else {
            0
        };
        let told = self.stage.clone();
        // The stage's failure ends the custody.
        let supervisor = Supervisor::new(move |error| told.give_up(&error));
        for stripe in 0..stripes {
            let stage = self.stage.clone();
            let thread = supervisor.spawn(format!("custody-{stripe}"), move || stage.run(stripe));
            self.threads.push(thread);
        }
    }

    /// Does what there is to do now: gives the checkpointers what became durable, and serves
    /// requests for checkpoints. Without threads it also takes one step of checkpointing, and
    /// prepares a segment if there is need of one. Returns whether anything was done.
    ///
    /// # Errors
    /// What stopped the custody; it is of no use any more.
    pub fn tick(&mut self, state: &SharedLogState) -> Result<bool, CustodyError> {
        // Read before the end: what is durable when somebody asks is in the checkpoint.
        let wanted = state.wanted();
        let durable = state.end().position;
        let asked = wanted > state.served() || self.serving.is_some();
        let behind = durable.lsn.0.saturating_sub(self.fed.lsn.0);
        // Reading what has just been written takes the disk's time from the next write, so it is done
        // in large pieces. Without threads nobody would come back for the rest.
        let mut busy = match self.threaded && !asked && behind < self.patience_bytes {
            true => behind > 0,
            false => self.follow(durable)?,
        };
        if !self.threaded {
            self.stage.pump();
            busy |= self.preparing().step(state) == Supplied::OneMore;
            busy |= self.stage.is_writing();
        }
        if let Some(error) = self.stage.failure() {
            return Err(error.into());
        }
        self.serve(state, wanted);
        state.publish_complete_from(self.stage.complete_from().group);
        Ok(busy | self.is_serving())
    }

    /// Gives the checkpointers the log up to the published end.
    fn follow(&mut self, durable: LogPosition) -> Result<bool, LogError> {
        if self.fed.group >= durable.group {
            return Ok(false);
        }
        let mut reader = match self.reader.take() {
            Some(reader) => reader,
            None => LogReader::open(&self.disk, self.layout, self.fed)?,
        };
        reader.set_until(durable);
        while let Some((header, _)) = reader.next_group()? {
            let group = self.group(&reader, &header);
            let group = Arc::new(DurableGroup::new(group, self.pool.clone()));
            self.feeds.iter().for_each(|feed| feed.push(group.clone()));
            self.fed = reader.position();
            if !self.threaded {
                self.stage.pump();
            }
        }
        self.reader = Some(reader);
        Ok(true)
    }

    /// A copy of the group that was just read, in a buffer of the pool.
    fn group(&self, reader: &LogReader, header: &GroupHeader) -> SealedGroup {
        let mut buffer = self.pool.take();
        buffer.extend_from_slice(reader.last_group_bytes(header));
        SealedGroup::from_bytes(buffer).expect("the reader checked it")
    }

    /// Serves requests for checkpoints, all that there are with one.
    fn serve(&mut self, state: &SharedLogState, wanted: u64) {
        if self.serving.is_none() && wanted > state.served() {
            self.serving = Some((wanted, self.fed));
            if self.stage.complete_from().group < self.fed.group {
                self.stage.want(self.fed);
            }
        }
        if let Some((request, up_to)) = self.serving
            && self.stage.complete_from().group >= up_to.group
        {
            self.serving = None;
            state.publish_complete_from(self.stage.complete_from().group);
            state.serve(request);
        }
    }

    /// Ends the threads; what they were given is still applied.
    pub(super) fn close(&mut self) {
        self.stage.close();
        join(self.threads.drain(..));
    }
}

/// Prepares segments for all processes, and tells them what came of it.
pub(super) struct Preparing {
    supply: Arc<SegmentSupply>,
    stage: Arc<CheckpointStage>,
}

impl Preparing {
    /// A step of the supply.
    pub(super) fn step(&self, state: &SharedLogState) -> Supplied {
        let prepared_end = || self.supply.segments().prepared_end();
        state.publish_prepared_end(prepared_end());
        self.supply.advance(state.end().position);
        let did = self.supply.step(&*self.stage);
        state.publish_prepared_end(prepared_end());
        let (before, now) = (state.refusal(), self.supply.refusal());
        state.refuse(now.as_ref().map(LogError::want_of_room).as_deref());
        // Told once: whoever waits for room may poke us, and we would wake each other for ever.
        if did == Supplied::OneMore || (before.is_none() && now.is_some()) {
            state.notify();
        }
        did
    }
}

impl Drop for Custody {
    fn drop(&mut self) {
        self.close();
    }
}
