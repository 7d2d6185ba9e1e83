//! The handle of a snapshot of a store's pages: reads them as they were when it was taken, from any thread,
//! while the owner of the store goes on changing them.

use super::frozen::Frozen;
use super::mapping::Mapping;
use super::read::{PageRead, Words};
use super::versions::Shared;
use super::words::{WORD, load};
use crate::page::Address;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;

/// The snapshot was ended: what changed since it was taken had reached the bound on memory for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "the snapshot was ended: the pages that changed since it was taken reached the bound on memory for \
     copies of them; take a new one, or set `snapshot_bytes_max` to more"
)]
pub struct SnapshotEnded;

/// The pages of a store as they were at one moment. It stays readable when the store is gone, whose memory
/// it then keeps.
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
    frozen: Arc<Frozen>,
    live: Arc<Mapping>,
    copies: Arc<Mapping>,
    shared: Arc<Shared>,
}

impl PageSnapshot {
    /// A handle that is counted in `shared` already.
    pub(super) fn new(
        frozen: Arc<Frozen>,
        live: Arc<Mapping>,
        copies: Arc<Mapping>,
        shared: Arc<Shared>,
    ) -> Self {
        PageSnapshot {
            frozen,
            live,
            copies,
            shared,
        }
    }

    /// The number of pages; those that the store got later are not there.
    pub fn pages(&self) -> u64 {
        self.frozen.pages()
    }

    /// Whether it was ended, and every read will say so.
    pub fn is_ended(&self) -> bool {
        self.frozen.is_ended()
    }

    fn bases(&self) -> [NonNull<u8>; 2] {
        [self.live.base(), self.copies.base()]
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
        crate::prefetch::hint(self.live.base().as_ptr().wrapping_add(at.0 as usize));
    }

    #[inline]
    fn word(&self, at: Address) -> Result<u64, SnapshotEnded> {
        // SAFETY: this handle owns both mappings and is counted: while it is, the store's pages are only
        // changed by atomic stores, and there are as many as when the table was made, or more.
        unsafe { self.frozen.word(at, self.bases()) }
    }

    #[inline]
    fn read<'a>(
        &'a self,
        at: Address,
        length: usize,
        buffer: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], SnapshotEnded> {
        // SAFETY: as above.
        let skip = unsafe { self.frozen.copy(at, length, self.bases(), buffer) }?;
        Ok(&buffer[skip..][..length])
    }
}

impl Drop for PageSnapshot {
    fn drop(&mut self) {
        self.frozen.close();
        self.shared.leave();
    }
}
