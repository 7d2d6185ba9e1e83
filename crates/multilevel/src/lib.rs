//! Multi-level transactions: operations on objects, with semantic locks until the end of the
//! transaction and page locks until the end of the operation.
//!
//! - [`Operation`], [`Recorded`], [`Inverse`]: the user's operations ([`operation`]);
//! - [`Pages`]: an operation's view of the pages ([`pages`]; [`plain`] for tests);
//! - [`Database`], [`Transaction`]: running them;
//! - [`Snapshot`]: the state at one commit, to read beside them;
//! - [`counter`], [`index`], [`records`]: bounded counters, ordered indexes, and the records of tables,
//!   ready types;
//! - [`strategy`]: the release of locks, and the writes to the log;
//! - [`undo`]: undo entries as bytes in pages of the database;
//! - [`sphere`]: persistence spheres;
//! - `harness`, with the feature of that name: testing one's own operations.
//!
//! Source: Hasse & Weikum, *A Performance Evaluation of Multi-Level Transaction Management*
//! (the *DASDBS paper*), section 2.

#![cfg_attr(
    not(test),
    deny(
        clippy::dbg_macro,
        clippy::exit,
        clippy::panic,
        clippy::print_stderr,
        clippy::print_stdout,
        clippy::string_slice,
        clippy::todo,
        clippy::unimplemented,
        clippy::unwrap_used
    )
)]

mod areas;
mod changes;
pub mod counter;
mod database;
mod error;
mod frames;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
#[cfg(feature = "harness")]
pub mod harness;
mod home;
pub mod index;
mod kinds;
mod nesting;
pub mod operation;
mod options;
mod page_locks;
pub mod pages;
pub mod plain;
pub mod records;
mod recovery;
mod registry;
mod restart_delay;
mod shared;
mod snapshot;
pub mod sphere;
mod statistics;
pub mod strategy;
mod subtransaction;
mod transaction;
pub mod undo;
mod unit_log;
#[doc(hidden)]
pub mod values;

pub use database::Database;
pub use error::{CallError, CommitError, CompensationError, DatabaseError};
pub use operation::{Inverse, LockRequests, Operation, Recorded};
pub use options::Options;
pub use pages::{Area, Change, Page, Pages, Stop};
pub use plain::PlainPages;
pub use recovery::Undone;
pub use restart_delay::RestartDelay;
pub use sardonyx_lock::{LockSpace, Mode, VictimRule};
pub use sardonyx_rows::{Plain, Record, record};
pub use sardonyx_storage::page::{PAGE_SIZE, PageId};
pub use snapshot::{Records, Snapshot};
pub use statistics::Statistics;
pub use strategy::{PageLog, Release, Strategy};
pub use transaction::Transaction;
pub use values::Values;
