//! The engine: everything below the execution stage, opened and put together.
//!
//! Opening takes the lock, reads the manifest (or makes a new database), recovers, counts up the
//! incarnation, and hands the pages and the group being filled to whoever runs transactions. It is
//! the same for every way of running them.
//!
//! A new database's manifest is written last, when the first log segments are there: a crash before
//! that leaves nothing that anyone was told of.

use crate::checkpoint::{
    CheckpointInterval, CheckpointPlace, CheckpointStage, Checkpointer, RemoteError, ShippedLog,
};
use crate::disk::{Disk, DiskError, DiskLock};
use crate::journal::Retention;
use crate::log::feed::Feed;
use crate::log::group::GroupHeader;
use crate::log::open_group::OpenGroup;
use crate::log::policy::{GroupLimits, GroupPolicy, TIME_PER_GROUP_MAX};
use crate::log::seal::Sequencer;
use crate::log::segment::{LOG_DIRECTORY, Segments, segment_file};
use crate::log::supply::SegmentSupply;
use crate::log::writer::{GroupSource, LogWriter};
use crate::log::{LogError, LogLayout, LogPosition};
use crate::manifest::{MANIFEST_FILE, Manifest, ManifestError};
use crate::recovery::{Recovered, recover, recover_from_image, recover_locally};
use crate::recovery::{RecoveryError, RecoveryOptions, RecoveryReport};
use crate::store::PageStore;
use crate::supervisor::{self, Supervisor};
use sardonyx_base::process::Process;
use sardonyx_base::random::system_random;
use sardonyx_base::sync::thread::JoinHandle;
use std::sync::Arc;

/// The advisory lock's file.
pub const LOCK_FILE: &str = "LOCK";

/// For how long a close works at a checkpoint, unless it is told otherwise.
pub const CLOSING_CHECKPOINT: std::time::Duration = std::time::Duration::from_secs(10);

/// How to open a database's storage. The first four are fixed when the database is made.
#[derive(Clone, Debug)]
pub struct StorageOptions {
    /// Bytes of a log segment.
    pub segment_bytes: u64,
    /// Bytes of a backup block.
    pub block_bytes: u32,
    /// Stripes of the backup; each has a file and a checkpointing thread.
    pub stripes: u32,
    /// What is kept of the journals once it left the log.
    pub journal: Retention,
    /// The database's identity if it is made now; `None` chooses one at random.
    pub identity: Option<u64>,
    /// The most bytes of log on disk, rounded down to segments; at least four of them.
    pub log_bytes_max: u64,
    /// Bytes of log that are prepared before opening returns, so that the first transactions do not
    /// wait for the disk to be filled with zeroes.
    pub log_bytes_prepared: u64,
    /// A checkpoint begins when so many bytes of log were written since the last one began; `None`
    /// takes three eighths of `log_bytes_max`, so that two checkpoints' log fits.
    pub checkpoint_interval_bytes: Option<u64>,
    /// A checkpoint begins after so many transactions, too; `None` counts bytes only.
    pub checkpoint_interval_transactions: Option<u64>,
    /// The most bytes of pages (DB; DB' takes as much again).
    pub memory_bytes_max: u64,
    /// When a commit group is closed.
    pub policy: GroupPolicy,
    /// The bounds of group commit.
    pub limits: GroupLimits,
    /// Whether logging and checkpointing have threads of their own.
    pub threaded: bool,
    /// For how long a close may finish a checkpoint, or take one if there is much to redo; zero for
    /// none.
    pub closing_checkpoint: std::time::Duration,
    /// Threads for recovery.
    pub workers: usize,
    /// Where the checkpoints are taken.
    pub checkpoint: CheckpointPlace,
}

impl Default for StorageOptions {
    fn default() -> Self {
        StorageOptions {
            segment_bytes: 64 << 20,
            block_bytes: 1 << 20,
            stripes: 1,
            journal: Retention::All,
            identity: None,
            log_bytes_max: 2 << 30,
            log_bytes_prepared: 128 << 20,
            checkpoint_interval_bytes: None,
            checkpoint_interval_transactions: None,
            memory_bytes_max: 1 << 40,
            policy: GroupPolicy::Adaptive,
            limits: GroupLimits::default(),
            threaded: true,
            closing_checkpoint: CLOSING_CHECKPOINT,
            workers: std::thread::available_parallelism().map_or(1, usize::from),
            checkpoint: CheckpointPlace::Local,
        }
    }
}

