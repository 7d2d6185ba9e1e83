//! An entry on its way to a store: groups are added, then its head is written.
//!
//! A group of the log here is shared if the store takes entries in parts, and otherwise copied into the memory of the last entry.
//! One that is shared is not copied, and not summed once more: its header has the checksum of its records. So an entry of megabytes
//! costs its owner neither memory nor a pass over its bytes. It keeps the groups' buffers as long as it is under way, and so do the
//! groups themselves, which are not durable before the store has the entry.

use super::{ENTRY_HEAD_BYTES, Entry, EntryHead, encode_head};
use crate::log::pool::DurableGroup;
use crate::remote_log::position::EntryPosition;
use sardonyx_base::crc32c;
use std::sync::Arc;

/// Memory of an entry that is kept for the next one: that of the largest entry with several groups
/// ([`record_bytes`](crate::remote_log::copy::record_bytes)).
#[cfg(feature = "hosts")]
const BYTES_KEPT: usize = 16 << 20;

/// Bytes that are summed and copied at once.
const SUMMED_BYTES: usize = 64 << 10;

/// An entry that is being filled with groups. It keeps its memory.
#[derive(Debug)]
pub struct EntryBuilder {
    /// Room for the head, and the groups that are copied.
    bytes: Vec<u8>,
    /// The groups behind these, where they are.
    shared: Vec<Arc<DurableGroup>>,
    /// Bytes of groups so far.
    payload_bytes: u64,
    /// CRC-32C of the groups so far.
    checksum: u32,
}

impl Default for EntryBuilder {
    fn default() -> Self {
        EntryBuilder::in_memory(vec![0; ENTRY_HEAD_BYTES])
    }
}

impl EntryBuilder {
    /// Without groups.
    pub fn new() -> Self {
        Self::default()
    }

    fn in_memory(bytes: Vec<u8>) -> Self {
        EntryBuilder {
            bytes,
            shared: Vec::new(),
            payload_bytes: 0,
            checksum: 0,
        }
    }

    /// Without groups, in the memory of an entry that is needed no longer.
    #[cfg(feature = "hosts")]
    pub(in crate::remote_log) fn in_place_of(entry: Entry) -> Self {
        let mut bytes = entry.bytes;
        bytes.clear();
        bytes.shrink_to(BYTES_KEPT);
        bytes.resize(ENTRY_HEAD_BYTES, 0);
        EntryBuilder::in_memory(bytes)
    }

    /// Appends a copy of a group. Each piece is summed while the processor still has it.
    pub fn push(&mut self, group: &[u8]) {
        // Behind those that were shared before.
        for shared in std::mem::take(&mut self.shared) {
            self.bytes.extend_from_slice(shared.bytes());
        }
        self.bytes.reserve(group.len());
        for piece in group.chunks(SUMMED_BYTES) {
            self.checksum = crc32c::crc32c_append(self.checksum, piece);
            self.bytes.extend_from_slice(piece);
        }
        self.payload_bytes += group.len() as u64;
    }

    /// Appends a group that stays where it is.
    pub fn push_shared(&mut self, group: Arc<DurableGroup>) {
        let bytes = group.bytes().len();
        self.checksum = crc32c::crc32c_joined(self.checksum, group.sum(), bytes);
        self.payload_bytes += bytes as u64;
        self.shared.push(group);
    }

    /// Its bytes as an entry, with the head.
    pub fn bytes(&self) -> u64 {
        ENTRY_HEAD_BYTES as u64 + self.payload_bytes
    }

    /// True if it has no group.
    pub fn is_empty(&self) -> bool {
        self.payload_bytes == 0
    }

    /// The entry at this place, by this place's writer, made at this time. `None` if it is empty: that would be a fence.
    pub fn seal(self, identity: u64, at: EntryPosition, time: u64) -> Option<Entry> {
        (!self.is_empty()).then(|| self.sealed(identity, at, time))
    }

    /// The same; a fence if it is empty.
    #[inline]
    pub(super) fn sealed(mut self, identity: u64, at: EntryPosition, time: u64) -> Entry {
        let mut head = EntryHead {
            identity,
            number: at.next,
            epoch: at.epoch,
            writer: at.writer,
            checksum_before: at.checksum,
            time: time.max(at.time),
            payload_bytes: self.payload_bytes,
            payload_checksum: self.checksum,
            checksum: 0,
        };
        if let Some(into) = self.bytes.first_chunk_mut() {
            head.checksum = encode_head(&head, into);
        }
        Entry {
            head,
            bytes: self.bytes,
            shared: self.shared,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::pool::BufferPool;
    use crate::log::seal::{GroupBuilder, Sequencer};
    use crate::log::{LogLayout, LogPosition};
    use crate::page::{Address, PAGE_SIZE};
    use crate::remote_log::position::Epoch;

    /// Finished groups with records of so many bytes.
    fn groups(lengths: &[usize]) -> Vec<Arc<DurableGroup>> {
        let pool = Arc::new(BufferPool::new(4096, None, || ()));
        let layout = LogLayout::new(7, 1 << 20);
        let mut sequencer = Sequencer::new(layout, 1, LogPosition::START);
        let mut group = |length: &usize| {
            let mut builder = GroupBuilder::from_buffer(pool.take());
            for at in 0..*length / 100 {
                builder.push_write(Address(3 * PAGE_SIZE as u64), &[at as u8; 92]);
                builder.end_transaction();
            }
            let mut sealed = sequencer.seal(builder);
            sealed.finish(0);
            Arc::new(DurableGroup::new(sealed, pool.clone()))
        };
        lengths.iter().map(&mut group).collect()
    }

    #[test]
    fn groups_that_are_shared_make_the_entry_that_their_copies_make() {
        let groups = groups(&[100, 0, 5000, 300_000, 4000]);
        // Each group is copied, or shared: in every combination.
        for choice in 0..1u32 << groups.len() {
            let (mut copied, mut mixed) = (EntryBuilder::new(), EntryBuilder::new());
            for (at, group) in groups.iter().enumerate() {
                copied.push(group.bytes());
                match choice >> at & 1 {
                    0 => mixed.push(group.bytes()),
                    _ => mixed.push_shared(group.clone()),
                }
            }
            assert_eq!(copied.bytes(), mixed.bytes());
            let at = EntryPosition {
                epoch: Epoch(1),
                ..EntryPosition::START
            };
            let [copied, mixed] = [copied, mixed].map(|entry| entry.seal(7, at, 1).unwrap());
            let bytes = copied.bytes().into_owned();
            assert!(mixed == copied && mixed.is(&bytes) && *mixed.bytes() == bytes);
            assert_eq!(mixed.sum(), crc32c::crc32c(&bytes));
            assert!(!mixed.is(&bytes[1..]) && !mixed.is(&bytes[..bytes.len() - 1]));
            assert!(!mixed.is(&[&bytes[..], &[0]].concat()));
            let behind = mixed.parts_behind(&groups[..2]);
            let are_shared = choice & 3 == 3 && choice == (1 << groups.len()) - 1;
            assert_eq!(behind.is_some(), are_shared, "{choice:b}");
            if let Some(behind) = behind {
                let first: Vec<u8> = groups[..2]
                    .iter()
                    .flat_map(|group| group.bytes())
                    .copied()
                    .collect();
                let (head, rest) = behind.split_first().unwrap();
                assert!([head, &first[..], &rest.concat()].concat() == bytes);
            }
            assert!(mixed.parts_behind(&groups[1..]).is_none());
            assert_eq!(Entry::decode(bytes).unwrap(), copied);
        }
    }
}
