//! Why a node refuses something, or has stopped.

#![allow(missing_docs, reason = "the text of each error names its fields")]

use super::loose::FrameError;
use crate::lock_table::LockTableError;
use crate::protocol::fence::Fenced;
use sardonyx_base::error::Error;
use sardonyx_base::process::Forked;
use sardonyx_base::transport::TransportError;
use sardonyx_base::waiting::Reason;
use sardonyx_rows::TableError;
use sardonyx_storage::disk::DiskError;
use sardonyx_storage::engine::OpenError;
use sardonyx_storage::journal::JournalError;
use sardonyx_storage::log::SharedLogError;
use sardonyx_storage::tree::{Damage, KEY_BYTES_MAX};
use std::io;
use std::sync::Arc;

/// Why a node refuses something, or has stopped.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum NodeError {
    /// The database cannot be opened.
    #[error(transparent)]
    Open(Arc<OpenError>),
    /// The shared memory cannot be used.
    #[error(transparent)]
    Table(Arc<LockTableError>),
    /// The log refuses something.
    #[error(transparent)]
    Log(#[from] SharedLogError),
    /// The operating system refused.
    #[error("cannot {operation}: {source}")]
    System {
        /// The requested operation.
        operation: &'static str,
        /// The system's error.
        #[source]
        source: Arc<io::Error>,
    },
    /// The nodes share no memory of this size.
    #[error(
        "nodes can share from 1 to 1073741824 pages among 1 to 64 slots, not {pages} pages among {slots}"
    )]
    Shape {
        /// The pages asked for.
        pages: u64,
        /// The slots asked for.
        slots: usize,
    },
    /// The database is larger than the memory that the nodes share.
    #[error(
        "the database has {pages} pages and the nodes' shared memory has room for {room}: open it with more \
         `pages`"
    )]
    TooManyPages {
        /// Pages of the database.
        pages: u64,
        /// Pages for which there is room.
        room: u64,
    },
    /// There is no such page.
    #[error("there is no page {page}: the nodes share pages 0 to {}", pages.saturating_sub(1))]
    NoPage {
        /// The page asked for.
        page: u64,
        pages: u64,
    },
    /// The bytes are not in one page.
    #[error("bytes {offset} to {} are not within a page of 4096 bytes", offset + length)]
    NotInPage {
        /// Their beginning.
        offset: usize,
        length: usize,
    },
    /// The transaction has more pages at work than the node's buffer.
    #[error(
        "all {frames} pages of the node's buffer are at work: give it more, or change fewer pages in a \
         transaction"
    )]
    BufferFull {
        /// Pages of the buffer.
        frames: usize,
    },
    /// The transaction writes too much.
    #[error(
        "a transaction with {bytes} bytes of redo records: at most {bytes_max} fit into the nodes' redo ring \
         and a log segment"
    )]
    TransactionTooLarge {
        bytes: usize,
        /// The most there may be.
        bytes_max: usize,
    },
    /// The transaction was chosen to end a deadlock. It had no effect; run it again.
    #[error("the transaction was chosen to end a deadlock: it had no effect, run it again")]
    Deadlock,
    /// All slots are taken.
    #[error(
        "all {slots} slots for nodes are taken; those of dead nodes are free when a living node has recovered \
         them: try again, or end all nodes"
    )]
    NoFreeSlot { slots: usize },
    /// Other processes share the database, and their memory is not here.
    #[error(
        "other processes have the database open, but no shared memory of nodes is at {place}: nodes of it must see \
         the same directory for shared memory; if it is open in another way (as tables, memory or operations), \
         close it there first"
    )]
    NotHere {
        /// The searched place.
        place: String,
    },
    /// This process has the database open already.
    #[error("this process shares the database {place} already: join more nodes by that handle")]
    OpenHere { place: String },
    /// A word that another node wrote is wrong.
    #[error(
        "{what} is damaged: end all nodes; the database is recovered from its log when it is opened again"
    )]
    Damaged {
        /// The damaged thing.
        what: &'static str,
    },
    /// Redo of a version before is missing.
    #[error(
        "redo makes version {redo} of page {page}, of which version {stored} is stored: what is between is \
         missing; end all nodes and open the database again"
    )]
    VersionMissing {
        page: u64,
        /// Its stored version.
        stored: u64,
        /// The version that the redo makes.
        redo: u64,
    },
    /// The page that was granted is not where the protocol says.
    #[error(
        "version {psn} of page {page} is not where it should be ({found}): this is an error in the program; \
         end all nodes and open the database again"
    )]
    PageLost {
        page: u64,
        /// The version granted.
        psn: u64,
        /// The value found.
        found: u64,
    },
    #[error("the node has stopped and is recovered by others: {reason}")]
    Stopped {
        /// Why.
        reason: String,
    },
    /// The others have continued without this node, or may have.
    #[error(
        "the node takes no part any more: {reason}; its process may join again under a new number"
    )]
    ShutOut {
        /// Why.
        reason: String,
    },
    /// A table's refusal: the error names the table, and column and value if it has some.
    #[error(transparent)]
    Rows(Arc<TableError>),
    /// A journal's rows cannot be read.
    #[error(transparent)]
    Journal(Arc<JournalError>),
    /// A page of a table is damaged.
    #[error(transparent)]
    DamagedPage(#[from] Damage),
    /// A key is longer than a tree takes.
    #[error(
        "a key of table {table:?} has {bytes} bytes, the limit is {KEY_BYTES_MAX}: shorten its text or bytes, or \
         make another column the key"
    )]
    KeyTooLong {
        table: String,
        /// Bytes of the encoded key.
        bytes: usize,
    },
    /// All pages are in use.
    #[error(
        "all {pages} pages that the nodes share are in use: delete rows, or end all nodes and open the database \
         with more `pages`"
    )]
    PagesFull {
        /// Pages that the nodes share.
        pages: u64,
    },
    /// The table is there no more.
    #[error(
        "the table was dropped, to which this handle leads: open it by its name, if there is another one"
    )]
    Dropped,
    /// As many tables and journals were made as there can be numbers for them.
    #[error(
        "65536 tables and journals were made, which is the limit; those that were dropped count"
    )]
    TooManyTables,
    /// The pages hold something else.
    #[error(
        "page 0 holds no tables of nodes: the database was made in another way, or its pages are used by number; \
         give the tables a database of their own"
    )]
    OtherPages,
    /// The page server is to use a database that another way of running transactions has made.
    #[error("this database was not made by a page server: give it a directory of its own")]
    NotAPageServers,
    /// Another version of the program made the tables.
    #[error(
        "the nodes' tables are of version {version}, this program knows versions 1 and 2: use a newer one"
    )]
    TablesVersion {
        /// The version found.
        version: u32,
    },
    /// A connection cannot be used.
    #[error("cannot {operation}: {source}")]
    Network {
        /// The attempted operation.
        operation: &'static str,
        /// The operating system's error.
        #[source]
        source: Arc<io::Error>,
    },
    /// A connection with another process cannot be made, or one of the two does not trust the other.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// Another process sent an invalid frame.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// Another process refuses this one.
    #[error("the other process refuses: {reason}")]
    Refused {
        /// Why.
        reason: String,
    },
    /// Another process cannot be reached. The request may be done or not.
    #[error("{what} cannot be reached, and patience is at its end: {reason}")]
    Unreachable {
        /// The process.
        what: &'static str,
        /// The last error.
        reason: String,
    },
    /// The membership register cannot be used.
    #[error("the register of who takes part cannot be used: {reason}")]
    Membership {
        /// Why.
        reason: String,
    },
    /// The transaction has waited for too long. It had no effect.
    #[error(
        "the transaction has waited for a page for {seconds} s, and was undone: another node may be slow"
    )]
    TimedOut {
        /// The time.
        seconds: u64,
    },
    /// The transaction's wait for a page, or for the node's lease, was ended from outside. It had no effect.
    #[error("the wait for a page was ended: {0:?}")]
    Interrupted(Reason),
    /// This node's log was closed by others.
    #[error(transparent)]
    Fenced(#[from] Fenced),
    /// This process was forked from the one that joined.
    #[error(transparent)]
    Forked(#[from] Forked),
}

impl From<LockTableError> for NodeError {
    fn from(error: LockTableError) -> Self {
        NodeError::Table(Arc::new(error))
    }
}

impl From<OpenError> for NodeError {
    fn from(error: OpenError) -> Self {
        NodeError::Open(Arc::new(error))
    }
}

impl From<TableError> for NodeError {
    fn from(error: TableError) -> Self {
        match error {
            // It was the node's, on its way through constraints.
            TableError::Engine(error) => match error.downcast() {
                Ok(error) => error,
                Err(error) => NodeError::Rows(Arc::new(TableError::Engine(error))),
            },
            error => NodeError::Rows(Arc::new(error)),
        }
    }
}

impl From<NodeError> for TableError {
    fn from(error: NodeError) -> Self {
        match error {
            NodeError::Rows(error) => Arc::try_unwrap(error)
                .unwrap_or_else(|error| TableError::Engine(NodeError::Rows(error).into())),
            error => TableError::Engine(error.into()),
        }
    }
}

impl From<Error> for NodeError {
    fn from(error: Error) -> Self {
        TableError::of(error).into()
    }
}

impl From<JournalError> for NodeError {
    fn from(error: JournalError) -> Self {
        NodeError::Journal(Arc::new(error))
    }
}

impl From<DiskError> for NodeError {
    fn from(error: DiskError) -> Self {
        NodeError::Open(Arc::new(error.into()))
    }
}

impl NodeError {
    /// The error of every call on a node that this one has stopped.
    pub(super) fn of_a_stopped_node(&self) -> Self {
        match self {
            NodeError::Fenced(_) | NodeError::Stopped { .. } | NodeError::ShutOut { .. } => {
                self.clone()
            }
            other => NodeError::Stopped {
                reason: other.to_string(),
            },
        }
    }

    pub(super) fn system(operation: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| NodeError::System {
            operation,
            source: Arc::new(source),
        }
    }

    /// True if the transaction had no effect and may be run again.
    pub fn is_deadlock(&self) -> bool {
        matches!(self, NodeError::Deadlock)
    }
}
