//! The handle of a snapshot of a store's pages. It reads them as they were when it was taken, from any thread, while
//! the owner of the store continues to change them.

use super::frozen::{Frozen, Life};
use super::mapping::Mapping;
use super::read::{PageRead, Words};
use super::versions::{Shared, freeze};
use super::words::{WORD, load};
use super::{PageStore, StoreError};
use crate::page::{Address, PAGE_SIZE, PageId};
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;

/// The snapshot was ended: later changes had reached the bound on memory for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "the snapshot was ended: the pages that changed since it was taken reached the bound on memory for \
     copies of them; take a new one (run a transaction on it again), or set `snapshot_bytes_max` to more"
)]
pub struct SnapshotEnded;

impl PageStore {
    /// Sets the bound on the memory for copies of pages that changed while a snapshot was open, in bytes
    /// (default: a quarter of the store's limit, at most 1 GiB). At the bound the oldest snapshot is ended.
    /// It holds from the next snapshot on that is taken while no other is open.
    pub fn set_snapshot_bytes_max(&mut self, bytes: u64) {
        self.snapshot_bytes_max = bytes;
    }

    /// A snapshot of all pages: it reads their present content, while this store changes. Two without a change between
    /// are one.
    ///
    /// Takes some microseconds, at any size. While it is open, the first change of each page copies that page.
    ///
    /// # Errors
    /// [`StoreError::Memory`] if there is no address space for it.
    #[inline]
    pub fn snapshot(&mut self) -> Result<Arc<PageSnapshot>, StoreError> {
        let [snapshot] = freeze([self])?;
        Ok(snapshot)
    }

    /// Snapshots of two stores at one moment, which are ended together and have one bound on memory, that of
    /// the first. One thread has both stores; they are always frozen together.
    ///
    /// # Errors
    /// As [`PageStore::snapshot`].
    ///
    /// # Panics
    /// If both have snapshots that are open, but none together.
    #[inline]
    pub fn snapshot_with(
        &mut self,
        other: &mut PageStore,
    ) -> Result<(Arc<PageSnapshot>, Arc<PageSnapshot>), StoreError> {
        let [one, other] = freeze([self, other])?;
        Ok((one, other))
    }

    /// False for the snapshot of another store.
    pub fn is_of(&self, snapshot: &PageSnapshot) -> bool {
        Arc::ptr_eq(&self.mapping, &snapshot.kept.live)
    }

    /// True if snapshots exist, which need pages from before they change.
    pub fn has_snapshots(&mut self) -> bool {
        if self.versions.as_ref().is_some_and(|v| v.are_idle()) {
            // The last reader has ended.
            self.forget_versions();
        }
        self.versions.is_some()
    }

    /// True if a snapshot has no copy of a page yet.
    pub fn lacks(&self, page: PageId) -> bool {
        let versions = self.versions.as_ref();
        versions.is_some_and(|versions| versions.lack(page.0))
    }

    /// Keeps a page for the snapshots that have no copy of it: `before` is its content when the newest of them was
    /// taken. For a caller that changes pages by [`PageStore::base`]; [`PageStore::write`] keeps them itself.
    pub fn keep(&mut self, page: PageId, before: &[u8; PAGE_SIZE]) {
        if let Some(versions) = &mut self.versions {
            versions.keep(page.0, before);
        }
    }
}

/// The pages of a store as they were at one moment. It stays readable when the store was dropped, whose memory it then
/// keeps.
///
/// ```
/// use sardonyx_storage::page::Address;
/// use sardonyx_storage::store::{PageRead, PageStore};
/// let mut store = PageStore::reserve(1 << 30)?;
/// store.grow_to(2)?;
/// store.write(Address(4096), &[7]);
/// let snapshot = store.snapshot()?;
/// store.write(Address(4096), &[8]);
/// assert_eq!((snapshot.word(Address(4096))?, store.bytes()[4096]), (7, 8));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PageSnapshot {
    // Dropped in this order: first pages are no longer kept for it, then the last handle frees the copies.
    frozen: Reading,
    kept: KeptPages,
}

/// The right to read a snapshot: pages are kept for it until this is dropped.
#[derive(Debug)]
struct Reading(Arc<Frozen>);

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Outlives the snapshot, and knows its end.
#[derive(Clone, Debug)]
pub struct SnapshotLife(Arc<Life>);

impl SnapshotLife {
    /// Returns true if the snapshot was ended, for want of memory.
    pub fn was_ended(&self) -> bool {
        self.0.was_ended()
    }
}

/// The memory of a snapshot that has no reader any more. To drop it may take long: the last one frees all copies.
#[derive(Debug)]
pub struct KeptPages {
    live: Arc<Mapping>,
    copies: Arc<Mapping>,
    shared: Arc<Shared>,
}

impl KeptPages {
    /// The number of pages that were copied, for this snapshot and for those that are open beside it.
    pub fn copies(&self) -> u64 {
        self.shared.copies()
    }
}