impl StorageOptions {
    /// How far apart checkpoints are.
    pub(crate) fn checkpoint_interval(&self, layout: LogLayout) -> CheckpointInterval {
        let log_bytes = self.segments_max(layout) * layout.segment_bytes;
        CheckpointInterval {
            bytes: self
                .checkpoint_interval_bytes
                .unwrap_or(CheckpointInterval::usual_bytes(log_bytes)),
            transactions: self.checkpoint_interval_transactions.unwrap_or(u64::MAX),
        }
    }

    /// The most segments of the log.
    pub(crate) fn segments_max(&self, layout: LogLayout) -> u64 {
        self.log_bytes_max / layout.segment_bytes
    }

    /// The segments that are prepared before opening returns.
    pub(crate) fn segments_prepared(&self, layout: LogLayout) -> u64 {
        (self.log_bytes_prepared / layout.segment_bytes)
            .min(self.segments_max(layout))
            .max(2)
    }
}

/// Why a database cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The disk failed.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The log failed.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The manifest is damaged or cannot be written.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// Recovery failed.
    #[error(transparent)]
    Recovery(#[from] RecoveryError),
    /// The standby that has the checkpoints is needed, and is of no use.
    #[error("this directory alone cannot be recovered ({local}); {source}")]
    Standby {
        /// Why not.
        local: Box<RecoveryError>,
        /// What is wrong with the standby.
        source: RemoteError,
    },
    /// Another process, or this one, has it open.
    #[error(
        "{file} is held: the database is open already, and only memory is shared, with others that open \
         it as memory; close it there first"
    )]
    Locked {
        /// The lock file.
        file: String,
    },
    /// There is a log but no manifest.
    #[error(
        "{file} is missing, but {evidence} holds data: this is a database whose manifest was lost; \
         restore the manifest, or move the directory away to make a new database here"
    )]
    ManifestLost {
        /// Where the manifest should be.
        file: String,
        /// What shows that there was one.
        evidence: String,
    },
    /// An option has a value that cannot work.
    #[error("the option {option} is {value}: {requirement}")]
    Option {
        /// The option.
        option: &'static str,
        /// Its value.
        value: u64,
        /// What it should be.
        requirement: &'static str,
    },
    /// Checkpoints at a standby were asked for without threads.
    #[error(
        "checkpoints at a standby need a thread that carries the log there: open the database in a \
         shape with threads"
    )]
    StandbyWithoutThreads,
    /// Checkpoints at a standby were asked for of a database that several processes share.
    #[error(
        "a database that several processes share takes its checkpoints itself: open it alone to \
         have them taken at a standby"
    )]
    StandbyWhileShared,
    /// There is no database.
    #[error("{file} is not there: no database to open")]
    Absent {
        /// Where the manifest should be.
        file: String,
    },
}

/// An opened storage: what the execution stage gets.
#[derive(Debug)]
pub struct Opened {
    /// The rest of the pipeline.
    pub engine: Engine,
    /// The pages, recovered: DB.
    pub store: PageStore,
    /// The group being filled.
    pub filling: OpenGroup,
    /// What recovery did.
    pub report: RecoveryReport,
}

/// Logging and checkpointing of an open database, in the process that opened it.
#[derive(Debug)]
pub struct Engine {
    disk: Arc<dyn Disk>,
    manifest: Manifest,
    commit: Arc<LogWriter>,
    checkpoint: Arc<CheckpointStage>,
    options: StorageOptions,
    supervisor: Arc<Supervisor>,
    threads: Vec<JoinHandle<()>>,
    closed: bool,
    shipped: Option<ShippedLog>,
    /// Taken only to be given back when all threads have ended.
    lock: Option<Box<dyn DiskLock>>,
}

impl Engine {
    /// Opens the database on a disk, or makes it.
    pub fn open(disk: Arc<dyn Disk>, options: StorageOptions) -> Result<Opened, OpenError> {
        if matches!(options.checkpoint, CheckpointPlace::Standby(_)) && !options.threaded {
            return Err(OpenError::StandbyWithoutThreads);
        }
        let lock = take_lock(&disk)?;
        let mut manifest = read_or_create(&disk, &options)?;
        let recovery = RecoveryOptions {
            memory_max_bytes: options.memory_bytes_max,
            workers: options.workers,
            dry_run: false,
        };
        let (recovered, needed_from) = recover_at(&options.checkpoint, &disk, &manifest, recovery)?;
        // Counted up and stable before anything is appended: leftovers of this log never chain.
        manifest.incarnation = manifest.incarnation.max(recovered.end.incarnation) + 1;
        manifest.log_end = recovered.end;
        manifest.write(&*disk)?;
        let parts = Parts {
            disk,
            manifest,
            options,
            lock,
        };
        let Recovered {
            store,
            checkpointers,
            end,
            report,
            ..
        } = recovered;
        let (engine, filling) = parts.assemble(checkpointers, end, needed_from)?;
        Ok(Opened {
            engine,
            store,
            filling,
            report,
        })
    }

