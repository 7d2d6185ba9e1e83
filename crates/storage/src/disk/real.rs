//! The real disk: files of the operating system, under one root directory.
//!
//! Writes that must be stable at once go as one `pwritev2(RWF_DSYNC)`. On devices with forced unit access that costs
//! one write instead of a write and a cache flush. Files opened for direct access bypass the page cache where the file
//! system can. Where it refuses (at open, or only at the first read or write) they go through it. Nothing else
//! changes: the alignment rule stays, so that a program tested here works there.
//!
//! A disk that is opened for reading only ([`RealDisk::open_for_reading`]) creates nothing, changes nothing and
//! requests no right to. It works on a read-only file system and on files of another user. Several processes that read
//! another one's files can [share](RealDisk::sharing_reads) the pages that one of them has read.

mod directory;
mod file;
mod file_system;
mod holders;
mod lock;

use self::directory::{create_directory_durably, sync_directory_at};
use self::file::RealFile;
use self::lock::RealLock;
use super::{Access, Create, Disk, DiskError, DiskFile, DiskLock, check};
use rustix::fs::{Advice, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file system that shows another identity of a file at each look has none that could be compared.
const LOCK_ATTEMPTS: u32 = 16;

/// A directory of the operating system's file system, and all below it.
///
/// ```
/// # use sardonyx_storage as sardonyx;
/// # use sardonyx::disk::{Access, Create};
/// use sardonyx::disk::{Disk, RealDisk};
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
    /// True if nothing is made or changed.
    for_reading: bool,
    /// True if all files are read through the page cache.
    shares_reads: bool,
}

