//! The pages in memory, shared by the threads that run subtransactions.
//!
//! The compiler cannot check here which thread may touch which page; locks do. All `unsafe` of the crate is in this
//! module and where it is called, and each call argues by one of these rights:
//!
//! - **Reader.** The caller holds a page lock on the page, shared or exclusive, for as long as the reference lives. No
//!   thread writes to the page meanwhile.
//! - **Writer.** The caller holds an exclusive page lock and no other reference into the page, for
//!   as long as the reference lives.
//! - **Pen.** The caller has the right to append ([`sardonyx_storage::pen`]). It alone touches the pages of the
//!   catalogue, of the undo area and of the engine's own tables. It alone touches those of tables that are not in use
//!   yet, which no operation can name. It may read a page that has completed, unwritten changes and no writer now: a
//!   writer takes the pen before its first change of such a page.
//!
//! **Snapshots.** A subtransaction changes pages in place before it has ended. So a snapshot is not the present
//! content of the pages, but that without the unfinished subtransactions. While it has the pen and its pages, an
//! ending one gives its before-images ([`Frames::keep_before`]) to the snapshots that were taken since. A reader reads
//! a page without a copy only while no thread writes to it, so it finds the snapshot's content: later changes that
//! ended have kept a copy, and those that did not end were undone.

use crate::changes::Changes;
use crate::pages::Page;
use sardonyx_base::hash::IntegerMap;
use sardonyx_base::sync::Mutex;
use sardonyx_base::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sardonyx_storage::page::{PAGE_SIZE, PageId};
use sardonyx_storage::store::{PageSnapshot, PageStore, StoreError};
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

/// All pages.
#[derive(Debug)]
pub(crate) struct Frames {
    base: NonNull<u8>,
    pages: AtomicU64,
    pages_max: u64,
    /// Keeps the memory; locked to grow, and to keep pages for snapshots.
    store: Mutex<PageStore>,
    /// There may be snapshots. Set by the pen's holder.
    snapshots: AtomicBool,
    /// With a single level: pages that transactions which have not ended change, as they were before.
    befores: Mutex<IntegerMap<u64, Box<Page>>>,
}

// SAFETY: the memory belongs to the store, which is `Send` and `Sync`, and only the unsafe methods
// below access it. Their callers have the right to the page.
unsafe impl Send for Frames {}
// SAFETY: as above.
unsafe impl Sync for Frames {}

impl Frames {
    pub fn new(store: PageStore) -> Frames {
        Frames {
            base: store.base(),
            pages: AtomicU64::new(store.pages()),
            pages_max: store.pages_max(),
            store: Mutex::new(store),
            snapshots: AtomicBool::new(false),
            befores: Mutex::default(),
        }
    }

    /// A snapshot of all pages: of those that subtransactions are at work on, as they were before these. The
    /// caller has the pen.
    pub fn snapshot(&self) -> Result<Arc<PageSnapshot>, StoreError> {
        let snapshot = self.store.lock().snapshot()?;
        self.snapshots.store(true, Ordering::Release);
        Ok(snapshot)
    }

    /// Before a subtransaction ends that made these changes: keeps the pages as they were without them for
    /// the snapshots that have no copy. The caller has the pen, so that each snapshot is before the end or
    /// after it, and the exclusive locks of the pages.
    #[inline]
    pub fn keep_before(&self, changes: &Changes) {
        if self.snapshots.load(Ordering::Acquire) {
            self.keep_for_snapshots(changes);
        }
    }

