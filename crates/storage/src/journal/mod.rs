//! The journal: append-only rows that live in the log and its archive, not in memory. An account's
//! history is one.
//!
//! The archive is a sequence of chunks in files `journal/NNNNNNNNNN.journal`. A chunk holds the
//! journal records of a range of commit groups, group by group. Chunks are written without waiting
//! and synced once before a checkpoint completes, and the log is kept from the archive's durable
//! end on. So after a crash the archive ends at its last whole chunk, and redo extracts the missing rows again: no row
//! twice, none lost.
//!
//! - [`chunk`]: the layout of a chunk;
//! - [`archiver`]: writing them;
//! - [`archive`]: finding and reading them;
//! - [`reader`]: the rows of one journal, from the archive and then from the log, oldest first;
//! - `beside`: the end of a log that another process writes to;
//! - [`range`]: the rows between two positions, from either end.
//!
//! Invariant: I6, for the journal's part of it.
//!
//! Source: TPK paper, section 4 ("a log sufficient to produce an account history").

pub mod archive;
pub mod archiver;
mod beside;
pub mod chunk;
mod error;
#[cfg(test)]
mod guests;
mod position;
pub mod range;
pub mod reader;

pub use archiver::Archiver;
pub use beside::LogEndBeside;
pub use chunk::RowPlace;
pub use error::JournalError;
pub use position::{InvalidPosition, JournalPosition};
pub use range::RowRange;
pub use reader::{JournalReader, Row};

use std::fmt;
use std::str::FromStr;

/// The directory of the archive.
pub const JOURNAL_DIRECTORY: &str = "journal";

/// The amount of the journals' archive to keep.
///
/// A database that kept nothing cannot begin to keep an archive later, unless its log still
/// reaches back to its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Retention {
    /// All rows.
    All,
    /// The newest rows, in at least so many bytes; older files are removed.
    KeepBytes(u64),
    /// No archive is written.
    Nothing,
}

impl fmt::Display for Retention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Retention::All => f.write_str("all"),
            Retention::KeepBytes(bytes) => write!(f, "{bytes}"),
            Retention::Nothing => f.write_str("nothing"),
        }
    }
}

impl FromStr for Retention {
    type Err = std::num::ParseIntError;

    /// `all`, `nothing`, or a number of bytes.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "all" => Ok(Retention::All),
            "nothing" => Ok(Retention::Nothing),
            _ => Ok(Retention::KeepBytes(text.parse()?)),
        }
    }
}

/// The archive's file with this number, counted from 0.
pub fn journal_file(number: u64) -> String {
    format!("{JOURNAL_DIRECTORY}/{number:010}.journal")
}

/// The number of a file in the archive's directory.
pub fn number_of_file(name: &str) -> Option<u64> {
    name.strip_suffix(".journal")?.parse().ok()
}
