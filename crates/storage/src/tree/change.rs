//! Changes of one node, each by as few bytes as it takes.

use super::node::{CELL, HEADER, MAGIC, Node, SLOT, room, u16_at, u32_at};
use super::pages::{Page, TreePages, damaged};
use crate::page::{PAGE_SIZE, PageId};

/// Bytes of a length or an offset within a page.
fn short(number: usize) -> [u8; 2] {
    (number as u16).to_le_bytes()
}

/// The header's changing part: number of cells, lowest cell, dead bytes.
fn write_counts<P: TreePages + ?Sized>(
    pages: &mut P,
    id: PageId,
    count: usize,
    heap: usize,
    garbage: usize,
) -> Result<(), P::Error> {
    let header = pages.write(id, 4..10)?;
    header[..2].copy_from_slice(&short(count));
    header[2..4].copy_from_slice(&short(heap));
    header[4..].copy_from_slice(&short(garbage));
    Ok(())
}

/// Adds a cell at a place of the array. `false`, and no change, if there is no room.
pub fn insert<P: TreePages + ?Sized>(
    pages: &mut P,
    id: PageId,
    slot: usize,
    key: &[u8],
    value: &[u8],
) -> Result<bool, P::Error> {
    let room = room(key, value);
    if Node::read_to_write(pages, id)?.free() < room {
        return Ok(false);
    }
    if Node::read_to_write(pages, id)?.gap() < room {
        compact(pages, id)?;
    }
    let node = Node::read_to_write(pages, id)?;
    if node.gap() < room || slot > node.count {
        return Err(damaged(id, 8, "fewer dead bytes than it records").into());
    }
    let (count, heap, garbage) = (node.count, node.heap, node.garbage);
    let at = heap + SLOT - room;
    let cell = pages.write(id, at..heap)?;
    cell[..2].copy_from_slice(&short(key.len()));
    cell[2..CELL].copy_from_slice(&short(value.len()));
    cell[CELL..CELL + key.len()].copy_from_slice(key);
    cell[CELL + key.len()..].copy_from_slice(value);
    let slots = pages.write(id, HEADER + SLOT * slot..HEADER + SLOT * (count + 1))?;
    slots.copy_within(..SLOT * (count - slot), SLOT);
    slots[..SLOT].copy_from_slice(&short(at));
    write_counts(pages, id, count + 1, at, garbage).map(|()| true)
}

/// Takes a cell out.
pub fn remove<P: TreePages + ?Sized>(
    pages: &mut P,
    id: PageId,
    slot: usize,
) -> Result<(), P::Error> {
    let node = Node::read_to_write(pages, id)?;
    let cell = node.cell(slot)?;
    let (at, bytes) = (cell.at, cell.room() - SLOT);
    let (count, mut heap, mut garbage) = (node.count, node.heap, node.garbage);
    let behind = SLOT * (slot + 1)..SLOT * count;
    if !behind.is_empty() {
        let slots = &node.bytes[HEADER..][behind.clone()];
        // Most leaves have few slots: those need no allocation.
        let (mut near, far);
        let moved = if slots.len() <= 256 {
            near = [0; 256];
            near[..slots.len()].copy_from_slice(slots);
            &near[..slots.len()]
        } else {
            far = slots.to_vec();
            &far[..]
        };
        let start = HEADER + behind.start - SLOT;
        pages
            .write(id, start..start + moved.len())?
            .copy_from_slice(moved);
    }
    if count == 1 {
        (heap, garbage) = (PAGE_SIZE, 0);
    } else if at == heap {
        heap += bytes;
    } else {
        garbage += bytes;
    }
    if garbage > PAGE_SIZE - heap {
        return Err(damaged(id, 8, "more dead bytes than there are bytes of cells").into());
    }
    write_counts(pages, id, count - 1, heap, garbage)
}

