//! Opening a database as a segment: the first process recovers it into shared memory, the others
//! attach.
//!
//! The shared memory's file is named after the database's identity and its directory, so that a copy of a
//! database is another one. It is a leftover if no process shares the database. Then the database is
//! recovered from its directory, like any other, and the file is replaced.

use crate::error::SegmentError;
use crate::group::SharedLog;
use crate::here::Here;
use crate::leftovers;
use crate::options::ADDRESS_SPACE_BYTES_MAX;
use crate::process_state::{Policies, ProcessState, RingLog};
use crate::shared::region::{Region, RegionSize};
use sardonyx_base::process::Process;
use sardonyx_base::sync::futex::{Condvar, Mutex};
use sardonyx_storage::catalogue::unfinished;
use sardonyx_storage::disk::{Disk, RealDisk};
use sardonyx_storage::engine::{Driver, Election, FirstOpening, SharedLock, SharedMemory};
use sardonyx_storage::engine::{OpenError, StorageOptions};
use sardonyx_storage::engine::{join, lock_opening, open_first, open_patiently, record_end};
use sardonyx_storage::log::{LogLeader, LogState, SharedLogError};
use sardonyx_storage::manifest::Manifest;
use sardonyx_storage::page::{PAGE_SIZE, holds_anything};
use sardonyx_storage::recovery::RecoveryReport;
use sardonyx_storage::store::PageStore;
use std::collections::HashMap;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

/// The number of times that the others may leave between two looks before that is an error.
const ATTEMPTS: u32 = 10;

/// The parameters of opening a database.
pub(crate) struct Opening<'a> {
    pub directory: &'a Path,
    pub storage: &'a StorageOptions,
    pub size: RegionSize,
    /// True if a full database, or one that soon would be, gets more.
    pub makes_room: bool,
    pub shared_memory: &'a Path,
    pub policies: Policies,
}

/// The shared segments that this process has open: a second opening is another handle of the first, since
/// a process' advisory locks cannot tell two openings apart.
static OPEN: Mutex<Option<HashMap<PathBuf, Known>>> = Mutex::new(None);
/// One of them has ended.
static CLOSED: Condvar = Condvar::new();

/// A segment that this process has open, or is closing.
struct Known {
    state: Weak<ProcessState>,
    process: Process,
    /// Everything of it is closed.
    closed: Arc<AtomicBool>,
}

/// Wakes the openings that wait until a segment is closed.
fn wake() {
    // An opening that has looked already waits before this returns.
    drop(OPEN.lock());
    CLOSED.notify_all();
}

/// The process's open segment of a path, or else that which `open` opens. If it is being closed, that comes
/// first. Closing needs the lock that opening holds, and opening waits for the file of the shared memory to
/// be closed.
pub(crate) fn once(
    path: &Path,
    open: impl FnOnce() -> Result<ProcessState, SegmentError>,
) -> Result<Arc<ProcessState>, SegmentError> {
    let mut all = OPEN.lock();
    loop {
        let found = all.get_or_insert_default().get(path);
        let Some(known) = found.filter(|known| known.process.is_current()) else {
            break;
        };
        if let Some(state) = known.state.upgrade() {
            return Ok(state);
        }
        if known.closed.load(Ordering::SeqCst) {
            break;
        }
        CLOSED.wait(&mut all);
    }
    let mut state = open()?;
    let (process, closed) = (Process::current(), Arc::new(AtomicBool::new(false)));
    state.here = Some(Here {
        process,
        closed: closed.clone(),
        wake,
    });
    let state = Arc::new(state);
    let known = Known {
        state: Arc::downgrade(&state),
        process,
        closed,
    };
    all.get_or_insert_default().insert(path.to_owned(), known);
    Ok(state)
}

