//! The rows of tables as CSV and as JSON lines, in and out: formats between rows and bytes, without a
//! database. Whoever calls has the rows, and the transactions that insert them.
//!
//! | value | CSV | JSON lines |
//! | --- | --- | --- |
//! | null | an empty field | `null` |
//! | empty text | `""` | `""` |
//! | bool | `true`, `false` | the same |
//! | integers | digits | numbers; beyond 64 bits, texts of digits |
//! | floats | digits, `inf`, `-inf`, `NaN` | numbers; those three as texts |
//! | decimal | digits with a point | a text with these, so that none is lost; a number is read, too |
//! | bytes, plain data | hexadecimal digits | base64 |
//! | date, time, timestamp, UUID | as [`value_text`] says | texts of it |
//!
//! CSV is that of RFC 4180, in UTF-8, with a header; a field may have line breaks in quotes. JSON lines are
//! objects, one in each line.
//!
//! Invariant: what was written is read as the same values. A line that is not understood is a [`BadLine`], and the
//! next one is read.
//!
//! [`value_text`]: sardonyx_table::value_text

mod csv;
mod error;
mod infer;
mod json;
mod reader;
mod writer;

pub use error::{BadLine, InterchangeError};
pub use infer::infer;
pub use json::value_to_json;
pub use reader::{ParsedRow, Reader};
pub use writer::Writer;

use std::path::Path;

/// The longest line, in bytes: a row with the longest value, as hexadecimal digits.
pub const LINE_BYTES_MAX: usize = 64 << 20;

/// How rows stand in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Format {
    /// Comma-separated values, with a header.
    Csv,
    /// A JSON object in each line.
    JsonLines,
}

impl Format {
    /// The format of this name.
    pub fn named(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "csv" => Some(Format::Csv),
            "jsonl" | "ndjson" => Some(Format::JsonLines),
            _ => None,
        }
    }

    /// The format that a file's name says by its ending.
    pub fn of_path(path: &Path) -> Option<Self> {
        Self::named(path.extension()?.to_str()?)
    }
}
