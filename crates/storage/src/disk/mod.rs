//! The disk: the one door through which everything durable goes.
//!
//! A small trait with two implementations. [`RealDisk`] is one; with the feature `simulated-disk`, `SimulatedDisk` is
//! the other. It holds back unsynced writes and can lose, tear at sector grain, reorder and fail them, driven by a
//! seed.
//!
//! The guarantees to callers, and nothing more:
//! - a write is stable only after [`DiskFile::sync`] of that file, or [`DiskFile::write_durable_at`],
//!   returned `Ok`;
//! - until then any subset of its [`SECTOR_SIZE`] sectors may be there after a crash;
//! - a create, rename or remove is stable only after [`Disk::sync_directory`] returned `Ok`; a
//!   directory only after [`Disk::create_directory`] did, also if it was there before;
//! - room that was allocated reads as zeroes until it is written, also after a crash in which a write to it was lost;
//! - a rename is atomic: after a crash either the old or the new name is there;
//! - data that can be read or listed need not be stable. Its writer may have been killed before the sync, so its
//!   reader makes it stable before building on it;
//! - after a sync that failed, nothing is known of any write since the last good one (I7). Every process may continue
//!   to read it, the next one too, while later syncs succeed and do nothing for it. Data that is not proved durable by
//!   something later must be written again, not just synced.

mod buffer;
mod check;
mod error;
mod real;
#[cfg(any(test, feature = "simulated-disk"))]
mod simulated;

pub use buffer::AlignedBuffer;
pub use error::DiskError;
pub use real::RealDisk;
#[cfg(any(test, feature = "simulated-disk"))]
pub use simulated::{Faults, SimulatedDisk};

use std::sync::Arc;

/// Alignment of offsets, lengths and buffers for files opened with [`Access::Direct`], in bytes.
pub const DIRECT_ALIGNMENT: usize = 4096;

/// The unit that a disk writes wholly or not at all, in bytes. Torn writes are torn between sectors.
pub const SECTOR_SIZE: usize = 512;

/// The way of a file's bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Through the operating system's page cache.
    Buffered,
    /// Past the page cache where the file system allows it (else buffered): offsets, lengths and
    /// buffers must be multiples of [`DIRECT_ALIGNMENT`]; anything else is an `InvalidInput` error.
    Direct,
}

/// The expected existence of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Create {
    /// Open an existing file for reading and writing; its absence is an error.
    No,
    /// Open an existing file, or create an empty one.
    IfAbsent,
    /// Create an empty file; an existing one is an error.
    New,
}

/// Held while this process has the database open; released when dropped, and by the operating
/// system when the holder dies. A child that the holder forks does not hold it: dropped there, it
/// is not released.
pub trait DiskLock: Send + Sync + std::fmt::Debug {
    /// Makes an exclusive lock a shared one. This is not one step: another holder may come in
    /// between, and then the answer is `false` and this holds nothing any more.
    fn share(&mut self) -> Result<bool, DiskError>;
}

