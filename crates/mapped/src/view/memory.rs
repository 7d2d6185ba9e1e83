//! The view itself: a private mapping of the base pages, with the state of each page in it.
//!
//! A page of the view is in one of three states:
//! - *absent*, or mapped from the file: it shows the base page, which is right as long as no record
//!   in the ring on it is unfolded ([`Lagging`] knows);
//! - *private*: the session has its own copy, since it wrote to it;
//! - *guarded*: others changed it since it was last right here. It holds nothing. When it is touched,
//!   the [fault handler](super::fault) makes it right: base page, then the unfolded records up to the
//!   transaction's snapshot.
//!
//! So a transaction's view of data never changes (I8). A base page is brought up to a record only when every running
//! transaction has that record in its snapshot. In views of such transactions, the page is private or guarded.
//!
//! All state is atomic, because the fault handler changes it from within the session's own thread, and other threads
//! look at it. The states of pages are changed by the holder of the [turn](super::turn).

mod chunks;
mod committed;
mod touched;
mod unbacked;

pub use chunks::CHUNK_PAGES;

use super::bitmap::PageBits;
use super::handler::{Registered, VIEWS_MAX, register};
use super::lagging::Lagging;
use super::turn::{Turn, Turns};
use crate::error::SegmentError;
use crate::planted::{self, Step};
use crate::shared::region::Region;
use chunks::OPEN_MAX;
use committed::own_memory;
use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags};
use sardonyx_base::sync::futex::RawMutex;
use sardonyx_storage::page::PAGE_SIZE;
use std::cell::UnsafeCell;
use std::os::fd::OwnedFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use touched::touched_bytes;

/// The interpretation of a view's faults.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ViewKind {
    /// Guarded pages and closed chunks fault.
    Asynchronous,
    /// Every page faults when it is first read, and again when it is first written.
    Signal,
    /// Nothing faults.
    Explicit,
}

/// A view. See the [module](self).
pub struct View {
    region: Arc<Region>,
    base: NonNull<u8>,
    kind: ViewKind,
    /// Pages mapped.
    mapped: AtomicU64,
    /// The thread in whose transaction it is; 0 if none runs.
    pub(super) owner: AtomicI32,
    /// The end of the transaction's snapshot in the ring.
    pub(super) snapshot: AtomicU64,
    /// Up to where the ring was folded when it began.
    pub(super) folded: AtomicU64,
    /// True if the transaction may not write.
    pub(super) read_only: AtomicBool,
    /// A guarded page was touched outside of a transaction: the view is not to be trusted.
    pub(super) stale: AtomicBool,
    /// Held by the session while it begins, ends or looks at the ring, and by the keeper.
    pub(crate) steady: RawMutex,
    /// The turns of threads that may change the states of pages.
    pub(super) turns: Turns,
    /// Counts resolved faults, so that a fault that comes too late is detected.
    pub(super) resolved: AtomicU64,
    /// The last fault for which there was nothing to do.
    pub(super) tried_again: AtomicU64,
    /// The operating system's refusal in the fault handler; 0 if none.
    pub(super) refused: AtomicI32,
    /// Pages that hold nothing and fault.
    guarded: PageBits,
    guarded_count: AtomicU64,
    /// Pages that are the session's own copies.
    pub private: PageBits,
    /// Pages that may be write-protected.
    pub protected: PageBits,
    /// Pages that may be read without a fault (`Signal`).
    pub(super) readable: PageBits,
    /// Pages that may be written without a fault (`Signal`).
    pub(super) writable: PageBits,
    /// Pages for which there was no memory; some may have got it since.
    unbacked: PageBits,
    /// True if the view had such a page.
    has_unbacked: AtomicBool,
    /// Chunks that are open for writing; the first `open_count`.
    open: [AtomicU32; OPEN_MAX],
    open_count: AtomicUsize,
    all_open: AtomicBool,
    /// Pages made readable since the transaction began (`Signal`), in memory that is not moved.
    touched: NonNull<u64>,
    touched_count: AtomicUsize,
    /// The changes that base pages lack; owned by the holder of the turn.
    lagging: UnsafeCell<Lagging>,
    /// True if they lacked something when the last transaction began.
    lags: AtomicBool,
    /// Nothing needs a fault to be read (`Signal`).
    pub(super) all_readable: AtomicBool,
    /// The fault handler's knowledge of it.
    registered: OnceLock<Registered>,
    /// The place at which a page is made before it is put in its place; owned by the resolving thread.
    scratch: NonNull<u8>,
    /// This process' memory as a file, through which pages are written that no thread may touch yet
    /// (`Signal`), where the kernel allows that.
    memory: Option<OwnedFd>,
}

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("View");
        shown
            .field("kind", &self.kind)
            .field("mapped", &self.mapped)
            .finish_non_exhaustive()
    }
}

