//! Zeroed memory of its own mapping, for which the system is asked to use huge pages.
//!
//! With 4 KiB pages most of the time of a random access to a large array goes to the translation of its address. The
//! floor is to show the limit of the memory. The mapping starts on a page, so it also serves as a buffer for direct
//! writes.
//!
//! Invariant: `start` is a private mapping of `bytes` bytes that only this value refers to. It
//! holds `length` values of `T`, all bytes initialised.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use sardonyx_base::resident::Resident;

use crate::floor::error::FloorError;

/// A fixed number of `T`, all bytes zero at first.
pub(crate) struct Region<T: Resident> {
    start: NonNull<T>,
    length: usize,
    bytes: usize,
}

impl<T: Resident> Region<T> {
    /// Maps room for `length` values.
    pub(crate) fn new(length: usize) -> Result<Self, FloorError> {
        const { assert!(align_of::<T>() <= 4_096, "a mapping is aligned to a page") };
        let bytes = length.saturating_mul(size_of::<T>()).max(1);
        let memory = |source: rustix::io::Errno| FloorError::Memory {
            bytes,
            source: source.into(),
        };
        // SAFETY: a new anonymous mapping at an address that the kernel chooses; nothing else can
        // refer to it.
        let start = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        }
        .map_err(memory)?;
        // SAFETY: the range is exactly the mapping just made; this advice does not change contents.
        // A kernel without huge pages refuses, which costs time but no correctness.
        let _ = unsafe { madvise(start, bytes, Advice::LinuxHugepage) };
        let start = NonNull::new(start.cast()).expect("the kernel never maps the zero page");
        Ok(Region {
            start,
            length,
            bytes,
        })
    }
}

impl<T: Resident> Deref for Region<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: by the invariant the mapping holds `length` values of T: it has room for that many, and the start is
        // page-aligned. Zeros and any stored bytes are valid for a T that is Resident. The borrow of self keeps it
        // mapped and unmodified.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl<T: Resident> DerefMut for Region<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and the mutable borrow of self is the only one.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

impl<T: Resident> Drop for Region<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours alone, and no borrow of it can outlive self. Unmapping a
        // whole mapping that exists does not fail.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

// SAFETY: the mapping is owned by this value alone, like the memory of a Vec, and belongs to the
// process, not to a thread.
unsafe impl<T: Resident + Send> Send for Region<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_starts_zeroed_on_a_page_and_keeps_what_is_stored() {
        let mut region = Region::<u64>::new(100_000).unwrap();
        assert_eq!(region.len(), 100_000);
        assert_eq!(region.as_ptr().addr() % 4_096, 0);
        assert!(region.iter().all(|&word| word == 0));
        region[99_999] = 7;
        let moved = std::thread::spawn(move || region[99_999]);
        assert_eq!(moved.join().unwrap(), 7);
        assert_eq!(Region::<u64>::new(0).unwrap().len(), 0);
    }

    #[test]
    fn memory_that_no_machine_has_is_an_error() {
        let error = Region::<u64>::new(usize::MAX / 8).err().unwrap();
        assert!(matches!(error, FloorError::Memory { .. }), "{error}");
    }
}
