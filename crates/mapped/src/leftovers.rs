//! Shared memories that dead processes left: found and removed.
//!
//! A process on a shared memory holds a lock on its place in the file for as long as it lives, however it
//! ends, and in whatever container. So a file on which no place is locked is nobody's. That of a database is
//! worth nothing then: whoever opens the database recovers it from its directory. One that nothing durable
//! belongs to has what was committed last, until it is opened again or removed here.
//!
//! Whoever attaches to such a file just then is kept from working on one without a name: see
//! `Region::attach`.

use crate::error::SegmentError;
use crate::shared::backing::{REMOVING, holder, place, places, take, unless_open};
use crate::shared::control::{MAGIC_OF_ALL, PROCESSES};
use rustix::fs::{CWD, FileType, Mode, OFlags};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What the names of the shared memories of databases begin with.
pub(crate) const DATABASE: &str = "sardonyx-";

/// Where the word stands that says whether there is a log below.
const DURABLE_AT: usize = 32;

/// A shared memory that no process is on.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Leftover {
    /// The file.
    pub path: PathBuf,
    /// Bytes of memory that it takes.
    pub bytes: u64,
    /// It is that of a database: its directory, if that is still there, has everything.
    pub durable: bool,
}

/// The shared memories in a directory that no process is on. Files of other users, which cannot be looked
/// at, are left out.
///
/// Every file there is opened and closed, by which this process loses the POSIX locks that it may have on files
/// of its own there, but for shared memories. So does [`remove`].
///
/// # Errors
/// The directory cannot be read.
pub fn find(directory: impl AsRef<Path>) -> Result<Vec<Leftover>, SegmentError> {
    each(directory.as_ref(), "", |_| false)
}

/// Removes the shared memories in a directory that no process is on. Returns those that it removed.
///
/// # Errors
/// The directory cannot be read.
pub fn remove(directory: impl AsRef<Path>) -> Result<Vec<Leftover>, SegmentError> {
    each(directory.as_ref(), "", |_| true)
}

/// Removes those of databases: for whoever opens one.
pub(crate) fn remove_durable(directory: &Path) {
    match each(directory, DATABASE, |leftover| leftover.durable) {
        Ok(found) => {
            for leftover in found.iter().filter(|leftover| leftover.durable) {
                let (path, bytes) = (leftover.path.display(), leftover.bytes);
                tracing::info!(%path, bytes, "removed the shared memory of dead processes");
            }
        }
        Err(error) => tracing::debug!(%error, "no leftovers were looked for"),
    }
}

/// Looks at the files whose names begin so.
fn each(
    directory: &Path,
    prefix: &str,
    removes: impl Fn(&Leftover) -> bool,
) -> Result<Vec<Leftover>, SegmentError> {
    let failed = |source| SegmentError::System {
        operation: "read the directory of the shared memory",
        source,
    };
    let mut found = Vec::new();
    for file in std::fs::read_dir(directory).map_err(failed)? {
        let file = file.map_err(failed)?;
        if !file.file_name().as_bytes().starts_with(prefix.as_bytes()) {
            continue;
        }
        let path = file.path();
        let Ok(named) = rustix::fs::lstat(&path) else {
            continue;
        };
        if FileType::from_raw_mode(named.st_mode) != FileType::RegularFile {
            continue;
        }
        // Closing a file would give back this process' own locks on it.
        let looked = unless_open(named.st_dev, named.st_ino, || {
            let (file, leftover) = look(&path)?;
            let own = rustix::fs::fstat(&file).ok()?;
            let same = (own.st_dev, own.st_ino) == (named.st_dev, named.st_ino);
            let removed = same && (!removes(&leftover) || rustix::fs::unlink(&path).is_ok());
            removed.then_some(leftover)
        });
        found.extend(looked.flatten());
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// What is there, if it is a shared memory that no process is on; nobody attaches before the file is closed.
fn look(path: &Path) -> Option<(OwnedFd, Leftover)> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::openat(CWD, path, flags, Mode::empty()).ok()?;
    let mut head = [0; DURABLE_AT + 4];
    let read = rustix::io::pread(&file, &mut head, 0).ok()?;
    if read < head.len() || !head.starts_with(MAGIC_OF_ALL) {
        return None;
    }
    if !take(&file, place(REMOVING)) || holder(&file, places(0, PROCESSES)).is_some() {
        return None;
    }
    let bytes = rustix::fs::fstat(&file).ok()?.st_blocks as u64 * 512;
    let leftover = Leftover {
        path: path.to_owned(),
        bytes,
        durable: head[DURABLE_AT..] != [0; 4],
    };
    Some((file, leftover))
}
