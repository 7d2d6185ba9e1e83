//! Tables: fixed-size typed records in pages, a primary-key hash index, a free list, journals, and
//! the transaction that changes them. Which there are is in the catalogue, [`sardonyx_storage::catalogue`].
//!
//! - [`Record`] and [`record!`]: what a record is; [`Field`] and [`field!`]: one of its fields;
//! - [`layout`]: how records lie in a page;
//! - [`hash`]: the hash of a key, by a secret of the opening;
//! - [`index`]: from key to address, in memory only, rebuilt at open;
//! - [`index_store`]: memory for indexes;
//! - [`TableSpace`]: all of it on one page store;
//! - [`SpaceSnapshot`]: all tables at one commit, to read while transactions go on;
//! - [`schema`]: what rows are, known at run time; [`value_text`]: values as text;
//! - [`types`]: dates and the like as fields;
//! - [`condition`]: conditions over the columns of a row;
//! - [`RowRef`], [`Rows`]: rows by their columns' names; text and bytes of any length;
//! - [`Transaction`]: changes with before-images for undo and redo records of what changed.
//!
//! Source: TPK paper, section 2, "Transaction Execution" and Figure 2; section 4, Figure 4.

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

mod build;
mod change;
#[doc(hidden)]
pub mod columns;
mod compare;
pub mod condition;
mod error;
pub mod hash;
pub mod index;
pub mod index_store;
mod index_view;
mod key;
pub mod layout;
mod ordered;
mod ordered_build;
mod packed;
mod rebuild;
mod record;
mod rows;
pub mod schema;
mod schemas;
mod secondary;
mod snapshot;
mod space;
mod stored;
mod table;
mod transaction;
pub mod types;
mod undo;
pub mod value_text;
mod values;

pub use columns::{ColumnType, RecordColumn};
pub use compare::{beyond_records, record_schema, records_of, table_of};
pub use error::TableError;
pub use hash::KeyHash;
pub use index_view::{Index, IndexRange, SnapshotIndex, SnapshotRange};
pub use key::KeyValues;
pub use rebuild::{Contents, RebuildReport, read_contents};
pub use record::{Field, Journal, JournalRow, Record, RecordKey, Row, Table, field_of};
pub use rows::{
    KeyRange, OneRow, RowError, RowFormat, RowIndex, RowRange, RowRef, RowWriter, Rows, RowsView,
    ScanPlace, SnapshotRows, SnapshotScan,
};
pub use schemas::{check_name, read_schemas};
pub use snapshot::{Records, SpaceSnapshot};
pub use space::{Prefetch, TableSpace, View, definition_of_table};
#[doc(hidden)]
pub use stored::no_value_of_field;
pub use stored::{Stored, StoredField, StoredTable, columns_of};
pub use transaction::{Due, HeldReference, Marked, RecordMut, Transaction, Walk};
