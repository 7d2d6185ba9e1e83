//! The boundary: the beginning of a log, whose earlier entries may be deleted.
//!
//! One object, exchanged by compare-and-swap. It carries the whole position, so that an entry before it is
//! distinguished from one that was created there later. It also has a counter and its writer, so that two states never
//! have the same bytes, for stores that compare contents (A-B-A).

#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use super::position::{EntryPosition, Epoch};
use sardonyx_base::bytes::{u32_at, u64_at};
use sardonyx_base::crc32c;

/// Bytes of a boundary.
pub const BOUNDARY_BYTES: usize = 72;

/// This version of boundaries.
pub const BOUNDARY_VERSION: u32 = 1;

const MAGIC: u32 = u32::from_le_bytes(*b"SdxF");

/// The beginning of a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Boundary {
    /// The database's identity.
    pub identity: u64,
    /// The number of exchanges; 0: never, and the store has none.
    pub counter: u64,
    /// Entries before it may be deleted.
    pub position: EntryPosition,
    /// A random number of its writer.
    pub by: u64,
}

/// The faults of bytes that are no boundary.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BoundaryError {
    /// The length, the beginning or the checksum is wrong.
    #[error("its {found} bytes are no boundary: length, beginning or checksum are wrong")]
    Bytes {
        /// Its bytes.
        found: usize,
    },
    /// The version is another.
    #[error("it has version {found}, this program knows {BOUNDARY_VERSION}; use a newer program")]
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
}

impl Boundary {
    /// The boundary of a log from which nothing was deleted.
    pub fn none(identity: u64) -> Boundary {
        Boundary {
            identity,
            counter: 0,
            position: EntryPosition::START,
            by: 0,
        }
    }

    /// True if an entry after which the log is here may be part of the log: it is not before the boundary, or it is the
    /// very one to which the boundary goes.
    pub fn admits(&self, after: EntryPosition) -> bool {
        after.next > self.position.next || after == self.position
    }

    /// Its bytes.
    #[inline]
    pub fn encode(&self) -> [u8; BOUNDARY_BYTES] {
        let mut bytes = [0; BOUNDARY_BYTES];
        let position = self.position;
        let words = [
            u64::from(MAGIC),
            u64::from(BOUNDARY_VERSION) | u64::from(position.checksum) << 32,
            self.identity,
            self.counter,
            position.next,
            position.epoch.0,
            position.writer,
            self.by,
            position.time,
        ];
        for (into, word) in bytes.chunks_exact_mut(8).zip(words) {
            into.copy_from_slice(&word.to_le_bytes());
        }
        let checksum = crc32c::crc32c(&bytes);
        let [_, _, _, _, a, b, c, d, ..] = &mut bytes;
        [*a, *b, *c, *d] = checksum.to_le_bytes();
        bytes
    }

    /// The boundary read, if an encoder made it.
    ///
    /// # Errors
    /// The fault.
    #[inline]
    pub fn decode(bytes: &[u8]) -> Result<Boundary, BoundaryError> {
        let found = bytes.len();
        let wrong = BoundaryError::Bytes { found };
        let bytes: &[u8; BOUNDARY_BYTES] = bytes.try_into().map_err(|_| wrong)?;
        let mut unsigned = *bytes;
        let [_, _, _, _, a, b, c, d, ..] = &mut unsigned;
        [*a, *b, *c, *d] = [0; 4];
        let checksum = crc32c::crc32c(&unsigned);
        if u32_at::<0, _>(bytes) != MAGIC || u32_at::<4, _>(bytes) != checksum {
            return Err(wrong);
        }
        let found = u32_at::<8, _>(bytes);
        if found != BOUNDARY_VERSION {
            return Err(BoundaryError::Version { found });
        }
        let boundary = Boundary {
            identity: u64_at::<16, _>(bytes),
            counter: u64_at::<24, _>(bytes),
            position: EntryPosition {
                next: u64_at::<32, _>(bytes),
                epoch: Epoch(u64_at::<40, _>(bytes)),
                writer: u64_at::<48, _>(bytes),
                checksum: u32_at::<12, _>(bytes),
                time: u64_at::<64, _>(bytes),
            },
            by: u64_at::<56, _>(bytes),
        };
        let field = |field, found| Err(BoundaryError::Field { field, found });
        match boundary {
            Boundary { counter: 0, .. } => field("counter", 0),
            // It is written to move on, so something is before it.
            _ if boundary.position.next < 2 => field("first number", boundary.position.next),
            _ if boundary.position.epoch.0 == 0 => field("epoch", 0),
            _ => Ok(boundary),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_boundary_reads_back_and_any_flipped_bit_is_noticed(
            identity: u64, counter in 1u64.., by: u64, next in 2u64.., epoch in 1u64.., writer: u64, checksum: u32, time: u64,
        ) {
            let position = EntryPosition { next, epoch: Epoch(epoch), writer, checksum, time };
            let boundary = Boundary { identity, counter, position, by };
            let bytes = boundary.encode();
            prop_assert_eq!(Boundary::decode(&bytes), Ok(boundary));
            for bit in 0..BOUNDARY_BYTES * 8 {
                let mut bytes = bytes;
                bytes[bit / 8] ^= 1 << (bit % 8);
                prop_assert!(Boundary::decode(&bytes).is_err(), "bit {}", bit);
            }
            prop_assert!(Boundary::decode(&bytes[..71]).is_err());
        }
    }

    #[test]
    fn what_no_encoder_writes_is_refused() {
        assert!(Boundary::decode(&Boundary::none(1).encode()).is_err());
        let position = EntryPosition {
            next: 2,
            ..EntryPosition::START
        };
        let boundary = |counter, position| Boundary {
            counter,
            position,
            ..Boundary::none(1)
        };
        let refused = |boundary: Boundary| Boundary::decode(&boundary.encode()).unwrap_err();
        let field = |field, found| BoundaryError::Field { field, found };
        assert_eq!(refused(boundary(1, position)), field("epoch", 0));
        assert_eq!(
            refused(boundary(1, EntryPosition::START)),
            field("first number", 1)
        );
        let mut newer = boundary(1, position).encode();
        newer[8] = 2;
        newer[4..8].fill(0);
        let checksum = crc32c::crc32c(&newer);
        newer[4..8].copy_from_slice(&checksum.to_le_bytes());
        assert_eq!(
            Boundary::decode(&newer),
            Err(BoundaryError::Version { found: 2 })
        );
    }
}