impl RealDisk {
    /// Opens a directory as a disk. If it is absent it and its parents are created. It is made stable in any case,
    /// because its creator may have been killed before. Each directory above it on the same file system is synced.
    /// Excepted are directories that this user may not open; to create a directory in such a one is an error. Excepted
    /// are also those that this process has synced and whose entries have not changed since then.
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
        file_system::warn_of(&root);
        Ok(RealDisk {
            root,
            for_reading: false,
            shares_reads: false,
        })
    }

    /// Opens an existing directory as a disk of which nothing is changed. Files are opened for reading, also where they
    /// are locked, and any call that would make or change something is an error.
    ///
    /// # Errors
    /// If there is no such directory.
    pub fn open_for_reading(root: impl AsRef<Path>) -> Result<RealDisk, DiskError> {
        let root = root.as_ref();
        let failed = |error| DiskError::new("open", root.display().to_string(), 0, error);
        let root = std::path::absolute(root).map_err(failed)?;
        match std::fs::metadata(&root).map_err(failed)?.is_dir() {
            true => Ok(RealDisk {
                root,
                for_reading: true,
                shares_reads: false,
            }),
            false => Err(failed(Errno::NOTDIR.into())),
        }
    }

    /// Reads files opened for direct access through the page cache, too, so that processes that read the same cost the
    /// disk one read. There is no read-ahead: unwritten space would be read twice. An opened file is read from the
    /// disk first, so that a reader that finds damage can look again.
    #[must_use]
    pub fn sharing_reads(mut self) -> RealDisk {
        self.shares_reads = self.for_reading;
        self
    }

    /// Opens a file whose read pages are shared.
    fn open_shared(&self, path: &Path, flags: OFlags) -> rustix::io::Result<File> {
        let file = File::from(uninterrupted(|| {
            rustix::fs::open(path, flags, Mode::empty())
        })?);
        for advice in [Advice::DontNeed, Advice::Random] {
            // Advice: a file system that does not take it costs time.
            let _ = rustix::fs::fadvise(&file, 0, None, advice);
        }
        Ok(file)
    }

    /// Refuses a change on a disk that is open for reading.
    fn check_writable(&self, operation: &'static str, name: &str) -> Result<(), DiskError> {
        match self.for_reading {
            true => {
                let file = self.display_name(name);
                Err(DiskError::new(operation, file, 0, Errno::ROFS.into()))
            }
            false => Ok(()),
        }
    }

    /// The flags with which a file is opened.
    fn flags(
        &self,
        operation: &'static str,
        name: &str,
        create: Create,
    ) -> Result<OFlags, DiskError> {
        if self.for_reading {
            if create != Create::No {
                self.check_writable(operation, name)?;
            }
            return Ok(OFlags::RDONLY | OFlags::CLOEXEC);
        }
        Ok(open_flags(create))
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
        // A file that is only read is not made: without it no process has the thing that it locks.
        let create = match self.for_reading {
            true => Create::No,
            false => Create::IfAbsent,
        };
        let flags = self.flags(operation, name, create)?;
        for attempt in 1.. {
            let (file, _) = open_file(&path, Access::Buffered, flags).map_err(failed)?;
            // The lock belongs to this opening of the file, not to the process: a second opening in the
            // same process is refused too, and it dies with the last descriptor.
            match uninterrupted(|| rustix::fs::flock(&file, how)) {
                // Its holder deleted it before this process had it: another process may lock the one that is there now.
                Ok(()) if attempt < LOCK_ATTEMPTS && !lock::is_at(&file, &path) => {}
                Ok(()) => {
                    let lock = RealLock::new(file, &path).map_err(failed)?;
                    return Ok(Some(Box::new(lock)));
                }
                Err(Errno::WOULDBLOCK) => return Ok(None),
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(None)
    }
}

fn path_error(operation: &'static str, path: &Path, error: impl Into<io::Error>) -> DiskError {
    DiskError::new(operation, path.display().to_string(), 0, error.into())
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

fn open_file(path: &Path, access: Access, mut flags: OFlags) -> rustix::io::Result<(File, bool)> {
    let mode = Mode::from_raw_mode(0o644);
    if access == Access::Direct {
        match uninterrupted(|| rustix::fs::open(path, flags | OFlags::DIRECT, mode)) {
            Ok(file) => return Ok((file.into(), true)),
            Err(Errno::INVAL) => {}
            Err(error) => return Err(error),
        }
        // Some kernels create the file before they find that it cannot be opened for direct access.
        if flags.contains(OFlags::EXCL) && path.exists() {
            flags.remove(OFlags::EXCL);
        }
    }
    let file = uninterrupted(|| rustix::fs::open(path, flags, mode))?;
    Ok((file.into(), false))
}

impl RealDisk {
    /// The names of the directories, or of all else, in a directory.
    fn entries(&self, directory: &str, directories: bool) -> Result<Vec<String>, DiskError> {
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
            if entry.file_type().map_err(failed)?.is_dir() != directories {
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
}

impl Disk for RealDisk {
    fn open(
        &self,
        name: &str,
        access: Access,
        create: Create,
    ) -> Result<Box<dyn DiskFile>, DiskError> {
        let path = self.file_path("open", name)?;
        let flags = self.flags("open", name, create)?;
        let opened = match self.shares_reads && access == Access::Direct {
            true => self.open_shared(&path, flags).map(|file| (file, false)),
            false => open_file(&path, access, flags),
        };
        let (file, direct) = opened.map_err(|error| path_error("open", &path, error))?;
        Ok(Box::new(RealFile::new(file, &path, access, direct)))
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), DiskError> {
        self.check_writable("rename", from)?;
        let from = self.file_path("rename", from)?;
        let to = self.file_path("rename", to)?;
        std::fs::rename(&from, &to).map_err(|error| {
            let both = format!("{} to {}", from.display(), to.display());
            DiskError::new("rename", both, 0, error)
        })
    }

    fn remove(&self, name: &str) -> Result<(), DiskError> {
        self.check_writable("remove", name)?;
        let path = self.file_path("remove", name)?;
        std::fs::remove_file(&path).map_err(|error| path_error("remove", &path, error))
    }

    fn list(&self, directory: &str) -> Result<Vec<String>, DiskError> {
        self.entries(directory, false)
    }

    fn directories(&self) -> Result<Vec<String>, DiskError> {
        self.entries("", true)
    }

    fn create_directory(&self, directory: &str) -> Result<(), DiskError> {
        self.check_writable("create directory", directory)?;
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
        // A caller that may wait is not refused for having to.
        lock.ok_or_else(|| DiskError::new(operation, name, 0, Errno::WOULDBLOCK.into()))
    }

    fn lock_holders(&self, name: &str) -> Vec<u32> {
        holders::of_lock(&self.root.join(name))
    }

    fn display_name(&self, name: &str) -> String {
        if name.is_empty() {
            return self.root.display().to_string();
        }
        self.root.join(name).display().to_string()
    }

    fn elsewhere(&self, path: &str, make: bool) -> Result<Arc<dyn Disk>, DiskError> {
        if self.for_reading {
            let mut disk = RealDisk::open_for_reading(path)?;
            disk.shares_reads = self.shares_reads;
            return Ok(Arc::new(disk));
        }
        if !make {
            // Only to check that it exists.
            RealDisk::open_for_reading(path)?;
        }
        Ok(Arc::new(RealDisk::open(path)?))
    }
}
