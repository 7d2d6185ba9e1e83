//! What can go wrong at the disk: always with the file, the offset and the operation.

use std::io;

/// A failed disk operation.
#[derive(Debug, thiserror::Error)]
#[error("{operation} failed on {file} at offset {offset}: {source}")]
#[non_exhaustive]
pub struct DiskError {
    /// What was being done: `open`, `read`, `write`, `sync`, `rename`, …
    pub operation: &'static str,
    /// The file, as a person would find it.
    pub file: String,
    /// Where in the file, in bytes; 0 where an offset has no meaning.
    pub offset: u64,
    /// What the operating system said.
    #[source]
    pub source: io::Error,
}

impl DiskError {
    /// An error of `operation` on `file` at `offset`.
    pub fn new(
        operation: &'static str,
        file: impl Into<String>,
        offset: u64,
        source: io::Error,
    ) -> Self {
        DiskError {
            operation,
            file: file.into(),
            offset,
            source,
        }
    }

    /// Whether the disk has no more room.
    pub fn is_full(&self) -> bool {
        self.source.kind() == io::ErrorKind::StorageFull
    }
}
