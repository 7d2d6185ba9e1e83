//! Errors of a multi-level transaction.

#![allow(missing_docs, reason = "the text of each error names its fields")]

use crate::index::IndexError;
use crate::pages::Stop;
use crate::records::RecordError;
use crate::undo::UndoDamage;
use sardonyx_base::process::{FORKED, Forked};
use sardonyx_rows::TableError;
use sardonyx_storage::catalogue::CatalogueError;
use sardonyx_storage::engine;
use sardonyx_storage::log::LogError;
use sardonyx_storage::store::StoreError;
use std::error::Error;

/// The reason why a database cannot be opened, or the engine cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatabaseError {
    /// The storage cannot be opened.
    #[error(transparent)]
    Open(#[from] engine::OpenError),
    /// The catalogue is damaged, has another definition, or is full.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    /// A table is damaged.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The undo area is damaged.
    #[error(transparent)]
    Undo(#[from] UndoDamage),
    /// The log does not take any more.
    #[error(transparent)]
    Log(LogError),
    /// No more memory for pages.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The remaining pages are kept for undoing the running transactions.
    #[error(
        "the page store is full: {pages} pages of its {limit_bytes} bytes are kept for undoing \
         transactions; delete something, end transactions that run, or raise `memory_bytes_max` when \
         opening the database"
    )]
    Reserved {
        /// The number of kept pages.
        pages: u64,
        /// The limit on all pages, in bytes.
        limit_bytes: u64,
    },
    /// There would not be the pages that undoing the operation may take. The operation had no effect.
    #[error(
        "the page store is full: undoing this operation may take {pages} pages, {reserved} are \
         reserved for undoing others, and the limit is {limit_bytes} bytes; end transactions that run, \
         do less in one, or raise `memory_bytes_max` when opening the database"
    )]
    CannotUndo {
        /// The number that undoing it may take.
        pages: u64,
        /// The number reserved for others.
        reserved: u64,
        /// The limit on all pages, in bytes.
        limit_bytes: u64,
    },
    /// The checkpointer failed.
    #[error("{reason}")]
    Checkpoint {
        /// The way.
        reason: String,
    },
    /// It was closed by code that one of the engine's own threads runs.
    #[error(
        "the database is being closed on a thread of its own, since the thread that closed it is one of \
         the engine's and cannot wait for itself; it can be opened again when that has ended"
    )]
    Closing,
    /// Two operations have the same name.
    #[error("two operations are registered as {name:?}: a name is an operation's identity")]
    RegisteredTwice { name: &'static str },
    /// A name that cannot be kept.
    #[error("the operation's name {name:?} has {bytes} bytes; it may have 1 to {limit}")]
    Name {
        name: &'static str,
        /// Its length.
        bytes: usize,
        /// The most.
        limit: usize,
    },
    #[error("the database knows {limit} operations already and cannot learn {name:?}")]
    TooManyOperations {
        /// The one too many.
        name: &'static str,
        /// The most.
        limit: usize,
    },
    /// An unfinished transaction has to be undone by an operation that the program does not know.
    #[error(
        "an unfinished transaction has to be undone by the operation {name:?}, which is not \
         registered: register it when opening the database"
    )]
    Unregistered {
        /// The operation's name.
        name: String,
    },
    /// An unfinished transaction could not be undone.
    #[error(transparent)]
    Compensation(#[from] CompensationError),
    /// A single-level transaction, or a compensation, changed more than the log takes at once.
    #[error(
        "changes that belong together take {bytes} bytes of log, the limit is {limit}: raise \
         `GroupLimits::transaction_bytes` when opening the database"
    )]
    TooLarge {
        /// The bytes that they take.
        bytes: usize,
        /// The limit: half of `GroupLimits::transaction_bytes`.
        limit: usize,
    },
    /// A snapshot was asked for by an operation.
    #[error(
        "an operation cannot take a snapshot: it might wait for a page that it holds itself; take it \
         before, or after"
    )]
    Nested,
    /// The request cannot be met.
    #[error("{reason}")]
    Refused { reason: String },
    /// This process was forked from the one that opened the database. Nothing was done.
    #[error("{}", FORKED)]
    Forked,
}

