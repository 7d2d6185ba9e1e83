//! An entry that comes from another process piece by piece, in memory that becomes a group of a log as it is
//! ([`entry_log`](super::entry_log)): there is room before it for the heads of both. The bytes are summed as they come, and not
//! once more.
//!
//! Bound (I10): memory grows with the bytes that came, to at most twice as many.

use crate::disk::{AlignedBuffer, DIRECT_ALIGNMENT};
use crate::log::group::GROUP_HEADER_BYTES;
use sardonyx_base::crc32c;

/// Bytes of the head of an entry in a group of an entry log.
pub(super) const CHANGE_HEAD_BYTES: usize = 16;

/// Bytes before an entry's own.
const HEADS_BYTES: usize = GROUP_HEADER_BYTES + CHANGE_HEAD_BYTES;

/// Room behind an entry: for the end of the group, and zeroes up to a whole block.
const TAIL_BYTES: usize = 2 * DIRECT_ALIGNMENT;

/// Memory that an entry is given before its bytes come.
const FIRST_BYTES: usize = 64 << 10;

/// Bytes that are read at once.
const PIECE_BYTES: usize = 256 << 10;

/// Memory for entries, one after the other.
#[derive(Debug)]
pub struct ReceivedEntry {
    /// Room for the heads, then the entry.
    buffer: AlignedBuffer,
    /// CRC-32C of the entry, but for its head if that comes last.
    sum: u32,
    /// Bytes of the entry's head that come last.
    head_bytes: usize,
}

impl Default for ReceivedEntry {
    fn default() -> Self {
        ReceivedEntry::in_memory(AlignedBuffer::with_capacity(DIRECT_ALIGNMENT))
    }
}

impl ReceivedEntry {
    fn in_memory(mut buffer: AlignedBuffer) -> Self {
        buffer.clear();
        buffer.extend_zeroed(HEADS_BYTES);
        ReceivedEntry {
            buffer,
            sum: 0,
            head_bytes: 0,
        }
    }

    /// Forgets the entry, and keeps its memory.
    pub fn begin(&mut self) {
        self.begin_behind(0);
    }

    /// The same for an entry whose head comes last, and has so many bytes ([`ReceivedEntry::put_head`]).
    pub fn begin_behind(&mut self, head_bytes: usize) {
        self.buffer.truncate(HEADS_BYTES);
        self.buffer.extend_zeroed(HEADS_BYTES + head_bytes);
        (self.sum, self.head_bytes) = (0, head_bytes);
    }

    /// Bytes that came, without a head that comes last.
    pub fn received(&self) -> usize {
        self.bytes().len() - self.head_bytes
    }

    /// Forgets the entry, and keeps at most so much memory.
    pub fn clear(&mut self, kept_bytes: usize) {
        match self.buffer.capacity() <= kept_bytes {
            true => self.begin(),
            false => *self = ReceivedEntry::default(),
        }
    }

