//! Opening a database for nodes: the first process recovers it into the memory that all share, the others join
//! (see [`sardonyx_storage::engine::open_first`]).
//!
//! The shared memory is the file of the global lock table, with the area behind it. It is named after the database's
//! identity and its directory. It is of no use when no process shares the database: then that is recovered from its
//! log, and the file made anew. A process holds an advisory lock on a place of its own behind those of the slots. By
//! these the last process knows that it is the last: it marks the log's end and removes the file.

use super::NodeError;
use super::close_member::Node;
use super::commit::CommitLog;
use super::gem::{Gem, PageBytes};
use super::imposed::ImposedTimes;
use super::layout::{AreaShape, RING_BYTES};
use super::observer::Observer;
use crate::lock_table::layout::NODES;
use crate::lock_table::{LockTableError, Segment, SegmentOptions};
use crate::protocol::UpdateStrategy;
use sardonyx_base::process::Process;
use sardonyx_base::shared_file::{give_locks_back, holder, place, places, take, unless_open};
use sardonyx_base::sync::futex::Mutex;
use sardonyx_storage::catalogue::unfinished;
use sardonyx_storage::disk::{Disk, RealDisk};
use sardonyx_storage::engine::{
    Driver, Election, FirstOpening, OpenError, SharedLock, SharedMemory, StorageOptions, join,
    lock_opening, open_first, record_end,
};
use sardonyx_storage::log::{LogLeader, LogState, SharedLogError};
use sardonyx_storage::manifest::Manifest;
use sardonyx_storage::page::PAGE_SIZE;
use sardonyx_storage::store::PageStore;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The number of times that the others may leave between two looks before that is an error.
const ATTEMPTS: u32 = 10;

/// Processes at once.
pub(super) const PROCESSES: usize = 256;

/// The beginning of the names of nodes' shared memories.
pub(super) const MEMORY_PREFIX: &str = "sardonyx-nodes-";

/// The options of nodes that share a database. Only the first process uses the options of the shared memory.
#[derive(Clone, Debug)]
pub struct NodeOptions {
    /// Pages of the database, at most: for so many there is shared memory.
    pub pages: u64,
    /// Nodes at once, 1 to 64.
    pub slots: usize,
    /// Bytes of redo on their way to the log and to the stored pages, at most.
    pub ring_bytes: usize,
    /// The place of the shared memory: a directory in a memory file system.
    pub shared_memory: PathBuf,
    /// When modified pages are stored. All nodes the same.
    pub update: UpdateStrategy,
    /// True if nodes are authorised to grant read locks themselves.
    pub read_authorisation: bool,
    /// Pages of a node's buffer.
    pub buffer_pages: usize,
    /// The time that another node's process may be stopped (SIGSTOP, a debugger) while this one waits. Then it is
    /// killed, and its locks are recovered. A process that runs is waited for as long as it takes.
    pub stopped_process_wait: Duration,
    /// Times of devices that are not there; for experiments.
    pub imposed: ImposedTimes,
    /// The observer of the pages that transactions refer to; none, unless set.
    pub observer: Option<Arc<dyn Observer>>,
    /// For the log of this node and the pages of all.
    pub storage: StorageOptions,
}

impl Default for NodeOptions {
    fn default() -> Self {
        NodeOptions {
            pages: 16 << 10,
            slots: 64,
            ring_bytes: RING_BYTES,
            shared_memory: "/dev/shm".into(),
            update: UpdateStrategy::Force,
            read_authorisation: true,
            buffer_pages: 1024,
            stopped_process_wait: Duration::from_secs(10),
            imposed: ImposedTimes::default(),
            observer: None,
            storage: StorageOptions::default(),
        }
    }
}

/// A database that this process shares with others, for nodes to join.
#[derive(Clone, Debug)]
pub struct Nodes {
    here: Arc<Here>,
}

