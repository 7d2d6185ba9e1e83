//! The standby's storage: an ordinary database's directory with the primary's identity, whose log is
//! appended to with the groups that the primary sends, and whose checkpointers are fed from there.
//!
//! A group is written as it was received, but for its `durable_number`: that speaks of
//! the disk that the group is on, so here it says what *this* disk had durably. So any number of
//! groups can be written with one sync, and a crash between them is the log's end and not damage
//! (I4).
//!
//! Invariants: I2 (a group is fed to the checkpointers, and reported, after its sync), I6 (the log
//! here is freed by the checkpoints here, but never the last group, by which the primary knows this
//! log's history), I7 (after a failed write or sync nothing more is written), I10 (buffers).
//!
//! Source: Li & Naughton, section 3, configuration C.

use crate::error::StandbyError;
use crate::leftovers::clear_leftovers;
use crate::options::StandbyOptions;
use crate::protocol::{Hello, Progress, Refusal};
use bytes::Bytes;
use sardonyx_base::sync::futex::Mutex;
use sardonyx_base::sync::thread::JoinHandle;
use sardonyx_storage::checkpoint::{CheckpointInterval, CheckpointStage};
use sardonyx_storage::disk::Disk;
use sardonyx_storage::engine::{OpenError, create_database};
use sardonyx_storage::log::feed::Feed;
use sardonyx_storage::log::pool::{BufferPool, DurableGroup};
use sardonyx_storage::log::reader::group_before;
use sardonyx_storage::log::seal::SealedGroup;
use sardonyx_storage::log::segment::{LogPin, Segments};
use sardonyx_storage::log::supply::{Admission, SegmentSupply};
use sardonyx_storage::log::{LogError, LogPosition, Lsn};
use sardonyx_storage::manifest::{Manifest, ManifestError};
use sardonyx_storage::recovery::{RecoveryOptions, recover};
use sardonyx_storage::supervisor::{Supervisor, join};
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

/// Groups in memory at once: received, or waiting for the checkpointers.
const BUFFERS_MAX: usize = 24;

/// The most groups that are given to [`Store::append`] at once; fewer than there are buffers.
pub(crate) const BATCH_GROUPS_MAX: usize = 8;

/// Buffers of groups of about this length are kept for the next ones.
const BUFFER_BYTES: usize = 1 << 20;

/// An open standby's storage.
#[derive(Debug)]
pub(crate) struct Store {
    disk: Arc<dyn Disk>,
    manifest: Manifest,
    /// The log's end that the manifest records.
    recorded: Mutex<LogPosition>,
    segments: Arc<Segments>,
    room: Arc<SegmentSupply>,
    stage: Arc<CheckpointStage>,
    feeds: Vec<Arc<Feed>>,
    pool: Arc<BufferPool>,
    writing: Mutex<Writing>,
    /// The end of the durable log, for those who must not wait while groups are being written.
    end: Mutex<LogEnd>,
    poisoned: Arc<OnceLock<Arc<str>>>,
    supervisor: Arc<Supervisor>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    threaded: bool,
}

/// What whoever appends holds.
#[derive(Debug)]
struct Writing {
    /// Counted up by every connection: what an older one still wants to append is refused.
    session: u64,
    end: LogEnd,
    /// Keeps the last group in the log.
    pin: Option<LogPin>,
}

/// Where a standby's log ends, and the history checksum of the group before; 0 if there is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LogEnd {
    pub position: LogPosition,
    pub last_checksum: u32,
}

impl Store {
    /// Makes a database's directory for this primary, and opens it.
    pub fn create(
        disk: &Arc<dyn Disk>,
        hello: &Hello,
        options: &StandbyOptions,
    ) -> Result<Store, StandbyError> {
        let manifest = hello.manifest().ok_or(Refusal::Manifest)?;
        check_limits(&manifest, options)?;
        create_database(disk, &manifest)?;
        Self::open(disk, options)
    }

