//! The file behind memory that several processes share: opened once in a process, given memory, named when
//! it is whole, mapped. Advisory locks in it show which processes live.
//!
//! A process holds the lock on its place for as long as it lives; the kernel gives the lock back however
//! the process ends. The locks are POSIX locks: they belong to the process and not to the open file, so that
//! a forked child does not keep one alive. Their other side is that a process loses its locks on a file with
//! *any* of its descriptors that is closed, so [`SharedFile`] sees to it that it has one.

use crate::process::Process;
use crate::sync::futex::{Condvar, Mutex};
use rustix::fs::{AtFlags, CWD, FallocateFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::ptr::{self, NonNull};

/// The place in the file of the processes' advisory locks: far behind its contents.
const LOCKS_AT: i64 = 1 << 60;

/// The file, once in this process. A second opening waits until the first is closed.
#[derive(Debug)]
pub struct SharedFile {
    // Closed before the entry is taken back: fields are dropped in this order.
    file: OwnedFd,
    _entry: Entry,
}

/// That this process has a file open: device, number, and which process it is.
#[derive(Debug)]
struct Entry((u64, u64, u32));

static OPEN: Mutex<Vec<(u64, u64, u32)>> = Mutex::new(Vec::new());
static CLOSED: Condvar = Condvar::new();

impl SharedFile {
    /// Takes the file, when this process has it open no more.
    ///
    /// # Errors
    /// It cannot be looked at.
    pub fn new(file: OwnedFd) -> rustix::io::Result<Self> {
        let found = rustix::fs::fstat(&file)?;
        let entry = (found.st_dev, found.st_ino, Process::current().number());
        let mut open = OPEN.lock();
        while open.contains(&entry) {
            CLOSED.wait(&mut open);
        }
        open.push(entry);
        Ok(SharedFile {
            file,
            _entry: Entry(entry),
        })
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        OPEN.lock().retain(|entry| *entry != self.0);
        CLOSED.notify_all();
    }
}

impl AsFd for SharedFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl std::ops::Deref for SharedFile {
    type Target = OwnedFd;
    fn deref(&self) -> &OwnedFd {
        &self.file
    }
}

/// True if this process has a file open as a shared memory; if not, it does not open it before `look` is
/// done.
pub fn unless_open<R>(device: u64, number: u64, look: impl FnOnce() -> R) -> Option<R> {
    let open = OPEN.lock();
    let entry = (device, number, Process::current().number());
    (!open.contains(&entry)).then(look)
}

/// The directory of a file of this name.
pub fn directory_of(path: &Path) -> &Path {
    let directory = path.parent().filter(|parent| *parent != Path::new(""));
    directory.unwrap_or(Path::new("."))
}

/// A file without a name, which ends with this process unless it gets one. `path` is its intended place.
///
/// # Errors
/// The operating system's error.
pub fn nameless(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
    rustix::fs::open(directory_of(path), flags, Mode::RUSR | Mode::WUSR)
}

/// Gives a file that has no name one that no other file has.
///
/// # Errors
/// The operating system's error; [`Errno::EXIST`] if another file has the name.
pub fn give_name(file: &OwnedFd, path: &Path) -> rustix::io::Result<()> {
    match rustix::fs::linkat(file, "", CWD, path, AtFlags::EMPTY_PATH) {
        // Before Linux 6.10 only a privileged process may do that.
        Err(Errno::NOENT | Errno::PERM | Errno::INVAL) => {
            let file = format!("/proc/self/fd/{}", file.as_raw_fd());
            rustix::fs::linkat(CWD, file, CWD, path, AtFlags::SYMLINK_FOLLOW)
        }
        linked => linked,
    }
}

/// The lock on a process' place.
pub fn place(n: usize) -> libc::flock {
    places(n, 1)
}

/// The locks on so many places.
pub fn places(first: usize, count: usize) -> libc::flock {
    // SAFETY: a `flock` of zeroes is valid: plain integers.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_WRLCK as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock.l_start = LOCKS_AT + first as i64;
    lock.l_len = count as i64;
    lock
}

/// The process, as this one numbers it, that holds one of these locks, if another does.
pub fn holder(file: &OwnedFd, mut lock: libc::flock) -> Option<u32> {
    // SAFETY: the structure is a valid `flock`; the call touches no other memory.
    let asked = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETLK, &raw mut lock) };
    let free = asked == 0 && lock.l_type == libc::F_UNLCK as libc::c_short;
    (!free).then_some(lock.l_pid as u32)
}

/// Takes locks, if no other process holds one of them.
pub fn take(file: &OwnedFd, mut lock: libc::flock) -> bool {
    // SAFETY: as in `holder`.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLK, &raw mut lock) == 0 }
}

/// Gives locks back that this process has taken.
pub fn give_locks_back(file: &OwnedFd, mut lock: libc::flock) {
    lock.l_type = libc::F_UNLCK as libc::c_short;
    // It cannot fail for a file that is open.
    let _ = take(file, lock);
}

/// Gives this part of the file memory (or room on its disk).
///
/// # Errors
/// There is none; or what else the operating system says.
pub fn allocate(file: &OwnedFd, at: u64, bytes: u64) -> rustix::io::Result<()> {
    rustix::io::retry_on_intr(|| rustix::fs::fallocate(file, FallocateFlags::empty(), at, bytes))
}

/// Frees memory whose content is not needed.
///
/// # Errors
/// The operating system's error.
pub fn give_back(file: &OwnedFd, at: u64, bytes: u64) -> rustix::io::Result<()> {
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    rustix::io::retry_on_intr(|| rustix::fs::fallocate(file, flags, at, bytes))
}

/// Maps a part of the file, for all processes that do. A forked child does not have the mapping.
///
/// # Errors
/// There is no address space; or what else the operating system says.
pub fn map_shared(file: &OwnedFd, at: u64, bytes: u64) -> rustix::io::Result<NonNull<u8>> {
    let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
    let bytes = bytes as usize;
    // SAFETY: a new mapping where the kernel sees fit touches nothing that exists.
    let start = unsafe {
        rustix::mm::mmap(
            ptr::null_mut(),
            bytes,
            protection,
            flags | MapFlags::NORESERVE,
            file,
            at,
        )
    }?;
    keep_from_children(start.cast(), bytes);
    NonNull::new(start.cast()).ok_or(Errno::NOMEM)
}

/// A forked child must not work on memory that its parent shares with others.
pub fn keep_from_children(start: *mut u8, bytes: usize) {
    // SAFETY: the advice changes what a later fork copies, nothing here. It fails only for ranges
    // that are not mapped.
    let _ = unsafe { rustix::mm::madvise(start.cast(), bytes, Advice::LinuxDontFork) };
}
