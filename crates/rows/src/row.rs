//! A row by the columns that a schema names.
//!
//! - [`RowRef`]: a row, read column by column, of pages that are live or frozen;
//! - [`RowWriter`]: values of columns, on their way into a row; [`RowValues`]: the same, borrowed;
//! - [`RowFormat`]: rows as bytes of their own, for ways of running transactions that keep them otherwise;
//! - [`fixed`]: values as the bytes of a row's fixed part; [`Placed`]: a column's place in it.
//!
//! The bytes are those that a struct of [`record!`](crate::record!) has, so a row may be written the one way
//! and read the other.
//!
//! Invariants: a value stored in a row is one of its column's type ([`fixed`]); a row that was changed meets the
//! conditions of its schema; an operation that fails has done nothing.

mod error;
pub mod fixed;
mod format;
mod placed;
mod reference;
mod values;
mod writer;

pub use error::{RowError, shown};
pub use fixed::{
    check_declared, encode, identity, same, set_column, value_in_record, variable_bytes,
};
pub use format::{KeyRange, OneRow, RowFormat};
pub use placed::{Placed, PlacedText};
pub use reference::RowRef;
pub use values::{LongValues, RowValues};
pub use writer::RowWriter;
pub(crate) use writer::has_zero_byte;
