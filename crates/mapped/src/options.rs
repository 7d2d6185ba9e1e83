//! The options of opening a segment.

use crate::error::SegmentError;
use crate::mechanism::MechanismKind;
use crate::opening::{Opening, once};
use crate::process_state::{Policies, ProcessState, SlowReaderCallback};
use crate::segment::Segment;
use crate::shared::control::SLOTS;
use crate::shared::region::{Region, RegionSize};
use crate::shared::stopped::{LockWaits, StoppedCallback, StoppedProcess};
use crate::shared::versions::SlowReader;
use sardonyx_storage::engine::{OpenError, StorageOptions};
use sardonyx_storage::log::group::PAYLOAD_BYTES_MAX;
use sardonyx_storage::page::PAGE_SIZE;
use sardonyx_storage::places::PlacesError;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The least ring.
const RING_BYTES_MIN: u64 = 2 << 20;

/// The largest ring. A power of two.
const RING_BYTES_MAX: u64 = 1 << 40;

/// Segments that a log has beside those of a transaction that was asked for: one that is half full, and
/// those before and after it.
const SEGMENTS_BESIDE: u64 = 4;

/// The most that a segment can have.
pub(crate) const ADDRESS_SPACE_BYTES_MAX: u64 = ADDRESSABLE_BYTES / 2;

/// The address space of a process, with page tables of four levels.
const ADDRESSABLE_BYTES: u64 = 128 << 40;

/// The most that a segment can have unless chosen: every view, the shared memory and the checkpoints' copies each take
/// as much of the process' address space. With this size, all sessions of a segment fit into the 128 TiB that a process
/// can address. A quarter is left for all else.
fn usual_address_space() -> u64 {
    const USUAL: u64 = 96 << 30;
    const _: () = assert!(USUAL * SLOTS as u64 <= ADDRESSABLE_BYTES / 4 * 3);
    let limit = rustix::process::getrlimit(rustix::process::Resource::As).current;
    limit.map_or(USUAL, |bytes| USUAL.min(bytes / 16))
}

/// The options of opening a segment. Start with [`Options::new`].
#[derive(Clone)]
pub struct Options {
    mechanism: MechanismKind,
    ready_for_system_calls: bool,
    versions_bytes: u64,
    transaction_bytes: u64,
    address_space_bytes: Option<u64>,
    lock_in_memory: bool,
    shared_memory: PathBuf,
    slow_reader_wait: Duration,
    slow_reader: Option<SlowReaderCallback>,
    stopped_process_wait: Duration,
    stopped_process: Option<StoppedCallback>,
    storage: StorageOptions,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            mechanism: MechanismKind::Best,
            ready_for_system_calls: false,
            versions_bytes: 64 << 20,
            transaction_bytes: 0,
            address_space_bytes: None,
            lock_in_memory: false,
            shared_memory: "/dev/shm".into(),
            slow_reader_wait: Duration::from_secs(10),
            slow_reader: None,
            stopped_process_wait: LockWaits::WAIT,
            stopped_process: None,
            storage: StorageOptions::default(),
        }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("mechanism", &self.mechanism)
            .field("ready_for_system_calls", &self.ready_for_system_calls)
            .field("versions_bytes", &self.versions_bytes)
            .field("transaction_bytes", &self.transaction_bytes)
            .field("address_space_bytes", &self.address_space_bytes)
            .field("shared_memory", &self.shared_memory)
            .finish_non_exhaustive()
    }
}

impl Options {
    /// The defaults: the best mechanism, 64 MiB of versions, 96 GiB of address space.
    pub fn new() -> Self {
        Self::default()
    }

    /// The mechanism that detects the pages that transactions touch.
    pub fn mechanism(mut self, mechanism: MechanismKind) -> Self {
        self.mechanism = mechanism;
        self
    }

    /// Sets that system calls can read from the memory (`write(2)` and `send(2)` from it) without an earlier
    /// [`Transaction::touch`](crate::Transaction::touch). They cannot make a page right that was changed by
    /// others, and fail with `EFAULT` there. False by default.
    ///
    /// In snapshots and other transactions that only read they always can. With this, they can in transactions
    /// that write, too, and outside of transactions. Some pages were changed by others so lately that a running
    /// transaction does not see it; these are brought up to date when a transaction begins. That costs a copy of
    /// each, and they count as read: the transaction conflicts if they are changed again. Under the
    /// [`Signal`](MechanismKind::Signal) mechanism a transaction that writes has to touch its pages
    /// nevertheless.
    pub fn ready_for_system_calls(mut self, ready: bool) -> Self {
        self.ready_for_system_calls = ready;
        self
    }

