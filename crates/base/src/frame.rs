//! Frames: how a connection of bytes carries messages, each with its length and a checksum.
//!
//! ```text
//! length    4 bytes, big-endian: of all that follows
//! checksum  4 bytes, little-endian: CRC-32C of the body
//! body
//! ```
//!
//! Loosely coupled nodes, their page server and logs at another host speak by them. Invariant (I10): a frame that is
//! longer than the reader allows is refused by its length alone, and memory is taken only as its bytes come.

use crate::crc32c;
use std::io::{self, Read};
use std::ops::RangeInclusive;
use std::sync::Arc;

const LENGTH_BYTES: usize = 4;
const CHECKSUM_BYTES: usize = 4;

/// Memory that a frame is given before its bytes come.
const FIRST_BYTES: usize = 64 << 10;

/// Why bytes are no frame.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The other end has closed the connection.
    #[error("the other end has closed the connection")]
    Closed,
    /// The time for an answer is over.
    #[error("the other end sent nothing in time")]
    Silent,
    /// The connection cannot be read.
    #[error("the connection cannot be read: {0}")]
    Read(#[source] Arc<io::Error>),
    /// It is longer than any frame, or shorter.
    #[error(
        "a frame of {bytes} bytes, where {least} to {most} may be: the other end speaks another protocol"
    )]
    Length {
        /// Its length, as its head has it.
        bytes: usize,
        /// The shortest.
        least: usize,
        /// The longest.
        most: usize,
    },
    /// It was damaged on its way.
    #[error("a frame of {bytes} bytes is damaged: its checksum is another")]
    Checksum {
        /// Its length.
        bytes: usize,
    },
    /// There is no such kind, or not here.
    #[error("a frame of kind {kind}, which is not expected here")]
    Kind {
        /// The number in the frame's head.
        kind: u8,
    },
    /// Its content is not what its kind has.
    #[error("the content of a frame of kind {kind} ({bytes} bytes) is not what that kind has")]
    Content {
        /// The number in the frame's head.
        kind: u8,
        /// Bytes of the content.
        bytes: usize,
    },
}

/// Bytes before a body.
pub const HEAD_BYTES: usize = LENGTH_BYTES + CHECKSUM_BYTES;

/// The bytes before a body that these parts are.
pub fn head(body: &[&[u8]]) -> [u8; HEAD_BYTES] {
    let bytes: usize = body.iter().map(|part| part.len()).sum();
    let sum = body
        .iter()
        .fold(0, |sum, part| crc32c::crc32c_append(sum, part));
    let mut head = [0; HEAD_BYTES];
    let (length, checksum) = head.split_at_mut(LENGTH_BYTES);
    length.copy_from_slice(&((CHECKSUM_BYTES + bytes) as u32).to_be_bytes());
    checksum.copy_from_slice(&sum.to_le_bytes());
    head
}

/// Appends a frame whose body these parts are.
pub fn encode(into: &mut Vec<u8>, body: &[&[u8]]) {
    let bytes: usize = body.iter().map(|part| part.len()).sum();
    into.reserve(HEAD_BYTES + bytes);
    into.extend_from_slice(&head(body));
    for part in body {
        into.extend_from_slice(part);
    }
}

/// The body of the next frame of a connection, which has so many bytes.
///
/// # Errors
/// [`FrameError`]: nothing more can be read from the connection.
pub fn read(from: &mut impl Read, sizes: &RangeInclusive<usize>) -> Result<Vec<u8>, FrameError> {
    let mut body = Vec::new();
    read_into(from, sizes, &mut body)?;
    Ok(body)
}

/// As [`read`], in place of what is in `body`, whose memory is used again.
///
/// # Errors
/// As [`read`].
pub fn read_into(
    from: &mut impl Read,
    sizes: &RangeInclusive<usize>,
    body: &mut Vec<u8>,
) -> Result<(), FrameError> {
    body.clear();
    let mut length = [0; LENGTH_BYTES];
    from.read_exact(&mut length).map_err(unread)?;
    let length = u32::from_be_bytes(length) as usize;
    check_length(length, sizes)?;
    let mut checksum = [0; CHECKSUM_BYTES];
    from.read_exact(&mut checksum).map_err(unread)?;
    let bytes = length - CHECKSUM_BYTES;
    body.reserve(bytes.min(FIRST_BYTES));
    let read = from.take(bytes as u64).read_to_end(body);
    if read.map_err(unread)? < bytes {
        return Err(FrameError::Closed);
    }
    match crc32c::crc32c(body) == u32::from_le_bytes(checksum) {
        true => Ok(()),
        false => Err(FrameError::Checksum { bytes: length }),
    }
}

fn check_length(bytes: usize, sizes: &RangeInclusive<usize>) -> Result<(), FrameError> {
    let (least, most) = (sizes.start() + CHECKSUM_BYTES, sizes.end() + CHECKSUM_BYTES);
    match (least..=most).contains(&bytes) {
        true => Ok(()),
        false => Err(FrameError::Length { bytes, least, most }),
    }
}

fn unread(error: io::Error) -> FrameError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => FrameError::Closed,
        // A socket with a time limit says so by the kernel's own error; a transport's is kept.
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut if error.raw_os_error().is_some() => {
            FrameError::Silent
        }
        _ => FrameError::Read(Arc::new(error)),
    }
}

