//! Why redo of several logs is refused. Each error names the log, and the page and version if it has one.

#![allow(missing_docs, reason = "the text of each error names its fields")]

use super::Gap;
use crate::protocol::{Epoch, NodeId, PageId, Psn};
use sardonyx_storage::log::record::RecordError;

/// Why a group's records are not redo of pages with versions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RedoError {
    /// They cannot be decoded.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A write without a version, or behind another page's.
    #[error(
        "the write to page {} at payload offset {offset} does not stand behind a version of that page", page.0
    )]
    Unversioned {
        /// The page that is written to.
        page: PageId,
        /// The place in the payload.
        offset: usize,
    },
    /// A version that no page has by a change: pages begin with it.
    #[error("a record makes version 0 of page {}, which every page has from the beginning", page.0)]
    First { page: PageId },
}

/// Why a group is not taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError<E: std::error::Error + 'static> {
    /// Nothing is known of this log.
    #[error("the log of node {} is not among those that are merged: open it first", log.0)]
    UnknownLog {
        /// The log's node.
        log: NodeId,
    },
    /// A number of a node names one life of it.
    #[error("the log of node {} is being merged already: a node that comes back has a new number", log.0)]
    KnownLog {
        /// The log's node.
        log: NodeId,
    },
    /// The log has been closed.
    #[error(
        "the log of node {} ended before group {group}: it was closed in epoch {}, and what its node wrote \
         after that counts nowhere", log.0, closed.0
    )]
    Closed {
        /// The log's node.
        log: NodeId,
        /// The group that came after the end.
        group: u64,
        /// The epoch of the group that closed it.
        closed: Epoch,
    },
    /// A group of another life of the node.
    #[error(
        "group {group} of the log of node {} was written in epoch {}, the log is that of epoch {}", log.0, found.0,
        expected.0
    )]
    Epoch {
        /// The log's node.
        log: NodeId,
        group: u64,
        found: Epoch,
        /// The log's.
        expected: Epoch,
    },
    /// A log is read in its order, without leaving out a group.
    #[error("group {found} of the log of node {} came where group {expected} was due", log.0)]
    Order {
        /// The log's node.
        log: NodeId,
        /// The group that came.
        found: u64,
        /// The one whose turn it was.
        expected: u64,
    },
    /// The group's records are damaged, or of another way of running transactions.
    #[error("group {group} of the log of node {} cannot be redone: {source}", log.0)]
    Redo {
        /// The log's node.
        log: NodeId,
        group: u64,
        /// The fault.
        #[source]
        source: RedoError,
    },
    /// Two changes made the same version of a page.
    #[error(
        "the logs of nodes {} and {} both have version {} of page {}: two nodes had locked it for writing, or \
         these are logs of different databases", log.0, other.0, psn.0, page.0
    )]
    Twice {
        page: PageId,
        /// The version.
        psn: Psn,
        log: NodeId,
        /// The other, or the same once more.
        other: NodeId,
    },
    /// A version is in none of the logs.
    #[error(transparent)]
    Gap(#[from] Gap),
    /// The pages refuse a change. The group may be given again.
    #[error(transparent)]
    Pages(E),
}
