//! A file of the real disk: reads, writes through direct access where the file system can, and writes that are stable
//! when they return. Room ahead is filled with zeroes or only allocated.

use super::uninterrupted;
use crate::disk::{Access, AlignedBuffer, DIRECT_ALIGNMENT, DiskError, DiskFile, check};
use rustix::fs::{FallocateFlags, OFlags};
use rustix::io::{Errno, ReadWriteFlags};
use sardonyx_base::process::Process;
use std::fs::File;
use std::io::{self, IoSlice};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// The bytes that [`DiskFile::preallocate`] writes at once. A commit group that is written meanwhile waits for such a piece,
/// and its sync for the pieces before: with pieces of 1 MiB, for some milliseconds.
const PREALLOCATE_BYTES: u64 = 128 << 10;

/// An open file.
#[derive(Debug)]
pub(super) struct RealFile {
    /// Only the process that opened it writes to it.
    process: Process,
    file: File,
    name: String,
    access: Access,
    /// True if the descriptor is still in direct mode.
    direct: AtomicBool,
    /// True if the file system is thought to write through on request of a single write.
    write_through: AtomicBool,
}

impl RealFile {
    /// `file`, opened at this path, whether or not it is in `direct` mode.
    pub fn new(file: File, path: &Path, access: Access, direct: bool) -> Self {
        RealFile {
            process: Process::current(),
            file,
            name: path.display().to_string(),
            access,
            direct: AtomicBool::new(direct),
            write_through: AtomicBool::new(true),
        }
    }

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

    /// True if the failed call should be repeated. It was interrupted, or the file system refused direct
    /// access that it had agreed to at open, and the descriptor has now left that mode.
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
                // A regular file takes at least a byte or returns an error; another result must not loop.
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

    /// The last line of defence: the memory of a forked child is its parent's.
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

    /// Asks for room in one piece, with which the length grows or not. Returns false where the file system cannot do
    /// this.
    fn ask_for_room(
        &self,
        operation: &'static str,
        flags: FallocateFlags,
        (from, length): (u64, u64),
    ) -> Result<bool, DiskError> {
        let allocate = || rustix::fs::fallocate(&self.file, flags, from, length - from);
        match uninterrupted(allocate) {
            Ok(()) => Ok(true),
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(false),
            Err(error) => Err(self.error(operation, from, error)),
        }
    }

    /// Extends the file to a length, in existing room, or else with zeroes. The length grows last, so that a file of
    /// full length has all its room.
    fn extend(&self, operation: &'static str, length: u64, writes: bool) -> Result<(), DiskError> {
        check::aligned_length(self.access, length)
            .and_then(|()| check::range(length, 0))
            .map_err(|error| self.error(operation, length, error))?;
        self.check_process(operation, length)?;
        let from = self.len()?;
        if from < length {
            let room = (from, length);
            // Without it only contiguity is lost.
            let has_room = self.ask_for_room(operation, FallocateFlags::KEEP_SIZE, room)?;
            let is_long = !writes
                && has_room
                && self.ask_for_room(operation, FallocateFlags::empty(), room)?;
            if !is_long {
                self.write_zeroes(from, length)?;
            }
        }
        self.sync()
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
                    // Direct access must not go on inside a block; the file's end leads there.
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
        // Interruption is not repeated here: a sync that did not return `Ok` has failed (I7).
        rustix::fs::fdatasync(&self.file).map_err(|error| self.error("sync", 0, error))
    }

    fn len(&self) -> Result<u64, DiskError> {
        let status = rustix::fs::fstat(&self.file).map_err(|error| self.error("stat", 0, error))?;
        Ok(status.st_size as u64)
    }

    fn preallocate(&self, length: u64) -> Result<(), DiskError> {
        self.extend("preallocate", length, true)
    }

    fn allocate(&self, length: u64) -> Result<(), DiskError> {
        self.extend("allocate", length, false)
    }

    fn display_name(&self) -> String {
        self.name.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{open_file, open_flags};
    use super::*;
    use crate::disk::Create;

    fn real_file(path: &Path, access: Access) -> RealFile {
        let (file, direct) = open_file(path, access, open_flags(Create::IfAbsent)).unwrap();
        RealFile::new(file, path, access, direct)
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
        // The answer of some file systems to any direct write, and then to any write at all.
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
