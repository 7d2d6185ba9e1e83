//! The commit group: the unit in which the log is written, checked and believed.
//!
//! On disk a group is a 64-byte header, the records, and zeroes up to the next multiple of 4096. The
//! header binds it to its place: database identity, group number (consecutive), LSN, length; so a
//! recycled segment's old groups are never taken for log (I5).
//!
//! A group that fits into a segment never crosses a segment's end. One that does not is a *spanning group*: a single
//! transaction, which begins a segment and has that one and the following ones for itself, to the last one's end. It
//! has one header and one checksum like any other, so it is valid whole or not at all. The next group begins a
//! segment, where it is found if it must testify that this one was durable (I4).
//!
//! Several groups may be in flight at once, so after a crash a later group may be whole while an earlier one is torn.
//! That is the log's end, not corruption, if the later one was never acknowledged. Each header therefore has the
//! number of the last group *known durable* when it was written ([`GroupHeader::durable_number`]). A valid group that
//! knew the broken one durable proves corruption (I4); one that did not is a leftover. The incarnation (counted up at
//! each open, before the first append) keeps such leftovers from chaining onto the log that is written after the
//! recovery.
//!
//! Source: TPK paper, section 2, "Logging" (group commit).

#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use super::{LogPosition, Lsn};
use crate::disk::DIRECT_ALIGNMENT;
use sardonyx_base::bytes::{u32_at, u64_at};
use sardonyx_base::crc32c;

/// Bytes of a group's header.
pub const GROUP_HEADER_BYTES: usize = 64;

/// A group's length on disk is a multiple of this many bytes.
pub const GROUP_ALIGNMENT: usize = DIRECT_ALIGNMENT;

const MAGIC: u32 = u32::from_le_bytes(*b"SdxG");
const MAGIC_OF_SPANNING: u32 = u32::from_le_bytes(*b"SdxL");

/// The most bytes of records of one group: their length has 32 bits.
pub const PAYLOAD_BYTES_MAX: u64 = (u32::MAX as u64) - GROUP_ALIGNMENT as u64 + 1;

/// A commit group's header. Little-endian on disk; the layout is in `docs/format.md`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroupHeader {
    /// The database's identity, from its manifest.
    pub identity: u64,
    /// The group's number, consecutive from 1.
    pub number: u64,
    /// The place of the group.
    pub lsn: Lsn,
    /// The number of the last group known durable when this one was sealed; 0 if none.
    pub durable_number: u64,
    /// Transactions committed before this group since the database was created.
    pub first_transaction: u64,
    /// Bytes of records.
    pub payload_bytes: u32,
    /// Transactions in the group (0 for a group that marks a clean close).
    pub transactions: u32,
    /// The number of openings of the database when the group was written.
    pub incarnation: u32,
    /// CRC-32C of the records.
    pub payload_checksum: u32,
    /// The bytes of the segments that a spanning group, which has one transaction, has for itself. 0 in all others.
    pub spanned_bytes: u64,
}

/// Bytes that a group with so many bytes of records takes on disk.
#[inline]
pub const fn group_bytes_on_disk(payload_bytes: usize) -> usize {
    (GROUP_HEADER_BYTES + payload_bytes).next_multiple_of(GROUP_ALIGNMENT)
}

impl GroupHeader {
    /// The header of the empty group at a position that marks a log that ended in order, when all before is
    /// durable.
    pub fn mark(identity: u64, at: LogPosition) -> GroupHeader {
        GroupHeader {
            identity,
            number: at.group,
            lsn: at.lsn,
            durable_number: at.group.saturating_sub(1),
            first_transaction: at.transactions,
            payload_bytes: 0,
            transactions: 0,
            incarnation: at.incarnation,
            payload_checksum: crc32c::crc32c(&[]),
            spanned_bytes: 0,
        }
    }

    /// Bytes of the whole group on disk.
    pub fn bytes_on_disk(&self) -> usize {
        group_bytes_on_disk(self.payload_bytes as usize)
    }

    /// Returns true if the group has whole segments for itself.
    #[inline]
    pub fn is_spanning(&self) -> bool {
        self.spanned_bytes > 0
    }

    /// The end of the group: the LSN of the next one, unless that did not fit into the segment. For a spanning group
    /// it is the end of its last segment.
    pub fn end(&self) -> Lsn {
        match self.is_spanning() {
            true => Lsn(self.lsn.0 + self.spanned_bytes),
            false => Lsn(self.lsn.0 + self.bytes_on_disk() as u64),
        }
    }

    /// The place after this group.
    pub fn next_position(&self) -> LogPosition {
        LogPosition {
            lsn: self.end(),
            group: self.number + 1,
            transactions: self.first_transaction + u64::from(self.transactions),
            incarnation: self.incarnation,
        }
    }

    /// The place before this group: where it starts, or the end of the segment before.
    pub fn position_before(&self) -> LogPosition {
        LogPosition {
            lsn: self.lsn,
            group: self.number,
            transactions: self.first_transaction,
            incarnation: self.incarnation,
        }
    }

    /// A checksum of the group's place, incarnation and records: two logs of one database that have
    /// the same group with the same checksum have the same past. Without
    /// [`GroupHeader::durable_number`], which speaks of the disk that the group is on.
    pub fn history_checksum(&self) -> u32 {
        let mut bytes = [0; GROUP_HEADER_BYTES];
        let anywhere = GroupHeader {
            durable_number: 0,
            ..*self
        };
        anywhere.encode(&mut bytes);
        u32::from_le_bytes(bytes[4..8].try_into().expect("4 bytes"))
    }

