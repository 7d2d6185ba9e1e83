//! The refusals of both disks before they touch anything: names that leave the database's
//! directory, and direct I/O that is not aligned. One place, so that a test on one disk speaks for
//! the other.

use super::{Access, DIRECT_ALIGNMENT};
use std::io;

/// Refuses a name that is empty, absolute, or has an empty, `.` or `..` part.
pub(super) fn file_name(name: &str) -> io::Result<()> {
    let sound = name.split('/').all(|part| !matches!(part, "" | "." | ".."));
    if sound && !name.contains('\0') {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        "a name must be relative to the database's directory, without empty, `.` or `..` parts",
    ))
}

/// As [`file_name`]; the empty name is the root.
pub(super) fn directory_name(directory: &str) -> io::Result<()> {
    if directory.is_empty() {
        Ok(())
    } else {
        file_name(directory)
    }
}

/// Refuses direct I/O whose offset, length or buffer is not aligned.
#[inline]
pub(super) fn alignment(access: Access, offset: u64, bytes: &[u8]) -> io::Result<()> {
    let all = offset | bytes.len() as u64 | bytes.as_ptr().addr() as u64;
    if access == Access::Buffered || all.is_multiple_of(DIRECT_ALIGNMENT as u64) {
        return Ok(());
    }
    Err(misaligned(format!(
        "offset {offset}, length {} and buffer address {:#x}",
        bytes.len(),
        bytes.as_ptr().addr()
    )))
}

/// Refuses to preallocate a direct file to a length that is not aligned.
pub(super) fn aligned_length(access: Access, length: u64) -> io::Result<()> {
    if access == Access::Buffered || length.is_multiple_of(DIRECT_ALIGNMENT as u64) {
        return Ok(());
    }
    Err(misaligned(format!("length {length}")))
}

#[cold]
fn misaligned(what: String) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("direct I/O needs multiples of {DIRECT_ALIGNMENT}, not {what}"),
    )
}

/// Refuses a range whose end is beyond the largest file.
pub(super) fn range(offset: u64, len: usize) -> io::Result<()> {
    match offset.checked_add(len as u64) {
        Some(end) if end <= i64::MAX as u64 => Ok(()),
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{len} bytes at offset {offset} end beyond the largest file"),
        )),
    }
}
