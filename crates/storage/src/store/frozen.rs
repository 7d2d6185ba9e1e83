//! The part that a snapshot's writer and readers share: for each page, the copy that holds its content when
//! the snapshot was taken.
//!
//! *Why a reader never sees a change.* The writer (1) copies the present page, (2) names the copy in the table with
//! release, (3) issues a release fence, and (4) changes the page by relaxed stores. A reader (a) looks at the table
//! with acquire and finds no copy, (b) loads words of the page, relaxed, (c) issues an acquire fence, and (d) looks
//! again, relaxed. If one of the words in (b) was stored in (4), the fence (3) synchronises with the fence (c). So (2)
//! happened before (d), and (d) finds the copy. If it finds none, all words are those of the snapshot. With a copy, (a)
//! synchronises with (2), so all of (1) is seen.
//!
//! *Why an ended snapshot gives no wrong answer.* `ended` is set before (3) for the first change without a copy. It is
//! also set before the fence that precedes the next use of one of its copies. By the same argument a reader that loaded
//! anything newer, live or in a copy, finds `ended` set when it looks after its acquire fence. It looks each time
//! before it returns anything. Memory for copies is not unmapped while a handle exists. Stores that are frozen together
//! are changed by one thread, and have one `ended`.

use super::snapshot::SnapshotEnded;
use super::words::{copy_out, load};
use crate::page::{Address, PAGE_SIZE};
#[cfg(not(shuttle))]
use rustix::mm::{MapFlags, ProtFlags};
use sardonyx_base::sync::Mutex;
use sardonyx_base::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering, fence};
use std::ptr::NonNull;
use std::sync::Arc;

/// An entry of a page that will not be requested: every reader of this table has ended, or finds it ended.
pub(super) const UNWANTED: u32 = u32::MAX;

/// A table in which at most so many entries are set is cleared for the next snapshot. Others are unmapped.
const CLEARED_MAX: usize = 1024;

/// The pages as they were at one moment.
#[derive(Debug)]
pub(super) struct Frozen {
    table: Table,
    /// The set entries, up to one more than `CLEARED_MAX`. Only the writer takes the lock.
    set: Mutex<Vec<u32>>,
    life: Arc<Life>,
}

/// The time that stores frozen together stay so: one is not ended without the others.
#[derive(Debug)]
pub(super) struct Life {
    /// Set by the writer: later changes are not kept.
    ended: AtomicBool,
    /// Handles that may read.
    handles: AtomicUsize,
}

impl Life {
    /// With a handle for each of so many stores.
    pub fn of(stores: usize) -> Self {
        Life {
            ended: AtomicBool::new(false),
            handles: AtomicUsize::new(stores),
        }
    }

    pub fn end(&self) {
        self.ended.store(true, Ordering::Release);
    }

    pub fn was_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// True if it has no reader any more, or its readers know that it was ended. For the writer.
    pub fn is_over(&self) -> bool {
        self.handles.load(Ordering::Acquire) == 0 || self.ended.load(Ordering::Relaxed)
    }
}

impl Frozen {
    /// With no page changed; by the table of another one that is not used any more, if it has the same memory.
    pub fn new(pages: u64, life: Arc<Life>, spare: Option<Untouched>) -> rustix::io::Result<Self> {
        let table = match spare.filter(|spare| spare.fits(pages)) {
            Some(Untouched(table)) => table.with_len(pages as usize),
            None => Table::zeroed(pages as usize)?,
        };
        let set = Mutex::default();
        Ok(Frozen { table, set, life })
    }

    /// The table for another one, if few entries are set. This one has no reader any more.
    pub fn into_untouched(self) -> Option<Untouched> {
        let Frozen { table, set, .. } = self;
        let set = set.lock();
        if set.len() > CLEARED_MAX {
            return None;
        }
        for page in &*set {
            table.entries()[*page as usize].store(0, Ordering::Relaxed);
        }
        drop(set);
        Some(Untouched(table))
    }

    /// The address of its table.
    #[cfg(test)]
    pub fn place_of_table(&self) -> usize {
        self.table.entries().as_ptr() as usize
    }