    /// Starts the logging, preparing and checkpointing threads, or the one that carries the log to
    /// the standby. `source` is the execution stage.
    pub fn start(&mut self, source: Arc<dyn GroupSource>) {
        for n in 0..self.options.limits.depth {
            let (commit, source) = (self.commit.clone(), source.clone());
            self.spawn(format!("logging-{n}"), move || commit.run(&*source));
        }
        let (room, checkpoint) = (self.commit.room().clone(), self.checkpoint.clone());
        self.spawn("log-supply", move || room.run(&*checkpoint));
        for stripe in 0..self.checkpoint.stripes() {
            let checkpoint = self.checkpoint.clone();
            self.spawn(format!("checkpoint-{stripe}"), move || {
                checkpoint.run(stripe)
            });
        }
        self.checkpoint.settle_after_opening(self.commit.durable());
        if let CheckpointPlace::Standby(standby) = &self.options.checkpoint {
            let standby = standby.clone();
            let (disk, manifest) = (self.disk.clone(), self.manifest.clone());
            let log = ShippedLog::new(disk, manifest, self.commit.clone(), self.checkpoint.clone());
            self.shipped = Some(log.clone());
            self.spawn("standby", move || standby.run(&log));
        }
    }

    fn spawn(&mut self, name: impl Into<String>, body: impl FnOnce() + Send + 'static) {
        self.threads.push(self.supervisor.spawn(name, body));
    }

    /// What starts the database's threads, for those of the stages above, too: if one of them dies, the
    /// log is poisoned.
    pub fn supervisor(&self) -> &Arc<Supervisor> {
        &self.supervisor
    }

    /// Group commit.
    pub fn commit(&self) -> &Arc<LogWriter> {
        &self.commit
    }

    /// The checkpointing stage.
    pub fn checkpoint(&self) -> &Arc<CheckpointStage> {
        &self.checkpoint
    }

    /// The disk.
    pub fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    /// The manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The process that opened the database.
    pub fn process(&self) -> Process {
        self.commit.process()
    }

    /// In a forked child: forgets the threads, which are not there, and all that they share with this,
    /// whose locks may be taken for ever. It is memory only, and goes with the child.
    fn forget(&mut self) {
        self.threads.drain(..).for_each(std::mem::forget);
        std::mem::forget((self.commit.clone(), self.checkpoint.clone()));
    }

    /// Ends the log in order: leaves little to redo ([`CheckpointStage::settle`]), and records the
    /// durable log's end in the manifest, so that the next opening notices if log before it is lost. If
    /// that fails nothing is lost but this: the end that was recorded
    /// at the opening stays.
    pub fn record_end(&mut self) {
        let log_end = self.commit.durable();
        self.checkpoint
            .settle(log_end, self.options.closing_checkpoint);
        let manifest = Manifest {
            log_end,
            ..self.manifest.clone()
        };
        match manifest.write(&*self.disk) {
            Ok(()) => self.manifest = manifest,
            Err(error) => tracing::warn!(%error, "the log's end was not recorded"),
        }
    }

    /// Stops the threads; what was not made durable before is not. On one of them it does not wait for
    /// their end, but has a thread of its own do that, which then gives the database's lock back. In a
    /// forked child it does nothing.
    pub fn stop(&mut self) {
        if std::mem::replace(&mut self.closed, true) {
            return;
        }
        if !self.process().is_current() {
            return self.forget();
        }
        self.commit.close();
        self.checkpoint.close();
        self.commit.room().close();
        if let Some(log) = &self.shipped {
            log.close();
        }
        let own = self.supervisor.is_own_thread();
        let lock = if own { self.lock.take() } else { None };
        let ended = (std::mem::take(&mut self.threads), lock);
        self.supervisor.end(ended, own, |(threads, lock)| {
            supervisor::join(threads);
            drop(lock);
        });
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.stop();
    }
}

