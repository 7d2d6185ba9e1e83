//! The page store: pages in one reserved address range that grows in place. So no map size is chosen in advance, and
//! no address ever moves.
//!
//! Address space is reserved without any right to touch it. Growing gives the right, a huge page's worth at a time,
//! and the operating system adds zeroed memory at the first touch. A process may have less address space (`ulimit -v`)
//! than the store may have bytes. Then only the used part is reserved, at a place with free addresses behind it. The
//! reservation then grows with the store.
//!
//! A [`PageSnapshot`] reads the pages as they were when it was taken, from any thread, while
//! [`PageStore::write`] changes them: see `frozen` and `versions`.
//!
//! All `unsafe` for it is here. The invariant: until they are dropped, the range `[base, base + reserved)` is mapped
//! and belongs to this store and its snapshots alone. The range `[base, base + committed)` is readable and writable.

mod ahead;
mod frozen;
mod mapping;
mod read;
mod snapshot;
mod spare;
mod touched;
mod versions;
mod words;

pub use read::{LiveWords, PageRead, WholeBytes, Words};
pub use snapshot::{KeptPages, PageSnapshot, SnapshotEnded, SnapshotLife, SnapshotWords};

use crate::page::{Address, PAGE_SIZE, PageId};
use ahead::Ahead;
use mapping::{Mapping, Refused, reserve_aligned};
use rustix::io::Errno;
use rustix::mm::Advice;
use sardonyx_base::sync::atomic::{Ordering, fence};
use spare::Spare;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use versions::Versions;

/// The unit in which memory is committed, and the alignment of the first page, in bytes. It is a huge page of common
/// processors, so that a large store costs few entries of their address translation.
const COMMIT_BYTES: usize = 2 << 20;

/// A store that begins with fewer bytes gets small pages in its first unit: a huge page would have the system clear
/// twenty times the memory that a small database uses, at each opening. They become huge ones as the store grows.
const BEGINS_SMALL_BYTES: usize = COMMIT_BYTES / 2;

/// A [sparse](PageStore::set_sparse) store that grows by more at once gets small pages there.
const DENSE_STEP_BYTES: usize = 32 << 20;

/// The default bound on copies of pages for snapshots, in bytes, where a quarter of the store is not less.
const SNAPSHOT_BYTES_MAX: u64 = 1 << 30;

/// Pages in memory. Zero-filled as they are added. Owned by one thread at a time: a thread that may change the pages
/// holds the store exclusively, which is all the concurrency control that serial execution needs.
///
/// ```
/// use sardonyx_storage::store::PageStore;
/// let mut store = PageStore::reserve(1 << 30)?;
/// store.grow_to(2)?;
/// store.bytes_mut()[4096] = 7;
/// store.grow_to(1000)?;
/// assert_eq!((store.pages(), store.bytes()[4096], store.bytes()[4097]), (1000, 7, 0));
/// # Ok::<(), sardonyx_storage::store::StoreError>(())
/// ```
#[derive(Debug)]
pub struct PageStore {
    /// The first page; a multiple of [`COMMIT_BYTES`].
    base: NonNull<u8>,
    /// Bytes of all pages; at most `committed` and `limit`.
    len: usize,
    /// Bytes from `base` that may be read and written; a multiple of [`COMMIT_BYTES`].
    committed: usize,
    /// Bytes that the pages may have; the rounded bound from the caller.
    limit: usize,
    /// Bytes reserved from `base`: `limit` rounded up, or less where the process may not have so much address
    /// space.
    mapping: Arc<Mapping>,
    /// Large parts of it may never be touched.
    sparse: bool,
    small_pages: bool,
    /// The first unit has small pages only since the store began with few bytes.
    begins_small: bool,
    /// While there may be snapshots.
    versions: Option<Box<Versions>>,
    /// Parts of a snapshot that are kept for the next one.
    spare: Arc<Spare>,
    snapshot_bytes_max: u64,
    /// The thread that has the operating system give memory to pages before they are used, if one runs.
    ahead: Option<Ahead>,
}

