//! The file behind the shared memory, in the words of this crate's errors: see `base::shared_file`.

use super::control::PROCESSES;
use crate::error::SegmentError;
use rustix::fs::StatFs;
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};
use sardonyx_base::shared_file;
pub(crate) use sardonyx_base::shared_file::{
    SharedFile as Backing, give_back, give_name, holder, keep_from_children, place, places, take,
};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::ptr::{self, NonNull};

/// The lock behind those of the places. A process holds it while it removes the name of a shared memory without a
/// process.
pub(crate) const REMOVING: usize = PROCESSES;

/// Takes the file, when this process has it open no more.
pub(super) fn backing(file: OwnedFd) -> Result<Backing, SegmentError> {
    Backing::new(file).map_err(SegmentError::system("look at the shared memory"))
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

/// A file without a name, which ends with this process unless it gets one. `path` is its intended place.
pub(super) fn nameless(path: &Path) -> Result<OwnedFd, SegmentError> {
    must_be_memory(rustix::fs::statfs(shared_file::directory_of(path)), path)?;
    shared_file::nameless(path).map_err(SegmentError::system("make the file of the shared memory"))
}

pub(super) fn allocate(
    file: &OwnedFd,
    path: Option<&Path>,
    at: u64,
    bytes: u64,
) -> Result<(), SegmentError> {
    shared_file::allocate(file, at, bytes).map_err(|error| SegmentError::SharedMemoryFull {
        bytes,
        place: path.map_or("memory".into(), |path| path.display().to_string()),
        source: error.into(),
    })
}

pub(super) fn map_shared(file: &OwnedFd, at: u64, bytes: u64) -> Result<NonNull<u8>, SegmentError> {
    shared_file::map_shared(file, at, bytes).map_err(SegmentError::system(
        "map the shared memory (the option `address_space_bytes`; the limit of the process is `ulimit -v`)",
    ))
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
        // SAFETY: the address is within the reservation made above, which has no other user.
        unsafe {
            let place = start.cast::<u8>().add(half * length).cast();
            let flags = MapFlags::SHARED | MapFlags::FIXED;
            rustix::mm::mmap(place, length, protection, flags, file, at).map_err(&refused)?;
        }
    }
    keep_from_children(start.cast(), 2 * length);
    NonNull::new(start.cast()).ok_or_else(|| refused(Errno::NOMEM))
}
