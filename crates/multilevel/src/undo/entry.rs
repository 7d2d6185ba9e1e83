//! Undo entries: the inverse of a completed operation, or the note that it has been executed.
//!
//! A slot's entries follow one another from its first page on. Each begins with the number of the slot's use, `begin`,
//! which no other use of any slot has. Behind the last one is a word of zeroes. So the remains of an earlier
//! transaction in the same pages are never taken for an entry (compare I5).
//!
//! Entries are appended in the order in which they reach the log, which need not be that of their
//! sequence numbers: with persistence spheres a later operation's may go first. They are undone in
//! the reverse order of their sequence numbers, which are those of the operations' *ends*.

#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use super::format::word;

/// Bytes before an entry's data.
pub(crate) const ENTRY_HEAD_BYTES: usize = 24;

/// In place of an operation's number: the operation of this sequence number has been compensated.
const CANCELLED: u32 = u32::MAX;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Entry<T> {
    /// A completed operation.
    Undo {
        /// Its place in the order of all operations' ends.
        sequence: u64,
        /// The number of the inverse operation's name.
        operation: u32,
        /// The inverse operation.
        bytes: T,
    },
    /// It has been compensated.
    Cancelled {
        /// The compensated operation's place.
        sequence: u64,
    },
}

/// Bytes of the word behind the last entry.
pub(crate) const END_BYTES: usize = 8;

/// Bytes that an entry with so many bytes of data takes.
pub(crate) const fn entry_bytes(data: usize) -> usize {
    ENTRY_HEAD_BYTES + data.next_multiple_of(8)
}

impl<T: AsRef<[u8]>> Entry<T> {
    /// Appends the entry's bytes.
    pub fn encode(&self, begin: u64, into: &mut Vec<u8>) {
        let (sequence, operation, data) = match self {
            Entry::Undo {
                sequence,
                operation,
                bytes,
            } => (*sequence, *operation, bytes.as_ref()),
            Entry::Cancelled { sequence } => (*sequence, CANCELLED, &[][..]),
        };
        into.extend(begin.to_le_bytes());
        into.extend(sequence.to_le_bytes());
        into.extend(operation.to_le_bytes());
        into.extend((data.len() as u32).to_le_bytes());
        into.extend(data);
        into.resize(into.len().next_multiple_of(8), 0);
    }
}

/// Entries, and where the next one goes.
type Decoded = (Vec<Entry<Vec<u8>>>, usize);

/// Reads a slot's entries. `stream` is the content of its pages after their heads. Returns them and the place of the
/// next one, or the offset in the stream and the reason of the damage.
pub(crate) fn decode_all(begin: u64, stream: &[u8]) -> Result<Decoded, (usize, &'static str)> {
    let mut entries = Vec::new();
    let mut at = 0;
    while stream.len() - at >= ENTRY_HEAD_BYTES && word(stream, at) == begin {
        let sequence = word(stream, at + 8);
        let (operation, length) = {
            let both = word(stream, at + 16);
            (both as u32, (both >> 32) as usize)
        };
        let Some(data) = stream
            .get(at + ENTRY_HEAD_BYTES..)
            .and_then(|rest| rest.get(..length.next_multiple_of(8)))
        else {
            return Err((at, "an entry is longer than its slot"));
        };
        entries.push(match operation {
            CANCELLED if length == 0 => Entry::Cancelled { sequence },
            CANCELLED => return Err((at, "a cancelled entry has data")),
            _ => Entry::Undo {
                sequence,
                operation,
                bytes: data.get(..length).unwrap_or_default().to_vec(),
            },
        });
        at += entry_bytes(length);
    }
    Ok((entries, at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_entry() -> impl Strategy<Value = Entry<Vec<u8>>> {
        let data = prop::collection::vec(any::<u8>(), 0..40);
        prop_oneof![
            (any::<u64>(), 0..256_u32, data).prop_map(|(sequence, operation, bytes)| Entry::Undo {
                sequence,
                operation,
                bytes
            }),
            any::<u64>().prop_map(|sequence| Entry::Cancelled { sequence }),
        ]
    }

    proptest! {
        #[test]
        fn entries_are_read_back_and_an_earlier_use_is_not(
            earlier in prop::collection::vec(any_entry(), 0..9),
            entries in prop::collection::vec(any_entry(), 0..9),
        ) {
            let mut stream = Vec::new();
            earlier.iter().for_each(|entry| entry.encode(6, &mut stream));
            let mut bytes = Vec::new();
            entries.iter().for_each(|entry| entry.encode(7, &mut bytes));
            let end = bytes.len();
            stream.resize(stream.len().max(end), 0);
            stream[..end].copy_from_slice(&bytes);
            prop_assert_eq!(decode_all(7, &stream), Ok((entries, end)));
        }

        #[test]
        fn any_bytes_are_read_or_refused(stream in prop::collection::vec(0..3_u8, 0..200)) {
            let _ = decode_all(word(&[stream.clone(), vec![0; 8]].concat(), 0), &stream);
        }
    }
}
