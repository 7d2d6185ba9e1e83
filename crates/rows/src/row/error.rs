//! Errors of values that are to be stored in a row, and of names of columns.

#![allow(missing_docs, reason = "the text of each error names its fields")]

use crate::condition::CheckFailure;
use crate::constraints::DefaultFailure;
use crate::schema::{Column, Declared, DeclaredDefault, Limit, Schema, Type, ValueRef};
use sardonyx_base::error::{Error, Kind};

/// The reason why values are not stored, or not read: it names the table, the column and the value.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RowError {
    /// There is no such table.
    #[error("there is no table {table:?}")]
    UnknownTable {
        /// The name.
        table: String,
    },
    /// The table has no such column.
    #[error("table {table:?} has no column {column:?}; it has {there_are}")]
    UnknownColumn {
        table: String,
        /// The name.
        column: String,
        /// The names of its columns.
        there_are: String,
    },
    #[error("column {column:?} of table {table:?} is given twice")]
    Twice { table: String, column: String },
    /// So many values, and not as many as there are columns.
    #[error("table {table:?} has {wanted} {what}, and {given} values are given")]
    Count {
        table: String,
        /// `columns`, or `key columns`.
        what: &'static str,
        /// The number of columns.
        wanted: usize,
        /// The number of values given.
        given: usize,
    },
    /// A value of another type than the column's.
    #[error("column {column:?} of table {table:?} is of type {kind}, and {value} is not")]
    WrongType {
        table: String,
        column: String,
        /// The column's type.
        kind: Type,
        value: String,
    },
    /// A value that the column's type does not have.
    #[error(
        "{value} is out of range for column {column:?} of table {table:?}, of type {kind}: {reason}"
    )]
    OutOfRange {
        table: String,
        column: String,
        /// The column's type.
        kind: Type,
        value: String,
        reason: &'static str,
    },
    /// No value where there must be one.
    #[error("column {column:?} of table {table:?} may not be null")]
    Null { table: String, column: String },
    /// A column that has no default and may not be null is not given.
    #[error("column {column:?} of table {table:?} has no default, and no value is given")]
    Missing { table: String, column: String },
    /// Bytes that are no text.
    #[error("the text for column {column:?} of table {table:?} is not UTF-8 at byte {at}")]
    NotUtf8 {
        table: String,
        column: String,
        /// The first byte that is not.
        at: usize,
    },
    /// A text or bytes that are too long.
    #[error(
        "{bytes} bytes are too long for column {column:?} of table {table:?}; {limit} are allowed"
    )]
    TooLong {
        table: String,
        column: String,
        /// The length of the value, in bytes.
        bytes: usize,
        /// The largest length, in bytes.
        limit: usize,
    },
    /// A value that the column's declared type does not have.
    #[error(
        "{value} is no {declared} for column {column:?} of table {table:?}: the type has {limit}"
    )]
    Declared {
        table: String,
        column: String,
        /// The declared type.
        declared: Box<str>,
        value: String,
        /// The limit of the type.
        limit: Limit,
    },
    /// A column is not given, and its default cannot be computed.
    #[error("the default of column {column:?} of table {table:?} cannot be computed: {reason}")]
    Uncomputed {
        table: String,
        column: String,
        /// SQLSTATE.
        code: &'static str,
        reason: String,
    },
    /// A column that is generated of others cannot be computed.
    #[error("generated column {column:?} of table {table:?} cannot be computed: {reason}")]
    Ungenerated {
        table: String,
        column: String,
        /// SQLSTATE.
        code: &'static str,
        reason: String,
    },
    /// The row would not meet a condition of its table.
    #[error("new row violates check constraint {name:?} of table {table:?}: {condition}")]
    Check {
        table: String,
        /// The condition's name.
        name: String,
        condition: String,
    },
    /// A condition of its table cannot be tested of the row.
    #[error("condition {name:?} of table {table:?} cannot be tested: {reason}")]
    Untested {
        table: String,
        /// The condition's name.
        name: String,
        /// SQLSTATE.
        code: &'static str,
        reason: String,
    },
}

