//! Traces: recorded transactions, to be run through a model of the nodes (GEM paper, sections 3.1
//! and 4.6).
//!
//! A trace has a [`Header`], which names the transaction types and the partitions with their sizes,
//! and then the transactions in their original order. Two forms hold the same: a compact
//! [`binary`] one, checksummed, and a [`text`] one for people. `docs/trace-format.md` has both to
//! the byte. [`TraceReader`] reads either, transaction by transaction; [`Trace`] holds a whole one
//! in memory.
//!
//! A trace comes from outside. For any bytes, a reader ends in a transaction or in a [`TraceError`]
//! that names the file and the byte or line. It never panics, and it never allocates a size that
//! the file merely claims: names, counts and references have the limits below, and memory grows
//! only with the data read.
//!
//! - [`statistics`]: counts of a trace.
//! - [`synthetic`]: a trace with the statistics of the GEM paper's real-life workload.
//! - [`locality`]: the share of its lock requests that would be local, without running it.
//!

pub mod binary;
mod error;
mod frame;
mod header;
pub mod locality;
mod memory;
mod reader;
pub mod statistics;
pub mod synthetic;

pub mod text;
mod varint;

pub use error::{Fault, Place, TraceError};
pub use header::{Header, Partition};
pub use memory::{Trace, View};
pub use reader::{Form, TraceReader, TraceWriter};

pub use crate::reference::MAX_TYPES;

/// The most partitions of a trace.
pub const MAX_PARTITIONS: usize = 4_096;

/// The longest name of a type or a partition, in bytes.
pub const MAX_NAME_BYTES: usize = 64;

/// The most pages of a partition: the range of page numbers.
pub const MAX_PAGES: u64 = 1 << 32;

/// The most references of a transaction: 48 MiB of them in memory.
pub const MAX_REFERENCES: usize = 1 << 22;