/// This process' part.
#[derive(Debug)]
pub(super) struct Here {
    /// Stopped first: it uses the rest.
    election: Mutex<Option<Election>>,
    pub gem: Arc<Gem>,
    pub log: CommitLog,
    pub options: NodeOptions,
    /// The database's manifest.
    pub manifest: Manifest,
    pub process: Process,
    pub disk: Arc<dyn Disk>,
    path: PathBuf,
    lock: Mutex<Option<SharedLock>>,
}

impl Nodes {
    /// Opens a database for nodes, or makes it.
    ///
    /// # Errors
    /// [`NodeError::Open`], [`NodeError::OpenHere`], [`NodeError::NotHere`], [`NodeError::TooManyPages`] and
    /// those of the shared memory.
    pub fn open(directory: impl AsRef<Path>, options: NodeOptions) -> Result<Self, NodeError> {
        let directory = directory.as_ref();
        let disk: Arc<dyn Disk> = Arc::new(RealDisk::open(directory)?);
        let opening = lock_opening(&disk)?;
        for attempt in 1..=ATTEMPTS {
            let here = match open_first(&disk, &options.storage)? {
                Some(first) => Some(make(directory, first, &options)?),
                None => attach(&disk, directory, &options, attempt == ATTEMPTS)?,
            };
            if let Some(here) = here {
                drop(opening);
                return Ok(Nodes {
                    here: Arc::new(here),
                });
            }
        }
        Err(NodeError::NotHere {
            place: options.shared_memory.display().to_string(),
        })
    }

    /// Joins as a node, in the lowest slot that is free.
    ///
    /// # Errors
    /// [`NodeError::NoFreeSlot`], also while dead nodes are not recovered; [`NodeError::Table`].
    pub fn join(&self) -> Result<Node, NodeError> {
        let table = self.here.gem.segment().table();
        let slots = self.here.gem.shape().slots;
        let mut refused = NodeError::NoFreeSlot { slots };
        for slot in 0..slots {
            if table.is_joined(slot) || table.has_failed(slot) {
                continue;
            }
            match self.join_slot(slot) {
                // Another one was faster, or the slot is used up.
                Err(error @ NodeError::Table(_)) => refused = error,
                joined => return joined,
            }
        }
        Err(refused)
    }

    /// Joins as the node of a slot.
    ///
    /// # Errors
    /// [`NodeError::Table`]: the slot is another node's, or a dead one's that is not recovered yet.
    pub fn join_slot(&self, slot: usize) -> Result<Node, NodeError> {
        self.here.process.check()?;
        if slot >= self.here.gem.shape().slots {
            return Err(LockTableError::NoSlot { slot }.into());
        }
        let entries = self.here.gem.segment().join_node(slot)?;
        Node::start(self.here.clone(), entries)
    }

    /// The slots of the nodes that live, as far as is known.
    pub fn living(&self) -> Vec<usize> {
        self.here.gem.living().collect()
    }

    /// Pages that the nodes share.
    pub fn pages(&self) -> u64 {
        self.here.gem.shape().pages as u64
    }

    /// Has the backup brought up to date with everything durable now.
    ///
    /// # Errors
    /// [`NodeError::Log`]: the checkpointer has failed.
    pub fn checkpoint(&self) -> Result<(), NodeError> {
        Ok(self.here.gem.log_state().take_checkpoint()?)
    }
}

fn path_of(
    directory: &Path,
    manifest: &Manifest,
    options: &NodeOptions,
) -> Result<PathBuf, NodeError> {
    let found = std::fs::metadata(directory)
        .map_err(NodeError::system("look at the database's directory"))?;
    let (identity, device, inode) = (manifest.identity, found.dev(), found.ino());
    let name = format!("{MEMORY_PREFIX}{identity:016x}-{device:x}-{inode:x}");
    Ok(options.shared_memory.join(name))
}

