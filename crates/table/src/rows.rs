//! Rows by the columns that a schema names: for those who do not know them when they are compiled, who come
//! by a wire or from another language, and for what `#[derive(Record)]` makes of a struct.
//!
//! - [`Rows`]: a table's rows in a transaction; [`RowsView`]: without one, to read;
//!   [`SnapshotRows`]: in a snapshot;
//! - [`RowIndex`]: rows in the order of an index, in any of them.
//!
//! Invariants: a value that stands in a row is one of its column's type; a row that was changed
//! meets the conditions of its schema; an operation that fails has done nothing.

mod index;
mod key;
mod snapshot;
mod verbs;
mod view;

pub use index::{RowIndex, RowRange};
pub use snapshot::{ScanPlace, SnapshotRows, SnapshotScan};
pub use verbs::Rows;
pub use view::RowsView;

pub(crate) use key::find_row;
