//! The global lock table in memory that several processes share (GEM paper, sections 2 and 3.2).
//!
//! The protocol's [`Entry`](crate::protocol::Entry) as *cells* of 64 bytes in shared memory. A cell has
//! version, PSN, owner, writer, read authorisations as a set of nodes, and three transactions that hold or
//! await a lock. More of them are in a chain of overflow cells. A [`TableNode`] is an
//! [`EntryStore`](crate::protocol::EntryStore), so the machines that the simulation runs work on it as they
//! are. As in GEM, an entry is read into main memory, changed there, and written back by Compare&Swap. It is
//! built beside; the swap changes one word in the directory. A process may die between any two instructions:
//! every entry is the old or the new one.
//!
//! - [`layout`]: where everything is; - `coding`: an entry as words; - `table`: directory, slots, reading;
//! - `node`: swaps; - `claims`: the owner of each cell, and the discovery of dead nodes' cells;
//! - [`segment`]: the file, made and joined, and the nodes' liveness.
//!
//! Invariants: a cell that the directory leads to is not changed. A cell is in one entry, one node's, or
//! free. An entry names only nodes that have joined and are not forgotten, so that a slot identifies the
//! node. A page that was ever locked keeps its entry: its PSN is known nowhere else without I/O. Bounds (I10): cells
//! are as many as the table was made with, entries have at most [`layout::OWNERS_MAX`] owners; more are refused by a
//! typed error, which changes nothing.
//!
//! A node that is *stopped* may go on at any time and swap: it must be killed before its locks are
//! recovered.

mod claims;
mod coding;
#[cfg_attr(shuttle, allow(dead_code, reason = "models have no files"))]
mod error;
#[cfg_attr(shuttle, allow(dead_code, reason = "models have no files"))]
pub mod layout;
mod node;
#[cfg(not(shuttle))]
pub mod segment;
mod table;
#[cfg(test)]
mod tests;

pub use claims::Census;
pub use error::LockTableError;
pub use layout::Shape;
pub use node::TableNode;
#[cfg(not(shuttle))]
pub use segment::{Node, Segment, SegmentOptions};
pub use table::LockTable;

use sardonyx_base::sync::atomic::AtomicU64;
use std::ops::Deref;

/// Memory in words that change atomically: shared by processes, or, for tests, a boxed slice.
pub trait Words: Deref<Target = [AtomicU64]> {}

impl<M: Deref<Target = [AtomicU64]>> Words for M {}
