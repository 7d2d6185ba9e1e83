//! Errors of tables.

#![allow(missing_docs, reason = "the text of each error names its fields")]

use crate::condition::ConditionError;
use crate::open::{Conflict, TransactionEnded};
use crate::row::RowError;
use crate::schema::{PRIMARY, SchemaError, Value};
use sardonyx_base::error::{CrateError, Error, Kind};
use sardonyx_storage::catalogue::CatalogueError;
use sardonyx_storage::log::LogError;
use sardonyx_storage::store::{SnapshotEnded, StoreError};
use std::convert::Infallible;

/// The prefix of names that programs cannot give.
pub const RESERVED: &str = "sardonyx.";

/// A failed operation on a table or journal.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// A record with this key exists already.
    #[error("table {table:?} has a record with key {key} already")]
    DuplicateKey {
        table: String,
        /// The key's bytes as hexadecimal digits, or its columns' values.
        key: String,
        /// The values of its columns, where they are known.
        values: Box<[Value]>,
    },
    /// An update changed the primary key; delete and insert instead.
    #[error("an update changed the primary key in table {table:?}; delete and insert instead")]
    KeyChanged { table: String },
    /// A row token outlived its record.
    #[error("the row token of a record in table {table:?} is stale: the record was deleted since")]
    StaleRow { table: String },
    /// A handle is used with a database that has no such table, journal or area.
    #[error(
        "there is no such table, journal or area under number {number}: the handle belongs to \
         another database"
    )]
    UnknownHandle {
        /// The handle's number.
        number: u16,
    },
    /// A transaction is to go back to a place that it has not marked.
    #[error(
        "the transaction has no such savepoint: it is of another transaction, or behind one to which this one has returned"
    )]
    NoSavepoint,
    /// A table or journal cannot have this name.
    #[error(
        "{name:?} is a name of the engine's own: those begin with {RESERVED:?}; choose another"
    )]
    ReservedName { name: String },
    /// A table cannot have this schema.
    #[error("table {table:?}: {source}")]
    Schema {
        table: String,
        /// The reason.
        source: Box<SchemaError>,
    },
    /// A program and the database declare different rows of a table.
    #[error("table {table:?} differs from the program's declaration: {text}")]
    SchemaDiffers {
        table: String,
        /// Both sides, and the remedy.
        text: String,
    },
    /// A way of running transactions that maintains only rows was asked for a table that has more.
    #[error(
        "table {table:?} has {what}, which only transactions of tables maintain, not operations: open the \
         database as tables to use it, or give the operations a table without it"
    )]
    BeyondRecords {
        table: String,
        /// The feature that operations do not maintain.
        what: &'static str,
    },
    /// A stored value is not of the type of a program's field.
    #[error(
        "table {table:?} has {value} in field {field:?}, which is no value of the field's type"
    )]
    Field {
        table: String,
        field: String,
        value: String,
    },
    /// A row of a journal is longer than one may be.
    #[error(
        "a row of journal {journal:?} has {bytes} bytes, the limit is {}: shorten its texts, or keep them in a table",
        sardonyx_storage::log::record::RECORD_BYTES_MAX
    )]
    JournalRowTooLong {
        journal: String,
        /// Bytes of the row.
        bytes: usize,
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
        limit: usize,
    },
    /// The log has no room for the transaction's redo records, or has failed. The operation did nothing;
    /// abort.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The catalogue is damaged, has another definition, or is full.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    /// Rows of another table refer to this one's.
    #[error(
        "table {table:?} cannot be dropped or emptied: {by:?} refers to it by its foreign key {reference:?}; drop \
         that first"
    )]
    TableReferenced {
        table: String,
        /// The one that refers to it.
        by: String,
        /// The name of the foreign key there.
        reference: String,
    },
    /// A text is no condition on the table's rows.
    #[error(transparent)]
    Condition(Box<ConditionError>),
    /// A unique index has a row with this key already.
    #[error("table {table:?} has a row with {key} in the unique index {index:?} already")]
    DuplicateValue {
        table: String,
        index: String,
        /// The key's values, as a text.
        key: String,
        /// The key's values.
        values: Box<[Value]>,
    },
    /// There is no such index.
    #[error("table {table:?} has no index {index:?}{}", unordered(index))]
    UnknownIndex { table: String, index: String },
    /// A range of an index's keys ends before it begins.
    #[error(
        "the range of index {index:?} of table {table:?} ends before it begins; `.rev()` gives the rows of a range in reverse"
    )]
    ReversedRange { table: String, index: String },
    /// A key is longer than keys may be, once it is encoded.
    #[error(
        "a key of the index {index:?} of table {table:?} has {bytes} bytes, the limit is {}: shorten its text or \
         bytes, or index another column",
        crate::schema::KEY_BYTES_MAX
    )]
    KeyTooLong {
        table: String,
        index: String,
        /// Bytes of the encoded key.
        bytes: usize,
    },
    /// More values were given than the key has columns.
    #[error(
        "the index {index:?} of table {table:?} has {columns} columns, but {values} values were given"
    )]
    KeyColumns {
        table: String,
        index: String,
        values: usize,
        /// Columns of the key.
        columns: usize,
    },
    /// A value that is looked for in an index is no value of its column.
    #[error(
        "{value} is no value of the column {column:?} of table {table:?} (index {index:?}), which is of type {expected}"
    )]
    KeyValue {
        table: String,
        index: String,
        column: String,
        /// The column's type.
        expected: Box<str>,
        value: Box<str>,
    },
    /// A row refers to a row that is not there.
    #[error(
        "a row of table {table:?} violates foreign key constraint {foreign_key:?}: table {referenced:?} has no row {key}"
    )]
    NoSuchReference {
        table: String,
        foreign_key: Box<str>,
        referenced: String,
        /// The values, as a text.
        key: Box<str>,
        /// The key's values, in the order of its columns.
        values: Box<[Value]>,
    },
    /// Rows refer to a row that would go, or get another key.
    #[error(
        "rows of table {table:?} refer to {key} of table {referenced:?} ({foreign_key:?}): delete them first"
    )]
    Referenced {
        /// The table whose rows refer.
        table: String,
        foreign_key: Box<str>,
        /// The table that they refer to.
        referenced: String,
        /// The values, as a text.
        key: Box<str>,
        /// The key's values, in the order of its columns.
        values: Box<[Value]>,
    },
    /// A value does not fit its column, or there is no such column.
    #[error(transparent)]
    Row(Box<RowError>),
    /// Something that an open transaction read was changed by another one before its end. It did nothing.
    #[error(transparent)]
    Conflict(Box<Conflict>),
    /// An open transaction was ended from without.
    #[error(transparent)]
    Ended(TransactionEnded),
    /// An open transaction was to change one row more than its commit may install. The operation did nothing.
    #[error(
        "an open transaction changes at most {limit} rows, since its commit delays others: commit in parts, run it as a \
         closure in the serial stage, or, in Rust, open the database with a larger `open_transaction_rows_max`"
    )]
    TooManyRows { limit: usize },
    /// The program holds open transactions that were ended at a bound, or tickets of committed ones, and these keep too much.
    /// The operation did nothing.
    #[error(
        "open transactions that were ended, and not dropped, keep {bytes} bytes, and may keep {limit}: drop them, wait for \
         the tickets of `commit_later`, or set `open_transactions_bytes_max` to more"
    )]
    OpenTransactionsFull {
        /// Bytes that they keep.
        bytes: usize,
        limit: usize,
    },
    /// An open transaction that is of another database, or of an earlier opening of this one, was to be committed.
    #[error(
        "the open transaction is of another database: it had no effect; run it on the database that it was begun on"
    )]
    OtherDatabase,
    /// An open transaction cannot begin behind changes of the one in which it is to run.
    #[error(
        "an open transaction cannot begin behind changes of the transaction in which it runs: begin it first"
    )]
    BehindChanges,
    /// No memory for more pages.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store of the rows cannot go on: an error of its own, which it gets back ([`TableError::of`]).
    #[error(transparent)]
    Engine(Error),
    /// The snapshot was ended: later changes reached the bound on memory for it.
    #[error(transparent)]
    SnapshotEnded(#[from] SnapshotEnded),
    /// The pages of a table do not hold sound records.
    #[error("table {table:?} is damaged at page {page}, offset {offset}: {reason}")]
    DamagedTable {
        table: String,
        page: u64,
        /// The offset in the page.
        offset: usize,
        reason: &'static str,
    },
}

