//! Opening a database, the same for every way of writing its log: the manifest, recovery, the records of it, and the
//! place from which the log is needed afterwards.
//!
//! A new database's manifest is written last, when the first log segments exist: a crash before that leaves nothing
//! acknowledged.
//!
//! Invariants: I5 (the incarnation is counted up, and stable, before anything is appended; a copy that follows clears
//! the bytes behind its log's end instead), I6.

use super::compacted;
use super::leftovers::clear_leftovers;
use super::options::check_limits;
use super::{LOCK_FILE, OpenError, StorageOptions, locked, marks};
use crate::checkpoint::{CheckpointPlace, Checkpointer, Checkpoints};
use crate::disk::{Disk, DiskError, DiskLock};
use crate::journal::JournalError;
use crate::log::LogPosition;
use crate::log::group::GroupHeader;
use crate::log::reader::group_before;
use crate::log::segment::{LOG_DIRECTORY, Segments};
use crate::manifest::{MANIFEST_FILE, Manifest, ManifestError};
use crate::places::{self, Directories, Hold, PlaceLocks};
use crate::recovery::{Recovered, recover, recover_kept, recover_without_copy};
use crate::recovery::{RecoveryError, RecoveryOptions, RecoveryReport};
use crate::remote_log::known::{Known, STORE_FILE};
use crate::store::PageStore;
use crate::stored::{ClosedAt, forget_others};
use sardonyx_base::random::system_random;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Between two looks for a lock that is waited for, at first and at most.
const LOCK_PAUSE_FIRST: Duration = Duration::from_millis(1);
const LOCK_PAUSE_MAX: Duration = Duration::from_millis(50);

/// The appender to the log of an open database.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Writers {
    /// The process that opened it.
    Alone,
    /// All processes that have it open.
    Shared,
    /// Another host, whose groups are received.
    Other,
}

/// A recovered database, of which nothing runs yet.
#[derive(Debug)]
pub(super) struct Ready {
    pub manifest: Manifest,
    pub store: PageStore,
    pub checkpointers: Vec<Checkpointer>,
    /// The log's end.
    pub end: LogPosition,
    /// The last group of the log of a copy that follows.
    pub last: Option<GroupHeader>,
    /// From where the log is needed.
    pub needed_from: LogPosition,
    pub report: RecoveryReport,
    /// All of the database, wherever its parts are.
    pub disk: Arc<dyn Disk>,
    /// The locks of the directories elsewhere.
    pub places: PlaceLocks,
    /// The clean close that left this very state, if one did.
    pub closed: Option<ClosedAt>,
    /// The record of the store's part of the log, if this was opened with what a host kept in memory. The log is kept
    /// from there on.
    pub recorded: Option<Known>,
}

