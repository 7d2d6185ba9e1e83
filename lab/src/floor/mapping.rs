//! A file in memory, and mappings of it whose pages change place and rights.
//!
//! Schemes that find out which pages a transaction touched are made of this. The interface is safe: it gives out no
//! reference into a mapping, so that pages may be remapped, protected and dropped under a shared borrow. An access to a
//! page without the right to it raises SIGSEGV. A watcher ([`crate::floor::fault_handler`]) gives the right and the
//! access is repeated; without one the process ends, as by any wild access.
//!
//! Invariant: `start` is the start of `pages` mapped pages that only this value knows. Every page of them stays mapped,
//! to some file and with some rights, until the value is dropped.

use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::atomic::{Ordering, compiler_fence};

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::io::Errno;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap, mprotect, munmap};

use crate::floor::FloorError;

/// The bytes of a page.
pub(crate) const PAGE: usize = 4_096;

/// A file without a name and without a disk, all zeros at first.
pub(crate) struct MemoryFile {
    descriptor: OwnedFd,
    pages: usize,
}

impl MemoryFile {
    pub(crate) fn create(pages: usize) -> Result<Self, FloorError> {
        let bytes = pages.saturating_mul(PAGE);
        let create = || {
            let descriptor = memfd_create("sardonyx-floor", MemfdFlags::CLOEXEC)?;
            ftruncate(&descriptor, bytes as u64)?;
            Ok(MemoryFile { descriptor, pages })
        };
        create().map_err(|source: Errno| memory(bytes, source))
    }
}

/// The allowed accesses to a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rights {
    /// Nothing: every access faults.
    None,
    /// Loads.
    Read,
    /// Loads and stores.
    ReadWrite,
}

impl Rights {
    fn protection(self) -> ProtFlags {
        match self {
            Rights::None => ProtFlags::empty(),
            Rights::Read => ProtFlags::READ,
            Rights::ReadWrite => ProtFlags::READ | ProtFlags::WRITE,
        }
    }
}

/// The destination of stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// Stores reach the file.
    Shared,
    /// A page is copied at its first store, and the copy is this mapping's own.
    Private,
}

/// Advice of Linux 6.15 and later that rustix does not name.
pub(crate) const GUARD_INSTALL: libc::c_int = 102;
/// See [`GUARD_INSTALL`].
pub(crate) const GUARD_REMOVE: libc::c_int = 103;

/// A range of pages at an address that the kernel chose.
pub(crate) struct Mapping {
    start: NonNull<u8>,
    pages: usize,
}

impl Mapping {
    /// Maps all of `file`.
    pub(crate) fn new(
        file: &MemoryFile,
        sharing: Sharing,
        rights: Rights,
    ) -> Result<Self, FloorError> {
        let bytes = file.pages * PAGE;
        let flags = match sharing {
            Sharing::Shared => MapFlags::SHARED,
            Sharing::Private => MapFlags::PRIVATE,
        };
        let (place, protection) = (std::ptr::null_mut(), rights.protection());
        // SAFETY: a new mapping at an address that the kernel chooses, so it covers nothing else.
        let start = unsafe { mmap(place, bytes, protection, flags, &file.descriptor, 0) }
            .map_err(|source| memory(bytes, source))?;
        let start = NonNull::new(start.cast()).expect("the kernel never maps the zero page");
        let pages = file.pages;
        Ok(Mapping { start, pages })
    }

    pub(crate) fn pages(&self) -> usize {
        self.pages
    }

    /// Its first address.
    pub(crate) fn address(&self) -> usize {
        self.start.as_ptr().addr()
    }

    /// The page of an address; `None` outside.
    pub(crate) fn page_of(&self, address: usize) -> Option<usize> {
        let page = address.checked_sub(self.address())? / PAGE;
        (page < self.pages).then_some(page)
    }

    /// Maps a page of `file`, shared, in place of `page`. A handler of SIGSEGV may call it: it is one system call.
    pub(crate) fn map_page(
        &self,
        page: usize,
        file: &MemoryFile,
        file_page: usize,
        rights: Rights,
    ) -> Result<(), Errno> {
        assert!(file_page < file.pages, "a page of the file");
        let place = self.page(page).cast();
        let flags = MapFlags::SHARED | MapFlags::FIXED;
        let offset = (file_page * PAGE) as u64;
        // SAFETY: `page` checks that the page replaced is one of ours, and no reference into a
        // mapping exists. If the kernel refuses, the old page stays.
        unsafe {
            mmap(
                place,
                PAGE,
                rights.protection(),
                flags,
                &file.descriptor,
                offset,
            )
        }?;
        Ok(())
    }

    /// Changes the rights to `count` pages.
    pub(crate) fn protect(&self, first: usize, count: usize, rights: Rights) -> Result<(), Errno> {
        let place = self.range(first, count);
        let flags = match rights {
            Rights::None => MprotectFlags::empty(),
            Rights::Read => MprotectFlags::READ,
            Rights::ReadWrite => MprotectFlags::READ | MprotectFlags::WRITE,
        };
        // SAFETY: the pages are ours, and no reference relies on their rights.
        unsafe { mprotect(place.cast(), count * PAGE, flags) }
    }

    /// Discards `count` pages (`MADV_DONTNEED`): a shared page is read again from its file, a private one becomes the
    /// file's again.
    pub(crate) fn drop_pages(&self, first: usize, count: usize) -> Result<(), Errno> {
        self.advise(first, count, libc::MADV_DONTNEED)
    }

