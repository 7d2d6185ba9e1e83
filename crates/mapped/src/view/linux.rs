//! The kernel's means of detecting touched pages: asynchronous write protection (userfaultfd), a scan of
//! the page tables (PAGEMAP_SCAN), guard pages. None of it needs privileges.
//!
//! Numbers and structures are those of the kernel's user interface (`linux/userfaultfd.h`,
//! `linux/fs.h`, `asm-generic/mman-common.h`); the crates in use do not have them.

use crate::error::SegmentError;
use rustix::fs::{Mode, OFlags};
use sardonyx_base::process::Process;
use sardonyx_storage::page::PAGE_SIZE;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

const UFFD_USER_MODE_ONLY: i32 = 1;
const UFFD_API: u64 = 0xAA;
const UFFD_FEATURE_WP_ASYNC: u64 = 1 << 15;
const UFFDIO_REGISTER_MODE_WP: u64 = 1 << 1;
const UFFDIO_COPY_MODE_WP: u64 = 1 << 1;
const MADV_GUARD_INSTALL: i32 = 102;
const MADV_GUARD_REMOVE: i32 = 103;

const PAGE_IS_WRITTEN: u64 = 1 << 1;
const PAGE_IS_FILE: u64 = 1 << 2;
const PAGE_IS_PRESENT: u64 = 1 << 3;
const PAGE_IS_SWAPPED: u64 = 1 << 4;
const PM_SCAN_WP_MATCHING: u64 = 1 << 0;
const PM_SCAN_CHECK_WPASYNC: u64 = 1 << 1;

/// The number of a request with an argument that is read and written, as `_IOWR` makes it.
const fn request(kind: u8, number: u8, bytes: usize) -> u64 {
    3 << 30 | (bytes as u64) << 16 | (kind as u64) << 8 | number as u64
}

#[repr(C)]
struct Api {
    api: u64,
    features: u64,
    ioctls: u64,
}

#[repr(C)]
struct Register {
    start: u64,
    length: u64,
    mode: u64,
    ioctls: u64,
}

#[repr(C)]
struct WriteProtect {
    start: u64,
    length: u64,
    mode: u64,
}

#[repr(C)]
struct Copy {
    to: u64,
    from: u64,
    length: u64,
    mode: u64,
    copied: i64,
}

#[repr(C)]
#[derive(Default)]
struct Scan {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    vec: u64,
    vec_len: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

/// Consecutive pages that a scan found, as addresses.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct Found {
    /// The first byte.
    pub start: u64,
    /// The byte after the last.
    pub end: u64,
    categories: u64,
}

/// Runs found by one call; a scan that finds more is continued.
pub const FOUND_MAX: usize = 256;

/// The files through which the kernel is asked.
#[derive(Debug)]
pub struct Kernel {
    userfault: OwnedFd,
    pagemap: OwnedFd,
}

/// The answers that one process got.
struct Asked {
    process: Process,
    kernel: Result<Kernel, String>,
}

impl Asked {
    fn answer(&self) -> Result<&Kernel, &str> {
        self.kernel.as_ref().map_err(String::as_str)
    }
}

/// The answers that [`kernel`] got; null before.
static ASKED: AtomicPtr<Asked> = AtomicPtr::new(std::ptr::null_mut());

/// The kernel's mechanisms, if this one has them all; else the reason. Asked once for the process: in a forked child,
/// the parent's files work on the parent's memory.
pub fn kernel() -> Result<&'static Kernel, &'static str> {
    let known = ASKED.load(Ordering::Acquire);
    // SAFETY: null, or leaked below.
    if let Some(asked) = unsafe { known.as_ref() }
        && asked.process.is_current()
    {
        return asked.answer();
    }
    ask(known)
}

/// Asks the kernel. Not a part of [`kernel`]: the handler of faults calls that, on an alternate stack of 8 KiB, of which the
/// kernel's own frame takes nearly half. What is here would take the rest.
#[cold]
#[inline(never)]
fn ask(known: *mut Asked) -> Result<&'static Kernel, &'static str> {
    let asked = Box::into_raw(Box::new(Asked {
        process: Process::current(),
        kernel: Kernel::open().map_err(|error| error.to_string()),
    }));
    let order = (Ordering::AcqRel, Ordering::Acquire);
    let asked = match ASKED.compare_exchange(known, asked, order.0, order.1) {
        Ok(_) => asked,
        Err(faster) => {
            // SAFETY: made above, and without another user.
            drop(unsafe { Box::from_raw(asked) });
            faster
        }
    };
    // SAFETY: a stored answer is never dropped.
    unsafe { &*asked }.answer()
}