/// Takes values from bytes, as long as there are enough.
#[derive(Debug)]
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// So many bytes.
    pub fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    /// Bytes behind their number.
    pub fn counted(&mut self) -> Option<&'a [u8]> {
        let length = self.u32()? as usize;
        self.bytes(length)
    }

    /// A text behind the number of its bytes.
    pub fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.counted()?).ok()
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    /// Appends one byte. As the other calls, it returns the writer, to be called again.
    pub fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    /// A byte that is 0 or 1.
    pub fn flag(&mut self) -> Option<bool> {
        match self.u8()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    /// Two bytes, little-endian, as all numbers are.
    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    /// Four bytes.
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// Eight bytes.
    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// A value that may be absent.
    pub fn option<T>(&mut self, some: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        match self.flag()? {
            true => some(self).map(Some),
            false => Some(None),
        }
    }

    /// A number of values, of which each takes at least a byte.
    pub fn list<T>(&mut self, mut one: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let length = self.u32()? as usize;
        if length > self.0.len() {
            return None;
        }
        (0..length).map(|_| one(self)).collect()
    }

    /// Nothing is left.
    pub fn end(&self) -> Option<()> {
        self.0.is_empty().then_some(())
    }
}

/// Puts values behind one another, as [`Reader`] takes them.
#[derive(Debug, Default)]
pub struct Writer(pub Vec<u8>);

impl Writer {
    /// Appends one byte. As the other calls, it returns the writer, to be called again.
    pub fn u8(&mut self, byte: u8) -> &mut Self {
        self.0.push(byte);
        self
    }

    /// A byte that is 0 or 1.
    pub fn flag(&mut self, flag: bool) -> &mut Self {
        self.u8(u8::from(flag))
    }

    /// Eight bytes.
    pub fn u64(&mut self, number: u64) -> &mut Self {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    /// The number of bytes, or of values, that follow.
    pub fn length(&mut self, length: usize) -> &mut Self {
        self.0.extend_from_slice(&(length as u32).to_le_bytes());
        self
    }

    /// Bytes behind their number.
    pub fn counted(&mut self, bytes: &[u8]) -> &mut Self {
        self.length(bytes.len()).0.extend_from_slice(bytes);
        self
    }

    /// Values behind their number.
    pub fn list<T>(&mut self, all: &[T], mut one: impl FnMut(&mut Self, &T)) -> &mut Self {
        self.length(all.len());
        for value in all {
            one(self, value);
        }
        self
    }

    /// A value that may be absent.
    pub fn option<T>(&mut self, value: Option<T>, some: impl FnOnce(&mut Self, T)) -> &mut Self {
        self.flag(value.is_some());
        if let Some(value) = value {
            some(self, value);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_one_by_one_and_are_refused_whatever_byte_is_damaged() {
        let mut bytes = Vec::new();
        encode(&mut bytes, &[b"one", b" ", b"two"]);
        let whole = bytes.clone();
        encode(&mut bytes, &[b""]);
        let mut stream = &bytes[..];
        assert_eq!(read(&mut stream, &(0..=7)).unwrap(), b"one two");
        assert_eq!(read(&mut stream, &(0..=7)).unwrap(), b"");
        assert!(matches!(
            read(&mut stream, &(0..=7)),
            Err(FrameError::Closed)
        ));
        for length in 0..whole.len() {
            let error = read(&mut &whole[..length], &(0..=7)).unwrap_err();
            assert!(matches!(error, FrameError::Closed), "{length}: {error}");
        }
        for place in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[place] ^= 1;
            read(&mut &damaged[..], &(7..=7)).unwrap_err();
        }
    }

    #[test]
    fn a_frame_is_read_in_place_of_the_one_before() {
        let mut bytes = Vec::new();
        encode(&mut bytes, &[&[7; 100_000]]);
        encode(&mut bytes, &[b"short"]);
        let (mut stream, mut body) = (&bytes[..], Vec::new());
        read_into(&mut stream, &(0..=100_000), &mut body).unwrap();
        assert_eq!(body, [7; 100_000]);
        let room = body.capacity();
        read_into(&mut stream, &(0..=100_000), &mut body).unwrap();
        assert_eq!(body, b"short");
        assert_eq!(body.capacity(), room);
    }

    #[test]
    fn a_frame_of_another_length_is_refused_before_any_of_it_is_read() {
        let mut bytes = Vec::new();
        encode(&mut bytes, &[&[7; 100]]);
        for sizes in [0..=99, 101..=200] {
            let mut stream = &bytes[..];
            let error = read(&mut stream, &sizes).unwrap_err();
            assert!(
                matches!(error, FrameError::Length { bytes: 104, .. }),
                "{error}"
            );
            assert_eq!(stream.len(), bytes.len() - LENGTH_BYTES);
        }
        // A length of less than a checksum.
        let error = read(&mut &[0, 0, 0, 3, 1, 2, 3][..], &(0..=9)).unwrap_err();
        assert!(
            matches!(error, FrameError::Length { bytes: 3, .. }),
            "{error}"
        );
    }

    #[test]
    fn a_reader_takes_nothing_that_is_not_there() {
        let bytes = [1, 0, 0, 0, b'x', 2, 0, 0, 0, b'y'];
        let mut reader = Reader(&bytes);
        assert_eq!(reader.text(), Some("x"));
        assert_eq!(reader.counted(), None);
        assert_eq!(Reader(&[255; 4]).list(|reader| reader.u8()), None);
        assert_eq!(Reader(&[2]).flag(), None);
    }
}
