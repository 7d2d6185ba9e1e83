//! Replacing a value by another in cells, over a store's operations on one cell.
//!
//! Cells that fit are used again, and only their differing bytes are written. [`Replacement::of`] changes nothing: a
//! store that has to make room calls it first.
//!
//! Invariant: every cell that a reference leads to is occupied, and a cell that no reference leads to any more is freed.

use super::{CLASS_BYTES_MAX, NEXT_BYTES, Reference, layout_of, next_cell};
use sardonyx_storage::page::Address;
use std::ops::Range;

/// A cell of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cell {
    /// Its place.
    pub address: Address,
    /// Its size class.
    pub class: u8,
}

/// Pages of a table that have cells.
pub trait CellStore {
    /// The store's error.
    type Error;

    /// The size class of the page that a cell of a value is in.
    ///
    /// # Errors
    /// If that is no page of values.
    fn class_of(&self, cell: Address) -> Result<u8, Self::Error>;

    /// The word with which a cell begins.
    ///
    /// # Errors
    /// That the page cannot be read.
    fn first_word(&self, cell: Address) -> Result<u64, Self::Error>;

    /// Takes a free cell of a class.
    ///
    /// # Errors
    /// There are no more pages.
    fn take_cell(&mut self, class: u8) -> Result<Address, Self::Error>;

    /// Frees a cell.
    ///
    /// # Errors
    /// That the page cannot be changed.
    fn free_cell(&mut self, cell: Cell) -> Result<(), Self::Error>;

    /// Has a cell, whose content means nothing, begin with these bytes.
    ///
    /// # Errors
    /// That the page cannot be changed.
    fn write_cell(&mut self, cell: Address, content: &[u8]) -> Result<(), Self::Error>;

    /// Has a cell begin with these bytes, of which some may be there already: only the differing ones are written.
    ///
    /// # Errors
    /// The page cannot be changed.
    fn change_cell(&mut self, cell: Address, content: &[u8]) -> Result<(), Self::Error>;
}

/// A value that is to take the place of another one.
#[derive(Clone, Debug)]
pub struct Replacement {
    /// The cells of the former value.
    cells: Vec<Cell>,
    /// So many of them, the first ones, are used again.
    kept: usize,
    /// The reference, if the value is in it.
    inline: Option<Reference>,
}

impl Replacement {
    /// The replacement of the value of a reference, [`Reference::default`] if there is none, by this one.
    ///
    /// # Errors
    /// The errors of reading the cells.
    #[inline]
    pub fn of<S: CellStore>(store: &S, before: Reference, value: &[u8]) -> Result<Self, S::Error> {
        let cells = cells_of(store, before)?;
        let inline = Reference::inline(value);
        let kept = match inline {
            Some(_) => 0,
            None => kept(&cells, value.len()),
        };
        Ok(Replacement {
            cells,
            kept,
            inline,
        })
    }

    /// The reference, if the value is in it.
    #[inline]
    pub fn inline(&self) -> Option<Reference> {
        self.inline
    }

    /// The number of cells that are used again.
    #[inline]
    pub fn kept(&self) -> usize {
        self.kept
    }

    /// The number of cells that are freed.
    #[inline]
    pub fn freed(&self) -> usize {
        self.cells.len() - self.kept
    }

    /// Puts the value there, and returns its reference, which the caller puts into the row.
    ///
    /// # Errors
    /// The errors of the store; a part is done then, and the store undoes it.
    #[inline]
    pub fn carry_out<S: CellStore>(
        mut self,
        store: &mut S,
        value: &[u8],
    ) -> Result<Reference, S::Error> {
        for cell in self.cells.drain(self.kept..) {
            store.free_cell(cell)?;
        }
        if let Some(reference) = self.inline {
            return Ok(reference);
        }
        take_cells(store, &mut self.cells, value.len())?;
        let all = 0..self.cells.len();
        fill_cells(store, (&self.cells, self.kept), all, value.len(), value)?;
        let first = self.cells.first().expect("a long value has cells");
        Ok(Reference::outside(value, first.address))
    }
}

