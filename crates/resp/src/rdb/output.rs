//! A payload that is written: lengths, texts, listpacks, and the footer.

use super::packed::back_bytes;
use super::{VERSION, checksum};

/// Bytes of a payload.
#[derive(Default, Debug)]
pub(crate) struct Output(Vec<u8>);

impl Output {
    pub fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// A length, in the shortest form.
    pub fn length(&mut self, length: u64) {
        match length {
            0..=0x3f => self.byte(length as u8),
            0x40..=0x3fff => self.bytes(&(length as u16 | 0x4000).to_be_bytes()),
            0x4000..=0xffff_ffff => {
                self.byte(0x80);
                self.bytes(&(length as u32).to_be_bytes());
            }
            _ => {
                self.byte(0x81);
                self.bytes(&length.to_be_bytes());
            }
        }
    }

    /// Writes a text: its length, and its bytes as they are.
    pub fn text(&mut self, text: &[u8]) {
        self.length(text.len() as u64);
        self.bytes(text);
    }

    /// The payload with its version and checksum.
    pub fn sealed(mut self) -> Vec<u8> {
        self.bytes(&VERSION.to_le_bytes());
        let sum = checksum(0, &self.0);
        self.bytes(&sum.to_le_bytes());
        self.0
    }
}

/// A listpack that is written.
pub(super) struct Listpack {
    bytes: Vec<u8>,
    count: usize,
}

impl Listpack {
    /// An empty one, whose head is written at its end.
    pub fn new() -> Listpack {
        Listpack {
            bytes: vec![0; 6],
            count: 0,
        }
    }

    pub fn number(&mut self, number: i64) {
        let from = self.bytes.len();
        match number {
            0..=127 => self.bytes.push(number as u8),
            _ => {
                self.bytes.push(0xf4);
                self.bytes.extend_from_slice(&number.to_le_bytes());
            }
        }
        self.end_element(from);
    }

    pub fn text(&mut self, text: &[u8]) {
        let from = self.bytes.len();
        match text.len() {
            length @ 0..=63 => self.bytes.push(0x80 | length as u8),
            length @ 64..=4095 => {
                self.bytes
                    .extend_from_slice(&(length as u16 | 0xe000).to_be_bytes());
            }
            length => {
                self.bytes.push(0xf0);
                self.bytes.extend_from_slice(&(length as u32).to_le_bytes());
            }
        }
        self.bytes.extend_from_slice(text);
        self.end_element(from);
    }

    /// Writes the length of an element behind it, to be read backwards: groups of 7 bits, the highest first. All
    /// groups but the first are marked.
    fn end_element(&mut self, from: usize) {
        let length = self.bytes.len() - from;
        let count = back_bytes(length);
        for group in (0..count).rev() {
            let mark = if group + 1 == count { 0 } else { 0x80 };
            self.bytes.push((length >> (7 * group)) as u8 & 0x7f | mark);
        }
        self.count += 1;
    }

    /// The listpack with its head and end.
    pub fn finish(mut self) -> Vec<u8> {
        self.bytes.push(0xff);
        let length = (self.bytes.len() as u32).to_le_bytes();
        let count = u16::try_from(self.count).unwrap_or(u16::MAX).to_le_bytes();
        let head = length.into_iter().chain(count);
        for (place, byte) in self.bytes.iter_mut().zip(head) {
            *place = byte;
        }
        self.bytes
    }
}
