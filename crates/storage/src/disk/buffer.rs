//! A byte buffer whose address and capacity suit direct I/O.
//!
//! Commit groups are in it on their way from the execution stage to the disk and to the
//! checkpointer. So it grows like a `Vec` and is reused, never freed, on the hot path.
//!
//! A large buffer is a mapping of its own. The C library's heap has no use for the room of a freed block that was aligned:
//! a new block of the same size, and the bytes to align it, do not fit there. So the heap grew with each buffer that was
//! freed and made again. A mapping is returned to the system whole. It takes memory only as far as it was filled.

use super::DIRECT_ALIGNMENT;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use sardonyx_base::allocator::LARGE_BYTES;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// A growable byte buffer aligned to [`DIRECT_ALIGNMENT`]; every byte up to the capacity is
/// initialised.
#[derive(Debug)]
pub struct AlignedBuffer {
    pointer: NonNull<u8>,
    capacity: usize,
    len: usize,
}

// SAFETY: the buffer owns its allocation exclusively; nothing in it is tied to a thread.
unsafe impl Send for AlignedBuffer {}
// SAFETY: a shared reference only gives out shared slices.
unsafe impl Sync for AlignedBuffer {}

impl AlignedBuffer {
    /// An empty buffer with room for `capacity` bytes, rounded up to the alignment.
    pub fn with_capacity(capacity: usize) -> Self {
        let capacity = capacity.max(1).next_multiple_of(DIRECT_ALIGNMENT);
        let layout = Self::layout(capacity);
        let pointer = match Self::is_mapped(capacity) {
            true => Self::map(capacity),
            // SAFETY: the layout's size is not zero.
            false => NonNull::new(unsafe { alloc_zeroed(layout) }),
        };
        let Some(pointer) = pointer else {
            handle_alloc_error(layout)
        };
        AlignedBuffer {
            pointer,
            capacity,
            len: 0,
        }
    }

    /// A buffer of `len` zero bytes.
    pub fn zeroed(len: usize) -> Self {
        let mut buffer = Self::with_capacity(len);
        buffer.len = len;
        buffer
    }

    /// True if a buffer with so much room is a mapping of its own.
    fn is_mapped(capacity: usize) -> bool {
        capacity >= LARGE_BYTES
    }

    /// Zero bytes in a mapping of their own; `None` if the system has no memory.
    fn map(capacity: usize) -> Option<NonNull<u8>> {
        let rights = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping where the kernel sees fit touches nothing that exists.
        let start =
            unsafe { mmap_anonymous(std::ptr::null_mut(), capacity, rights, MapFlags::PRIVATE) };
        NonNull::new(start.ok()?.cast())
    }

    fn layout(capacity: usize) -> Layout {
        Layout::from_size_align(capacity, DIRECT_ALIGNMENT).expect("a capacity below isize::MAX")
    }

    /// Bytes that fit without growing.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Forgets the content; keeps the room.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Shortens the content to `len` bytes.
    ///
    /// # Panics
    /// If `len` is more than the content's length.
    pub fn truncate(&mut self, len: usize) {
        assert!(len <= self.len, "truncate to {len} of {}", self.len);
        self.len = len;
    }

    /// Lengthens the content to `len` with zeroes.
    pub fn extend_zeroed(&mut self, len: usize) {
        if len > self.len {
            let from = self.len;
            self.reserve(len - from);
            self.len = len;
            self[from..].fill(0);
        }
    }

    /// Makes room for `additional` more bytes.
    #[inline]
    pub fn reserve(&mut self, additional: usize) {
        if self.capacity - self.len < additional {
            self.grow(self.len + additional);
        }
    }

    #[cold]
    fn grow(&mut self, needed: usize) {
        let mut larger = Self::with_capacity(needed.max(self.capacity * 2));
        larger.len = self.len;
        larger.copy_from_slice(self);
        *self = larger;
    }

