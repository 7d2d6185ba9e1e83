//! The file of the global lock table: a memfd, a file in a memory file system, or one on memory that hosts
//! share (DAX). The first node makes it, and the others join it.
//!
//! It is made without a name and gets its own when it is whole. Its head says version, database, page size and sizes,
//! under a check; a joining node checks all of it and the file's length before anything is mapped. A node holds the
//! advisory lock on its slot as long as its process lives (see [`sardonyx_base::shared_file`]). So others see its death
//! at once, however it died.

use super::layout::{
    CELLS_MAX, HEAD_AREA, HEAD_CELLS, HEAD_CHECK, HEAD_DIRECTORY, HEAD_IDENTITY, HEAD_MAGIC,
    HEAD_PAGE_BYTES, HEAD_READ, HEAD_VERSION, MAGIC, NODES, RESERVE, SLOT_PROCESS, VERSION,
    checksum,
};
use super::table::{FAILED, FREE};
use super::{LockTable, LockTableError, Shape, TableNode};
use crate::protocol::{Entry, EntryStore, NodeId, PageId};
use rustix::fs::{MemfdFlags, Mode, OFlags};
use rustix::io::Errno;
use sardonyx_base::shared_file::{SharedFile, allocate, give_locks_back, give_name, holder};
use sardonyx_base::shared_file::{nameless, place, take};
use sardonyx_base::shared_words::SharedWords;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The most words of an area behind a table: 4 TiB.
const AREA_WORDS_MAX: usize = 1 << 39;

/// The purpose and the size of a global lock table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SegmentOptions {
    /// The database's identity.
    pub identity: u64,
    /// The page size of the database.
    pub page_bytes: u64,
    /// Pages that may ever be locked; 88 to 104 bytes each. Only the node that makes the table uses it.
    pub entries: usize,
    /// Overflow cells of 64 bytes, for entries with more than three owners. Only the node that makes the table uses
    /// it.
    pub overflow: usize,
}

/// The global lock table in a file that processes share. One process opens a file once: if it has it open
/// already, [`Segment::join`] waits until that is dropped.
#[derive(Clone, Debug)]
pub struct Segment {
    table: Arc<LockTable<SharedWords>>,
    /// Words of the area behind the table.
    area: usize,
}

/// A node on the table: dropped without [`Node::leave`], it is taken for dead.
#[derive(Debug)]
pub struct Node {
    node: Option<TableNode<SharedWords>>,
    segment: Segment,
    slot: usize,
}

impl Segment {
    /// Makes a table. With a path, others can join it there; without, by `/proc/PID/fd` or a descriptor.
    ///
    /// # Errors
    /// [`LockTableError::Size`]; [`LockTableError::System`], among others if the path exists.
    pub fn create(path: Option<&Path>, options: SegmentOptions) -> Result<Self, LockTableError> {
        Self::create_with(path, options, 0, |_| Ok(()))
    }

    /// As [`Segment::create`], with an area of so many words for other uses, which `fill` fills before another
    /// node can join.
    ///
    /// # Errors
    /// The errors of [`Segment::create`] and of `fill`.
    pub fn create_with<E: From<LockTableError>>(
        path: Option<&Path>,
        options: SegmentOptions,
        area: usize,
        fill: impl FnOnce(&Segment) -> Result<(), E>,
    ) -> Result<Self, E> {
        let segment = Self::make(path, options, area)?;
        fill(&segment)?;
        if let Some(path) = path {
            give_name(segment.table.words().file(), path)
                .map_err(LockTableError::system("name the global lock table's file"))?;
        }
        Ok(segment)
    }

    /// The file without a name.
    fn make(
        path: Option<&Path>,
        options: SegmentOptions,
        area: usize,
    ) -> Result<Self, LockTableError> {
        let SegmentOptions {
            entries, overflow, ..
        } = options;
        let shape = Shape::new(entries, overflow).ok_or(LockTableError::Size {
            asked: entries.saturating_add(overflow),
            limit: CELLS_MAX - NODES * RESERVE,
        })?;
        let file = match path {
            Some(path) => nameless(path),
            None => rustix::fs::memfd_create("sardonyx-lock-table", MemfdFlags::CLOEXEC),
        };
        let file = file.map_err(LockTableError::system("make the global lock table's file"))?;
        let file = SharedFile::new(file).map_err(LockTableError::system(
            "look at the global lock table's file",
        ))?;
        let bytes = shape.words_with(area) as u64 * 8;
        rustix::fs::ftruncate(&file, bytes)
            .and_then(|()| allocate(&file, 0, bytes))
            .map_err(LockTableError::system("give the global lock table memory"))?;
        let segment = Self::map(file, shape, area)?;
        let words = segment.table.words();
        for (at, word) in [
            (HEAD_MAGIC, MAGIC),
            (HEAD_VERSION, VERSION),
            (HEAD_IDENTITY, options.identity),
            (HEAD_PAGE_BYTES, options.page_bytes),
            (HEAD_DIRECTORY, shape.directory as u64),
            (HEAD_CELLS, shape.cells as u64),
            (HEAD_AREA, area as u64),
        ] {
            words[at].store(word, Ordering::Relaxed);
        }
        let head: Vec<u64> = (0..HEAD_CHECK)
            .map(|at| words[at].load(Ordering::Relaxed))
            .collect();
        words[HEAD_CHECK].store(checksum(MAGIC, &head), Ordering::Release);
        Ok(segment)
    }

