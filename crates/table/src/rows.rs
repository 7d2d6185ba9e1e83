//! Rows by the columns that a schema names: for those who do not know them when they are compiled, who come
//! by a wire or from another language, and for what `#[derive(Record)]` makes of a struct.
//!
//! - [`RowRef`]: a row, read column by column, live or of a snapshot;
//! - [`RowWriter`]: values of columns, on their way into a row;
//! - [`Rows`]: a table's rows in a transaction; [`RowsView`]: without one, to read;
//!   [`SnapshotRows`]: in a snapshot;
//! - [`RowIndex`]: rows in the order of an index, in any of them;
//! - [`RowFormat`]: rows as bytes of their own, for ways of running transactions that keep them otherwise.
//!
//! The bytes are those that a struct of [`record!`](crate::record!) has, so a row may be written the one way
//! and read the other.
//!
//! Invariants: a value that stands in a row is one of its column's type ([`fixed`]); a row that was changed
//! meets the conditions of its schema; an operation that fails has done nothing.

mod error;
mod fixed;
mod format;
mod index;
mod key;
mod reference;
mod snapshot;
mod verbs;
mod view;
mod writer;

pub use error::RowError;
pub use format::{KeyRange, OneRow, RowFormat};
pub use index::{RowIndex, RowRange};
pub use reference::RowRef;
pub use snapshot::{ScanPlace, SnapshotRows, SnapshotScan};
pub use verbs::Rows;
pub use view::RowsView;
pub use writer::RowWriter;

pub(crate) use error::shown;
pub(crate) use fixed::{encode, set_column, variable_bytes};
pub(crate) use key::{find_row, identity, same};
