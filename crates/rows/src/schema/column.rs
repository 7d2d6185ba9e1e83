//! A column: its name, its type, its place in a row.

use super::{Type, Value};

/// A column of a table.
#[derive(Clone, PartialEq, Debug)]
pub struct Column {
    /// Its name, of at most 63 bytes of UTF-8; for a field of a nested struct, `outer.inner`.
    pub name: String,
    /// Decides the bytes that a value takes.
    pub kind: Type,
    /// The value of rows that are inserted without one: of the column's type, or [`Value::Null`] if there is none.
    pub default: Value,
    /// Its offset in the row's fixed part, in bytes.
    pub offset: usize,
    /// The bit that marks a null; `None` if the column is not nullable.
    pub null: Option<NullBit>,
    /// True if it was dropped: it is not read, and its place is no other column's.
    pub dropped: bool,
    /// The first shape of the table's pages that has it; rows of earlier ones have the default.
    pub since_shape: u8,
}

/// The bit of a row's fixed part that marks a column as null.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NullBit {
    /// The offset of its byte.
    pub byte: u32,
    /// The bit's number in the byte, 0 to 7.
    pub bit: u8,
}

impl Column {
    /// Returns true if it may be null.
    #[inline]
    pub fn is_nullable(&self) -> bool {
        self.null.is_some()
    }

    /// Returns true if a row may omit it: it is nullable, or has a default.
    #[inline]
    pub fn is_filled(&self) -> bool {
        self.is_nullable() || self.default != Value::Null
    }
}
