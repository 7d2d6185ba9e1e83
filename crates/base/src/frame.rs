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

mod incoming;

pub use incoming::Incoming;

use crate::crc32c;
use std::io::{self, Read};
use std::ops::RangeInclusive;
use std::sync::Arc;

const LENGTH_BYTES: usize = 4;
const CHECKSUM_BYTES: usize = 4;

/// Memory that a frame is given before its bytes come.
const FIRST_BYTES: usize = 64 << 10;

/// Bytes that are read at once.
const PIECE_BYTES: usize = 256 << 10;

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
    let sum = body
        .iter()
        .fold(0, |sum, part| crc32c::crc32c_append(sum, part));
    head_of(sum, body)
}

/// The bytes before a body of this checksum that these parts are.
pub fn head_of(sum: u32, body: &[&[u8]]) -> [u8; HEAD_BYTES] {
    let bytes: usize = body.iter().map(|part| part.len()).sum();
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

/// The body of a frame, in memory that is used again for the next one.
#[derive(Debug, Default)]
pub struct Body {
    /// The body, and behind it bytes of earlier ones.
    memory: Vec<u8>,
    length: usize,
}

impl Body {
    /// The bytes of the frame that was read last.
    pub fn bytes(&self) -> &[u8] {
        self.memory.get(..self.length).unwrap_or_default()
    }

    /// Forgets the bytes, and keeps at most so much memory.
    pub fn clear(&mut self, kept_bytes: usize) {
        self.length = 0;
        if self.memory.len() > kept_bytes {
            self.memory.truncate(kept_bytes);
            self.memory.shrink_to(kept_bytes);
        }
    }

    /// The part of the memory for the next bytes of a body of so many: a piece behind the present ones, of which there are
    /// always some left. Memory grows with the bytes that have come.
    fn rest(&mut self, bytes: usize) -> &mut [u8] {
        let from = self.length;
        if self.memory.len() == from {
            let more = from.max(FIRST_BYTES).min(bytes - from);
            self.memory.resize(from + more, 0);
        }
        let end = self.memory.len().min(bytes).min(from + PIECE_BYTES);
        self.memory.get_mut(from..end).unwrap_or_default()
    }
}

/// The body of the next frame of a connection, which has so many bytes.
///
/// # Errors
/// [`FrameError`]: nothing more can be read from the connection.
pub fn read(from: &mut impl Read, sizes: &RangeInclusive<usize>) -> Result<Vec<u8>, FrameError> {
    let mut body = Body::default();
    read_into(from, sizes, &mut body)?;
    body.memory.truncate(body.length);
    Ok(body.memory)
}

/// As [`read`], in place of the earlier body, whose memory is used again.
///
/// # Errors
/// As [`read`].
pub fn read_into(
    from: &mut impl Read,
    sizes: &RangeInclusive<usize>,
    body: &mut Body,
) -> Result<(), FrameError> {
    body.length = 0;
    let mut incoming = Incoming::begin(from, sizes)?;
    incoming.read_into(from, incoming.left(), body)?;
    incoming.end().map(drop)
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
        encode(&mut bytes, &[b"whole"]);
        let (mut stream, mut body) = (&bytes[..bytes.len() - 1], Body::default());
        read_into(&mut stream, &(0..=100_000), &mut body).unwrap();
        assert_eq!(body.bytes(), [7; 100_000]);
        let room = body.memory.capacity();
        read_into(&mut stream, &(0..=100_000), &mut body).unwrap();
        assert_eq!(body.bytes(), b"short");
        assert_eq!(body.memory.capacity(), room);
        read_into(&mut stream, &(0..=100_000), &mut body).unwrap_err();
        body.clear(1000);
        assert_eq!(body.bytes(), b"");
        assert!(body.memory.capacity() < 2000);
    }

    /// Gives at most so many bytes at once, and is interrupted before each.
    struct Slow<'a>(&'a [u8], usize, bool);

    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.2 = !self.2;
            if self.2 {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let most = into.len().min(self.1);
            self.0.read(&mut into[..most])
        }
    }

    #[test]
    fn a_long_frame_is_read_in_pieces_of_any_size_and_each_of_its_bytes_is_checked() {
        let content: Vec<u8> = (0..3 * PIECE_BYTES as u32 + 7).map(|n| n as u8).collect();
        let mut bytes = Vec::new();
        encode(&mut bytes, &[&content]);
        let mut body = Body::default();
        for most in [1000, FIRST_BYTES + 1, usize::MAX] {
            let mut stream = Slow(&bytes, most, false);
            read_into(&mut stream, &(0..=content.len()), &mut body).unwrap();
            assert_eq!(body.bytes(), content);
        }
        for damaged in [
            HEAD_BYTES,
            HEAD_BYTES + FIRST_BYTES,
            HEAD_BYTES + PIECE_BYTES,
            bytes.len() - 1,
        ] {
            let mut other = bytes.clone();
            other[damaged] ^= 1;
            let error = read_into(&mut &other[..], &(0..=content.len()), &mut body).unwrap_err();
            assert!(matches!(error, FrameError::Checksum { .. }), "{error}");
        }
    }

    #[test]
    fn i10_memory_grows_with_the_bytes_that_come_not_with_the_length_that_is_said() {
        let mut bytes = Vec::new();
        encode(&mut bytes, &[&vec![1; 1 << 20]]);
        let mut body = Body::default();
        let cut = &bytes[..100];
        read_into(&mut &cut[..], &(0..=1 << 20), &mut body).unwrap_err();
        assert!(body.memory.capacity() <= FIRST_BYTES);
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
            assert_eq!(stream.len(), bytes.len() - HEAD_BYTES);
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
