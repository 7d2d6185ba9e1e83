//! Why the global lock table refuses something.

#![allow(missing_docs, reason = "the text of each error names its fields")]

use crate::protocol::{NodeId, PageId};
use std::io;

/// Why the global lock table refuses something. Nothing has changed then, and no other node
/// notices.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockTableError {
    /// The operating system refused.
    #[error("cannot {operation}: {source}")]
    System {
        /// The requested operation.
        operation: &'static str,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The segment holds no lock table.
    #[error("{place} is not a global lock table: name the file that the first node made")]
    Foreign { place: String },
    /// It is one of another version of this program.
    #[error(
        "the global lock table at {place} has layout {found}, this program {expected}: run the same \
         version on all nodes"
    )]
    Version {
        place: String,
        /// Its layout.
        found: u64,
        /// This program's.
        expected: u64,
    },
    /// It belongs to another database.
    #[error(
        "the global lock table at {place} belongs to database {found:016x}, this node's is {expected:016x}"
    )]
    Database {
        place: String,
        /// The identity of its database.
        found: u64,
        /// This node's.
        expected: u64,
    },
    /// It was made for pages of another size.
    #[error(
        "the global lock table at {place} is for pages of {found} bytes, this node has pages of {expected}"
    )]
    PageSize {
        place: String,
        /// Its pages, in bytes.
        found: u64,
        /// This node's.
        expected: u64,
    },
    /// The head or the length is wrong.
    #[error("the global lock table at {place} is damaged: {reason}; stop all nodes and remove it")]
    Damaged {
        place: String,
        /// The fault.
        reason: String,
    },
    /// A lock table cannot have this size.
    #[error(
        "a global lock table has room for 1 entry at least, and for {limit} entries and overflow cells at \
         most, not {asked}"
    )]
    Size {
        /// The requested number.
        asked: usize,
        /// The greatest number.
        limit: usize,
    },
    /// There is no such slot.
    #[error("a node has a slot from 0 to 63, not {slot}")]
    NoSlot {
        /// The slot asked for.
        slot: usize,
    },
    /// Another node has the slot, or the locks of a failed one are still to be recovered.
    #[error(
        "slot {slot} is that of process {process}; if it is dead, its node has to be recovered first"
    )]
    SlotTaken {
        slot: usize,
        /// The process that has or had it.
        process: u32,
    },
    /// The slot has been given out as often as node numbers allow.
    #[error(
        "slot {slot} was used {} times: take another, or make the global lock table anew",
        super::layout::LIVES
    )]
    SlotUsedUp { slot: usize },
    /// There is no room for another entry or overflow cell.
    #[error(
        "the global lock table is full ({cells} cells): make it larger, or let transactions lock fewer pages"
    )]
    Full { cells: usize },
    /// Too many transactions want one page.
    #[error("more than {limit} transactions hold or await locks on page {}", page.0)]
    TooManyOwners {
        page: PageId,
        /// The number that an entry has room for.
        limit: usize,
    },
    /// The page's number is none.
    #[error("{} is not the number of a page", page.0)]
    NoPage { page: PageId },
    /// The entry names a node that is not there.
    #[error("node {} is not, or no longer, a node of this global lock table", node.0)]
    UnknownNode { node: NodeId },
    /// The entry is not one.
    #[error("the entry of page {} in the global lock table is damaged", page.0)]
    Corrupt {
        /// The page of the entry.
        page: PageId,
    },
    /// A node cannot leave, or be forgotten, as long as entries name it.
    #[error("the entry of page {} still names node {}", page.0, node.0)]
    StillNamed { page: PageId, node: NodeId },
}

impl LockTableError {
    /// For an error of a system call.
    pub(super) fn system(operation: &'static str) -> impl Fn(rustix::io::Errno) -> Self {
        move |errno| LockTableError::System {
            operation,
            source: errno.into(),
        }
    }
}
