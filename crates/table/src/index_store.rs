//! Memory for indexes: blocks of power-of-two sizes in a [`PageStore`] of their own, beside that of the rows.
//!
//! Nothing in it is ever logged. A clean close may store it as it is for the next opening (`stored`); otherwise indexes
//! are rebuilt from the rows at opening. It is a page store so that a snapshot sees indexes frozen by the mechanism by which it sees rows frozen. So blocks are changed
//! through [`IndexStore::write`] and read through [`PageRead`](sardonyx_storage::store::PageRead) only.
//!
//! Blocks are buddies: one of `n` bytes is at a multiple of `n`. A larger one is halved when a small one is needed,
//! and two free halves are one block again. Of the free blocks the lowest is used first. Address 0 is never a block's:
//! it means "none".
//!
//! **Bound.** The memory of rows is bounded by the store's limit (`memory_bytes_max`), that of indexes is not, as it
//! never was: the operating system grants it or not. The address space reserved for it is [`IndexStore::bytes_max`].
//! An operation that gets no memory fails and has done nothing. An undo must not fail: for it
//! [`IndexStore::ensure_room`] commits the memory for the inverse steps beforehand.

use crate::described::{Described, Words};
use sardonyx_storage::page::{Address, PAGE_SIZE};
use sardonyx_storage::store::{PageStore, StoreError};
use std::collections::BTreeSet;

/// The smallest block, in bytes; smaller ones are rounded up.
pub const BLOCK_BYTES_MIN: usize = 128;

/// The largest block, in bytes.
pub const BLOCK_BYTES_MAX: usize = 1 << 36;

/// Free blocks up to this size are put together again; larger ones are made only when asked for.
const CLASSES: usize = (BLOCK_BYTES_MAX / BLOCK_BYTES_MIN).trailing_zeros() as usize + 1;

/// Address space for indexes: at least so much, as a multiple of the rows' limit, and at most so much.
const BYTES_MAX_LEAST: u64 = 64 << 30;
const BYTES_MAX_PER_BYTE: u64 = 4;
const BYTES_MAX_MOST: u64 = 8 << 40;

/// Memory of all indexes of a table space.
#[derive(Debug)]
pub struct IndexStore {
    store: PageStore,
    /// Bytes from the beginning that were ever handed out or split; behind them all is zeroes.
    top: u64,
    /// Bytes of blocks in use.
    used: u64,
    /// Free blocks below `top`, by the logarithm of their size.
    free: [BTreeSet<u64>; CLASSES],
}

impl IndexStore {
    /// Memory for the indexes of rows that take `row_bytes_max` bytes at most. Takes no
    /// more memory than a page.
    ///
    /// # Errors
    /// [`StoreError::Memory`] if there is no address space.
    pub fn reserve(row_bytes_max: u64) -> Result<Self, StoreError> {
        let mut store = PageStore::reserve(Self::bytes_max(row_bytes_max))?;
        // Address 0, which means "none", can be read, and is zero.
        store.grow_to(1)?;
        Ok(IndexStore {
            store,
            top: 0,
            used: 0,
            free: std::array::from_fn(|_| BTreeSet::new()),
        })
    }

    /// Address space that is reserved for the indexes of so many bytes of rows: four times as much, at least
    /// 64 GiB, at most 8 TiB.
    pub fn bytes_max(row_bytes_max: u64) -> u64 {
        let bytes = row_bytes_max.saturating_mul(BYTES_MAX_PER_BYTE);
        bytes.clamp(BYTES_MAX_LEAST, BYTES_MAX_MOST)
    }

    /// The pages of the blocks.
    #[inline]
    pub fn pages(&self) -> &PageStore {
        &self.store
    }

    /// The same, to open and end snapshots.
    #[inline]
    pub fn pages_mut(&mut self) -> &mut PageStore {
        &mut self.store
    }

