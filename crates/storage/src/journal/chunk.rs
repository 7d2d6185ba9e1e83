//! A chunk of the archive: a header, then the journal records of a range of groups, then zeroes up
//! to a multiple of 4096.
//!
//! The payload is a sequence of sections, one for each group that has rows. A section has the group's LSN,
//! number and first transaction, the section's length, and the records in the form of the log.

#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use crate::disk::DIRECT_ALIGNMENT;
use crate::log::record::{Body, RecordError, Records};
use crate::log::{LogPosition, Lsn};
use crate::position::{self, POSITION_BYTES};
use sardonyx_base::bytes::{at, u32_at, u64_at};
use sardonyx_base::crc32c;

/// Bytes of a chunk's header.
pub const CHUNK_HEADER_BYTES: usize = 128;

/// Bytes of a section's head.
pub const SECTION_HEAD_BYTES: usize = 32;

const MAGIC: u32 = u32::from_le_bytes(*b"SdxJ");

/// A chunk's header. Little-endian on disk; the layout is in `docs/format.md`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChunkHeader {
    /// The database's identity.
    pub identity: u64,
    /// The chunk's number, consecutive from 0.
    pub number: u64,
    /// The chunks of smaller numbers than this one were known durable when it was written; 0 if
    /// nothing was known, as in chunks of format version 1.
    pub durable_chunks: u64,
    /// The rows of the groups from here …
    pub from: LogPosition,
    /// … to here.
    pub to: LogPosition,
    /// Rows in all sections together.
    pub rows: u64,
    /// Bytes of sections.
    pub payload_bytes: u32,
    /// CRC-32C of the sections.
    pub payload_checksum: u32,
}

/// Bytes that a chunk with so many bytes of sections takes in its file.
pub const fn chunk_bytes_on_disk(payload_bytes: usize) -> usize {
    (CHUNK_HEADER_BYTES + payload_bytes).next_multiple_of(DIRECT_ALIGNMENT)
}

impl ChunkHeader {
    /// Bytes of the chunk in its file.
    pub fn bytes_on_disk(&self) -> usize {
        chunk_bytes_on_disk(self.payload_bytes as usize)
    }

    /// Writes the header, with its own checksum, into a chunk's first bytes.
    pub fn encode(&self, into: &mut [u8; CHUNK_HEADER_BYTES]) {
        into.fill(0);
        into[0..4].copy_from_slice(&MAGIC.to_le_bytes());
        into[8..16].copy_from_slice(&self.identity.to_le_bytes());
        into[16..24].copy_from_slice(&self.number.to_le_bytes());
        into[24..24 + POSITION_BYTES].copy_from_slice(&position::encode(self.from));
        into[56..56 + POSITION_BYTES].copy_from_slice(&position::encode(self.to));
        into[88..96].copy_from_slice(&self.rows.to_le_bytes());
        into[96..100].copy_from_slice(&self.payload_bytes.to_le_bytes());
        into[100..104].copy_from_slice(&self.payload_checksum.to_le_bytes());
        into[104..112].copy_from_slice(&self.durable_chunks.to_le_bytes());
        let checksum = crc32c::crc32c(into);
        into[4..8].copy_from_slice(&checksum.to_le_bytes());
    }

    /// Reads a header. `None` unless the magic and the header's checksum are right.
    #[inline]
    pub fn decode(bytes: &[u8]) -> Option<ChunkHeader> {
        let bytes: &[u8; CHUNK_HEADER_BYTES] = bytes.first_chunk()?;
        let mut unsigned = *bytes;
        unsigned[4..8].fill(0);
        if u32_at::<0, _>(bytes) != MAGIC || crc32c::crc32c(&unsigned) != u32_at::<4, _>(bytes) {
            return None;
        }
        Some(ChunkHeader {
            identity: u64_at::<8, _>(bytes),
            number: u64_at::<16, _>(bytes),
            from: position::decode(&at::<24, _, _>(bytes)),
            to: position::decode(&at::<56, _, _>(bytes)),
            rows: u64_at::<88, _>(bytes),
            payload_bytes: u32_at::<96, _>(bytes),
            payload_checksum: u32_at::<100, _>(bytes),
            durable_chunks: u64_at::<104, _>(bytes),
        })
    }