/// The class of the one cell that a value takes: that of the value before it, or a new one if there is none. `None` if it
/// takes more or no cells, or others than these; then use [`Replacement`]. Most long values are such.
///
/// # Errors
/// The errors of reading the cell.
#[inline]
pub fn alone<S: CellStore>(
    store: &S,
    before: Reference,
    value: &[u8],
) -> Result<Option<u8>, S::Error> {
    if value.len() <= super::INLINE_BYTES_MAX {
        return Ok(None);
    }
    let (class, bytes) = next_cell(value.len());
    let is_same = match before.cell() {
        None => true,
        Some(cell) => store.class_of(cell)? == class && before.len() <= layout_of(class).stride,
    };
    Ok((is_same && bytes == value.len()).then_some(class))
}

/// Puts a value into a cell of its [own](alone), and returns its reference.
///
/// # Errors
/// As [`Replacement::carry_out`].
#[inline]
pub fn put_alone<S: CellStore>(
    store: &mut S,
    class: u8,
    before: Reference,
    value: &[u8],
) -> Result<Reference, S::Error> {
    let cell = match before.cell() {
        Some(cell) => {
            store.change_cell(cell, value)?;
            cell
        }
        None => {
            let cell = store.take_cell(class)?;
            store.write_cell(cell, value)?;
            cell
        }
    };
    Ok(Reference::outside(value, cell))
}

/// The number of cells that a value of this length takes.
pub fn cells_for(length: usize) -> usize {
    if length <= super::INLINE_BYTES_MAX {
        return 0;
    }
    let (mut left, mut cells) = (length, 0);
    while left > 0 {
        left -= next_cell(left).1;
        cells += 1;
    }
    cells
}

/// The cells of a value.
pub(super) fn cells_of<S: CellStore>(
    store: &S,
    reference: Reference,
) -> Result<Vec<Cell>, S::Error> {
    let mut cells = Vec::new();
    let Some(mut address) = reference.cell() else {
        return Ok(cells);
    };
    let mut left = reference.len();
    loop {
        let class = store.class_of(address)?;
        cells.push(Cell { address, class });
        let stride = layout_of(class).stride;
        if left <= stride {
            return Ok(cells);
        }
        left -= stride - NEXT_BYTES;
        address = Address(store.first_word(address)?);
    }
}

/// The number of a value's cells that are of use for one of this length: the first ones.
pub(super) fn kept(cells: &[Cell], length: usize) -> usize {
    let mut left = length;
    let is_kept = |cell: &&Cell| {
        if left == 0 {
            return false;
        }
        let (class, bytes) = next_cell(left);
        left -= bytes;
        cell.class == class
    };
    cells.iter().take_while(is_kept).count()
}

/// Takes the cells that a value of this length needs behind those that it has.
pub(super) fn take_cells<S: CellStore>(
    store: &mut S,
    cells: &mut Vec<Cell>,
    length: usize,
) -> Result<(), S::Error> {
    let mut left = length;
    let mut at = 0;
    while left > 0 {
        let (class, bytes) = next_cell(left);
        if at == cells.len() {
            let address = store.take_cell(class)?;
            cells.push(Cell { address, class });
        }
        debug_assert_eq!(cells[at].class, class);
        left -= bytes;
        at += 1;
    }
    Ok(())
}

/// Writes bytes of a value into a range of its cells, of which the first `kept` have content that may be the same. From the
/// first of the range on the value has `left` bytes; those of the range are given.
pub(super) fn fill_cells<S: CellStore>(
    store: &mut S,
    (cells, kept): (&[Cell], usize),
    range: Range<usize>,
    left: usize,
    value: &[u8],
) -> Result<(), S::Error> {
    if let [cell] = cells {
        // The common value: nothing is put together.
        return match kept {
            0 => store.write_cell(cell.address, value),
            _ => store.change_cell(cell.address, value),
        };
    }
    let mut content = [0; CLASS_BYTES_MAX];
    let (mut left, mut value) = (left, value);
    for number in range {
        let mut length = 0;
        if let Some(next) = cells.get(number + 1) {
            content[..NEXT_BYTES].copy_from_slice(&next.address.0.to_le_bytes());
            length = NEXT_BYTES;
        }
        let (_, bytes) = next_cell(left);
        let (part, rest) = value.split_at(bytes);
        content[length..length + bytes].copy_from_slice(part);
        length += bytes;
        (left, value) = (left - bytes, rest);
        match number < kept {
            true => store.change_cell(cells[number].address, &content[..length])?,
            false => store.write_cell(cells[number].address, &content[..length])?,
        }
    }
    debug_assert!(value.is_empty());
    Ok(())
}