fn last(operation: &'static str) -> SegmentError {
    SegmentError::last(operation)
}

impl Kernel {
    fn open() -> Result<Kernel, SegmentError> {
        let flags = libc::O_CLOEXEC | libc::O_NONBLOCK | UFFD_USER_MODE_ONLY;
        // SAFETY: makes a file descriptor; touches no memory.
        let fd = unsafe { libc::syscall(libc::SYS_userfaultfd, flags) };
        if fd < 0 {
            return Err(last(
                "use userfaultfd (Linux 6.7, and not forbidden by a sandbox)",
            ));
        }
        // SAFETY: the descriptor was just made and has no other owner.
        let userfault = unsafe { OwnedFd::from_raw_fd(fd as i32) };
        let mut api = Api {
            api: UFFD_API,
            features: UFFD_FEATURE_WP_ASYNC,
            ioctls: 0,
        };
        // SAFETY: the argument is the structure that this request takes.
        if unsafe { ioctl(&userfault, request(0xAA, 0x3F, size_of::<Api>()), &mut api) } < 0 {
            return Err(last("use asynchronous write protection (Linux 6.7)"));
        }
        let read = OFlags::RDONLY | OFlags::CLOEXEC;
        let pagemap = rustix::fs::open("/proc/self/pagemap", read, Mode::empty())
            .map_err(SegmentError::system("open /proc/self/pagemap"))?;
        let kernel = Kernel { userfault, pagemap };
        kernel.try_out()?;
        Ok(kernel)
    }

    /// Uses everything once, on a page of a private file mapping.
    fn try_out(&self) -> Result<(), SegmentError> {
        use rustix::mm::{MapFlags, ProtFlags};
        let bytes = PAGE_SIZE;
        let file = rustix::fs::memfd_create("try", rustix::fs::MemfdFlags::CLOEXEC)
            .map_err(SegmentError::system("make shared memory"))?;
        rustix::fs::ftruncate(&file, bytes as u64)
            .map_err(SegmentError::system("set the length of shared memory"))?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping where the kernel sees fit touches nothing that exists.
        let page = unsafe {
            let nowhere = std::ptr::null_mut();
            rustix::mm::mmap(nowhere, bytes, protection, MapFlags::PRIVATE, &file, 0)
        }
        .map_err(SegmentError::system("map shared memory"))?
        .cast::<u8>();
        let tried = self.register(page, bytes).and_then(|()| {
            // SAFETY: the page was mapped above, for writing, for us alone.
            unsafe { page.write_volatile(1) };
            let mut found = Vec::new();
            self.written(page, bytes, |from, _| found.push(from))?;
            let guarded = self.guard(page, bytes, true);
            guarded
                .and_then(|()| self.place(page, &[1; PAGE_SIZE]))
                .and_then(|()| self.guard(page, bytes, true))
                .and_then(|()| self.unguard(page, bytes))
                .map_err(|error| SegmentError::System {
                    operation: "use guard pages in a file mapping (Linux 6.15)",
                    source: error,
                })?;
            match found[..] {
                [found] if found == page as u64 => Ok(()),
                _ => Err(SegmentError::System {
                    operation: "find a written page by PAGEMAP_SCAN",
                    source: io::ErrorKind::Unsupported.into(),
                }),
            }
        });
        // SAFETY: mapped above; no reference into it exists.
        let _ = unsafe { rustix::mm::munmap(page.cast(), bytes) };
        tried
    }

    /// Registers a range for asynchronous write protection; this also keeps the kernel from mapping
    /// the neighbours of a page that is read.
    pub fn register(&self, start: *mut u8, bytes: usize) -> Result<(), SegmentError> {
        let mut register = Register {
            start: start as u64,
            length: bytes as u64,
            mode: UFFDIO_REGISTER_MODE_WP,
            ioctls: 0,
        };
        let number = request(0xAA, 0x00, size_of::<Register>());
        // SAFETY: the argument is the structure that this request takes; registering changes the handling of faults,
        // not the memory's content.
        match unsafe { ioctl(&self.userfault, number, &mut register) } {
            0 => Ok(()),
            _ => Err(last("register memory for write protection")),
        }
    }

