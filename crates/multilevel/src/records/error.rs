//! Why an operation on a record failed.

use crate::pages::Stop;

/// Why an operation on a table's records failed. It had no effect then.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The subtransaction cannot go on.
    #[error(transparent)]
    Stop(#[from] Stop),
    /// [`Insert`](super::Insert) found the key.
    #[error("table {table:?} has a record with this key already: use `update` to change it")]
    Duplicate {
        /// The table.
        table: &'static str,
    },
    /// [`Update`](super::Update) changed the key.
    #[error("an update changed the primary key in table {table:?}; delete and insert instead")]
    KeyChanged {
        /// The table.
        table: &'static str,
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
