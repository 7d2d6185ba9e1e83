//! The real disk: files of the operating system, under one root directory.
//!
//! Writes that must be stable at once go as one `pwritev2(RWF_DSYNC)`, which on devices with forced
//! unit access costs one write instead of a write and a cache flush. Files opened for direct access
//! bypass the page cache where the file system can; where it refuses (at open, or only at the first
//! read or write) they go through it, and nothing else changes: the alignment rule stays, so that a
//! program tested here works there.

use super::{
    Access, AlignedBuffer, Create, DIRECT_ALIGNMENT, Disk, DiskError, DiskFile, DiskLock, check,
};
use rustix::fs::{FallocateFlags, FlockOperation, Mode, OFlags};
use rustix::io::{Errno, ReadWriteFlags};
use sardonyx_base::inherited::Inherited;
use sardonyx_base::process::Process;
use std::fs::File;
use std::io::{self, IoSlice};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// How much [`DiskFile::preallocate`] writes at once, in bytes.
const PREALLOCATE_BYTES: u64 = 1 << 20;

/// A directory of the operating system's file system, and all below it.
///
/// ```
/// use sardonyx_storage::disk::{Access, Create, Disk, RealDisk};
/// # let directory = tempfile::tempdir().unwrap();
/// # let root = directory.path().join("bank.sdx");
/// let disk = RealDisk::open(&root)?;
/// let file = disk.open("greeting", Access::Buffered, Create::New)?;
/// file.write_at(0, b"hello")?;
/// file.sync()?;
/// disk.sync_directory("")?;
/// assert_eq!(disk.list("")?, ["greeting"]);
/// # Ok::<(), sardonyx_storage::disk::DiskError>(())
/// ```
#[derive(Debug)]
pub struct RealDisk {
    root: PathBuf,
}

impl RealDisk {
    /// Opens a directory as a disk. If it is absent it and its parents are created. It is made
    /// stable in any case, because whoever created it may have been killed before: each directory
    /// above it on the same file system is synced, but for those that this user may not open (to
    /// create a directory in such a one is an error).
    ///
    /// # Errors
    /// If the directory cannot be created, or is not a directory.
    pub fn open(root: impl AsRef<Path>) -> Result<RealDisk, DiskError> {
        let root = root.as_ref();
        let shown = || root.display().to_string();
        // Made absolute, so that a later change of the working directory does no harm.
        let root =
            std::path::absolute(root).map_err(|error| DiskError::new("open", shown(), 0, error))?;
        create_directory_durably(&root, None)?;
        Ok(RealDisk { root })
    }

    fn file_path(&self, operation: &'static str, name: &str) -> Result<PathBuf, DiskError> {
        check::file_name(name).map_err(|error| DiskError::new(operation, name, 0, error))?;
        Ok(self.root.join(name))
    }

    fn directory_path(&self, operation: &'static str, name: &str) -> Result<PathBuf, DiskError> {
        check::directory_name(name).map_err(|error| DiskError::new(operation, name, 0, error))?;
        Ok(if name.is_empty() {
            self.root.clone()
        } else {
            self.root.join(name)
        })
    }

