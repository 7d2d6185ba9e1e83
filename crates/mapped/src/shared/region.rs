//! The shared memory of a segment: one file in a memory file system, mapped by every process.
//!
//! ```text
//! control | hot ring | deep ring | sequence numbers of the pages | base pages … | spill area
//! ```
//!
//! The file is sparse: untouched parts take no memory. Written parts are allocated before, so that a full
//! file system is an error when committing. A base page gets its memory when a transaction has written to
//! it (`Region::back`), or from the kernel when a view touches it first. If none is left for that, the view
//! has a page of zeroes of its own (`View::supply`), and no thread gets a SIGBUS.
//!
//! The ring of redo records is one stream of positions in two pieces of memory. Usually it runs in the
//! *hot* ring, which is small, so that it stays in the processor's caches. When that is full, because a
//! transaction is large, a snapshot old or the log behind, the stream continues in the *deep* one. It comes
//! back when little of it is needed. At most two stretches of the stream are alive at a time, one in each
//! ([`Control::lap`]).
//!
//! The records of a transaction that is too large for the ring are in the spill area ([`super::spill`]).
//!
//! Each ring is mapped twice, one after the other, so that a transaction's records are contiguous also
//! where they cross its end.
//!
//! All `unsafe` for the mapping is here. It gives out references to atomics, and copies of bytes out of the
//! ring and the base pages and into them. Their synchronisation is argued at their uses.

mod attaching;
mod locking;
mod processes;

use super::backing::{Backing, allocate, give_back, map_shared, map_twice};
use super::control::{CONTROL_BYTES, Control, PROCESSES};
use super::stopped::LockWaits;
use crate::error::SegmentError;
use crate::planted::{self, Step};
use rustix::fs::SeekFrom;
use sardonyx_base::process::Process as ProcessMark;
use sardonyx_storage::log::group::PAYLOAD_BYTES_MAX;
use sardonyx_storage::log::record::encoded_bytes;
use sardonyx_storage::page::PAGE_SIZE;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Base pages are allocated so many bytes at a time.
pub const GROW_BYTES: u64 = 2 << 20;

/// Bytes of the hot ring.
pub const HOT_BYTES: u64 = 1 << 20;

/// The deep ring gets memory a part of so many at a time.
const RING_PARTS: u64 = 64;

/// The sizes of the parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionSize {
    /// Bytes of the ring: a power of two, a multiple of the page size.
    pub ring_bytes: u64,
    /// The most pages.
    pub pages_max: u64,
}

impl RegionSize {
    /// The same, of no more than so many bytes of pages.
    pub fn at_most(self, bytes: u64) -> Self {
        RegionSize {
            pages_max: self.pages_max.min(bytes.div_ceil(PAGE_SIZE as u64)).max(1),
            ..self
        }
    }

    /// The same, or more: a segment of so many pages can double.
    pub fn with_room_for(self, pages: u64) -> Self {
        RegionSize {
            pages_max: self.pages_max.max(pages.saturating_mul(2)),
            ..self
        }
    }

    fn hot_at(self) -> u64 {
        (CONTROL_BYTES as u64).next_multiple_of(GROW_BYTES)
    }

    fn ring_at(self) -> u64 {
        self.hot_at() + HOT_BYTES
    }

    fn sequence_at(self) -> u64 {
        self.ring_at() + self.ring_bytes
    }

    fn base_at(self) -> u64 {
        (self.sequence_at() + self.pages_max * 8).next_multiple_of(GROW_BYTES)
    }

    fn spill_at(self) -> u64 {
        (self.base_at() + self.pages_max * PAGE_SIZE as u64).next_multiple_of(GROW_BYTES)
    }

    /// Bytes of the spill area: the records of a transaction that has written all pages, and no more than a commit
    /// group can have.
    fn spill_bytes(self) -> u64 {
        let pages = self
            .pages_max
            .saturating_mul(encoded_bytes(PAGE_SIZE) as u64);
        pages.min(PAYLOAD_BYTES_MAX).next_multiple_of(GROW_BYTES)
    }

    /// The file's length.
    fn whole(self) -> u64 {
        self.spill_at() + self.spill_bytes()
    }
}