    fn map(file: SharedFile, shape: Shape, area: usize) -> Result<Self, LockTableError> {
        let words = SharedWords::map(file, shape.words_with(area))
            .map_err(LockTableError::system("map the global lock table"))?;
        let table = Arc::new(LockTable::new(words, shape));
        Ok(Segment { table, area })
    }

    /// Joins the table at a path. Its sizes are those that it was made with.
    ///
    /// # Errors
    /// [`LockTableError::Foreign`], [`LockTableError::Version`], [`LockTableError::Database`],
    /// [`LockTableError::PageSize`], [`LockTableError::Damaged`], [`LockTableError::System`].
    pub fn join(path: &Path, options: SegmentOptions) -> Result<Self, LockTableError> {
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let file = rustix::fs::open(path, flags, Mode::empty())
            .map_err(LockTableError::system("open the global lock table"))?;
        Self::join_file(file, &path.display().to_string(), options)
    }

    /// Joins the table in this file, which was inherited or received; `name` is for messages.
    ///
    /// # Errors
    /// As [`Segment::join`].
    pub fn join_file(
        file: OwnedFd,
        name: &str,
        options: SegmentOptions,
    ) -> Result<Self, LockTableError> {
        let file = SharedFile::new(file).map_err(LockTableError::system(
            "look at the global lock table's file",
        ))?;
        let (shape, area) = read_head(&file, name, options)?;
        Self::map(file, shape, area)
    }

    /// The area behind the table: empty, if it was made without one.
    #[inline]
    pub fn area(&self) -> &[AtomicU64] {
        let start = self.table.shape().area();
        self.table
            .words()
            .get(start..start + self.area)
            .unwrap_or_default()
    }

    /// The table, for uses without a node.
    pub fn table(&self) -> &LockTable<SharedWords> {
        &self.table
    }

    /// The file's descriptor, for `/proc/PID/fd`.
    pub fn descriptor(&self) -> i32 {
        self.file().as_raw_fd()
    }

    pub(crate) fn file(&self) -> &OwnedFd {
        self.table.words().file()
    }

    /// Takes a slot for a node of this process.
    ///
    /// # Errors
    /// [`LockTableError::NoSlot`]; [`LockTableError::SlotTaken`], also while a dead node's locks are not
    /// recovered; [`LockTableError::SlotUsedUp`].
    pub fn join_node(&self, slot: usize) -> Result<Node, LockTableError> {
        if slot >= NODES {
            return Err(LockTableError::NoSlot { slot });
        }
        let taken = || LockTableError::SlotTaken {
            slot,
            process: self.process_of(slot),
        };
        // A process' own lock does not keep it out; the slot's state does.
        let (_, state) = self.table.slot_state(slot);
        if state != FREE || !take(self.file(), place(slot)) {
            return Err(taken());
        }
        let process = u64::from(std::process::id());
        self.table
            .slot(slot, SLOT_PROCESS)
            .store(process, Ordering::Release);
        let node = match TableNode::join(self.table.clone(), slot) {
            Err(LockTableError::SlotTaken { .. }) => return Err(taken()),
            joined => joined?,
        };
        Ok(Node {
            node: Some(node),
            segment: self.clone(),
            slot,
        })
    }

    /// The process that has or had a slot, as it numbers itself.
    pub fn process_of(&self, slot: usize) -> u32 {
        self.table.slot(slot, SLOT_PROCESS).load(Ordering::Acquire) as u32
    }

