//! Faults of a file of rows, as a whole or in one row.

use sardonyx_rows::schema::{SchemaError, Type};
use std::fmt;
use std::io;

/// The reason why a file cannot be read or written at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InterchangeError {
    /// The file cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file has a column that the table has not.
    #[error(
        "the file has a column {column:?}, which is no column of the table; the table has {there_are}"
    )]
    UnknownColumn {
        /// The name.
        column: String,
        /// The table's columns.
        there_are: String,
    },
    /// The file has a column twice.
    #[error("the file has the column {column:?} twice")]
    ColumnTwice {
        /// The name.
        column: String,
    },
    /// The file has a column in a type whose values the table's cannot have.
    #[error("column {column:?} is {in_file} in the file, and {in_table} in the table")]
    ColumnType {
        /// The name.
        column: String,
        /// The type in the file, in its format's words.
        in_file: String,
        /// The declared type of the table's column.
        in_table: Type,
    },
    /// The file has a column in a type that tables have not.
    #[error("column {column:?} is {in_file} in the file: tables have no such type")]
    NoSuchType {
        /// The name.
        column: String,
        /// The type in the file, in its format's words.
        in_file: String,
    },
    /// There is no header, or a line goes on beyond all bounds.
    #[error("line {line}: {reason}")]
    Line {
        /// The line's number, from 1.
        line: u64,
        /// The fault.
        reason: String,
    },
    /// The header has no delimiter, but seems to have another one.
    #[error(
        "line {line}: the delimiter seems to be {seems:?}, not a comma: name it by --delimiter {shown}, or \
         --delimiter , if the file has one column",
        shown = delimiter_name(*seems)
    )]
    Delimiter {
        /// The header's line, from 1.
        line: u64,
        /// The delimiter that it seems to have.
        seems: char,
    },
    /// There is nothing to infer the columns from.
    #[error("the columns cannot be inferred: {reason}")]
    NothingToInfer {
        /// A half sentence that follows a colon in the message.
        reason: &'static str,
    },
    /// The columns make no table.
    #[error("the file's columns make no table: {0}")]
    Schema(#[from] SchemaError),
    /// The file's end is needed first.
    #[error("{format} is read from its end: a file is needed, where this is a pipe")]
    NoFile {
        /// As the file's name or an option said.
        format: crate::Format,
    },
    /// This build does not read or write files of columns.
    #[error(
        "{format} is not supported by this program: it was built without the feature `parquet`; build it with \
         `--features parquet` or `--features full`, install the packaged program, or use csv or jsonl"
    )]
    MissingFeature {
        /// As the file's name or an option said.
        format: crate::Format,
    },
    /// The file is damaged, cut off, or not of this format.
    #[error("not readable as {format}: {reason}")]
    Damaged {
        /// As the file's name or an option said.
        format: crate::Format,
        /// The text found.
        reason: String,
    },
    /// A file of this format cannot have a value.
    #[error("column {column:?}: {reason}")]
    Value {
        /// The name.
        column: String,
        /// A half sentence that follows a colon in the message.
        reason: &'static str,
    },
}

/// A delimiter as a shell takes it.
fn delimiter_name(delimiter: char) -> String {
    match delimiter {
        '\t' => "tab".to_string(),
        other => format!("'{other}'"),
    }
}

/// The place of a row in its file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Place {
    /// It begins in this line, from 1.
    Line(u64),
    /// It is this row, from 1: the format has no lines.
    Row(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line(number) => write!(f, "line {number}"),
            Place::Row(number) => write!(f, "row {number}"),
        }
    }
}

/// A row that does not fit the table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadRow {
    /// A line, or a row where the format has no lines.
    pub place: Place,
    /// The column with the value that does not fit, if it is one.
    pub column: Option<String>,
    /// The fault.
    pub reason: String,
}

impl fmt::Display for BadRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.place)?;
        if let Some(column) = &self.column {
            write!(f, ", column {column:?}")?;
        }
        write!(f, ": {}", self.reason)
    }
}
