//! A range of reserved addresses, of which more and more may be read and written: the memory of a page store, and
//! of the snapshots that outlive it. It never moves, and is given back when its last owner drops it.

use super::COMMIT_BYTES;
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags};
use sardonyx_base::random::system_random;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The largest range that gets a place of its own where it cannot be reserved at once.
const PLACE_BYTES_MAX: usize = 16 << 40;

/// A mapping that belongs to its owners alone: `[base, base + reserved)`.
#[derive(Debug)]
pub(super) struct Mapping {
    /// A multiple of [`COMMIT_BYTES`].
    base: NonNull<u8>,
    /// Bytes; a multiple of [`COMMIT_BYTES`]. Changed by the page store alone.
    reserved: AtomicUsize,
}

/// The reason why no addresses were reserved: the requested number, and the system's error.
#[derive(Debug)]
pub(super) struct Refused {
    pub bytes: u64,
    pub errno: Errno,
}

impl Mapping {
    /// Reserves by `at_once` so many bytes, or a place to grow at if that is refused as too much.
    pub fn reserve_by(
        bytes: usize,
        at_once: impl FnOnce(usize) -> Result<NonNull<u8>, Errno>,
    ) -> Result<Self, Refused> {
        let (base, reserved) = match at_once(bytes) {
            Ok(base) => (base, bytes),
            Err(errno) if is_too_much(errno) && bytes <= PLACE_BYTES_MAX => {
                let place = reserve_at_free_place(bytes);
                let bytes = COMMIT_BYTES as u64;
                (
                    place.map_err(|errno| Refused { bytes, errno })?,
                    COMMIT_BYTES,
                )
            }
            Err(errno) => {
                let bytes = bytes as u64;
                return Err(Refused { bytes, errno });
            }
        };
        let reserved = AtomicUsize::new(reserved);
        Ok(Mapping { base, reserved })
    }

    #[inline]
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    pub fn reserved(&self) -> usize {
        self.reserved.load(Ordering::Relaxed)
    }

    /// Lets the bytes from `from` to `to`, multiples of [`COMMIT_BYTES`], be read and written, in small
    /// pages or huge ones.
    ///
    /// # Panics
    /// If they are not reserved.
    pub fn commit(&self, from: usize, to: usize, small_pages: bool) -> Result<(), Errno> {
        assert!(
            from < to && to <= self.reserved(),
            "commit within the reserved range"
        );
        let bytes = to - from;
        // SAFETY: `from < reserved`, so this is within (not at the end of) our own mapping.
        let start: *mut c_void = unsafe { self.base.as_ptr().add(from) }.cast();
        // SAFETY: the range is within our mapping, page-aligned, and no reference into it exists
        // yet: the store's slices end at `len <= committed`, and snapshots read below that.
        unsafe { rustix::mm::mprotect(start, bytes, MprotectFlags::READ | MprotectFlags::WRITE) }?;
        let advice = match small_pages {
            true => Advice::LinuxNoHugepage,
            false => Advice::LinuxHugepage,
        };
        self.advise(from, to, advice);
        Ok(())
    }

    /// Tells the system by which pages to back a committed range. Huge pages are only faster: a kernel built without
    /// them refuses the advice, and then the range has small ones.
    ///
    /// # Panics
    /// If the range is not reserved.
    pub fn advise(&self, from: usize, to: usize, advice: Advice) {
        assert!(
            from < to && to <= self.reserved(),
            "advice for the reserved range"
        );
        // SAFETY: within our own mapping; the advice changes how the range is backed, not what it holds.
        let _ = unsafe {
            let start = self.base.as_ptr().add(from).cast();
            rustix::mm::madvise(start, to - from, advice)
        };
    }

    /// Has the operating system give memory to a committed range now; the content stays. Without effect where it
    /// cannot: then that happens when the memory is touched.
    ///
    /// # Panics
    /// If the range is not reserved.
    pub fn populate(&self, from: usize, to: usize) {
        assert!(
            from < to && to <= self.reserved(),
            "populate within the reserved range"
        );
        // SAFETY: within our own mapping, whose owners the caller is one of. The kernel behaves as if each page was
        // written to, but changes no byte; where the range may not be written, it does nothing.
        let _ = unsafe {
            let start = self.base.as_ptr().add(from).cast();
            rustix::mm::madvise(start, to - from, Advice::LinuxPopulateWrite)
        };
    }

