//! A directory whose next entry was deleted from the store begins anew from the newest base, by itself, when nothing in it
//! can be lost.
//!
//! That is so when its log does not reach beyond the base: then what is here is in the base, or is something that another
//! host went on without, which would be cut off if it were compared. A log that is longer may have what nobody else
//! has, and then the error is told that it was.
//!
//! First the directory is marked as one on the way, and the manifest goes, so that it has no database; the rest is what any new directory does, from any
//! step on at which it was ended before ([`get_base`]).
//!
//! Invariant: I12 (nothing is deleted here that was acknowledged and is not in the store).

use super::base::{get_base, newest_base};
use super::{OpenError, RemoteLog, StorageOptions, seed};
use crate::disk::Disk;
use crate::log::reader::LogReader;
use crate::manifest::{MANIFEST_FILE, Manifest};
use sardonyx_base::events;
use std::sync::Arc;

/// Makes the directory of this manifest anew, of whose log this reader has the rest, if it may be. Returns whether
/// it is.
///
/// # Errors
/// The store's; the disk's; the log here is damaged.
pub(super) fn begin_anew(
    home: &Arc<dyn Disk>,
    options: &StorageOptions,
    remote: &RemoteLog,
    manifest: &Manifest,
    mut log: LogReader,
) -> Result<bool, OpenError> {
    // A base has all of its parts in one directory.
    if manifest.places.is_some() || !options.directories.is_empty() {
        return Ok(false);
    }
    while log.next_group()?.is_some() {}
    let end = log.position().group.max(manifest.log_end.group);
    let Some(base) = newest_base(remote, manifest.identity, |_| true)? else {
        return Ok(false);
    };
    let known = base.1.known;
    if known.log.group < end {
        return Ok(false);
    }
    events::warn!(
        groups = end - 1,
        base_entry = known.entry.next,
        base_groups = known.log.group - 1,
        "the store no longer has what follows the log here: this directory begins anew with the newest base"
    );
    drop(log);
    seed::mark(&**home)?;
    home.remove(MANIFEST_FILE)?;
    home.sync_directory("")?;
    get_base(home, options, remote, &base, |_| ())?;
    Ok(true)
}