    /// All bytes as they now are, to read blocks by their addresses.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        self.store.bytes()
    }

    /// Bytes of blocks in use.
    pub fn bytes_used(&self) -> u64 {
        self.used
    }

    /// The end of the bytes that were ever handed out or split.
    pub(crate) fn top(&self) -> u64 {
        self.top
    }

    /// The pages up to there.
    pub(crate) fn used_pages(&self) -> &[u8] {
        let end = (self.top as usize).next_multiple_of(PAGE_SIZE);
        &self.store.bytes()[..end]
    }

    /// The same, to fill them. There are no snapshots.
    pub(crate) fn used_pages_mut(&mut self) -> &mut [u8] {
        let end = (self.top as usize).next_multiple_of(PAGE_SIZE);
        &mut self.store.bytes_mut()[..end]
    }

    /// Describes the blocks, for [`IndexStore::described`].
    pub(crate) fn describe(&self, words: &mut Words) {
        words.put(self.top);
        words.put(self.used);
        for free in &self.free {
            words.put(free.len() as u64);
            free.iter().for_each(|at| words.put(*at));
        }
    }

    /// Memory for the blocks of a description, which are still zeroes. `None` if there is none, or no such blocks exist.
    pub(crate) fn described(words: &mut Described<'_>, row_bytes_max: u64) -> Option<Self> {
        let mut indexes = IndexStore::reserve(row_bytes_max).ok()?;
        (indexes.top, indexes.used) = (words.word()?, words.word()?);
        if indexes.used > indexes.top {
            return None;
        }
        for class in 0..CLASSES {
            let size = size_of_class(class);
            for _ in 0..words.count(8)? {
                let at = words.word()?;
                let end = at.checked_add(size)?;
                let is_new = end <= indexes.top && indexes.free[class].insert(at);
                if !is_new || at == 0 || !at.is_multiple_of(size) {
                    return None;
                }
            }
        }
        let pages = indexes.top.div_ceil(PAGE_SIZE as u64);
        indexes.store.grow_to(pages).ok()?;
        Some(indexes)
    }

    /// A block of at least so many bytes, at a multiple of its size (the next power of two). Its content is undefined.
    ///
    /// # Errors
    /// [`StoreError`] if there is no memory; nothing has changed then.
    ///
    /// # Panics
    /// If more than [`BLOCK_BYTES_MAX`] bytes are asked for.
    #[inline]
    pub fn allocate(&mut self, bytes: usize) -> Result<Address, StoreError> {
        Ok(self.take(bytes)?.0)
    }

    /// The same, filled with zeroes.
    ///
    /// # Errors
    /// [`StoreError`] if there is no memory; nothing has changed then.
    ///
    /// # Panics
    /// If more than [`BLOCK_BYTES_MAX`] bytes are asked for.
    pub fn allocate_zeroed(&mut self, bytes: usize) -> Result<Address, StoreError> {
        let (address, is_fresh) = self.take(bytes)?;
        if !is_fresh {
            let end = address.0 + block_bytes(bytes);
            for at in (address.0..end).step_by(PAGE_SIZE) {
                let length = (end - at).min(PAGE_SIZE as u64) as usize;
                self.store.write(Address(at), &[0; PAGE_SIZE][..length]);
            }
        }
        Ok(address)
    }

    /// Frees a block. `bytes` is the requested size, or the block's.
    pub fn free(&mut self, address: Address, bytes: usize) {
        let mut size = block_bytes(bytes);
        let mut at = address.0;
        debug_assert!(at > 0 && at.is_multiple_of(size) && at + size <= self.top);
        self.used -= size;
        while size < BLOCK_BYTES_MAX as u64 && self.free[class(size)].remove(&(at ^ size)) {
            at &= !size;
            size *= 2;
        }
        let new = self.free[class(size)].insert(at);
        debug_assert!(new, "a block is freed once");
    }

    /// Changes bytes within a block.
    ///
    /// # Panics
    /// If there are no such bytes.
    #[inline(always)]
    pub fn write(&mut self, at: Address, bytes: &[u8]) {
        self.store.write(at, bytes);
    }

    /// Changes a little-endian word within a block.
    ///
    /// # Panics
    /// If there is no such word.
    #[inline(always)]
    pub fn write_word(&mut self, at: Address, word: u64) {
        self.store.write(at, &word.to_le_bytes());
    }

    /// Sees to it that blocks of so many bytes together, each at most a page long, can be allocated without fail.
    ///
    /// # Errors
    /// [`StoreError`] if there is no memory.
    #[inline]
    pub fn ensure_room(&mut self, bytes: usize) -> Result<(), StoreError> {
        // Free blocks may be of the wrong sizes; behind `top` every size is to be had, once that is aligned.
        let end = self.top + bytes as u64 + 2 * PAGE_SIZE as u64;
        match end <= self.store.bytes().len() as u64 {
            true => Ok(()),
            false => self.store.grow_to(end.div_ceil(PAGE_SIZE as u64)),
        }
    }

    /// A block, and whether it was never used.
    fn take(&mut self, bytes: usize) -> Result<(Address, bool), StoreError> {
        assert!(bytes <= BLOCK_BYTES_MAX, "a block of {bytes} bytes");
        let size = block_bytes(bytes);
        let classes = class(size)..CLASSES;
        let (at, is_fresh) = match classes
            .into_iter()
            .find_map(|class| Some((class, self.free[class].pop_first()?)))
        {
            Some((larger, at)) => {
                // The upper halves stay free.
                for class in class(size)..larger {
                    self.free[class].insert(at + size_of_class(class));
                }
                (at, false)
            }
            None => (self.take_fresh(size)?, true),
        };
        self.used += size;
        Ok((Address(at), is_fresh))
    }

    /// A block that was never used.
    #[cold]
    fn take_fresh(&mut self, size: u64) -> Result<u64, StoreError> {
        // The first block of all is never handed out.
        let at = self.top.max(BLOCK_BYTES_MIN as u64).next_multiple_of(size);
        self.store.grow_to((at + size).div_ceil(PAGE_SIZE as u64))?;
        // The skipped space is free, in blocks that are as large as their places allow.
        let mut skipped = self.top.max(BLOCK_BYTES_MIN as u64);
        while skipped < at {
            let block = 1u64 << skipped.trailing_zeros();
            self.free[class(block)].insert(skipped);
            skipped += block;
        }
        self.top = at + size;
        Ok(at)
    }
}

