//! Why an operation on a record failed.

#![allow(missing_docs, reason = "the text of each error names its fields")]

use crate::operation::INVERSE_BYTES_MAX;
use crate::pages::Stop;
use sardonyx_rows::TableError;
use std::sync::Arc;

/// The most bytes of a row with its texts and bytes: the inverse of its change has all of them, and its key.
pub const ROW_BYTES_MAX: usize = INVERSE_BYTES_MAX - 8192;

/// The reason why an operation on a table's records failed. It had no effect then.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The subtransaction cannot go on.
    #[error(transparent)]
    Stop(#[from] Stop),
    /// [`Insert`](super::Insert) found the key.
    #[error("table {table:?} has a record with this key already: use `update` to change it")]
    Duplicate { table: &'static str },
    /// [`Update`](super::Update) changed the key.
    #[error("an update changed the primary key in table {table:?}; delete and insert instead")]
    KeyChanged { table: &'static str },
    /// The row would be longer than the inverse of its changes can be.
    #[error(
        "a row of table {table:?} has {bytes} bytes with its texts and bytes, the limit of operations is {limit}: shorten \
         them, or keep them in several rows"
    )]
    TooLong {
        table: &'static str,
        /// Bytes of the row.
        bytes: usize,
        limit: usize,
    },
    /// A value is not of its column, a key not of the table, the handle is of another table, or a row is damaged.
    #[error(transparent)]
    Row(Arc<TableError>),
    /// The data of a [`Restore`](super::Restore) is not a record of its table.
    #[error("the inverse is not of a record of table number {number}: restore a backup")]
    Inverse {
        /// The table's number.
        number: u16,
    },
    /// The handle is not of this database.
    #[error(
        "there is no table number {number} of such records: the handle belongs to another database"
    )]
    NoTable {
        /// The handle's number.
        number: u16,
    },
}
