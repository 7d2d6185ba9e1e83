//! Opening a database that several processes share, without a server: the first process recovers it, the
//! others join.
//!
//! The processes share memory (made by the code that runs transactions, not here). Committed transactions leave their
//! redo records in it, and it has the log's state ([`LogState`]). **The first waiting process writes for all:** it has
//! a lock that the dead do not keep. It takes everything that is published and not yet durable, and writes it as one
//! commit group ([`crate::log::LogLeader`]). If it is killed at any instruction, the next holder of the lock writes
//! that group again. One process at a time drives the work behind the log ([`super::Driver`], [`super::Election`]).
//!
//! The log, the backup and the manifest are those of every database, and so is recovery: such a directory opens with
//! [`super::Engine`], and the other way round.
//!
//! ```
//! use sardonyx_storage::engine::{StorageOptions, join, lock_opening, open_first};
//! use sardonyx_storage::disk::{Disk, Faults, SimulatedDisk};
//! use sardonyx_storage::log::seal::GroupBuilder;
//! use sardonyx_storage::page::Address;
//! use sardonyx_storage::log::{LogLeader, LogState};
//! use std::sync::Arc;
//!
//! let disk: Arc<dyn Disk> = Arc::new(SimulatedDisk::new(1, Faults::default()));
//! let options = StorageOptions { segment_bytes: 32 << 20, ..StorageOptions::default() };
//!
//! // The first process recovers, makes the shared memory, and lets the others in.
//! let opening = lock_opening(&disk)?;
//! let first = open_first(&disk, &options)?.expect("no process has it open");
//! let state = LogState::zeroed();
//! first.initialise(&state);
//! let (incarnation, manifest) = (first.incarnation(), first.manifest);
//! let _lock = first.lock.share()?;
//! drop(opening);
//!
//! // Another one joins, and writes for all.
//! let (joined, _other_lock, disk) = join(&disk)?;
//! assert_eq!(joined.incarnation, state.incarnation());
//! let mut leader = LogLeader::new(disk.clone(), &joined, joined.incarnation);
//! let mut records = GroupBuilder::with_capacity(4096);
//! records.push_write(Address(0), b"durable");
//! records.end_transaction();
//! let end = leader.write_group(&state, 1, &[records.payload()], 1)?;
//! assert_eq!((state.end().position, state.durable_tail()), (end, 1));
//! # assert_eq!((incarnation, manifest), (joined.incarnation, joined.clone()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Three advisory locks, all of which end with their holder:
//! - `LOCK`, the one of every way of opening: a process alone has it exclusively, the processes that share have it
//!   shared. So they never meet, and each gets [`OpenError::Locked`] for the other;
//! - `OPENING`, exclusive, held only while a process opens to share: one after the other. It is
//!   waited for ([`lock_opening`]);
//! - `CUSTODIAN`, see [`super::Election`].
//!
//! They belong to an opening of the file. A child that a process forks, and that does not run another program, keeps
//! its parent's locks alive for as long as it lives.
//!
//! The first takes `LOCK` exclusively, recovers, makes the shared memory, and then makes its lock a shared one. That
//! is not one step, so another process may slip in between. Not another sharer, because of `OPENING`. But a process
//! that opens alone may, and then sharing fails with [`OpenError::Locked`]. If it even had closed again by then, the
//! manifest's incarnation shows it, and that is the same error.

use super::driver::Driver;
use super::opening::{self, Ready, Writers};
use super::{LOCK_FILE, OPENING_FILE, OpenError, StorageOptions, locked};
use crate::checkpoint::CheckpointPlace;
use crate::disk::{Disk, DiskError, DiskLock};
use crate::log::{LogPosition, LogState};
use crate::manifest::{Manifest, ManifestError};
use crate::places::{self, Directories, Hold};
use crate::recovery::RecoveryReport;
use crate::store::PageStore;
use std::sync::Arc;

/// Held while a process opens the database to share it.
#[derive(Debug)]
pub struct OpeningLock {
    _lock: Box<dyn DiskLock>,
}

/// Held while a process shares the database.
#[derive(Debug)]
pub struct SharedLock {
    _lock: Box<dyn DiskLock>,
}

/// Held by the first process, until it lets the others in.
#[derive(Debug)]
pub struct FirstLock {
    lock: Box<dyn DiskLock>,
    disk: Arc<dyn Disk>,
    incarnation: u32,
}

/// The result for the first process: the recovered database.
#[derive(Debug)]
pub struct FirstOpening {
    /// The manifest, with the incarnation counted up for this opening.
    pub manifest: Manifest,
    /// The pages, recovered, in private memory.
    pub store: PageStore,
    /// The log's end.
    pub end: LogPosition,
    /// Recovery's report.
    pub report: RecoveryReport,
    /// All of the database, wherever its parts are.
    pub disk: Arc<dyn Disk>,
    /// The work behind the log, for this process's [`super::Election`].
    pub driver: Driver,
    /// The lock; [`FirstLock::share`] lets the others in.
    pub lock: FirstLock,
}

