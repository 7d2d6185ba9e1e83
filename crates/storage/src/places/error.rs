//! Faults of the directories elsewhere.

#![allow(missing_docs, reason = "the text of each error names its fields")]

use crate::disk::DiskError;
use std::path::PathBuf;

/// The reason why the parts of a database that are elsewhere cannot be used, or cannot be made there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlacesError {
    /// The disk failed.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The bytes of `PLACES` or `OWNER` are not the written ones.
    #[error("{what}")]
    Damaged {
        file: String,
        /// The fault, and its place.
        what: String,
    },
    /// A newer version wrote it.
    #[error("{file} has format version {found}: open the database with the version that wrote it")]
    UnknownVersion {
        file: String,
        /// Its version.
        found: u32,
    },
    /// The manifest requires `PLACES`, since parts are elsewhere, and it is missing.
    #[error(
        "{file} is missing, or is another database's: by the manifest the log or the backup is elsewhere, and \
         only this file has its place; restore it"
    )]
    Lost { file: String },
    /// A directory is not there.
    #[error(
        "{directory} is not there, and has the {parts} of this database ({source}): mount its disk, or give its \
         new place at opening (log_directory, backup_directory, stripe_directories)"
    )]
    Absent {
        directory: String,
        /// The parts that it should have.
        parts: String,
        /// The system's error.
        source: DiskError,
    },
    /// A directory exists and has no owner.
    #[error(
        "{directory} should have the {parts} of this database, but has no file OWNER: it is not that \
         directory, or its disk is not mounted; nothing was made there"
    )]
    Unowned {
        directory: String,
        /// The parts that it should have.
        parts: String,
    },
    /// A directory is another database's, or has another part.
    #[error(
        "{directory} should have the {parts} of the database {identity:016x}, but has the {owner}"
    )]
    Foreign {
        directory: String,
        /// The parts that it should have.
        parts: String,
        /// The database's identity.
        identity: u64,
        owner: String,
    },
    /// A directory for a new database is not empty.
    #[error(
        "{directory} cannot be a new database's: {found}; name a directory that is empty or absent"
    )]
    Occupied {
        directory: String,
        /// The content found.
        found: String,
    },
    /// The directory to open is a part of a database.
    #[error("{directory} is no database, but has the {owner}: open that directory")]
    IsPart { directory: String, owner: String },
    /// A directory was named for a part that is in the database's own directory.
    #[error(
        "a directory was named for the {part}, which this database has had in its own directory since it \
         was made: leave the option out"
    )]
    AtHome { part: &'static str },
    /// The number of directories is wrong.
    #[error("{found} directories were named for the backup: name {expected}")]
    Count {
        found: usize,
        /// The allowed numbers.
        expected: String,
    },
    /// A path that cannot be recorded.
    #[error("{path:?} cannot be the directory of a part of a database: {why}")]
    Path {
        path: PathBuf,
        /// The reason.
        why: &'static str,
    },
}
