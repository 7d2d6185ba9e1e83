//! The engine of a copy that follows: an ordinary database's directory, whose log is appended to with the groups that
//! another host wrote, and whose checkpointers are fed from there.
//!
//! A group is written as it was received, except for its `durable_number`. That speaks of the disk that has the group,
//! so here it names the groups that *this* disk had durably. So any number of groups can be written with one sync, and
//! a crash between them is the log's end and not damage (I4).
//!
//! Invariants: I2 (a group is fed to the checkpointers after its sync). I6 (the log here is freed by the checkpoints
//! here, but never the last group, by which it is compared). I7 (after a failed write or sync nothing more is written).
//! I10 (buffers).
//!
//! Source: TPK paper, section 3, configuration C.

use super::AppendError;
use crate::checkpoint::{CheckpointStage, Checkpointer};
use crate::disk::Disk;
use crate::engine::background::Background;
use crate::engine::opening::{self, Ready, Writers};
use crate::engine::{OpenError, StorageOptions};
use crate::log::pool::BufferPool;
use crate::log::published::{PublishedEnd, Stored};
use crate::log::seal::SealedGroup;
use crate::log::segment::LogPin;
use crate::log::supply::Admission;
use crate::log::{LogError, LogPosition, LogState, Lsn, SharedEnd};
use crate::manifest::Manifest;
use crate::places::PlaceLocks;
use crate::supervisor::{Supervisor, Threads};
use sardonyx_base::events;
use sardonyx_base::sync::Mutex;
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

/// The most groups that are given to [`ReceivingEngine::append`] at once; fewer than there are buffers.
pub(super) const BATCH_GROUPS_MAX: usize = 8;

/// The storage of an open copy.
#[derive(Debug)]
pub(super) struct ReceivingEngine {
    disk: Arc<dyn Disk>,
    manifest: Manifest,
    /// The log's end that the manifest records.
    recorded: Mutex<LogPosition>,
    background: Background,
    pool: Arc<BufferPool>,
    writing: Mutex<Writing>,
    /// The end of the durable log, for readers that must not wait while groups are being written. Its tail is the
    /// history checksum of the last group.
    state: LogState,
    /// For readers in other processes.
    published: PublishedEnd,
    poisoned: Arc<OnceLock<Arc<str>>>,
    threads: Mutex<Threads>,
    /// The locks of the directories elsewhere.
    places: PlaceLocks,
}

/// The state that the appender holds.
#[derive(Debug)]
struct Writing {
    /// Keeps the last group in the log.
    pin: Option<LogPin>,
}

impl ReceivingEngine {
    /// Opens the directory of a copy: recovers it like a database. The caller holds the lock. Of the options
    /// those count that are not fixed when a database is made. The groups before `stored_before` are known to be those of the
    /// store: of the others recovery may have taken some from a checkpoint that are cut off here.
    ///
    /// # Errors
    /// The errors of opening a database.
    pub fn open(
        home: &Arc<dyn Disk>,
        options: &StorageOptions,
        stored_before: u64,
    ) -> Result<ReceivingEngine, OpenError> {
        options.forget_kept();
        let ready = opening::open(home, options, Writers::Other)?;
        let Ready {
            manifest,
            checkpointers,
            end,
            last,
            needed_from,
            disk,
            places,
            ..
        } = ready;
        let background =
            Background::assemble(&disk, &manifest, options, checkpointers, needed_from)?;
        background.supply.prepare_for_opening(end, 0)?;
        // Only the last group: a checkpoint must be able to free the rest of a log that is full.
        let pinned = last.map_or(needed_from.lsn, |last| last.lsn);
        let writing = Writing {
            pin: background.segments.pin(pinned),
        };
        let state = LogState::private(SharedEnd {
            position: end,
            tail: last.map_or(0, |last| last.history_checksum().into()),
        });
        let pool = background.pool();
        let poisoned = Arc::new(OnceLock::<Arc<str>>::new());
        let supervisor = {
            let (poisoned, pool, told) = (poisoned.clone(), pool.clone(), background.clone());
            Supervisor::new(move |error: LogError| {
                poisoned.get_or_init(|| error.to_string().into());
                told.stage.give_up(&error);
                pool.stop_waiting();
                told.supply.fail(error);
            })
        };
        let mut threads = Threads::new(supervisor);
        background.start(&mut threads);
        let stored = Stored::Before(stored_before.min(end.group));
        Ok(ReceivingEngine {
            published: PublishedEnd::create(&disk, &manifest, end, stored),
            disk,
            places,
            recorded: Mutex::new(end),
            manifest,
            background,
            pool,
            writing: Mutex::new(writing),
            state,
            poisoned,
            threads: Mutex::new(threads),
        })
    }