/// Opens the database on a disk, its own directory, or makes it. The caller holds the lock, exclusively.
pub(super) fn open(
    home: &Arc<dyn Disk>,
    options: &StorageOptions,
    writers: Writers,
) -> Result<Ready, OpenError> {
    let (mut manifest, is_new) = match writers {
        Writers::Alone | Writers::Shared => read_or_create(home, options, writers)?,
        // Made only from a store: by `create_database`.
        Writers::Other => (Manifest::read(&**home)?, false),
    };
    // It is whole.
    marks::forget_mark(&**home)?;
    let (disk, places) = places::find(home, &manifest, &options.directories, Hold::Alone)?;
    let disk = &disk;
    compacted::finish(disk, &manifest, options.log_bytes_first)?;
    let known = Known::read(&**home)?;
    if known.is_some() && options.remote.is_none() {
        let file = home.display_name(STORE_FILE);
        return Err(OpenError::StoreMissing { file });
    }
    let recovery = RecoveryOptions {
        // Much of the mapped memory may never have been touched.
        sparse: writers == Writers::Shared,
        checkpoints: match writers {
            Writers::Alone => options.checkpoints,
            // Their groups come from elsewhere: there are no live pages here.
            Writers::Shared | Writers::Other => Checkpoints::FromCopy,
        },
        ..options.recovery()
    };
    let recovered = recover_at(disk, &manifest, options, recovery);
    let (recovered, mut needed_from, is_kept) = recovered.map_err(|error| match error {
        OpenError::Recovery(
            source @ (RecoveryError::LogEndsEarly { .. }
            | RecoveryError::Journal(JournalError::BeyondLog { .. })),
        ) if options.remote.is_some() => OpenError::StoreForked { source },
        error => error,
    })?;
    let end = recovered.end;
    let closed = (!is_new && manifest.log_end == end).then(|| ClosedAt::of(&manifest));
    // A new one was made with the incarnation of this opening.
    if !is_new {
        if writers != Writers::Other {
            // Counted up and stable before anything is appended: leftovers of this log never chain.
            manifest.incarnation = manifest.incarnation.max(end.incarnation) + 1;
        }
        manifest.log_end = end;
        manifest.write(&**disk)?;
        // The remains of a compaction that ended before or after it replaced the manifest.
        compacted::remove_other_backups(&**disk, &manifest)?;
    }
    forget_others(&**disk, closed);
    let mut last = None;
    if writers == Writers::Other {
        clear_leftovers(&**disk, manifest.log_layout(), end)?;
        last = group_before(&**disk, manifest.log_layout(), end)?;
        // By the last group this log is compared.
        needed_from = last.map_or(needed_from, |last| needed_from.min(last.position_before()));
    }
    if let Some(known) = &known {
        // From there on the log is compared with the store's.
        needed_from = needed_from.min(known.log);
    }
    let mut store = recovered.store;
    if writers == Writers::Alone && options.drive().has_threads() {
        store.start_backing_ahead();
    }
    Ok(Ready {
        manifest,
        store,
        checkpointers: recovered.checkpointers,
        end,
        last,
        needed_from,
        report: recovered.report,
        disk: disk.clone(),
        places,
        closed,
        recorded: known.filter(|_| is_kept),
    })
}

/// Recovers, and returns the place from which the log is needed afterwards, and whether a host kept the pages in memory.
fn recover_at(
    disk: &Arc<dyn Disk>,
    manifest: &Manifest,
    options: &StorageOptions,
    recovery: RecoveryOptions,
) -> Result<(Recovered, LogPosition, bool), OpenError> {
    match options.checkpoint {
        CheckpointPlace::Local => {
            let kept = options.kept.as_ref();
            let kept = kept.and_then(|kept| kept.take(manifest));
            let is_kept = kept.is_some();
            let recovered = match kept {
                Some((checkpointers, end)) => recover_kept(end, recovery, checkpointers)?,
                None => recover(disk, manifest, recovery)?,
            };
            let needed_from = needed_from(&recovered.checkpointers, recovered.end);
            Ok((recovered, needed_from, is_kept))
        }
        CheckpointPlace::Followers => {
            // Its memory is saved.
            options.forget_kept();
            let recovered = recover_without_copy(disk, manifest, recovery)?;
            let needed_from = recovered.report.redo_start;
            Ok((recovered, needed_from, false))
        }
    }
}

/// From where these need a log that ends at `end`.
#[inline]
pub(super) fn needed_from(checkpointers: &[Checkpointer], end: LogPosition) -> LogPosition {
    let needed = checkpointers.iter().map(Checkpointer::log_needed_from);
    needed.min().unwrap_or(end)
}

/// Records the durable log's end in the manifest, so that the next opening notices if log before it is
/// lost. If that fails nothing is lost but this: the end that was recorded at the opening stays.
///
/// # Errors
/// The errors of the manifest.
#[inline]
pub(super) fn record_end(
    disk: &dyn Disk,
    manifest: &Manifest,
    log_end: LogPosition,
) -> Result<Manifest, ManifestError> {
    let manifest = Manifest {
        log_end,
        ..manifest.clone()
    };
    manifest.write(disk)?;
    Ok(manifest)
}

/// Takes the database's lock, and waits for it at most so long.
///
/// # Errors
/// [`OpenError::Locked`] if another process, or this one, has it.
pub fn take_lock(disk: &Arc<dyn Disk>, wait: Duration) -> Result<Box<dyn DiskLock>, OpenError> {
    let take = || disk.lock(LOCK_FILE)?.ok_or_else(|| locked(&**disk));
    open_patiently(wait, take, |error| {
        matches!(error, OpenError::Locked { .. })
    })
}

