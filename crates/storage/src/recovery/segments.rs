//! Checks that this log can have left the files in its directory: without a gap, and none of them foreign.
//!
//! Every segment that was ever written to begins with a group, which names its database and its LSN. Or it belongs to
//! the spanning group that begins an earlier one. Segments are only ever renamed to later ones. So a segment begins
//! with its own group; or an older one, if it is prepared and the log has not got there; or none. A group of another
//! database, a later one, or an older one where the log has been is no leftover.

use crate::disk::{Access, AlignedBuffer, Create, Disk};
use crate::log::group::{GROUP_ALIGNMENT, GroupHeader};
use crate::log::segment::{segment_file, segments_present};
use crate::log::{LogError, LogLayout, LogPosition, Lsn};
use crate::manifest::Manifest;

/// True if the manifest is the one that a compaction wrote, and the segment in which the log begins again is
/// not made yet. The log ends at that segment's start.
pub(super) fn is_to_be_made(disk: &dyn Disk, manifest: &Manifest) -> Result<bool, LogError> {
    let segment = manifest.log_layout().begins.segment;
    Ok(manifest.is_log_fresh() && !segments_present(disk)?.contains(&segment))
}

/// Segments are freed and used again oldest first: from `first` to the last, all exist, or some are lost.
pub(super) fn check_no_gap(disk: &dyn Disk, first: u64, needed: Lsn) -> Result<(), LogError> {
    let present = segments_present(disk)?;
    let last = present.last().copied().unwrap_or(first);
    match (first..last).find(|segment| !present.contains(segment)) {
        None => Ok(()),
        Some(missing) => Err(LogError::MissingSegment {
            file: disk.display_name(&segment_file(missing)),
            needed,
        }),
    }
}

/// Looks at the start of every segment. `reached`: the log is known to have been there.
pub(super) fn check_starts(
    disk: &dyn Disk,
    layout: LogLayout,
    reached: LogPosition,
) -> Result<(), LogError> {
    let mut block = AlignedBuffer::zeroed(GROUP_ALIGNMENT);
    // The bytes at the start of a segment before this one are the program's, in a spanning group.
    let mut spanned_until = Lsn(0);
    for segment in segments_present(disk)? {
        if layout.segment_start(segment) < spanned_until {
            continue;
        }
        let file = disk.open(&segment_file(segment), Access::Direct, Create::No)?;
        let read = file.read_at(0, &mut block)?;
        let Some(header) = GroupHeader::decode(&block[..read]) else {
            continue;
        };
        let start = layout.segment_start(segment);
        let (number, lsn) = (header.number, header.lsn);
        let found = if header.identity != layout.identity {
            format!(
                "group {number} of another database ({:016x})",
                header.identity
            )
        } else if lsn > start {
            format!("group {number} of LSN {lsn}, which is later than the segment's {start}")
        } else if lsn < start && start < reached.lsn {
            format!("the older group {number} of LSN {lsn}, although the log has been here")
        } else {
            if lsn == start && header.is_spanning() {
                spanned_until = header.end();
            }
            continue;
        };
        let file = file.display_name();
        return Err(LogError::ForeignSegment { file, found });
    }
    Ok(())
}