impl Opening<'_> {
    /// Opens the database, or makes it.
    pub(crate) fn open(self) -> Result<Arc<ProcessState>, SegmentError> {
        let disk = RealDisk::open(self.directory).map_err(OpenError::from)?;
        let directory =
            std::fs::canonicalize(self.directory).map_err(|source| SegmentError::System {
                operation: "find the database's directory",
                source,
            })?;
        let disk: Arc<dyn Disk> = Arc::new(disk);
        // Waits here, so that no other opening has to wait with it.
        let open = || once(&directory, || self.open_anew(disk.clone(), &directory));
        let is_locked =
            |error: &SegmentError| matches!(error, SegmentError::Open(OpenError::Locked { .. }));
        open_patiently(self.storage.wait_for_lock, open, is_locked)
    }

    fn open_anew(
        &self,
        disk: Arc<dyn Disk>,
        directory: &Path,
    ) -> Result<ProcessState, SegmentError> {
        let opening = lock_opening(&disk).map_err(OpenError::from)?;
        for attempt in 1..=ATTEMPTS {
            let parts = match open_first(&disk, self.storage)? {
                Some(first) => Some(self.make(directory, first)?),
                None => self.attach(&disk, directory, attempt == ATTEMPTS)?,
            };
            if let Some((region, durable)) = parts {
                drop(opening);
                return Ok(ProcessState::new(
                    region,
                    Some(Box::new(durable)),
                    self.policies.clone(),
                ));
            }
        }
        Err(SegmentError::Incompatible {
            place: directory.display().to_string(),
            reason: "other processes open and close it all the time; try again".into(),
        })
    }

    /// Makes the shared memory of the recovered pages.
    fn make(
        &self,
        directory: &Path,
        mut first: FirstOpening,
    ) -> Result<(Arc<Region>, Durable), SegmentError> {
        // To this way tables and areas are bytes; but not all bytes are there to stay.
        unfinished::refuse_in_any(&mut first.store).map_err(|error| {
            SegmentError::Incompatible {
                place: directory.display().to_string(),
                reason: error.to_string(),
            }
        })?;
        let path = self.path(directory, &first.manifest)?;
        leftovers::remove_durable(self.shared_memory);
        let mut size = self.size;
        if self.makes_room {
            let most = self.storage.memory_bytes_max.min(ADDRESS_SPACE_BYTES_MAX);
            size = size.with_room_for(first.store.pages()).at_most(most);
        }
        let region = Arc::new(Region::create(Some(&path), size, true)?);
        region.grow(first.store.pages())?;
        region.note_logged_pages(first.store.pages());
        fill(&region, &first.store)?;
        first.initialise(&region.control().log);
        let FirstOpening {
            manifest,
            driver,
            lock,
            report,
            disk,
            ..
        } = first;
        let lock = lock.share()?;
        region.give_name()?;
        let mut durable =
            Durable::start(&disk, &region, &manifest, self.storage, Some(driver), lock);
        durable.recovery = Some(report);
        Ok((region, durable))
    }

    /// Attaches to the shared memory of the others. `None` if they have left, or, before the last attempt,
    /// if their shared memory is missing: removed since they left, or somewhere else.
    fn attach(
        &self,
        disk: &Arc<dyn Disk>,
        directory: &Path,
        is_last: bool,
    ) -> Result<Option<(Arc<Region>, Durable)>, SegmentError> {
        let (manifest, lock, disk) = join(disk)?;
        let path = self.path(directory, &manifest)?;
        let Some(region) = Region::attach(&path)? else {
            if !is_last {
                return Ok(None);
            }
            return Err(SegmentError::Incompatible {
                place: path.display().to_string(),
                reason: "other processes have the database open, but their shared memory is not \
                         here; they must see the same directory for it (containers: share their \
                         IPC namespace, or name a common directory by the option `shared_memory`); \
                         or they have it open in another way, such as nodes: close it there first"
                    .into(),
            });
        };
        if region.control().log.incarnation() != manifest.incarnation {
            return Ok(None);
        }
        let region = Arc::new(region);
        let durable = Durable::start(&disk, &region, &manifest, self.storage, None, lock);
        Ok(Some((region, durable)))
    }

    fn path(&self, directory: &Path, manifest: &Manifest) -> Result<PathBuf, SegmentError> {
        let found = std::fs::metadata(directory).map_err(|source| SegmentError::System {
            operation: "look at the database's directory",
            source,
        })?;
        let (identity, device, inode) = (manifest.identity, found.dev(), found.ino());
        let prefix = leftovers::DATABASE;
        let name = format!("{prefix}{identity:016x}-{device:x}-{inode:x}");
        Ok(self.shared_memory.join(name))
    }
}

