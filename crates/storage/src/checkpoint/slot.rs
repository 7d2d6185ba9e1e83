//! A slot of a stripe's file: a 4096-byte header and one version of one block.
//!
//! The header has the log position from which the log must be applied to this version. So every block of a checkpoint
//! may have its own. It also has what recovery must know of the last complete checkpoint before this one. The number
//! of its blocks: each of them must have a version that is at least as new. And the start of its redo: blocks added
//! since are wholly in the log from there. CRC-32C covers both header and block.

#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use crate::disk::DIRECT_ALIGNMENT;
use crate::log::LogPosition;
use crate::position;
use sardonyx_base::bytes::{at, u32_at, u64_at};
use sardonyx_base::crc32c;

/// Bytes of a slot's header.
pub const SLOT_HEADER_BYTES: usize = DIRECT_ALIGNMENT;

const MAGIC: u32 = u32::from_le_bytes(*b"SdxB");
const CHECKSUM_AT: usize = 4;

/// A checkpoint of a stripe that is wholly on disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CompleteCheckpoint {
    /// Its number; 0: there was none yet.
    pub number: u64,
    /// The stripe's length in this checkpoint, in blocks.
    pub blocks: u64,
    /// The start of a redo pass that has only this checkpoint.
    pub redo_start: LogPosition,
}

impl CompleteCheckpoint {
    /// Before the first checkpoint: no blocks, and everything is in the log.
    pub const NONE: CompleteCheckpoint = CompleteCheckpoint {
        number: 0,
        blocks: 0,
        redo_start: LogPosition::START,
    };
}

/// The description of a block's version in its slot's header. Little-endian on disk; the layout is
/// in `docs/format.md`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotHeader {
    /// The database's identity.
    pub identity: u64,
    /// From 0; each stripe is a file of the backup.
    pub stripe: u32,
    /// Bytes of the block that are in use; the block is zero after them.
    pub used_bytes: u32,
    /// The block's number in the stripe.
    pub block: u64,
    /// The number of the checkpoint that wrote it; consecutive numbers need not be complete.
    pub checkpoint: u64,
    /// The log must be applied to this version from here.
    pub position: LogPosition,
    /// The beginning of the checkpoint's writeout: not after any of its blocks' positions.
    pub redo_start: LogPosition,
    /// The number of the checkpoint's blocks.
    pub blocks: u64,
    /// The last complete checkpoint before this one.
    pub complete: CompleteCheckpoint,
    /// CRC-32C of the used bytes.
    pub data_checksum: u32,
}

/// The content of a slot, judged by its header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlotState {
    /// Never written.
    Empty,
    /// Neither empty nor a header whose checksum is right: a torn write, or corruption.
    Damaged,
    /// A header of another database or stripe, or one that contradicts itself.
    Foreign,
    /// A header whose checksum is right. The block itself is not checked yet.
    Valid(SlotHeader),
}