    pub fn pages(&self) -> u64 {
        self.table.entries().len() as u64
    }

    /// True if the first change of this page is still to come. For the writer.
    #[inline]
    pub fn lacks(&self, page: u64) -> bool {
        let entry = self.table.entries().get(page as usize);
        entry.is_some_and(|entry| entry.load(Ordering::Relaxed) == 0)
    }

    /// Names the copy of a page: readers take it from there. For the writer.
    pub fn publish(&self, page: u64, entry: u32) {
        self.table.entries()[page as usize].store(entry, Ordering::Release);
        let mut set = self.set.lock();
        if set.len() <= CLEARED_MAX {
            set.push(page as u32);
        }
    }

    /// True if a page was not copied: it did not change.
    pub fn is_as_live(&self, page: u64) -> bool {
        self.table.entries()[page as usize].load(Ordering::Acquire) == 0
    }

    /// Its life, which keeps no pages.
    pub fn life(&self) -> &Arc<Life> {
        &self.life
    }

    pub fn is_ended(&self) -> bool {
        self.life.was_ended()
    }

    /// A handle is dropped.
    pub fn close(&self) {
        self.life.handles.fetch_sub(1, Ordering::Release);
    }

    /// Reads by `from`, which gets where pages begin and the offset there.
    ///
    /// # Safety
    /// `live` has the pages of the table, `copies` those that its entries name; `from` only loads, by
    /// [`load`], words of the page in which the offset is.
    #[inline(always)]
    unsafe fn read<T>(
        &self,
        at: Address,
        [live, copies]: [NonNull<u8>; 2],
        mut from: impl FnMut(NonNull<u8>, usize) -> T,
    ) -> Result<T, SnapshotEnded> {
        let entry = &self.table.entries()[at.page().0 as usize];
        loop {
            let copy = entry.load(Ordering::Acquire);
            // Called at one place, so that it is inlined.
            let (base, offset) = match copy {
                0 => (live, at.0 as usize),
                // Also before: the entry of an ended snapshot is no copy.
                _ if self.life.ended.load(Ordering::Relaxed) => return Err(SnapshotEnded),
                _ => (copies, copy_place(copy) + at.offset_in_page()),
            };
            let value = from(base, offset);
            fence(Ordering::Acquire);
            if self.life.ended.load(Ordering::Relaxed) {
                return Err(SnapshotEnded);
            }
            // Else the copy was made meanwhile.
            if copy != 0 || entry.load(Ordering::Relaxed) == 0 {
                return Ok(value);
            }
        }
    }

    /// The word at an address.
    ///
    /// # Safety
    /// As [`Frozen::read`].
    ///
    /// # Panics
    /// If there is no such page, or the address is no multiple of 8.
    #[inline]
    pub unsafe fn word(&self, at: Address, bases: [NonNull<u8>; 2]) -> Result<u64, SnapshotEnded> {
        assert!(at.0.is_multiple_of(8), "a word at {at}");
        // SAFETY: the word lies in the page, since both are aligned; pages are changed by `words::store`.
        let word = unsafe { self.read(at, bases, |base, at| load(base, at)) }?;
        Ok(u64::from_le(word))
    }

    /// The result of `look` at a block of one page, given the page's beginning and the block's offset there.
    ///
    /// # Safety
    /// As [`Frozen::read`], of the words of the block.
    ///
    /// # Panics
    /// If there is no such page, or the block is not in it, or address or length are no multiples of 8.
    #[inline(always)]
    pub unsafe fn look<T>(
        &self,
        at: Address,
        length: usize,
        bases: [NonNull<u8>; 2],
        look: impl FnMut(NonNull<u8>, usize) -> T,
    ) -> Result<T, SnapshotEnded> {
        let fits =
            (at.0 | length as u64).is_multiple_of(8) && length <= PAGE_SIZE - at.offset_in_page();
        assert!(fits, "words of {length} bytes at {at} are not in one page");
        // SAFETY: they lie in the page, as was checked; the rest is as the caller says.
        unsafe { self.read(at, bases, look) }
    }

