//! Directories whose names survive a power cut.
//!
//! A file can be found after a power cut only if each directory above it can. Who made them may have been
//! killed before they were synced, so those that are found are synced as well. What this process has synced, and has not
//! changed since then, is not synced once more when a database is opened again, as by a host that takes over.

use super::{path_error, uninterrupted};
use crate::disk::DiskError;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// So many directories that were synced are known.
const SYNCED_MAX: usize = 256;

/// The directories that this process has synced, as they were before that.
static SYNCED: Mutex<BTreeMap<PathBuf, Stamp>> = Mutex::new(BTreeMap::new());

/// A directory and its last change: device, inode, and the times of its entries and of itself.
type Stamp = (u64, u64, [(i64, i64); 2]);

fn stamp_of(path: &Path) -> Option<Stamp> {
    let found = std::fs::metadata(path).ok()?;
    let changed = [
        (found.mtime(), found.mtime_nsec()),
        (found.ctime(), found.ctime_nsec()),
    ];
    Some((found.dev(), found.ino(), changed))
}

fn synced() -> MutexGuard<'static, BTreeMap<PathBuf, Stamp>> {
    SYNCED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Syncs a directory, unless this process has, and no entry of it has changed since then.
fn sync_directory_once(path: &Path) -> Result<(), DiskError> {
    let before = stamp_of(path);
    if before.is_some() && synced().get(path).copied() == before {
        return Ok(());
    }
    sync_directory_at(path)?;
    let mut synced = synced();
    if synced.len() >= SYNCED_MAX {
        synced.clear();
    }
    synced.extend(before.map(|before| (path.into(), before)));
    Ok(())
}

/// Creates a directory and its parents if absent, and makes their names stable, also those that were
/// there: up to `below`, whose own name is stable, or to the root of the file system.
pub(super) fn create_directory_durably(path: &Path, below: Option<&Path>) -> Result<(), DiskError> {
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
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let reason = "there is a file of this name; name a directory";
            let error = io::Error::new(io::ErrorKind::NotADirectory, reason);
            return Err(path_error("create directory", path, error));
        }
        Err(error) => return Err(path_error("create directory", path, error)),
    }
    sync_directory_at(parent)
}

/// Syncs the directories above one that was found, each of which may have been made by a process that
/// was killed before it could.
fn make_name_stable(path: &Path, parent: &Path, below: Option<&Path>) -> Result<(), DiskError> {
    let device = |path: &Path| std::fs::metadata(path).map(|found| found.dev());
    // A mount point's name is of no use to what is mounted there.
    match (device(path), device(parent)) {
        (Ok(here), Ok(above)) if here == above => {}
        _ => return Ok(()),
    }
    match sync_directory_once(parent) {
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

pub(super) fn sync_directory_at(path: &Path) -> Result<(), DiskError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    // Told apart: that a directory could not be opened has left nothing unknown.
    let directory = uninterrupted(|| rustix::fs::open(path, flags, Mode::empty()))
        .map_err(|error| path_error("open directory", path, error))?;
    uninterrupted(|| rustix::fs::fsync(&directory))
        .map_err(|error| path_error("sync directory", path, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::{Disk, RealDisk};

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
    fn a_directory_is_synced_again_when_an_entry_of_it_has_changed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let is_known = || synced().get(path).copied() == stamp_of(path);
        std::fs::create_dir(path.join("one")).unwrap();
        sync_directory_once(path).unwrap();
        assert!(is_known());
        // Nothing is done the second time, also where a sync would fail.
        sync_directory_once(path).unwrap();
        let file = std::fs::File::open(path).unwrap();
        let other = std::time::SystemTime::UNIX_EPOCH;
        file.set_modified(other).unwrap();
        assert!(!is_known(), "it is another state");
        sync_directory_once(path).unwrap();
        assert!(is_known());
        assert!(
            sync_directory_once(&path.join("two")).is_err(),
            "it is not there"
        );
    }

    #[test]
    fn a_file_in_a_directorys_place_is_told_and_left() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("notes.txt");
        std::fs::write(&file, "mine").unwrap();
        for root in [file.clone(), file.join("bank.sdx")] {
            let text = RealDisk::open(&root).unwrap_err().to_string();
            assert!(text.contains("notes.txt: there is a file"), "{text}");
            assert!(!text.contains("offset"), "{text}");
        }
        assert_eq!(std::fs::read(&file).unwrap(), b"mine");
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
}