    /// Opens a standby's directory: recovers it like a database. The caller holds the lock.
    pub fn open(disk: &Arc<dyn Disk>, options: &StandbyOptions) -> Result<Store, StandbyError> {
        let manifest = Manifest::read(&**disk)?;
        check_limits(&manifest, options)?;
        let recovery = RecoveryOptions {
            memory_max_bytes: options.memory_bytes_max,
            workers: options.workers,
            dry_run: false,
        };
        let recovered = recover(disk, &manifest, recovery)?;
        let (layout, end) = (manifest.log_layout(), recovered.end);
        record_end(&**disk, &manifest, end)?;
        clear_leftovers(&**disk, layout, end)?;
        let last = group_before(&**disk, layout, end)?;
        let needed = recovered
            .checkpointers
            .iter()
            .map(|c| c.log_needed_from().lsn);
        let needed_from = needed.chain([last.map_or(end.lsn, |last| last.lsn)]).min();
        let needed_from = needed_from.unwrap_or(end.lsn);
        let segments_max = options.log_bytes_max / layout.segment_bytes;
        let segments = Segments::open(disk.clone(), layout, needed_from, segments_max)?;
        let segments = Arc::new(segments);
        let room = Arc::new(SegmentSupply::new(segments.clone(), options.threaded));
        room.prepare_for_opening(end, 0)?;
        let checkpointers = recovered.checkpointers;
        let feeds: Vec<Arc<Feed>> = checkpointers.iter().map(|_| Arc::default()).collect();
        let log_bytes = segments_max * layout.segment_bytes;
        let interval_bytes = options
            .checkpoint_interval_bytes
            .unwrap_or(CheckpointInterval::usual_bytes(log_bytes));
        let interval = CheckpointInterval {
            bytes: interval_bytes.min(log_bytes / 2),
            transactions: u64::MAX,
        };
        let stage = CheckpointStage::new(
            checkpointers,
            feeds.clone(),
            segments.clone(),
            room.clone(),
            interval,
            options.threaded,
        );
        let end = LogEnd {
            position: end,
            last_checksum: last.map_or(0, |last| last.history_checksum()),
        };
        let writing = Writing {
            session: 0,
            end,
            // Only the last group: a checkpoint must be able to free the rest of a log that is full.
            pin: segments.pin(last.map_or(needed_from, |last| last.lsn)),
        };
        let stage = Arc::new(stage);
        // Whoever needs a buffer here waits for it, so nobody is to be called back.
        let pool = Arc::new(BufferPool::new(
            BUFFER_BYTES,
            options.threaded.then_some(BUFFERS_MAX),
            || {},
        ));
        let poisoned = Arc::new(OnceLock::new());
        let supervisor = {
            let (poisoned, stage, room, pool) =
                (poisoned.clone(), stage.clone(), room.clone(), pool.clone());
            Supervisor::new(move |error: LogError| {
                poisoned.get_or_init(|| Arc::from(error.to_string()));
                stage.give_up(&error);
                pool.stop_waiting();
                room.fail(error);
            })
        };
        let store = Store {
            disk: disk.clone(),
            recorded: Mutex::new(end.position),
            manifest,
            segments,
            room,
            stage,
            feeds,
            pool,
            writing: Mutex::new(writing),
            end: Mutex::new(end),
            poisoned,
            supervisor,
            threads: Mutex::default(),
            threaded: options.threaded,
        };
        store.start();
        Ok(store)
    }

    fn start(&self) {
        if !self.threaded {
            return;
        }
        let (room, stage) = (self.room.clone(), self.stage.clone());
        self.spawn("standby-log-supply".into(), move || room.run(&*stage));
        for stripe in 0..self.stage.stripes() {
            let stage = self.stage.clone();
            self.spawn(format!("standby-checkpoint-{stripe}"), move || {
                stage.run(stripe)
            });
        }
    }

    fn spawn(&self, name: String, body: impl FnOnce() + Send + 'static) {
        let thread = self.supervisor.spawn(name, body);
        self.threads.lock().push(thread);
    }

