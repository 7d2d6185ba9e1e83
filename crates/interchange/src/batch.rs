//! Rows that were read, many at a time: values by the numbers of columns, and lines that are no rows.
//!
//! All values of a batch are in one list, all texts in one buffer, all bytes in another. So reading a row
//! allocates nothing once a batch was used before.

use crate::BadRow;
use crate::error::Place;
use sardonyx_rows::schema::{Value, ValueRef};
use std::ops::Range;

/// Text and bytes after which a batch ends, so that neither memory nor a transaction gets too large.
const VARIABLE_BYTES: usize = 8 << 20;

/// A value; of text and bytes, its place in its buffer.
#[derive(Debug)]
enum Cell {
    Value(Value),
    Text(usize, usize),
    Bytes(usize, usize),
}

/// Rows that were read.
#[derive(Debug, Default)]
pub struct Batch {
    columns: Vec<u16>,
    cells: Vec<Cell>,
    /// The place of each row in the file and the end of its cells.
    rows: Vec<(Place, usize)>,
    text: String,
    bytes: Vec<u8>,
    /// Rows that do not fit the table; none of their cells are in the batch.
    pub bad: Vec<BadRow>,
    /// About how many bytes of the file were read when the batch ended.
    pub position: u64,
}

impl Batch {
    /// Empties it, and keeps its memory.
    pub fn clear(&mut self) {
        self.columns.clear();
        self.cells.clear();
        self.rows.clear();
        self.text.clear();
        self.bytes.clear();
        self.bad.clear();
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True without rows; it may have bad ones.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// True if it has so many rows, good or bad, or as much text and bytes as a batch should have.
    pub(crate) fn is_full(&self, rows: usize) -> bool {
        self.rows.len() + self.bad.len() >= rows
            || self.text.len() + self.bytes.len() >= VARIABLE_BYTES
    }

    /// Each row: its place in the file, and its values by the numbers of columns.
    pub fn rows(
        &self,
    ) -> impl Iterator<Item = (Place, impl Iterator<Item = (usize, ValueRef<'_>)>)> {
        let mut start = 0;
        self.rows.iter().map(move |&(place, end)| {
            let cells = std::mem::replace(&mut start, end)..end;
            (place, self.values(cells))
        })
    }

    fn values(&self, cells: Range<usize>) -> impl Iterator<Item = (usize, ValueRef<'_>)> {
        let columns = self.columns.get(cells.clone()).unwrap_or_default();
        let cells = self.cells.get(cells).unwrap_or_default();
        columns.iter().zip(cells).map(|(column, cell)| {
            let value = match cell {
                Cell::Value(value) => value.as_ref(),
                Cell::Text(from, to) => {
                    ValueRef::Text(self.text.get(*from..*to).unwrap_or_default())
                }
                Cell::Bytes(from, to) => {
                    ValueRef::Bytes(self.bytes.get(*from..*to).unwrap_or_default())
                }
            };
            (usize::from(*column), value)
        })
    }

    /// Adds a value to the row that is being read.
    pub(crate) fn push(&mut self, column: usize, value: ValueRef<'_>) {
        let cell = match value {
            ValueRef::Text(text) => {
                let from = self.text.len();
                self.text.push_str(text);
                Cell::Text(from, self.text.len())
            }
            ValueRef::Bytes(bytes) => {
                let from = self.bytes.len();
                self.bytes.extend_from_slice(bytes);
                Cell::Bytes(from, self.bytes.len())
            }
            other => Cell::Value(other.to_value()),
        };
        // A table has at most 512 columns.
        self.columns.push(column as u16);
        self.cells.push(cell);
    }

    /// Ends the row that is being read.
    pub(crate) fn end_row(&mut self, place: Place) {
        self.rows.push((place, self.cells.len()));
    }

    /// Forgets the values of the row that is being read: it is a bad one.
    pub(crate) fn end_bad_row(&mut self, bad: BadRow) {
        let end = self.rows.last().map_or(0, |(_, end)| *end);
        self.columns.truncate(end);
        self.cells.truncate(end);
        self.bad.push(bad);
    }
}
