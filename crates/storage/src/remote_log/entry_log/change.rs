//! The records of a group of an entry log: entries that were put, numbers that were removed, and the place from which
//! the log is needed once the group is there.
//!
//! ```text
//! number 8 | length 8               | bytes, and zeroes to a multiple of 8    an entry
//! number 8 | 0x8000_0000_0000_0000                                            a removal
//! ...
//! needed from: an LSN 8                                                       the last 8 bytes
//! ```
//!
//! All numbers are little-endian.

#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use super::planted::{self, Planted};
use crate::log::Lsn;
use crate::log::seal::GroupBuilder;
use sardonyx_base::bytes::u64_at;

/// In place of a length: the number is removed.
const REMOVAL: u64 = 1 << 63;

/// Bytes before an entry's own.
const HEAD_BYTES: usize = 16;

/// Bytes behind all changes.
pub(super) const TRAILER_BYTES: usize = 8;

/// A change of the entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Change {
    /// An entry.
    Put {
        number: u64,
        /// The offset of its bytes in the group's records.
        at: u32,
        bytes: u32,
    },
    /// There is no entry of this number from here on.
    Remove { number: u64 },
}

impl Change {
    /// The number of the entry.
    pub fn number(&self) -> u64 {
        match self {
            Change::Put { number, .. } | Change::Remove { number } => *number,
        }
    }
}

/// Bytes that an entry of so many bytes takes.
pub(super) fn put_bytes(bytes: usize) -> usize {
    HEAD_BYTES + bytes.next_multiple_of(8)
}

/// Bytes that so many removals take.
pub(super) fn remove_bytes(count: usize) -> usize {
    HEAD_BYTES * count
}

/// Appends an entry.
pub(super) fn push_put(into: &mut GroupBuilder, number: u64, bytes: &[u8]) -> Change {
    let length = bytes.len();
    into.push_bytes(&number.to_le_bytes());
    into.push_bytes(&(length as u64).to_le_bytes());
    let at = into.payload().len() as u32;
    into.push_bytes(bytes);
    let padding = length.next_multiple_of(8) - length;
    into.push_bytes([0; 8].get(..padding).unwrap_or_default());
    Change::Put {
        number,
        at,
        bytes: length as u32,
    }
}

/// Appends a removal.
pub(super) fn push_remove(into: &mut GroupBuilder, number: u64) -> Change {
    if !planted::is(Planted::RemovalsNotWritten) {
        into.push_bytes(&number.to_le_bytes());
        into.push_bytes(&REMOVAL.to_le_bytes());
    }
    Change::Remove { number }
}

/// Appends from where on the log is needed: nothing comes behind that.
pub(super) fn push_trailer(into: &mut GroupBuilder, needed_from: Lsn) {
    into.push_bytes(&needed_from.0.to_le_bytes());
}

/// The changes of a group's records, and from where on the log is needed.
///
/// # Errors
/// The reason why they are invalid.
pub(super) fn decode(payload: &[u8]) -> Result<(Vec<Change>, Lsn), &'static str> {
    let (mut rest, trailer) = payload
        .split_last_chunk::<TRAILER_BYTES>()
        .ok_or("it is shorter than its trailer")?;
    let whole = rest.len();
    let mut changes = Vec::new();
    while let Some((head, behind)) = rest.split_first_chunk::<HEAD_BYTES>() {
        let (number, length) = (u64_at::<0, _>(head), u64_at::<8, _>(head));
        if length == REMOVAL {
            changes.push(Change::Remove { number });
            rest = behind;
            continue;
        }
        let length = u32::try_from(length).map_err(|_| "the length of an entry cannot be so")?;
        let padded = (length as usize).next_multiple_of(8);
        let at = (whole - behind.len()) as u32;
        rest = behind
            .get(padded..)
            .ok_or("an entry is longer than its group")?;
        changes.push(Change::Put {
            number,
            at,
            bytes: length,
        });
    }
    match rest.is_empty() {
        true => Ok((changes, Lsn(u64::from_le_bytes(*trailer)))),
        false => Err("bytes are left behind its changes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_read_back_and_a_cut_is_refused() {
        let mut group = GroupBuilder::with_capacity(4096);
        let pushed = [
            push_put(&mut group, 7, b"seven"),
            push_remove(&mut group, 3),
            push_put(&mut group, u64::MAX, b""),
            push_put(&mut group, 8, &[1; 24]),
        ];
        push_trailer(&mut group, Lsn(4096));
        let payload = group.payload();
        assert_eq!(decode(payload).unwrap(), (pushed.to_vec(), Lsn(4096)));
        let Change::Put { at, bytes, .. } = pushed[0] else {
            panic!("an entry");
        };
        assert_eq!(&payload[at as usize..(at + bytes) as usize], b"seven");
        assert_eq!(
            payload.len(),
            put_bytes(5) + remove_bytes(1) + put_bytes(0) + put_bytes(24) + TRAILER_BYTES
        );
        // A cut between changes reads other numbers, and the group's checksum finds that.
        let whole = (0..payload.len()).filter(|end| decode(&payload[..*end]).is_ok());
        assert_eq!(whole.collect::<Vec<_>>(), [8, 32, 48, 64]);
        let mut long = payload.to_vec();
        long[8..16].copy_from_slice(&(1u64 << 40).to_le_bytes());
        decode(&long).unwrap_err();
    }
}