impl SlotHeader {
    /// Writes the header, with its checksum, into a slot's first bytes.
    #[expect(clippy::indexing_slicing, reason = "the fields' lengths are constants")]
    pub fn encode(&self, into: &mut [u8; SLOT_HEADER_BYTES]) {
        into.fill(0);
        let mut at = 0;
        let mut put = |bytes: &[u8]| {
            into[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        put(&MAGIC.to_le_bytes());
        put(&0u32.to_le_bytes());
        put(&self.identity.to_le_bytes());
        put(&self.stripe.to_le_bytes());
        put(&self.used_bytes.to_le_bytes());
        for word in [self.block, self.checkpoint, self.blocks] {
            put(&word.to_le_bytes());
        }
        put(&self.complete.number.to_le_bytes());
        put(&self.complete.blocks.to_le_bytes());
        for place in [self.position, self.redo_start, self.complete.redo_start] {
            put(&position::encode(place));
        }
        put(&self.data_checksum.to_le_bytes());
        let checksum = crc32c::crc32c(into);
        into[CHECKSUM_AT..CHECKSUM_AT + 4].copy_from_slice(&checksum.to_le_bytes());
    }

    fn decode(bytes: &[u8; SLOT_HEADER_BYTES]) -> Option<SlotHeader> {
        let checksum = crc32c::crc32c(&bytes[..CHECKSUM_AT]);
        let checksum = crc32c::crc32c_append(checksum, &[0; 4]);
        let checksum = crc32c::crc32c_append(checksum, &bytes[CHECKSUM_AT + 4..]);
        if u32_at::<0, _>(bytes) != MAGIC || u32_at::<CHECKSUM_AT, _>(bytes) != checksum {
            return None;
        }
        Some(SlotHeader {
            identity: u64_at::<8, _>(bytes),
            stripe: u32_at::<16, _>(bytes),
            used_bytes: u32_at::<20, _>(bytes),
            block: u64_at::<24, _>(bytes),
            checkpoint: u64_at::<32, _>(bytes),
            blocks: u64_at::<40, _>(bytes),
            complete: CompleteCheckpoint {
                number: u64_at::<48, _>(bytes),
                blocks: u64_at::<56, _>(bytes),
                redo_start: position::decode(&at::<128, _, _>(bytes)),
            },
            position: position::decode(&at::<64, _, _>(bytes)),
            redo_start: position::decode(&at::<96, _, _>(bytes)),
            data_checksum: u32_at::<160, _>(bytes),
        })
    }

    /// True if these are the block's used bytes.
    pub fn data_is_valid(&self, used: &[u8]) -> bool {
        used.len() == self.used_bytes as usize && crc32c::crc32c(used) == self.data_checksum
    }
}

impl SlotState {
    /// Judges a slot of this stripe by its header.
    pub fn of(bytes: &[u8; SLOT_HEADER_BYTES], layout: &super::StripeLayout) -> SlotState {
        if bytes.iter().all(|&byte| byte == 0) {
            return SlotState::Empty;
        }
        let Some(header) = SlotHeader::decode(bytes) else {
            return SlotState::Damaged;
        };
        let belongs = header.identity == layout.identity
            && header.stripe == layout.stripe
            && header.used_bytes <= layout.block_bytes
            && header.used_bytes.is_multiple_of(DIRECT_ALIGNMENT as u32)
            && header.block < header.blocks
            && header.complete.number < header.checkpoint
            && header.redo_start.lsn <= header.position.lsn;
        if belongs {
            SlotState::Valid(header)
        } else {
            SlotState::Foreign
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::StripeLayout;
    use crate::log::Lsn;

    fn header() -> SlotHeader {
        let position = |k: u64| LogPosition {
            lsn: Lsn(k * 4096),
            group: k + 1,
            transactions: 10 * k,
            incarnation: 3,
        };
        SlotHeader {
            identity: 0x0123_4567_89ab_cdef,
            stripe: 2,
            used_bytes: 4096,
            block: 3,
            checkpoint: 9,
            position: position(8),
            redo_start: position(7),
            blocks: 4,
            complete: CompleteCheckpoint {
                number: 8,
                blocks: 2,
                redo_start: position(5),
            },
            data_checksum: 77,
        }
    }

    #[test]
    fn a_header_reads_back_and_any_flipped_bit_is_noticed() {
        let identity = header().identity;
        let layout = StripeLayout {
            identity,
            stripe: 2,
            stripes: 3,
            block_bytes: 8192,
            compaction: 0,
        };
        let mut bytes = [0u8; SLOT_HEADER_BYTES];
        assert_eq!(SlotState::of(&bytes, &layout), SlotState::Empty);
        header().encode(&mut bytes);
        assert_eq!(SlotState::of(&bytes, &layout), SlotState::Valid(header()));
        for bit in 0..SLOT_HEADER_BYTES * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(
                SlotState::of(&bytes, &layout),
                SlotState::Damaged,
                "bit {bit}"
            );
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        let other = StripeLayout {
            identity: 1,
            ..layout
        };
        assert_eq!(SlotState::of(&bytes, &other), SlotState::Foreign);
        let other = StripeLayout {
            stripe: 1,
            ..layout
        };
        assert_eq!(SlotState::of(&bytes, &other), SlotState::Foreign);
    }
}