/// A mapped shared memory, and this process' place in it.
pub struct Region {
    file: Backing,
    path: Option<PathBuf>,
    size: RegionSize,
    control: NonNull<Control>,
    hot: NonNull<u8>,
    ring: NonNull<u8>,
    sequence: NonNull<AtomicU64>,
    base: NonNull<u8>,
    spill: NonNull<u8>,
    /// Its place among the processes; [`PROCESSES`] if it has none.
    process: usize,
    /// Its name in locks.
    name: u32,
    mapped_by: ProcessMark,
    /// Base pages that this process keeps in memory.
    kept: AtomicU64,
    /// All are to be kept so.
    locked: AtomicBool,
    /// The waits of this process for stopped ones.
    lock_waits: LockWaits,
}

impl std::fmt::Debug for Region {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = self.path.as_deref();
        f.debug_struct("Region")
            .field("path", &path)
            .field("size", &self.size)
            .finish()
    }
}

impl Region {
    fn map(file: Backing, path: Option<PathBuf>, size: RegionSize) -> Result<Self, SegmentError> {
        let map = |at: u64, bytes: u64| map_shared(&file, at, bytes);
        let control = map(0, CONTROL_BYTES as u64)?.cast();
        let hot = map_twice(&file, size.hot_at(), HOT_BYTES)?;
        let ring = map_twice(&file, size.ring_at(), size.ring_bytes)?;
        let sequence = map(size.sequence_at(), (size.pages_max * 8).max(8))?.cast();
        let base = map(size.base_at(), (size.pages_max * PAGE_SIZE as u64).max(1))?;
        let spill = map(size.spill_at(), size.spill_bytes())?;
        Ok(Region {
            file,
            path,
            size,
            control,
            hot,
            ring,
            sequence,
            base,
            spill,
            process: PROCESSES,
            name: 0,
            mapped_by: ProcessMark::current(),
            kept: AtomicU64::new(0),
            locked: AtomicBool::new(false),
            lock_waits: LockWaits::new(),
        })
    }

    fn lock_growth(&self) -> Result<(), SegmentError> {
        self.lock(&self.control().growth, "the lock on the segment's growth")?;
        Ok(())
    }

    /// The waits of this process for stopped ones.
    pub(crate) fn lock_waits(&self) -> &LockWaits {
        &self.lock_waits
    }

    /// The common knowledge of all processes.
    #[inline]
    pub fn control(&self) -> &Control {
        // SAFETY: the mapping is as long as the structure and lives as long as `self`; everything in
        // it is an atomic or a lock, so that shared references are right.
        unsafe { self.control.as_ref() }
    }

    /// The sequence number of a page: the ring's position after the last record on it.
    #[inline]
    pub fn sequence(&self, page: u64) -> &AtomicU64 {
        assert!(page < self.size.pages_max, "page {page} has an address");
        // SAFETY: within the mapping of `pages_max` words, which lives as long as `self`.
        unsafe { self.sequence.add(page as usize).as_ref() }
    }

    /// Bytes of the deep ring: the most that can be kept.
    #[inline]
    pub fn ring_bytes(&self) -> u64 {
        self.size.ring_bytes
    }

    /// The start of the stream's newest stretch, and true if it is in the deep ring.
    #[inline]
    pub fn lap(&self) -> (u64, bool) {
        let lap = self.control().lap.load(Ordering::SeqCst);
        (lap >> 1, lap & 1 == 1)
    }

    /// The stream goes on in the other ring from `position`. The caller holds the commit lock, nothing
    /// before the newest stretch is needed any more, and `position` is the tail.
    pub fn change_ring(&self, position: u64, deep: bool) {
        let lap = position << 1 | u64::from(deep);
        self.control().lap.store(lap, Ordering::SeqCst);
    }

    /// The stream at a position, as memory: `length` bytes, at most the ring's.
    #[inline]
    pub fn ring(&self, position: u64, length: usize) -> *mut u8 {
        let (start, deep) = self.lap();
        let (ring, bytes) = match (position >= start) == deep {
            true => (self.ring, self.size.ring_bytes),
            false => (self.hot, HOT_BYTES),
        };
        assert!(length as u64 <= bytes);
        let at = (position & (bytes - 1)) as usize;
        // SAFETY: each ring is mapped twice, so that `length` bytes from any place in the first mapping
        // are mapped.
        unsafe { ring.as_ptr().add(at) }
    }

    /// The most bytes of records that a transaction may have.
    pub fn spill_bytes_max(&self) -> u64 {
        self.size.spill_bytes().min(PAYLOAD_BYTES_MAX)
    }

