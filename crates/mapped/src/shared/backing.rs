//! The file behind the shared memory: opening it once in a process, giving it memory, mapping it.

use super::control::PROCESSES;
use crate::error::SegmentError;
use rustix::fs::{AtFlags, CWD, FallocateFlags, Mode, OFlags, StatFs};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags};
use sardonyx_base::process::Process;
use sardonyx_base::sync::futex::{Condvar, Mutex};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::ptr::{self, NonNull};

/// Where in the file the advisory locks of the processes are: far behind its contents.
const LOCKS_AT: i64 = 1 << 60;

/// The lock, behind those of the places, that is held by who is going to remove the name of a shared memory
/// that no process is on.
pub(crate) const REMOVING: usize = PROCESSES;

/// The file, once in this process: a process' advisory locks on a file go with *any* of its descriptors
/// that is closed. So whoever opens it again waits until the region before is closed.
pub(super) struct Backing {
    // Closed before the entry is taken back: fields are dropped in this order.
    file: OwnedFd,
    _entry: Entry,
}

/// That this process has a file open: device, number, and which process it is.
struct Entry((u64, u64, u32));

static OPEN: Mutex<Vec<(u64, u64, u32)>> = Mutex::new(Vec::new());
static CLOSED: Condvar = Condvar::new();

impl Backing {
    pub(super) fn new(file: OwnedFd) -> Result<Self, SegmentError> {
        let found =
            rustix::fs::fstat(&file).map_err(SegmentError::system("look at the shared memory"))?;
        let entry = (found.st_dev, found.st_ino, Process::current().number());
        let mut open = OPEN.lock();
        while open.contains(&entry) {
            CLOSED.wait(&mut open);
        }
        open.push(entry);
        Ok(Backing {
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

impl AsFd for Backing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl std::ops::Deref for Backing {
    type Target = OwnedFd;
    fn deref(&self) -> &OwnedFd {
        &self.file
    }
}

/// Whether this process has a file open as a shared memory; if not, it does not open it before `look` is
/// done.
pub(crate) fn unless_open<R>(device: u64, number: u64, look: impl FnOnce() -> R) -> Option<R> {
    let open = OPEN.lock();
    let entry = (device, number, Process::current().number());
    (!open.contains(&entry)).then(look)
}

/// Other file systems would write the memory to a disk, and the kernel's mechanisms refuse them.
pub(super) fn must_be_memory(
    found: rustix::io::Result<StatFs>,
    path: &Path,
) -> Result<(), SegmentError> {
    let found = found.map_err(SegmentError::system(
        "look at the file system of the shared memory",
    ))?;
    match found.f_type == libc::TMPFS_MAGIC {
        true => Ok(()),
        false => Err(SegmentError::Incompatible {
            place: path.display().to_string(),
            reason: "it is not in a memory file system (tmpfs); name a directory in one by the \
                     option `shared_memory`"
                .into(),
        }),
    }
}

/// A file without a name, which is gone with this process unless it gets one. `path` is where it is to
/// stand.
pub(super) fn nameless(path: &Path) -> Result<OwnedFd, SegmentError> {
    let directory = path.parent().filter(|parent| *parent != Path::new(""));
    let directory = directory.unwrap_or(Path::new("."));
    must_be_memory(rustix::fs::statfs(directory), path)?;
    let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
    rustix::fs::open(directory, flags, Mode::RUSR | Mode::WUSR)
        .map_err(SegmentError::system("make the file of the shared memory"))
}

/// Gives a file that has no name one that no other file has.
pub(super) fn give_name(file: &OwnedFd, path: &Path) -> rustix::io::Result<()> {
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
pub(crate) fn place(n: usize) -> libc::flock {
    places(n, 1)
}

/// The locks on so many places.
pub(crate) fn places(first: usize, count: usize) -> libc::flock {
    // SAFETY: a `flock` of zeroes is valid: plain integers.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_WRLCK as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock.l_start = LOCKS_AT + first as i64;
    lock.l_len = count as i64;
    lock
}

/// The process, as this one numbers it, that holds one of these locks, if another does.
pub(crate) fn holder(file: &OwnedFd, mut lock: libc::flock) -> Option<u32> {
    // SAFETY: the structure is a valid `flock`; the call touches no other memory.
    let asked = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETLK, &raw mut lock) };
    let free = asked == 0 && lock.l_type == libc::F_UNLCK as libc::c_short;
    (!free).then_some(lock.l_pid as u32)
}

/// Takes locks, if no other process holds one of them.
pub(crate) fn take(file: &OwnedFd, mut lock: libc::flock) -> bool {
    // SAFETY: as in `holder`.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLK, &raw mut lock) == 0 }
}

pub(super) fn allocate(
    file: &OwnedFd,
    path: Option<&Path>,
    at: u64,
    bytes: u64,
) -> Result<(), SegmentError> {
    loop {
        match rustix::fs::fallocate(file, FallocateFlags::empty(), at, bytes) {
            Ok(()) => return Ok(()),
            Err(Errno::INTR) => (),
            Err(error) => {
                return Err(SegmentError::SharedMemoryFull {
                    bytes,
                    place: path.map_or("memory".into(), |path| path.display().to_string()),
                    source: error.into(),
                });
            }
        }
    }
}

/// Gives memory back that nobody needs what it holds.
pub(super) fn give_back(file: &OwnedFd, at: u64, bytes: u64) -> rustix::io::Result<()> {
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    rustix::io::retry_on_intr(|| rustix::fs::fallocate(file, flags, at, bytes))
}

pub(super) fn map_shared(file: &OwnedFd, at: u64, bytes: u64) -> Result<NonNull<u8>, SegmentError> {
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
    }
    .map_err(SegmentError::system(
        "map the shared memory (the option `address_space_bytes`; the limit of the process is `ulimit -v`)",
    ))?;
    keep_from_children(start.cast(), bytes);
    NonNull::new(start.cast()).ok_or_else(|| SegmentError::system("map memory")(Errno::NOMEM))
}

pub(super) fn map_twice(file: &OwnedFd, at: u64, bytes: u64) -> Result<NonNull<u8>, SegmentError> {
    let length = bytes as usize;
    let refused = SegmentError::system("map the ring");
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: as in `map_shared`.
    let start = unsafe {
        rustix::mm::mmap_anonymous(ptr::null_mut(), 2 * length, ProtFlags::empty(), flags)
    }
    .map_err(&refused)?;
    for half in 0..2 {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the address is within the reservation made above, which nobody else knows.
        unsafe {
            let place = start.cast::<u8>().add(half * length).cast();
            let flags = MapFlags::SHARED | MapFlags::FIXED;
            rustix::mm::mmap(place, length, protection, flags, file, at).map_err(&refused)?;
        }
    }
    keep_from_children(start.cast(), 2 * length);
    NonNull::new(start.cast()).ok_or_else(|| refused(Errno::NOMEM))
}

/// A forked child must not work on the memory of its parent's sessions.
pub(crate) fn keep_from_children(start: *mut u8, bytes: usize) {
    // SAFETY: the advice changes what a later fork copies, nothing here. It fails only for ranges
    // that are not mapped.
    let _ = unsafe { rustix::mm::madvise(start.cast(), bytes, Advice::LinuxDontFork) };
}
