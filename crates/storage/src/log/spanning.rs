//! Writing a group to its segment, or to the several that it has for itself because it does not fit into one.
//!
//! A spanning group may be as large as memory allows, so it is never whole in a buffer. Its records are written from
//! their own memory, piece by piece through a small aligned buffer, and synced once for each file. A group torn by a
//! crash is invalid, since the one checksum in its header is of all records (I4).

use super::group::{GROUP_ALIGNMENT, GROUP_HEADER_BYTES, GroupHeader};
use super::seal::SealedGroup;
use super::segment::Segments;
use super::{LogError, LogLayout, LogPosition};
use crate::disk::{AlignedBuffer, DiskError, DiskFile};
use sardonyx_base::crc32c;
use std::sync::Arc;

/// Bytes that are written at once.
const PIECE_BYTES: usize = 4 << 20;

/// Writes a group that is in a buffer to its place, durably, or without a sync if that is done later. A spanning group is
/// synced in any case.
pub(crate) fn write_sealed(
    segments: &Segments,
    group: &SealedGroup,
    syncs: bool,
) -> Result<(), LogError> {
    let (header, layout) = (group.header(), segments.layout());
    if header.is_spanning() {
        return write_spanning(segments, group);
    }
    let file = segments.file(layout.segment_of(header.lsn))?;
    let offset = layout.offset_in_segment(header.lsn);
    match syncs {
        true => file.write_durable_at(offset, group.bytes())?,
        false => file.write_at(offset, group.bytes())?,
    }
    Ok(())
}

/// Each part to its file, then each file synced.
#[cold]
fn write_spanning(segments: &Segments, group: &SealedGroup) -> Result<(), LogError> {
    let mut left = group.bytes();
    let mut files = Vec::new();
    let parts = segments
        .layout()
        .parts(group.header().lsn, left.len() as u64);
    for (segment, offset, bytes) in parts {
        let file = segments.file(segment)?;
        let (part, rest) = left.split_at(bytes as usize);
        file.write_at(offset, part)?;
        files.push(file);
        left = rest;
    }
    for file in files {
        file.sync()?;
    }
    Ok(())
}

/// The header of a spanning group with these records, which are one transaction's, written by this
/// incarnation where the log ends.
#[inline]
pub(super) fn header(
    layout: LogLayout,
    incarnation: u32,
    next: LogPosition,
    records: &[&[u8]],
) -> GroupHeader {
    let payload_bytes: usize = records.iter().map(|piece| piece.len()).sum();
    let on_disk = super::group::group_bytes_on_disk(payload_bytes) as u64;
    let checksum = records
        .iter()
        .fold(0, |checksum, piece| crc32c::crc32c_append(checksum, piece));
    GroupHeader {
        identity: layout.identity,
        number: next.group,
        lsn: layout.place(next.lsn, on_disk),
        durable_number: next.group - 1,
        first_transaction: next.transactions,
        payload_bytes: payload_bytes as u32,
        transactions: 1,
        incarnation,
        payload_checksum: checksum,
        spanned_bytes: layout.spanned_bytes(on_disk),
    }
}

/// Writes a group durably to the files of its segments, in order.
#[inline]
pub(super) fn write_durable(
    layout: LogLayout,
    files: &[Arc<dyn DiskFile>],
    header: &GroupHeader,
    records: &[&[u8]],
) -> Result<(), DiskError> {
    let mut pieces = Pieces::new(header, records);
    let parts = layout.parts(header.lsn, header.bytes_on_disk() as u64);
    for (file, (_, start, bytes)) in files.iter().zip(parts) {
        let mut done = 0;
        while done < bytes {
            let length = PIECE_BYTES.min((bytes - done) as usize);
            file.write_at(start + done, pieces.next(length))?;
            done += length as u64;
        }
    }
    for file in files {
        file.sync()?;
    }
    Ok(())
}

/// A group's bytes, in order.
struct Pieces<'a> {
    records: &'a [&'a [u8]],
    /// The header, until it was given out.
    head: Option<[u8; GROUP_HEADER_BYTES]>,
    /// The bytes of the first of `records` that were already taken.
    taken: usize,
    buffer: AlignedBuffer,
}

impl<'a> Pieces<'a> {
    fn new(header: &GroupHeader, records: &'a [&'a [u8]]) -> Self {
        let mut head = [0; GROUP_HEADER_BYTES];
        header.encode(&mut head);
        Pieces {
            records,
            head: Some(head),
            taken: 0,
            buffer: AlignedBuffer::with_capacity(PIECE_BYTES.min(header.bytes_on_disk())),
        }
    }

    /// The next so many bytes, a multiple of [`GROUP_ALIGNMENT`]; zeroes behind the records.
    #[inline]
    fn next(&mut self, length: usize) -> &[u8] {
        debug_assert!(length.is_multiple_of(GROUP_ALIGNMENT));
        self.buffer.clear();
        if let Some(head) = self.head.take() {
            self.buffer.extend_from_slice(&head);
        }
        while self.buffer.len() < length
            && let Some((first, rest)) = self.records.split_first()
        {
            let left = &first[self.taken..];
            let part = left.len().min(length - self.buffer.len());
            self.buffer.extend_from_slice(&left[..part]);
            self.taken += part;
            if part == left.len() {
                (self.records, self.taken) = (rest, 0);
            }
        }
        self.buffer.extend_zeroed(length);
        &self.buffer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Lsn;

    #[test]
    fn the_pieces_put_together_are_the_header_the_records_and_zeroes() {
        let records: Vec<Vec<u8>> = (1..8u8).map(|n| vec![n; 1000 * n as usize + 8]).collect();
        let records: Vec<&[u8]> = records.iter().map(Vec::as_slice).collect();
        let layout = LogLayout::new(5, 8192);
        let next = LogPosition {
            lsn: Lsn(4096),
            ..LogPosition::START
        };
        let header = header(layout, 1, next, &records);
        assert_eq!((header.lsn, header.spanned_bytes), (Lsn(8192), 4 * 8192));
        let mut pieces = Pieces::new(&header, &records);
        let mut all = Vec::new();
        for length in [4096, 8192, 4096, 12288] {
            all.extend_from_slice(pieces.next(length));
        }
        assert_eq!(GroupHeader::decode(&all), Some(header));
        let end = GROUP_HEADER_BYTES + header.payload_bytes as usize;
        assert_eq!(all[GROUP_HEADER_BYTES..end], records.concat());
        assert!(header.payload_is_valid(&all[GROUP_HEADER_BYTES..end]));
        assert!(all[end..].iter().all(|byte| *byte == 0));
    }
}