    /// Takes a lock; `None` if it is held in a way that does not go together with this one.
    fn flock(
        &self,
        operation: &'static str,
        name: &str,
        how: FlockOperation,
    ) -> Result<Option<Box<dyn DiskLock>>, DiskError> {
        let path = self.file_path(operation, name)?;
        let failed = |error: Errno| path_error(operation, &path, error);
        let (file, _) = open_file(&path, Access::Buffered, Create::IfAbsent).map_err(failed)?;
        // The lock belongs to this opening of the file, not to the process: a second opening in the
        // same process is refused too, and it dies with the last descriptor.
        match uninterrupted(|| rustix::fs::flock(&file, how)) {
            Ok(()) => {
                let lock = RealLock::new(file, &path).map_err(failed)?;
                Ok(Some(Box::new(lock)))
            }
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }
}

fn path_error(operation: &'static str, path: &Path, error: impl Into<io::Error>) -> DiskError {
    DiskError::new(operation, path.display().to_string(), 0, error.into())
}

/// Creates a directory and its parents if absent, and makes their names stable, also those that were
/// there: up to `below`, whose own name is stable, or to the root of the file system.
fn create_directory_durably(path: &Path, below: Option<&Path>) -> Result<(), DiskError> {
    if Some(path) == below {
        return Ok(());
    }
    let Some(parent) = path.parent() else {
        return Ok(());
    };
    if path.is_dir() {
        return make_name_stable(path, parent, below);
    }
    create_directory_durably(parent, below)?;
    match std::fs::create_dir(path) {
        Ok(()) => {}
        // Someone else was faster; their entry may not be stable yet, so it is synced as well.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
        Err(error) => return Err(path_error("create directory", path, error)),
    }
    sync_directory_at(parent)
}

/// Syncs the directories above one that was found, each of which may have been made by a process that
/// was killed before it could.
fn make_name_stable(path: &Path, parent: &Path, below: Option<&Path>) -> Result<(), DiskError> {
    use std::os::unix::fs::MetadataExt;
    let device = |path: &Path| std::fs::metadata(path).map(|found| found.dev());
    // A mount point's name is of no use to what is mounted there.
    match (device(path), device(parent)) {
        (Ok(here), Ok(above)) if here == above => {}
        _ => return Ok(()),
    }
    match sync_directory_at(parent) {
        Ok(()) => {}
        Err(error) if cannot_be_synced(&error.source) => {}
        Err(error) => return Err(error),
    }
    create_directory_durably(parent, below)
}

/// Whether it is not the disk that failed: the directory is not this user's to open, or its file
/// system does not sync directories or is read-only.
fn cannot_be_synced(error: &io::Error) -> bool {
    let refusals = [
        Errno::ACCESS,
        Errno::PERM,
        Errno::ROFS,
        Errno::INVAL,
        Errno::NOSYS,
        Errno::OPNOTSUPP,
    ];
    Errno::from_io_error(error).is_some_and(|errno| refusals.contains(&errno))
}

fn sync_directory_at(path: &Path) -> Result<(), DiskError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    // Told apart: that a directory could not be opened has left nothing unknown.
    let directory = uninterrupted(|| rustix::fs::open(path, flags, Mode::empty()))
        .map_err(|error| path_error("open directory", path, error))?;
    uninterrupted(|| rustix::fs::fsync(&directory))
        .map_err(|error| path_error("sync directory", path, error))
}

/// Repeats a system call for as long as a signal interrupts it.
fn uninterrupted<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> rustix::io::Result<T> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            result => return result,
        }
    }
}

fn open_flags(create: Create) -> OFlags {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    match create {
        Create::No => flags,
        Create::IfAbsent => flags | OFlags::CREATE,
        Create::New => flags | OFlags::CREATE | OFlags::EXCL,
    }
}

fn open_file(path: &Path, access: Access, create: Create) -> rustix::io::Result<(File, bool)> {
    let mode = Mode::from_raw_mode(0o644);
    let mut flags = open_flags(create);
    if access == Access::Direct {
        match uninterrupted(|| rustix::fs::open(path, flags | OFlags::DIRECT, mode)) {
            Ok(file) => return Ok((file.into(), true)),
            Err(Errno::INVAL) => {}
            Err(error) => return Err(error),
        }
        // Some kernels create the file before they find that it cannot be opened for direct access.
        if create == Create::New && path.exists() {
            flags.remove(OFlags::EXCL);
        }
    }
    let file = uninterrupted(|| rustix::fs::open(path, flags, mode))?;
    Ok((file.into(), false))
}