/// The reason why the store cannot be made or grown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The operating system refused to reserve or to commit memory.
    #[error(
        "cannot {operation} {bytes} bytes of memory for pages: {source}; let the process have more (its limit on \
         address space is `ulimit -v`), or set `memory_bytes_max` to its allowance"
    )]
    Memory {
        /// `reserve` or `commit`.
        operation: &'static str,
        /// The requested bytes.
        bytes: u64,
        /// The operating system's error.
        #[source]
        source: std::io::Error,
    },
    /// The process may not have more address space, which is less than the store's limit.
    #[error(
        "the page store cannot grow from {reserved_bytes} to {asked_bytes} bytes: {source}; raise the \
         limit of the process on address space (`ulimit -v`), or set `memory_bytes_max` to its allowance"
    )]
    AddressSpace {
        /// Bytes that the store would need.
        asked_bytes: u64,
        /// Bytes of address space that it has.
        reserved_bytes: u64,
        /// The operating system's error.
        #[source]
        source: std::io::Error,
    },
    /// The configured bound on the store's memory is reached.
    #[error(
        "the page store is full: {asked_bytes} bytes are needed and its limit is {limit_bytes}; \
         raise the memory limit (`memory_bytes_max`) when opening the database"
    )]
    Full {
        /// Bytes that the store would need.
        asked_bytes: u64,
        /// The configured bound.
        limit_bytes: u64,
    },
}

impl PageStore {
    /// Reserves address space for `bytes_max` bytes of pages, rounded up to whole pages; commits
    /// none of it. Address space costs nothing, so the bound may be far above the machine's memory. A
    /// process that may not have so much reserves it as the store grows.
    ///
    /// # Errors
    /// [`StoreError::Memory`] if there is no such address space, or none at all is left.
    pub fn reserve(bytes_max: u64) -> Result<Self, StoreError> {
        Self::reserve_by(bytes_max, reserve_aligned)
    }

    /// Reserves by `at_once` so many bytes, or as the store grows if that is refused as too much.
    fn reserve_by(
        bytes_max: u64,
        at_once: impl FnOnce(usize) -> Result<NonNull<u8>, Errno>,
    ) -> Result<Self, StoreError> {
        let refused = |bytes: u64, source: Errno| StoreError::Memory {
            operation: "reserve",
            bytes,
            source: source.into(),
        };
        let limit = usize::try_from(bytes_max)
            .ok()
            .and_then(|bytes| bytes.checked_next_multiple_of(PAGE_SIZE));
        let reserved = limit.and_then(|limit| limit.max(1).checked_next_multiple_of(COMMIT_BYTES));
        let (Some(limit), Some(reserved)) = (limit, reserved) else {
            return Err(refused(bytes_max, Errno::NOMEM));
        };
        let mapping =
            Mapping::reserve_by(reserved, at_once).map_err(|Refused { bytes, errno }| {
                let asked_for_all = bytes == reserved as u64;
                refused(if asked_for_all { bytes_max } else { bytes }, errno)
            })?;
        Ok(PageStore {
            base: mapping.base(),
            len: 0,
            committed: 0,
            limit,
            mapping: Arc::new(mapping),
            sparse: false,
            small_pages: false,
            begins_small: false,
            versions: None,
            spare: Arc::default(),
            snapshot_bytes_max: (limit as u64 / 4).min(SNAPSHOT_BYTES_MAX),
            ahead: None,
        })
    }

    /// Sets that memory is to follow use. If the store then grows by more than 32 MiB at once, a touched page costs
    /// that page, and not the huge page around it.
    pub fn set_sparse(&mut self, sparse: bool) {
        self.sparse = sparse;
    }

    /// From now on the store grows by small pages. The first touch of a huge one takes up to some
    /// milliseconds, which a transaction would wait for.
    fn set_small_pages(&mut self) {
        self.small_pages = true;
    }

    /// Starts a thread, for as long as the store lives. It backs pages with memory ahead of those that are being
    /// filled, 2 MiB at a time. It does not if memory is to follow use. If no thread can be started, pages get their
    /// memory at their first touch.
    pub fn start_backing_ahead(&mut self) {
        if !self.sparse {
            self.ahead = Ahead::start(self.mapping.clone()).ok();
        }
    }

    /// True if memory follows use.
    pub fn is_sparse(&self) -> bool {
        self.sparse
    }

    /// The current size of the store.
    #[inline]
    pub fn pages(&self) -> u64 {
        (self.len / PAGE_SIZE) as u64
    }

    /// The most pages that it may have.
    pub fn pages_max(&self) -> u64 {
        (self.limit / PAGE_SIZE) as u64
    }

