//! The content of a drive: a sparse sequence of bytes whose copies share their common parts.
//!
//! A drive of a gigabyte under a file system holds some tens of megabytes. A chunk that was never written, or only with
//! zeroes, takes no memory.

use std::sync::Arc;

/// Bytes that are shared, or copied, as one.
const CHUNK: usize = 4096;

/// The content of a drive.
#[derive(Clone, Debug)]
pub struct Image {
    chunks: Vec<Option<Arc<[u8; CHUNK]>>>,
}

impl Image {
    /// A content of zeroes.
    ///
    /// # Panics
    /// If `bytes` is no multiple of 4096.
    pub fn new(bytes: u64) -> Image {
        assert!(bytes.is_multiple_of(CHUNK as u64), "whole chunks");
        Image {
            chunks: vec![None; (bytes / CHUNK as u64) as usize],
        }
    }

    /// Its size in bytes.
    pub fn bytes(&self) -> u64 {
        (self.chunks.len() * CHUNK) as u64
    }

    /// Returns true if the range is within the drive.
    pub fn has(&self, offset: u64, length: u64) -> bool {
        offset
            .checked_add(length)
            .is_some_and(|end| end <= self.bytes())
    }

    /// Reads.
    ///
    /// # Panics
    /// If the range is not within the drive.
    pub fn read(&self, offset: u64, into: &mut [u8]) {
        let mut done = 0;
        for (chunk, range) in pieces(offset, into.len()) {
            let part = &mut into[done..done + range.len()];
            done += range.len();
            match &self.chunks[chunk] {
                Some(bytes) => part.copy_from_slice(&bytes[range]),
                None => part.fill(0),
            }
        }
    }

    /// Writes.
    ///
    /// # Panics
    /// If the range is not within the drive.
    pub fn write(&mut self, offset: u64, data: &[u8]) {
        let mut done = 0;
        for (chunk, range) in pieces(offset, data.len()) {
            let part = &data[done..done + range.len()];
            done += range.len();
            let place = &mut self.chunks[chunk];
            if place.is_none() && part.iter().all(|byte| *byte == 0) {
                continue;
            }
            let bytes = place.get_or_insert_with(|| Arc::new([0; CHUNK]));
            Arc::make_mut(bytes)[range].copy_from_slice(part);
        }
    }

    /// Makes a range read as zeroes.
    ///
    /// # Panics
    /// If the range is not within the drive.
    pub fn zero(&mut self, offset: u64, length: u64) {
        for (chunk, range) in pieces(offset, length as usize) {
            let place = &mut self.chunks[chunk];
            if range.len() == CHUNK {
                *place = None;
            } else if let Some(bytes) = place {
                Arc::make_mut(bytes)[range].fill(0);
            }
        }
    }

    /// Copies from another image of the same size the chunks that a range touches.
    ///
    /// # Panics
    /// If the range is not within the drive.
    pub fn take_chunks(&mut self, from: &Image, offset: u64, length: u64) {
        for (chunk, _) in pieces(offset, length as usize) {
            self.chunks[chunk].clone_from(&from.chunks[chunk]);
        }
    }

    /// The chunks that are not zero: offset and bytes.
    pub fn written(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let chunks = self.chunks.iter().enumerate();
        chunks.filter_map(|(nth, chunk)| Some(((nth * CHUNK) as u64, &chunk.as_deref()?[..])))
    }
}

/// The chunks of a range, each with the part of it.
fn pieces(offset: u64, length: usize) -> impl Iterator<Item = (usize, std::ops::Range<usize>)> {
    let mut at = offset as usize;
    let end = at + length;
    std::iter::from_fn(move || {
        (at < end).then(|| {
            let (chunk, from) = (at / CHUNK, at % CHUNK);
            let to = CHUNK.min(from + (end - at));
            at += to - from;
            (chunk, from..to)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sardonyx_workload::random::Random;

    #[test]
    fn it_reads_what_was_written_wherever_chunks_end() {
        let mut random = Random::new(1);
        let (mut image, mut plain) = (Image::new(16 * 4096), vec![0u8; 16 * 4096]);
        for _ in 0..2000 {
            let from = random.below(plain.len() as u64) as usize;
            let length = random.below((plain.len() - from) as u64 + 1).min(9000) as usize;
            match random.below(4) {
                0 => {
                    image.zero(from as u64, length as u64);
                    plain[from..from + length].fill(0);
                }
                kind => {
                    let byte = if kind == 1 {
                        0
                    } else {
                        random.below(256) as u8
                    };
                    image.write(from as u64, &vec![byte; length]);
                    plain[from..from + length].fill(byte);
                }
            }
            let mut read = vec![1; length];
            image.read(from as u64, &mut read);
            assert_eq!(read, plain[from..from + length]);
        }
        let mut whole = vec![1; plain.len()];
        image.read(0, &mut whole);
        assert_eq!(whole, plain);
    }

    #[test]
    fn a_copy_keeps_what_it_was() {
        let mut image = Image::new(8192);
        image.write(100, b"first");
        let copy = image.clone();
        image.write(100, b"other");
        let mut read = [0; 5];
        copy.read(100, &mut read);
        assert_eq!(&read, b"first");
        assert_eq!(image.written().count(), 1);
        assert!(image.has(8192, 0) && !image.has(8191, 2) && !image.has(u64::MAX, 2));
    }
}
