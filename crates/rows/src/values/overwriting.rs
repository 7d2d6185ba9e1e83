//! Overwriting a part of a long value: the other cells stay, and are not read. Appending is overwriting behind the end.
//!
//! ```text
//! cells:   ├ 0 ┼ 1 ┼ 2 ┼ 3 ┤        written, if the length stays: those that have a byte of the part
//!                 ├part┤            written, if the value grows: also all behind, since cells are taken for the rest
//! ```
//!
//! The length and the kept cells determine where each byte is ([`next_cell`](super::next_cell)), so the first cells of a
//! value stay as they are when it grows.

use super::cells::{cells_of, fill_cells, kept, take_cells};
use super::{Cell, CellStore, NEXT_BYTES, Reference, layout_of, read_cells};
use crate::error::TableError;
use sardonyx_storage::store::PageRead;
use std::ops::Range;

/// Bytes that are to take the place of others of a value.
#[derive(Clone, Debug)]
pub struct Overwriting {
    before: Reference,
    /// The cells of the value before.
    cells: Vec<Cell>,
    /// So many of them, the first ones, are used again.
    kept: usize,
    /// The first byte to be overwritten.
    place: usize,
    /// Bytes of the value after.
    length: usize,
    /// The cells that are written: to the last one if the value gets others.
    written: Range<usize>,
    /// The bytes of the value in them.
    bytes: Range<usize>,
}

impl Overwriting {
    /// Overwrites so many bytes, not 0, from a place on. If the value ends before, zeroes come between. `None` of a value that
    /// is in its reference.
    ///
    /// # Errors
    /// The errors of reading the cells.
    pub fn of<S: CellStore>(
        store: &S,
        before: Reference,
        (place, count): (usize, usize),
    ) -> Result<Option<Self>, S::Error> {
        if before.cell().is_none() {
            return Ok(None);
        }
        let cells = cells_of(store, before)?;
        let length = before.len().max(place + count);
        let kept = kept(&cells, length);
        let stays = length == before.len() && kept == cells.len();
        // All cells but the last one are full.
        let in_cell = |number: usize| layout_of(cells[number].class).stride - NEXT_BYTES;
        let first = place.min(before.len());
        let (mut from, mut start) = (0, 0);
        // The last one that is kept leads to others if the value gets others.
        while from + 1 < kept && start + in_cell(from) <= first {
            start += in_cell(from);
            from += 1;
        }
        let (mut to, mut end) = (from, start);
        while stays && end < place + count {
            end += match to + 1 == kept {
                true => length - end,
                false => in_cell(to),
            };
            to += 1;
        }
        let (written, bytes) = match stays {
            true => (from..to, start..end),
            false => (from..usize::MAX, start..length),
        };
        Ok(Some(Overwriting {
            before,
            cells,
            kept,
            place,
            length,
            written,
            bytes,
        }))
    }

    /// The number of bytes that are written into cells, at most.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The number of cells that are freed.
    pub fn freed(&self) -> usize {
        self.cells.len() - self.kept
    }

    /// The bytes of the value after that are in the cells to be written, given those that overwrite.
    ///
    /// # Errors
    /// As [`read_value`](super::read_value)'s.
    pub fn content<P: PageRead + ?Sized>(
        &self,
        pages: &P,
        table: &str,
        part: &[u8],
    ) -> Result<Vec<u8>, TableError>
    where
        TableError: From<P::Error>,
    {
        let mut content = Vec::with_capacity(self.bytes.len() + NEXT_BYTES);
        let (start, before) = (self.bytes.start, self.before.len());
        if let Some(cell) = self.cells.get(self.written.start) {
            let there = 0..self.bytes.end.min(before) - start;
            read_cells(
                pages,
                (cell.address, before - start),
                table,
                there,
                &mut content,
            )?;
        }
        content.resize(self.bytes.len(), 0);
        content[self.place - start..][..part.len()].copy_from_slice(part);
        Ok(content)
    }

    /// Writes the [content](Overwriting::content), and returns the value's reference, which the caller puts into the row.
    ///
    /// # Errors
    /// As [`Replacement::carry_out`](super::Replacement::carry_out).
    pub fn carry_out<S: CellStore>(
        mut self,
        store: &mut S,
        content: &[u8],
    ) -> Result<Reference, S::Error> {
        for cell in self.cells.drain(self.kept..) {
            store.free_cell(cell)?;
        }
        take_cells(store, &mut self.cells, self.length)?;
        let written = self.written.start..self.written.end.min(self.cells.len());
        let left = self.length - self.bytes.start;
        fill_cells(store, (&self.cells, self.kept), written, left, content)?;
        let mut start = [0; 4];
        start.copy_from_slice(match self.bytes.start {
            0 => &content[..4],
            _ => self.before.start(),
        });
        let first = self.cells.first().expect("a long value has cells");
        Ok(Reference::of_long(self.length, start, first.address))
    }
}