    /// Adds zero-filled pages until there are `pages`. No effect if there are that many. After an
    /// error the store is as before.
    ///
    /// Memory that was granted here is taken from the machine only when it is first touched. If the operating system
    /// grants more than exists, it may then end the process.
    ///
    /// # Errors
    /// [`StoreError::Full`] at the store's limit, [`StoreError::Memory`] if the operating system
    /// grants no more.
    pub fn grow_to(&mut self, pages: u64) -> Result<(), StoreError> {
        if pages <= self.pages() {
            return Ok(());
        }
        let asked_bytes = pages.saturating_mul(PAGE_SIZE as u64);
        if asked_bytes > self.limit as u64 {
            return Err(StoreError::Full {
                asked_bytes,
                limit_bytes: self.limit as u64,
            });
        }
        // Not above the limit, which is a `usize`.
        let len = asked_bytes as usize;
        if len > self.committed {
            self.commit(len)?;
        }
        let first = self.len.next_multiple_of(COMMIT_BYTES);
        self.len = len;
        self.back_unit(first);
        Ok(())
    }

    /// Makes the first `len` bytes usable, and those up to a multiple of [`COMMIT_BYTES`].
    #[cold]
    fn commit(&mut self, len: usize) -> Result<(), StoreError> {
        let to = len.next_multiple_of(COMMIT_BYTES);
        if to > self.mapping.reserved() {
            let extended = self.mapping.extend(to);
            extended.map_err(|source| StoreError::AddressSpace {
                asked_bytes: to as u64,
                reserved_bytes: self.mapping.reserved() as u64,
                source: source.into(),
            })?;
        }
        let bytes = to - self.committed;
        let begins_small = self.committed == 0 && len < BEGINS_SMALL_BYTES;
        let small_pages =
            self.small_pages || begins_small || self.sparse && bytes > DENSE_STEP_BYTES;
        let granted = self.mapping.commit(self.committed, to, small_pages);
        granted.map_err(|source| StoreError::Memory {
            operation: "commit",
            bytes: bytes as u64,
            source: source.into(),
        })?;
        if std::mem::replace(&mut self.begins_small, begins_small && !self.small_pages) {
            self.mapping.advise(0, COMMIT_BYTES, Advice::LinuxHugepage);
        }
        self.committed = to;
        Ok(())
    }