    /// The database.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    pub fn checkpoint(&self) -> &Arc<CheckpointStage> {
        &self.background.stage
    }

    /// # Errors
    /// [`AppendError::Poisoned`] if nothing more can be appended.
    pub fn check(&self) -> Result<(), AppendError> {
        match self.poisoned.get().cloned() {
            None => Ok(()),
            Some(cause) => Err(AppendError::Poisoned { cause }),
        }
    }

    /// The durable log's end.
    pub fn end(&self) -> LogPosition {
        self.state.end().position
    }

    /// Appends groups, byte for byte from the other host's disk, and returns when they are on stable storage. At most
    /// [`BATCH_GROUPS_MAX`].
    ///
    /// # Errors
    /// If a group does not follow, or the log is full: the groups before it are appended. If the
    /// disk fails: nothing more is ever appended (I7).
    pub fn append<G: AsRef<[u8]>>(&self, groups: &[G]) -> Result<LogPosition, AppendError> {
        let mut writing = self.writing.lock();
        self.check()?;
        let mut ready = Vec::with_capacity(groups.len());
        let mut next = self.state.end().position;
        let mut outcome = Ok(());
        for group in groups {
            let group = match self.take_group(group.as_ref(), next) {
                Ok(group) => group,
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            };
            let lsn = group.header().lsn;
            if !self.background.supply.has_room(lsn) {
                // A checkpoint frees the log only up to its last group.
                let written = self.write(&mut writing, &mut ready);
                if let Err(error) = written.and_then(|()| self.wait_for_room(lsn)) {
                    self.give_back(vec![group]);
                    return Err(error);
                }
            }
            next = group.header().next_position();
            ready.push(group);
        }
        self.write(&mut writing, &mut ready)?;
        outcome.map(|()| self.state.end().position)
    }

    /// Waits until a group may be written at `lsn`, which follows the durable log.
    fn wait_for_room(&self, lsn: Lsn) -> Result<(), AppendError> {
        let at = LogPosition {
            lsn,
            ..self.state.end().position
        };
        let (supply, stage) = (&self.background.supply, &*self.background.stage);
        let drive = || {
            stage.work_off();
            Ok(())
        };
        Ok(supply.wait_for_room(Admission::Whole, at, stage, drive)?)
    }

    /// The group of these bytes, if it follows here.
    fn take_group(&self, bytes: &[u8], next: LogPosition) -> Result<SealedGroup, AppendError> {
        let mut buffer = self.pool.take();
        buffer.extend_from_slice(bytes);
        let group = match SealedGroup::from_bytes(buffer) {
            Ok(group) => group,
            Err(buffer) => {
                self.pool.give(buffer);
                let (bytes, expected) = (bytes.len(), next.group);
                return Err(AppendError::NoGroup { bytes, expected });
            }
        };
        match group.check_follows(self.manifest.log_layout(), next) {
            Ok(()) => Ok(group),
            Err(reason) => {
                let (number, expected) = (group.header().number, next.group);
                self.pool.give(group.into_buffer());
                Err(AppendError::Chain {
                    number,
                    expected,
                    reason,
                })
            }
        }
    }

    /// Writes groups, syncs them, and passes them on.
    fn write(
        &self,
        writing: &mut Writing,
        ready: &mut Vec<SealedGroup>,
    ) -> Result<(), AppendError> {
        let Some(last) = ready.last().map(|group| *group.header()) else {
            return Ok(());
        };
        if let Err(error) = self.write_to_disk(self.state.end().position.group - 1, ready) {
            events::error!(%error, "the log of a copy is poisoned");
            self.poisoned.get_or_init(|| error.to_string().into());
            self.give_back(std::mem::take(ready));
            return Err(error.into());
        }
        let position = last.next_position();
        self.state.publish(SharedEnd {
            position,
            tail: last.history_checksum().into(),
        });
        // It came from there, and follows what is here.
        self.published.publish_stored(position);
        match &writing.pin {
            Some(pin) => pin.advance(last.lsn),
            None => writing.pin = self.background.segments.pin(last.lsn),
        }
        self.background.supply.advance(position);
        for group in ready.drain(..) {
            self.background.feed(group, &self.pool);
        }
        self.background.step();
        Ok(())
    }

    fn write_to_disk(
        &self,
        durable_number: u64,
        ready: &mut [SealedGroup],
    ) -> Result<(), LogError> {
        let segments = &self.background.segments;
        let layout = segments.layout();
        let mut touched = BTreeSet::new();
        for group in ready {
            group.finish(durable_number);
            let lsn = group.header().lsn;
            let segment = layout.segment_of(lsn);
            let file = segments.file(segment)?;
            file.write_at(layout.offset_in_segment(lsn), group.bytes())?;
            touched.insert(segment);
        }
        for segment in touched {
            segments.file(segment)?.sync()?;
        }
        Ok(())
    }

    fn give_back(&self, groups: Vec<SealedGroup>) {
        for group in groups {
            self.pool.give(group.into_buffer());
        }
    }

    /// Keeps the log from here on, if it is still there.
    pub(super) fn pin(&self, lsn: Lsn) -> Option<LogPin> {
        self.background.segments.pin(lsn)
    }

    /// Stops the threads; waiting groups are still applied.
    fn stop(&self) {
        self.background.close();
        self.threads.lock().end(());
    }

    /// Stops the threads, and records the log's end. The log's contents stay.
    pub fn close(&self) {
        self.stop();
        let (end, mut recorded) = (self.state.end().position, self.recorded.lock());
        if end == *recorded || self.check().is_err() {
            return;
        }
        match opening::record_end(&*self.disk, &self.manifest, end) {
            Ok(_) => *recorded = end,
            Err(error) => events::warn!(%error, "the log's end was not recorded"),
        }
    }

    /// Stops the threads, and returns the checkpointers if they have all of the log, with its end that the manifest
    /// records. Without them that is recorded now. The locks of directories elsewhere are released, so nothing is kept
    /// of a database that has any.
    pub(super) fn close_keeping(&self) -> (Option<Vec<Checkpointer>>, LogPosition) {
        self.stop();
        let end = self.end();
        let may_be_kept = self.places.is_empty() && self.check().is_ok();
        let stage = &self.background.stage;
        let kept = may_be_kept.then(|| stage.take_checkpointers(end)).flatten();
        if kept.is_none() {
            self.close();
        }
        // An opening with the checkpointers records a later end.
        let recorded = std::mem::replace(&mut *self.recorded.lock(), end);
        (kept, recorded)
    }
}

impl Drop for ReceivingEngine {
    fn drop(&mut self) {
        self.close();
    }
}
