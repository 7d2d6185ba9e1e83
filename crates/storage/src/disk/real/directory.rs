//! Directories whose names survive a power cut.
//!
//! A file can be found after a power cut only if each directory above it can. Their maker may have been killed before
//! they were synced, so existing ones are synced as well. A directory that this process has synced is not always synced
//! again when a database is opened again, as by a host that takes over. It is not if it has not changed for two seconds
//! before that sync and not since then.

use super::{path_error, uninterrupted};
use crate::disk::DiskError;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// So many directories that were synced are known.
const SYNCED_MAX: usize = 256;
/// A directory that changed within so many seconds before it was synced is synced again.
const SETTLED_SECONDS: i64 = 2;

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

/// True if a directory changed so long ago that its next change has other times: the kernel counts them in ticks.
fn is_settled((_, _, changed): &Stamp) -> bool {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_secs());
    (changed.iter()).all(|(seconds, _)| seconds.saturating_add(SETTLED_SECONDS) < now as i64)
}

/// Syncs a directory, unless this process has, and no entry of it has changed since then.
fn sync_directory_once(path: &Path) -> Result<(), DiskError> {
    let before = stamp_of(path);
    if before.is_some() && synced().get(path).copied() == before {
        return Ok(());
    }
    sync_directory_at(path)?;
    let settled = before.filter(is_settled);
    let mut synced = synced();
    if synced.len() >= SYNCED_MAX {
        synced.clear();
    }
    synced.extend(settled.map(|settled| (path.into(), settled)));
    Ok(())
}

/// Creates a directory and its parents if absent, and makes their names stable, also those of existing ones: up to
/// `below`, whose own name is stable, or to the root of the file system.
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
    // A mount point's name is not part of the mounted file system.
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

/// True if the disk has not failed: the directory is not this user's to open, or its file system does not sync
/// directories or is read-only.
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
    // A case of its own: a directory that could not be opened leaves nothing unknown.
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
        // May be passed through and not be read. (A user with all rights may read it.)
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
    fn a_directory_is_synced_again_unless_it_changed_long_ago_and_not_since_then() {
        let (device, inode) = (1, 2);
        let stamp = |seconds| (device, inode, [(seconds, 0), (seconds, 7)]);
        assert!(is_settled(&stamp(1_000_000)));
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.unwrap().as_secs() as i64;
        assert!(
            !is_settled(&stamp(now)),
            "its next change may have this time, too"
        );
        assert!(!is_settled(&stamp(now + 100)), "a clock that was set back");

        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let is_known = || synced().get(path).copied() == stamp_of(path);
        sync_directory_once(path).unwrap();
        assert!(!is_known(), "it was made just now");
        // As if it had been known for a while.
        synced().extend(stamp_of(path).map(|stamp| (path.into(), stamp)));
        assert!(is_known());
        std::fs::File::open(path)
            .unwrap()
            .set_modified(SystemTime::UNIX_EPOCH)
            .unwrap();
        assert!(!is_known(), "it is another state");
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
