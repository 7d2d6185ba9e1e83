//! The last group before a place in the log, looked for backwards: by it two logs of one database are
//! known to have the same past.

use super::READ_BYTES;
use crate::disk::{Access, AlignedBuffer, Create, Disk};
use crate::log::group::{GROUP_ALIGNMENT, GROUP_HEADER_BYTES, GroupHeader};
use crate::log::segment::{LOG_DIRECTORY, segment_file, segment_of_file};
use crate::log::{LogError, LogLayout, LogPosition, Lsn};

/// The whole spanning group that ends at a segment's start, if one does.
fn spanning_group_before(
    disk: &dyn Disk,
    layout: LogLayout,
    position: LogPosition,
    segments: &[u64],
) -> Result<Option<GroupHeader>, LogError> {
    if layout.offset_in_segment(position.lsn) != 0 {
        return Ok(None);
    }
    let mut block = AlignedBuffer::zeroed(GROUP_ALIGNMENT);
    for segment in (0..layout.segment_of(position.lsn)).rev() {
        if !segments.contains(&segment) {
            return Ok(None);
        }
        let file = disk.open(&segment_file(segment), Access::Direct, Create::No)?;
        let read = file.read_at(0, &mut block)?;
        let header = GroupHeader::decode(&block[..read]).filter(|header| {
            header.identity == layout.identity && header.lsn == layout.segment_start(segment)
        });
        let Some(header) = header else {
            continue;
        };
        if !header.is_spanning() || header.next_position() != position {
            return Ok(None);
        }
        let mut group = AlignedBuffer::zeroed(header.bytes_on_disk());
        let mut done = 0;
        for (segment, offset, part) in layout.parts(header.lsn, group.len() as u64) {
            let file = disk.open(&segment_file(segment), Access::Direct, Create::No)?;
            file.read_at(offset, &mut group[done..done + part as usize])?;
            done += part as usize;
        }
        let end = GROUP_HEADER_BYTES + header.payload_bytes as usize;
        let whole = header.payload_is_valid(&group[GROUP_HEADER_BYTES..end]);
        return Ok(whole.then_some(header));
    }
    Ok(None)
}

/// The whole group that ends at a position, or `None` if there is none: the log was never written
/// so far, went another way, or no longer reaches back to it. Two logs of one database that have
/// the same group there have the same past.
pub fn group_before(
    disk: &dyn Disk,
    layout: LogLayout,
    position: LogPosition,
) -> Result<Option<GroupHeader>, LogError> {
    let Some(last_byte) = position.lsn.0.checked_sub(1) else {
        return Ok(None);
    };
    let segment = layout.segment_of(Lsn(last_byte));
    let names = disk.list(LOG_DIRECTORY)?;
    let segments: Vec<u64> = names
        .iter()
        .filter_map(|name| segment_of_file(name))
        .collect();
    if !segments.contains(&segment) {
        return Ok(None);
    }
    if let Some(header) = spanning_group_before(disk, layout, position, &segments)? {
        return Ok(Some(header));
    }
    let file = disk.open(&segment_file(segment), Access::Direct, Create::No)?;
    let start = layout.segment_start(segment);
    let mut end = (position.lsn.0 - start.0) as usize;
    let mut group = AlignedBuffer::with_capacity(GROUP_ALIGNMENT);
    // Backwards, piece by piece: the group is rarely long.
    while end > 0 {
        let from = end.saturating_sub(READ_BYTES);
        let mut piece = AlignedBuffer::zeroed(end - from);
        let read = file.read_at(from as u64, &mut piece)?;
        piece[read..].fill(0);
        for at in (0..piece.len()).step_by(GROUP_ALIGNMENT).rev() {
            let Some(header) = GroupHeader::decode(&piece[at..]) else {
                continue;
            };
            let is_it = header.identity == layout.identity
                && header.lsn.0 == start.0 + (from + at) as u64
                && header.next_position() == position;
            if !is_it {
                continue;
            }
            group.clear();
            group.extend_zeroed(header.bytes_on_disk());
            let read = file.read_at((from + at) as u64, &mut group)?;
            let end = GROUP_HEADER_BYTES + header.payload_bytes as usize;
            let whole =
                read == group.len() && header.payload_is_valid(&group[GROUP_HEADER_BYTES..end]);
            return Ok(whole.then_some(header));
        }
        end = from;
    }
    Ok(None)
}