    /// Reserves the addresses up to `to` bytes, right behind those that are reserved.
    pub fn extend(&self, to: usize) -> Result<(), Errno> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED_NOREPLACE;
        let bytes = to - self.reserved();
        let end = self.base.as_ptr().wrapping_add(self.reserved());
        // SAFETY: a new mapping that replaces none: the kernel refuses it if an address is taken.
        let got =
            unsafe { rustix::mm::mmap_anonymous(end.cast(), bytes, ProtFlags::empty(), flags) }?;
        if got.cast() != end {
            // A kernel before 4.17 takes the place for a wish.
            // SAFETY: the mapping just made, whose address has no other user.
            let _ = unsafe { rustix::mm::munmap(got, bytes) };
            return Err(Errno::EXIST);
        }
        self.reserved.store(to, Ordering::Relaxed);
        Ok(())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `reserve_by` and `extend` mapped exactly this range for us alone; every slice into it
        // borrowed the store, and every snapshot that reads it owns the mapping, too.
        let unmapped = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.reserved()) };
        debug_assert!(unmapped.is_ok(), "unmap the page store: {unmapped:?}");
    }
}

// SAFETY: the mapping belongs to the process, not to the thread that made it.
unsafe impl Send for Mapping {}
// SAFETY: what it gives out is a pointer; to grow it is atomic, and done by one page store.
unsafe impl Sync for Mapping {}

/// Reserves address space that starts at a multiple of [`COMMIT_BYTES`]. `bytes` is one, and not 0.
pub(super) fn reserve_aligned(bytes: usize) -> Result<NonNull<u8>, Errno> {
    // More than needed is mapped, and the parts before and after the aligned range are unmapped.
    let mapped = bytes.checked_add(COMMIT_BYTES).ok_or(Errno::NOMEM)?;
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: a new mapping where the kernel sees fit touches nothing that exists.
    let start = unsafe {
        rustix::mm::mmap_anonymous(std::ptr::null_mut(), mapped, ProtFlags::empty(), flags)
    }?;
    let before = start.cast::<u8>().align_offset(COMMIT_BYTES);
    // SAFETY: `before < COMMIT_BYTES`, so `base` and `after` are within the mapping of
    // `bytes + COMMIT_BYTES` or at its end.
    let (base, after): (*mut u8, *mut u8) = unsafe {
        let base = start.cast::<u8>().add(before);
        (base, base.add(bytes))
    };
    // A refusal would only leave some address space reserved, and that costs nothing; it does not
    // happen but at the limit on the number of mappings.
    if before > 0 {
        // SAFETY: the part before `base` is page-aligned, ours, and without another user.
        let _ = unsafe { rustix::mm::munmap(start, before) };
    }
    let rest = COMMIT_BYTES - before;
    if rest > 0 {
        // SAFETY: the part from `after` on is page-aligned, ours, and without another user.
        let _ = unsafe { rustix::mm::munmap(after.cast(), rest) };
    }
    NonNull::new(base).ok_or(Errno::NOMEM)
}

/// True if more addresses were requested than the process may have. Linux returns ENOMEM for that, and tools that
/// place the process' mappings themselves (valgrind) EINVAL.
fn is_too_much(error: Errno) -> bool {
    matches!(error, Errno::NOMEM | Errno::INVAL)
}

/// Reserves [`COMMIT_BYTES`] at a place behind which `bytes` bytes are free now: the place is found by
/// chance among the addresses of a process, of which nearly all are free.
fn reserve_at_free_place(bytes: usize) -> Result<NonNull<u8>, Errno> {
    const TRIES: usize = 64;
    // Below the stack and the libraries, above programs and their heaps.
    let (low, high) = (16 << 40, (80 << 40) - bytes);
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED_NOREPLACE;
    for _ in 0..TRIES {
        let at = low + (system_random() as usize) % (high - low);
        let place = std::ptr::without_provenance_mut::<c_void>(at.next_multiple_of(COMMIT_BYTES));
        // SAFETY: a new mapping that replaces none: the kernel refuses it if an address is taken.
        let got =
            unsafe { rustix::mm::mmap_anonymous(place, COMMIT_BYTES, ProtFlags::empty(), flags) };
        match got {
            Ok(got) if got == place => return NonNull::new(got.cast()).ok_or(Errno::NOMEM),
            Ok(got) => {
                // SAFETY: the mapping just made, whose address has no other user.
                let _ = unsafe { rustix::mm::munmap(got, COMMIT_BYTES) };
            }
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
    }
    Err(Errno::NOMEM)
}