    /// Bytes of the spill area, as memory.
    #[inline]
    pub fn spill(&self, at: u64, length: usize) -> *mut u8 {
        let bytes = self.size.spill_bytes();
        assert!(at <= bytes && length as u64 <= bytes - at);
        // SAFETY: within the mapping.
        unsafe { self.spill.as_ptr().add(at as usize) }
    }

    /// Sees to it that the first bytes of the spill area have memory.
    pub(super) fn allocate_spill(&self, bytes: u64) -> Result<(), SegmentError> {
        self.allocate(self.size.spill_at(), bytes)
    }

    /// Gives the memory of the spill area back. Its bytes are then zero.
    pub(super) fn free_spill(&self, bytes: u64) {
        if let Err(error) = give_back(&self.file, self.size.spill_at(), bytes) {
            tracing::warn!(%error, "the memory of a large transaction's records stays in use");
        }
    }

    /// A base page, as memory.
    #[inline]
    pub fn base(&self, page: u64) -> *mut u8 {
        assert!(page < self.size.pages_max, "page {page} has an address");
        // SAFETY: within the mapping of `pages_max` pages.
        unsafe { self.base.as_ptr().add(page as usize * PAGE_SIZE) }
    }

    /// Sets the contents of consecutive pages, before another process can have mapped them.
    pub(crate) fn fill(&self, page: u64, bytes: &[u8]) -> Result<(), SegmentError> {
        let pages = bytes.len().div_ceil(PAGE_SIZE) as u64;
        assert!(pages <= self.pages() && page <= self.pages() - pages);
        self.allocate_pages(page, pages)?;
        // SAFETY: the pages exist, and have no other user yet.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.base(page), bytes.len()) };
        Ok(())
    }

    fn allocate_pages(&self, page: u64, pages: u64) -> Result<(), SegmentError> {
        let at = self.size.base_at() + page * PAGE_SIZE as u64;
        self.allocate(at, pages * PAGE_SIZE as u64)
    }

    /// Ensures that these pages, in order, have memory: they are going to be compared, and written by
    /// folding processes. One system call for each run of pages on which nothing was committed yet.
    pub(crate) fn back(&self, pages: impl IntoIterator<Item = u64>) -> Result<(), SegmentError> {
        let mut run = 0..0;
        // The transaction that committed a change to a page had it allocated.
        let new = |page: &u64| self.sequence(*page).load(Ordering::Relaxed) == 0;
        for page in pages.into_iter().filter(new) {
            if page != run.end {
                self.allocate_pages(run.start, run.end - run.start)?;
                run = page..page;
            }
            run.end = page + 1;
        }
        self.allocate_pages(run.start, run.end - run.start)
    }

    /// True if a base page has memory, or may get some: the file system had none left just now. Usable in a
    /// signal handler.
    pub(crate) fn has_memory(&self, page: u64) -> bool {
        let at = self.size.base_at() + page * PAGE_SIZE as u64;
        let found = rustix::fs::seek(&*self.file, SeekFrom::Data(at));
        // There is nothing behind the last page that has memory: ENXIO.
        found.is_ok_and(|found| found < at + PAGE_SIZE as u64)
    }

    /// The file, and where in it the base pages start.
    pub fn backing(&self) -> (BorrowedFd<'_>, u64) {
        (self.file.as_fd(), self.size.base_at())
    }

    /// The most pages.
    #[inline]
    pub fn pages_max(&self) -> u64 {
        self.size.pages_max
    }

    /// Pages that the segment has; none in a forked child, which has no mapping of it.
    #[inline]
    pub fn pages(&self) -> u64 {
        if self.was_forked() {
            return 0;
        }
        self.control().pages.load(Ordering::Acquire)
    }

    /// Gives the segment at least so many pages, zero-filled, which take no memory before they are touched,
    /// but for 8 bytes each. They stay also if the requesting transaction aborts, until the segment is
    /// opened again: unused room. Each commit records its length of the segment in the log
    /// (`Session::gather`), so nothing durable relies on a length that is not.
    pub fn grow(&self, pages: u64) -> Result<(), SegmentError> {
        if pages <= self.pages() {
            return Ok(());
        }
        if pages > self.size.pages_max {
            return Err(SegmentError::AddressSpaceFull {
                asked_bytes: pages.saturating_mul(PAGE_SIZE as u64),
                limit_bytes: self.size.pages_max * PAGE_SIZE as u64,
            });
        }
        let control = self.control();
        self.lock_growth()?;
        planted::step(Step::GrowthLocked);
        let have = control.pages.load(Ordering::SeqCst);
        let bytes = (pages * PAGE_SIZE as u64).next_multiple_of(GROW_BYTES);
        let want = (bytes / PAGE_SIZE as u64).min(self.size.pages_max);
        let grown = if want > have {
            let numbers = self.size.sequence_at() + have * 8;
            self.allocate(numbers, (want - have) * 8)
        } else {
            Ok(())
        };
        if grown.is_ok() && want > have {
            planted::step(Step::Allocated);
            control.pages.store(want, Ordering::SeqCst);
            planted::step(Step::Grown);
        }
        control.growth.unlock();
        grown
    }

