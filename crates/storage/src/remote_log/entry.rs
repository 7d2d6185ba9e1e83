//! An entry of a remote log: a head of 72 bytes, then commit groups; or the head alone, which is a fence.
//!
//! The head binds the bytes to their place: database, number, epoch and writer, and the checksum of the entry before.
//! So two logs with the same entry have the same past. Bytes that no encoder made are refused with their fault. Its
//! length alone distinguishes a fence from other entries, so that a list shows it to a deleting process.
//!
//! The groups are whole ([`crate::log::group`]); their layout is in `docs/format.md`.

#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

mod building;

pub use building::EntryBuilder;

use super::RemoteLogError;
use super::position::{EntryPosition, Epoch};
use crate::log::group::GroupHeader;
use crate::log::pool::DurableGroup;
use sardonyx_base::bytes::{u32_at, u64_at};
use sardonyx_base::crc32c;
use std::borrow::Cow;
use std::sync::Arc;

/// Bytes of an entry's head; the length of a fence.
pub const ENTRY_HEAD_BYTES: usize = 72;

/// This version of entries.
pub const ENTRY_VERSION: u32 = 1;

const MAGIC: u32 = u32::from_le_bytes(*b"SdxE");

const FENCE: u32 = 0;
const GROUPS: u32 = 1;

/// An entry's head, with the lengths and checksums of the rest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EntryHead {
    /// The database's identity, from its manifest.
    pub identity: u64,
    /// Consecutive from 1.
    pub number: u64,
    /// The epoch, from 1.
    pub epoch: Epoch,
    /// The random number of the epoch's writer.
    pub writer: u64,
    /// [`EntryHead::checksum`] of the entry before; 0 of the first one.
    pub checksum_before: u32,
    /// The time of its creation, in microseconds since 1970, UTC, by its writer's clock; never before the entry before
    /// it.
    pub time: u64,
    /// Bytes of groups; 0 of a fence.
    pub payload_bytes: u64,
    /// CRC-32C of the groups.
    pub payload_checksum: u32,
    /// CRC-32C of the head, and so of the whole entry and of the past before it.
    pub checksum: u32,
}

impl EntryHead {
    /// True if an epoch begins here.
    pub fn is_fence(&self) -> bool {
        self.payload_bytes == 0
    }

    /// The place behind the entry.
    pub fn position_after(&self) -> EntryPosition {
        EntryPosition {
            next: self.number.saturating_add(1),
            epoch: self.epoch,
            writer: self.writer,
            checksum: self.checksum,
            time: self.time,
        }
    }
}

/// The faults of bytes that are no entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EntryError {
    /// Shorter than a head.
    #[error("it has {found} bytes, a head has {ENTRY_HEAD_BYTES}")]
    Short {
        /// Its bytes.
        found: usize,
    },
    /// It begins otherwise.
    #[error("it does not begin as an entry does, with SdxE")]
    Magic,
    /// The head's checksum is another one.
    #[error("its head's checksum is {found:08x}, it records {expected:08x}")]
    Head {
        /// The checksum in it.
        expected: u32,
        /// The checksum of its bytes.
        found: u32,
    },
    /// The version is another.
    #[error("it has version {found}, this program knows {ENTRY_VERSION}; use a newer program")]
    Version {
        /// Its version.
        found: u32,
    },
    /// A field cannot be so.
    #[error("its {field} cannot be {found}")]
    Field {
        /// The name in the format.
        field: &'static str,
        /// Its value.
        found: u64,
    },
    /// The length differs from the recorded one.
    #[error("it has {found} bytes behind its head, and records {expected}")]
    Length {
        /// The length in it.
        expected: u64,
        /// Its length.
        found: u64,
    },
    /// The groups' checksum is another one.
    #[error("its groups' checksum is {found:08x}, it records {expected:08x}")]
    Payload {
        /// The checksum in it.
        expected: u32,
        /// The checksum of its bytes.
        found: u32,
    },
}

/// An entry with its bytes.
#[derive(Clone, Debug)]
pub struct Entry {
    head: EntryHead,
    /// The head, and the groups that were copied or read.
    bytes: Vec<u8>,
    /// The other groups, behind these, where they are.
    shared: Vec<Arc<DurableGroup>>,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.head == other.head && self.is(&other.bytes())
    }
}

