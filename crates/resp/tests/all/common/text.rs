//! Answers as people read them, decoded by another implementation of the protocol.

use bytes::Bytes;
use redis_protocol::resp2::types::BytesFrame;

/// All answers in these bytes.
///
/// # Panics
/// If they are no whole answers.
pub fn answers(bytes: &[u8]) -> Vec<String> {
    let bytes = Bytes::copy_from_slice(bytes);
    let (mut at, mut texts) = (0, Vec::new());
    while at < bytes.len() {
        let rest = bytes.slice(at..);
        let decoded = redis_protocol::resp2::decode::decode_bytes(&rest).expect("an answer");
        let (frame, length) = decoded.unwrap_or_else(|| panic!("cut off: {rest:?}"));
        texts.push(text(&frame));
        at += length;
    }
    texts
}

fn text(frame: &BytesFrame) -> String {
    match frame {
        BytesFrame::SimpleString(bytes) => format!("+{}", bytes.escape_ascii()),
        BytesFrame::Error(text) => format!("-{text}"),
        BytesFrame::Integer(number) => format!(":{number}"),
        BytesFrame::BulkString(bytes) => format!("\"{}\"", bytes.escape_ascii()),
        BytesFrame::Null => "nil".to_string(),
        BytesFrame::Array(frames) => {
            let frames: Vec<_> = frames.iter().map(text).collect();
            format!("[{}]", frames.join(" "))
        }
    }
}
