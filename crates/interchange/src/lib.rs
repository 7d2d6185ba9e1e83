//! The rows of tables as files, in and out: formats between rows and bytes, without a database. The caller has the
//! rows, and the transactions that insert them.
//!
//! | format | named | ends in | from a pipe | into one |
//! | --- | --- | --- | --- | --- |
//! | CSV | `csv` | `.csv` | yes | yes |
//! | TSV: CSV with tabs | `tsv` | `.tsv`, `.tab` | yes | yes |
//! | JSON lines | `jsonl` | `.jsonl`, `.ndjson`, `.json` | yes | yes |
//! | Parquet | `parquet` | `.parquet` | no | yes |
//! | Arrow IPC, file | `arrow` | `.arrow`, `.feather` | no | yes |
//! | Arrow IPC, stream | `arrows` | `.arrows` | yes | yes |
//!
//! | value | CSV | JSON lines |
//! | --- | --- | --- |
//! | null | an empty field | `null` |
//! | empty text | `""` | `""` |
//! | bool | `true`, `false` | the same |
//! | integers | digits | numbers; beyond 64 bits, texts of digits; numbers of any length are read |
//! | floats | digits, `inf`, `-inf`, `NaN` | numbers; those three as texts |
//! | decimal | digits with a point | a text with these, so that none is lost; a number is read, too |
//! | text | the text | a text; numbers, true and false are read as texts |
//! | bytes, plain data | `\x` and hexadecimal digits | base64; `\x` and hexadecimal digits are read, too |
//! | date, time, timestamp, UUID | as [`value_text`] writes them | texts of it |
//!
//! The owner of the table reads texts ([`Texts`]), so that they are the same values as in its other ways in.
//!
//! CSV is that of RFC 4180, in UTF-8, with a header; a field may have line breaks in quotes. Its delimiter is the
//! comma unless another one is given. A header without a comma but with `;`, `|` or a tab is refused, and the error
//! names it. JSON lines are objects, one in each line. Of both, a byte order mark at the beginning and blank lines are
//! ignored. But in CSV of one column that may be null a blank line is a row with a null. A malformed line is one bad
//! row, and the next line is read, also after a missing quote. Parquet is written with Snappy, Arrow without
//! compression. Parquet is read with Snappy, gzip, LZ4 or Zstandard, Arrow with the last two. The correspondence of a
//! table's columns with those of Parquet and Arrow:
//!
//! | column | written as | also read from |
//! | --- | --- | --- |
//! | bool | Boolean | |
//! | integers of 8 to 64 bits | Int8 to UInt64 | each other, decimals of scale 0 |
//! | i128, u128 | Decimal256(39, 0) | the same |
//! | f32, f64 | Float32, Float64 | each other, Float16, integers |
//! | decimal | Decimal128(38, scale) | decimals of any width and scale, integers |
//! | text | Utf8 | LargeUtf8, Utf8View |
//! | bytes, plain data | Binary, FixedSizeBinary | each other, LargeBinary, BinaryView |
//! | date | Date32 | Date64 |
//! | time | Time64 of microseconds | other units |
//! | timestamp | Timestamp of microseconds, UTC | other units and zones; without a zone it is UTC |
//! | UUID | FixedSizeBinary(16), extension `arrow.uuid` | without the extension, too |
//!
//! Parquet and Arrow need the cargo feature `parquet`, which is on by default. A build without it refuses these formats and
//! names the feature ([`InterchangeError::MissingFeature`]).
//!
//! Each of these is read from dictionaries of it, too, and a column of type Null is one of nulls. A value of a wider
//! type that does not fit the column is a bad row.
//!
//! Invariant: written rows are read as the same values. A row that is not understood is a [`BadRow`], and the
//! next one is read; damage of a file of columns ends its reading with an error. Memory does not grow with the
//! file.
//!
//! [`value_text`]: sardonyx_rows::value_text

mod batch;
#[cfg(feature = "parquet")]
mod columnar;
#[cfg(not(feature = "parquet"))]
#[path = "without_columnar.rs"]
mod columnar;
mod columns;
mod csv;
mod error;
mod guess;
mod infer;
mod json;
mod lines;
mod read_ahead;
mod reader;
mod records;
mod source;
mod writer;

pub use batch::Batch;
pub use columns::{Columns, Texts};
pub use error::{BadRow, InterchangeError, Place};
pub use infer::{Inferred, infer};
pub use json::value_to_json;
pub use read_ahead::ReadAhead;
pub use reader::Reader;
pub use source::Source;
pub use writer::Writer;

use std::fmt;
use std::path::Path;

/// The longest line, in bytes: a row with the longest value, as hexadecimal digits.
pub const LINE_BYTES_MAX: usize = 64 << 20;

/// The form of rows in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Format {
    /// Comma-separated values, with a header.
    Csv,
    /// The same, separated by tabs.
    Tsv,
    /// A JSON object in each line.
    JsonLines,
    /// Apache Parquet.
    Parquet,
    /// Apache Arrow's IPC format, as a file with a table of contents.
    Arrow,
    /// Apache Arrow's IPC format, as a stream.
    ArrowStream,
}

impl Format {
    /// As options take them, for messages.
    pub const NAMES: &str = "csv, tsv, jsonl, parquet, arrow, arrows";

    /// The format of this name, or whose files end in it.
    pub fn named(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "csv" => Some(Format::Csv),
            "tsv" | "tab" => Some(Format::Tsv),
            "json" | "jsonl" | "ndjson" => Some(Format::JsonLines),
            "parquet" => Some(Format::Parquet),
            "arrow" | "feather" => Some(Format::Arrow),
            "arrows" => Some(Format::ArrowStream),
            _ => None,
        }
    }

    /// The separator of fields, if the format has one.
    pub(crate) fn delimiter(self) -> Option<u8> {
        (self == Format::Tsv).then_some(b'\t')
    }

    /// The format of a file, by the ending of its name.
    pub fn of_path(path: &Path) -> Option<Self> {
        Self::named(path.extension()?.to_str()?)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Csv => "CSV",
            Format::Tsv => "TSV",
            Format::JsonLines => "JSON lines",
            Format::Parquet => "Parquet",
            Format::Arrow => "an Arrow file",
            Format::ArrowStream => "an Arrow stream",
        })
    }
}
