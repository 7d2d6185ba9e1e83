//! Faults of a trace, and their places.

use std::fmt;
use std::io;

/// A place in a trace's file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// A byte, from 0: of the binary form.
    Offset(u64),
    /// A line, from 1: of the text form.
    Line(u64),
    /// A transaction, from 0: of a trace that is being made.
    Transaction(u64),
    /// The names and sizes before the first transaction, of a trace that is being made.
    Header,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Offset(offset) => write!(f, "at byte {offset}"),
            Place::Line(line) => write!(f, "in line {line}"),
            Place::Transaction(number) => write!(f, "in transaction {number} (from 0)"),
            Place::Header => write!(f, "in the header"),
        }
    }
}

/// The fault: the value found and the right one.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// Neither form begins like this.
    #[error(
        "this is no trace: a binary one begins with the bytes 93 53 44 58 54 52 43 0A, a text one \
         with the line \"sardonyx-trace 1\""
    )]
    NoTrace,
    /// The version is not known.
    #[error("version {found} of the format is not known: this program reads version 1")]
    Version {
        /// The version.
        found: String,
    },
    /// The file ends too early.
    #[error("the file ends in the middle of {of}: it was cut off")]
    CutOff {
        /// The incomplete thing.
        of: &'static str,
    },
    /// A checksum does not fit.
    #[error("the checksum is {found:08x} where the content gives {expected:08x}: {hint}")]
    Checksum {
        /// The checksum in the file.
        found: u32,
        /// The checksum of the content.
        expected: u32,
        /// The remedy.
        hint: &'static str,
    },
    /// There is something behind the end.
    #[error("there are bytes behind the end of the trace: remove them")]
    Behind,
    /// A number is outside its limits.
    #[error("{what} is {found}: allowed is {least} to {most}")]
    Range {
        /// The meaning of the number.
        what: &'static str,
        /// As the trace has it.
        found: u64,
        /// The least that is allowed.
        least: u64,
        /// The most that is allowed.
        most: u64,
    },
    /// Bytes that are no number of the format.
    #[error("{what} is no number of at most 64 bits in its shortest form")]
    Varint {
        /// The meaning of the number.
        what: &'static str,
    },
    /// A name that is not allowed.
    #[error(
        "{found:?} is no name: 1 to 64 letters, digits and characters of \"_-./\" are, in ASCII"
    )]
    Name {
        /// The name.
        found: String,
    },
    /// A name that exists twice.
    #[error("the {what} {name:?} exists already: names must differ")]
    Twice {
        /// `type` or `partition`.
        what: &'static str,
        /// As the trace has it.
        name: String,
    },
    /// A name that was not declared.
    #[error("there is no {what} {name:?}: the header has not declared it")]
    Unknown {
        /// `type` or `partition`.
        what: &'static str,
        /// As the trace has it.
        name: String,
    },
    /// A line that is not one of the format.
    #[error("{found:?} is not expected here: {expected} is")]
    Word {
        /// The word found.
        found: String,
        /// The right value.
        expected: &'static str,
    },
    /// A line that is too long.
    #[error("the line has more than {most} bytes: split it")]
    LongLine {
        /// The most bytes.
        most: usize,
    },
    /// A line that is not text.
    #[error("the line is not UTF-8")]
    NotText,
    /// A reference that names no page.
    #[error("page {page} of partition {partition:?} does not exist: it has {pages} pages, from 0")]
    Page {
        /// The partition's name.
        partition: String,
        /// As the trace has it.
        page: u64,
        /// The partition's pages.
        pages: u64,
    },
    /// A count that does not fit the part read.
    #[error(
        "the end counts {found} {what} where the trace has {expected}: some are missing or added"
    )]
    Count {
        /// `transactions` or `references`.
        what: &'static str,
        /// The count at the end.
        found: u64,
        /// The value read.
        expected: u64,
    },
    /// A reference that a trace cannot hold.
    #[error("a trace names the page of every reference: an append has none")]
    Append,
}

/// The reason why a trace cannot be read, written or held.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The content is wrong.
    #[error("{file}, {place}: {fault}")]
    Wrong {
        /// The file's name as it was given.
        file: String,
        /// A line of a text, or an offset in a binary trace.
        place: Place,
        /// The rule of the format that is violated.
        fault: Fault,
    },
    /// The file could not be read or written.
    #[error("{file}: {source}")]
    Io {
        /// The file's name as it was given.
        file: String,
        /// The reason.
        source: io::Error,
    },
    /// The trace is larger than the limit in memory.
    #[error("{file} has more than {most} references, the most that may be held in memory")]
    TooLarge {
        /// The file's name as it was given.
        file: String,
        /// The most references.
        most: usize,
    },
}

impl TraceError {
    /// True if the content is at fault, rather than the disk or a limit of this program.
    pub fn is_damage(&self) -> bool {
        matches!(self, TraceError::Wrong { .. })
    }
}