    /// Pages that the log knows the segment to have.
    #[inline]
    pub fn logged_pages(&self) -> u64 {
        self.control().logged_pages.load(Ordering::SeqCst)
    }

    /// The log knows the segment to have at least so many pages: a record that says so is published,
    /// or recovery found them.
    pub fn note_logged_pages(&self, pages: u64) {
        self.control()
            .logged_pages
            .fetch_max(pages, Ordering::SeqCst);
    }

    /// Sees to it that the deep ring has memory for a stretch. The caller holds the commit lock.
    pub fn allocate_ring(&self, position: u64, length: u64) -> Result<(), SegmentError> {
        let allocated = &self.control().ring_allocated;
        let part = self.size.ring_bytes / RING_PARTS;
        let have = allocated.load(Ordering::SeqCst);
        if have == u64::MAX {
            return Ok(());
        }
        for n in position / part..(position + length).div_ceil(part) {
            let n = n % RING_PARTS;
            if allocated.load(Ordering::SeqCst) & 1 << n == 0 {
                self.allocate(self.size.ring_at() + n * part, part)?;
                allocated.fetch_or(1 << n, Ordering::SeqCst);
            }
        }
        Ok(())
    }

    fn allocate(&self, at: u64, bytes: u64) -> Result<(), SegmentError> {
        match bytes {
            0 => Ok(()),
            bytes => allocate(&self.file, self.path.as_deref(), at, bytes),
        }
    }

    /// The program wants all pages kept in memory.
    pub fn set_locked(&self) {
        self.locked.store(true, Ordering::Relaxed);
    }

    /// True if the program wants all pages kept in memory.
    pub fn is_locked(&self) -> bool {
        self.locked.load(Ordering::Relaxed)
    }

    /// Keeps the first pages in memory for as long as this process is on the segment.
    pub fn keep(&self, pages: u64) -> Result<(), SegmentError> {
        let kept = self.kept.load(Ordering::SeqCst);
        if pages <= kept {
            return Ok(());
        }
        // Locking touches them.
        self.allocate_pages(kept, pages - kept)?;
        crate::view::linux::lock(self.base(kept), ((pages - kept) as usize) * PAGE_SIZE)?;
        // Another thread may have kept as many; locking twice is locking.
        self.kept.fetch_max(pages, Ordering::SeqCst);
        Ok(())
    }

    /// True if this process was forked after the region was mapped.
    #[inline]
    pub fn was_forked(&self) -> bool {
        self.mapped_by.check().is_err()
    }

    /// The file's path, if it has one.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        if self.was_forked() {
            // The mappings did not come along; something else may be in their place.
            return;
        }
        // A process without a place counts as absent.
        if self.process < PROCESSES {
            self.remove_if_last();
            planted::step(Step::Left);
            self.bury(self.process);
        }
        let ring = self.size.ring_bytes as usize;
        let parts = [
            (self.control.cast(), CONTROL_BYTES),
            (self.hot, 2 * HOT_BYTES as usize),
            (self.ring, 2 * ring),
            (
                self.sequence.cast(),
                (self.size.pages_max as usize * 8).max(8),
            ),
            (self.base, (self.size.pages_max as usize * PAGE_SIZE).max(1)),
            (self.spill, self.size.spill_bytes() as usize),
        ];
        for (start, bytes) in parts {
            let start: NonNull<u8> = start;
            // SAFETY: `map` mapped exactly these ranges for this region alone.
            let _ = unsafe { rustix::mm::munmap(start.as_ptr().cast(), bytes) };
        }
    }
}

// SAFETY: the mappings belong to the region and to no thread.
unsafe impl Send for Region {}
// SAFETY: `&self` gives access to atomics, locks, and raw pointers, whose users argue for themselves.
unsafe impl Sync for Region {}
