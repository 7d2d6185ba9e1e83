//! What can go wrong with a table.

use crate::condition::ConditionError;
use crate::rows::RowError;
use crate::schema::SchemaError;
use sardonyx_base::error::{CrateError, Error, Kind};
use sardonyx_storage::catalogue::CatalogueError;
use sardonyx_storage::log::LogError;
use sardonyx_storage::store::StoreError;
use std::convert::Infallible;

/// What names begin with that programs cannot give.
pub(crate) const RESERVED: &str = "sardonyx.";

/// A failed operation on a table or journal.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// A record with this key is there already.
    #[error("table {table:?} has a record with key {key} already")]
    DuplicateKey {
        /// The table.
        table: String,
        /// The key's bytes as hexadecimal digits, or its columns' values.
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
    /// A handle is used with a database that has no such table, journal or area.
    #[error(
        "there is no such table, journal or area under number {number}: the handle belongs to \
         another database"
    )]
    UnknownHandle {
        /// The handle's number.
        number: u16,
    },
    /// A table or journal cannot have this name.
    #[error(
        "{name:?} is a name of the engine's own: those begin with {RESERVED:?}; choose another"
    )]
    ReservedName {
        /// The name.
        name: String,
    },
    /// A table cannot have this schema.
    #[error("table {table:?}: {source}")]
    Schema {
        /// The table.
        table: String,
        /// What is wrong.
        source: SchemaError,
    },
    /// A program and the database say different things of a table's rows.
    #[error("table {table:?} is not what the program says: {text}")]
    SchemaDiffers {
        /// The table.
        table: String,
        /// Both sides, and what to do.
        text: String,
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
    /// The log has no room for the transaction's redo records, or has failed. The operation did nothing;
    /// abort.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The catalogue is damaged, says otherwise, or has no room.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    /// Rows of another table refer to this one's.
    #[error(
        "table {table:?} cannot go: {by:?} refers to it by its foreign key {reference:?}; drop that first"
    )]
    Referenced {
        /// The table.
        table: String,
        /// The one that refers to it.
        by: String,
        /// The name of the foreign key there.
        reference: String,
    },
    /// A text is no condition on the table's rows.
    #[error(transparent)]
    Condition(#[from] ConditionError),
    /// A value does not fit its column, or there is no such column.
    #[error(transparent)]
    Row(#[from] RowError),
    /// No memory for more pages.
    #[error(transparent)]
    Store(#[from] StoreError),
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

impl From<Infallible> for TableError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl CrateError for TableError {
    fn kind(&self) -> Kind {
        match self {
            TableError::DuplicateKey { .. } => Error::Duplicate,
            TableError::KeyChanged { .. }
            | TableError::StaleRow { .. }
            | TableError::UnknownHandle { .. }
            | TableError::SchemaDiffers { .. }
            | TableError::ReservedName { .. }
            | TableError::Referenced { .. }
            | TableError::Condition(_) => Error::Refused,
            TableError::Schema { source, .. } => match source {
                SchemaError::TooMany { .. } | SchemaError::RowTooLong { .. } => Error::Limit,
                SchemaError::Damaged { .. } => Error::Damaged,
                _ => Error::Refused,
            },
            TableError::TransactionTooLarge { .. } => Error::Limit,
            TableError::Catalogue(error) => error.kind(),
            TableError::Log(error) => error.kind(),
            TableError::Row(error) => error.kind(),
            TableError::Store(error) => error.kind(),
            TableError::DamagedTable { .. } => Error::Damaged,
        }
    }

    fn into_error(self) -> Error {
        match self {
            TableError::Catalogue(error) => error.into(),
            TableError::Log(error) => error.into(),
            error => error.kind()(error.into()),
        }
    }
}
