//! The pages in memory, shared by the threads that run subtransactions.
//!
//! Borrowing cannot say who may touch which page here; locks do. All `unsafe` of the crate is in this
//! module and where it is called, and each call argues by one of these rights:
//!
//! - **Reader.** The caller holds a page lock on the page, shared or exclusive, for as long as the
//!   reference lives. Nobody writes to the page meanwhile.
//! - **Writer.** The caller holds an exclusive page lock and no other reference into the page, for
//!   as long as the reference lives.
//! - **Pen.** The caller has the right to append ([`sardonyx_storage::pen`]). It alone touches the pages of
//!   the catalogue and of the undo area, and those of tables that are not in use yet, which no operation
//!   can name; and it may read a page that has completed, unwritten changes and no writer now, because a
//!   writer takes the pen before its first change of such a page.

use crate::pages::Page;
use sardonyx_base::sync::Mutex;
use sardonyx_base::sync::atomic::{AtomicU64, Ordering};
use sardonyx_storage::page::{PAGE_SIZE, PageId};
use sardonyx_storage::store::{PageStore, StoreError};
use std::ops::Range;
use std::ptr::NonNull;

/// All pages.
#[derive(Debug)]
pub(crate) struct Frames {
    base: NonNull<u8>,
    pages: AtomicU64,
    pages_max: u64,
    /// Keeps the memory; locked to grow.
    store: Mutex<PageStore>,
}

// SAFETY: the memory belongs to the store, which is `Send` and `Sync`, and is accessed only by the
// unsafe methods below, whose callers have the right to the page.
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
        }
    }

    /// How many pages there are.
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
        // SAFETY: the page is within the store's committed memory, whose bytes are initialised; the
        // caller has the right that nobody writes to it meanwhile.
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
        // SAFETY: the range is within the store's committed memory, whose bytes are initialised; the
        // caller has the right that nobody else touches the page meanwhile.
        unsafe {
            let first = self.base.add(page.0 as usize * PAGE_SIZE + range.start);
            std::slice::from_raw_parts_mut(first.as_ptr(), range.len())
        }
    }
}