/// A directory tree on stable storage. Names are relative to the database's directory and use `/`.
pub trait Disk: Send + Sync + std::fmt::Debug {
    /// Opens or creates a file for reading and writing.
    fn open(
        &self,
        name: &str,
        access: Access,
        create: Create,
    ) -> Result<Box<dyn DiskFile>, DiskError>;
    /// Renames a file, replacing `to` if it exists. Atomic; stable after [`Disk::sync_directory`].
    fn rename(&self, from: &str, to: &str) -> Result<(), DiskError>;
    /// Removes a file. Stable after [`Disk::sync_directory`].
    fn remove(&self, name: &str) -> Result<(), DiskError>;
    /// The file names directly in a directory (`""` is the root), sorted, without the directory's
    /// name. A directory that is absent has no files.
    fn list(&self, directory: &str) -> Result<Vec<String>, DiskError>;
    /// The names of the directories in the root, sorted. A disk that has only the database's directories need not list
    /// them.
    fn directories(&self) -> Result<Vec<String>, DiskError> {
        Ok(Vec::new())
    }
    /// Creates a directory and its parents if absent, and makes that stable; existing ones are made stable too.
    fn create_directory(&self, directory: &str) -> Result<(), DiskError>;
    /// Makes creates, renames and removes in a directory stable.
    fn sync_directory(&self, directory: &str) -> Result<(), DiskError>;
    /// Takes the advisory lock `name`, without waiting. `Ok(None)`: another holder has it.
    fn lock(&self, name: &str) -> Result<Option<Box<dyn DiskLock>>, DiskError>;
    /// Takes the advisory lock `name` in shared mode, without waiting. `Ok(None)`: another process holds it
    /// exclusively.
    ///
    /// # Errors
    /// The disk's; by default the error of a disk without shared locks.
    fn lock_shared(&self, name: &str) -> Result<Option<Box<dyn DiskLock>>, DiskError> {
        Err(unsupported("lock shared", self.display_name(name)))
    }
    /// Takes the advisory lock `name` exclusively and waits for as long as others hold it.
    ///
    /// # Errors
    /// As [`Disk::lock_shared`].
    fn lock_waiting(&self, name: &str) -> Result<Box<dyn DiskLock>, DiskError> {
        Err(unsupported("wait for the lock", self.display_name(name)))
    }
    /// The processes that hold the advisory lock `name`, as far as the system shows them: for messages only, since
    /// they may have released it meanwhile. By default none are known.
    fn lock_holders(&self, _name: &str) -> Vec<u32> {
        Vec::new()
    }
    /// The name of a file as a person would find it, for error messages.
    fn display_name(&self, name: &str) -> String;
    /// Another directory of the same machine as a disk of the same kind, opened as this one is; `path` is
    /// absolute. If it is absent it is an error, or made, with its parents, durably.
    ///
    /// # Errors
    /// The disk's; by default the error of a disk that has no other directories.
    fn elsewhere(&self, path: &str, make: bool) -> Result<Arc<dyn Disk>, DiskError> {
        let _ = make;
        Err(unsupported("open a directory elsewhere", path.into()))
    }
}

fn unsupported(operation: &'static str, file: String) -> DiskError {
    DiskError::new(operation, file, 0, std::io::ErrorKind::Unsupported.into())
}

/// An open file. All offsets and lengths are in bytes.
#[allow(clippy::len_without_is_empty)] // The length costs a system call; nobody asks for emptiness.
pub trait DiskFile: Send + Sync + std::fmt::Debug {
    /// Reads at an offset until `into` is full or the file ends; returns the bytes read.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<usize, DiskError>;
    /// Writes all of `from` at an offset, extending the file if need be. Not yet stable.
    fn write_at(&self, offset: u64, from: &[u8]) -> Result<(), DiskError>;
    /// Writes all of `from` and returns when these bytes are stable (write-through, or a write and a sync). It does
    /// not make earlier unsynced writes stable. The file must already have been extended to hold them, and that
    /// extension synced.
    fn write_durable_at(&self, offset: u64, from: &[u8]) -> Result<(), DiskError>;
    /// Makes all writes to this file that returned before this call, and its length, stable.
    fn sync(&self) -> Result<(), DiskError>;
    /// The file's length.
    fn len(&self) -> Result<u64, DiskError>;
    /// Extends the file to `length` with written zeroes, so that later writes change neither its
    /// metadata nor need new space, and syncs it. If it is that long already, it is only synced.
    fn preallocate(&self, length: u64) -> Result<(), DiskError>;
    /// Extends the file to `length` with room that reads as zeroes and is not written, and syncs it. Later writes need no
    /// new space there. The first one to a part of it changes metadata, which its sync makes stable, too: a small write
    /// takes longer for it. Where the file system has no such room, zeroes are written, as by
    /// [`DiskFile::preallocate`]. If the file is that long already, it is only synced.
    fn allocate(&self, length: u64) -> Result<(), DiskError>;
    /// The file's name as a person would find it, for error messages.
    fn display_name(&self) -> String;
}