    /// Bytes of redo records kept in memory: for snapshots that are older than the last commit, and for the log. A
    /// transaction whose records would take more than a quarter keeps them in memory of its own, until they are durable
    /// and in every snapshot. Rounded up to a power of two; at most 1 TiB. It counts when the shared memory is made.
    pub fn versions_bytes(mut self, bytes: u64) -> Self {
        self.versions_bytes = bytes;
        self
    }

    /// The most bytes of redo records that a transaction of this process may have: its changed bytes, and 8 bytes for
    /// each range of consecutive changed bytes. Unless chosen, as much as there is memory for, and the log can take:
    /// its largest size (the storage's `log_bytes_max`, 2 GiB unless chosen) but for two segments. At most 4 GiB less
    /// a page.
    ///
    /// If a chosen bound is larger than the log can take, it raises `log_bytes_max` for this opening. While such
    /// a transaction commits, its records are in memory beside the pages. They are once in shared memory and,
    /// for a moment, where the checkpoints are taken; other commits wait for it.
    pub fn transaction_bytes(mut self, bytes: u64) -> Self {
        self.transaction_bytes = bytes;
        self
    }

    /// The most bytes that the segment can have. Address space only: every view reserves as much; at most 64 TiB.
    /// Unless chosen: 96 GiB, so that one process can have all 1,024 sessions. It is twice the present size of a
    /// database, if that is more; or a sixteenth of the process's limit (`ulimit -v`), if that is less. It counts when
    /// the shared memory is made. A database has no more than its storage's `memory_bytes_max` either: a growth that
    /// the checkpoints could not take in is refused.
    pub fn address_space_bytes(mut self, bytes: u64) -> Self {
        self.address_space_bytes = Some(bytes);
        self
    }

    /// Sets that all of the segment is locked in memory, and so takes its whole length. False by default. Only
    /// the [asynchronous](MechanismKind::Asynchronous) mechanism needs it, where the kernel may take away pages
    /// that were read: where there is swap, or DAMON, it does so in any case. Request it if swap is turned on
    /// later, or if another program asks the kernel to take pages away (`MADV_PAGEOUT`).
    pub fn lock_in_memory(mut self, lock: bool) -> Self {
        self.lock_in_memory = lock;
        self
    }