/// The size of the block for so many bytes.
#[inline]
fn block_bytes(bytes: usize) -> u64 {
    bytes.max(BLOCK_BYTES_MIN).next_power_of_two() as u64
}

#[inline]
fn class(size: u64) -> usize {
    (size.trailing_zeros() - BLOCK_BYTES_MIN.trailing_zeros()) as usize
}

fn size_of_class(class: usize) -> u64 {
    (BLOCK_BYTES_MIN as u64) << class
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sardonyx_storage::store::PageRead;
    use std::collections::BTreeMap;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sardonyx_base::random::cases(40)))]

        #[test]
        fn blocks_are_aligned_and_never_overlap_and_zeroes_where_asked(
            steps in prop::collection::vec((0usize..40_000, any::<bool>(), any::<prop::sample::Index>()), 1..300)
        ) {
            let mut store = IndexStore::reserve(0).expect("address space");
            let mut blocks: BTreeMap<u64, usize> = BTreeMap::new();
            for (bytes, frees, which) in steps {
                if frees && !blocks.is_empty() {
                    let (&at, &bytes) = blocks.iter().nth(which.index(blocks.len())).expect("there");
                    store.free(Address(at), bytes);
                    blocks.remove(&at);
                    continue;
                }
                let at = store.allocate_zeroed(bytes).expect("memory");
                let size = block_bytes(bytes);
                prop_assert!(at.0 > 0 && at.0.is_multiple_of(size));
                prop_assert!(store.bytes()[at.0 as usize..][..size as usize].iter().all(|&byte| byte == 0));
                let before = blocks.range(..=at.0).next_back();
                prop_assert!(before.is_none_or(|(&other, &bytes)| other + block_bytes(bytes) <= at.0));
                prop_assert!(blocks.range(at.0..).next().is_none_or(|(&other, _)| at.0 + size <= other));
                for word in (0..size).step_by(8) {
                    store.write_word(Address(at.0 + word), u64::MAX);
                }
                blocks.insert(at.0, bytes);
                let used: u64 = blocks.values().map(|&bytes| block_bytes(bytes)).sum();
                prop_assert_eq!(store.bytes_used(), used);
            }
            for (at, bytes) in blocks {
                prop_assert_eq!(store.bytes().word(Address(at)), Ok(u64::MAX));
                store.free(Address(at), bytes);
            }
            // All is in as few blocks as possible: the same use fits again without growing.
            let (top, free) = (store.top, store.free.iter().map(BTreeSet::len).sum::<usize>());
            prop_assert_eq!(store.bytes_used(), 0);
            prop_assert!(free <= CLASSES + top.count_ones() as usize, "{} blocks below {}", free, top);
        }
    }

    #[test]
    fn there_is_room_for_what_was_ensured_even_if_no_more_memory_is_granted() {
        let mut store = IndexStore::reserve(0).expect("address space");
        store.ensure_room(100 * 512).expect("memory");
        let pages = store.pages().pages();
        for _ in 0..100 {
            store.allocate(512).expect("memory");
        }
        assert_eq!(store.pages().pages(), pages);
    }
}