impl Eq for Entry {}

impl Entry {
    /// The fence with which this epoch begins at this place, made at this time.
    pub fn fence(identity: u64, at: EntryPosition, epoch: Epoch, writer: u64, time: u64) -> Entry {
        let after = EntryPosition {
            epoch,
            writer,
            ..at
        };
        EntryBuilder::new().sealed(identity, after, time)
    }

    /// The entry read, if an encoder made it.
    ///
    /// # Errors
    /// The fault.
    #[inline]
    pub fn decode(bytes: Vec<u8>) -> Result<Entry, EntryError> {
        let head = decode_head(&bytes)?;
        let payload = bytes.get(ENTRY_HEAD_BYTES..).unwrap_or_default();
        if payload.len() as u64 != head.payload_bytes {
            return Err(EntryError::Length {
                expected: head.payload_bytes,
                found: payload.len() as u64,
            });
        }
        let found = crc32c::crc32c(payload);
        match found == head.payload_checksum {
            true => Ok(Entry {
                head,
                bytes,
                shared: Vec::new(),
            }),
            false => Err(EntryError::Payload {
                expected: head.payload_checksum,
                found,
            }),
        }
    }

    /// True if these bytes begin as those of an entry do, whole or damaged.
    pub fn begins(bytes: &[u8]) -> bool {
        bytes.starts_with(&MAGIC.to_le_bytes())
    }

    /// Position and checksums of the entry.
    pub fn head(&self) -> &EntryHead {
        &self.head
    }

    /// Head and groups: the bytes in the store.
    pub fn bytes(&self) -> Cow<'_, [u8]> {
        match self.shared.is_empty() {
            true => Cow::Borrowed(&self.bytes),
            false => Cow::Owned(self.parts().concat()),
        }
    }

    /// The same in several parts, in order.
    pub fn parts(&self) -> Vec<&[u8]> {
        let shared = self.shared.iter().map(|group| group.bytes());
        std::iter::once(&self.bytes[..]).chain(shared).collect()
    }

    /// The number of these bytes.
    pub fn length(&self) -> usize {
        ENTRY_HEAD_BYTES + self.head.payload_bytes as usize
    }

    /// CRC-32C of these bytes, of which only the head is read.
    pub fn sum(&self) -> u32 {
        let head = self.bytes.get(..ENTRY_HEAD_BYTES).unwrap_or_default();
        let EntryHead {
            payload_checksum,
            payload_bytes,
            ..
        } = self.head;
        crc32c::crc32c_joined(
            crc32c::crc32c(head),
            payload_checksum,
            payload_bytes as usize,
        )
    }

    /// The same without these groups, if it begins with them and they are where they were; then nothing is copied.
    pub fn parts_behind(&self, groups: &[Arc<DurableGroup>]) -> Option<Vec<&[u8]>> {
        let (first, rest) = self.shared.split_at_checked(groups.len())?;
        let are_first = first
            .iter()
            .zip(groups)
            .all(|(one, other)| Arc::ptr_eq(one, other));
        let head =
            Some(&self.bytes[..]).filter(|head| head.len() == ENTRY_HEAD_BYTES && are_first)?;
        let rest = rest.iter().map(|group| group.bytes());
        Some(std::iter::once(head).chain(rest).collect())
    }

    /// True if these are its bytes.
    pub fn is(&self, bytes: &[u8]) -> bool {
        let mut left = bytes;
        let is_next = |part: &[u8]| {
            let rest = left.strip_prefix(part);
            left = rest.unwrap_or_default();
            rest.is_some()
        };
        self.parts().into_iter().all(is_next) && left.is_empty()
    }

    /// The groups of an entry that was read.
    pub fn payload(&self) -> &[u8] {
        self.bytes.get(ENTRY_HEAD_BYTES..).unwrap_or_default()
    }

    /// The groups of an entry that was read, one by one: each with its header, in the form on disk. Its records are not
    /// checked.
    ///
    /// # Errors
    /// [`RemoteLogError::Groups`], and then nothing more.
    pub fn groups(&self) -> impl Iterator<Item = Result<(GroupHeader, &[u8]), RemoteLogError>> {
        let (number, payload) = (self.head.number, self.payload());
        let mut offset = 0;
        std::iter::from_fn(move || {
            let rest = payload.get(offset..).filter(|rest| !rest.is_empty())?;
            let group = GroupHeader::decode(rest)
                .and_then(|header| Some((header, rest.get(..header.bytes_on_disk())?)));
            let Some((header, bytes)) = group else {
                let error = RemoteLogError::Groups { number, offset };
                offset = payload.len();
                return Some(Err(error));
            };
            offset += bytes.len();
            Some(Ok((header, bytes)))
        })
    }
}