fn segment_options(manifest: &Manifest, options: &NodeOptions) -> SegmentOptions {
    let entries = usize::try_from(options.pages).unwrap_or(usize::MAX);
    SegmentOptions {
        identity: manifest.identity,
        page_bytes: PAGE_SIZE as u64,
        entries,
        overflow: (entries / 4).max(4096),
    }
}

/// The shared memory of the recovered pages, with a log that ends there.
pub(super) fn make_memory(
    path: Option<&Path>,
    first: &mut FirstOpening,
    options: &NodeOptions,
) -> Result<Gem, NodeError> {
    unfinished::refuse_in_any(&mut first.store).map_err(|error| NodeError::System {
        operation: "share a database in which multi-level transactions have not ended",
        source: Arc::new(std::io::Error::other(error)),
    })?;
    // One more, so that one is free when nodes have died: a node that joins recovers them.
    let slots = match options.slots {
        slots @ 1..NODES => slots + 1,
        slots => slots,
    };
    let shape = AreaShape::new(options.pages, slots, options.ring_bytes)?;
    let pages = first.store.pages();
    if pages > shape.pages as u64 {
        let room = shape.pages as u64;
        return Err(NodeError::TooManyPages { pages, room });
    }
    let table = segment_options(&first.manifest, options);
    let mut made = None;
    Segment::create_with(path, table, shape.words(), |segment| {
        let gem = Gem::make(segment, shape)?;
        fill(&gem, &first.store)?;
        first.initialise(gem.log_state());
        made = Some(gem);
        Ok::<(), NodeError>(())
    })?;
    made.ok_or(NodeError::Damaged {
        what: "the shared memory that was just made",
    })
}

fn fill(gem: &Gem, store: &PageStore) -> Result<(), NodeError> {
    for page in store.touched().into_iter().flatten() {
        let start = page as usize * PAGE_SIZE;
        let bytes = store.bytes().get(start..start + PAGE_SIZE);
        if let Some(bytes) = bytes.and_then(|bytes| <&PageBytes>::try_from(bytes).ok()) {
            gem.fill_stored(page, bytes)?;
        }
    }
    Ok(())
}

fn make(
    directory: &Path,
    mut first: FirstOpening,
    options: &NodeOptions,
) -> Result<Here, NodeError> {
    let path = path_of(directory, &first.manifest, options)?;
    if let Ok(found) = std::fs::metadata(&path) {
        // No other process has it, or the database's lock would be taken.
        let removed = unless_open(found.dev(), found.ino(), || std::fs::remove_file(&path));
        let Some(removed) = removed else {
            return Err(open_here(directory));
        };
        removed.map_err(NodeError::system("remove the shared memory of dead nodes"))?;
    }
    let gem = make_memory(Some(&path), &mut first, options)?;
    let FirstOpening {
        manifest,
        driver,
        lock,
        disk,
        ..
    } = first;
    let lock = match lock.share() {
        Ok(lock) => lock,
        Err(error) => {
            let _ = std::fs::remove_file(&path);
            return Err(error.into());
        }
    };
    Here::start(disk, gem, &manifest, options, Some(driver), lock, path)
}

fn open_here(directory: &Path) -> NodeError {
    NodeError::OpenHere {
        place: directory.display().to_string(),
    }
}

