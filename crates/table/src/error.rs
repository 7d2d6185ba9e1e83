//! What can go wrong with a table.

use sardonyx_base::error::{Error, Kind, RoomError};
use sardonyx_storage::store::StoreError;

/// A failed operation on a table or journal.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// A record with this key is there already.
    #[error("table {table:?} has a record with key {key} already")]
    DuplicateKey {
        /// The table.
        table: String,
        /// The key's bytes, as hexadecimal digits.
        key: String,
    },
    /// An update changed the primary key; delete and insert instead.
    #[error("an update changed the primary key in table {table:?}; delete and insert instead")]
    KeyChanged {
        /// The table.
        table: String,
    },
    /// A row token outlived its record.
    #[error("the row token of a record in table {table:?} is stale: the record was deleted since")]
    StaleRow {
        /// The table.
        table: String,
    },
    /// A table, journal or area of this name has another layout.
    #[error("{name:?} is declared as {found}, but the program declares it as {declared}")]
    LayoutDiffers {
        /// The name.
        name: String,
        /// What the database has.
        found: String,
        /// What the program has.
        declared: String,
    },
    /// A handle is used with a database that has no such table, journal or area.
    #[error(
        "there is no such table, journal or area under number {number}: the handle belongs to \
         another database"
    )]
    UnknownHandle {
        /// The handle's number.
        number: u16,
    },
    /// A name, size or count is beyond its limit.
    #[error("{what} is {value}, the limit is {limit}")]
    Limit {
        /// What is limited.
        what: &'static str,
        /// Its value.
        value: u64,
        /// The limit.
        limit: u64,
    },
    /// A record's size cannot be stored.
    #[error("records of {size} bytes in {name:?} cannot be stored: {requirement}")]
    RecordSize {
        /// The table.
        name: String,
        /// The record's size in bytes.
        size: usize,
        /// What it should be.
        requirement: &'static str,
    },
    /// A table's primary key is empty or does not lie within its records.
    #[error(
        "the key of table {name:?} cannot be stored: {key_bytes} bytes at {key_offset} in records \
         of {record_bytes} bytes; it must have at least one byte and lie within the record"
    )]
    KeyPlace {
        /// The table.
        name: String,
        /// Where the key starts, in bytes.
        key_offset: usize,
        /// The key's length in bytes.
        key_bytes: usize,
        /// The record's length in bytes.
        record_bytes: usize,
    },
    /// The transaction's redo records exceed the limit. The operation did nothing; abort, and use
    /// several transactions.
    #[error(
        "the transaction has {bytes} bytes of changes, the limit is {limit}: use several \
         transactions"
    )]
    TransactionTooLarge {
        /// Bytes that it would have.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The pages have completed operations of transactions that may still be undone.
    #[error(
        "the database has {transactions} unfinished multi-level transactions: open it with the \
         multi-level way first, which undoes them"
    )]
    Unfinished {
        /// How many.
        transactions: u64,
    },
    /// No memory for more pages.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The pages do not hold a sound catalogue.
    #[error("the catalogue is damaged at page {page}, offset {offset}: {reason}")]
    Catalogue {
        /// The page.
        page: u64,
        /// The offset in the page.
        offset: usize,
        /// What is wrong there.
        reason: String,
    },
    /// The pages of a table do not hold sound records.
    #[error("table {table:?} is damaged at page {page}, offset {offset}: {reason}")]
    DamagedTable {
        /// The table.
        table: String,
        /// The page.
        page: u64,
        /// The offset in the page.
        offset: usize,
        /// What is wrong there.
        reason: &'static str,
    },
}

impl RoomError for TableError {
    fn kind(&self) -> Kind {
        match self {
            TableError::DuplicateKey { .. } => Error::Duplicate,
            TableError::KeyChanged { .. }
            | TableError::StaleRow { .. }
            | TableError::LayoutDiffers { .. }
            | TableError::UnknownHandle { .. }
            | TableError::RecordSize { .. }
            | TableError::KeyPlace { .. }
            | TableError::Unfinished { .. } => Error::Refused,
            TableError::Limit { .. } | TableError::TransactionTooLarge { .. } => Error::Limit,
            TableError::Store(error) => error.kind(),
            TableError::Catalogue { .. } | TableError::DamagedTable { .. } => Error::Damaged,
        }
    }
}