/// Replaces a cell's value if the new one is not longer, by the bytes that differ. `false`, and no
/// change, if it is.
pub fn overwrite<P: TreePages + ?Sized>(
    pages: &mut P,
    id: PageId,
    slot: usize,
    value: &[u8],
) -> Result<bool, P::Error> {
    let node = Node::read_to_write(pages, id)?;
    let cell = node.cell(slot)?;
    let Some(shorter) = cell.value.len().checked_sub(value.len()) else {
        return Ok(false);
    };
    let differ = |(old, new): (&u8, &u8)| old != new;
    let first = cell.value.iter().zip(value).position(differ);
    let last = cell.value.iter().zip(value).rposition(differ);
    let (length_at, value_at) = (cell.at + 2, cell.at + CELL + cell.key.len());
    let (count, heap, garbage) = (node.count, node.heap, node.garbage + shorter);
    if let (Some(first), Some(last)) = (first, last) {
        pages
            .write(id, value_at + first..value_at + last + 1)?
            .copy_from_slice(&value[first..=last]);
    }
    if shorter > 0 {
        pages
            .write(id, length_at..length_at + 2)?
            .copy_from_slice(&short(value.len()));
        write_counts(pages, id, count, heap, garbage)?;
    }
    Ok(true)
}

/// Cuts off all cells from a place of the array on.
pub fn truncate<P: TreePages + ?Sized>(
    pages: &mut P,
    id: PageId,
    from: usize,
) -> Result<(), P::Error> {
    let node = Node::read_to_write(pages, id)?;
    let mut dead = node.garbage;
    for slot in from..node.count {
        dead += node.cell(slot)?.room() - SLOT;
    }
    let heap = if from == 0 { PAGE_SIZE } else { node.heap };
    let garbage = if from == 0 { 0 } else { dead };
    if garbage > PAGE_SIZE - heap {
        return Err(damaged(id, 8, "more dead bytes than there are bytes of cells").into());
    }
    write_counts(pages, id, from, heap, garbage)
}

/// Moves the cells together at the page's end.
fn compact<P: TreePages + ?Sized>(pages: &mut P, id: PageId) -> Result<(), P::Error> {
    let node = Node::read_to_write(pages, id)?;
    let mut built = Built::new(node.level, u32_at(node.bytes, 12));
    for slot in 0..node.count {
        let cell = node.cell(slot)?;
        if !built.push(cell.key, cell.value) {
            return Err(damaged(id, cell.at, "cells that overlap").into());
        }
    }
    built.write(pages, id)
}

/// A node's page being made.
pub struct Built {
    bytes: Page,
    count: usize,
    heap: usize,
}

impl Built {
    /// A node without cells.
    pub fn new(level: u8, leftmost: u32) -> Built {
        let mut bytes = [0; PAGE_SIZE];
        bytes[..3].copy_from_slice(&MAGIC);
        bytes[3] = level;
        bytes[12..HEADER].copy_from_slice(&leftmost.to_le_bytes());
        let (count, heap) = (0, PAGE_SIZE);
        Built { bytes, count, heap }
    }

    /// Appends a cell; `false` if there is no room.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> bool {
        let slot = HEADER + SLOT * self.count;
        let room = room(key, value);
        if self.heap - slot < room {
            return false;
        }
        let end = self.heap;
        self.heap = end + SLOT - room;
        let cell = &mut self.bytes[self.heap..end];
        cell[..2].copy_from_slice(&short(key.len()));
        cell[2..CELL].copy_from_slice(&short(value.len()));
        cell[CELL..CELL + key.len()].copy_from_slice(key);
        cell[CELL + key.len()..].copy_from_slice(value);
        self.bytes[slot..slot + SLOT].copy_from_slice(&short(self.heap));
        self.count += 1;
        true
    }

    /// Replaces the content of the page `id` by the built node.
    pub fn write<P: TreePages + ?Sized>(
        mut self,
        pages: &mut P,
        id: PageId,
    ) -> Result<(), P::Error> {
        self.bytes[4..6].copy_from_slice(&short(self.count));
        self.bytes[6..8].copy_from_slice(&short(self.heap));
        debug_assert_eq!(u16_at(&self.bytes, 8), 0);
        for range in [0..HEADER + SLOT * self.count, self.heap..PAGE_SIZE] {
            if !range.is_empty() {
                pages
                    .write(id, range.clone())?
                    .copy_from_slice(&self.bytes[range]);
            }
        }
        Ok(())
    }
}
