//! A node of the tree: one page of cells in order of their keys, read with every offset checked.
//!
//! | bytes | of a node |
//! | --- | --- |
//! | 0..3 | `ixn` |
//! | 3 | level: 0 is a leaf |
//! | 4..6 | number of cells *n* |
//! | 6..8 | where the lowest cell begins |
//! | 8..10 | dead bytes among the cells |
//! | 10..12 | zero |
//! | 12..16 | inner node: the page, within the tree, of the child left of all cells; leaf: zero |
//! | 16..16+2*n* | where the cells begin, in order of their keys |
//! | ... | free |
//! | to the end | cells: length of the key, length of the value (2 bytes each), key, value |
//!
//! In a leaf a cell is an entry of the index. In an inner node its key separates two children: keys
//! to the left are smaller, those to the right equal or larger. Its value (4 bytes) is the page of
//! the child to its right. All numbers are little-endian.
//!
//! Cells are appended downwards and found by the array. So an insertion changes, and logs, its
//! cell, the few bytes of the header and the part of the array behind its place.

use super::pages::{Damage, Page, TreePages, damaged};
use crate::page::{PAGE_SIZE, PageId};
use std::cmp::Ordering;

/// Bytes before the array.
pub(super) const HEADER: usize = 16;

/// Bytes of a cell before its key.
pub(super) const CELL: usize = 4;

/// Bytes of an element of the array.
pub(super) const SLOT: usize = 2;

/// The room of a node for cells and their slots.
pub(super) const CAPACITY: usize = PAGE_SIZE - HEADER;

/// The first bytes of nodes.
pub(super) const MAGIC: [u8; 3] = *b"ixn";

/// No tree is higher: with two children in every node it would have more leaves than there are page
/// numbers.
pub(super) const LEVELS_MAX: u8 = 32;

/// The room that a cell and its slot take.
pub fn room(key: &[u8], value: &[u8]) -> usize {
    SLOT + CELL + key.len() + value.len()
}

/// A cell's place and contents.
#[derive(Clone, Copy)]
pub struct Cell<'a> {
    pub at: usize,
    pub key: &'a [u8],
    pub value: &'a [u8],
}

impl Cell<'_> {
    /// Its room, with its slot.
    pub fn room(&self) -> usize {
        room(self.key, self.value)
    }
}

/// A node's page and its header.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    /// The page that holds the node.
    pub id: PageId,
    /// That page's bytes.
    pub bytes: &'a Page,
    /// 0 is a leaf.
    pub level: u8,
    /// Cells.
    pub count: usize,
    /// The beginning of the lowest cell.
    pub heap: usize,
    /// Dead bytes among the cells.
    pub garbage: usize,
}

pub fn u16_at(bytes: &[u8], at: usize) -> usize {
    usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]))
}

pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// A key's first bytes as a number: where two differ in it, they are in its order. Most comparisons
/// end with it.
fn head(key: &[u8]) -> u64 {
    match key.first_chunk() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => {
            let mut bytes = [0; 8];
            bytes[..key.len()].copy_from_slice(key);
            u64::from_be_bytes(bytes)
        }
    }
}

impl<'a> Node<'a> {
    /// Checks the header.
    pub fn of(id: PageId, bytes: &'a Page) -> Result<Node<'a>, Damage> {
        if bytes[..3] != MAGIC {
            return Err(damaged(id, 0, "not a node"));
        }
        let node = Node {
            id,
            bytes,
            level: bytes[3],
            count: u16_at(bytes, 4),
            heap: u16_at(bytes, 6),
            garbage: u16_at(bytes, 8),
        };
        if node.level > LEVELS_MAX {
            return Err(damaged(id, 3, "a level beyond the highest"));
        }
        if node.heap > PAGE_SIZE || node.slots_end() > node.heap {
            return Err(damaged(id, 4, "the array reaches into the cells"));
        }
        if node.garbage > PAGE_SIZE - node.heap {
            return Err(damaged(
                id,
                8,
                "more dead bytes than there are bytes of cells",
            ));
        }
        Ok(node)
    }

    /// Fails if the header is damaged.
    pub fn read<P: TreePages + ?Sized>(pages: &'a P, id: PageId) -> Result<Node<'a>, P::Error> {
        Ok(Node::of(id, pages.read(id)?)?)
    }

    /// Reads a node that will be written.
    pub fn read_to_write<P: TreePages + ?Sized>(
        pages: &'a P,
        id: PageId,
    ) -> Result<Node<'a>, P::Error> {
        Ok(Node::of(id, pages.read_to_write(id)?)?)
    }

    /// The end of the array.
    pub fn slots_end(&self) -> usize {
        HEADER + SLOT * self.count
    }

    /// Free bytes between the array and the cells.
    pub fn gap(&self) -> usize {
        self.heap - self.slots_end()
    }

    /// Free bytes in all, were the cells moved together.
    pub fn free(&self) -> usize {
        self.gap() + self.garbage
    }

    /// Key and value at a place in the order of keys.
    pub fn cell(&self, slot: usize) -> Result<Cell<'a>, Damage> {
        if slot >= self.count {
            return Err(damaged(self.id, 4, "fewer cells than there were"));
        }
        let slot = HEADER + SLOT * slot;
        let at = u16_at(self.bytes, slot);
        if at < self.heap || at > PAGE_SIZE - CELL {
            return Err(damaged(self.id, slot, "a cell outside of the cells"));
        }
        let (key, value) = (u16_at(self.bytes, at), u16_at(self.bytes, at + 2));
        let start = at + CELL;
        if start + key + value > PAGE_SIZE {
            return Err(damaged(self.id, at, "a cell beyond the page's end"));
        }
        Ok(Cell {
            at,
            key: &self.bytes[start..start + key],
            value: &self.bytes[start + key..start + key + value],
        })
    }

    /// A cell's key.
    fn key(&self, slot: usize) -> Result<&'a [u8], Damage> {
        let slot = HEADER + SLOT * slot;
        let at = u16_at(self.bytes, slot);
        if at < self.heap || at > PAGE_SIZE - CELL {
            return Err(damaged(self.id, slot, "a cell outside of the cells"));
        }
        let start = at + CELL;
        let key = self.bytes.get(start..start + u16_at(self.bytes, at));
        key.ok_or_else(|| damaged(self.id, at, "a cell beyond the page's end"))
    }

    /// The first cell whose key is not smaller, and whether it is the key.
    pub fn search(&self, key: &[u8]) -> Result<(usize, bool), Damage> {
        let sought = head(key);
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low.midpoint(high);
            let there = self.key(middle)?;
            let order = head(there).cmp(&sought);
            match order.then_with(|| there.cmp(key)) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Ok((middle, true)),
                Ordering::Greater => high = middle,
            }
        }
        Ok((low, false))
    }

    /// The child of an inner node for a key: 0 is left of all cells.
    pub fn child_for(&self, key: &[u8]) -> Result<usize, Damage> {
        let (slot, found) = self.search(key)?;
        Ok(slot + usize::from(found))
    }

    /// The page, within the tree, of an inner node's child, and the offset at which it is written.
    pub fn child(&self, place: usize) -> Result<(u32, usize), Damage> {
        let Some(slot) = place.checked_sub(1) else {
            return Ok((u32_at(self.bytes, 12), 12));
        };
        let cell = self.cell(slot)?;
        if cell.value.len() != 4 {
            return Err(damaged(self.id, cell.at, "a child's page not of 4 bytes"));
        }
        Ok((u32_at(cell.value, 0), cell.at + CELL + cell.key.len()))
    }
}