    /// The place of the first byte, for a caller that arranges by locks which thread may touch which page, instead of
    /// by borrowing the store. The pointer is good for all present and later pages, as long as the store lives;
    /// growing does not move it.
    ///
    /// A caller that changes pages so, and takes snapshots, arranges two more things by locks. A page is not read in
    /// a snapshot that has no copy of it ([`PageSnapshot::has_copy`]) while it is changed. And it is
    /// [kept](PageStore::keep) before it is read changed.
    #[inline]
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// The whole store, page after page.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `len <= committed` bytes from `base` are mapped and readable for as long as the store lives. The
        // operating system has filled them with zeroes, so they are initialised. A mapping that succeeded is no
        // longer than `isize::MAX`. Snapshots have the address, and only load from there; writes borrow the store
        // exclusively.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.len) }
    }

    /// Changes bytes: the one way to do so where there may be snapshots.
    ///
    /// # Panics
    /// If there are no such bytes.
    #[inline(always)]
    pub fn write(&mut self, at: Address, bytes: &[u8]) {
        self.replace(at, bytes, |_| ());
    }

    /// The same, after showing the present bytes. Bounds are checked once for both: fields of records are changed by
    /// this.
    ///
    /// # Panics
    /// If there are no such bytes.
    #[inline(always)]
    pub fn replace(&mut self, at: Address, bytes: &[u8], see: impl FnOnce(&[u8])) {
        if !self.has(at, bytes.len()) {
            no_such_bytes(at, bytes.len());
        }
        // SAFETY: within the mapping, as just checked.
        let place = unsafe { self.base.as_ptr().add(at.0 as usize) };
        // SAFETY: `bytes.len()` bytes from there are among `self.bytes()`; see there. The slice ends before the
        // bytes change.
        see(unsafe { std::slice::from_raw_parts(place, bytes.len()) });
        if self.versions.is_some() {
            // SAFETY: checked above.
            return unsafe { self.write_beside_readers(at, bytes) };
        }
        // SAFETY: the place is as above, writable, and, without snapshots, has no other user while the store is
        // borrowed exclusively: `bytes` and it do not overlap.
        unsafe { place.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    }

    /// Has the operating system give memory to a page that is about to be written for the first time. If its
    /// before-image were read first, the page of zeroes that all share would be there, and writing had to take that
    /// from all processors: some microseconds, with huge pages for each 2 MiB.
    ///
    /// # Panics
    /// If there is no such page.
    #[inline]
    pub fn back(&mut self, page: PageId) {
        let at = page.address();
        if !self.has(at, PAGE_SIZE) {
            no_such_bytes(at, PAGE_SIZE);
        }
        // SAFETY: a page of the mapping, as just checked, which is aligned; the store is borrowed exclusively, and
        // snapshots read by atomic loads.
        let word = unsafe { AtomicU64::from_ptr(self.base.as_ptr().add(at.0 as usize).cast()) };
        // The processor takes it for a write, with any content.
        let _ = word.compare_exchange(0, 0, Ordering::Relaxed, Ordering::Relaxed);
        if (at.0 as usize).is_multiple_of(COMMIT_BYTES) {
            self.back_unit(at.0 as usize + COMMIT_BYTES);
        }
    }

    /// Asks for memory for the unit that begins at an offset, if there is one.
    fn back_unit(&self, unit: usize) {
        if let Some(ahead) = self.ahead.as_ref().filter(|_| unit < self.len) {
            ahead.ask(unit);
        }
    }

    #[inline(always)]
    fn has(&self, at: Address, bytes: usize) -> bool {
        let start = at.0 as usize;
        start <= self.len && bytes <= self.len - start
    }

    /// Changes bytes while snapshots may be read. Not inlined: the change of a field without snapshots is as short as
    /// can be.
    ///
    /// # Safety
    /// The store [has](PageStore::has) these bytes.
    #[inline(never)]
    unsafe fn write_beside_readers(&mut self, at: Address, bytes: &[u8]) {
        let start = at.0 as usize;
        let Some(versions) = self.versions.as_mut().filter(|v| !v.are_idle()) else {
            // The last reader has ended.
            self.forget_versions();
            return self.write(at, bytes);
        };
        let pages = start / PAGE_SIZE..(start + bytes.len()).div_ceil(PAGE_SIZE);
        if pages.clone().any(|page| versions.lack(page as u64)) {
            for page in pages {
                // SAFETY: the page is the store's, which is borrowed exclusively.
                unsafe { versions.keep_live(page as u64, self.base) };
            }
            // The copies come before the changes, for a reader that sees one of these: see `frozen`.
            fence(Ordering::Release);
        }
        versions.note_change();
        // SAFETY: within the pages, as the caller says, which are readable and writable; the store is
        // borrowed exclusively, and snapshots read by `words::load`. Words end within the last page.
        unsafe { words::store(self.base, start, bytes) };
    }

    /// All bytes of all pages, to change.
    ///
    /// # Panics
    /// If there are snapshots: [`PageStore::write`] changes the pages that they read.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        if let Some(versions) = &self.versions {
            assert!(
                versions.are_idle(),
                "a store that has snapshots is changed by `write`"
            );
        }
        // SAFETY: as in `bytes`; the range is writable too, the store is borrowed exclusively, and there
        // are no snapshots that are read.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr(), self.len) }
    }

    /// All words of all pages, for threads that change them at the same time.
    ///
    /// # Panics
    /// As [`bytes_mut`](Self::bytes_mut).
    pub fn words_mut(&mut self) -> &[AtomicU64] {
        let bytes = self.bytes_mut();
        // SAFETY: the bytes are borrowed exclusively for as long as the words, pages are aligned and full of words, and
        // any bits are a word.
        unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len() / 8) }
    }
}

/// Apart from its caller, which it would make larger.
#[cold]
#[inline(never)]
#[expect(
    clippy::panic,
    reason = "what callers document: addresses are the engine's own"
)]
fn no_such_bytes(at: Address, bytes: usize) -> ! {
    panic!("no {bytes} bytes at {at}")
}

