//! A leaf: entries in any order, and a small array with their order.
//!
//! | bytes | of a leaf |
//! | --- | --- |
//! | 16..16 + n | order: n slot numbers of one byte each |
//! | from the next multiple of 8 | n slots, each a key and a value |
//!
//! The order is a permutation of all slot numbers: its first `count` are the used slots in the order of their keys, the
//! rest are the free ones. An insert fills the first free slot and moves its number to its place in the order. It
//! changes one entry and at most n bytes of order, whereas a sorted array would move half the page. So the redo is
//! short.

use std::marker::PhantomData;

use super::node::{Bytes, HEADER, Shape, count, set_count};
use crate::structures::error::{Error, damaged};
use crate::structures::key::Key;
use crate::structures::search::partition;

/// A valid leaf, to be read.
pub(super) struct Leaf<'a, K, const V: usize, const FAN_OUT: usize> {
    bytes: &'a Bytes,
    page: usize,
    count: usize,
    key: PhantomData<K>,
}

impl<'a, K: Key, const V: usize, const FAN_OUT: usize> Leaf<'a, K, V, FAN_OUT> {
    const CAPACITY: usize = Shape::<K, V, FAN_OUT>::LEAF;

    /// Sees a page as a leaf whose header says `count`.
    #[inline(always)]
    pub(super) fn new(bytes: &'a Bytes, page: usize, count: usize) -> Self {
        debug_assert!(count <= Self::CAPACITY);
        Self {
            bytes,
            page,
            count,
            key: PhantomData,
        }
    }

    #[inline(always)]
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The number of the slot at a position of the order, from the page.
    #[inline(always)]
    pub(super) fn slot(&self, position: usize) -> usize {
        usize::from(self.bytes[HEADER + position])
    }

    #[inline(always)]
    fn key_in(&self, slot: usize) -> K {
        let at = Shape::<K, V, FAN_OUT>::ENTRIES + slot * Shape::<K, V, FAN_OUT>::ENTRY;
        K::read(&self.bytes[at..at + K::LENGTH])
    }

    #[inline(always)]
    fn value_in(&self, slot: usize) -> [u8; V] {
        let at = Shape::<K, V, FAN_OUT>::ENTRIES + slot * Shape::<K, V, FAN_OUT>::ENTRY + K::LENGTH;
        self.bytes[at..at + V]
            .try_into()
            .expect("the slice has V bytes")
    }

    /// The number of entries before the searched place: `before` is true for their keys.
    #[inline(always)]
    pub(super) fn partition(&self, mut before: impl FnMut(K) -> bool) -> Result<usize, Error> {
        let mut beyond = false;
        let position = partition::<8>(self.count, |position| {
            let slot = self.slot(position);
            beyond |= slot >= Self::CAPACITY;
            before(self.key_in(slot.min(Self::CAPACITY - 1)))
        });
        if beyond {
            self.bad_order()
        } else {
            Ok(position)
        }
    }

    /// The position of a key, or else the position where it belongs.
    #[inline(always)]
    pub(super) fn find(&self, key: K) -> Result<Result<usize, usize>, Error> {
        let position = self.partition(|other| other < key)?;
        if position < self.count && self.key(position)? == key {
            return Ok(Ok(position));
        }
        Ok(Err(position))
    }

    /// The key at a position below `count`.
    #[inline(always)]
    pub(super) fn key(&self, position: usize) -> Result<K, Error> {
        let slot = self.slot(position);
        if slot < Self::CAPACITY {
            Ok(self.key_in(slot))
        } else {
            self.bad_order()
        }
    }

    /// The entry at a position below `count`.
    #[inline(always)]
    pub(super) fn entry(&self, position: usize) -> Result<(K, [u8; V]), Error> {
        let slot = self.slot(position);
        if slot >= Self::CAPACITY {
            return self.bad_order();
        }
        Ok((self.key_in(slot), self.value_in(slot)))
    }

    #[cold]
    fn bad_order<T>(&self) -> Result<T, Error> {
        damaged(
            self.page,
            "the order of its entries names a slot beyond the last",
        )
    }
}