/// Attaches to the shared memory of the others. `None` if they have left.
fn attach(
    disk: &Arc<dyn Disk>,
    directory: &Path,
    options: &NodeOptions,
    is_last: bool,
) -> Result<Option<Here>, NodeError> {
    let (manifest, lock, disk) = join(disk)?;
    let path = path_of(directory, &manifest, options)?;
    let Ok(found) = std::fs::metadata(&path) else {
        return match is_last {
            false => Ok(None),
            true => Err(NodeError::NotHere {
                place: path.display().to_string(),
            }),
        };
    };
    if unless_open(found.dev(), found.ino(), || ()).is_none() {
        return Err(open_here(directory));
    }
    let segment = Segment::join(&path, segment_options(&manifest, options))?;
    let gem = Gem::join(&segment)?;
    if gem.log_state().incarnation() != manifest.incarnation {
        return Ok(None);
    }
    let here = match Here::start(disk, gem, &manifest, options, None, lock, path) {
        // Another process removes it as a leftover, and so has all places of the processes.
        Err(NodeError::Open(error)) if !is_last && matches!(*error, OpenError::Locked { .. }) => {
            return Ok(None);
        }
        started => started?,
    };
    let named = rustix::fs::fstat(here.gem.segment().file());
    // It was removed just before this process took its place: no other process would find it.
    let is_named = named.is_ok_and(|found| found.st_nlink > 0);
    Ok(is_named.then_some(here))
}

/// The shared memory, as the election sees it.
#[derive(Debug)]
struct Published(Arc<Gem>);

impl SharedMemory for Published {
    fn log_state(&self) -> &LogState {
        self.0.log_state()
    }

    /// A publishing node waits until its frame is durable; recovery writes the published frames of a node that died.
    fn flush(&self) -> Result<(), SharedLogError> {
        Ok(())
    }
}

impl Here {
    fn start(
        disk: Arc<dyn Disk>,
        gem: Gem,
        manifest: &Manifest,
        options: &NodeOptions,
        driver: Option<Driver>,
        lock: SharedLock,
        path: PathBuf,
    ) -> Result<Self, NodeError> {
        let file = gem.segment().file();
        let mut all = (0..PROCESSES).map(|process| place(NODES + process));
        if !all.any(|place| take(file, place)) {
            return Err(OpenError::Locked {
                file: path.display().to_string(),
                holders: Vec::new(),
            }
            .into());
        }
        let gem = Arc::new(gem);
        let leader = LogLeader::new(disk.clone(), manifest, manifest.incarnation);
        let shared = Arc::new(Published(gem.clone()));
        let election = Election::start(
            disk.clone(),
            manifest.clone(),
            &options.storage,
            shared,
            driver,
        );
        Ok(Here {
            election: Mutex::new(Some(election)),
            gem,
            log: CommitLog::new(leader).imposing(options.imposed.log_write),
            options: options.clone(),
            manifest: manifest.clone(),
            process: Process::current(),
            disk,
            path,
            lock: Mutex::new(Some(lock)),
        })
    }

    /// The last one out marks the log's end and removes the shared memory.
    fn close(&self) -> Result<(), NodeError> {
        let opening = lock_opening(&self.disk);
        let file = self.gem.segment().file();
        give_locks_back(file, places(NODES, PROCESSES));
        let opening = match opening {
            Ok(opening) => opening,
            Err(error) => {
                // A removed directory lists as an empty one: its shared memory is not needed again.
                if self.disk.list("").is_ok_and(|files| files.is_empty())
                    && holder(file, places(0, NODES + PROCESSES)).is_none()
                {
                    let _ = std::fs::remove_file(&self.path);
                }
                return Err(error.into());
            }
        };
        // Released while no other process opens.
        let _lock = self.lock.lock().take();
        if holder(file, places(0, NODES + PROCESSES)).is_some() {
            return Ok(());
        }
        let ended = self.log.end(&self.gem);
        let recorded = ended.map_err(NodeError::from).and_then(|end| {
            let recorded = record_end(&self.disk, &opening, end);
            recorded.map_err(|error| NodeError::from(OpenError::from(error)))
        });
        let removed = std::fs::remove_file(&self.path);
        removed.map_err(NodeError::system("remove the nodes' shared memory"))?;
        recorded
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        let election = self.election.lock().take();
        if !self.process.is_current() {
            // The threads and the locks are the parent's.
            std::mem::forget(election);
            return;
        }
        drop(election);
        if let Err(error) = self.close() {
            tracing::error!(%error, "the database was not closed in order; it will be recovered");
        }
    }
}