    /// The database.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Whether this primary's database is the one here.
    pub fn check(&self, hello: &Hello) -> Result<(), Refusal> {
        let (standby, primary) = (self.manifest.identity, hello.identity);
        if standby != primary {
            return Err(Refusal::Identity { standby, primary });
        }
        let (standby, primary) = (self.manifest.segment_bytes, hello.segment_bytes);
        if standby != primary {
            return Err(Refusal::SegmentBytes { standby, primary });
        }
        match self.failure() {
            Some(error) => Err(Refusal::Failed {
                reason: error.to_string(),
            }),
            None => Ok(()),
        }
    }

    /// Why the standby cannot go on, if it cannot.
    pub fn failure(&self) -> Option<StandbyError> {
        if let Some(error) = self.stage.failure() {
            return Some(error.into());
        }
        self.check_poison().err()
    }

    fn check_poison(&self) -> Result<(), StandbyError> {
        match self.poisoned.get().cloned() {
            None => Ok(()),
            Some(cause) => Err(StandbyError::Poisoned { cause }),
        }
    }

    /// Begins a connection's work: nothing of an older one is appended from now on. Returns its
    /// number, and where the log ends. Waits while groups are being written.
    pub fn begin_session(&self) -> (u64, LogEnd) {
        let mut writing = self.writing.lock();
        writing.session += 1;
        (writing.session, writing.end)
    }

    /// Where the durable log ends.
    pub fn log_end(&self) -> LogEnd {
        *self.end.lock()
    }