/// Gives the shared memory the recovered pages that are not zero, in runs.
fn fill(region: &Region, store: &PageStore) -> Result<(), SegmentError> {
    let bytes = |run: &Range<u64>| {
        let (start, end) = (run.start as usize, run.end as usize);
        &store.bytes()[start * PAGE_SIZE..end * PAGE_SIZE]
    };
    let used = |page: &u64| holds_anything(bytes(&(*page..page + 1)));
    let mut run = 0..0;
    for page in store.touched().into_iter().flatten().filter(used) {
        if page != run.end {
            region.fill(run.start, bytes(&run))?;
            run = page..page;
        }
        run.end = page + 1;
    }
    region.fill(run.start, bytes(&run))
}

/// The log of a process' state.
struct Durable {
    /// Stopped first: it uses the rest.
    election: Option<Election>,
    log: Arc<SharedLog>,
    region: Arc<Region>,
    disk: Arc<dyn Disk>,
    /// If this process recovered the database.
    recovery: Option<RecoveryReport>,
    _lock: SharedLock,
}

impl std::fmt::Debug for Durable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Durable")
            .field("disk", &self.disk)
            .finish_non_exhaustive()
    }
}

impl Durable {
    fn start(
        disk: &Arc<dyn Disk>,
        region: &Arc<Region>,
        manifest: &Manifest,
        options: &StorageOptions,
        driver: Option<Driver>,
        lock: SharedLock,
    ) -> Self {
        let leader = LogLeader::new(disk.clone(), manifest, manifest.incarnation);
        let log = Arc::new(SharedLog::new(leader, options.log_bytes_max));
        let shared = Arc::new(Published {
            region: region.clone(),
            log: log.clone(),
        });
        let election = Election::start(disk.clone(), manifest.clone(), options, shared, driver);
        Durable {
            election: Some(election),
            log,
            region: region.clone(),
            disk: disk.clone(),
            recovery: None,
            _lock: lock,
        }
    }

    /// The last process makes everything durable, marks the log's end and removes the shared memory. It does so also if
    /// that or the database's directory is of no use any more.
    fn close(&self) -> Result<(), SegmentError> {
        let opening = lock_opening(&self.disk).map_err(OpenError::from);
        self.region.leave();
        if self.region.has_others() {
            return Ok(opening.map(|_| ())?);
        }
        let closed = opening.map_err(SegmentError::from).and_then(|opening| {
            let end = self.log.close(&self.region)?;
            if let Err(error) = record_end(&self.disk, &opening, end) {
                tracing::warn!(%error, "the log's end was not recorded");
            }
            Ok(opening)
        });
        if let Some(path) = self.region.path() {
            let _ = std::fs::remove_file(path);
        }
        closed.map(|_| ())
    }
}

impl Drop for Durable {
    fn drop(&mut self) {
        if self.region.was_forked() {
            // The election's thread and the locks are the parent's.
            std::mem::forget(self.election.take());
            return;
        }
        // Published records are made durable while a process still makes room for them.
        let tail = self.region.control().tail.load(Ordering::SeqCst);
        if let Err(error) = self.log.wait(&self.region, tail) {
            tracing::error!(%error, "what was committed last may not be durable");
        }
        drop(self.election.take());
        if let Err(error) = self.close() {
            tracing::error!(%error, "the database was not closed in order; it will be recovered");
        }
    }
}

impl RingLog for Durable {
    fn recovery(&self) -> Option<&RecoveryReport> {
        self.recovery.as_ref()
    }

    fn wait(&self, region: &Region, position: u64) -> Result<(), SegmentError> {
        self.log.wait(region, position)
    }

    fn poll(&self, region: &Region, position: u64) -> Option<Result<(), SegmentError>> {
        self.log.poll(region, position)
    }

    fn admit(&self, region: &Region, records: usize) -> Result<(), SegmentError> {
        self.log.admit(region, records)
    }

    fn transaction_bytes_max(&self) -> u64 {
        self.log.transaction_bytes_max()
    }

    fn checkpoint(&self, region: &Region) -> Result<(), SegmentError> {
        let tail = region.control().tail.load(Ordering::SeqCst);
        self.log.wait(region, tail)?;
        self.log.checkpoint(region)
    }
}

/// The published records, as the driver sees them.
struct Published {
    region: Arc<Region>,
    log: Arc<SharedLog>,
}

impl SharedMemory for Published {
    fn log_state(&self) -> &LogState {
        &self.region.control().log
    }

    fn flush(&self) -> Result<(), SharedLogError> {
        self.log.flush(&self.region)
    }
}
