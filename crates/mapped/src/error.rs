//! Errors of a segment, for its users.

use crate::heap::HeapError;
use crate::memory::{GrowError, PlaceError};
use sardonyx_base::error::{CrateError, Error, Kind};
use sardonyx_storage::engine::OpenError;
use sardonyx_storage::log::SharedLogError;
use std::io;

/// Why a segment cannot be opened, grown or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SegmentError {
    /// The operating system refused something.
    #[error("cannot {operation}: {source}")]
    System {
        /// The requested operation.
        operation: &'static str,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The file system of the segment has no room.
    #[error(
        "no memory for {bytes} more bytes in {place}: {source}; make that file system larger, or \
         choose another by the option `shared_memory`"
    )]
    SharedMemoryFull {
        /// The needed bytes.
        bytes: u64,
        /// The file of the shared memory.
        place: String,
        /// The operating system's error.
        #[source]
        source: io::Error,
    },
    /// The segment would be longer than its address space.
    #[error(
        "the segment would have {asked_bytes} bytes and has address space for {limit_bytes}; open \
         it with a larger `address_space_bytes`"
    )]
    AddressSpaceFull {
        /// The size that the segment would have.
        asked_bytes: u64,
        /// Bytes reserved.
        limit_bytes: u64,
    },
    /// The shared memory, or the database, is not one that this program can use.
    #[error("{place} cannot be used: {reason}")]
    Incompatible {
        /// The file of the shared memory, or the database's directory.
        place: String,
        /// Why.
        reason: String,
    },
    /// The kernel lacks a mechanism that was asked for by name.
    #[error("the mechanism {mechanism} is not available here: {reason}")]
    MechanismUnavailable {
        /// Its name, as options have it.
        mechanism: &'static str,
        /// The missing condition.
        reason: String,
    },
    /// All places for sessions or processes are taken.
    #[error("the segment has places for {limit} {what}, and all are taken")]
    TooMany {
        /// `sessions` or `processes`.
        what: &'static str,
        /// The greatest number.
        limit: usize,
    },
    /// The process is a child that was made by `fork` after the segment was opened.
    #[error(
        "this process was forked after the segment was opened; the views of the parent are not \
         valid here: open the segment again in the child"
    )]
    Forked,
    /// A transaction on this segment is running in this thread already.
    #[error(
        "this thread is inside a transaction on this segment; use `Transaction::nested` for a part \
         that can fail alone"
    )]
    InsideTransaction,
    /// No transaction is running in this session.
    #[error("no transaction is running in this session; call `begin` first")]
    NoTransaction,
    /// Someone wrote to the view although no transaction was running.
    #[error(
        "page {page} was written outside of a transaction; the write was undone: write between \
         `begin` and `commit`"
    )]
    WrittenOutside {
        /// Its number in the segment, from 0.
        page: u64,
    },
    /// A transaction changed more than fits.
    #[error(
        "the transaction changed {bytes} bytes with their addresses, and the limit is {limit}: \
         split it into several, or raise the option `transaction_bytes` or the log's `log_bytes_max`"
    )]
    TransactionTooLarge {
        /// Bytes of redo records.
        bytes: u64,
        /// The most there may be.
        limit: u64,
    },
    /// A reader's snapshot keeps old versions for so long that there is no room for new ones.
    #[error(
        "process {process} has kept a snapshot for {seconds} s, and there is no room for further \
         versions: end that snapshot, or open the segment with a larger `versions_bytes`"
    )]
    SlowReader {
        /// Its process id.
        process: u32,
        /// For how long.
        seconds: u64,
    },
    /// A process that is stopped holds a needed lock. Nothing was done: a transaction that was to be committed has no
    /// effect.
    #[error(
        "process {process} is stopped (state {state}) and has held {holds} for {seconds} s, which \
         nobody can take from it: continue it (`kill -CONT {process}`) or end it \
         (`kill -KILL {process}`)"
    )]
    ProcessStopped {
        /// Its process id.
        process: u32,
        /// Its state, as the system says it: `T` (stopped), `t` (by a debugger).
        state: char,
        /// The content of the directory.
        holds: &'static str,
        /// For how long it has been found stopped.
        seconds: u64,
    },
    /// The transaction is committed and seen by all, and not durable yet: the process that writes the log for all is
    /// stopped. It can be waited for again.
    #[error(
        "committed, but not durable yet: process {process}, which writes the log for all, has been \
         stopped (state {state}) for {seconds} s: continue it (`kill -CONT {process}`) or end it \
         (`kill -KILL {process}`), and wait again"
    )]
    NotDurableYet {
        /// Its process id.
        process: u32,
        /// Its state, as the system says it: `T` (stopped), `t` (by a debugger).
        state: char,
        /// For how long it has been found stopped.
        seconds: u64,
    },
    /// Writing the log failed; unacknowledged transactions may or may not exist after a restart.
    #[error(
        "the log is poisoned: {cause}; what was waited for may be lost: open the database again"
    )]
    Poisoned {
        /// The event.
        cause: String,
    },
    /// Another transaction changed what this one has read or written; it has no effect.
    #[error("another transaction changed page {page}, which this one used; run it again")]
    Conflict {
        /// Its number in the segment, from 0.
        page: u64,
    },
    /// The log has no room, and nothing frees any.
    #[error("the log is full: {reason}")]
    LogFull {
        /// Why no room is made.
        reason: String,
    },
    /// The log cannot be used.
    #[error(transparent)]
    Log(SharedLogError),
    /// An address outside of the segment.
    #[error("{length} bytes at {offset} are not inside of the segment, which has {bytes} bytes")]
    Outside {
        /// The first byte.
        offset: u64,
        /// Bytes from the offset.
        length: u64,
        /// The length of the segment.
        bytes: u64,
    },
    /// The handle was closed.
    #[error("the segment is closed")]
    Closed,
    /// A view is read-only.
    #[error("this is a snapshot: it cannot be written")]
    ReadOnly,
    /// The database below cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
}