/// The remedy, if the index that a table lacks is that of its primary key: rows are found by a hash then.
fn unordered(index: &str) -> &'static str {
    match index {
        PRIMARY => {
            ": its primary key is not ordered; declare it `ordered`, or use `get` with the whole key"
        }
        _ => "",
    }
}

/// Checks that a program may give this name.
///
/// # Errors
/// [`TableError::ReservedName`].
pub fn check_name(name: &str) -> Result<(), TableError> {
    match name.starts_with(RESERVED) {
        false => Ok(()),
        true => Err(TableError::ReservedName {
            name: name.to_string(),
        }),
    }
}

impl TableError {
    /// The error that was carried in an error of the engine; an error of a store of its own is carried on.
    #[cold]
    pub fn of(error: Error) -> TableError {
        error.downcast().unwrap_or_else(TableError::Engine)
    }
}

/// The error of a schema that no table of this name can have.
pub fn refused(table: &str) -> impl Fn(SchemaError) -> TableError + '_ {
    move |source| TableError::Schema {
        table: table.to_string(),
        source: Box::new(source),
    }
}

impl From<Infallible> for TableError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl CrateError for TableError {
    fn kind(&self) -> Kind {
        match self {
            TableError::DuplicateKey { .. } | TableError::DuplicateValue { .. } => Error::Duplicate,
            TableError::UnknownIndex { .. }
            | TableError::ReversedRange { .. }
            | TableError::KeyColumns { .. }
            | TableError::KeyValue { .. }
            | TableError::NoSuchReference { .. }
            | TableError::Referenced { .. } => Error::Refused,
            TableError::Conflict(_) => Error::Conflict,
            TableError::Ended(ended) => ended.kind(),
            TableError::OpenTransactionsFull { .. } => Error::Limit,
            TableError::OtherDatabase | TableError::BehindChanges => Error::Refused,
            TableError::KeyTooLong { .. } | TableError::JournalRowTooLong { .. } => Error::Limit,
            TableError::KeyChanged { .. }
            | TableError::StaleRow { .. }
            | TableError::UnknownHandle { .. }
            | TableError::NoSavepoint
            | TableError::SchemaDiffers { .. }
            | TableError::BeyondRecords { .. }
            | TableError::Field { .. }
            | TableError::ReservedName { .. }
            | TableError::TableReferenced { .. }
            | TableError::Condition(_) => Error::Refused,
            TableError::Schema { source, .. } => match **source {
                SchemaError::TooMany { .. } | SchemaError::RowTooLong { .. } => Error::Limit,
                SchemaError::Damaged { .. } => Error::Damaged,
                _ => Error::Refused,
            },
            TableError::TransactionTooLarge { .. }
            | TableError::TooManyRows { .. }
            | TableError::SnapshotEnded(_) => Error::Limit,
            TableError::Catalogue(error) => error.kind(),
            TableError::Log(error) => error.kind(),
            TableError::Row(error) => error.kind(),
            TableError::Store(error) => error.kind(),
            TableError::Engine(error) => error.kind(),
            TableError::DamagedTable { .. } => Error::Damaged,
        }
    }

    fn into_error(self) -> Error {
        match self {
            TableError::Catalogue(error) => error.into(),
            TableError::Log(error) => error.into(),
            TableError::Engine(error) => error,
            // Programs ask for these by their types.
            TableError::Conflict(conflict) => Error::Conflict((*conflict).into()),
            TableError::SnapshotEnded(ended) => Error::Limit(ended.into()),
            TableError::Ended(ended) => ended.kind()(ended.into()),
            error => error.kind()(error.into()),
        }
    }
}

impl From<Conflict> for TableError {
    fn from(conflict: Conflict) -> Self {
        TableError::Conflict(Box::new(conflict))
    }
}

impl From<RowError> for TableError {
    fn from(error: RowError) -> Self {
        TableError::Row(Box::new(error))
    }
}

impl From<ConditionError> for TableError {
    fn from(error: ConditionError) -> Self {
        TableError::Condition(Box::new(error))
    }
}