    /// Appends groups, and returns when they are on stable storage. At most [`BATCH_GROUPS_MAX`].
    ///
    /// # Errors
    /// If a group does not follow, or the log is full: the groups before it are appended. If the
    /// disk fails: nothing more is ever appended (I7).
    pub fn append(&self, session: u64, groups: &[Bytes]) -> Result<LogPosition, StandbyError> {
        let mut writing = self.writing.lock();
        if writing.session != session {
            return Err(StandbyError::Superseded);
        }
        self.check_poison()?;
        let mut ready = Vec::with_capacity(groups.len());
        let mut next = writing.end.position;
        let mut outcome = Ok(());
        for group in groups {
            let group = match self.take_group(group, next) {
                Ok(group) => group,
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            };
            let lsn = group.header().lsn;
            if !self.room.has_room(lsn) {
                // A checkpoint frees the log only up to what it was given.
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
        outcome.map(|()| writing.end.position)
    }

    /// Waits until a group may be written at `lsn`, which follows the durable log.
    fn wait_for_room(&self, lsn: Lsn) -> Result<(), StandbyError> {
        let at = LogPosition {
            lsn,
            ..self.log_end().position
        };
        let drive = || {
            self.stage.work_off();
            Ok(())
        };
        let (whole, stage) = (Admission::Whole, &*self.stage);
        Ok(self.room.wait_for_room(whole, at, stage, drive)?)
    }

    /// The group of these bytes, if it follows here.
    fn take_group(&self, bytes: &Bytes, next: LogPosition) -> Result<SealedGroup, StandbyError> {
        let mut buffer = self.pool.take();
        buffer.extend_from_slice(bytes);
        let group = match SealedGroup::from_bytes(buffer) {
            Ok(group) => group,
            Err(buffer) => {
                self.pool.give(buffer);
                let (bytes, expected) = (bytes.len(), next.group);
                return Err(StandbyError::NoGroup { bytes, expected });
            }
        };
        match group.check_follows(self.manifest.log_layout(), next) {
            Ok(()) => Ok(group),
            Err(reason) => {
                let (number, expected) = (group.header().number, next.group);
                self.pool.give(group.into_buffer());
                Err(StandbyError::Chain {
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
    ) -> Result<(), StandbyError> {
        let Some(last) = ready.last().map(|group| *group.header()) else {
            return Ok(());
        };
        if let Err(error) = self.write_to_disk(writing.end.position.group - 1, ready) {
            tracing::error!(%error, "the standby's log is poisoned");
            self.poisoned.get_or_init(|| error.to_string().into());
            self.give_back(std::mem::take(ready));
            return Err(error.into());
        }
        writing.end = LogEnd {
            position: last.next_position(),
            last_checksum: last.history_checksum(),
        };
        *self.end.lock() = writing.end;
        match &writing.pin {
            Some(pin) => pin.advance(last.lsn),
            None => writing.pin = self.segments.pin(last.lsn),
        }
        self.room.advance(writing.end.position);
        for group in ready.drain(..) {
            let group = Arc::new(DurableGroup::new(group, self.pool.clone()));
            self.feeds.iter().for_each(|feed| feed.push(group.clone()));
        }
        if !self.threaded {
            self.stage.pump();
        }
        Ok(())
    }

    fn write_to_disk(
        &self,
        durable_number: u64,
        ready: &mut [SealedGroup],
    ) -> Result<(), LogError> {
        let layout = self.segments.layout();
        let mut touched = BTreeSet::new();
        for group in ready {
            group.finish(durable_number);
            let lsn = group.header().lsn;
            let segment = layout.segment_of(lsn);
            let file = self.segments.file(segment)?;
            file.write_at(layout.offset_in_segment(lsn), group.bytes())?;
            touched.insert(segment);
        }
        for segment in touched {
            self.segments.file(segment)?.sync()?;
        }
        Ok(())
    }

    fn give_back(&self, groups: Vec<SealedGroup>) {
        for group in groups {
            self.pool.give(group.into_buffer());
        }
    }

    /// Asks for a checkpoint that has everything before a place.
    pub fn want_checkpoint(&self, position: LogPosition) {
        self.stage.want(position);
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        // Looked at before the log's end: what is applied is never beyond it.
        let of_stage = self.stage.progress();
        let durable = self.log_end().position;
        Progress {
            durable: durable.into(),
            applied: of_stage.needed_from.into(),
            complete_from: of_stage.complete_from.into(),
            checkpoints: of_stage.checkpoints,
            blocks: of_stage.blocks,
            bytes: of_stage.bytes,
        }
    }

    /// Up to where the log is applied to DB'.
    pub fn applied(&self) -> LogPosition {
        self.stage.applied()
    }

    /// A part of a stripe's DB'; empty at its end.
    pub fn pages(&self, stripe: u32, offset: u64, bytes_max: usize) -> Bytes {
        let mut bytes = Vec::with_capacity(bytes_max);
        self.stage
            .copy_shadow(stripe as usize, offset, bytes_max, &mut bytes);
        bytes.into()
    }

    /// Stops the threads, and records the log's end. What is in the log stays there; what waits is
    /// still applied.
    pub fn close(&self) {
        self.room.close();
        self.stage.close();
        let threads = std::mem::take(&mut *self.threads.lock());
        join(threads);
        let (end, mut recorded) = (self.log_end().position, self.recorded.lock());
        if end == *recorded || self.check_poison().is_err() {
            return;
        }
        match record_end(&*self.disk, &self.manifest, end) {
            Ok(()) => *recorded = end,
            Err(error) => tracing::warn!(%error, "the log's end was not recorded"),
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.close();
    }
}

/// Records the durable log's end in the manifest, so that the next opening notices if log before it is
/// lost.
fn record_end(
    disk: &dyn Disk,
    manifest: &Manifest,
    log_end: LogPosition,
) -> Result<(), ManifestError> {
    let manifest = Manifest {
        log_end,
        ..manifest.clone()
    };
    manifest.write(disk)
}

fn check_limits(manifest: &Manifest, options: &StandbyOptions) -> Result<(), StandbyError> {
    if options.log_bytes_max / 4 < manifest.segment_bytes {
        return Err(OpenError::Option {
            option: "log_bytes_max",
            value: options.log_bytes_max,
            requirement: "at least four segments of the primary's log",
        }
        .into());
    }
    Ok(())
}
