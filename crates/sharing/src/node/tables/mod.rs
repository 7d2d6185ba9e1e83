//! Tables of rows for nodes, closely or loosely coupled: typed and dynamic rows in trees whose pages all nodes lock, so
//! that each node's index is the others' index, too.
//!
//! A node's own transactions do everything here, as reads and changes of pages. So it is atomic, durable and recovered
//! with them. It is serializable because page locks are kept until the transaction is durable (strict two-phase locking
//! over all nodes). A range is safe from rows that come into it, since all leaves that it could be in are locked.
//!
//! ```text
//! page 0          head: magic, version, the catalogue's root, how many pages were given out
//! pages 1 to 64   pools: of each slot, the pages that its node has and does not use
//! page 65 and on  the catalogue's root; then whatever was given out: nodes of trees, long values, free pages
//! ```
//!
//! Nothing here knows how nodes are coupled: a transaction asks its node for pages and a commit
//! ([`Runs`](super::running::Runs)), and a node is asked where a journal's rows are.
//!
//! - `access`: what is asked of a transaction; `view`, `arena`: the pages that one operation works on;
//! - `space`: pages given out and taken back; `long`: values that are too long for a leaf;
//! - `entries`: a tree's entries; `change`: the change of a row and its indexes;
//! - `catalogue`: the definitions of tables; `known`: all of them, and the ones that a node keeps; `dropping`: dropped
//!   ones;
//! - `store`: all of it as a store of rows, with the constraints and changes of schemas that all stores have;
//! - `range`: rows in the order of an index;
//! - `node`, `handle`, `records`, `rows`, `journal`: what a program sees; `log_rows`: a
//!   journal's rows from files; `check`: whether all is sound;
//! - `frozen`: tables in recovered pages, to be read without a node.
//!
//! An operation works on copies of pages and hands its changes to the transaction when it has succeeded, all or
//! none. So one that fails, or that has to wait for a lock and is begun again, has done nothing.
//!
//! A database's pages are used by number, or hold tables: a program that writes pages by number writes into the
//! tables.
//!
//! Bounds (I10): an encoded key has at most [`KEY_BYTES_MAX`] bytes. The redo ring bounds a row and a transaction
//! ([`NodeError::TransactionTooLarge`]). So an index is built, and a column widened, only of tables that a transaction
//! can rewrite. Journals cannot be dropped, and of a table that was dropped a page for each tree stays. To count is to
//! read all leaves. A schema change waits for all transactions that use tables.
//!
//! Source: GEM paper, section 3 (page locks over all nodes, read authorisations, by which hot inner pages of a tree
//! are locked without GEM); DASDBS paper, section 2 (the tree).
//!
//! [`NodeError::TransactionTooLarge`]: super::NodeError::TransactionTooLarge

mod access;
mod arena;
mod catalogue;
mod change;
mod check;
mod dropping;
mod entries;
mod frozen;
mod handle;
mod journal;
mod known;
mod log_rows;
mod long;
mod node;
mod range;
mod records;
mod rows;
mod space;
mod store;
mod view;

#[cfg(test)]
pub(super) mod tests;

pub(super) use access::{Access, Change};
pub use check::PagesInUse;
pub(super) use dropping::empty_dropped;
pub use frozen::FrozenTables;
pub use journal::{NodeJournal, NodeJournalRows};
pub(super) use known::{Known, Used};
pub(super) use log_rows::{JournalSource, LogRows};
pub use node::TableNode;
pub(super) use node::{Seat, Seated};
pub use range::OwnedRow;
pub use rows::{NodeIndex, NodeRecords};
pub use sardonyx_storage::tree::KEY_BYTES_MAX;
pub(super) use space::POOLS;
pub use store::{NodeEntries, NodeTables};