    /// Calls `found` with the addresses of every run of pages that were written since the last call,
    /// and protects these again.
    pub fn written(
        &self,
        start: *mut u8,
        bytes: usize,
        found: impl FnMut(u64, u64),
    ) -> Result<(), SegmentError> {
        let scan = Scan {
            flags: PM_SCAN_WP_MATCHING | PM_SCAN_CHECK_WPASYNC,
            // Pages of the file itself were only read.
            category_inverted: PAGE_IS_FILE,
            category_mask: PAGE_IS_WRITTEN | PAGE_IS_FILE,
            category_anyof_mask: PAGE_IS_PRESENT | PAGE_IS_SWAPPED,
            ..Scan::default()
        };
        self.scan(scan, start, bytes, found)
    }

    /// Calls `found` with the addresses of every run of pages that are mapped: those touched.
    pub fn present(
        &self,
        start: *mut u8,
        bytes: usize,
        found: impl FnMut(u64, u64),
    ) -> Result<(), SegmentError> {
        let scan = Scan {
            category_anyof_mask: PAGE_IS_PRESENT | PAGE_IS_SWAPPED,
            ..Scan::default()
        };
        self.scan(scan, start, bytes, found)
    }

    fn scan(
        &self,
        mut scan: Scan,
        start: *mut u8,
        bytes: usize,
        mut found: impl FnMut(u64, u64),
    ) -> Result<(), SegmentError> {
        let mut runs = [Found::default(); FOUND_MAX];
        let end = start as u64 + bytes as u64;
        scan.size = size_of::<Scan>() as u64;
        scan.walk_end = start as u64;
        while scan.walk_end < end {
            scan.start = scan.walk_end;
            scan.end = end;
            scan.vec = runs.as_mut_ptr() as u64;
            scan.vec_len = FOUND_MAX as u64;
            scan.return_mask = PAGE_IS_WRITTEN;
            let number = request(b'f', 16, size_of::<Scan>());
            // SAFETY: the argument is the structure that this request takes, and names a vector of
            // that many elements.
            let count = unsafe { ioctl(&self.pagemap, number, &mut scan) };
            if count < 0 {
                if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted {
                    scan.walk_end = scan.start;
                    continue;
                }
                return Err(last("scan the page tables"));
            }
            for run in &runs[..count as usize] {
                found(run.start, run.end);
            }
        }
        Ok(())
    }

