//! Shared memories of closely coupled nodes that dead processes left: found and removed. They hold nothing that the
//! database's directory has not; the next opening of the database makes a new one.

use super::opening::{MEMORY_PREFIX, PROCESSES};
use crate::lock_table::layout::{MAGIC, NODES};
use sardonyx_base::leftovers::{Leftover, each, open};
use sardonyx_base::shared_file::{places, take};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

/// The shared memories of nodes in a directory that no process is on.
///
/// # Errors
/// The directory cannot be read.
pub fn find(directory: impl AsRef<Path>) -> io::Result<Vec<Leftover>> {
    each(directory.as_ref(), MEMORY_PREFIX, look, |_| false)
}

/// Removes them. Returns those that it removed.
///
/// # Errors
/// The directory cannot be read.
pub fn remove(directory: impl AsRef<Path>) -> io::Result<Vec<Leftover>> {
    each(directory.as_ref(), MEMORY_PREFIX, look, |_| true)
}

/// A shared memory of nodes that no process is on. This process has all its places until the file is closed.
fn look(path: &Path) -> Option<(OwnedFd, Leftover)> {
    let (file, head) = open::<8>(path)?;
    if head != MAGIC.to_le_bytes() || !take(&file, places(0, NODES + PROCESSES)) {
        return None;
    }
    let leftover = Leftover::of(path, &file, true).ok()?;
    Some((file, leftover))
}