    /// Copies bytes of one page; returns how many bytes of `buffer` are before them.
    ///
    /// # Safety
    /// As [`Frozen::read`].
    ///
    /// # Panics
    /// If there is no such page, or the bytes are not all in it.
    #[inline]
    pub unsafe fn copy(
        &self,
        at: Address,
        length: usize,
        bases: [NonNull<u8>; 2],
        buffer: &mut Vec<u8>,
    ) -> Result<usize, SnapshotEnded> {
        let fits = length <= PAGE_SIZE - at.offset_in_page();
        assert!(fits, "{length} bytes at {at} are not in one page");
        // SAFETY: the words of these bytes lie in the page, whose size is a multiple of theirs; pages are
        // changed by `words::store`.
        unsafe { self.read(at, bases, |base, at| copy_out(base, at, length, buffer)) }
    }
}

/// The place of a copy among the copies, in bytes.
pub(super) fn copy_place(entry: u32) -> usize {
    (entry as usize - 1) * PAGE_SIZE
}

/// A table without a set entry.
#[derive(Debug)]
pub(super) struct Untouched(Table);

impl Untouched {
    /// The bytes of its entries.
    pub fn bytes(&self) -> usize {
        size_of_val(self.0.entries())
    }

    /// True if its memory is that of a table for so many pages.
    pub fn fits(&self, pages: u64) -> bool {
        let whole = |len: usize| len.max(1).div_ceil(PAGE_SIZE / size_of::<AtomicU32>());
        whole(self.0.entries().len()) == whole(pages as usize)
    }
}

/// Zeroes that take memory only where they are changed.
#[derive(Debug)]
struct Table {
    #[cfg(not(shuttle))]
    start: NonNull<AtomicU32>,
    #[cfg(not(shuttle))]
    len: usize,
    #[cfg(shuttle)]
    entries: Vec<AtomicU32>,
}

#[cfg(not(shuttle))]
impl Table {
    fn zeroed(len: usize) -> rustix::io::Result<Self> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        let rights = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping where the kernel sees fit touches nothing that exists.
        let start = unsafe {
            rustix::mm::mmap_anonymous(std::ptr::null_mut(), bytes_of_table(len), rights, flags)
        }?;
        let start = NonNull::new(start.cast()).ok_or(rustix::io::Errno::NOMEM)?;
        Ok(Table { start, len })
    }

    /// The same memory for so many entries: it is mapped in whole pages, whose other entries are zeroes.
    fn with_len(mut self, len: usize) -> Self {
        self.len = len;
        self
    }

    #[inline]
    fn entries(&self) -> &[AtomicU32] {
        // SAFETY: `zeroed` mapped so many, aligned to a page, ours until we are dropped; zeroes are values.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

/// Bytes to map, which must not be none.
#[cfg(not(shuttle))]
fn bytes_of_table(len: usize) -> usize {
    len.max(1) * size_of::<AtomicU32>()
}

#[cfg(not(shuttle))]
impl Drop for Table {
    fn drop(&mut self) {
        let bytes = bytes_of_table(self.len);
        // SAFETY: `zeroed` mapped exactly this for us alone.
        let unmapped = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), bytes) };
        debug_assert!(unmapped.is_ok(), "unmap a snapshot's table: {unmapped:?}");
    }
}

// SAFETY: the table owns its mapping, which is not tied to a thread.
#[cfg(not(shuttle))]
unsafe impl Send for Table {}
// SAFETY: a shared table gives out atomics only.
#[cfg(not(shuttle))]
unsafe impl Sync for Table {}

/// In the models the entries are where the threads meet.
#[cfg(shuttle)]
impl Table {
    fn zeroed(len: usize) -> rustix::io::Result<Self> {
        let entries = (0..len).map(|_| AtomicU32::new(0)).collect();
        Ok(Table { entries })
    }

    fn with_len(mut self, len: usize) -> Self {
        self.entries.resize_with(len, || AtomicU32::new(0));
        self
    }

    fn entries(&self) -> &[AtomicU32] {
        &self.entries
    }
}
