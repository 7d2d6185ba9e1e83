//! A lock on a file of the real disk, which ends with the process that took it.

use super::{open_file, uninterrupted};
use crate::disk::{Access, DiskError, DiskLock};
use rustix::fs::{FlockOperation, OFlags};
use rustix::io::Errno;
use sardonyx_base::events;
use sardonyx_base::inherited::Inherited;
use sardonyx_base::process::Process;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// True if this open file is the one at this path.
pub(super) fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(held), Ok(there)) => (held.dev(), held.ino()) == (there.dev(), there.ino()),
        (_, Err(error)) => error.kind() != io::ErrorKind::NotFound,
        (Err(_), _) => true,
    }
}

/// The lock is held until this is dropped, or until the process ends.
#[derive(Debug)]
pub(super) struct RealLock {
    process: Process,
    // Before the file, whose number may be another one's as soon as it is closed.
    _inherited: Inherited,
    file: File,
    name: String,
}

impl RealLock {
    /// `file`, opened at this path, has the lock.
    pub fn new(file: File, path: &Path) -> rustix::io::Result<Self> {
        // A spare to take its place.
        let (spare, _) = open_file(path, Access::Buffered, OFlags::RDONLY | OFlags::CLOEXEC)?;
        Ok(RealLock {
            process: Process::current(),
            _inherited: Inherited::new(file.as_fd(), spare.into())?,
            file,
            name: path.display().to_string(),
        })
    }
}

impl Drop for RealLock {
    /// Releases the lock, and does not leave that to the closing of the file. A process that another
    /// thread is just starting has a copy of the descriptor until it runs its own program. A forked
    /// child gives nothing back: the lock is its parent's.
    fn drop(&mut self) {
        if !self.process.is_current() {
            return;
        }
        let unlocked = uninterrupted(|| rustix::fs::flock(&self.file, FlockOperation::Unlock));
        if let Err(error) = unlocked {
            events::warn!(%error, "the database's lock is released only with its file");
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::{Disk, RealDisk};

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
    fn a_process_that_waited_for_a_deleted_file_locks_the_one_that_is_there() {
        let directory = tempfile::tempdir().unwrap();
        let disk = RealDisk::open(directory.path()).unwrap();
        let held = disk.lock("LOCK").unwrap().unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| disk.lock_waiting("LOCK").unwrap());
            // Until it has opened the file.
            std::thread::sleep(std::time::Duration::from_millis(200));
            disk.remove("LOCK").unwrap();
            drop(held);
            let waited = waiting.join().unwrap();
            assert!(disk.lock("LOCK").unwrap().is_none(), "two hold it");
            drop(waited);
        });
        assert!(disk.lock("LOCK").unwrap().is_some());
    }
}
