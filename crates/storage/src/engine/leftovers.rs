//! Clearing the bytes behind the end of the log of a copy that follows.
//!
//! A database counts up its incarnation when it is opened. So whole groups behind the end of its log never chain onto
//! its next groups. A copy that follows writes the groups of another host, with that one's incarnations. If its
//! directory was opened as a database in between, leftovers of that may have a later incarnation. So they are
//! overwritten before anything is appended.

use crate::disk::{Access, AlignedBuffer, Create, Disk};
use crate::log::group::{GROUP_ALIGNMENT, GroupHeader};
use crate::log::segment::{LOG_DIRECTORY, segment_file, segment_of_file};
use crate::log::{LogError, LogLayout, LogPosition, Lsn};

/// Bytes read at once.
const READ_BYTES: usize = 1 << 20;

/// Overwrites the header of every group at its place behind the log's end, durably. Returns how many there
/// were.
pub(super) fn clear_leftovers(
    disk: &dyn Disk,
    layout: LogLayout,
    end: LogPosition,
) -> Result<u64, LogError> {
    let mut cleared = 0;
    let first = layout.segment_of(end.lsn);
    for name in disk.list(LOG_DIRECTORY)? {
        let Some(segment) = segment_of_file(&name).filter(|&segment| segment >= first) else {
            continue;
        };
        let from = end.lsn.max(layout.segment_start(segment));
        cleared += clear_segment(disk, layout, segment, from)?;
    }
    Ok(cleared)
}

fn clear_segment(
    disk: &dyn Disk,
    layout: LogLayout,
    segment: u64,
    from: Lsn,
) -> Result<u64, LogError> {
    let file = disk.open(&segment_file(segment), Access::Direct, Create::No)?;
    let zeroes = AlignedBuffer::zeroed(GROUP_ALIGNMENT);
    let mut cleared = 0;
    let mut offset = layout.offset_in_segment(from);
    while offset < layout.segment_bytes {
        let length = READ_BYTES.min((layout.segment_bytes - offset) as usize);
        let mut piece = AlignedBuffer::zeroed(length);
        let read = file.read_at(offset, &mut piece)?;
        piece[read..].fill(0);
        for at in (0..length).step_by(GROUP_ALIGNMENT) {
            let place = offset + at as u64;
            let lsn = Lsn(layout.segment_start(segment).0 + place);
            let header = GroupHeader::decode(&piece[at..]);
            if header.is_some_and(|h| h.lsn == lsn && h.identity == layout.identity) {
                file.write_at(place, &zeroes)?;
                cleared += 1;
            }
        }
        offset += length as u64;
    }
    if cleared > 0 {
        file.sync()?;
    }
    Ok(cleared)
}
