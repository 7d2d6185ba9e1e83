//! The 24 bits of a key's hash that an entry has beside its address, and which they are.
//!
//! While an index is small, they are those by which keys get their places: the lower bits, of the largest shard that is split,
//! and the upper ones, which choose a shard. So shards are made anew from their entries alone. To hash their keys again means
//! to read all their rows: that was a sixth of the time of inserting into a table that grows. Of an index with many shards,
//! these bits distinguish the keys of one place too little: there they are bits from the middle of the hash, and rows are read.

use super::{ADDRESS_BITS, SHARD_PLACES_MAX};

/// Bits of a tag.
const TAG_BITS: u32 = u64::BITS - ADDRESS_BITS;
const TAG_MASK: u64 = (1 << TAG_BITS) - 1;
/// The lower bits of a hash in a tag of its ends, and the upper ones.
const LOWER_BITS: u32 = SHARD_PLACES_MAX.trailing_zeros();
const UPPER_BITS: u32 = TAG_BITS - LOWER_BITS;
/// The depth of the deepest shard with tags of the hashes' ends. The bits that no shard and no place has in common are four
/// there, so that one lookup of a few dozen looks at a row of another key.
const ENDS_DEPTH_MAX: u32 = 5;

const _: () = assert!(ENDS_DEPTH_MAX < UPPER_BITS);

/// Which bits of hashes are the tags of a shard: the number of bits by which a hash is rotated so that these are the lower ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Tags(u32);

impl Tags {
    /// Bits in the middle of the hash.
    pub const MIDDLE: Tags = Tags(44);
    /// The lower bits, and behind them the upper ones.
    pub const ENDS: Tags = Tags(UPPER_BITS);

    pub const ALL: [Tags; 2] = [Tags::MIDDLE, Tags::ENDS];

    /// The tags of a new shard with so many places, whose keys share the first `depth` bits.
    #[inline]
    pub fn of(places: usize, depth: u32) -> Tags {
        match places <= SHARD_PLACES_MAX && depth <= ENDS_DEPTH_MAX {
            true => Tags::ENDS,
            false => Tags::MIDDLE,
        }
    }

    /// True if they tell the places of such a shard, or nothing of places.
    pub fn can_be_of(self, places: usize, depth: u32) -> bool {
        self == Tags::MIDDLE || self == Tags::of(places, depth)
    }

    /// As a number; see [`Tags::numbered`].
    pub fn number(self) -> u64 {
        u64::from(self != Tags::MIDDLE)
    }

    /// The tags with a number.
    pub fn numbered(number: u64) -> Option<Tags> {
        match number {
            0 => Some(Tags::MIDDLE),
            1 => Some(Tags::ENDS),
            _ => None,
        }
    }

    /// The tag of a hash; never zero, so that an entry is never zero.
    #[inline]
    pub fn tag(self, hash: u64) -> u64 {
        (hash.rotate_left(self.0) & TAG_MASK).max(1)
    }

    /// A hash that has the same place and the same tag as that of an entry's key, in the shard of the entry and in those that
    /// are made of it with these tags. `None` if only the row tells.
    #[inline]
    pub fn hash(self, entry: u64, new: Tags) -> Option<u64> {
        let tag = entry >> ADDRESS_BITS;
        // A 1 may have been a 0.
        let is_known = self == Tags::ENDS && new == Tags::ENDS && tag != 1;
        is_known.then(|| tag.rotate_right(UPPER_BITS))
    }

    /// True if [`Tags::hash`] is not known of entries.
    #[inline]
    pub fn needs_rows(self, new: Tags) -> bool {
        self != Tags::ENDS || new != Tags::ENDS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::KeyHash;
    use crate::index::prefix;

    #[test]
    fn tags_of_the_ends_have_the_places_of_their_hashes() {
        let hash = KeyHash::from_seed(1);
        for number in 0..10_000_u64 {
            let hash = hash.of(&number.to_le_bytes());
            let entry = Tags::ENDS.tag(hash) << ADDRESS_BITS | number;
            let known = Tags::ENDS.hash(entry, Tags::ENDS).expect("it is known");
            let mask = SHARD_PLACES_MAX - 1;
            assert_eq!(known as usize & mask, hash as usize & mask);
            assert_eq!(Tags::ENDS.tag(known), Tags::ENDS.tag(hash));
            for depth in 0..=ENDS_DEPTH_MAX + 1 {
                assert_eq!(prefix(known, depth), prefix(hash, depth), "{depth}");
            }
            assert_eq!(Tags::MIDDLE.tag(hash), (hash >> 20 & 0xff_ffff).max(1));
            assert_eq!(Tags::ENDS.hash(entry, Tags::MIDDLE), None);
            assert_eq!(Tags::MIDDLE.hash(entry, Tags::ENDS), None);
        }
        for hash in [0, 1] {
            let entry = Tags::ENDS.tag(hash << LOWER_BITS) << ADDRESS_BITS;
            assert_ne!(entry, 0);
        }
        assert_eq!(Tags::ENDS.hash(1 << ADDRESS_BITS, Tags::ENDS), None);
    }
}