impl Drop for KeptPages {
    fn drop(&mut self) {
        self.shared.leave();
    }
}

impl PageSnapshot {
    /// True if a page of the store is unchanged; if not, or if the snapshot was ended, it may have changed.
    pub fn is_as_live(&self, page: PageId) -> bool {
        !self.is_ended() && self.frozen.0.is_as_live(page.0)
    }

    /// A handle that is counted in `shared` already.
    pub(super) fn new(
        frozen: Arc<Frozen>,
        live: Arc<Mapping>,
        copies: Arc<Mapping>,
        shared: Arc<Shared>,
    ) -> Self {
        PageSnapshot {
            frozen: Reading(frozen),
            kept: KeptPages {
                live,
                copies,
                shared,
            },
        }
    }

    /// Reads no more: from here on no page is copied for it. Its memory is left, to be freed where there is time for it.
    pub fn let_go(self) -> KeptPages {
        self.kept
    }

    /// The address of its table.
    #[cfg(test)]
    pub(super) fn place_of_table(&self) -> usize {
        self.frozen.0.place_of_table()
    }

    /// The number of pages; those that the store got later are not there.
    pub fn pages(&self) -> u64 {
        self.frozen.0.pages()
    }

    /// True if it was ended: every read fails.
    pub fn is_ended(&self) -> bool {
        self.frozen.0.is_ended()
    }

    /// Shows if it was ended, also when it is dropped. Keeps no pages.
    pub fn life(&self) -> SnapshotLife {
        SnapshotLife(Arc::clone(self.frozen.0.life()))
    }

    /// True if it has a copy of a page: then reading the page does not touch the live one, now or later.
    #[inline]
    pub fn has_copy(&self, page: PageId) -> bool {
        !self.frozen.0.lacks(page.0)
    }

    fn bases(&self) -> [NonNull<u8>; 2] {
        [self.kept.live.base(), self.kept.copies.base()]
    }
}

/// Words of a page of a snapshot or of its copy, which may change while they are read.
#[derive(Clone, Copy, Debug)]
pub struct SnapshotWords<'a> {
    base: NonNull<u8>,
    /// The offset of the first.
    at: usize,
    count: usize,
    of: PhantomData<&'a PageSnapshot>,
}

impl Words for SnapshotWords<'_> {
    #[inline(always)]
    fn word(self, number: usize) -> u64 {
        assert!(number < self.count, "a word of the block");
        // SAFETY: made by `PageSnapshot::look` of words that are readable while the snapshot is borrowed, and
        // changed by atomic stores only.
        u64::from_le(unsafe { load(self.base, self.at + number * WORD) })
    }
}

impl PageRead for PageSnapshot {
    type Error = SnapshotEnded;
    type Words<'a> = SnapshotWords<'a>;

    #[inline(always)]
    fn look<'a, T>(
        &'a self,
        at: Address,
        length: usize,
        mut look: impl FnMut(SnapshotWords<'a>) -> T,
    ) -> Result<T, SnapshotEnded> {
        let words = |base, at| SnapshotWords {
            base,
            at,
            count: length / WORD,
            of: PhantomData,
        };
        // SAFETY: as in `word`; the words lie in the page, which `Frozen::look` checks.
        unsafe {
            self.frozen
                .0
                .look(at, length, self.bases(), |base, at| look(words(base, at)))
        }
    }

    #[inline(always)]
    fn read_into(&self, at: Address, into: &mut [u8]) -> Result<(), SnapshotEnded> {
        let aligned = at.0.is_multiple_of(WORD as u64) && into.len().is_multiple_of(WORD);
        if !aligned {
            let mut buffer = Vec::new();
            into.copy_from_slice(self.read(at, into.len(), &mut buffer)?);
            return Ok(());
        }
        self.look(at, into.len(), |words| {
            for (number, place) in into.chunks_exact_mut(WORD).enumerate() {
                place.copy_from_slice(&words.word(number).to_le_bytes());
            }
        })
    }

    #[inline(always)]
    fn prefetch(&self, at: Address) {
        // Most pages have not changed since.
        crate::prefetch::hint(self.kept.live.base().as_ptr().wrapping_add(at.0 as usize));
    }

    #[inline]
    fn word(&self, at: Address) -> Result<u64, SnapshotEnded> {
        // SAFETY: this handle owns both mappings and is counted. While it is, the store's pages are only changed by
        // atomic stores. (A caller that has them from `PageStore::base` changes none while this reads one without a
        // copy: it says so there.) The table is at most as long as the store.
        unsafe { self.frozen.0.word(at, self.bases()) }
    }

    #[inline]
    fn read<'a>(
        &'a self,
        at: Address,
        length: usize,
        buffer: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], SnapshotEnded> {
        // SAFETY: as above.
        let skip = unsafe { self.frozen.0.copy(at, length, self.bases(), buffer) }?;
        Ok(&buffer[skip..][..length])
    }
}
