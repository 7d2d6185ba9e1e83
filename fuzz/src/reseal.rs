//! Correcting checksums after bytes were changed, so that the code behind them is reached.
//!
//! Groups, slots and chunks begin at multiples of 4096 bytes and with four letters of their own; their
//! fields are those of docs/format.md.

use sardonyx_base::crc32c;

/// Corrects the checksums of every commit group, backup slot and journal chunk in a file.
pub fn file(bytes: &mut [u8]) {
    for start in (0..bytes.len()).step_by(4096) {
        let unit = &mut bytes[start..];
        match unit.first_chunk() {
            Some(b"SdxG") => group(unit),
            Some(b"SdxB") => slot(unit),
            Some(b"SdxJ") => chunk(unit),
            _ => {}
        }
    }
}

/// A commit group: 64 bytes of head, then its records.
pub fn group(bytes: &mut [u8]) {
    content(bytes, 72, 48, 60);
    head(bytes, 72);
}

/// An entry of a log in a store: 72 bytes of head, then groups.
pub fn entry(bytes: &mut [u8]) {
    content(bytes, 72, 48, 60);
    head(bytes, 72);
}

/// A backup slot: 4096 bytes of head, then the block.
pub fn slot(bytes: &mut [u8]) {
    content(bytes, 4096, 20, 160);
    head(bytes, 4096);
}

/// A chunk of the journals' archive: 128 bytes of head, then its sections.
pub fn chunk(bytes: &mut [u8]) {
    content(bytes, 128, 96, 100);
    head(bytes, 128);
}

/// Frames of terminals: length, checksum of the message, message.
pub fn terminal(bytes: &mut [u8]) {
    let mut at = 0;
    while let Some(head) = bytes.get(at..at + 8) {
        let length = word(head, 0) as usize;
        let Some(message) = bytes.get(at + 8..at.saturating_add(length)) else {
            return;
        };
        let sum = crc32c::crc32c(message);
        bytes[at + 4..at + 8].copy_from_slice(&sum.to_le_bytes());
        at += length;
    }
}

/// A manifest: text whose last line is the checksum of the lines before it.
pub fn manifest(bytes: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.split_inclusive('\n');
    let before: String = lines.filter(|line| !line.starts_with("checksum")).collect();
    let checksum = crc32c::crc32c(before.as_bytes());
    format!("{before}checksum = {checksum:08x}\n").into_bytes()
}

/// A binary trace: magic and version, then frames of length, checksum (of number and payload), payload.
pub fn trace(bytes: &mut [u8]) {
    let mut at = 12;
    for number in 0u64.. {
        let Some(head) = bytes.get(at..at + 8) else {
            return;
        };
        let length = word(head, 0) as usize;
        let Some(payload) = bytes.get(at + 8..at + 8 + length) else {
            return;
        };
        let sum = crc32c::crc32c_append(crc32c::crc32c(&number.to_le_bytes()), payload);
        bytes[at + 4..at + 8].copy_from_slice(&sum.to_le_bytes());
        at += 8 + length;
        if length == 0 {
            return;
        }
    }
}

/// Corrects the checksum at `sum_at` of the bytes after a head; their length is at `length_at`.
fn content(bytes: &mut [u8], head: usize, length_at: usize, sum_at: usize) {
    if bytes.len() < head {
        return;
    }
    let length = word(bytes, length_at) as usize;
    if let Some(content) = bytes[head..].get(..length) {
        let sum = crc32c::crc32c(content);
        bytes[sum_at..sum_at + 4].copy_from_slice(&sum.to_le_bytes());
    }
}

/// The checksum of a head, in its second word.
pub fn head(bytes: &mut [u8], length: usize) {
    if let Some(head) = bytes.get_mut(..length) {
        head[4..8].fill(0);
        let sum = crc32c::crc32c(head);
        head[4..8].copy_from_slice(&sum.to_le_bytes());
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}
