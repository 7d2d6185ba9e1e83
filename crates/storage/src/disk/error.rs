//! Errors of the disk: always with the file, the offset and the operation.

use rustix::io::Errno;
use std::io;

/// A failed disk operation.
#[derive(Debug, thiserror::Error)]
#[error("{operation} failed on {file}{}: {source}", place(operation, *offset))]
#[non_exhaustive]
pub struct DiskError {
    /// The operation: `open`, `read`, `write`, `sync`, `rename`, …
    pub operation: &'static str,
    /// The file, as a person would find it.
    pub file: String,
    /// The place in the file, in bytes; 0 where an offset has no meaning.
    pub offset: u64,
    /// The operating system's error.
    #[source]
    pub source: io::Error,
}

/// The place in the file, for an operation that has one.
fn place(operation: &str, offset: u64) -> String {
    let has_one = ["read", "write", "durable write", "preallocate"].contains(&operation);
    match has_one || offset != 0 {
        true => format!(" at offset {offset}"),
        false => String::new(),
    }
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

    /// True if the disk has no more room, or its user may have no more.
    pub fn is_full(&self) -> bool {
        matches!(
            self.source.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        )
    }

    /// True if the same operation may be tried again later. It found no room, no descriptor or no
    /// memory, or was interrupted, so its cause may pass, and repeating all of it completes it.
    /// Never so for a sync: after a failed one it is unknown which bytes are stable (I7).
    pub fn may_be_tried_again(&self) -> bool {
        const PASSING: [Errno; 6] = [
            Errno::MFILE,
            Errno::NFILE,
            Errno::NOMEM,
            Errno::NOBUFS,
            Errno::INTR,
            Errno::AGAIN,
        ];
        let passing = |code| PASSING.iter().any(|errno| errno.raw_os_error() == code);
        !self.operation.starts_with("sync")
            && (self.is_full() || self.source.raw_os_error().is_some_and(passing))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_is_told_where_it_has_a_meaning() {
        let told = |operation, offset| {
            let gone = io::Error::other("gone");
            DiskError::new(operation, "f", offset, gone).to_string()
        };
        assert_eq!(told("read", 0), "read failed on f at offset 0: gone");
        assert_eq!(
            told("create directory", 0),
            "create directory failed on f: gone"
        );
        assert_eq!(
            told("allocate", 9),
            "allocate failed on f at offset 9: gone"
        );
    }
}