    #[cold]
    fn keep_for_snapshots(&self, changes: &Changes) {
        let mut store = self.store.lock();
        if !store.has_snapshots() {
            self.snapshots.store(false, Ordering::Release);
            return;
        }
        let mut befores: IntegerMap<u64, Option<Box<Page>>> = IntegerMap::default();
        changes.newest_first(|page, start, old| {
            let before = befores.entry(page.0).or_insert_with(|| {
                // SAFETY: right of a reader: the caller has the page's exclusive lock, and no reference
                // into it is written to.
                store
                    .lacks(page)
                    .then(|| Box::new(*unsafe { self.page(page) }))
            });
            if let Some(before) = before {
                before[start..start + old.len()].copy_from_slice(old);
            }
        });
        for (page, before) in befores {
            if let Some(before) = before {
                store.keep(PageId(page), &before);
            }
        }
    }

    /// With a single level: before the first change of a page by a transaction, which has locked it
    /// exclusively until it ends.
    pub fn note_before(&self, page: PageId) {
        // SAFETY: right of a reader: the caller has the page's exclusive lock and has not begun to write.
        let before = Box::new(*unsafe { self.page(page) });
        self.befores.lock().entry(page.0).or_insert(before);
    }

    /// With a single level: the present content of these pages, locked exclusively still, is committed.
    pub fn forget_befores(&self, pages: impl IntoIterator<Item = PageId>) {
        let mut befores = self.befores.lock();
        for page in pages {
            befores.remove(&page.0);
        }
    }

    /// With a single level: the snapshot's content of a page. It is the snapshot's copy, or the page without the
    /// unfinished transaction that changes it. Otherwise it is the present content, while no thread begins to change
    /// it. `read` reads it in the snapshot.
    pub fn read_before<E>(
        &self,
        page: PageId,
        snapshot: &PageSnapshot,
        read: impl FnOnce() -> Result<Box<Page>, E>,
    ) -> Result<Box<Page>, E> {
        let befores = self.befores.lock();
        match befores.get(&page.0) {
            // A transaction that ended since kept a copy; the present before-image is another one's.
            Some(before) if !snapshot.has_copy(page) => Ok(before.clone()),
            _ => read(),
        }
    }

    #[inline]
    pub fn pages(&self) -> u64 {
        self.pages.load(Ordering::Acquire)
    }

    /// The most pages that there may be.
    pub fn pages_max(&self) -> u64 {
        self.pages_max
    }

    /// Adds pages of zeroes until there are so many.
    pub fn grow_to(&self, pages: u64) -> Result<(), StoreError> {
        let mut store = self.store.lock();
        store.grow_to(pages)?;
        self.pages.store(store.pages(), Ordering::Release);
        Ok(())
    }

    /// A page's bytes.
    ///
    /// # Safety
    /// The caller has the right of a reader or of the pen (see the module).
    ///
    /// # Panics
    /// If there is no such page.
    #[inline]
    pub unsafe fn page(&self, page: PageId) -> &Page {
        assert!(page.0 < self.pages(), "page {page} is not there");
        // SAFETY: the page is within the store's committed memory, whose bytes are initialised; by the caller's right,
        // it is not written meanwhile.
        unsafe {
            self.base
                .add(page.0 as usize * PAGE_SIZE)
                .cast::<Page>()
                .as_ref()
        }
    }

    /// Bytes of a page, to be changed.
    ///
    /// # Safety
    /// The caller has the right of a writer or of the pen (see the module).
    ///
    /// # Panics
    /// If there is no such page, or the range is not in it.
    #[inline]
    #[expect(
        clippy::mut_from_ref,
        reason = "the page's lock is the exclusive borrow"
    )]
    pub unsafe fn bytes_mut(&self, page: PageId, range: Range<usize>) -> &mut [u8] {
        assert!(page.0 < self.pages(), "page {page} is not there");
        assert!(
            range.start <= range.end && range.end <= PAGE_SIZE,
            "{range:?} is not in a page"
        );
        // SAFETY: the range is within the store's committed memory, whose bytes are initialised; by the caller's right,
        // no other thread touches the page meanwhile.
        unsafe {
            let first = self.base.add(page.0 as usize * PAGE_SIZE + range.start);
            std::slice::from_raw_parts_mut(first.as_ptr(), range.len())
        }
    }
}
