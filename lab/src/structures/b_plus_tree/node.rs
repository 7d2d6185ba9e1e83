//! The shape of the nodes: sizes that follow from the key, the value and the fan-out, and the
//! header that every node begins with.
//!
//! | bytes | of a node |
//! | --- | --- |
//! | 0..4 | `SdxB` |
//! | 4 | level: 0 in a leaf |
//! | 5 | length of a key |
//! | 6..8 | length of a value |
//! | 8..10 | greatest number of entries in a leaf |
//! | 10..12 | greatest number of keys in an inner node |
//! | 12..14 | 0 |
//! | 14..16 | count: entries of a leaf, keys of an inner node |
//!
//! Numbers are little-endian. The first eight bytes without the level are the same in all nodes of one tree, so one
//! comparison recognises a node.

use std::marker::PhantomData;

use crate::structures::error::{Error, damaged};
use crate::structures::key::Key;
use crate::structures::page::PAGE_SIZE;

/// The bytes of a page.
pub(super) type Bytes = [u8; PAGE_SIZE];

/// The size of a node's header in bytes.
pub(super) const HEADER: usize = 16;
/// A tree never has more levels: each doubles the leaves, and pages are numbered in 32 bits.
pub(super) const MAX_LEVELS: usize = 32;

const MAGIC: u32 = u32::from_le_bytes(*b"SdxB");
const LEVEL: usize = 4;
const COUNT: usize = 14;
const LEVEL_BITS: u64 = 0xFF << 32;

/// The sizes that follow from a tree's parameters.
pub(super) struct Shape<K, const V: usize, const FAN_OUT: usize>(PhantomData<K>);

impl<K: Key, const V: usize, const FAN_OUT: usize> Shape<K, V, FAN_OUT> {
    /// The size of an entry in a leaf.
    pub(super) const ENTRY: usize = K::LENGTH + V;
    /// The most entries in a leaf. The order of the entries is an array of bytes, so 255 at most.
    pub(super) const LEAF: usize = {
        assert!(K::LENGTH >= 1 && K::LENGTH <= 64, "keys have 1 to 64 bytes");
        assert!(V <= 256, "values have at most 256 bytes");
        assert!(FAN_OUT >= 4, "a fan-out below 4 leaves nothing to split");
        let mut fit = (PAGE_SIZE - HEADER) / (Self::ENTRY + 1);
        while Self::entries_after(fit) + fit * Self::ENTRY > PAGE_SIZE {
            fit -= 1;
        }
        smaller(smaller(fit, FAN_OUT), 255)
    };
    /// The place of a leaf's entries, after the header and their order.
    pub(super) const ENTRIES: usize = Self::entries_after(Self::LEAF);
    /// The most keys in an inner node.
    pub(super) const INNER: usize = smaller((PAGE_SIZE - HEADER - 4) / (K::LENGTH + 4), FAN_OUT);
    /// The place of the numbers of an inner node's children, after the header and the keys.
    pub(super) const CHILDREN: usize = HEADER + Self::INNER * K::LENGTH;

    /// The first eight bytes of each node, where the level is 0.
    const SIGNATURE: u64 = MAGIC as u64 | (K::LENGTH as u64) << 40 | (V as u64) << 48;

    const fn entries_after(order: usize) -> usize {
        (HEADER + order).next_multiple_of(8)
    }

    /// Begins a node: writes its header, with a count of 0.
    pub(super) fn begin(bytes: &mut Bytes, level: usize) {
        let signature = Self::SIGNATURE | (level as u64) << 32;
        bytes[..8].copy_from_slice(&signature.to_le_bytes());
        bytes[8..10].copy_from_slice(&(Self::LEAF as u16).to_le_bytes());
        bytes[10..12].copy_from_slice(&(Self::INNER as u16).to_le_bytes());
        bytes[12..16].fill(0);
    }

    /// Reads and validates a node's header.
    #[inline(always)]
    pub(super) fn header(bytes: &Bytes, page: usize) -> Result<Header, Error> {
        let signature = number::<8>(bytes, 0);
        if signature & !LEVEL_BITS != Self::SIGNATURE {
            return damaged(page, "it is no node of this tree");
        }
        let header = Header {
            level: bytes[LEVEL] as usize,
            count: count(bytes),
        };
        let most = if header.level == 0 {
            Self::LEAF
        } else {
            Self::INNER
        };
        if header.count > most {
            return damaged(page, "its count of entries is beyond what a node holds");
        }
        if header.level >= MAX_LEVELS {
            return damaged(page, "its level is beyond the greatest");
        }
        Ok(header)
    }

    /// Compares the parameters in a node's header with the program's.
    pub(super) fn compare(bytes: &Bytes, page: usize) -> Result<(), Error> {
        if number::<4>(bytes, 0) != u64::from(MAGIC) {
            return damaged(page, "it is no node of a B+-tree");
        }
        let parameters = [
            ("keys with a length of", number::<1>(bytes, 5), K::LENGTH),
            ("values with a length of", number::<2>(bytes, 6), V),
            (
                "a leaf's greatest count of",
                number::<2>(bytes, 8),
                Self::LEAF,
            ),
            (
                "an inner node's greatest count of",
                number::<2>(bytes, 10),
                Self::INNER,
            ),
        ];
        for (what, found, declared) in parameters {
            if found != declared as u64 {
                return Err(Error::LayoutDiffers {
                    what,
                    found,
                    declared: declared as u64,
                });
            }
        }
        Ok(())
    }
}

/// The contents of a valid header.
#[derive(Clone, Copy)]
pub(super) struct Header {
    pub(super) level: usize,
    pub(super) count: usize,
}

#[inline(always)]
pub(super) fn count(bytes: &Bytes) -> usize {
    usize::from(u16::from_le_bytes([bytes[COUNT], bytes[COUNT + 1]]))
}

#[inline(always)]
pub(super) fn set_count(bytes: &mut Bytes, count: usize) {
    bytes[COUNT..COUNT + 2].copy_from_slice(&(count as u16).to_le_bytes());
}

/// A little-endian number of `SIZE` bytes.
#[inline(always)]
pub(super) fn number<const SIZE: usize>(bytes: &Bytes, at: usize) -> u64 {
    let mut wide = [0; 8];
    wide[..SIZE].copy_from_slice(&bytes[at..at + SIZE]);
    u64::from_le_bytes(wide)
}

const fn smaller(a: usize, b: usize) -> usize {
    if a < b { a } else { b }
}
