//! Closely coupled nodes with real data (GEM paper, sections 2 and 3.2): up to 64 processes of one host on one
//! database, each with a buffer of its own. [`GemLocking`](crate::protocol::GemLocking), as it is simulated and
//! explored, locks pages over all nodes, in memory that they share.
//!
//! ```no_run
//! use sardonyx_sharing::node::{NodeError, NodeOptions, Nodes};
//!
//! let nodes = Nodes::open("bank.sdx", NodeOptions::default())?;
//! let node = nodes.join()?;
//! node.run(|tx| {
//!     let balance = tx.read(7, 0..8)?;
//!     tx.write(7, 8, &balance)
//! })?; // on stable storage when this returns
//! # Ok::<(), NodeError>(())
//! ```
//!
//! **What storage is.** Nodes write no pages. A transaction that commits publishes its redo in the ring that all share.
//! When it is durable in the one common log its locks are released, so that a page never travels ahead of its redo
//! (I2). Durable redo is applied to the stored pages, DB' in shared memory, which the protocol knows as storage. With
//! FORCE that is done before the locks are released. With NOFORCE the owner of a page answers for it, across GEM, until
//! a node wants it stored. No steal: only committed redo leaves a node, so a node that dies leaves nothing to be
//! undone.
//!
//! - `layout`, `gem`: the shared memory, and locks that the dead do not keep;
//! - `ring`, `commit`, `stored`: redo from its commit to the log and to the stored pages;
//! - `mailbox`, `coding`, `transfer`: messages and pages across GEM;
//! - `buffer`, `work`, `local`, `shell`: a node of any coupling without threads; `member`: with them;
//! - `coupling`: the difference between couplings; `close`: the close one; `recovery`: of failed nodes;
//! - `opening`, `close_member`: processes and threads; - `running`, `transaction`: transactions, of
//!   nodes of either coupling; - `tables`: rows in trees of pages, on nodes of either coupling;
//! - [`leftovers`]: shared memory of dead processes; - `fencing`: of processes that are stopped; - `imposed`, `observer`: for experiments.
//!
//! Bounds (I10): the shared memory is made for a number of pages. A page lock is held until the transaction is durable,
//! so one page allows one commit a sync. A transaction that waits for another of its own thread waits for ever.

mod buffer;
mod close;
mod close_member;
mod coding;
mod commit;
mod coupling;
mod error;
mod fencing;
mod gem;
mod imposed;
mod kinds;
mod layout;
pub mod leftovers;
mod local;
pub mod loose;
mod mailbox;
mod member;
mod observer;
mod opening;
mod recovery;
mod ring;
mod running;
mod shell;
mod stored;
mod tables;
mod transaction;
mod transfer;
mod work;

#[cfg(test)]
mod tests;

pub use close::WRITE_BACK;
pub use close_member::Node;
pub use error::NodeError;
pub use imposed::ImposedTimes;
pub use member::NodeStatistics;
pub use observer::{Committed, Observer};
pub use opening::{NodeOptions, Nodes};
pub use tables::{
    FrozenTables, KEY_BYTES_MAX, NodeEntries, NodeIndex, NodeJournal, NodeJournalRows, NodeRecords,
    NodeTables, OwnedRow, PagesInUse, TableNode,
};
pub use transaction::Transaction;