// SAFETY: the store owns its mapping, which is not tied to the thread that made it.
unsafe impl Send for PageStore {}
// SAFETY: a shared store gives out only shared slices; it changes nothing behind `&self`. Its snapshots only
// load, atomically, what `write` stores so while there are any.
unsafe impl Sync for PageStore {}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGES_PER_COMMIT: u64 = (COMMIT_BYTES / PAGE_SIZE) as u64;

    #[test]
    fn growth_keeps_addresses_and_contents_and_adds_zeroes() {
        let mut store = PageStore::reserve(64 << 20).unwrap();
        assert_eq!((store.pages(), store.bytes().len()), (0, 0));
        store.grow_to(1).unwrap();
        let first = store.bytes().as_ptr();
        assert!(first.addr().is_multiple_of(COMMIT_BYTES));
        for pages in [
            1,
            2,
            PAGES_PER_COMMIT,
            PAGES_PER_COMMIT + 1,
            5 * PAGES_PER_COMMIT + 3,
        ] {
            let before = store.bytes().to_vec();
            store.grow_to(pages).unwrap();
            assert_eq!(store.pages(), pages);
            assert_eq!(store.bytes().as_ptr(), first);
            assert_eq!(store.bytes().len() as u64, pages * PAGE_SIZE as u64);
            assert!(store.bytes()[..before.len()] == before);
            assert!(store.bytes()[before.len()..].iter().all(|byte| *byte == 0));
            store.bytes_mut().fill(pages as u8);
        }
        store.grow_to(2).unwrap();
        assert_eq!(
            store.pages(),
            5 * PAGES_PER_COMMIT + 3,
            "a store never shrinks"
        );
    }

    #[test]
    fn the_limit_is_a_typed_error_that_leaves_the_store_as_it_was() {
        let mut store = PageStore::reserve(10 * PAGE_SIZE as u64 - 1).unwrap();
        store.grow_to(9).unwrap();
        store.bytes_mut().fill(9);
        for pages in [
            11,
            PAGES_PER_COMMIT,
            PAGES_PER_COMMIT + 1,
            u64::MAX / 4096,
            u64::MAX,
        ] {
            match store.grow_to(pages) {
                Err(StoreError::Full {
                    asked_bytes,
                    limit_bytes,
                }) => {
                    assert_eq!(asked_bytes, pages.saturating_mul(4096));
                    assert_eq!(limit_bytes, 10 * 4096);
                }
                other => panic!("{other:?}"),
            }
            assert_eq!(store.pages(), 9);
            assert!(store.bytes().iter().all(|byte| *byte == 9));
        }
        store.grow_to(10).unwrap();
        assert_eq!(store.bytes()[9 * PAGE_SIZE..], [0; PAGE_SIZE]);
    }

    #[test]
    fn a_store_without_room_has_no_pages() {
        let mut store = PageStore::reserve(0).unwrap();
        store.grow_to(0).unwrap();
        assert!(matches!(
            store.grow_to(1),
            Err(StoreError::Full { limit_bytes: 0, .. })
        ));
        assert!(store.bytes().is_empty() && store.bytes_mut().is_empty());
    }

    #[test]
    fn a_terabyte_is_reserved_without_being_there() {
        let mut store = PageStore::reserve(1 << 40).unwrap();
        store.grow_to(10 * PAGES_PER_COMMIT).unwrap();
        let last = store.bytes().len() - 1;
        store.bytes_mut()[last] = 1;
        assert_eq!((store.bytes()[last], store.bytes()[last / 2]), (1, 0));
    }

    #[test]
    fn what_is_refused_as_too_much_is_reserved_as_the_store_grows() {
        for refusal in [Errno::NOMEM, Errno::INVAL] {
            let mut store = PageStore::reserve_by(1 << 40, |_| Err(refusal)).unwrap();
            assert_eq!(store.mapping.reserved(), COMMIT_BYTES, "{refusal}");
            store.grow_to(3 * PAGES_PER_COMMIT).unwrap();
            store.bytes_mut().fill(7);
            assert_eq!(store.mapping.reserved(), 3 * COMMIT_BYTES, "{refusal}");
            assert_eq!(store.pages_max(), (1 << 40) / PAGE_SIZE as u64);
        }
        let refused = PageStore::reserve_by(1 << 40, |_| Err(Errno::PERM));
        assert!(matches!(refused, Err(StoreError::Memory { .. })));
        // The remedy is in the error, for either limit.
        let full = PageStore::reserve(0).unwrap().grow_to(1).unwrap_err();
        for text in [refused.unwrap_err().to_string(), full.to_string()] {
            assert!(text.contains("memory_bytes_max"), "{text}");
        }
    }

    #[test]
    fn absurd_sizes_are_errors() {
        for bytes in [1 << 60, u64::MAX - (4 << 20), u64::MAX - 1, u64::MAX] {
            match PageStore::reserve(bytes) {
                Err(StoreError::Memory {
                    operation: "reserve",
                    bytes: asked,
                    ..
                }) => {
                    assert_eq!(asked, bytes);
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn a_dropped_store_gives_its_address_space_back() {
        // Sixteen of these do not fit into the 128 TiB of a process.
        for _ in 0..16 {
            let mut store = PageStore::reserve(16 << 40).unwrap();
            store.grow_to(1).unwrap();
        }
    }

    #[test]
    fn a_store_may_be_moved_to_and_read_by_other_threads() {
        let mut store = PageStore::reserve(1 << 20).unwrap();
        store.grow_to(1).unwrap();
        let store = std::thread::spawn(move || {
            store.bytes_mut()[7] = 7;
            store
        });
        let store = store.join().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(store.bytes()[7], 7));
            scope.spawn(|| assert_eq!(store.bytes()[7], 7));
        });
    }
}
