//! A [`LogPosition`] in the form of backup slots and journal chunks. It has 32 bytes,
//! little-endian: LSN, group, transactions, incarnation, four zero bytes.

#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use crate::log::{LogPosition, Lsn};
use sardonyx_base::bytes::{u32_at, u64_at};

/// Bytes of an encoded position.
pub(crate) const POSITION_BYTES: usize = 32;

pub(crate) fn encode(position: LogPosition) -> [u8; POSITION_BYTES] {
    let mut bytes = [0; POSITION_BYTES];
    bytes[0..8].copy_from_slice(&position.lsn.0.to_le_bytes());
    bytes[8..16].copy_from_slice(&position.group.to_le_bytes());
    bytes[16..24].copy_from_slice(&position.transactions.to_le_bytes());
    bytes[24..28].copy_from_slice(&position.incarnation.to_le_bytes());
    bytes
}

/// Reads a position.
pub(crate) fn decode(bytes: &[u8; POSITION_BYTES]) -> LogPosition {
    LogPosition {
        lsn: Lsn(u64_at::<0, _>(bytes)),
        group: u64_at::<8, _>(bytes),
        transactions: u64_at::<16, _>(bytes),
        incarnation: u32_at::<24, _>(bytes),
    }
}
