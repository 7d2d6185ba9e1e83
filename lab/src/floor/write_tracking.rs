//! Tracking of writes in Linux without a signal: userfaultfd's asynchronous write-protection, and the scan that lists
//! the pages written since and protects them again.
//!
//! userfaultfd(2) with `UFFD_FEATURE_WP_ASYNC` (Linux 6.7), for faults of user code only, so that
//! no privilege is needed; `PAGEMAP_SCAN` (Linux 6.7). The kernel's headers are written out here,
//! since neither libc nor rustix has these parts.

use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::io::Errno;
use rustix::mm::{UserfaultfdFlags, userfaultfd};

use crate::floor::mapping::{Mapping, PAGE, last_error};

/// `UFFD_USER_MODE_ONLY`.
const USER_MODE_ONLY: u32 = 1;
const API: u64 = 0xaa;
const FEATURE_WP: u64 = 1 << 0;
const FEATURE_WP_SHARED: u64 = 1 << 12;
const FEATURE_WP_UNPOPULATED: u64 = 1 << 13;
const FEATURE_WP_ASYNC: u64 = 1 << 15;
const REGISTER_MODE_WP: u64 = 1 << 1;
const UFFDIO_API: libc::c_ulong = 0xc018_aa3f;
const UFFDIO_REGISTER: libc::c_ulong = 0xc020_aa00;
const PAGEMAP_SCAN: libc::c_ulong = 0xc060_6610;
const SCAN_PROTECT: u64 = 1 << 0;
const SCAN_CHECK_ASYNC: u64 = 1 << 1;
const PAGE_IS_WRITTEN: u64 = 1 << 1;

#[repr(C)]
struct UffdioApi {
    api: u64,
    features: u64,
    ioctls: u64,
}

#[repr(C)]
struct UffdioRegister {
    start: u64,
    bytes: u64,
    mode: u64,
    ioctls: u64,
}

#[repr(C)]
#[derive(Default)]
struct ScanArguments {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    regions: u64,
    regions_length: u64,
    pages_max: u64,
    category_inverted: u64,
    category_mask: u64,
    category_any_of_mask: u64,
    return_mask: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct ScanRegion {
    start: u64,
    end: u64,
    categories: u64,
}

/// Watches one mapping for writes. The registration ends with this value or with the mapping.
pub(crate) struct WriteTracking<'a> {
    mapping: &'a Mapping,
    _registration: OwnedFd,
    pagemap: File,
    regions: Vec<ScanRegion>,
}

impl<'a> WriteTracking<'a> {
    /// Registers all of `mapping` and protects it.
    ///
    /// # Errors
    /// The kernel's error, if it is too old or refuses.
    pub(crate) fn new(mapping: &'a Mapping) -> Result<Self, Errno> {
        let flags = UserfaultfdFlags::CLOEXEC | UserfaultfdFlags::from_bits_retain(USER_MODE_ONLY);
        // SAFETY: a new descriptor; it has no effect until a range is registered.
        let descriptor = unsafe { userfaultfd(flags) }?;
        let mut api = UffdioApi {
            api: API,
            features: FEATURE_WP | FEATURE_WP_SHARED | FEATURE_WP_UNPOPULATED | FEATURE_WP_ASYNC,
            ioctls: 0,
        };
        // SAFETY: the request reads and writes one struct uffdio_api, whose layout this is.
        check(unsafe { libc::ioctl(descriptor.as_raw_fd(), UFFDIO_API, &raw mut api) })?;
        let mut register = UffdioRegister {
            start: mapping.address() as u64,
            bytes: (mapping.pages() * PAGE) as u64,
            mode: REGISTER_MODE_WP,
            ioctls: 0,
        };
        // SAFETY: the request reads and writes one struct uffdio_register, whose layout this is.
        // The range is the mapping's; asynchronous protection changes no byte, nor who may access
        // it.
        check(unsafe { libc::ioctl(descriptor.as_raw_fd(), UFFDIO_REGISTER, &raw mut register) })?;
        let pagemap = File::open("/proc/self/pagemap")
            .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        let mut tracking = WriteTracking {
            mapping,
            _registration: descriptor,
            pagemap,
            regions: vec![ScanRegion::default(); mapping.pages()],
        };
        tracking.written_since()?;
        Ok(tracking)
    }

    /// Returns the number of pages written since the last call, or since the beginning; protects them again.
    pub(crate) fn written_since(&mut self) -> Result<usize, Errno> {
        let start = self.mapping.address() as u64;
        let mut arguments = ScanArguments {
            size: size_of::<ScanArguments>() as u64,
            flags: SCAN_PROTECT | SCAN_CHECK_ASYNC,
            start,
            end: start + (self.mapping.pages() * PAGE) as u64,
            regions: self.regions.as_mut_ptr().addr() as u64,
            regions_length: self.regions.len() as u64,
            category_mask: PAGE_IS_WRITTEN,
            return_mask: PAGE_IS_WRITTEN,
            ..ScanArguments::default()
        };
        // The address goes through an integer: the kernel writes there without the compiler's
        // knowledge.
        let _ = self.regions.as_mut_ptr().expose_provenance();
        // SAFETY: the request reads and writes one struct pm_scan_arg, whose layout this is, and
        // writes at most `regions_length` struct page_region, which `regions` has room for. It
        // protects only pages of the registered mapping.
        let count = check(unsafe {
            libc::ioctl(self.pagemap.as_raw_fd(), PAGEMAP_SCAN, &raw mut arguments)
        })?;
        let found = self.regions[..count].iter();
        let bytes: u64 = found.map(|region| region.end - region.start).sum();
        Ok(bytes as usize / PAGE)
    }
}

/// The result of a system call.
fn check(result: libc::c_int) -> Result<usize, Errno> {
    usize::try_from(result).map_err(|_| last_error())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::floor::mapping::{MemoryFile, Rights, Sharing};

    #[test]
    fn exactly_the_pages_written_are_told_once() {
        for sharing in [Sharing::Shared, Sharing::Private] {
            let file = MemoryFile::create(9).unwrap();
            let mapping = Mapping::new(&file, sharing, Rights::ReadWrite).unwrap();
            let mut tracking = match WriteTracking::new(&mapping) {
                Ok(tracking) => tracking,
                // An older kernel lacks it: nothing to test.
                Err(Errno::NOSYS | Errno::INVAL | Errno::PERM | Errno::NOTTY) => return,
                Err(error) => panic!("{error}"),
            };
            mapping.read(0);
            for page in [1, 4, 5] {
                mapping.write(page, 7);
                mapping.write(page, 8);
            }
            assert_eq!(tracking.written_since().unwrap(), 3, "{sharing:?}");
            mapping.read(4);
            assert_eq!(tracking.written_since().unwrap(), 0, "{sharing:?}");
            mapping.write(4, 9);
            assert_eq!(tracking.written_since().unwrap(), 1, "{sharing:?}");
        }
    }
}
