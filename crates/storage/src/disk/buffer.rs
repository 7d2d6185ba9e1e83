//! A byte buffer whose address and capacity suit direct I/O.
//!
//! Commit groups are in it on their way from the execution stage to the disk and to the
//! checkpointer. So it grows like a `Vec` and is reused, never freed, on the hot path.

use super::DIRECT_ALIGNMENT;
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
        // SAFETY: the layout's size is not zero.
        let pointer = unsafe { alloc_zeroed(layout) };
        let Some(pointer) = NonNull::new(pointer) else {
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