impl From<SharedLogError> for SegmentError {
    fn from(error: SharedLogError) -> Self {
        match error {
            SharedLogError::Poisoned { reason } => SegmentError::Poisoned { cause: reason },
            SharedLogError::Full { reason } => SegmentError::LogFull { reason },
            error => SegmentError::Log(error),
        }
    }
}

impl SegmentError {
    /// For the last error of a C library's call.
    pub(crate) fn last(operation: &'static str) -> Self {
        SegmentError::System {
            operation,
            source: io::Error::last_os_error(),
        }
    }

    /// For an error of a system call.
    pub(crate) fn system(operation: &'static str) -> impl Fn(rustix::io::Errno) -> Self {
        move |errno| SegmentError::System {
            operation,
            source: errno.into(),
        }
    }
}

impl CrateError for SegmentError {
    fn kind(&self) -> Kind {
        match self {
            SegmentError::System { .. } => Error::System,
            SegmentError::SharedMemoryFull { .. }
            | SegmentError::AddressSpaceFull { .. }
            | SegmentError::LogFull { .. } => Error::Full,
            SegmentError::Incompatible { .. }
            | SegmentError::MechanismUnavailable { .. }
            | SegmentError::NoTransaction
            | SegmentError::WrittenOutside { .. }
            | SegmentError::Outside { .. }
            | SegmentError::ReadOnly => Error::Refused,
            SegmentError::TooMany { .. } | SegmentError::TransactionTooLarge { .. } => Error::Limit,
            SegmentError::Forked => Error::Forked,
            SegmentError::InsideTransaction => Error::Nested,
            SegmentError::SlowReader { .. }
            | SegmentError::ProcessStopped { .. }
            | SegmentError::NotDurableYet { .. } => Error::Unavailable,
            SegmentError::Poisoned { .. } => Error::Poisoned,
            SegmentError::Conflict { .. } => Error::Conflict,
            SegmentError::Closed => Error::Closed,
            SegmentError::Log(error) => error.kind(),
            SegmentError::Open(error) => error.kind(),
        }
    }

    fn into_error(self) -> Error {
        match self {
            SegmentError::Log(error) => error.into(),
            SegmentError::Open(error) => error.into(),
            error => error.kind()(error.into()),
        }
    }
}

impl CrateError for GrowError {
    fn kind(&self) -> Kind {
        match self {
            GrowError::Full { .. } => Error::Full,
            GrowError::Refused { source, .. } => match source.downcast_ref::<SegmentError>() {
                Some(error) => error.kind(),
                None => Error::System,
            },
        }
    }
}

impl CrateError for PlaceError {
    fn kind(&self) -> Kind {
        Error::Refused
    }
}

impl CrateError for HeapError {
    fn kind(&self) -> Kind {
        match self {
            HeapError::Damaged { .. } => Error::Damaged,
            HeapError::Impossible { .. } => Error::Limit,
            HeapError::Grow(error) => error.kind(),
            _ => Error::Refused,
        }
    }

    fn into_error(self) -> Error {
        match self {
            HeapError::Place(error) => error.into(),
            HeapError::Grow(error) => error.into(),
            error => error.kind()(error.into()),
        }
    }
}

/// Why [`Segment::run`](crate::Segment::run) returned without having done anything.
#[derive(Debug, thiserror::Error)]
pub enum RunError<E> {
    /// The closure said so.
    #[error("{0}")]
    Refused(E),
    /// The segment failed.
    #[error(transparent)]
    Segment(#[from] SegmentError),
}

/// The closure's error is the program's, the segment's says its kind.
impl<E: Into<Error>> From<RunError<E>> for Error {
    fn from(error: RunError<E>) -> Self {
        match error {
            RunError::Refused(error) => error.into(),
            RunError::Segment(error) => error.into(),
        }
    }
}
