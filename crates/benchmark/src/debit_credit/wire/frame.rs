//! Frames: cutting bytes that arrive in any portions into messages.
//!
//! ```text
//! offset  bytes
//!      0      4  length of the whole frame
//!      4      4  CRC-32C of the message
//!      8      …  the message: its kind, one byte, and its fields; numbers are little-endian
//! ```
//!
//! An impossible length is refused before more bytes are awaited, so no side keeps more than [`FRAME_BYTES_MAX`] bytes
//! for the other.

use super::message::Farewell;
use sardonyx_base::crc32c;

/// Bytes before the message.
pub const HEADER_BYTES: usize = 8;

/// The longest frame.
pub const FRAME_BYTES_MAX: usize = 64;

/// The fault of the other side's bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// A length that no frame has.
    #[error(
        "a frame of {found} bytes: from {least} to {FRAME_BYTES_MAX} are possible",
        least = HEADER_BYTES + 1
    )]
    Length {
        /// The length.
        found: u32,
    },
    /// The message is damaged.
    #[error("a message whose checksum is {found:08x}, but {expected:08x} was sent with it")]
    Checksum {
        /// Of the message.
        found: u32,
        /// In the header.
        expected: u32,
    },
    /// The kind of the message is unknown.
    #[error("a message of kind {kind} and {bytes} bytes, which is none of this protocol")]
    Message {
        /// The unknown value.
        kind: u8,
        /// The length in the head of the message.
        bytes: usize,
    },
    /// The other side speaks another version, or another protocol.
    #[error("the other side speaks version {found} of this protocol, this is version {expected}")]
    Version {
        /// Its version.
        found: u16,
        /// Our version.
        expected: u16,
    },
    /// A message that is not allowed now.
    #[error("{what} at a moment when it may not come")]
    Unexpected {
        /// The message.
        what: &'static str,
    },
    /// Requests, and answers, must be numbered consecutively.
    #[error("number {found}, where {expected} should come")]
    Number {
        /// The received number.
        found: u64,
        /// The successor of the last one.
        expected: u64,
    },
    /// No such procedure.
    #[error("there is no procedure {found}")]
    Procedure {
        /// As the request has it.
        found: u16,
    },
    /// The server's reason for ending the connection.
    #[error("the server ended the connection: {0}")]
    Ended(Farewell),
}

/// Appends the frame of a message that `message` appends.
#[inline]
pub fn put(bytes: &mut Vec<u8>, message: impl FnOnce(&mut Vec<u8>)) {
    let start = bytes.len();
    bytes.extend_from_slice(&[0; HEADER_BYTES]);
    message(bytes);
    let length = (bytes.len() - start) as u32;
    let checksum = crc32c::crc32c(&bytes[start + HEADER_BYTES..]);
    bytes[start..start + 4].copy_from_slice(&length.to_le_bytes());
    bytes[start + 4..start + HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
}

/// The first message of `bytes`, and the length of its frame; `None` if it is incomplete.
///
/// # Errors
/// [`ProtocolError::Length`], [`ProtocolError::Checksum`].
#[inline]
pub fn first(bytes: &[u8]) -> Result<Option<(&[u8], usize)>, ProtocolError> {
    let Some((length, rest)) = bytes.split_first_chunk::<4>() else {
        return Ok(None);
    };
    let found = u32::from_le_bytes(*length);
    let length = found as usize;
    if !(HEADER_BYTES + 1..=FRAME_BYTES_MAX).contains(&length) {
        return Err(ProtocolError::Length { found });
    }
    let (Some(message), Some((expected, _))) = (
        bytes.get(HEADER_BYTES..length),
        rest.split_first_chunk::<4>(),
    ) else {
        return Ok(None);
    };
    let (found, expected) = (crc32c::crc32c(message), u32::from_le_bytes(*expected));
    match found == expected {
        true => Ok(Some((message, length))),
        false => Err(ProtocolError::Checksum { found, expected }),
    }
}
