//! A segment of the packed-memory array: a few sorted entries, and free room after them.
//!
//! | bytes | of a segment |
//! | --- | --- |
//! | 0..2 | count of entries |
//! | 2..4 | `Sg` |
//! | 4..8 | the segment's number, its low 32 bits |
//! | from 8 | the entries: each a key and a value |
//!
//! The classic array leaves its gaps between the entries. Here the gaps of a segment are gathered
//! at its end. The number of entries that an insert moves is the same within a constant, and a
//! search within a segment needs no test for gaps.

use std::marker::PhantomData;

use super::layout::{Layout, SEGMENT_HEADER, SEGMENTS, page, page_mut};
use crate::structures::error::{Error, damaged};
use crate::structures::key::Key;
use crate::structures::page::{Pages, PagesMut};
use crate::structures::search::partition;

const MAGIC: [u8; 2] = *b"Sg";

/// A valid segment, to be read.
pub(super) struct Segment<'a, K, const V: usize, const SEGMENT: usize> {
    bytes: &'a [u8],
    count: usize,
    key: PhantomData<K>,
}

/// The page of a segment, and its place in the page.
#[inline(always)]
pub(super) fn place<K: Key, const V: usize, const SEGMENT: usize>(number: usize) -> (usize, usize) {
    let per_page = Layout::<K, V, SEGMENT>::PER_PAGE;
    (
        SEGMENTS + number / per_page,
        number % per_page * Layout::<K, V, SEGMENT>::BYTES,
    )
}

impl<'a, K: Key, const V: usize, const SEGMENT: usize> Segment<'a, K, V, SEGMENT> {
    #[inline(always)]
    pub(super) fn read<S: Pages>(pages: &'a S, number: usize) -> Result<Self, Error> {
        let (in_page, at) = place::<K, V, SEGMENT>(number);
        let bytes = &page(pages, in_page)?.bytes[at..at + Layout::<K, V, SEGMENT>::BYTES];
        if bytes[2..4] != MAGIC || bytes[4..8] != (number as u32).to_le_bytes() {
            return damaged(in_page, "a segment's header is not its own");
        }
        let count = usize::from(u16::from_le_bytes([bytes[0], bytes[1]]));
        if count > Layout::<K, V, SEGMENT>::CAPACITY {
            return damaged(in_page, "a segment's count is beyond what it holds");
        }
        Ok(Self {
            bytes,
            count,
            key: PhantomData,
        })
    }

    #[inline(always)]
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The key of an entry.
    #[inline(always)]
    pub(super) fn key(&self, index: usize) -> K {
        let at = SEGMENT_HEADER + index * Layout::<K, V, SEGMENT>::ENTRY;
        K::read(&self.bytes[at..at + K::LENGTH])
    }

    #[inline(always)]
    pub(super) fn entry(&self, index: usize) -> (K, [u8; V]) {
        let at = SEGMENT_HEADER + index * Layout::<K, V, SEGMENT>::ENTRY;
        let value = &self.bytes[at + K::LENGTH..at + K::LENGTH + V];
        (
            K::read(&self.bytes[at..at + K::LENGTH]),
            value.try_into().expect("the slice has V bytes"),
        )
    }

    /// The number of entries before the searched place: `before` is true for their keys. A segment has few entries: in
    /// 16 parts, a search waits twice for memory.
    #[inline(always)]
    pub(super) fn partition(&self, before: impl Fn(K) -> bool) -> usize {
        partition::<16>(self.count, |index| before(self.key(index)))
    }

    /// The position of a key, or else the position where it belongs.
    #[inline(always)]
    pub(super) fn find(&self, key: K) -> Result<usize, usize> {
        let index = self.partition(|other| other < key);
        if index < self.count && self.key(index) == key {
            Ok(index)
        } else {
            Err(index)
        }
    }
}

/// A segment, to be changed.
pub(super) struct SegmentMut<'a, K, const V: usize, const SEGMENT: usize> {
    bytes: &'a mut [u8],
    number: usize,
    key: PhantomData<K>,
}

impl<'a, K: Key, const V: usize, const SEGMENT: usize> SegmentMut<'a, K, V, SEGMENT> {
    /// The segment with a number; its header is not read.
    pub(super) fn new<S: PagesMut>(pages: &'a mut S, number: usize) -> Result<Self, Error> {
        let (in_page, at) = place::<K, V, SEGMENT>(number);
        let page = page_mut(pages, in_page)?;
        let bytes = &mut page.bytes[at..at + Layout::<K, V, SEGMENT>::BYTES];
        Ok(Self {
            bytes,
            number,
            key: PhantomData,
        })
    }

    /// Overwrites the segment with header and entries. They must fit.
    pub(super) fn fill(&mut self, entries: &[(K, [u8; V])]) {
        self.bytes[2..4].copy_from_slice(&MAGIC);
        self.bytes[4..8].copy_from_slice(&(self.number as u32).to_le_bytes());
        for (index, (key, value)) in entries.iter().enumerate() {
            self.put(index, *key, value);
        }
        self.set_count(entries.len());
    }

    /// Inserts an entry before the one at `index`, into a segment of `count` that is not full.
    pub(super) fn insert(&mut self, index: usize, count: usize, key: K, value: &[u8; V]) {
        let moved = Self::at(index)..Self::at(count);
        self.bytes.copy_within(moved, Self::at(index + 1));
        self.put(index, key, value);
        self.set_count(count + 1);
    }

    /// Removes the entry at `index` from a segment of `count`.
    pub(super) fn remove(&mut self, index: usize, count: usize) {
        let moved = Self::at(index + 1)..Self::at(count);
        self.bytes.copy_within(moved, Self::at(index));
        self.set_count(count - 1);
    }

    pub(super) fn replace(&mut self, index: usize, value: &[u8; V]) {
        let at = Self::at(index) + K::LENGTH;
        self.bytes[at..at + V].copy_from_slice(value);
    }

    fn put(&mut self, index: usize, key: K, value: &[u8; V]) {
        let at = Self::at(index);
        key.write(&mut self.bytes[at..at + K::LENGTH]);
        self.bytes[at + K::LENGTH..at + K::LENGTH + V].copy_from_slice(value);
    }

    fn set_count(&mut self, count: usize) {
        self.bytes[..2].copy_from_slice(&(count as u16).to_le_bytes());
    }

    const fn at(index: usize) -> usize {
        SEGMENT_HEADER + index * Layout::<K, V, SEGMENT>::ENTRY
    }
}
