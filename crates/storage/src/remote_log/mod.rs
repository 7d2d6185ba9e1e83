//! The log in a store that others keep: entries at consecutive numbers, and the right to append them (I12).
//!
//! The store replicates and agrees; nothing here does. It has one requirement: an entry created under a number never
//! changes, and of several that are created under one number one succeeds ([`store::RemoteStore::append_at`]). Then
//! neither clock nor lease can let two owners acknowledge.
//!
//! ```text
//!   number   1      2     3      4      5     6      7     8
//!          fence  groups groups groups fence groups fence groups ...
//!   epoch    1      1     1      1      2     2      3     3
//! ```
//!
//! - [`entry`]: the content of a number: commit groups, or the *fence* with which an epoch begins;
//! - [`position`]: a place between two entries, and the entry that may follow there;
//! - [`boundary`]: the beginning of the log, whose earlier entries are deleted;
//! - [`store`]: the requests to a store, as a trait;
//! - [`objects`]: the further requests; [`memory`]: a store in memory; [`entry_log`]: entries in a log of segments,
//!   for the process that keeps a store for others;
//! - [`exchange`]: requests to a store and answers, as values;
//! - [`reader`], [`claim`], [`owner`], [`trim`]: the state machines that follow the log, take it over, append to it,
//!   delete its beginning: without I/O, clock and thread;
//! - [`shell`]: runs them with a store, and waits; `ahead`: reads many entries at once; [`copy`]: the copy of a log
//!   that is written here, without which nothing is durable ([`RemoteCopy`](crate::log::writer::RemoteCopy)), or that
//!   follows it; [`in_store`]: its place;
//! - [`base`]: a copy of the database in the store, with which a new one begins; [`known`]: the place up to which a
//!   directory has the log; [`primary`]: the host that serves the database.
//!
//! The rules, and their reasons:
//! 1. *An entry is durable when the store has it at its number.* An owner has one on its way at a time, and appends the
//!    next one behind it. After an answer that is missing, late, or a conflict, it reads the entry there. Its own entry
//!    is success. Another's means that it is fenced, and nothing is acknowledged any more (I7). An absent entry proves
//!    nothing: the request may still arrive. So the same bytes are requested again.
//! 2. *A claim is an entry, too.* A process that takes over reads to the end, then puts an empty fence of a new epoch
//!    there. If the owner before was faster, its entry is there and is read first. So every acknowledged entry is before
//!    the fence, and the new owner has read it. The owner before finds the fence where its next entry should go.
//! 3. *Fences are never deleted.* A writer that was stopped for hours tries exactly the number of its successor's
//!    fence. If that were deleted, it would succeed.
//! 4. *The boundary moves before anything is deleted.* Under a number whose entry is deleted anything can be created
//!    again: by an old request that was delayed, or by a claimant that takes the gap for the end. So a reader that
//!    finds nothing reads the boundary next, and a claimant reads it after its fence is stored. A fence counts once
//!    the boundary, read after it, is not beyond it. Below the boundary there is then the former entry, or the fence
//!    of a claim that failed. Neither is taken for log.
//! 5. *A list does not show the end*: it may be old. It only shows that an entry is missing from the middle.
//! 6. Epochs grow along the log, and each has one writer, whose number is random.
//!
//! All of that is explored (`exploration`): owners stopped, killed and restarted, a store that loses answers, does
//! requests twice or hours later and shows old lists. Each rule is left out once, and that is found.
//!
//! The nearest relative is Amazon MemoryDB (SIGMOD 2024): a main-memory engine on a log with conditional appends.

#[cfg(feature = "hosts")]
mod ahead;
#[cfg(feature = "hosts")]
pub mod base;
pub mod boundary;
#[cfg(feature = "hosts")]
pub mod claim;
#[cfg(feature = "hosts")]
pub mod copy;
pub mod entry;
#[cfg(feature = "hosts")]
pub mod entry_log;
mod error;
#[cfg(feature = "hosts")]
pub mod exchange;
#[cfg(test)]
mod exploration;
pub mod in_store;
pub mod known;
#[cfg(feature = "hosts")]
pub mod known_hosts;
#[cfg(feature = "hosts")]
pub mod memory;
#[cfg(feature = "hosts")]
pub mod objects;
#[cfg(feature = "hosts")]
pub mod owner;
mod planted;
pub mod position;
#[cfg(feature = "hosts")]
pub mod primary;
#[cfg(feature = "hosts")]
pub mod reader;
#[cfg(feature = "hosts")]
pub mod received;
#[cfg(feature = "hosts")]
mod record;
#[cfg(feature = "hosts")]
pub mod shell;
pub mod store;
#[cfg(test)]
mod tests;
#[cfg(feature = "hosts")]
pub mod trim;

pub use error::RemoteLogError;
