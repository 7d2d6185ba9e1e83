//! A [`LogPosition`] as it stands in backup slots and journal chunks: 32 bytes, little-endian: LSN,
//! group, transactions, incarnation, four zero bytes.

use crate::log::{LogPosition, Lsn};

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

/// Reads a position from the first [`POSITION_BYTES`] bytes.
pub(crate) fn decode(bytes: &[u8]) -> LogPosition {
    let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
    LogPosition {
        lsn: Lsn(u64_at(0)),
        group: u64_at(8),
        transactions: u64_at(16),
        incarnation: u32::from_le_bytes(bytes[24..28].try_into().expect("4 bytes")),
    }
}