impl From<LogError> for DatabaseError {
    fn from(error: LogError) -> Self {
        match error {
            LogError::Forked => DatabaseError::Forked,
            error => DatabaseError::Log(error),
        }
    }
}

impl From<Forked> for DatabaseError {
    fn from(_: Forked) -> Self {
        DatabaseError::Forked
    }
}

/// An inverse operation failed. Its transaction stays unfinished, with its locks: it is undone when
/// the database is opened again.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the inverse operation {name:?} failed: {reason}")]
pub struct CompensationError {
    /// The operation's name.
    pub name: String,
    /// The reason of the failure.
    pub reason: String,
}

/// The reason why a call had no effect.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError<E: Error + 'static> {
    /// The operation failed by itself. It alone was undone; the transaction can go on.
    #[error(transparent)]
    Failed(E),
    /// The transaction was chosen to end a deadlock. It has to be aborted, and may be run again.
    #[error("the transaction was chosen to end a deadlock: abort it and run it again")]
    Deadlock,
    /// The operation's inverse is not registered, so that the operation could not be undone.
    #[error(
        "the inverse operation {name:?} is not registered: register it when opening the database"
    )]
    Unregistered {
        /// The inverse operation's name.
        name: &'static str,
    },
    /// The operation changed more than the log takes at once, or its inverse is too long.
    #[error("an operation's {what} takes {bytes} bytes of log, the limit is {limit}")]
    TooLarge {
        /// The thing that is too large.
        what: &'static str,
        /// Its size.
        bytes: usize,
        limit: usize,
    },
    /// It was called while this thread is executing an operation: it might wait for ever for a page
    /// that the outer operation holds.
    #[error(
        "an operation cannot call operations of transactions: \
         let it execute the other operation on its own pages"
    )]
    Nested,
    /// The engine cannot go on.
    #[error(transparent)]
    Engine(#[from] DatabaseError),
    /// The transaction was not committed ([`crate::Database::run`]).
    #[error(transparent)]
    Commit(#[from] CommitError),
}

impl<E: Error + 'static> CallError<E> {
    /// The same with another error of the operation.
    pub fn map<F: Error + 'static>(self, map: impl FnOnce(E) -> F) -> CallError<F> {
        match self {
            CallError::Failed(error) => CallError::Failed(map(error)),
            CallError::Deadlock => CallError::Deadlock,
            CallError::Unregistered { name } => CallError::Unregistered { name },
            CallError::TooLarge { what, bytes, limit } => {
                CallError::TooLarge { what, bytes, limit }
            }
            CallError::Nested => CallError::Nested,
            CallError::Engine(error) => CallError::Engine(error),
            CallError::Commit(error) => CallError::Commit(error),
        }
    }
}

/// So that one transaction may change records and counters.
impl From<CallError<Stop>> for CallError<RecordError> {
    fn from(error: CallError<Stop>) -> Self {
        error.map(RecordError::from)
    }
}

/// So that one transaction may change indexes and counters.
impl From<CallError<Stop>> for CallError<IndexError> {
    fn from(error: CallError<Stop>) -> Self {
        error.map(IndexError::from)
    }
}

/// The reason why a transaction was not committed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommitError {
    /// It was chosen to end a deadlock, and has been aborted.
    #[error("the transaction was chosen to end a deadlock and has been aborted: run it again")]
    Deadlock,
    /// The log failed. The next opening of the database shows if the transaction is committed (I7).
    #[error("it is unknown whether the transaction is committed: {0}")]
    Unknown(#[source] LogError),
    /// The engine cannot go on; the transaction is not committed.
    #[error(transparent)]
    Engine(#[from] DatabaseError),
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Stop {
        let reason = error.to_string();
        Stop::Full { reason }
    }
}

impl From<CatalogueError> for Stop {
    fn from(error: CatalogueError) -> Stop {
        let reason = error.to_string();
        Stop::Full { reason }
    }
}

impl From<LogError> for Stop {
    fn from(error: LogError) -> Stop {
        let reason = error.to_string();
        Stop::Full { reason }
    }
}
