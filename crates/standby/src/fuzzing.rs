//! The protocol's frames for the fuzz targets (`fuzz/`); no part of the public API.

use bytes::Bytes;
use sardonyx_storage::log::LogPosition;
use sardonyx_storage::manifest::Manifest;

use crate::protocol::{Frame, Hello, Message, PagesHead, Progress, Purpose, WirePosition};

/// Decodes a frame; what was read is encoded and reads back as the same. Returns those bytes.
///
/// # Panics
/// If it does not read back as the same.
pub fn decode(bytes: Bytes) -> Option<Bytes> {
    let frame = Frame::decode(bytes).ok()?;
    let again = frame.encode();
    assert_eq!(Frame::decode(again.clone()).ok(), Some(frame));
    Some(again)
}

/// A frame of most kinds, encoded.
pub fn frames() -> Vec<Vec<u8>> {
    let position = WirePosition::from(LogPosition::START);
    let head = PagesHead {
        stripe: 3,
        offset: 1 << 40,
    };
    let progress = Progress {
        durable: position,
        applied: position,
        complete_from: position,
        checkpoints: 1,
        blocks: 2,
        bytes: 3,
    };
    let welcome = Message::Welcome {
        identity: 7,
        last_checksum: 9,
        progress,
    };
    let image = Message::ImageBegins {
        redo_start: position,
        block_bytes: 1 << 16,
        stripes: 2,
    };
    let frames = [
        Frame::Hello(Hello::of(&Manifest::new(7), Purpose::Log)),
        Frame::Group(Bytes::from_static(b"a group")),
        Frame::Pages(head, Bytes::from_static(b"pages")),
        Frame::Message(welcome),
        Frame::Message(image),
        Frame::Message(Message::Checkpoint(position)),
    ];
    frames.iter().map(|frame| frame.encode().to_vec()).collect()
}
