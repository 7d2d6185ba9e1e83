//! A preallocated file that is overwritten from its start again and again, every write durable.
//!
//! A log of recycled segments looks like this to the disk: no extension, no new blocks, only data. Every block is
//! written once at creation, since the first write to a preallocated block still changes the file system's metadata.
//! Writes bypass the page cache if the file system supports that (`O_DIRECT`), and return when the data is stable
//! (`RWF_DSYNC`).
//!
//! The file is unlinked as soon as it is open: the system removes it when the process ends.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{FallocateFlags, OFlags, fallocate};
use rustix::io::{Errno, ReadWriteFlags, pwritev2};

use crate::floor::error::FloorError;
use crate::floor::region::Region;

/// One mebibyte, the size of a group and of the writes that fill the file.
pub(crate) const MEBIBYTE: usize = 1 << 20;

/// A nameless file of fixed size.
pub(crate) struct RingFile {
    file: File,
    directory: PathBuf,
    bytes: u64,
    position: u64,
    direct: bool,
}

impl RingFile {
    /// Creates a file of `bytes`, a multiple of 1 MiB, in `directory`.
    pub(crate) fn create(directory: &Path, bytes: u64) -> Result<Self, FloorError> {
        assert!(
            bytes > 0 && bytes.is_multiple_of(MEBIBYTE as u64),
            "whole mebibytes"
        );
        let (file, direct) =
            open(directory).map_err(|error| FloorError::file("create", directory, error))?;
        match fallocate(&file, FallocateFlags::empty(), 0, bytes) {
            // If the file system cannot preallocate, writing once does the same.
            Ok(()) | Err(Errno::OPNOTSUPP) => {}
            Err(error) => return Err(FloorError::file("preallocate", directory, error)),
        }
        let directory = directory.to_path_buf();
        let mut ring = RingFile {
            file,
            directory,
            bytes,
            position: 0,
            direct,
        };
        let zeros = Region::<u8>::new(MEBIBYTE)?;
        for _ in 0..bytes / MEBIBYTE as u64 {
            ring.write(&zeros, ReadWriteFlags::empty())?;
        }
        ring.file
            .sync_all()
            .map_err(|error| ring.write_error(error))?;
        Ok(ring)
    }

    /// Writes all of `bytes` (a part of a page-aligned buffer) at the next place, or at the start after the end of the
    /// file. Returns when they are durable.
    pub(crate) fn write_durably(&mut self, bytes: &[u8]) -> Result<(), FloorError> {
        self.write(bytes, ReadWriteFlags::DSYNC)
    }

    /// Returns true if writes bypass the page cache.
    pub(crate) fn is_direct(&self) -> bool {
        self.direct
    }

    fn write(&mut self, bytes: &[u8], flags: ReadWriteFlags) -> Result<(), FloorError> {
        if self.position + bytes.len() as u64 > self.bytes {
            self.position = 0;
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            match pwritev2(&self.file, &[IoSlice::new(rest)], self.position, flags) {
                Ok(0) => return Err(self.write_error(io::ErrorKind::WriteZero)),
                Ok(count) => {
                    self.position += count as u64;
                    rest = &rest[count..];
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(self.write_error(error)),
            }
        }
        Ok(())
    }

    fn write_error(&self, source: impl Into<io::Error>) -> FloorError {
        FloorError::file("write", &self.directory, source)
    }
}

/// Opens a new file and unlinks it; returns true with it if it is open for direct writes.
fn open(directory: &Path) -> io::Result<(File, bool)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let path = directory.join(format!("sardonyx-floor-{}-{number}", std::process::id()));
    let open = |flags: OFlags| {
        let mut options = OpenOptions::new();
        options
            .write(true)
            .create(true)
            .truncate(true)
            .custom_flags(flags.bits() as i32);
        options.open(&path)
    };
    let opened = match open(OFlags::DIRECT) {
        // The file may exist already: some file systems create it before they refuse the flag.
        Err(error) if error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => {
            open(OFlags::empty()).map(|file| (file, false))
        }
        other => other.map(|file| (file, true)),
    }?;
    std::fs::remove_file(&path)?;
    Ok(opened)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn writes_go_round_and_the_file_has_no_name() {
        let directory = tempfile::tempdir().unwrap();
        let mut ring = RingFile::create(directory.path(), 2 * MEBIBYTE as u64).unwrap();
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        let mut buffer = Region::<u8>::new(MEBIBYTE).unwrap();
        for turn in 1..=3 {
            buffer.fill(turn);
            ring.write_durably(&buffer).unwrap();
        }
        // Read back through a descriptor of its own, since this one only writes.
        let path = format!(
            "/proc/self/fd/{}",
            std::os::fd::AsRawFd::as_raw_fd(&ring.file)
        );
        let file = File::open(path).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 2 * MEBIBYTE as u64);
        let mut byte = [0];
        for (offset, expected) in [(0, 3), (MEBIBYTE as u64 - 1, 3), (MEBIBYTE as u64, 2)] {
            file.read_exact_at(&mut byte, offset).unwrap();
            assert_eq!(byte, [expected], "at {offset}");
        }
    }
}
