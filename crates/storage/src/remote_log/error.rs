//! Errors of a log in a store.

#![allow(missing_docs, reason = "the text of each error names its fields")]

use super::boundary::BoundaryError;
use super::entry::EntryError;
use super::position::Epoch;
use super::store::StoreError;
use crate::lines::Misread;

/// The reason why a log in a store cannot be read, claimed, appended to or trimmed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteLogError {
    /// Another owner has the log; unacknowledged transactions did not happen (I12).
    #[error(
        "entry {number} of the log is another owner's, of epoch {epoch}: this owner was superseded, so nothing \
         that it appends is durable any more, and its unacknowledged transactions did not happen. It can come \
         back and follow"
    )]
    Fenced {
        /// The number of its next entry.
        number: u64,
        /// The epoch of the entry there.
        epoch: Epoch,
    },
    /// An entry's fate is not known, so nothing may follow it (I7).
    #[error(
        "it is unknown whether entry {number} is in the log: {reason}; nothing more is appended. Open it again: \
         the log is claimed anew, and its entries are found"
    )]
    Unknown {
        /// The entry.
        number: u64,
        /// The reason that it is unknown.
        reason: String,
    },
    /// The requested entry was deleted.
    #[error(
        "entry {number} of the log is deleted: the log begins at {first}; begin with a base, as an absent or empty \
         directory does that is opened with the store, or make a copy by `sardonyx store clone`"
    )]
    BehindBoundary {
        /// The requested number.
        number: u64,
        /// The beginning of the log.
        first: u64,
    },
    /// The log is of another database.
    #[error(
        "entry {number} is of database {found:016x}, not of {expected:016x}: this is another database's log; use another \
         prefix. Nothing is changed there"
    )]
    Identity {
        /// The entry; 0: the boundary.
        number: u64,
        /// This database.
        expected: u64,
        /// The other one.
        found: u64,
    },
    /// An entry is damaged.
    #[error("entry {number} of the log is damaged: {source}")]
    Entry {
        number: u64,
        /// The fault.
        #[source]
        source: EntryError,
    },
    /// An entry is whole and cannot be where it is.
    #[error(
        "entry {number} {reason}: this copy and the log have different pasts, or the log was tampered with; begin with a \
         copy of the database that its owner has"
    )]
    Chain {
        number: u64,
        /// The fault.
        reason: &'static str,
    },
    /// An entry is whole, and its content is no commit groups.
    #[error(
        "entry {number} of the log holds no commit groups from byte {offset} on: it was not written by a database"
    )]
    Groups {
        number: u64,
        /// The offset in its payload.
        offset: usize,
    },
    /// A base is damaged.
    #[error(
        "a copy of the database in the store is damaged: {reason}; use another one, or delete it"
    )]
    Base {
        /// The fault.
        reason: String,
    },
    /// The record of the host that serves is damaged.
    #[error("{reason}; delete it in the store: the next host writes another")]
    Primary {
        /// The fault.
        reason: String,
    },
    /// The reports of the hosts are damaged.
    #[error("in {place}, {misread}; the next report of a host replaces it, within a minute")]
    Hosts {
        place: String,
        /// The fault.
        misread: Misread,
    },
    /// An entry is missing.
    #[error(
        "entry {number} of the log is missing, and entry {found} is there: the store lost it, or something else deleted it. \
         What follows it cannot be used; restore it in the store. If the directory of the host that served has all of it, \
         `sardonyx backup DIRECTORY NEW` makes a database of its own of that, which can be served with another place; \
         `sardonyx store clone PLACE NEW --at-entry {}` makes a copy of the state before",
        number - 1
    )]
    Hole {
        /// The missing number.
        number: u64,
        /// The first existing one after it.
        found: u64,
    },
    /// The entry before the place from which a directory continues is missing, or is another one.
    #[error(
        "entry {number} of the log is missing, or another one is there; this directory recorded that the store had it: the \
         store was restored to an older state, or lost entries. Nothing is changed. Restore it in the store; or make a \
         database of its own of this directory by `sardonyx backup DIRECTORY NEW`, which can be served with another place"
    )]
    Lost { number: u64 },
    /// The boundary is damaged.
    #[error("the log's boundary is damaged: {source}")]
    Boundary {
        /// The fault.
        #[source]
        source: BoundaryError,
    },
    /// An entry is too large.
    #[error(
        "an entry of {bytes} bytes is more than the {most} that the store takes; append smaller ones"
    )]
    TooLarge {
        /// Its bytes, with its head.
        bytes: u64,
        most: u64,
    },
    /// An entry without groups would be a fence.
    #[error("an entry without groups cannot be appended")]
    Empty,
    /// Nothing is left to count with.
    #[error("the log has used up its {what}")]
    UsedUp {
        /// Numbers or epochs.
        what: &'static str,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
}