    /// True if these are the chunk's sections.
    pub fn payload_is_valid(&self, payload: &[u8]) -> bool {
        payload.len() == self.payload_bytes as usize
            && crc32c::crc32c(payload) == self.payload_checksum
    }
}

/// The head of a group's section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SectionHead {
    pub lsn: Lsn,
    pub group: u64,
    pub first_transaction: u64,
    pub records_bytes: u32,
}

impl SectionHead {
    /// The place in the head of the length of the section's records.
    pub const RECORDS_BYTES_AT: usize = 24;

    pub fn encode(&self) -> [u8; SECTION_HEAD_BYTES] {
        let mut bytes = [0; SECTION_HEAD_BYTES];
        bytes[0..8].copy_from_slice(&self.lsn.0.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.group.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.first_transaction.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.records_bytes.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<SectionHead> {
        let bytes: &[u8; SECTION_HEAD_BYTES] = bytes.first_chunk()?;
        Some(SectionHead {
            lsn: Lsn(u64_at::<0, _>(bytes)),
            group: u64_at::<8, _>(bytes),
            first_transaction: u64_at::<16, _>(bytes),
            records_bytes: u32_at::<24, _>(bytes),
        })
    }
}

/// The place of a row's writing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RowPlace {
    /// The start of the row's group in the log.
    pub lsn: Lsn,
    /// The group's number.
    pub group: u64,
    /// Transactions committed before the group since the database was created.
    pub first_transaction: u64,
    /// The row's number among the rows that were appended in the group, to all journals.
    pub row: u32,
}

/// A row that a cursor found: its group, its journal, and its place in the bytes.
pub(super) type Found = (RowPlace, u16, std::ops::Range<usize>);

/// A cursor over the rows of one journal, or of all, in a chunk's sections or in a group's records. It keeps
/// offsets instead of a borrow, so that the owner of the bytes can own the cursor too.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowCursor {
    journal: Option<u16>,
    /// The start of the next record in the bytes, and the end of its section's records.
    next: usize,
    section_end: usize,
    /// The section's group, and the number of the next row in it.
    place: RowPlace,
}

impl RowCursor {
    /// Over a chunk's sections.
    pub fn over_chunk(journal: Option<u16>) -> Self {
        let place = RowPlace {
            lsn: Lsn(0),
            group: 0,
            first_transaction: 0,
            row: 0,
        };
        RowCursor {
            journal,
            next: 0,
            section_end: 0,
            place,
        }
    }

    /// Over the records of one group, in the form of the log.
    pub fn over_group(journal: Option<u16>, place: RowPlace, bytes: usize) -> Self {
        RowCursor {
            journal,
            next: 0,
            section_end: bytes,
            place,
        }
    }

    #[inline]
    pub fn next(&mut self, bytes: &[u8]) -> Result<Option<Found>, RecordError> {
        loop {
            let mut records =
                Records::new(bytes.get(self.next..self.section_end).unwrap_or_default());
            let from = self.next;
            while let Some(record) = records.next() {
                let record = record.map_err(|error| RecordError {
                    offset: from + error.offset,
                    ..error
                })?;
                let Body::Journal { journal, row } = record.body else {
                    continue;
                };
                let place = self.place;
                self.place.row = place.row.saturating_add(1);
                if self.journal.is_none_or(|only| only == journal) {
                    self.next = from + records.offset();
                    let start = row.as_ptr() as usize - bytes.as_ptr() as usize;
                    return Ok(Some((place, journal, start..start + row.len())));
                }
            }
            self.next = self.section_end;
            if self.next == bytes.len() {
                return Ok(None);
            }
            let fail = |reason| RecordError {
                offset: from,
                reason,
            };
            let Some(head) = SectionHead::decode(bytes.get(self.next..).unwrap_or_default()) else {
                return Err(fail("shorter than a section's head"));
            };
            self.place = RowPlace {
                lsn: head.lsn,
                group: head.group,
                first_transaction: head.first_transaction,
                row: 0,
            };
            self.next += SECTION_HEAD_BYTES;
            self.section_end = self.next + head.records_bytes as usize;
            if self.section_end > bytes.len() {
                return Err(fail("a section longer than its chunk"));
            }
        }
    }
}
