//! What travels over a connection: frames with a length and a checksum, as the standby's.
//!
//! ```text
//! length    4 bytes, big-endian: of all that follows
//! checksum  4 bytes: CRC-32C of what follows it
//! kind      1 byte
//! epoch     4 bytes: the newest that the sender knew
//! number    8 bytes: of a message to this receiver, from 1; 0: it is none
//! received  8 bytes: the sender has received all messages with lower numbers
//! content
//! ```
//!
//! All but the length is little-endian. A decoder refuses everything that an encoder did not make, by an error that
//! says what is wrong; a frame that is too long is refused by its length alone (I10).

use crate::protocol::Epoch;
use sardonyx_base::crc32c;
use std::io::{self, Read};
use std::sync::Arc;

/// The longest frame: a release that returns so many pages.
pub const FRAME_BYTES_MAX: usize = 16 << 20;

const LENGTH_BYTES: usize = 4;
const CHECKSUM_BYTES: usize = 4;
const HEAD_BYTES: usize = CHECKSUM_BYTES + 1 + 4 + 8 + 8;

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
        "a frame of {bytes} bytes, where {HEAD_BYTES} to {FRAME_BYTES_MAX} may be: the other end speaks another \
         protocol"
    )]
    Length {
        /// What it says.
        bytes: usize,
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
        /// What it says.
        kind: u8,
    },
    /// Its content is not what its kind has.
    #[error("the content of a frame of kind {kind} ({bytes} bytes) is not what that kind has")]
    Content {
        /// Its kind.
        kind: u8,
        /// Bytes of the content.
        bytes: usize,
    },
}

/// What travels.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Frame {
    /// What it says.
    pub kind: u8,
    /// The newest epoch that its sender knew.
    pub epoch: Epoch,
    /// Of the message; 0: it is none.
    pub number: u64,
    /// All messages with lower numbers have been received.
    pub received: u64,
    /// What it says it about.
    pub content: Vec<u8>,
}

impl Frame {
    /// For its content.
    pub fn error(&self) -> FrameError {
        let (kind, bytes) = (self.kind, self.content.len());
        FrameError::Content { kind, bytes }
    }

    /// Appends its bytes.
    pub fn encode(&self, into: &mut Vec<u8>) {
        let start = into.len();
        let length = HEAD_BYTES + self.content.len();
        into.extend_from_slice(&(length as u32).to_be_bytes());
        into.extend_from_slice(&[0; CHECKSUM_BYTES]);
        into.push(self.kind);
        into.extend_from_slice(&self.epoch.0.to_le_bytes());
        into.extend_from_slice(&self.number.to_le_bytes());
        into.extend_from_slice(&self.received.to_le_bytes());
        into.extend_from_slice(&self.content);
        let signed = start + LENGTH_BYTES + CHECKSUM_BYTES;
        let checksum = crc32c::crc32c(into.get(signed..).unwrap_or_default());
        if let Some(place) = into.get_mut(start + LENGTH_BYTES..signed) {
            place.copy_from_slice(&checksum.to_le_bytes());
        }
    }

    /// The frame of these bytes, which are all that its length says.
    ///
    /// # Errors
    /// [`FrameError`].
    pub fn decode(bytes: &[u8]) -> Result<Frame, FrameError> {
        check_length(bytes.len())?;
        let mut reader = Reader(bytes);
        let length = FrameError::Length { bytes: bytes.len() };
        let checksum = reader.u32().ok_or(length.clone())?;
        if crc32c::crc32c(reader.0) != checksum {
            let bytes = bytes.len();
            return Err(FrameError::Checksum { bytes });
        }
        let mut head = || {
            Some(Frame {
                kind: reader.u8()?,
                epoch: Epoch(reader.u32()?),
                number: reader.u64()?,
                received: reader.u64()?,
                content: Vec::new(),
            })
        };
        let mut frame = head().ok_or(length)?;
        frame.content = reader.0.to_vec();
        Ok(frame)
    }

    /// The next frame of a connection.
    ///
    /// # Errors
    /// [`FrameError`]: nothing more can be read from it.
    pub fn read(from: &mut impl Read) -> Result<Frame, FrameError> {
        let mut length = [0; LENGTH_BYTES];
        read(from, &mut length)?;
        let length = u32::from_be_bytes(length) as usize;
        check_length(length)?;
        let mut bytes = vec![0; length];
        read(from, &mut bytes)?;
        Frame::decode(&bytes)
    }
}

fn check_length(bytes: usize) -> Result<(), FrameError> {
    match bytes {
        HEAD_BYTES..=FRAME_BYTES_MAX => Ok(()),
        bytes => Err(FrameError::Length { bytes }),
    }
}

fn read(from: &mut impl Read, bytes: &mut [u8]) -> Result<(), FrameError> {
    from.read_exact(bytes).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => FrameError::Closed,
        // A socket with a time limit says so by the kernel's own error; a transport's is kept.
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut if error.raw_os_error().is_some() => {
            FrameError::Silent
        }
        _ => FrameError::Read(Arc::new(error)),
    })
}

/// Takes values from bytes, as long as there are enough.
#[derive(Debug)]
pub(super) struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    pub fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    pub fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    pub fn flag(&mut self) -> Option<bool> {
        match self.u8()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

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
