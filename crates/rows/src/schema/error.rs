//! Errors of schemas.

#![allow(missing_docs, reason = "the text of each error names its fields")]

use super::Type;

/// The reason why a table cannot have a schema.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// A name is empty, too long, or has characters that names cannot have.
    #[error(
        "the name {name:?} of {what} cannot be stored: it must have 1 to {limit} bytes and no control characters"
    )]
    Name {
        /// The kind of the named item.
        what: &'static str,
        name: String,
        /// The most bytes.
        limit: usize,
    },
    /// Two columns, indexes or references have one name.
    #[error("there are two {what} named {name:?}; give one of them another name")]
    Twice {
        /// Columns, indexes, ...
        what: &'static str,
        name: String,
    },
    /// There is no such column.
    #[error("there is no column {column:?}, which {user} names; the columns are {there_are}")]
    UnknownColumn {
        /// The name that was looked for.
        column: String,
        /// The key, index or condition that names it.
        user: String,
        /// The existing names.
        there_are: String,
    },
    /// More of something than a table can have.
    #[error("{what} is {count}, the limit is {limit}")]
    TooMany {
        /// The limited items.
        what: &'static str,
        count: usize,
        /// The largest number.
        limit: usize,
    },
    /// A default is no value of its column.
    #[error("the default of column {column:?} is {default}, which is no value of type {kind}")]
    Default {
        column: String,
        kind: Type,
        default: String,
    },
    /// A type has parameters that it cannot have.
    #[error("the type of column {column:?} cannot be stored: {reason}")]
    Type {
        column: String,
        reason: &'static str,
    },
    #[error("there is no primary key: name its columns with `primary_key`")]
    NoPrimaryKey,
    /// A column of the primary key may be null.
    #[error("column {column:?} is of the primary key, so it cannot be nullable")]
    NullableKey { column: String },
    #[error("column {column:?} is twice in the key of {index:?}")]
    KeyColumnTwice { column: String, index: String },
    /// The rows' fixed part is longer than a page has room for.
    #[error(
        "a row's fixed part has {bytes} bytes, the limit is {limit}; text and bytes take 16 there, at any length"
    )]
    RowTooLong {
        /// Its length.
        bytes: usize,
        /// The most.
        limit: usize,
    },
    /// A column is not within the row, is not aligned, or overlaps another.
    #[error("column {column:?} at offset {offset} {reason}")]
    Place {
        column: String,
        offset: usize,
        reason: &'static str,
    },
    /// A call of a builder has no effect at its place.
    #[error("{reason}")]
    Misplaced {
        /// The call, and its right place.
        reason: &'static str,
    },
    /// There is no table of this name.
    #[error("reference {reference:?} is to table {table:?}, which does not exist; create it first")]
    UnknownTable { reference: String, table: String },
    /// The columns of a reference and those that it is to do not go together.
    #[error("reference {reference:?}: {reason}")]
    Reference {
        reference: String,
        /// The reason, and the remedy.
        reason: String,
    },
    /// A text is no condition.
    #[error("condition {name:?}: {source}")]
    Condition {
        name: String,
        /// The reason.
        source: crate::condition::ConditionError,
    },
    /// A change of the schema cannot be made.
    #[error("column {column:?} cannot be {change}: {reason}")]
    Change {
        column: String,
        /// The change that was requested.
        change: &'static str,
        /// The reason, and the remedy.
        reason: String,
    },
    /// A column's new type cannot hold all values of the old one.
    #[error(
        "column {column:?} cannot be widened from {from} to {to}: not every value of {from} is one of {to}"
    )]
    NotWider {
        column: String,
        from: Type,
        /// The type that it should get.
        to: Type,
    },
    /// A declaration that its column cannot have.
    #[error("the declaration of column {column:?} is invalid: it {reason}")]
    Declared {
        column: String,
        reason: &'static str,
    },
    /// Stored bytes are no schema.
    #[error("the stored schema is damaged at byte {at}: {reason}")]
    Damaged {
        /// The offset of the damage.
        at: usize,
        reason: &'static str,
    },
    /// A schema that a later version stored.
    #[error("the stored schema has version {version}; this program knows versions up to {known}")]
    Version {
        version: u16,
        /// The newest that is known.
        known: u16,
    },
}
