//! The errors of the library's face: one enum that the rooms' errors roll up into.

use sardonyx_serial::SerialError;
use sardonyx_storage::disk::DiskError;
use sardonyx_storage::engine::OpenError;
use sardonyx_storage::journal::JournalError;
use sardonyx_table::TableError;
use std::sync::Arc;

/// Whatever can go wrong with a database.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The database cannot be opened.
    #[error(transparent)]
    Open(Arc<OpenError>),
    /// An operation on a table failed.
    #[error(transparent)]
    Table(Arc<TableError>),
    /// A transaction was not run, or its fate is unknown.
    #[error(transparent)]
    Transaction(SerialError),
    /// A journal cannot be read.
    #[error(transparent)]
    Journal(Arc<JournalError>),
    /// An error of your own, to undo a transaction with.
    #[error("{0}")]
    Aborted(String),
}

impl From<OpenError> for Error {
    fn from(error: OpenError) -> Self {
        Error::Open(Arc::new(error))
    }
}

impl From<DiskError> for Error {
    fn from(error: DiskError) -> Self {
        Error::Open(Arc::new(error.into()))
    }
}

impl From<TableError> for Error {
    fn from(error: TableError) -> Self {
        Error::Table(Arc::new(error))
    }
}

impl From<SerialError> for Error {
    fn from(error: SerialError) -> Self {
        match error {
            SerialError::Table(error) => Error::Table(error),
            other => Error::Transaction(other),
        }
    }
}

impl From<JournalError> for Error {
    fn from(error: JournalError) -> Self {
        Error::Journal(Arc::new(error))
    }
}