    /// Looks for nodes whose processes are dead, and marks them as [failed](LockTable::fail). Returns all
    /// that have failed and are not forgotten.
    pub fn find_dead(&self) -> Vec<NodeId> {
        let own = std::process::id();
        let mut dead = Vec::new();
        for node in self.table.nodes() {
            let slot = usize::from(node.0) % NODES;
            let (_, state) = self.table.slot_state(slot);
            if state == FREE {
                continue;
            }
            let lives = state != FAILED
                && (self.process_of(slot) == own || holder(self.file(), place(slot)).is_some());
            if !lives {
                self.table.fail(node);
                // It may have left meanwhile.
                if self.table.slot_of(node).is_ok() {
                    dead.push(node);
                }
            }
        }
        dead
    }
}

/// Checks the head and the length of a file.
fn read_head(
    file: &OwnedFd,
    name: &str,
    options: SegmentOptions,
) -> Result<(Shape, usize), LockTableError> {
    let place = || name.to_owned();
    let mut bytes = [0; HEAD_READ * 8];
    let read = rustix::io::retry_on_intr(|| rustix::io::pread(file, &mut bytes, 0));
    let read = match read {
        Err(Errno::ISDIR) => 0,
        read => read.map_err(LockTableError::system("read the global lock table's head"))?,
    };
    let mut words = [0; HEAD_READ];
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_ne_bytes(*bytes);
    }
    if read < bytes.len() || words[HEAD_MAGIC] != MAGIC {
        return Err(LockTableError::Foreign { place: place() });
    }
    let damaged = |reason: &str| LockTableError::Damaged {
        place: place(),
        reason: reason.to_owned(),
    };
    // Another version may have another check.
    if words[HEAD_VERSION] != VERSION {
        return Err(LockTableError::Version {
            place: place(),
            found: words[HEAD_VERSION],
            expected: VERSION,
        });
    }
    if words[HEAD_CHECK] != checksum(MAGIC, &words[..HEAD_CHECK]) {
        return Err(damaged("its head is not as it was written"));
    }
    if words[HEAD_IDENTITY] != options.identity {
        return Err(LockTableError::Database {
            place: place(),
            found: words[HEAD_IDENTITY],
            expected: options.identity,
        });
    }
    if words[HEAD_PAGE_BYTES] != options.page_bytes {
        return Err(LockTableError::PageSize {
            place: place(),
            found: words[HEAD_PAGE_BYTES],
            expected: options.page_bytes,
        });
    }
    let shape = Shape::read(words[HEAD_DIRECTORY], words[HEAD_CELLS])
        .ok_or_else(|| damaged("it has impossible sizes"))?;
    let length = rustix::fs::fstat(file)
        .map_err(LockTableError::system(
            "look at the global lock table's file",
        ))?
        .st_size as u64;
    let area = usize::try_from(words[HEAD_AREA]).unwrap_or(usize::MAX);
    let expected = (area <= AREA_WORDS_MAX).then(|| shape.words_with(area) as u64 * 8);
    match Some(length) == expected {
        true => Ok((shape, area)),
        false => Err(damaged(&format!("its length of {length} bytes is wrong"))),
    }
}

impl Node {
    /// Its name, under which its machine runs.
    pub fn node(&self) -> NodeId {
        self.segment.table.node_of(self.slot)
    }

    /// Gives the slot back.
    ///
    /// # Errors
    /// [`LockTableError::StillNamed`]: an entry names the node. It is taken for dead from now on.
    pub fn leave(mut self) -> Result<(), LockTableError> {
        // The lock goes with `self`, after the slot.
        self.node.take().map_or(Ok(()), TableNode::leave)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // Before the node is said to be dead: when it is recovered, this process may join with the slot again.
        give_locks_back(self.segment.file(), place(self.slot));
        if let Some(node) = &self.node {
            self.segment.table.fail(node.node());
        }
    }
}

impl EntryStore for Node {
    type Error = LockTableError;

    fn read(&mut self, page: PageId) -> Result<Entry, LockTableError> {
        self.segment.table.read(page)
    }

    fn swap(&mut self, page: PageId, expected: u64, entry: Entry) -> Result<bool, LockTableError> {
        match &mut self.node {
            Some(node) => node.swap(page, expected, entry),
            None => Err(LockTableError::UnknownNode { node: self.node() }),
        }
    }

    fn update(
        &mut self,
        page: PageId,
        entry: &mut Entry,
        of: impl FnMut(&mut Entry) -> bool,
    ) -> Result<bool, LockTableError> {
        match &mut self.node {
            Some(node) => node.update(page, entry, of),
            None => Err(LockTableError::UnknownNode { node: self.node() }),
        }
    }

    fn pages(&self) -> Vec<PageId> {
        self.segment.table.pages()
    }
}
