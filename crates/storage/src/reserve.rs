//! Room on the disk that is kept for opening: a file of written zeroes that is given back when the
//! disk is full. A database that cannot be opened cannot be made smaller either, and opening has to
//! write a new manifest before anything else.
//!
//! Opening writes little, and most of it frees as much as it took (the old manifest), so the file is
//! usually made again at once. If that fails, a later opening makes it.
//!
//! Invariant: nothing depends on the file. It may be removed at any time.

use crate::disk::{Access, Create, DIRECT_ALIGNMENT, Disk, DiskError};
use sardonyx_base::events;

/// The reserve's file.
pub const RESERVE_FILE: &str = "RESERVE";

/// Its length in bytes: some blocks of file systems with large ones, for a manifest and the file system's own metadata
/// of it.
pub const RESERVE_BYTES: u64 = 256 << 10;

const _: () = assert!(RESERVE_BYTES.is_multiple_of(DIRECT_ALIGNMENT as u64));

/// Makes the reserve, if it is not there whole. A disk that has no room for it is no error.
///
/// # Errors
/// The disk's.
pub fn keep(disk: &dyn Disk) -> Result<(), DiskError> {
    let made = disk
        .open(RESERVE_FILE, Access::Buffered, Create::IfAbsent)
        .and_then(|file| match file.len()? {
            RESERVE_BYTES.. => Ok(()),
            _ => file.preallocate(RESERVE_BYTES),
        });
    match made {
        Err(error) if error.may_be_tried_again() => {
            events::warn!(%error, "no room is kept for opening the database on a full disk");
            Ok(())
        }
        made => made,
    }
}

/// Gives the reserve's room back to the disk. Returns whether there was one.
///
/// # Errors
/// The disk's.
pub fn release(disk: &dyn Disk) -> Result<bool, DiskError> {
    if !disk.list("")?.iter().any(|found| found == RESERVE_FILE) {
        return Ok(false);
    }
    disk.remove(RESERVE_FILE)?;
    // For file systems that free room only with their journal.
    disk.sync_directory("")?;
    Ok(true)
}