    /// Has a reader put the next bytes, of which so many are left, behind the present ones. It returns the number of bytes that it
    /// put there.
    ///
    /// # Errors
    /// The reader's.
    pub fn read<E>(
        &mut self,
        left: usize,
        read: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<usize, E> {
        let from = self.buffer.len();
        if self.buffer.capacity() - from <= TAIL_BYTES {
            let more = from.max(FIRST_BYTES).min(left);
            self.buffer.reserve(more + TAIL_BYTES);
        }
        let room = self.buffer.capacity() - from - TAIL_BYTES;
        let into = self.buffer.append(room.min(left).min(PIECE_BYTES));
        let most = into.len();
        let outcome = read(into);
        let bytes = outcome.as_ref().map_or(0, |bytes| *bytes);
        self.buffer.truncate(from + bytes.min(most));
        outcome
    }

    /// So many more bytes came whole, and have this checksum, CRC-32C.
    pub fn came(&mut self, bytes: usize, sum: u32) {
        self.sum = crc32c::crc32c_joined(self.sum, sum, bytes);
    }

    /// The head came, last. Returns false if this entry was not begun for a head of this length.
    #[must_use]
    pub fn put_head(&mut self, head: &[u8]) -> bool {
        if self.head_bytes != head.len() {
            return false;
        }
        let sum = crc32c::crc32c_joined(crc32c::crc32c(head), self.sum, self.received());
        let place = self
            .buffer
            .get_mut(HEADS_BYTES..HEADS_BYTES + self.head_bytes);
        let Some(place) = place else {
            return false;
        };
        place.copy_from_slice(head);
        (self.sum, self.head_bytes) = (sum, 0);
        true
    }

    /// The entry.
    pub fn bytes(&self) -> &[u8] {
        self.buffer.get(HEADS_BYTES..).unwrap_or_default()
    }

    /// Gives the memory away, with the entry behind room for the heads, for other memory. Returns the entry's checksum, too.
    pub(super) fn exchange(&mut self, memory: AlignedBuffer) -> (AlignedBuffer, u32) {
        let before = std::mem::replace(self, ReceivedEntry::in_memory(memory));
        (before.buffer, before.sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    /// Reads bytes as they come, at most so many at once.
    fn receive(entry: &mut ReceivedEntry, mut bytes: &[u8], most: usize) {
        entry.begin();
        while !bytes.is_empty() {
            let left = bytes.len();
            let read = |into: &mut [u8]| {
                assert!(!into.is_empty());
                let (now, rest) = bytes.split_at(into.len().min(most));
                into[..now.len()].copy_from_slice(now);
                bytes = rest;
                Ok::<usize, Infallible>(now.len())
            };
            entry.read(left, read).unwrap();
        }
    }

    #[test]
    fn an_entry_is_received_in_pieces_of_any_size_in_memory_of_the_one_before() {
        let bytes: Vec<u8> = (0..3 * PIECE_BYTES as u32 + 7).map(|n| n as u8).collect();
        let mut entry = ReceivedEntry::default();
        for (length, most) in [
            (0, 1),
            (5000, 7),
            (bytes.len(), 1000),
            (bytes.len(), usize::MAX),
        ] {
            receive(&mut entry, &bytes[..length], most);
            assert!(entry.bytes() == &bytes[..length], "{length} bytes");
        }
        let room = entry.buffer.capacity();
        assert!(room >= HEADS_BYTES + bytes.len() + TAIL_BYTES);
        receive(&mut entry, &bytes[..10], 10);
        assert_eq!(
            (entry.bytes(), entry.buffer.capacity()),
            (&bytes[..10], room)
        );
        // A reader that fails leaves what came before.
        assert_eq!(entry.read(5, |_| Err("broken")), Err("broken"));
        assert_eq!(entry.bytes(), &bytes[..10]);
        entry.clear(room);
        assert_eq!((entry.bytes(), entry.buffer.capacity()), (&[][..], room));
        entry.clear(room - 1);
        assert!(entry.buffer.capacity() < FIRST_BYTES);
    }

    #[test]
    fn a_head_that_comes_last_is_before_the_rest() {
        let mut entry = ReceivedEntry::default();
        entry.begin_behind(4);
        for piece in [&b"one"[..], b" and two"] {
            let read = |into: &mut [u8]| {
                into.copy_from_slice(piece);
                Ok::<usize, Infallible>(piece.len())
            };
            entry.read(piece.len(), read).unwrap();
            entry.came(piece.len(), crc32c::crc32c(piece));
        }
        assert_eq!(entry.received(), 11);
        assert!(!entry.put_head(b"longer head"));
        assert!(entry.put_head(b"head"));
        assert_eq!(entry.bytes(), b"headone and two");
        assert_eq!(entry.sum, crc32c::crc32c(entry.bytes()));
        entry.begin();
        assert_eq!((entry.bytes(), entry.sum), (&b""[..], 0));
        assert!(!entry.put_head(b"head"), "it comes first");
        assert_eq!((entry.bytes(), entry.sum), (&b""[..], 0));
    }

    #[test]
    fn i10_memory_grows_with_the_bytes_that_come() {
        let mut entry = ReceivedEntry::default();
        entry
            .read(64 << 20, |_| Ok::<usize, Infallible>(100))
            .unwrap();
        assert!(entry.buffer.capacity() <= 2 * FIRST_BYTES);
    }
}
