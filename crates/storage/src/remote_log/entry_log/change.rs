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
use crate::disk::AlignedBuffer;
use crate::log::Lsn;
use crate::log::group::GROUP_HEADER_BYTES;
use crate::log::seal::GroupBuilder;
use crate::remote_log::received::{CHANGE_HEAD_BYTES, ReceivedEntry};
use sardonyx_base::bytes::u64_at;
use sardonyx_base::crc32c;

/// In place of a length: the number is removed.
const REMOVAL: u64 = 1 << 63;

/// Bytes before an entry's own.
const HEAD_BYTES: usize = CHANGE_HEAD_BYTES;

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

fn put_head(number: u64, length: usize) -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    let (first, second) = head.split_at_mut(8);
    first.copy_from_slice(&number.to_le_bytes());
    second.copy_from_slice(&(length as u64).to_le_bytes());
    head
}

/// Zeroes behind an entry of so many bytes.
fn padding(length: usize) -> &'static [u8] {
    let bytes = length.next_multiple_of(8) - length;
    [0; 8].get(..bytes).unwrap_or_default()
}

/// A group that begins with an entry, in the memory in which that came. Other memory is given for it.
pub(super) fn put_received(
    number: u64,
    entry: &mut ReceivedEntry,
    memory: AlignedBuffer,
) -> (GroupBuilder, Change) {
    let length = entry.bytes().len();
    let head = put_head(number, length);
    let (mut buffer, sum) = entry.exchange(memory);
    let place = buffer.get_mut(GROUP_HEADER_BYTES..GROUP_HEADER_BYTES + HEAD_BYTES);
    if let Some(place) = place {
        place.copy_from_slice(&head);
    }
    let sum = crc32c::crc32c_joined(crc32c::crc32c(&head), sum, length);
    let mut group = GroupBuilder::of_bytes(buffer, sum);
    group.push_bytes(padding(length));
    let change = Change::Put {
        number,
        at: HEAD_BYTES as u32,
        bytes: length as u32,
    };
    (group, change)
}

/// Appends an entry.
pub(super) fn push_put(into: &mut GroupBuilder, number: u64, bytes: &[u8]) -> Change {
    let length = bytes.len();
    into.push_bytes(&put_head(number, length));
    let at = into.payload().len() as u32;
    into.push_bytes(bytes);
    into.push_bytes(padding(length));
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
    use crate::log::seal::Sequencer;
    use crate::log::{LogLayout, LogPosition};

    #[test]
    fn a_received_entry_makes_the_group_that_a_copied_one_makes() {
        let layout = LogLayout::new(7, 1 << 20);
        for length in [0, 5, 8, 4000, 4096 - 88, 70_000] {
            let bytes: Vec<u8> = (0..length).map(|n| n as u8).collect();
            let mut entry = ReceivedEntry::default();
            while entry.bytes().len() < length {
                let from = entry.bytes().len();
                let read = |into: &mut [u8]| {
                    into.copy_from_slice(&bytes[from..from + into.len()]);
                    Ok::<usize, ()>(into.len())
                };
                entry.read(length - from, read).unwrap();
            }
            entry.came(length, crc32c::crc32c(&bytes));
            let memory = AlignedBuffer::with_capacity(1);
            let (received, change) = put_received(9, &mut entry, memory);
            let mut copied = GroupBuilder::with_capacity(1);
            assert_eq!(push_put(&mut copied, 9, &bytes), change);
            let [received, copied] = [received, copied].map(|mut group| {
                push_remove(&mut group, 3);
                push_trailer(&mut group, Lsn(4096));
                let mut sealed = Sequencer::new(layout, 1, LogPosition::START).seal(group);
                sealed.finish(0);
                sealed.into_buffer()
            });
            assert!(received[..] == copied[..], "{length} bytes");
            assert_eq!(entry.bytes(), []);
        }
    }

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
