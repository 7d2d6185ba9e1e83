//! An inner node: sorted keys, and one more child than keys.
//!
//! | bytes | of an inner node |
//! | --- | --- |
//! | from 16 | n keys, sorted |
//! | after them | n + 1 page numbers of 4 bytes |
//!
//! Key i is greater than all keys below child i and at most the least key below child i + 1. The
//! keys are sorted in place, unlike a leaf's entries: an inner node changes once for a hundred
//! inserts and is searched at every one.

use std::marker::PhantomData;

use super::node::{Bytes, HEADER, Shape, count, set_count};
use crate::structures::error::{Error, damaged};
use crate::structures::key::Key;
use crate::structures::search::partition;

/// A valid inner node, to be read.
pub(super) struct Inner<'a, K, const V: usize, const FAN_OUT: usize> {
    bytes: &'a Bytes,
    count: usize,
    key: PhantomData<K>,
}

impl<'a, K: Key, const V: usize, const FAN_OUT: usize> Inner<'a, K, V, FAN_OUT> {
    /// Sees a page as an inner node whose header says `count` keys.
    #[inline(always)]
    pub(super) fn new(bytes: &'a Bytes, count: usize) -> Self {
        debug_assert!(count <= Shape::<K, V, FAN_OUT>::INNER);
        Self {
            bytes,
            count,
            key: PhantomData,
        }
    }

    /// The number of keys; one less than children.
    #[inline(always)]
    pub(super) fn count(&self) -> usize {
        self.count
    }

    #[inline(always)]
    pub(super) fn key(&self, index: usize) -> K {
        let at = HEADER + index * K::LENGTH;
        K::read(&self.bytes[at..at + K::LENGTH])
    }

    /// The page number of a child, from the page.
    #[inline(always)]
    pub(super) fn child(&self, index: usize) -> usize {
        let at = Shape::<K, V, FAN_OUT>::CHILDREN + index * 4;
        let bytes = self.bytes[at..at + 4]
            .try_into()
            .expect("the slice has four bytes");
        u32::from_le_bytes(bytes) as usize
    }

    /// The index of the child that a key belongs below.
    #[inline(always)]
    pub(super) fn search(&self, key: K) -> usize {
        partition::<8>(self.count, |index| self.key(index) <= key)
    }

    /// All keys and children, for a new division.
    pub(super) fn content(&self) -> Content<K> {
        Content {
            keys: (0..self.count).map(|index| self.key(index)).collect(),
            children: (0..=self.count).map(|index| self.child(index)).collect(),
        }
    }
}

/// Keys and children of one or two inner nodes, outside of a page.
pub(super) struct Content<K> {
    pub(super) keys: Vec<K>,
    pub(super) children: Vec<usize>,
}

impl<K: Key> Content<K> {
    /// Adds a key, and the child to its right.
    pub(super) fn insert(&mut self, index: usize, key: K, child: usize) {
        self.keys.insert(index, key);
        self.children.insert(index + 1, child);
    }

    /// Adds a greater node's content after the key that separates the two.
    pub(super) fn append(&mut self, separator: K, other: Self) {
        self.keys.push(separator);
        self.keys.extend(other.keys);
        self.children.extend(other.children);
    }

    /// Keeps `kept` keys; returns the next one, which separates, and the content beyond it.
    pub(super) fn split(&mut self, kept: usize) -> Option<(K, Self)> {
        let keys = self.keys.split_off(kept + 1);
        let children = self.children.split_off(kept + 1);
        let separator = self.keys.pop()?;
        Some((separator, Self { keys, children }))
    }
}

/// An inner node, to be changed.
pub(super) struct InnerMut<'a, K, const V: usize, const FAN_OUT: usize> {
    bytes: &'a mut Bytes,
    page: usize,
    key: PhantomData<K>,
}

impl<'a, K: Key, const V: usize, const FAN_OUT: usize> InnerMut<'a, K, V, FAN_OUT> {
    const CHILDREN: usize = Shape::<K, V, FAN_OUT>::CHILDREN;

    /// Sees a page with a valid header as an inner node.
    pub(super) fn new(bytes: &'a mut Bytes, page: usize) -> Self {
        Self {
            bytes,
            page,
            key: PhantomData,
        }
    }

    /// Makes a page an inner node of a level, with one child and no key yet.
    pub(super) fn begin(bytes: &'a mut Bytes, page: usize, level: usize, child: usize) -> Self {
        Shape::<K, V, FAN_OUT>::begin(bytes, level);
        let mut node = Self::new(bytes, page);
        node.set_child(0, child);
        node
    }

    /// Writes the whole content; it must fit.
    pub(super) fn fill(&mut self, content: &Content<K>) -> Result<(), Error> {
        if content.keys.len() > Shape::<K, V, FAN_OUT>::INNER {
            return damaged(
                self.page,
                "its count of entries is beyond what a node holds",
            );
        }
        for (index, key) in content.keys.iter().enumerate() {
            self.set_key(index, *key);
        }
        for (index, child) in content.children.iter().enumerate() {
            self.set_child(index, *child);
        }
        set_count(self.bytes, content.keys.len());
        Ok(())
    }

    /// Inserts a key, and the child to its right, into a node that is not full.
    pub(super) fn insert(&mut self, index: usize, key: K, child: usize) {
        let count = count(self.bytes);
        let keys = HEADER + index * K::LENGTH..HEADER + count * K::LENGTH;
        self.bytes.copy_within(keys.clone(), keys.start + K::LENGTH);
        let children = Self::CHILDREN + (index + 1) * 4..Self::CHILDREN + (count + 1) * 4;
        self.bytes.copy_within(children.clone(), children.start + 4);
        self.set_key(index, key);
        self.set_child(index + 1, child);
        set_count(self.bytes, count + 1);
    }

    /// Removes a key, and the child to its right.
    pub(super) fn remove(&mut self, index: usize) {
        let count = count(self.bytes);
        let keys = HEADER + (index + 1) * K::LENGTH..HEADER + count * K::LENGTH;
        self.bytes.copy_within(keys.clone(), keys.start - K::LENGTH);
        let children = Self::CHILDREN + (index + 2) * 4..Self::CHILDREN + (count + 1) * 4;
        self.bytes.copy_within(children.clone(), children.start - 4);
        set_count(self.bytes, count - 1);
    }

    pub(super) fn set_key(&mut self, index: usize, key: K) {
        let at = HEADER + index * K::LENGTH;
        key.write(&mut self.bytes[at..at + K::LENGTH]);
    }

    fn set_child(&mut self, index: usize, child: usize) {
        let at = Self::CHILDREN + index * 4;
        self.bytes[at..at + 4].copy_from_slice(&(child as u32).to_le_bytes());
    }
}