impl Disk for RealDisk {
    fn open(
        &self,
        name: &str,
        access: Access,
        create: Create,
    ) -> Result<Box<dyn DiskFile>, DiskError> {
        let path = self.file_path("open", name)?;
        let (file, direct) =
            open_file(&path, access, create).map_err(|error| path_error("open", &path, error))?;
        Ok(Box::new(RealFile {
            process: Process::current(),
            file,
            name: path.display().to_string(),
            access,
            direct: AtomicBool::new(direct),
            write_through: AtomicBool::new(true),
        }))
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), DiskError> {
        let from = self.file_path("rename", from)?;
        let to = self.file_path("rename", to)?;
        std::fs::rename(&from, &to).map_err(|error| {
            let both = format!("{} to {}", from.display(), to.display());
            DiskError::new("rename", both, 0, error)
        })
    }

    fn remove(&self, name: &str) -> Result<(), DiskError> {
        let path = self.file_path("remove", name)?;
        std::fs::remove_file(&path).map_err(|error| path_error("remove", &path, error))
    }

    fn list(&self, directory: &str) -> Result<Vec<String>, DiskError> {
        let path = self.directory_path("list", directory)?;
        let failed = |error| path_error("list", &path, error);
        let entries = match std::fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(failed)?;
            if entry.file_type().map_err(failed)?.is_dir() {
                continue;
            }
            // A name that is not UTF-8 is not one of ours: none such can be given to `open`.
            if let Ok(name) = entry.file_name().into_string() {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn create_directory(&self, directory: &str) -> Result<(), DiskError> {
        let path = self.directory_path("create directory", directory)?;
        create_directory_durably(&path, Some(&self.root))
    }

    fn sync_directory(&self, directory: &str) -> Result<(), DiskError> {
        sync_directory_at(&self.directory_path("sync directory", directory)?)
    }

    fn lock(&self, name: &str) -> Result<Option<Box<dyn DiskLock>>, DiskError> {
        self.flock("lock", name, FlockOperation::NonBlockingLockExclusive)
    }

    fn lock_shared(&self, name: &str) -> Result<Option<Box<dyn DiskLock>>, DiskError> {
        self.flock("lock shared", name, FlockOperation::NonBlockingLockShared)
    }

    fn lock_waiting(&self, name: &str) -> Result<Box<dyn DiskLock>, DiskError> {
        let operation = "wait for the lock";
        let lock = self.flock(operation, name, FlockOperation::LockExclusive)?;
        // Whoever may wait is not told that it would have to.
        lock.ok_or_else(|| DiskError::new(operation, name, 0, Errno::WOULDBLOCK.into()))
    }

    fn display_name(&self, name: &str) -> String {
        if name.is_empty() {
            return self.root.display().to_string();
        }
        self.root.join(name).display().to_string()
    }
}

/// The lock is held until this is dropped, or until the process is gone.
#[derive(Debug)]
struct RealLock {
    process: Process,
    // Before the file, whose number may be another one's as soon as it is closed.
    _inherited: Inherited,
    file: File,
    name: String,
}

impl RealLock {
    /// `file`, opened at this path, has the lock.
    fn new(file: File, path: &Path) -> rustix::io::Result<Self> {
        let (spare, _) = open_file(path, Access::Buffered, Create::No)?;
        Ok(RealLock {
            process: Process::current(),
            _inherited: Inherited::new(file.as_fd(), spare.into())?,
            file,
            name: path.display().to_string(),
        })
    }
}

impl Drop for RealLock {
    /// Gives the lock back and does not leave that to the closing of the file: a process that another
    /// thread is just starting has a copy of the descriptor until it runs its own program. A forked
    /// child gives nothing back: the lock is its parent's.
    fn drop(&mut self) {
        if !self.process.is_current() {
            return;
        }
        let unlocked = uninterrupted(|| rustix::fs::flock(&self.file, FlockOperation::Unlock));
        if let Err(error) = unlocked {
            tracing::warn!(%error, "the database's lock goes only with its file");
        }
    }
}

impl DiskLock for RealLock {
    fn share(&mut self) -> Result<bool, DiskError> {
        if let Err(forked) = self.process.check() {
            let forked = io::Error::other(forked);
            return Err(DiskError::new("share", &*self.name, 0, forked));
        }
        let how = FlockOperation::NonBlockingLockShared;
        match uninterrupted(|| rustix::fs::flock(&self.file, how)) {
            Ok(()) => Ok(true),
            Err(Errno::WOULDBLOCK) => Ok(false),
            Err(error) => Err(DiskError::new("share", &*self.name, 0, error.into())),
        }
    }
}

#[derive(Debug)]
struct RealFile {
    /// Only the process that opened it writes to it.
    process: Process,
    file: File,
    name: String,
    access: Access,
    /// Whether the descriptor is still in direct mode.
    direct: AtomicBool,
    /// Whether the file system is thought to write through when asked for a single write.
    write_through: AtomicBool,
}

impl RealFile {
    fn error(
        &self,
        operation: &'static str,
        offset: u64,
        error: impl Into<io::Error>,
    ) -> DiskError {
        DiskError::new(operation, &*self.name, offset, error.into())
    }

    fn check(&self, operation: &'static str, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        check::alignment(self.access, offset, bytes)
            .and_then(|()| check::range(offset, bytes.len()))
            .map_err(|error| self.error(operation, offset, error))
    }

    /// Whether the failed call should be repeated: it was interrupted, or the file system refused
    /// direct access that it had agreed to at open and the descriptor has now left that mode.
    fn again(&self, error: Errno) -> bool {
        match error {
            Errno::INTR => true,
            Errno::INVAL if self.direct.swap(false, Ordering::Relaxed) => self.leave_direct(),
            _ => false,
        }
    }

    fn leave_direct(&self) -> bool {
        let flags = rustix::fs::fcntl_getfl(&self.file);
        flags
            .and_then(|flags| rustix::fs::fcntl_setfl(&self.file, flags - OFlags::DIRECT))
            .is_ok()
    }

    /// Writes all bytes with `write`, which may write fewer than it is given.
    fn write_all(
        &self,
        offset: u64,
        mut from: &[u8],
        write: impl Fn(&[u8], u64) -> rustix::io::Result<usize>,
    ) -> Result<(), (u64, Errno)> {
        let mut at = offset;
        while !from.is_empty() {
            match write(from, at) {
                // A regular file takes at least a byte or says why not; a liar must not loop.
                Ok(0) => return Err((at, Errno::IO)),
                Ok(written) => {
                    at += written as u64;
                    from = &from[written..];
                }
                Err(error) if self.again(error) => {}
                Err(error) => return Err((at, error)),
            }
        }
        Ok(())
    }

    /// The last line of defence: what a forked child has in memory is its parent's.
    fn check_process(&self, operation: &'static str, offset: u64) -> Result<(), DiskError> {
        let check = self.process.check();
        check.map_err(|forked| self.error(operation, offset, io::Error::other(forked)))
    }

    fn write_unchecked(&self, offset: u64, from: &[u8]) -> Result<(), DiskError> {
        self.write_all(offset, from, |bytes, at| {
            rustix::io::pwrite(&self.file, bytes, at)
        })
        .map_err(|(at, error)| self.error("write", at, error))
    }

    /// Asks for room in one piece; the zeroes that follow make it written room.
    fn allocate(&self, from: u64, length: u64) -> Result<(), DiskError> {
        // The length stays: it grows with the zeroes, so that a file of full length has them all.
        let flags = FallocateFlags::KEEP_SIZE;
        let allocate = || rustix::fs::fallocate(&self.file, flags, from, length - from);
        match uninterrupted(allocate) {
            // Only contiguity is lost where the file system cannot do this.
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(()),
            Err(error) => Err(self.error("preallocate", from, error)),
        }
    }

    fn write_zeroes(&self, from: u64, length: u64) -> Result<(), DiskError> {
        const ALIGNMENT: u64 = DIRECT_ALIGNMENT as u64;
        let mut zeroes = AlignedBuffer::zeroed(PREALLOCATE_BYTES as usize);
        let mut at = from;
        let unaligned = from % ALIGNMENT;
        if self.access == Access::Direct && unaligned != 0 {
            // Direct access cannot start inside a block: the block's content is written again.
            at = from - unaligned;
            let block = &mut zeroes[..DIRECT_ALIGNMENT];
            self.read_at(at, block)?;
            self.write_unchecked(at, block)?;
            block.fill(0);
            at += ALIGNMENT;
        }
        while at < length {
            // The first piece ends at a multiple of the piece, so that all others are aligned.
            let end = (at + 1).next_multiple_of(PREALLOCATE_BYTES).min(length);
            self.write_unchecked(at, &zeroes[..(end - at) as usize])?;
            at = end;
        }
        Ok(())
    }
}

impl DiskFile for RealFile {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<usize, DiskError> {
        self.check("read", offset, into)?;
        let mut read = 0;
        while read < into.len() {
            let at = offset + read as u64;
            match rustix::io::pread(&self.file, &mut into[read..], at) {
                Ok(0) => break,
                Ok(bytes) => {
                    read += bytes;
                    // Direct access must not go on inside a block; the file's end is what leads
                    // there.
                    let inside_block = !read.is_multiple_of(DIRECT_ALIGNMENT);
                    if self.access == Access::Direct && inside_block {
                        let length = self.len()?;
                        if offset + read as u64 >= length {
                            break;
                        }
                    }
                }
                Err(error) if self.again(error) => {}
                Err(error) => return Err(self.error("read", at, error)),
            }
        }
        Ok(read)
    }

    fn write_at(&self, offset: u64, from: &[u8]) -> Result<(), DiskError> {
        self.check("write", offset, from)?;
        self.check_process("write", offset)?;
        self.write_unchecked(offset, from)
    }

    fn write_durable_at(&self, offset: u64, from: &[u8]) -> Result<(), DiskError> {
        self.check("write", offset, from)?;
        self.check_process("durable write", offset)?;
        if self.write_through.load(Ordering::Relaxed) {
            let write = |bytes: &[u8], at| {
                let slices = [IoSlice::new(bytes)];
                rustix::io::pwritev2(&self.file, &slices, at, ReadWriteFlags::DSYNC)
            };
            match self.write_all(offset, from, write) {
                Ok(()) => return Ok(()),
                Err((_, Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS)) => {
                    self.write_through.store(false, Ordering::Relaxed);
                }
                Err((at, error)) => return Err(self.error("durable write", at, error)),
            }
        }
        self.write_unchecked(offset, from)?;
        self.sync()
    }

    fn sync(&self) -> Result<(), DiskError> {
        // Interruption is not repeated here: a sync that did not say `Ok` has failed (I7).
        rustix::fs::fdatasync(&self.file).map_err(|error| self.error("sync", 0, error))
    }

    fn len(&self) -> Result<u64, DiskError> {
        let status = rustix::fs::fstat(&self.file).map_err(|error| self.error("stat", 0, error))?;
        Ok(status.st_size as u64)
    }

    fn preallocate(&self, length: u64) -> Result<(), DiskError> {
        check::aligned_length(self.access, length)
            .and_then(|()| check::range(length, 0))
            .map_err(|error| self.error("preallocate", length, error))?;
        self.check_process("preallocate", length)?;
        let from = self.len()?;
        if from < length {
            self.allocate(from, length)?;
            self.write_zeroes(from, length)?;
        }
        self.sync()
    }

    fn display_name(&self) -> String {
        self.name.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn real_file(path: &Path, access: Access) -> RealFile {
        let (file, direct) = open_file(path, access, Create::IfAbsent).unwrap();
        let direct = AtomicBool::new(direct);
        let write_through = AtomicBool::new(true);
        RealFile {
            process: Process::current(),
            file,
            name: path.display().to_string(),
            access,
            direct,
            write_through,
        }
    }

    #[test]
    fn without_write_through_a_durable_write_is_a_write_and_a_sync() {
        let directory = tempfile::tempdir().unwrap();
        let file = real_file(&directory.path().join("f"), Access::Buffered);
        file.write_through.store(false, Ordering::Relaxed);
        file.write_durable_at(1, b"abc").unwrap();
        let mut bytes = [0; 4];
        assert_eq!(file.read_at(0, &mut bytes).unwrap(), 4);
        assert_eq!(&bytes, b"\0abc");
    }

    #[test]
    fn a_file_that_leaves_direct_access_goes_on_buffered_and_stays_strict() {
        let directory = tempfile::tempdir().unwrap();
        let file = real_file(&directory.path().join("f"), Access::Direct);
        // What some file systems say to any direct write, and then to any write at all.
        let direct = file.direct.load(Ordering::Relaxed);
        assert_eq!(file.again(Errno::INVAL), direct);
        assert!(!file.again(Errno::INVAL), "it must not be tried for ever");
        file.write_unchecked(1, b"abc").unwrap();
        let flags = rustix::fs::fcntl_getfl(&file.file).unwrap();
        assert!(!flags.contains(OFlags::DIRECT));
        let error = file.write_at(1, b"abc").unwrap_err();
        assert_eq!(error.source.kind(), io::ErrorKind::InvalidInput);
        let mut block = AlignedBuffer::zeroed(DIRECT_ALIGNMENT);
        assert_eq!(file.read_at(0, &mut block).unwrap(), 4);
        assert_eq!(&block[..4], b"\0abc");
    }

    #[test]
    fn a_lock_given_back_is_free_although_a_starting_process_has_its_descriptor() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("LOCK");
        let file = File::create(&path).unwrap();
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).unwrap();
        let lock = RealLock::new(file, &path).unwrap();
        let inherited = lock.file.try_clone().unwrap();
        let disk = RealDisk::open(directory.path()).unwrap();
        assert!(disk.lock("LOCK").unwrap().is_none(), "it is held");
        drop(lock);
        assert!(disk.lock("LOCK").unwrap().is_some());
        drop(inherited);
    }

    #[test]
    fn a_directory_under_one_that_may_not_be_opened_is_a_disk_all_the_same() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let closed = directory.path().join("closed");
        let root = closed.join("bank.sdx");
        std::fs::create_dir_all(&root).unwrap();
        // May be passed through and not be read. (Whoever may do everything may read it.)
        let passable = std::fs::Permissions::from_mode(0o311);
        std::fs::set_permissions(&closed, passable).unwrap();
        let disk = RealDisk::open(&root).unwrap();
        disk.create_directory("log/old").unwrap();
        disk.create_directory("log/old").unwrap();
        assert!(root.join("log/old").is_dir());
        let readable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&closed, readable).unwrap();
    }

    #[test]
    fn what_cannot_be_synced_is_told_from_a_disk_that_failed() {
        for refusal in [Errno::ACCESS, Errno::ROFS, Errno::INVAL] {
            assert!(cannot_be_synced(&refusal.into()));
        }
        for failure in [Errno::IO, Errno::NOSPC, Errno::NOENT] {
            assert!(!cannot_be_synced(&failure.into()));
        }
    }

    #[test]
    fn reading_the_end_inside_a_block_keeps_direct_access() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        std::fs::write(&path, [7; 5000]).unwrap();
        let file = real_file(&path, Access::Direct);
        let before = file.direct.load(Ordering::Relaxed);
        let mut bytes = AlignedBuffer::zeroed(2 * DIRECT_ALIGNMENT);
        assert_eq!(file.read_at(0, &mut bytes).unwrap(), 5000);
        assert_eq!(file.direct.load(Ordering::Relaxed), before);
    }
}
