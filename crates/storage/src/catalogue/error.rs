//! Faults of the catalogue, or of a declaration for it.

#![allow(missing_docs, reason = "the text of each error names its fields")]

use super::way::{Way, refusal};
use crate::store::StoreError;

/// The reason why the catalogue cannot be read or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogueError {
    /// A table, journal or area of this name has another layout.
    #[error("{name:?} is declared as {found}, but the program declares it as {declared}")]
    LayoutDiffers {
        name: String,
        /// The database's definition.
        found: String,
        /// The program's definition.
        declared: String,
    },
    #[error("there is no area under number {number}: the handle belongs to another database")]
    NoArea {
        /// The handle's number.
        number: u16,
    },
    #[error("there is no table under number {number}: the handle belongs to another database")]
    NoTable {
        /// The handle's number.
        number: u16,
    },
    /// No table has this name.
    #[error("there is no table {name:?}")]
    UnknownTable { name: String },
    /// A name, size or count is beyond its limit.
    #[error("{what} is {value}, the limit is {limit}")]
    Limit {
        /// The limited thing.
        what: &'static str,
        value: u64,
        limit: u64,
    },
    /// A record's size cannot be stored.
    #[error("records of {size} bytes in {name:?} cannot be stored: {requirement}")]
    RecordSize {
        /// The table.
        name: String,
        /// The record's size in bytes.
        size: usize,
        requirement: &'static str,
    },
    /// A table's primary key is empty or does not lie within its records.
    #[error(
        "the key of table {name:?} cannot be stored: {key_bytes} bytes at {key_offset} in records \
         of {record_bytes} bytes; it must have at least one byte and lie within the record"
    )]
    KeyPlace {
        /// The table.
        name: String,
        /// The beginning of the key, in bytes.
        key_offset: usize,
        /// The key's length in bytes.
        key_bytes: usize,
        /// The record's length in bytes.
        record_bytes: usize,
    },
    /// The pages have completed operations of transactions that may still be undone.
    #[error(
        "the database has {transactions} unfinished multi-level transactions: open it with the \
         multi-level way first, which undoes them"
    )]
    Unfinished { transactions: u64 },
    /// The database was made in a way that has no catalogue.
    #[error("{}", refusal(*way))]
    OtherWay { way: Way },
    /// The pages do not hold a sound catalogue.
    #[error("the catalogue is damaged at page {page}, offset {offset}: {reason}")]
    Damaged {
        page: u64,
        /// The offset in the page.
        offset: usize,
        /// The fault there.
        reason: String,
    },
    /// No memory for more pages.
    #[error(transparent)]
    Store(#[from] StoreError),
}