    /// Lengthens the content by `additional` bytes, which are initialised but hold earlier bytes,
    /// and returns them to be written.
    #[inline(always)]
    pub fn append(&mut self, additional: usize) -> &mut [u8] {
        self.reserve(additional);
        let from = self.len;
        self.len += additional;
        &mut self[from..]
    }

    /// Appends bytes.
    #[inline]
    pub fn extend_from_slice(&mut self, bytes: &[u8]) {
        self.reserve(bytes.len());
        let from = self.len;
        self.len += bytes.len();
        self[from..].copy_from_slice(bytes);
    }
}

impl Drop for AlignedBuffer {
    fn drop(&mut self) {
        if Self::is_mapped(self.capacity) {
            // SAFETY: `map` mapped exactly this for us alone.
            let unmapped = unsafe { munmap(self.pointer.as_ptr().cast(), self.capacity) };
            debug_assert!(unmapped.is_ok(), "unmap a buffer: {unmapped:?}");
            return;
        }
        // SAFETY: allocated in `with_capacity` with this very layout, and not freed since.
        unsafe { dealloc(self.pointer.as_ptr(), Self::layout(self.capacity)) }
    }
}

impl Deref for AlignedBuffer {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: `len <= capacity`, all of it initialised (allocated zeroed), owned by us.
        unsafe { std::slice::from_raw_parts(self.pointer.as_ptr(), self.len) }
    }
}

impl DerefMut for AlignedBuffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and we are borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.pointer.as_ptr(), self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, Mode, OFlags, openat};

    /// Set in the entry of a page that is in memory.
    const PRESENT: u64 = 1 << 63;

    /// Bytes of a buffer's room that are in memory, by the system's page table.
    fn resident(buffer: &AlignedBuffer) -> usize {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let table =
            openat(CWD, "/proc/self/pagemap", flags, Mode::empty()).expect("the page table");
        let page = rustix::param::page_size();
        let first = buffer.pointer.as_ptr().addr() / page;
        let mut entries = vec![0u8; buffer.capacity / page * 8];
        let read = rustix::io::pread(&table, &mut entries, first as u64 * 8);
        assert_eq!(read, Ok(entries.len()));
        let entries = entries.as_chunks::<8>().0.iter();
        let present = entries.filter(|entry| u64::from_ne_bytes(**entry) & PRESENT != 0);
        present.count() * page
    }

    #[test]
    fn a_large_buffer_takes_memory_only_as_far_as_it_was_filled() {
        // More than the largest page that the system gives at one touch.
        let mut buffer = AlignedBuffer::with_capacity(32 << 20);
        assert_eq!(resident(&buffer), 0);
        buffer.extend_from_slice(&[7; 100]);
        let some = resident(&buffer);
        assert!((4096..=4 << 20).contains(&some), "{some}");
        assert_eq!(buffer[..], [7; 100]);
    }

    #[test]
    fn a_large_buffer_returns_its_addresses() {
        // 128 TiB in sequence: all addresses of a process.
        for _ in 0..1 << 17 {
            drop(AlignedBuffer::with_capacity(1 << 30));
        }
    }

    #[test]
    fn a_buffer_keeps_its_bytes_as_it_grows_into_a_mapping_and_beyond() {
        let mut buffer = AlignedBuffer::with_capacity(1);
        let mut expected = Vec::new();
        while buffer.capacity() <= 4 * LARGE_BYTES {
            let bytes: Vec<u8> = (0..10_007).map(|n| (n + expected.len()) as u8).collect();
            buffer.extend_from_slice(&bytes);
            expected.extend(bytes);
            assert!(buffer.as_ptr().addr().is_multiple_of(DIRECT_ALIGNMENT));
        }
        assert!(buffer[..] == expected[..]);
        let zeroed = AlignedBuffer::zeroed(LARGE_BYTES + 1);
        assert!(zeroed.iter().all(|byte| *byte == 0));
    }
}