    /// Writes the header, with its own checksum, into the group's first bytes.
    pub fn encode(&self, into: &mut [u8; GROUP_HEADER_BYTES]) {
        let blocks = self.spanned_bytes / GROUP_ALIGNMENT as u64;
        let (magic, transactions) = match self.is_spanning() {
            true => (MAGIC_OF_SPANNING, blocks as u32),
            false => (MAGIC, self.transactions),
        };
        debug_assert!(!self.is_spanning() || self.transactions == 1);
        into[0..4].copy_from_slice(&magic.to_le_bytes());
        into[4..8].fill(0);
        into[8..16].copy_from_slice(&self.identity.to_le_bytes());
        into[16..24].copy_from_slice(&self.number.to_le_bytes());
        into[24..32].copy_from_slice(&self.lsn.0.to_le_bytes());
        into[32..40].copy_from_slice(&self.durable_number.to_le_bytes());
        into[40..48].copy_from_slice(&self.first_transaction.to_le_bytes());
        into[48..52].copy_from_slice(&self.payload_bytes.to_le_bytes());
        into[52..56].copy_from_slice(&transactions.to_le_bytes());
        into[56..60].copy_from_slice(&self.incarnation.to_le_bytes());
        into[60..64].copy_from_slice(&self.payload_checksum.to_le_bytes());
        let checksum = crc32c::crc32c(into);
        into[4..8].copy_from_slice(&checksum.to_le_bytes());
    }

    /// Reads a header. `None` unless the magic and the header's checksum are right.
    pub fn decode(bytes: &[u8]) -> Option<GroupHeader> {
        let bytes: &[u8; GROUP_HEADER_BYTES] = bytes.first_chunk()?;
        let is_spanning = match u32_at::<0, _>(bytes) {
            MAGIC => false,
            MAGIC_OF_SPANNING => true,
            _ => return None,
        };
        let mut unsigned = *bytes;
        unsigned[4..8].fill(0);
        if crc32c::crc32c(&unsigned) != u32_at::<4, _>(bytes) {
            return None;
        }
        let word = u32_at::<52, _>(bytes);
        let (transactions, spanned_bytes) = match is_spanning {
            true => (1, u64::from(word) * GROUP_ALIGNMENT as u64),
            false => (word, 0),
        };
        let header = GroupHeader {
            identity: u64_at::<8, _>(bytes),
            number: u64_at::<16, _>(bytes),
            lsn: Lsn(u64_at::<24, _>(bytes)),
            durable_number: u64_at::<32, _>(bytes),
            first_transaction: u64_at::<40, _>(bytes),
            payload_bytes: u32_at::<48, _>(bytes),
            transactions,
            incarnation: u32_at::<56, _>(bytes),
            payload_checksum: u32_at::<60, _>(bytes),
            spanned_bytes,
        };
        let fits = !is_spanning || spanned_bytes >= header.bytes_on_disk() as u64;
        fits.then_some(header)
    }

    /// Returns true if these are the group's records.
    pub fn payload_is_valid(&self, payload: &[u8]) -> bool {
        payload.len() == self.payload_bytes as usize
            && crc32c::crc32c(payload) == self.payload_checksum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_reads_back_and_any_flipped_bit_is_noticed() {
        let header = GroupHeader {
            identity: 0x0123_4567_89ab_cdef,
            number: 42,
            lsn: Lsn(8192),
            durable_number: 40,
            first_transaction: 1000,
            payload_bytes: 24,
            transactions: 3,
            incarnation: 7,
            payload_checksum: 99,
            spanned_bytes: 0,
        };
        let spanning = GroupHeader {
            payload_bytes: 3 << 20,
            transactions: 1,
            spanned_bytes: 4 << 20,
            ..header
        };
        for header in [header, spanning] {
            let mut bytes = [0u8; GROUP_HEADER_BYTES];
            header.encode(&mut bytes);
            assert_eq!(GroupHeader::decode(&bytes), Some(header));
            for bit in 0..GROUP_HEADER_BYTES * 8 {
                let mut broken = bytes;
                broken[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(GroupHeader::decode(&broken), None, "bit {bit}");
            }
        }
        assert_eq!(header.end(), Lsn(8192 + 4096));
        assert_eq!(spanning.end(), Lsn(8192 + (4 << 20)));
    }

    #[test]
    fn the_history_checksum_depends_on_everything_but_what_the_disk_knew() {
        let header = GroupHeader {
            identity: 1,
            number: 42,
            lsn: Lsn(8192),
            durable_number: 40,
            first_transaction: 1000,
            payload_bytes: 24,
            transactions: 3,
            incarnation: 7,
            payload_checksum: 99,
            spanned_bytes: 0,
        };
        let elsewhere = GroupHeader {
            durable_number: 41,
            ..header
        };
        assert_eq!(elsewhere.history_checksum(), header.history_checksum());
        let others = [
            GroupHeader {
                identity: 2,
                ..header
            },
            GroupHeader {
                number: 43,
                ..header
            },
            GroupHeader {
                lsn: Lsn(4096),
                ..header
            },
            GroupHeader {
                first_transaction: 1001,
                ..header
            },
            GroupHeader {
                payload_bytes: 32,
                ..header
            },
            GroupHeader {
                transactions: 4,
                ..header
            },
            GroupHeader {
                incarnation: 8,
                ..header
            },
            GroupHeader {
                payload_checksum: 98,
                ..header
            },
        ];
        for other in others {
            assert_ne!(
                other.history_checksum(),
                header.history_checksum(),
                "{other:?}"
            );
        }
    }
}