impl View {
    /// A view of all pages of the segment, known to the fault handler.
    pub fn new(region: Arc<Region>, kind: ViewKind) -> Result<Arc<Self>, SegmentError> {
        let view = Arc::new(Self::reserve(region, kind)?);
        // SAFETY: the view does not move, and the entry is dropped with it.
        let registered = unsafe { register(&view) }.ok_or(SegmentError::TooMany {
            what: "views in a process",
            limit: VIEWS_MAX,
        })?;
        view.registered.set(registered).expect("it is new");
        Ok(view)
    }

    fn reserve(region: Arc<Region>, kind: ViewKind) -> Result<Self, SegmentError> {
        let pages = region.pages_max();
        let bits = || PageBits::new(pages);
        let (guarded, private, protected) = (bits()?, bits()?, bits()?);
        let (readable, writable, unbacked) = (bits()?, bits()?, bits()?);
        let touched = reserve(touched_bytes(pages), ProtFlags::READ | ProtFlags::WRITE)?;
        let lagging = UnsafeCell::new(Lagging::new(&region)?);
        let scratch = reserve(PAGE_SIZE, ProtFlags::READ | ProtFlags::WRITE)?;
        let base = reserve(space(pages), ProtFlags::empty())?;
        Ok(View {
            region,
            base,
            kind,
            mapped: AtomicU64::new(0),
            owner: AtomicI32::new(0),
            snapshot: AtomicU64::new(0),
            folded: AtomicU64::new(0),
            read_only: AtomicBool::new(false),
            stale: AtomicBool::new(false),
            steady: RawMutex::INIT,
            turns: Turns::new(),
            resolved: AtomicU64::new(0),
            tried_again: AtomicU64::new(u64::MAX),
            refused: AtomicI32::new(0),
            guarded,
            guarded_count: AtomicU64::new(0),
            private,
            protected,
            readable,
            writable,
            unbacked,
            has_unbacked: AtomicBool::new(false),
            open: [const { AtomicU32::new(0) }; OPEN_MAX],
            open_count: AtomicUsize::new(0),
            all_open: AtomicBool::new(kind == ViewKind::Explicit),
            touched: touched.cast(),
            touched_count: AtomicUsize::new(0),
            lagging,
            lags: AtomicBool::new(false),
            all_readable: AtomicBool::new(false),
            registered: OnceLock::new(),
            scratch,
            memory: match kind {
                ViewKind::Signal => own_memory(),
                ViewKind::Asynchronous | ViewKind::Explicit => None,
            },
        })
    }

    /// The first byte's address.
    #[inline]
    pub fn base(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// A page's address.
    #[inline]
    pub fn page(&self, page: u64) -> *mut u8 {
        assert!(page < self.region.pages_max());
        // SAFETY: within the reservation.
        unsafe { self.base.as_ptr().add(page as usize * PAGE_SIZE) }
    }

    /// The page that holds an address, if it is in this view's mapped part.
    #[inline]
    pub(super) fn page_of(&self, address: usize) -> Option<u64> {
        let offset = address.checked_sub(self.base.as_ptr().addr())?;
        let page = (offset / PAGE_SIZE) as u64;
        (page < self.mapped()).then_some(page)
    }

    /// Pages mapped.
    #[inline]
    pub fn mapped(&self) -> u64 {
        self.mapped.load(Ordering::Relaxed)
    }

    /// Bytes reserved from the base.
    pub(super) fn reserved_bytes(&self) -> usize {
        space(self.region.pages_max())
    }

    /// The view must be made anew before the next transaction.
    pub fn mark_stale(&self) {
        self.stale.store(true, Ordering::Relaxed);
    }

    /// The interpretation of its faults.
    pub fn kind(&self) -> ViewKind {
        self.kind
    }

    /// The shared memory that it shows.
    pub fn region(&self) -> &Arc<Region> {
        &self.region
    }

    /// Maps pages that the segment has got since. Returns the new ones.
    pub fn map_more(&self) -> Result<std::ops::Range<u64>, SegmentError> {
        let (from, to) = (self.mapped(), self.region.pages());
        if from >= to {
            return Ok(to..to);
        }
        let (file, at) = self.region.backing();
        let bytes = ((to - from) as usize) * PAGE_SIZE;
        let protection = match self.kind {
            ViewKind::Asynchronous if self.all_open.load(Ordering::Relaxed) => {
                ProtFlags::READ | ProtFlags::WRITE
            }
            ViewKind::Asynchronous => ProtFlags::READ,
            ViewKind::Signal => ProtFlags::empty(),
            ViewKind::Explicit => ProtFlags::READ | ProtFlags::WRITE,
        };
        let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
        let place = self.page(from);
        // SAFETY: the range is in our reservation, after the mapped part; no reference into it exists,
        // since given-out ones end at `mapped`.
        unsafe {
            let at = at + from * PAGE_SIZE as u64;
            rustix::mm::mmap(place.cast(), bytes, protection, flags, file, at)
                .map_err(SegmentError::system("map more pages into a view"))?;
            // Pages are watched one by one; a huge page would be one for 512.
            let _ = rustix::mm::madvise(place.cast(), bytes, Advice::LinuxNoHugepage);
        }
        self.mapped.store(to, Ordering::Relaxed);
        if let Some(registered) = self.registered.get() {
            registered.set_mapped(to as usize * PAGE_SIZE);
        }
        Ok(from..to)
    }

    /// Waits for the turn to change the states of pages. Not for the fault handler; and the holder touches no page
    /// that may fault.
    pub(crate) fn turn(&self) -> Turn<'_> {
        let turn = self.turns.take();
        planted::step(Step::TurnTaken);
        turn
    }

