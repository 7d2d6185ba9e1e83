//! The operations of a client, and the contents of rows.

use sardonyx_workload::random::Random;

pub const FIELD_BYTES: usize = 100;

/// A new value of one field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// The field's number, from 0.
    pub field: u8,
    pub value: [u8; FIELD_BYTES],
}

/// An operation of a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
// A batch has them contiguously.
#[allow(clippy::large_enum_variant)]
pub enum Operation {
    /// Reads all fields of the row with this key.
    Read(u64),
    /// Writes one field of it.
    Update(u64, Change),
    /// Inserts the row with this key, with the contents of [`fill`].
    Insert(u64),
    /// Reads all fields of so many rows, in order, from the one with this key on; fewer at the end.
    Scan(u64, u32),
    /// Reads all fields of the row with this key, then writes one.
    ReadModifyWrite(u64, Change),
}

impl Operation {
    /// Returns true if it is read-only.
    pub fn is_read(&self) -> bool {
        matches!(self, Operation::Read(_) | Operation::Scan(..))
    }
}

/// The key of the row that is inserted as number `number`, from 0: all differ, in no order.
#[inline]
pub fn key_of(number: u64) -> u64 {
    // Each step can be undone, so no two numbers have one key.
    let mixed = (number ^ (number >> 32)).wrapping_mul(0x9fb2_1c65_1e98_df25);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ (mixed >> 32)
}

/// Fills in the initial fields of the row with this key.
pub fn fill(key: u64, fields: &mut [u8]) {
    let mut random = Random::new(key);
    for word in fields.chunks_mut(8) {
        word.copy_from_slice(&random.next_u64().to_le_bytes()[..word.len()]);
    }
}