/// What an open database is assembled from.
struct Parts {
    disk: Arc<dyn Disk>,
    manifest: Manifest,
    options: StorageOptions,
    lock: Box<dyn DiskLock>,
}

impl Parts {
    fn assemble(
        self,
        checkpointers: Vec<Checkpointer>,
        end: LogPosition,
        needed_from: LogPosition,
    ) -> Result<(Engine, OpenGroup), OpenError> {
        let Parts {
            disk,
            manifest,
            options,
            lock,
        } = self;
        let layout = manifest.log_layout();
        let segments_max = options.segments_max(layout);
        let segments = Arc::new(Segments::open(
            disk.clone(),
            layout,
            needed_from.lsn,
            segments_max,
        )?);
        let room = Arc::new(SegmentSupply::new(segments.clone(), options.threaded));
        room.prepare_for_opening(end, options.segments_prepared(layout))?;
        let feeds: Vec<_> = checkpointers
            .iter()
            .map(|_| Arc::new(Feed::default()))
            .collect();
        let commit = Arc::new(LogWriter::new(
            segments.clone(),
            room.clone(),
            end,
            options.policy,
            options.limits,
            feeds.clone(),
            options.threaded,
        ));
        let interval = options.checkpoint_interval(layout);
        let checkpoint = Arc::new(match &options.checkpoint {
            CheckpointPlace::Local => {
                let threaded = options.threaded;
                CheckpointStage::new(checkpointers, feeds, segments, room, interval, threaded)
            }
            CheckpointPlace::Standby(_) => CheckpointStage::at_standby(needed_from, segments, room),
        });
        let sequencer = Sequencer::new(layout, manifest.incarnation, end);
        let filling = OpenGroup::new(sequencer, commit.clone());
        let (told, waiters) = (commit.clone(), checkpoint.clone());
        let supervisor = Supervisor::new(move |error| {
            waiters.give_up(&error);
            told.poison(error);
        });
        let engine = Engine {
            disk,
            manifest,
            commit,
            checkpoint,
            options,
            supervisor,
            threads: Vec::new(),
            closed: false,
            shipped: None,
            lock: Some(lock),
        };
        Ok((engine, filling))
    }
}

/// Recovers, and says from where the log is needed afterwards.
fn recover_at(
    place: &CheckpointPlace,
    disk: &Arc<dyn Disk>,
    manifest: &Manifest,
    options: RecoveryOptions,
) -> Result<(Recovered, LogPosition), OpenError> {
    let CheckpointPlace::Standby(standby) = place else {
        let recovered = recover(disk, manifest, options)?;
        let checkpointers = recovered.checkpointers.iter();
        let needed_from = checkpointers
            .map(|c| c.log_needed_from())
            .min()
            .unwrap_or(recovered.end);
        return Ok((recovered, needed_from));
    };
    match recover_locally(disk, manifest, options) {
        Ok(recovered) => {
            let needed_from = recovered.report.redo_start;
            Ok((recovered, needed_from))
        }
        Err(local @ (RecoveryError::LogFreed { .. } | RecoveryError::MissingBlock { .. })) => {
            let image = standby
                .fetch_image(manifest, options.memory_max_bytes)
                .map_err(|source| OpenError::Standby {
                    local: Box::new(local),
                    source,
                })?;
            Ok(recover_from_image(disk, manifest, image)?)
        }
        Err(error) => Err(error.into()),
    }
}

/// Takes the database's lock.
///
/// # Errors
/// [`OpenError::Locked`] if another process, or this one, has it.
pub fn take_lock(disk: &Arc<dyn Disk>) -> Result<Box<dyn DiskLock>, OpenError> {
    disk.lock(LOCK_FILE)?.ok_or_else(|| OpenError::Locked {
        file: disk.display_name(LOCK_FILE),
    })
}

/// The manifest of the database on a disk, which is made if there is none. The caller holds the lock.
pub(crate) fn read_or_create(
    disk: &Arc<dyn Disk>,
    options: &StorageOptions,
) -> Result<Manifest, OpenError> {
    let manifest = match Manifest::read(&**disk) {
        Ok(manifest) => manifest,
        Err(ManifestError::Absent { .. }) => create(disk, options)?,
        Err(error) => return Err(error.into()),
    };
    check_limits(options, manifest.segment_bytes)?;
    Ok(manifest)
}

