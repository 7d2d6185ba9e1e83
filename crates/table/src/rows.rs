//! Rows by the columns that a schema names: for readers that do not know the columns at compile time, such as clients
//! and other languages, and for `#[derive(Record)]`.
//!
//! The store's side of [`ReadRows`](sardonyx_rows::ReadRows) and [`WriteRows`](sardonyx_rows::WriteRows): of a state between
//! transactions, of a transaction, of a snapshot. An [`Index`](sardonyx_rows::Index) finds
//! rows in its order, in any of them.
//!
//! Invariants: a value stored in a row is one of its column's type; a row that was changed meets the conditions of its
//! schema; an operation that fails has done nothing.

mod fixed;
mod key;
mod records;
mod snapshot;
mod verbs;
mod view;

pub use fixed::FixedRow;
pub use snapshot::SnapshotScan;
pub use view::ViewScan;

pub(crate) use key::{columns_key, find_hashed, find_row};