/// Writes a head, and returns its checksum.
fn encode_head(head: &EntryHead, into: &mut [u8; ENTRY_HEAD_BYTES]) -> u32 {
    let kind = if head.is_fence() { FENCE } else { GROUPS };
    let mut words = into.chunks_exact_mut(8);
    let mut put = |word: u64| {
        if let Some(into) = words.next() {
            into.copy_from_slice(&word.to_le_bytes());
        }
    };
    put(u64::from(MAGIC));
    put(u64::from(ENTRY_VERSION) | u64::from(kind) << 32);
    put(head.identity);
    put(head.number);
    put(head.epoch.0);
    put(head.writer);
    put(head.payload_bytes);
    put(u64::from(head.checksum_before) | u64::from(head.payload_checksum) << 32);
    put(head.time);
    let checksum = crc32c::crc32c(into);
    let [_, _, _, _, a, b, c, d, ..] = into;
    [*a, *b, *c, *d] = checksum.to_le_bytes();
    checksum
}

/// The head of an entry that was read, or of its first [`ENTRY_HEAD_BYTES`].
///
/// # Errors
/// The fault.
#[inline]
pub fn decode_head(bytes: &[u8]) -> Result<EntryHead, EntryError> {
    let found = bytes.len();
    let bytes: &[u8; ENTRY_HEAD_BYTES] = bytes.first_chunk().ok_or(EntryError::Short { found })?;
    if u32_at::<0, _>(bytes) != MAGIC {
        return Err(EntryError::Magic);
    }
    let expected = u32_at::<4, _>(bytes);
    let mut unsigned = *bytes;
    let [_, _, _, _, a, b, c, d, ..] = &mut unsigned;
    [*a, *b, *c, *d] = [0; 4];
    let found = crc32c::crc32c(&unsigned);
    if found != expected {
        return Err(EntryError::Head { expected, found });
    }
    let version = u32_at::<8, _>(bytes);
    if version != ENTRY_VERSION {
        return Err(EntryError::Version { found: version });
    }
    let head = EntryHead {
        identity: u64_at::<16, _>(bytes),
        number: u64_at::<24, _>(bytes),
        epoch: Epoch(u64_at::<32, _>(bytes)),
        writer: u64_at::<40, _>(bytes),
        payload_bytes: u64_at::<48, _>(bytes),
        checksum_before: u32_at::<56, _>(bytes),
        payload_checksum: u32_at::<60, _>(bytes),
        time: u64_at::<64, _>(bytes),
        checksum: expected,
    };
    let kind = u32_at::<12, _>(bytes);
    let field = |field, found| Err(EntryError::Field { field, found });
    match () {
        () if kind != if head.is_fence() { FENCE } else { GROUPS } => field("kind", kind.into()),
        () if head.number == 0 => field("number", 0),
        () if head.epoch.0 == 0 => field("epoch", 0),
        () => Ok(head),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry(identity: u64, at: EntryPosition, payload: &[u8]) -> Entry {
        let mut builder = EntryBuilder::new();
        builder.push(payload);
        match builder.is_empty() {
            true => Entry::fence(identity, at, at.epoch, at.writer, 0),
            false => builder.seal(identity, at, 0).unwrap(),
        }
    }

    prop_compose! {
        fn position()(next in 1u64.., epoch in 1u64.., writer: u64, checksum: u32, time: u64) -> EntryPosition {
            EntryPosition { next, epoch: Epoch(epoch), writer, checksum, time }
        }
    }

    proptest! {
        #[test]
        fn an_entry_reads_back_and_any_flipped_bit_is_noticed(
            identity: u64,
            at in position(),
            payload in proptest::collection::vec(any::<u8>(), 0..200),
            flipped: prop::sample::Index,
        ) {
            let entry = entry(identity, at, &payload);
            prop_assert_eq!(&Entry::decode(entry.bytes().to_vec()), &Ok(entry.clone()));
            prop_assert_eq!(entry.payload(), &payload);
            prop_assert_eq!((entry.length(), entry.sum()), (entry.bytes().len(), crc32c::crc32c(&entry.bytes())));
            prop_assert_eq!(entry.head().is_fence(), payload.is_empty());
            let mut bytes = entry.bytes().to_vec();
            let bit = flipped.index(bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(Entry::decode(bytes).is_err(), "bit {}", bit);
            for length in [0, 71, entry.bytes().len() - 1] {
                prop_assert!(Entry::decode(entry.bytes()[..length].to_vec()).is_err());
            }
            let longer = [&entry.bytes()[..], &[0]].concat();
            prop_assert!(Entry::decode(longer).is_err());
        }

        /// With a right checksum over any bytes: a decoded entry is one that an encoder makes.
        #[test]
        fn what_is_decoded_is_encoded_the_same(mut bytes in proptest::collection::vec(any::<u8>(), 72..88), plausible: bool) {
            bytes[..4].copy_from_slice(b"SdxE");
            if plausible {
                let (payload, head) = ((bytes.len() - 72) as u64, &mut bytes);
                head[8..16].copy_from_slice(&(1 | u64::from(payload > 0) << 32).to_le_bytes());
                head[48..56].copy_from_slice(&payload.to_le_bytes());
                let checksum = crc32c::crc32c(&head[72..]);
                head[60..64].copy_from_slice(&checksum.to_le_bytes());
            }
            bytes[4..8].fill(0);
            let checksum = crc32c::crc32c(&bytes[..72]);
            bytes[4..8].copy_from_slice(&checksum.to_le_bytes());
            let decoded = Entry::decode(bytes.clone());
            prop_assert_eq!(decoded.is_ok(), plausible);
            if let Ok(decoded) = decoded {
                let head = decoded.head();
                let at = EntryPosition {
                    next: head.number, epoch: head.epoch, writer: head.writer, checksum: head.checksum_before,
                    time: head.time,
                };
                let again = entry(head.identity, at, decoded.payload());
                prop_assert_eq!(again.bytes().into_owned(), bytes);
            }
        }
    }

    #[test]
    fn each_thing_that_no_encoder_writes_is_named() {
        let at = EntryPosition {
            next: 7,
            epoch: Epoch(2),
            writer: 5,
            checksum: 1,
            time: 3,
        };
        let whole = entry(9, at, b"groups");
        let with = |at: usize, byte: u8| {
            let mut bytes = whole.bytes().to_vec();
            bytes[at] = byte;
            bytes[4..8].fill(0);
            let checksum = crc32c::crc32c(&bytes[..72]);
            bytes[4..8].copy_from_slice(&checksum.to_le_bytes());
            Entry::decode(bytes).unwrap_err()
        };
        assert_eq!(with(0, 0), EntryError::Magic);
        assert_eq!(with(8, 2), EntryError::Version { found: 2 });
        let field = |field, found| EntryError::Field { field, found };
        assert_eq!(with(12, 0), field("kind", 0));
        assert_eq!(with(12, 2), field("kind", 2));
        assert_eq!(with(24, 0), field("number", 0));
        assert_eq!(with(32, 0), field("epoch", 0));
        let [expected, found] = [5, 6];
        assert_eq!(with(48, 5), EntryError::Length { expected, found });
        assert!(matches!(with(72, b'G'), EntryError::Payload { .. }));
        assert!(EntryBuilder::new().seal(9, at, 0).is_none());
        assert_eq!((whole.head().time, entry(9, at, b"").head().time), (3, 3));
        assert_eq!(Entry::fence(9, at, Epoch(3), 5, 8).head().time, 8);
    }
}