fn create(disk: &Arc<dyn Disk>, options: &StorageOptions) -> Result<Manifest, OpenError> {
    let identity = options.identity.unwrap_or_else(system_random);
    let manifest = Manifest {
        segment_bytes: options.segment_bytes,
        block_bytes: options.block_bytes,
        stripes: options.stripes,
        journal: options.journal,
        ..Manifest::new(identity)
    };
    manifest.check()?;
    check_limits(options, manifest.segment_bytes)?;
    create_database(disk, &manifest)?;
    Ok(manifest)
}

/// Makes a new database of this manifest: the log's first segments, then the manifest. The caller
/// holds the lock.
///
/// # Errors
/// [`OpenError::ManifestLost`] if there are data on the disk.
pub fn create_database(disk: &Arc<dyn Disk>, manifest: &Manifest) -> Result<(), OpenError> {
    manifest.check()?;
    if let Some(evidence) = evidence_of_data(disk)? {
        return Err(OpenError::ManifestLost {
            file: disk.display_name(MANIFEST_FILE),
            evidence,
        });
    }
    // What an interrupted creation left may have another length.
    for name in disk.list(LOG_DIRECTORY)? {
        disk.remove(&format!("{LOG_DIRECTORY}/{name}"))?;
    }
    let layout = manifest.log_layout();
    let segments = Segments::open(disk.clone(), layout, LogPosition::START.lsn, 2)?;
    segments.prepare_next()?;
    segments.prepare_next()?;
    manifest.write(&**disk)?;
    Ok(())
}

/// Whether there was a database here: a backup, or a first log segment with a group in it.
fn evidence_of_data(disk: &Arc<dyn Disk>) -> Result<Option<String>, DiskError> {
    use crate::checkpoint::BACKUP_DIRECTORY;
    use crate::disk::{Access, AlignedBuffer, Create, DIRECT_ALIGNMENT};
    if let Some(name) = disk.list(BACKUP_DIRECTORY)?.first() {
        return Ok(Some(
            disk.display_name(&format!("{BACKUP_DIRECTORY}/{name}")),
        ));
    }
    for name in disk
        .list(LOG_DIRECTORY)?
        .iter()
        .filter(|name| name.ends_with(".log"))
    {
        let name = format!("{LOG_DIRECTORY}/{name}");
        let file = disk.open(&name, Access::Direct, Create::No)?;
        let mut start = AlignedBuffer::zeroed(DIRECT_ALIGNMENT);
        file.read_at(0, &mut start)?;
        if GroupHeader::decode(&start).is_some() || name > segment_file(1) {
            return Ok(Some(disk.display_name(&name)));
        }
    }
    Ok(None)
}

/// I10: whatever is admitted fits.
fn check_limits(options: &StorageOptions, segment_bytes: u64) -> Result<(), OpenError> {
    let limits = &options.limits;
    let check = |option, value: u64, good: bool, requirement| {
        if good {
            Ok(())
        } else {
            Err(OpenError::Option {
                option,
                value,
                requirement,
            })
        }
    };
    // What a program gives may be anything, so that no sum of it may be taken for one that fits.
    let group_most = (limits.group_bytes as u64)
        .saturating_add(limits.transaction_bytes as u64)
        .saturating_add(8192);
    check(
        "segment_bytes",
        segment_bytes,
        segment_bytes >= group_most,
        "a segment must hold a full group and the largest transaction (group_bytes + \
         transaction_bytes + 8192)",
    )?;
    check(
        "log_bytes_max",
        options.log_bytes_max,
        options.log_bytes_max >= segment_bytes.saturating_mul(4),
        "at least four segments",
    )?;
    check(
        "depth",
        limits.depth as u64,
        (1..=64).contains(&limits.depth),
        "1 to 64",
    )?;
    check(
        "buffers",
        limits.buffers as u64,
        limits.buffers >= limits.depth + 2,
        "at least two more than depth",
    )?;
    let GroupPolicy::Fixed { transactions, time } = options.policy else {
        return Ok(());
    };
    check(
        "group_policy time (in seconds)",
        time.as_secs(),
        transactions <= 1 || time <= TIME_PER_GROUP_MAX,
        "at most an hour, unless each transaction closes its group: a transaction alone waits so long",
    )
}

/// Whether there is a database on this disk.
pub fn exists(disk: &dyn Disk) -> Result<bool, DiskError> {
    Ok(disk.list("")?.iter().any(|name| name == MANIFEST_FILE))
}
