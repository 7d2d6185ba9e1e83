//! Text and bytes of any length: a reference of 16 bytes in the row's fixed part, which has short ones in
//! itself, and cells in value pages for the others.
//!
//! ```text
//! 0        4                                   16
//! ├ length ┼ up to 12 bytes, then zeroes ──────┤   12 bytes or fewer
//! ├ length ┼ the first 4 ┼ address of a cell ──┤   more
//! ```
//!
//! A value page has cells of one size class, and an occupancy bitmap and a trailer as pages of rows have. A cell that
//! is large enough for the rest of a value holds it, from its first byte on. A smaller cell holds the address of the
//! next cell and fills the rest. So the page's class and the remaining bytes determine the content of a cell, and a
//! writer is free to choose the classes.
//!
//! Every occupied cell belongs to exactly one reference, of a row that exists: a store checks that when a database is
//! opened.

mod cells;
mod classes;
mod overwriting;

pub use cells::{Cell, CellStore, Replacement, alone, cells_for, put_alone};
pub use classes::{CELL_BYTES_MIN, CLASS_BYTES_MAX, CLASSES, layout_of, next_cell};
pub use overwriting::Overwriting;

use crate::error::TableError;
use crate::layout::{PageKind, PageLayout, PageUse};
use sardonyx_storage::page::Address;
use sardonyx_storage::store::PageRead;
use std::ops::Range;

/// Bytes of a reference.
pub const REFERENCE_BYTES: usize = 16;
/// The most bytes that the reference itself can hold.
pub const INLINE_BYTES_MAX: usize = 12;
/// Bytes of a cell that hold the address of the next one.
pub const NEXT_BYTES: usize = 8;

/// The reference of a text or bytes in a row. Equal short values have equal references.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Reference(pub [u8; REFERENCE_BYTES]);

impl Reference {
    /// The one at a place of a row.
    #[inline]
    pub fn at(row: &[u8], offset: usize) -> Self {
        let bytes = &row[offset..][..REFERENCE_BYTES];
        Reference(bytes.try_into().expect("16 bytes"))
    }

    /// A reference that holds the value itself; `None` if it is too long.
    #[inline]
    pub fn inline(value: &[u8]) -> Option<Self> {
        let mut reference = Reference::default();
        reference.0[4..]
            .get_mut(..value.len())?
            .copy_from_slice(value);
        reference.0[..4].copy_from_slice(&(value.len() as u32).to_le_bytes());
        Some(reference)
    }

    /// The reference of a long value that starts in this cell.
    #[inline]
    pub fn outside(value: &[u8], cell: Address) -> Self {
        let start = value[..4].try_into().expect("4 bytes");
        Reference::of_long(value.len(), start, cell)
    }

    /// The reference of a long value of so many bytes, which starts with these, in this cell.
    #[inline]
    pub(crate) fn of_long(length: usize, start: [u8; 4], cell: Address) -> Self {
        let mut reference = Reference::default();
        reference.0[..4].copy_from_slice(&(length as u32).to_le_bytes());
        reference.0[4..8].copy_from_slice(&start);
        reference.0[8..].copy_from_slice(&cell.0.to_le_bytes());
        reference
    }

    /// Bytes of the value.
    #[inline]
    #[allow(
        clippy::len_without_is_empty,
        reason = "it is the value's, not the reference's"
    )]
    pub fn len(&self) -> usize {
        u32::from_le_bytes(self.0[..4].try_into().expect("4 bytes")) as usize
    }

    /// The address of the value's first cell; `None` if the reference holds the value.
    #[inline]
    pub fn cell(&self) -> Option<Address> {
        let address = || u64::from_le_bytes(self.0[8..].try_into().expect("8 bytes"));
        (self.len() > INLINE_BYTES_MAX).then(|| Address(address()))
    }

    /// The value's first bytes that the reference holds: all of a short one, 4 of a long one.
    #[inline]
    pub fn start(&self) -> &[u8] {
        match self.len() {
            length @ 0..=INLINE_BYTES_MAX => &self.0[4..4 + length],
            _ => &self.0[4..8],
        }
    }
}

/// Bytes of the cells of a page, from its trailer.
#[inline]
pub(crate) fn cell_bytes<P: PageRead + ?Sized>(
    pages: &P,
    cell: Address,
    table: &str,
) -> Result<usize, TableError>
where
    TableError: From<P::Error>,
{
    let word = pages.word(PageLayout::table_word(cell.page()))?;
    match PageUse::of_word(word) {
        Some(PageUse {
            kind: PageKind::Values { class },
            ..
        }) if usize::from(class) < CLASSES => Ok(layout_of(class).stride),
        _ => Err(not_a_cell(table, cell)),
    }
}

#[cold]
fn not_a_cell(table: &str, cell: Address) -> TableError {
    TableError::DamagedTable {
        table: table.to_string(),
        page: cell.page().0,
        offset: cell.offset_in_page(),
        reason: "the value is not in a page of values",
    }
}

