//! Errors of a transaction.

use sardonyx_base::error::{CrateError, Error, Kind};
use sardonyx_base::process::{FORKED, Forked};
use sardonyx_rows::TableError;
use sardonyx_storage::checkpoint::CheckpointError;
use sardonyx_storage::log::LogError;
use std::sync::Arc;

/// Why a transaction did not commit, or is not known to have.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum SerialError {
    /// The log refused or failed.
    #[error(transparent)]
    Log(LogError),
    /// An operation on a table failed; the transaction was undone.
    #[error(transparent)]
    Table(#[from] Arc<TableError>),
    /// Checkpointing failed; the log cannot be freed any more.
    #[error(transparent)]
    Checkpoint(#[from] Arc<CheckpointError>),
    /// The transaction's code panicked; it was undone.
    #[error("the transaction panicked and was undone: {message}")]
    Panicked {
        /// The panic's message.
        message: String,
    },
    /// The request was refused before it ran.
    #[error("the request was refused: {reason}")]
    Refused {
        /// Why.
        reason: String,
    },
    /// Code that the database itself runs called it: a transaction's, a procedure's, or a waker's or a
    /// value's drop on one of the engine's threads. Nothing was run: it would wait for its own end.
    #[error(
        "a transaction cannot begin another on the same database, nor wait for one; use the one it was \
         given, or begin the other when it has ended"
    )]
    Nested,
    /// The database is closed or closing.
    #[error("the database is closed")]
    Closed,
    /// This process was forked from the one that opened the database. Nothing was done.
    #[error("{}", FORKED)]
    Forked,
}

impl From<Forked> for SerialError {
    fn from(_: Forked) -> Self {
        SerialError::Forked
    }
}

impl From<LogError> for SerialError {
    fn from(error: LogError) -> Self {
        match error {
            LogError::Forked => SerialError::Forked,
            LogError::Nested => SerialError::Nested,
            error => SerialError::Log(error),
        }
    }
}

impl From<TableError> for SerialError {
    fn from(error: TableError) -> Self {
        SerialError::Table(Arc::new(error))
    }
}

impl From<CheckpointError> for SerialError {
    fn from(error: CheckpointError) -> Self {
        SerialError::Checkpoint(Arc::new(error))
    }
}

/// The error of one request of a procedure: the procedure's own, or the engine's.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ProcedureError<E> {
    /// The procedure returned an error; its changes were undone.
    #[error(transparent)]
    Aborted(E),
    /// The procedure panicked; its changes were undone.
    #[error("the procedure panicked and was undone: {0}")]
    Panicked(String),
    /// The request did not run; those before it in the batch did. Shared, so that the outcome of a
    /// request, of which there are millions a second, stays small.
    #[error("the request did not run: {0}")]
    NotRun(Arc<Error>),
}

impl CrateError for SerialError {
    fn kind(&self) -> Kind {
        match self {
            SerialError::Log(error) => error.kind(),
            SerialError::Table(error) => error.kind(),
            SerialError::Checkpoint(error) => error.kind(),
            SerialError::Panicked { .. } => Error::Panicked,
            SerialError::Refused { .. } => Error::Refused,
            SerialError::Nested => Error::Nested,
            SerialError::Closed => Error::Closed,
            SerialError::Forked => Error::Forked,
        }
    }

    fn into_error(self) -> Error {
        match self {
            SerialError::Log(error) => error.into(),
            SerialError::Table(error) => error.into(),
            SerialError::Checkpoint(error) => error.into(),
            error => error.kind()(error.into()),
        }
    }
}