/// Opens by `open`, and again while that finds the database locked, for at most `wait`. The release of a lock sends
/// no notification, so it is looked for, ever less often.
///
/// # Errors
/// The last error of `open`.
pub fn open_patiently<T, E>(
    wait: Duration,
    mut open: impl FnMut() -> Result<T, E>,
    is_locked: impl Fn(&E) -> bool,
) -> Result<T, E> {
    let began = Instant::now();
    let mut pause = LOCK_PAUSE_FIRST;
    loop {
        let outcome = open();
        let left = wait.saturating_sub(began.elapsed());
        match outcome {
            Err(error) if is_locked(&error) && !left.is_zero() => {
                std::thread::sleep(pause.min(left));
                pause = (2 * pause).min(LOCK_PAUSE_MAX);
            }
            outcome => return outcome,
        }
    }
}

/// The manifest of the database on a disk, and whether it was made now, since there was none. The caller
/// holds the lock.
fn read_or_create(
    disk: &Arc<dyn Disk>,
    options: &StorageOptions,
    writers: Writers,
) -> Result<(Manifest, bool), OpenError> {
    let (manifest, is_new) = match Manifest::read(&**disk) {
        Ok(manifest) => (manifest, false),
        Err(ManifestError::Absent { .. }) => (create(disk, options)?, true),
        Err(error) => return Err(error.into()),
    };
    let limits = match writers {
        // A process that writes alone uses the existing segments.
        Writers::Alone => options.limits.within(manifest.segment_bytes),
        Writers::Shared | Writers::Other => options.limits,
    };
    check_limits(options, &limits, manifest.segment_bytes)?;
    Ok((manifest, is_new))
}

/// The manifest of a database that these options make.
///
/// # Errors
/// [`OpenError::Option`] or [`OpenError::Manifest`] if there can be none.
pub fn new_manifest(options: &StorageOptions) -> Result<Manifest, OpenError> {
    let identity = options.identity.unwrap_or_else(system_random);
    let manifest = Manifest {
        segment_bytes: options.segment_bytes,
        block_bytes: options.block_bytes,
        stripes: options.stripes,
        journal: options.journal,
        incarnation: 1,
        ..Manifest::new(identity)
    };
    manifest.check()?;
    options.directories.check(manifest.stripes)?;
    check_limits(options, &options.limits, manifest.segment_bytes)?;
    Ok(manifest)
}

fn create(disk: &Arc<dyn Disk>, options: &StorageOptions) -> Result<Manifest, OpenError> {
    let manifest = new_manifest(options)?;
    create_database(
        disk,
        &manifest,
        &options.directories,
        options.log_bytes_first,
    )
}

/// Makes a new database of this manifest, with its parts in these directories: the log's first segment, of so many
/// bytes or whole, then the manifest. Returns the present manifest. The caller holds the lock.
///
/// # Errors
/// [`OpenError::ManifestLost`] if there are data on the disk; [`OpenError::Places`] if a directory cannot be
/// the database's.
pub fn create_database(
    disk: &Arc<dyn Disk>,
    manifest: &Manifest,
    directories: &Directories,
    log_bytes_first: u64,
) -> Result<Manifest, OpenError> {
    manifest.check()?;
    let (manifest, disk) = places::make(disk, manifest, directories)?;
    // The remains of an interrupted creation may have another length.
    for name in disk.list(LOG_DIRECTORY)? {
        disk.remove(&format!("{LOG_DIRECTORY}/{name}"))?;
    }
    let layout = manifest.log_layout();
    let start = LogPosition::START.lsn;
    let segments = Segments::open(disk.clone(), layout, start, 2)?.first_bytes(log_bytes_first);
    segments.prepare_next()?;
    if !segments.grows(start) {
        segments.prepare_next()?;
    }
    manifest.write(&*disk)?;
    Ok(manifest)
}

/// True if this disk has a database.
pub fn exists(disk: &dyn Disk) -> Result<bool, DiskError> {
    Ok(disk.list("")?.iter().any(|name| name == MANIFEST_FILE))
}
