//! Rows, for all stores that keep them: their schema, their bytes, their keys, their conditions.
//!
//! - [`schema`]: columns, indexes and references of a table, known at run time;
//! - [`Record`]: a struct that is a row. `#[derive(Record)]` takes fields of any length; [`record!`] takes plain data
//!   ([`Plain`]), which is stored as it is. [`Field`] and [`field!`] name a field;
//! - [`JournalRow`]: a struct that is a row of a journal;
//! - [`row`]: a row by its columns' names ([`RowRef`], [`RowWriter`]); [`RowFormat`]: rows as bytes of their own;
//! - [`ReadRows`], [`WriteRows`]: the traits that a store of rows implements; [`Rows`]: a table's rows in any of them;
//! - [`Index`]: an ordered index of a table in any store, which implements [`IndexEntries`]; [`IndexRange`]: its rows;
//! - [`key`]: keys as bytes whose order is that of the values;
//! - [`layout`], [`values`]: rows, and text and bytes of any length, in pages;
//! - [`condition`]: conditions over the columns of a row;
//! - [`declare`], [`define`]: tables declared, and changes of their definitions; [`Relations`] of their schemas;
//! - [`constraints`]: checks that a store makes of its rows: conditions, references;
//! - [`networks`]: addresses of hosts and networks as bytes; [`ranges`]: ranges of numbers, days and moments as bytes;
//! - [`value_text`]: values as text; [`types`]: dates and the like as fields; [`decimals`]: arithmetic of decimals.
//!
//! This crate has the format of rows and no store of them: `sardonyx-table` keeps them in main memory, `sardonyx-sharing`
//! in trees on locked pages.
//!
//! Source: TPK paper, section 2, "Transaction Execution" and Figure 2.

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

mod catalogue;
#[doc(hidden)]
pub mod columns;
mod compare;
pub mod condition;
pub mod constraints;
pub mod decimals;
pub mod declare;
pub mod define;
mod error;
pub mod fields;
mod index;
mod journal;
pub mod key;
pub mod layout;
pub mod networks;
mod open;
mod plain;
pub mod ranges;
pub mod read;
pub mod record;
pub mod records;
pub mod row;
mod rows;
mod savepoint;
pub mod schema;
pub mod types;
pub mod value_text;
pub mod values;
pub mod write;
pub mod zoned_times;

pub use catalogue::Relations;
pub use columns::{ColumnType, RecordColumn};
pub use compare::{beyond_rows, declared_rows, record_schema, records_of, table_of};
pub use define::DefineRows;
pub use error::{RESERVED, TableError, check_name, refused};
pub use fields::{StoredField, check_fields};
#[doc(hidden)]
pub use fields::{find_columns, no_value_of_field};
pub use index::{Index, IndexEntries, IndexRange, Indexed, TokenEntries};
pub use journal::{
    FormattedRow, Journal, JournalFormat, JournalRow, PlainJournalRow, definition_of_journal,
};
pub use key::KeyValues;
pub use open::{Conflict, ConflictWith, TransactionEnded};
pub use plain::{Field, Plain, PlainLayout, RecordKey, field_of, plain_at};
pub use read::{EachRow, ReadRow, ReadRows, ScanPlace, ScanRows};
pub use record::{
    AnyRow, FieldColumn, Found, FoundRow, Record, RecordRow, RowForm, Table, definition_of_plain,
    definition_of_table,
};
pub use records::{RecordMut, RecordRows};
pub use row::{KeyRange, OneRow, Placed, PlacedText, RowError, RowFormat, RowRef, RowWriter};
pub use rows::Rows;
pub use savepoint::Savepoint;
pub use write::WriteRows;
