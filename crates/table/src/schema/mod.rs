//! What a table's rows are, known at run time: columns with names and types, keys, indexes, conditions.
//!
//! A schema stands in the database, one for each table (see [`Schema`]). A program's record type is checked
//! against it by name and type when its table is opened; a client that comes by a wire or from another
//! language has nothing else to read rows by. Whoever reads rows, by whichever way, goes by the same bytes: a
//! column of a fixed width stands at its offset in the row's fixed part, as `repr(C)` would put it, and text
//! and bytes stand there as references of 16 bytes.

mod column;
mod index;
mod types;
mod value;

pub use column::{Column, NullBit};
pub use index::{ForeignKey, IndexDefinition, IndexKind, KeyPart, OnDelete};
pub use types::Type;
pub use value::{Value, ValueRef};

/// The most columns of a table, dropped ones included.
pub const COLUMNS_MAX: usize = 512;
/// The most indexes of a table, that of its primary key included.
pub const INDEXES_MAX: usize = 32;
/// The most columns of one index.
pub const KEY_COLUMNS_MAX: usize = 16;
/// The longest text or bytes in a row, in bytes.
pub const VALUE_BYTES_MAX: usize = 16 << 20;
/// The longest encoded key of an index, in bytes.
pub const KEY_BYTES_MAX: usize = 4096;

/// What the rows of a table are.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Schema {
    /// In the order in which they were declared; dropped ones stay here, so that numbers of columns hold.
    pub columns: Vec<Column>,
    /// The index of the primary key: always unique, none of its columns nullable.
    pub primary: IndexDefinition,
    /// The others.
    pub indexes: Vec<IndexDefinition>,
    /// References to rows of other tables.
    pub foreign_keys: Vec<ForeignKey>,
    /// Conditions that every row meets: a name and a condition as text, in the language of
    /// conditions.
    pub checks: Vec<(String, String)>,
    /// Bytes of a row's fixed part; a multiple of 8.
    pub row_bytes: usize,
}

impl Schema {
    /// The number of the column with this name.
    pub fn column(&self, name: &str) -> Option<usize> {
        let named = |column: &Column| !column.dropped && column.name == name;
        self.columns.iter().position(named)
    }

    /// The columns that are not dropped, with their numbers.
    pub fn live_columns(&self) -> impl Iterator<Item = (usize, &Column)> {
        let columns = self.columns.iter().enumerate();
        columns.filter(|(_, column)| !column.dropped)
    }
}
