//! Files of shared memory that dead processes left: found in a directory, and removed.
//!
//! A process on a shared memory holds a lock on its place in the file for as long as it lives, however it ends and in
//! whatever container ([`crate::shared_file`]). So a file on which no place is locked belongs to no process. The kinds
//! of shared memory differ in what their files begin with and in their places: a caller passes a function that looks.

use crate::shared_file::unless_open;
use rustix::fs::{CWD, FileType, Mode, OFlags};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

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

impl Leftover {
    /// The shared memory in an open file.
    ///
    /// # Errors
    /// The file cannot be looked at.
    pub fn of(path: &Path, file: &OwnedFd, durable: bool) -> io::Result<Self> {
        Ok(Leftover {
            path: path.to_owned(),
            bytes: rustix::fs::fstat(file)?.st_blocks as u64 * 512,
            durable,
        })
    }
}

/// Opens a file that may be a shared memory, and reads so many bytes of its beginning.
pub fn open<const N: usize>(path: &Path) -> Option<(OwnedFd, [u8; N])> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::openat(CWD, path, flags, Mode::empty()).ok()?;
    let mut head = [0; N];
    let read = rustix::io::pread(&file, &mut head, 0).ok()?;
    (read == N).then_some((file, head))
}

/// Looks at the files of a directory whose names begin so, and removes those of which `removes` says so. `look` gives a
/// shared memory that no process is on, and its file with locks by which none can come before it is closed.
///
/// Every such file is opened and closed, by which this process loses the POSIX locks that it may have on files of its
/// own there, but for shared memories.
///
/// # Errors
/// The directory cannot be read.
pub fn each(
    directory: &Path,
    prefix: &str,
    look: impl Fn(&Path) -> Option<(OwnedFd, Leftover)>,
    removes: impl Fn(&Leftover) -> bool,
) -> io::Result<Vec<Leftover>> {
    let mut found = Vec::new();
    for file in std::fs::read_dir(directory)? {
        let file = file?;
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