    /// Makes a range inaccessible without a mapping of its own; its content is dropped. A page that may
    /// have been write-protected must be freed of that first (`protected`): the kernel would otherwise try
    /// for ever.
    ///
    /// The caller owns the range and has no reference into it.
    pub fn guard(&self, start: *mut u8, bytes: usize, protected: bool) -> io::Result<()> {
        if protected {
            self.unprotect(start, bytes)?;
        }
        // SAFETY: the caller owns the range.
        match unsafe { libc::madvise(start.cast(), bytes, MADV_GUARD_INSTALL) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Frees a range of its write protection. Without that, a dropped page leaves a mark which looks like a page that
    /// was touched.
    ///
    /// The caller owns the range.
    pub fn unprotect(&self, start: *mut u8, bytes: usize) -> io::Result<()> {
        let mut free = WriteProtect {
            start: start as u64,
            length: bytes as u64,
            mode: 0,
        };
        let number = request(0xAA, 0x06, size_of::<WriteProtect>());
        // SAFETY: the argument is the structure that this request takes.
        match unsafe { ioctl(&self.userfault, number, &mut free) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Puts a page in the place of a guarded one, for all threads at once: a thread that touches it faults, or finds
    /// it whole. It is write-protected. Usable in a signal handler.
    pub fn place(&self, to: *mut u8, page: &[u8; PAGE_SIZE]) -> io::Result<()> {
        let mut copy = Copy {
            to: to as u64,
            from: page.as_ptr() as u64,
            length: PAGE_SIZE as u64,
            mode: UFFDIO_COPY_MODE_WP,
            copied: 0,
        };
        let number = request(0xAA, 0x03, size_of::<Copy>());
        // SAFETY: the argument is the structure that this request takes; it reads a page that is
        // borrowed, and changes memory only where none was accessible.
        while unsafe { ioctl(&self.userfault, number, &mut copy) } != 0 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::WouldBlock {
                return Err(error);
            }
        }
        Ok(())
    }

    /// Makes a guarded range accessible again, with the file's content. Usable in a signal handler.
    pub fn unguard(&self, start: *mut u8, bytes: usize) -> io::Result<()> {
        // SAFETY: guard pages hold nothing; pages between them are left alone.
        match unsafe { libc::madvise(start.cast(), bytes, MADV_GUARD_REMOVE) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Makes a range accessible again, guarded or not, in any process, and if the kernel knows of guards at all. Usable in
/// a signal handler.
///
/// The caller owns the range.
pub fn free_guards(start: *mut u8, bytes: usize) {
    // SAFETY: guard pages hold nothing; pages between them are left alone.
    unsafe { libc::madvise(start.cast(), bytes, MADV_GUARD_REMOVE) };
}

/// True if the kernel may unmap read pages of shared memory, so that they look unread. It does so if there
/// is somewhere to swap them to, or if it looks for cold pages on its own account (DAMON).
pub fn pages_may_vanish() -> bool {
    static VANISH: OnceLock<bool> = OnceLock::new();
    *VANISH.get_or_init(|| {
        // The first line is a heading. If this cannot be read, assume the worse case.
        let swaps = std::fs::read_to_string("/proc/swaps");
        swaps.map_or(true, |swaps| swaps.lines().count() > 1) || has_kernel_thread("kdamond")
    })
}

fn has_kernel_thread(name: &str) -> bool {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let names = processes.filter_map(|p| std::fs::read_to_string(p.path().join("comm")).ok());
    names.into_iter().any(|found| found.starts_with(name))
}

/// Keeps the memory of a range where it is, and maps all of it. Other mappings of the same file are
/// kept by that, too.
///
/// The caller owns the range.
pub fn lock(start: *mut u8, bytes: usize) -> Result<(), SegmentError> {
    // SAFETY: locking changes nothing about the memory's content; the caller owns it.
    match unsafe { libc::mlock(start.cast(), bytes) } {
        0 => Ok(()),
        _ => Err(last(
            "lock the segment in memory, as is needed where there is swap or DAMON, or as the option \
             `lock_in_memory` wants: raise the limit on locked memory (`ulimit -l unlimited`), or choose \
             the mechanism `signal`",
        )),
    }
}

/// True if this process may lock any amount of memory.
pub fn can_lock() -> bool {
    static CAN: OnceLock<bool> = OnceLock::new();
    *CAN.get_or_init(try_to_lock)
}

fn try_to_lock() -> bool {
    const MLOCK_ONFAULT: u32 = 1;
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the structure is valid.
    let asked = unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &raw mut limit) } == 0;
    if asked && limit.rlim_cur == libc::RLIM_INFINITY {
        return true;
    }
    // Address space counts, not memory; so more than the limit of it can be locked only with the right
    // to ignore the limit.
    let bytes = (limit.rlim_cur as usize).saturating_add(PAGE_SIZE);
    let flags = rustix::mm::MapFlags::PRIVATE | rustix::mm::MapFlags::NORESERVE;
    let nowhere = std::ptr::null_mut();
    // SAFETY: a new mapping where the kernel sees fit touches nothing that exists.
    let start = unsafe {
        rustix::mm::mmap_anonymous(nowhere, bytes, rustix::mm::ProtFlags::empty(), flags)
    };
    start.is_ok_and(|start| {
        // SAFETY: the range was mapped above; nothing is touched.
        let locked = unsafe { libc::mlock2(start, bytes, MLOCK_ONFAULT) } == 0;
        // SAFETY: mapped above, and without another user.
        let _ = unsafe { rustix::mm::munmap(start, bytes) };
        locked
    })
}

/// # Safety
/// The argument is the structure that the request takes.
unsafe fn ioctl<T>(file: &OwnedFd, number: u64, argument: &mut T) -> i32 {
    // SAFETY: as the caller promises.
    unsafe { libc::ioctl(file.as_raw_fd(), number as _, &raw mut *argument) }
}
