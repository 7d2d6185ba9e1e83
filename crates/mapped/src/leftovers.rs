//! Shared memories that dead processes left: found and removed.
//!
//! A process on a shared memory holds a lock on its place in the file as long as it lives. However it ends, and in any
//! container, the lock ends with it. So a file without a locked place has no user. A database's file is then worthless:
//! the next opening recovers the database from its directory. A file without a durable database has the last committed
//! state, until it is opened again or removed here.
//!
//! A process that attaches to such a file just then is kept from working on one without a name: see
//! `Region::attach`.

use crate::error::SegmentError;
use crate::shared::backing::{REMOVING, holder, place, places, take};
use crate::shared::control::{MAGIC_OF_ALL, PROCESSES};
use sardonyx_base::leftovers;
pub use sardonyx_base::leftovers::Leftover;
use std::os::fd::OwnedFd;
use std::path::Path;

/// The beginning of the names of databases' shared memories.
pub(crate) const DATABASE: &str = "sardonyx-";

/// The place of the word that says that the memory has a log below.
const DURABLE_AT: usize = 32;

/// The shared memories in a directory that no process is on. Files of other users, which cannot be looked
/// at, are left out.
///
/// This opens and closes every file there. So this process loses POSIX locks that it has on files of its own there,
/// except on shared memories. So does [`remove`].
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

/// Removes those of databases: for a process that opens one.
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

fn each(
    directory: &Path,
    prefix: &str,
    removes: impl Fn(&Leftover) -> bool,
) -> Result<Vec<Leftover>, SegmentError> {
    leftovers::each(directory, prefix, look, removes).map_err(|source| SegmentError::System {
        operation: "read the directory of the shared memory",
        source,
    })
}

/// The description of a shared memory that has no process; none attaches before the file is closed.
fn look(path: &Path) -> Option<(OwnedFd, Leftover)> {
    let (file, head) = leftovers::open::<{ DURABLE_AT + 4 }>(path)?;
    if !head.starts_with(MAGIC_OF_ALL) {
        return None;
    }
    if !take(&file, place(REMOVING)) || holder(&file, places(0, PROCESSES)).is_some() {
        return None;
    }
    let leftover = Leftover::of(path, &file, head[DURABLE_AT..] != [0; 4]).ok()?;
    Some((file, leftover))
}