/// A valid leaf, to be changed.
pub(super) struct LeafMut<'a, K, const V: usize, const FAN_OUT: usize> {
    bytes: &'a mut Bytes,
    page: usize,
    key: PhantomData<K>,
}

impl<'a, K: Key, const V: usize, const FAN_OUT: usize> LeafMut<'a, K, V, FAN_OUT> {
    const CAPACITY: usize = Shape::<K, V, FAN_OUT>::LEAF;

    /// Sees a page with a valid header as a leaf.
    pub(super) fn new(bytes: &'a mut Bytes, page: usize) -> Self {
        Self {
            bytes,
            page,
            key: PhantomData,
        }
    }

    /// Makes a page an empty leaf.
    pub(super) fn begin(bytes: &'a mut Bytes, page: usize) -> Self {
        Shape::<K, V, FAN_OUT>::begin(bytes, 0);
        for slot in 0..Self::CAPACITY {
            bytes[HEADER + slot] = slot as u8;
        }
        Self::new(bytes, page)
    }

    /// Inserts an entry at a position, in a leaf that is not full.
    pub(super) fn insert(&mut self, at: usize, key: K, value: &[u8; V]) -> Result<(), Error> {
        let count = count(self.bytes);
        let slot = self.bytes[HEADER + count];
        self.put(usize::from(slot), key, value)?;
        let order = &mut self.bytes[HEADER..HEADER + count + 1];
        order.copy_within(at..count, at + 1);
        order[at] = slot;
        set_count(self.bytes, count + 1);
        Ok(())
    }

    /// Replaces the value at a position.
    pub(super) fn replace(&mut self, at: usize, value: &[u8; V]) -> Result<(), Error> {
        let slot = usize::from(self.bytes[HEADER + at]);
        let start = self.place(slot)? + K::LENGTH;
        self.bytes[start..start + V].copy_from_slice(value);
        Ok(())
    }

    /// Removes the entry at a position; its slot becomes the first free one.
    pub(super) fn remove(&mut self, at: usize) {
        let count = count(self.bytes);
        self.bytes[HEADER + at..HEADER + count].rotate_left(1);
        set_count(self.bytes, count - 1);
    }

    /// Removes the last entries so that `count` are left.
    pub(super) fn truncate(&mut self, count: usize) {
        set_count(self.bytes, count);
    }

    /// Removes the first `removed` entries.
    pub(super) fn remove_first(&mut self, removed: usize) {
        let count = count(self.bytes);
        self.bytes[HEADER..HEADER + count].rotate_left(removed);
        set_count(self.bytes, count - removed);
    }

    /// Appends entries of another leaf, all greater; there must be room.
    pub(super) fn append(
        &mut self,
        from: &Leaf<'_, K, V, FAN_OUT>,
        positions: std::ops::Range<usize>,
    ) -> Result<(), Error> {
        let mut count = count(self.bytes);
        for position in positions {
            let (key, value) = from.entry(position)?;
            self.put(usize::from(self.bytes[HEADER + count]), key, &value)?;
            count += 1;
        }
        set_count(self.bytes, count);
        Ok(())
    }

    /// Inserts entries of another leaf, all smaller, before the first; there must be room.
    pub(super) fn prepend(
        &mut self,
        from: &Leaf<'_, K, V, FAN_OUT>,
        positions: std::ops::Range<usize>,
    ) -> Result<(), Error> {
        let moved = positions.len();
        self.append(from, positions)?;
        let count = count(self.bytes);
        self.bytes[HEADER..HEADER + count].rotate_right(moved);
        Ok(())
    }

    fn put(&mut self, slot: usize, key: K, value: &[u8; V]) -> Result<(), Error> {
        let at = self.place(slot)?;
        key.write(&mut self.bytes[at..at + K::LENGTH]);
        self.bytes[at + K::LENGTH..at + K::LENGTH + V].copy_from_slice(value);
        Ok(())
    }

    fn place(&self, slot: usize) -> Result<usize, Error> {
        if slot >= Self::CAPACITY {
            return damaged(
                self.page,
                "the order of its entries names a slot beyond the last",
            );
        }
        Ok(Shape::<K, V, FAN_OUT>::ENTRIES + slot * Shape::<K, V, FAN_OUT>::ENTRY)
    }
}