impl RowError {
    /// The error of a text with a zero byte.
    #[cold]
    pub(crate) fn zero_byte(table: &str, column: &str, value: ValueRef<'_>) -> RowError {
        RowError::OutOfRange {
            table: table.to_string(),
            column: column.to_string(),
            kind: Type::Text,
            value: shown(value),
            reason: "a text has no zero byte, but a column of bytes may have",
        }
    }

    /// The error of a value that a column's declared type does not have.
    #[cold]
    pub(crate) fn declared(
        table: &str,
        column: &Column,
        declared: &Declared,
        value: ValueRef<'_>,
    ) -> RowError {
        RowError::Declared {
            table: table.to_string(),
            column: column.name.clone(),
            declared: declared.type_name().into(),
            value: shown(value),
            limit: declared.limit(),
        }
    }

    /// The error of a default that cannot be computed.
    #[cold]
    pub(crate) fn uncomputed(
        schema: &Schema,
        table: &str,
        column: usize,
        failure: DefaultFailure,
    ) -> RowError {
        let column = schema.columns.get(column);
        RowError::Uncomputed {
            table: table.to_string(),
            column: column.map_or_else(String::new, |column| column.name.clone()),
            code: failure.code,
            reason: failure.reason,
        }
    }

    /// The error of a generated column that cannot be computed.
    #[cold]
    pub(crate) fn ungenerated(
        schema: &Schema,
        table: &str,
        column: usize,
        CheckFailure { code, reason, .. }: CheckFailure,
    ) -> RowError {
        let column = schema.columns.get(column);
        RowError::Ungenerated {
            table: table.to_string(),
            column: column.map_or_else(String::new, |column| column.name.clone()),
            code,
            reason,
        }
    }

    /// The error of a default that this program cannot compute.
    #[cold]
    pub(crate) fn not_computed_here(schema: &Schema, table: &str, column: usize) -> RowError {
        let declared = schema.declared(column);
        let reason = match declared.and_then(|declared| declared.default.as_ref()) {
            Some(DeclaredDefault::Sql(text)) => format!(
                "it is in SQL ({text}), which this program does not speak: give a value, or open the database with \
                 sardonyx_sql::Database"
            ),
            _ => "only transactions of tables number rows: give a number".to_string(),
        };
        let failure = DefaultFailure {
            code: "0A000",
            reason,
            interrupted: None,
        };
        RowError::uncomputed(schema, table, column, failure)
    }

    pub(crate) fn kind(&self) -> Kind {
        match self {
            RowError::TooLong { .. } => Error::Limit,
            _ => Error::Refused,
        }
    }
}

/// A value for an error's text, with its type if its digits do not show it: `1` may be a float.
#[cold]
pub(crate) fn shown_with_type(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Float(number) => format!("the float {number:?}"),
        ValueRef::Decimal(..) | ValueRef::NonFinite(_) => format!("the decimal {value}"),
        other => shown(other),
    }
}

/// A value for an error's text: long ones cut.
#[cold]
pub fn shown(value: ValueRef<'_>) -> String {
    const BYTES_MAX: usize = 100;
    match value {
        ValueRef::Bytes(bytes) if bytes.len() > BYTES_MAX / 2 => {
            format!("{} bytes", bytes.len())
        }
        ValueRef::Text(text) => {
            let end = (0..=BYTES_MAX.min(text.len())).rev();
            let end = end.into_iter().find(|&at| text.is_char_boundary(at));
            let start = text.get(..end.unwrap_or(0)).unwrap_or_default();
            let more = if start.len() < text.len() { "…" } else { "" };
            format!("{start:?}{more}")
        }
        ValueRef::Null => "null".to_string(),
        other => other.to_string(),
    }
}
