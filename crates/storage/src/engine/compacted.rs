//! The remains of a compaction, which every opening removes: files of another backup, and the log before the new pages.

use crate::checkpoint::{BACKUP_DIRECTORY, stripe_and_compaction_of_file};
use crate::disk::{AlignedBuffer, Disk, DiskError};
use crate::log::LogError;
use crate::log::group::{GROUP_ALIGNMENT, GroupHeader};
use crate::log::reader::group_before;
use crate::log::segment::{LOG_DIRECTORY, Segments, segment_file, segments_present};
use crate::manifest::Manifest;
use std::sync::Arc;

/// Removes the stripes' files that are of another compaction than the manifest's last.
///
/// # Errors
/// The disk's.
#[inline]
pub(super) fn remove_other_backups(disk: &dyn Disk, manifest: &Manifest) -> Result<(), DiskError> {
    let current = manifest.compacted.map_or(0, |compacted| compacted.number);
    let is_other = |name: &String| {
        stripe_and_compaction_of_file(name).is_some_and(|(_, number)| number != current)
    };
    let mut names = disk.list(BACKUP_DIRECTORY)?;
    names.retain(is_other);
    if names.is_empty() {
        return Ok(());
    }
    for name in names {
        disk.remove(&format!("{BACKUP_DIRECTORY}/{name}"))?;
    }
    disk.sync_directory(BACKUP_DIRECTORY)
}

/// Does the remaining work of a compaction on the log after it replaced the manifest. It removes all segments and makes
/// a short one, with the mark of a log that ended in order. Does nothing if the log was written to since.
///
/// # Errors
/// The disk's.
#[inline]
pub(super) fn finish(
    disk: &Arc<dyn Disk>,
    manifest: &Manifest,
    first_bytes: u64,
) -> Result<(), LogError> {
    if !manifest.is_log_fresh() {
        return Ok(());
    }
    let layout = manifest.log_layout();
    let begins = layout.begins.segment;
    let mark = GroupHeader::mark(layout.identity, manifest.log_end);
    let all = segments_present(&**disk)?;
    let is_done = all.len() == 1 && all.contains(&begins);
    if is_done && group_before(&**disk, layout, mark.next_position())?.is_some() {
        return Ok(());
    }
    // The process that replaced it may have been killed before its new name was stable.
    disk.sync_directory("")?;
    // A short segment is the last one; the others are removed oldest first, so that the rest has no gap.
    let prepared = all.range(begins..).rev();
    for segment in prepared.chain(all.range(..begins)) {
        disk.remove(&segment_file(*segment))?;
        disk.sync_directory(LOG_DIRECTORY)?;
    }
    let segments =
        Segments::open(disk.clone(), layout, layout.begin(), 1)?.first_bytes(first_bytes);
    segments.prepare_next()?;
    let mut block = AlignedBuffer::zeroed(GROUP_ALIGNMENT);
    mark.encode(
        block
            .first_chunk_mut()
            .expect("a block is longer than a header"),
    );
    Ok(segments.file(begins)?.write_durable_at(0, &block)?)
}