    /// Makes a page fault at every access, without a mapping of its own, or ends that: `advice` is [`GUARD_INSTALL`] or
    /// [`GUARD_REMOVE`].
    pub(crate) fn guard(&self, page: usize, advice: libc::c_int) -> Result<(), Errno> {
        assert!(matches!(advice, GUARD_INSTALL | GUARD_REMOVE));
        self.advise(page, 1, advice)
    }

    fn advise(&self, first: usize, count: usize, advice: libc::c_int) -> Result<(), Errno> {
        let place = self.range(first, count);
        // SAFETY: the pages are ours and no reference into them exists; all advice that gets here
        // changes contents or accessibility of exactly these pages and unmaps none.
        match unsafe { libc::madvise(place.cast(), count * PAGE, advice) } {
            0 => Ok(()),
            _ => Err(last_error()),
        }
    }

    /// Loads the integer at the start of a page.
    #[inline]
    pub(crate) fn read(&self, page: usize) -> i32 {
        let place = self.page(page).cast::<i32>();
        // SAFETY: the page is mapped and aligned, any bytes are an i32. If the page may not be
        // read the processor faults before anything was loaded.
        unsafe { place.read_volatile() }
    }

    /// Stores an integer at the start of a page.
    #[inline]
    pub(crate) fn write(&self, page: usize, value: i32) {
        let place = self.page(page).cast::<i32>();
        // SAFETY: as for loads; no reference to the overwritten bytes exists.
        unsafe { place.write_volatile(value) }
    }

    /// Copies a page of another mapping here.
    #[inline]
    pub(crate) fn copy_page(&self, page: usize, from: &Mapping, from_page: usize) {
        let (from, to) = (from.page(from_page), self.page(page));
        // The same memory may be mapped elsewhere, which the compiler does not know.
        compiler_fence(Ordering::SeqCst);
        // SAFETY: both are whole mapped pages, page-aligned. They are different pages: the caller
        // names different mappings, and mappings never share addresses; asserted below for one
        // mapping.
        unsafe {
            assert_ne!(from, to, "a page is not copied to itself");
            std::ptr::copy_nonoverlapping(from, to, PAGE);
        }
        compiler_fence(Ordering::SeqCst);
    }

    /// Returns true if a page holds the same bytes as a page of another mapping.
    #[inline]
    pub(crate) fn page_equals(&self, page: usize, other: &Mapping, other_page: usize) -> bool {
        let (one, other) = (self.page(page), other.page(other_page));
        compiler_fence(Ordering::SeqCst);
        // SAFETY: both are whole mapped pages, and memcmp reads PAGE bytes of each.
        unsafe { libc::memcmp(one.cast(), other.cast(), PAGE) == 0 }
    }

    #[inline]
    fn page(&self, page: usize) -> *mut u8 {
        self.range(page, 1)
    }

    #[inline]
    fn range(&self, first: usize, count: usize) -> *mut u8 {
        let inside = first < self.pages && count <= self.pages - first;
        assert!(inside, "pages {first} and on of {}", self.pages);
        // SAFETY: the mapping has more than `first` pages.
        unsafe { self.start.as_ptr().add(first * PAGE) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range is ours alone, and no reference into it exists.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.pages * PAGE) };
    }
}

/// The error of the C library's last call in this thread.
pub(crate) fn last_error() -> Errno {
    let error = std::io::Error::last_os_error();
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

fn memory(bytes: usize, source: Errno) -> FloorError {
    FloorError::Memory {
        bytes,
        source: source.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_change_place_and_private_stores_stay_private() {
        let file = MemoryFile::create(3).unwrap();
        let shared = Mapping::new(&file, Sharing::Shared, Rights::ReadWrite).unwrap();
        let private = Mapping::new(&file, Sharing::Private, Rights::ReadWrite).unwrap();
        for page in 0..3 {
            shared.write(page, page as i32 + 10);
        }
        private.write(1, -1);
        assert_eq!((shared.read(1), private.read(1)), (11, -1));
        assert!(!private.page_equals(1, &shared, 1) && private.page_equals(2, &shared, 2));
        private.drop_pages(1, 1).unwrap();
        assert_eq!(private.read(1), 11);
        private.map_page(0, &file, 2, Rights::Read).unwrap();
        assert_eq!(private.read(0), 12);
        shared.copy_page(0, &shared, 2);
        assert_eq!(shared.read(0), 12);
    }

    #[test]
    fn addresses_belong_to_pages() {
        let file = MemoryFile::create(2).unwrap();
        let mapping = Mapping::new(&file, Sharing::Shared, Rights::None).unwrap();
        let start = mapping.address();
        assert_eq!(mapping.page_of(start - 1), None);
        assert_eq!(mapping.page_of(start + PAGE - 1), Some(0));
        assert_eq!(mapping.page_of(start + PAGE), Some(1));
        assert_eq!(mapping.page_of(start + 2 * PAGE), None);
    }

    #[test]
    fn memory_that_no_machine_has_is_an_error() {
        let error = MemoryFile::create(usize::MAX).err().unwrap();
        assert!(matches!(error, FloorError::Memory { .. }), "{error}");
        assert!(
            Mapping::new(
                &MemoryFile::create(0).unwrap(),
                Sharing::Shared,
                Rights::None
            )
            .is_err()
        );
    }
}
