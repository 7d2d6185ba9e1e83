//! The layout of the area: the header in page 0, then the segments, then the index.
//!
//! | bytes | of page 0 |
//! | --- | --- |
//! | 0..8 | `SdxCOTre` |
//! | 8 | length of a key |
//! | 9 | levels: there are 2 to this power segments |
//! | 10..12 | length of a value |
//! | 12..14 | bytes of a segment |
//! | 14..16 | greatest number of entries in a segment |
//!
//! Numbers are little-endian. Page 0 changes only when the array doubles or halves. The segments
//! begin in page 1, so a segment keeps its place when the array grows; the index then moves.

use std::marker::PhantomData;

use crate::structures::error::{Error, damaged};
use crate::structures::key::Key;
use crate::structures::page::{PAGE_SIZE, Page, Pages, PagesMut};

/// The page with the header.
pub(super) const HEADER: usize = 0;
/// The page where the segments begin.
pub(super) const SEGMENTS: usize = 1;
/// An array never has more than 2 to this power segments.
pub(super) const MAX_LEVELS: usize = 40;
/// The size of a segment's header in bytes.
pub(super) const SEGMENT_HEADER: usize = 8;

const MAGIC: &[u8; 8] = b"SdxCOTre";
/// The least number of entries in a segment, if a page has room.
const WANTED: usize = 15;
const SMALLEST_SEGMENT: usize = 512;

/// The sizes that follow from a tree's parameters.
pub(super) struct Layout<K, const V: usize, const SEGMENT: usize>(PhantomData<K>);

impl<K: Key, const V: usize, const SEGMENT: usize> Layout<K, V, SEGMENT> {
    /// The size of an entry.
    pub(super) const ENTRY: usize = {
        assert!(K::LENGTH >= 1 && K::LENGTH <= 64, "keys have 1 to 64 bytes");
        assert!(V <= 256, "values have at most 256 bytes");
        assert!(
            SEGMENT >= 4,
            "segments of less than 4 entries leave no room for thresholds"
        );
        K::LENGTH + V
    };
    /// The size of a segment: a power of two, so that none crosses a page's border.
    pub(super) const BYTES: usize = {
        let wanted = (SEGMENT_HEADER + WANTED * Self::ENTRY).next_power_of_two();
        if wanted < SMALLEST_SEGMENT {
            SMALLEST_SEGMENT
        } else if wanted > PAGE_SIZE {
            PAGE_SIZE
        } else {
            wanted
        }
    };
    /// The most entries in a segment.
    pub(super) const CAPACITY: usize = {
        let fit = (Self::BYTES - SEGMENT_HEADER) / Self::ENTRY;
        if fit < SEGMENT { fit } else { SEGMENT }
    };
    pub(super) const PER_PAGE: usize = PAGE_SIZE / Self::BYTES;
    /// The number of separators in a page of the index.
    pub(super) const SEPARATORS_PER_PAGE: usize = PAGE_SIZE / K::LENGTH;

    /// The page where the index begins.
    #[inline(always)]
    pub(super) const fn index(levels: usize) -> usize {
        SEGMENTS + (1_usize << levels).div_ceil(Self::PER_PAGE)
    }

    /// The number of pages of an array with so many levels.
    pub(super) const fn pages(levels: usize) -> usize {
        let separators = (1_usize << levels) - 1;
        Self::index(levels) + separators.div_ceil(Self::SEPARATORS_PER_PAGE)
    }

    /// Writes the header.
    pub(super) fn write<S: PagesMut>(pages: &mut S, levels: usize) -> Result<(), Error> {
        let bytes = &mut page_mut(pages, HEADER)?.bytes;
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8] = K::LENGTH as u8;
        bytes[9] = levels as u8;
        bytes[10..12].copy_from_slice(&(V as u16).to_le_bytes());
        bytes[12..14].copy_from_slice(&(Self::BYTES as u16).to_le_bytes());
        bytes[14..16].copy_from_slice(&(Self::CAPACITY as u16).to_le_bytes());
        Ok(())
    }

    /// Reads and validates the header; returns the levels.
    pub(super) fn read<S: Pages>(pages: &S) -> Result<usize, Error> {
        let bytes = &page(pages, HEADER)?.bytes;
        if &bytes[..8] != MAGIC {
            return damaged(HEADER, "it does not begin a cache-oblivious B-tree");
        }
        let two = |at: usize| u64::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
        let parameters = [
            ("keys with a length of", u64::from(bytes[8]), K::LENGTH),
            ("values with a length of", two(10), V),
            ("a segment's bytes of", two(12), Self::BYTES),
            ("a segment's greatest count of", two(14), Self::CAPACITY),
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
        let levels = usize::from(bytes[9]);
        if levels > MAX_LEVELS || Self::pages(levels) > pages.count() {
            return damaged(
                HEADER,
                "its number of levels needs more pages than the area has",
            );
        }
        Ok(levels)
    }
}

/// A page of the area.
#[inline(always)]
pub(super) fn page<S: Pages>(pages: &S, number: usize) -> Result<&Page, Error> {
    match pages.page(number) {
        Some(page) => Ok(page),
        None => damaged(number, "it is referred to, but beyond the area"),
    }
}

/// A page of the area, to be changed.
#[inline(always)]
pub(super) fn page_mut<S: PagesMut>(pages: &mut S, number: usize) -> Result<&mut Page, Error> {
    match pages.page_mut(number) {
        Some(page) => Ok(page),
        None => damaged(number, "it is referred to, but beyond the area"),
    }
}
