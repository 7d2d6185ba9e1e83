//! Messages on a connection of nodes: [frames](sardonyx_base::frame) whose bodies have a head.
//!
//! ```text
//! kind      1 byte
//! epoch     4 bytes: the newest that the sender knew
//! number    8 bytes: of a message to this receiver, from 1; 0: it is none
//! received  8 bytes: the sender has received all messages with lower numbers
//! content
//! ```
//!
//! All is little-endian. A decoder refuses everything that an encoder did not make, by an error that names the fault. A
//! frame that is too long is refused by its length alone (I10).

use crate::protocol::Epoch;
use sardonyx_base::frame;
use std::io::Read;

pub use sardonyx_base::frame::{FrameError, Reader};

/// The longest body: a release that returns so many pages.
pub const FRAME_BYTES_MAX: usize = 16 << 20;

const HEAD_BYTES: usize = 1 + 4 + 8 + 8;

/// A frame on its way.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Frame {
    pub kind: u8,
    /// The newest epoch that its sender knew.
    pub epoch: Epoch,
    /// The message's number; 0: there is no message.
    pub number: u64,
    /// All messages with lower numbers have been received.
    pub received: u64,
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
        let head = [
            &[self.kind][..],
            &self.epoch.0.to_le_bytes(),
            &self.number.to_le_bytes(),
            &self.received.to_le_bytes(),
            &self.content,
        ];
        frame::encode(into, &head);
    }

    /// The next frame of a connection.
    ///
    /// # Errors
    /// [`FrameError`]: nothing more can be read from it.
    pub fn read(from: &mut impl Read) -> Result<Frame, FrameError> {
        let body = frame::read(from, &(HEAD_BYTES..=FRAME_BYTES_MAX))?;
        let mut reader = Reader(&body);
        let mut head = || {
            Some(Frame {
                kind: reader.u8()?,
                epoch: Epoch(reader.u32()?),
                number: reader.u64()?,
                received: reader.u64()?,
                content: Vec::new(),
            })
        };
        let mut frame = head().ok_or(FrameError::Closed)?;
        frame.content = reader.0.to_vec();
        Ok(frame)
    }
}