    /// Checks, in tests, that the caller has the turn.
    #[inline]
    pub(crate) fn check_turn(&self) {
        debug_assert!(self.turns.is_mine(), "the caller has the turn");
    }

    /// True if a page holds nothing and faults.
    #[inline]
    pub fn is_guarded(&self, page: u64) -> bool {
        self.guarded.has(page)
    }

    /// The number of such pages.
    pub fn guarded_count(&self) -> u64 {
        self.guarded_count.load(Ordering::Relaxed)
    }

    /// The pages that do, in order.
    pub(super) fn guarded(&self) -> impl Iterator<Item = u64> {
        self.guarded.iter(self.mapped())
    }

    pub(crate) fn note_guarded(&self, page: u64) {
        self.check_turn();
        if !self.guarded.set(page) {
            self.guarded_count.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn note_unguarded(&self, page: u64) {
        self.check_turn();
        if self.guarded.clear(page) {
            self.guarded_count.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Notes that no page is guarded any more, according to the caller, who has the turn.
    pub fn forget_guarded(&self) {
        self.check_turn();
        self.guarded.clear_first(self.mapped());
        self.guarded_count.store(0, Ordering::Relaxed);
    }

    /// Enters a transaction of the calling thread.
    pub fn enter(&self, thread: i32, snapshot: u64, folded: u64, read_only: bool) {
        self.snapshot.store(snapshot, Ordering::Relaxed);
        self.folded.store(folded, Ordering::Relaxed);
        self.read_only.store(read_only, Ordering::Relaxed);
        self.refused.store(0, Ordering::Relaxed);
        self.owner.store(thread, Ordering::Relaxed);
    }

    /// Leaves the transaction.
    pub fn leave(&self) {
        self.owner.store(0, Ordering::Relaxed);
    }

    /// True if the view must be made anew, since it was touched outside of a transaction.
    pub fn take_stale(&self) -> bool {
        self.stale.swap(false, Ordering::Relaxed)
    }

    /// The operating system's refusal in the fault handler.
    pub fn take_refused(&self) -> Option<std::io::Error> {
        match self.refused.swap(0, Ordering::Relaxed) {
            0 => None,
            code => Some(std::io::Error::from_raw_os_error(code)),
        }
    }

    /// Copies a change into the view. The page becomes private.
    ///
    /// The caller is the session's own thread, between two uses of the memory by its user, or in the
    /// fault handler; the page is writable.
    pub fn apply(&self, page: u64, offset: usize, bytes: &[u8]) {
        assert!(offset + bytes.len() <= PAGE_SIZE && page < self.mapped());
        // SAFETY: within the mapped view, which is private to the session; the caller's promise.
        unsafe {
            let place = self.page(page).add(offset);
            ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len());
        }
        self.private.set(page);
    }

    /// Appends a copy of the view's bytes. The caller is as for [`View::apply`].
    pub fn append_to(&self, address: u64, bytes: usize, to: &mut Vec<u8>) {
        let end = address + bytes as u64;
        assert!(end <= self.mapped() * PAGE_SIZE as u64);
        // SAFETY: within the mapped view, which is not written now.
        to.extend_from_slice(unsafe {
            std::slice::from_raw_parts(self.base().add(address as usize), bytes)
        });
    }

    /// A page's state was changed.
    pub(super) fn note_resolved(&self) {
        self.resolved.fetch_add(1, Ordering::Relaxed);
    }

    /// Makes a page the session's own copy, with its present content: base pages may then go on. The caller has the
    /// [turn](View::turn).
    pub(crate) fn make_private(&self, page: u64) -> std::io::Result<()> {
        if page >= self.mapped() {
            return Ok(());
        }
        self.note_resolved();
        let rights = MprotectFlags::READ | MprotectFlags::WRITE;
        match self.kind {
            ViewKind::Asynchronous if self.is_guarded(page) => return self.unguard_private(page),
            ViewKind::Asynchronous => self.open_chunk(page)?,
            ViewKind::Signal if self.private.has(page) => return Ok(()),
            ViewKind::Signal => {
                let all = self.all_readable.load(Ordering::Relaxed);
                let readable = all || self.readable.has(page);
                if !readable && self.is_unfolded(page) {
                    self.make_right(page)?;
                }
                self.protect(page, 1, rights)?;
                self.copy_in_place(page);
                let before = match readable {
                    true => MprotectFlags::READ,
                    false => MprotectFlags::empty(),
                };
                return self.protect(page, 1, before);
            }
            ViewKind::Explicit => (),
        }
        self.copy_in_place(page);
        Ok(())
    }

    fn unguard_private(&self, page: u64) -> std::io::Result<()> {
        self.open_chunk(page)?;
        self.unguard(page)?;
        self.copy_in_place(page);
        Ok(())
    }

    /// Writes a byte of a page that may be written, without changing it: the kernel makes a copy.
    fn copy_in_place(&self, page: u64) {
        // SAFETY: the byte is in the mapped view. The session's user may read or write it at the same time; the
        // processor's atomic access leaves the user's store.
        let byte = unsafe { std::sync::atomic::AtomicU8::from_ptr(self.page(page)) };
        // An exchange, since a compiler may make a load of an addition of nothing.
        let mut value = byte.load(Ordering::Relaxed);
        while let Err(now) =
            byte.compare_exchange(value, value, Ordering::SeqCst, Ordering::Relaxed)
        {
            value = now;
        }
        self.private.set(page);
    }

    /// Changes the rights to a range of pages. Usable in the fault handler.
    pub(crate) fn protect(
        &self,
        page: u64,
        pages: u64,
        rights: MprotectFlags,
    ) -> std::io::Result<()> {
        let bytes = pages as usize * PAGE_SIZE;
        // SAFETY: the range is in the view; only its user's rights to access it change.
        unsafe { rustix::mm::mprotect(self.page(page).cast(), bytes, rights) }.map_err(Into::into)
    }

    /// Drops the mapped pages of a range: it shows the file's again. Bits are the caller's affair.
    pub fn drop_pages(&self, page: u64, pages: u64) -> Result<(), SegmentError> {
        let bytes = pages as usize * PAGE_SIZE;
        // SAFETY: the range is in the view, and the caller is the session, outside of its user's code.
        unsafe { rustix::mm::madvise(self.page(page).cast(), bytes, Advice::LinuxDontNeed) }
            .and_then(|()| self.map_again(page, pages))
            .map_err(SegmentError::system("drop pages of a view"))
    }
}

impl Drop for View {
    fn drop(&mut self) {
        // First: the handler must not know a dropped view. Its session is dropped, and with it every
        // thread that touched it.
        drop(self.registered.take());
        let pages = self.region.pages_max();
        // SAFETY: reserved by `new` for this view alone; no reference into it exists any more.
        unsafe {
            let _ = rustix::mm::munmap(self.base.as_ptr().cast(), space(pages));
            let _ = rustix::mm::munmap(self.touched.as_ptr().cast(), touched_bytes(pages));
            let _ = rustix::mm::munmap(self.scratch.as_ptr().cast(), PAGE_SIZE);
        }
    }
}

// SAFETY: the mappings belong to no thread; one thread at a time uses the view, as the session's
// exclusive borrow sees to.
unsafe impl Send for View {}
// SAFETY: the fault handler's access is from the session's own thread. Everything is atomic except the
// parts that the holder of the turn has alone.
unsafe impl Sync for View {}

fn space(pages: u64) -> usize {
    (pages as usize * PAGE_SIZE).max(PAGE_SIZE)
}

fn reserve(bytes: usize, protection: ProtFlags) -> Result<NonNull<u8>, SegmentError> {
    let refused = SegmentError::system(
        "reserve address space for a view (the option `address_space_bytes`; the limit of the process is \
         `ulimit -v`)",
    );
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: a new mapping where the kernel sees fit touches nothing that exists.
    let start = unsafe { rustix::mm::mmap_anonymous(ptr::null_mut(), bytes, protection, flags) }
        .map_err(&refused)?;
    NonNull::new(start.cast()).ok_or_else(|| refused(rustix::io::Errno::NOMEM))
}