impl FirstOpening {
    /// The incarnation of this opening, for [`crate::log::LogLeader::new`].
    #[inline]
    pub fn incarnation(&self) -> u32 {
        self.manifest.incarnation
    }

    /// Writes the log's end, the incarnation, and the prepared end into fresh shared memory.
    #[inline]
    pub fn initialise(&self, state: &LogState) {
        state.initialise(self.end, self.incarnation());
        state.publish_prepared_end(self.driver.prepared_end());
        state.publish_complete_from(self.driver.complete_from().group);
    }
}

impl FirstLock {
    /// Lets the others in: the shared memory is ready.
    ///
    /// # Errors
    /// [`OpenError::Locked`] if a process that opens alone slipped in: this process has no lock any more, and its
    /// recovered state may be out of date.
    #[inline]
    pub fn share(mut self) -> Result<SharedLock, OpenError> {
        let shared = self.lock.share()?;
        if shared && Manifest::read(&*self.disk)?.incarnation == self.incarnation {
            return Ok(SharedLock { _lock: self.lock });
        }
        Err(locked(&*self.disk))
    }
}

/// Waits until no other process is about to open the database to share it. Held until
/// [`FirstLock::share`] or [`join`] is done and the shared memory is found or made.
///
/// # Errors
/// The disk's.
#[inline]
pub fn lock_opening(disk: &Arc<dyn Disk>) -> Result<OpeningLock, DiskError> {
    let lock = disk.lock_waiting(OPENING_FILE)?;
    Ok(OpeningLock { _lock: lock })
}

/// Opens the database as the first of the processes that share it: makes it if it is absent, and recovers it. The
/// caller holds [`lock_opening`]. `None`: others share it already; [`join`] them.
///
/// # Errors
/// [`OpenError::Locked`] if a process has it open alone; [`OpenError::FollowersWhileShared`];
/// [`OpenError::NoSnapshots`]; and the errors of opening a database.
#[inline]
pub fn open_first(
    disk: &Arc<dyn Disk>,
    options: &StorageOptions,
) -> Result<Option<FirstOpening>, OpenError> {
    if options.checkpoint == CheckpointPlace::Followers {
        return Err(OpenError::FollowersWhileShared);
    }
    options.refuse_snapshots("of a database that several processes share")?;
    if options.remote.is_some() {
        let reason =
            "several processes write the log of shared memory, and a store has one writer".into();
        return Err(OpenError::StoreImpossible { reason });
    }
    let Some(lock) = disk.lock(LOCK_FILE)? else {
        let joined = disk.lock_shared(LOCK_FILE)?;
        return joined.map(|_| None).ok_or_else(|| locked(&**disk));
    };
    let ready = opening::open(disk, options, Writers::Shared)?;
    let Ready {
        manifest,
        store,
        checkpointers,
        end,
        report,
        disk,
        places,
        ..
    } = ready;
    let driver = Driver::new(&disk, &manifest, options, checkpointers, end)?;
    driver.prepare(options.segments_prepared(manifest.log_layout()))?;
    let lock = FirstLock {
        lock: places.with(lock),
        disk: disk.clone(),
        incarnation: manifest.incarnation,
    };
    Ok(Some(FirstOpening {
        manifest,
        store,
        end,
        report,
        disk,
        driver,
        lock,
    }))
}

/// Joins the processes that share the database. The caller holds [`lock_opening`], and compares the manifest's
/// incarnation with [`LogState::incarnation`] of the shared memory that it finds. If they differ, the others ended and
/// a process opened the database alone meanwhile. Then it drops the lock and begins again with [`open_first`]. If they
/// are the same, it may continue even if the others ended just now. The disk is all of the database, with its parts in
/// any place.
///
/// # Errors
/// [`OpenError::Locked`] if a process has it open alone; [`OpenError::Absent`] if none exists.
#[inline]
pub fn join(home: &Arc<dyn Disk>) -> Result<(Manifest, SharedLock, Arc<dyn Disk>), OpenError> {
    let lock = home
        .lock_shared(LOCK_FILE)?
        .ok_or_else(|| locked(&**home))?;
    let manifest = match Manifest::read(&**home) {
        Ok(manifest) => manifest,
        Err(ManifestError::Absent { file }) => return Err(OpenError::Absent { file }),
        Err(error) => return Err(error.into()),
    };
    let (disk, places) = places::find(home, &manifest, &Directories::default(), Hold::Shared)?;
    let lock = SharedLock {
        _lock: places.with(lock),
    };
    Ok((manifest, lock, disk))
}

/// Records the durable log's end in the manifest, so that the next opening notices lost log before it. It is for the
/// last of the sharing processes, which closes the database in order and still shares it.
///
/// # Errors
/// The errors of the manifest. Nothing is lost then but this: the end that was recorded at the opening stays.
#[inline]
pub fn record_end(
    disk: &Arc<dyn Disk>,
    _opening: &OpeningLock,
    end: LogPosition,
) -> Result<(), ManifestError> {
    opening::record_end(&**disk, &Manifest::read(&**disk)?, end).map(|_| ())
}
