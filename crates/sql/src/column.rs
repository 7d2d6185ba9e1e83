//! The columns of results.

use crate::types::TypeSpec;

/// A column of a result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResultColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub spec: TypeSpec,
    /// The number of the table that it is a column of, and its number there from 1; both 0 if it is none.
    pub table: u32,
    /// See `table`.
    pub column: i16,
}