/// A long value, borrowed from its cell, if the pages are live ones and it has only one cell.
#[inline]
pub fn borrow_value<'a, P: PageRead + ?Sized>(
    pages: &'a P,
    reference: &Reference,
    table: &str,
) -> Result<Option<&'a [u8]>, TableError>
where
    TableError: From<P::Error>,
{
    let (Some(cell), length) = (reference.cell(), reference.len()) else {
        return Ok(None);
    };
    if pages.has_whole_values() {
        return Ok(pages.borrowed(cell, length));
    }
    // Only live pages can be borrowed from.
    let Some(bytes) = pages.borrowed(cell, length.min(NEXT_BYTES)) else {
        return Ok(None);
    };
    debug_assert_eq!(bytes.len(), NEXT_BYTES);
    // Each cell is large enough for a value as short as the smallest: its page need not be looked at.
    if length > CELL_BYTES_MIN && length > cell_bytes(pages, cell, table)? {
        return Ok(None);
    }
    Ok(pages.borrowed(cell, length))
}

/// Appends a value to `out`, from however many cells.
///
/// # Errors
/// [`TableError::DamagedTable`], or that the snapshot was ended.
pub fn read_value<P: PageRead + ?Sized>(
    pages: &P,
    reference: &Reference,
    table: &str,
    out: &mut Vec<u8>,
) -> Result<(), TableError>
where
    TableError: From<P::Error>,
{
    read_part(pages, reference, table, 0..reference.len(), out)
}

/// Appends the bytes of a range of a value to `out`, as far as the value has them. Cells before the range are not copied,
/// those behind it are not looked at.
///
/// # Errors
/// As [`read_value`].
pub fn read_part<P: PageRead + ?Sized>(
    pages: &P,
    reference: &Reference,
    table: &str,
    range: Range<usize>,
    out: &mut Vec<u8>,
) -> Result<(), TableError>
where
    TableError: From<P::Error>,
{
    let range = range.start.min(reference.len())..range.end.min(reference.len());
    match reference.cell() {
        _ if range.is_empty() => Ok(()),
        None => {
            out.extend_from_slice(&reference.start()[range]);
            Ok(())
        }
        Some(cell) => read_cells(pages, (cell, reference.len()), table, range, out),
    }
}

/// Appends a range of the bytes that a cell and the cells behind it have, which are so many.
fn read_cells<P: PageRead + ?Sized>(
    pages: &P,
    (mut cell, mut left): (Address, usize),
    table: &str,
    range: Range<usize>,
    out: &mut Vec<u8>,
) -> Result<(), TableError>
where
    TableError: From<P::Error>,
{
    let (mut skipped, mut wanted) = (range.start, range.len());
    out.reserve(wanted.next_multiple_of(NEXT_BYTES));
    if pages.has_whole_values() {
        return read_bytes(pages, Address(cell.0 + skipped as u64), wanted, out);
    }
    loop {
        let bytes = cell_bytes(pages, cell, table)?;
        let (at, there) = match left <= bytes {
            true => (0, left),
            false => (NEXT_BYTES, bytes - NEXT_BYTES),
        };
        if skipped < there {
            let taken = wanted.min(there - skipped);
            read_bytes(pages, Address(cell.0 + (at + skipped) as u64), taken, out)?;
            wanted -= taken;
        }
        if wanted == 0 || at == 0 {
            return Ok(());
        }
        skipped = skipped.saturating_sub(there);
        left -= there;
        cell = Address(pages.word(cell)?);
    }
}

/// Appends bytes of one cell.
fn read_bytes<P: PageRead + ?Sized>(
    pages: &P,
    at: Address,
    count: usize,
    out: &mut Vec<u8>,
) -> Result<(), TableError>
where
    TableError: From<P::Error>,
{
    if let Some(bytes) = pages.borrowed(at, count) {
        out.extend_from_slice(bytes);
        return Ok(());
    }
    // A cell is of whole words, and words are copied without a buffer.
    let copied = match at.0.is_multiple_of(8) {
        true => count.next_multiple_of(8),
        false => count,
    };
    let before = out.len();
    out.resize(before + copied, 0);
    pages.read_into(at, &mut out[before..])?;
    out.truncate(before + count);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_values_stand_in_the_reference_and_long_ones_do_not() {
        for length in 0..=INLINE_BYTES_MAX {
            let value = vec![b'x'; length];
            let reference = Reference::inline(&value).expect("short");
            assert_eq!((reference.len(), reference.cell()), (length, None));
            assert_eq!(reference.start(), value);
        }
        assert!(Reference::inline(&[0; 13]).is_none());
        assert!(Reference::inline(&[0; 5000]).is_none());
        let reference = Reference::outside(b"a long value indeed", Address(4096));
        assert_eq!(reference.len(), 19);
        assert_eq!(reference.cell(), Some(Address(4096)));
        assert_eq!(reference.start(), b"a lo");
    }
}