    /// The place of the shared memory's file: a directory in a memory file system.
    pub fn shared_memory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.shared_memory = directory.into();
        self
    }

    /// The time that a writer waits when a snapshot keeps all versions for which the memory has room. Then it
    /// gets [`SegmentError::SlowReader`].
    pub fn slow_reader_wait(mut self, wait: Duration) -> Self {
        self.slow_reader_wait = wait;
        self
    }

    /// The callback for a snapshot that keeps many old versions, and is asked to release them, and for a writer
    /// that waits for one. Called by the writer, in its commit: it must be quick and must not use the segment.
    pub fn on_slow_reader(mut self, told: impl Fn(&SlowReader) + Send + Sync + 'static) -> Self {
        self.slow_reader = Some(Arc::new(told));
        self
    }

    /// The time that a thread waits for a lock of a stopped process (SIGSTOP, a debugger). Then it gets
    /// [`SegmentError::ProcessStopped`], or [`SegmentError::NotDurableYet`] if it has committed. 10 s by
    /// default. A process that runs is waited for as long as it takes.
    pub fn stopped_process_wait(mut self, wait: Duration) -> Self {
        self.stopped_process_wait = wait;
        self
    }

    /// The callback for a stopped process that a thread of this one waits for: some milliseconds after the
    /// thread began to wait. Called by that thread, in its commit or in its wait for durability: it must be
    /// quick and must not use the segment.
    pub fn on_stopped_process(
        mut self,
        told: impl Fn(&StoppedProcess) + Send + Sync + 'static,
    ) -> Self {
        self.stopped_process = Some(Arc::new(told));
        self
    }

    /// The options of the log, the checkpoints and recovery.
    pub fn storage(mut self, storage: StorageOptions) -> Self {
        self.storage = storage;
        self
    }

    /// The place of a new database's log, or the new place of an old one's: a directory on a disk of its own.
    /// Unless chosen it is in the database's. One of the storage's options.
    pub fn log_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.storage.directories.log = Some(directory.into());
        self
    }

    /// The same for the backup.
    pub fn backup_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.storage.directories.backup = vec![directory.into()];
        self
    }

    /// A segment without a log has nothing to put anywhere.
    fn check_without_log(&self) -> Result<(), OpenError> {
        let directories = &self.storage.directories;
        match directories.log.iter().chain(&directories.backup).next() {
            None => Ok(()),
            Some(path) => Err(PlacesError::Path {
                path: path.clone(),
                why: "a segment without a log has none",
            }
            .into()),
        }
    }

    fn size(&self) -> Result<RegionSize, SegmentError> {
        let check = |option, value: u64, most, requirement| match value <= most {
            true => Ok(value),
            false => Err(OpenError::Option {
                option,
                value,
                requirement,
            }),
        };
        let versions_bytes = check(
            "versions_bytes",
            self.versions_bytes,
            RING_BYTES_MAX,
            "at most 1 TiB",
        )?;
        let bytes = check(
            "address_space_bytes",
            self.address_space_bytes.unwrap_or_else(usual_address_space),
            ADDRESS_SPACE_BYTES_MAX,
            "at most 64 TiB, half of what a process can address",
        )?;
        check(
            "transaction_bytes",
            self.transaction_bytes,
            PAYLOAD_BYTES_MAX,
            "at most 4 GiB less a page",
        )?;
        Ok(RegionSize {
            ring_bytes: versions_bytes.max(RING_BYTES_MIN).next_power_of_two(),
            pages_max: bytes.div_ceil(PAGE_SIZE as u64).max(1),
        })
    }

    /// The storage's options, adapted to the log that transactions of the requested size need.
    fn storage_options(&self) -> StorageOptions {
        let mut storage = self.storage.clone();
        if self.transaction_bytes > 0 {
            let beside = SEGMENTS_BESIDE.saturating_mul(storage.segment_bytes);
            let needed = self.transaction_bytes.saturating_add(beside);
            storage.log_bytes_max = storage.log_bytes_max.max(needed);
        }
        storage
    }

    fn policies(&self) -> Policies {
        Policies {
            lock_in_memory: self.lock_in_memory,
            transaction_bytes: match self.transaction_bytes {
                0 => u64::MAX,
                chosen => chosen,
            },
            slow_reader_wait: self.slow_reader_wait,
            slow_reader: self.slow_reader.clone(),
            stopped_process_wait: self.stopped_process_wait,
            stopped_process: self.stopped_process.clone(),
        }
    }

    fn assemble(&self, state: Arc<ProcessState>, mechanism: MechanismKind) -> Segment {
        Segment::assemble(state, mechanism, self.ready_for_system_calls)
    }

    /// A segment that only this process has, without a log.
    pub fn open_private(&self) -> Result<Segment, SegmentError> {
        self.check_without_log()?;
        let mechanism = self.mechanism.resolve()?;
        let region = Arc::new(Region::create(None, self.size()?, false)?);
        let state = ProcessState::new(region, None, self.policies());
        Ok(self.assemble(Arc::new(state), mechanism))
    }

    /// A segment without a log, shared by name: it is there as long as a process has it open.
    pub fn open_volatile(&self, name: &str) -> Result<Segment, SegmentError> {
        self.check_without_log()?;
        let mechanism = self.mechanism.resolve()?;
        let size = self.size()?;
        let path = self.shared_memory.join(name);
        let state = once(&path, || {
            let region = Region::attach_or_create(&path, size)?;
            Ok(ProcessState::new(Arc::new(region), None, self.policies()))
        })?;
        Ok(self.assemble(state, mechanism))
    }

    /// The database in a directory, which is made if there is none. Several processes can have it open
    /// at once; the first one recovers it.
    ///
    /// # Errors
    /// [`SegmentError::Open`] if it cannot be opened; [`SegmentError::Incompatible`] if the shared
    /// memory of the others cannot be used.
    pub fn open(&self, directory: impl AsRef<Path>) -> Result<Segment, SegmentError> {
        let mechanism = self.mechanism.resolve()?;
        let opening = Opening {
            directory: directory.as_ref(),
            storage: &self.storage_options(),
            size: self.size()?.at_most(self.storage.memory_bytes_max),
            makes_room: self.address_space_bytes.is_none(),
            shared_memory: &self.shared_memory,
            policies: self.policies(),
        };
        Ok(self.assemble(opening.open()?, mechanism))
    }
}
