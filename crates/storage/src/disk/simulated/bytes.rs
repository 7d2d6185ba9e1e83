//! The bytes of a simulated file, in chunks that copies of the file share.
//!
//! An exploration restarts a machine thousands of times, and each restart copies the disk. Most of a small database is a
//! log that is prepared and empty: its chunks take no memory. Others are copied when one of their owners writes to them.

use std::fmt;
use std::sync::Arc;

/// The bytes that are shared or copied together.
const CHUNK_BYTES: usize = 4096;

/// Bytes that grow, shrink, and are copied in a time that depends on the number of their chunks.
#[derive(Clone, Default)]
pub(super) struct Bytes {
    /// `None` is a chunk of zeroes. Bytes of the last one that are beyond the length are zero.
    chunks: Vec<Option<Arc<[u8; CHUNK_BYTES]>>>,
    length: usize,
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.length)
    }
}

impl From<&[u8]> for Bytes {
    fn from(from: &[u8]) -> Bytes {
        let mut bytes = Bytes::default();
        bytes.set_length(from.len());
        bytes.write(0, from);
        bytes
    }
}

impl Bytes {
    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// Cuts bytes off, or adds zeroes.
    pub(super) fn set_length(&mut self, length: usize) {
        self.chunks.resize(length.div_ceil(CHUNK_BYTES), None);
        let used = length % CHUNK_BYTES;
        if length < self.length
            && used > 0
            && let Some(Some(last)) = self.chunks.last_mut()
        {
            Arc::make_mut(last)[used..].fill(0);
        }
        self.length = length;
    }

    /// Copies bytes from an offset on, as far as there are some; returns their number.
    pub(super) fn read(&self, offset: usize, into: &mut [u8]) -> usize {
        let bytes = into.len().min(self.length.saturating_sub(offset));
        each_part(offset, bytes, |chunk, within, part| {
            let into = &mut into[part];
            match &self.chunks[chunk] {
                Some(chunk) => into.copy_from_slice(&chunk[within..within + into.len()]),
                None => into.fill(0),
            }
        });
        bytes
    }

    /// Writes bytes that end within the length.
    pub(super) fn write(&mut self, offset: usize, from: &[u8]) {
        assert!(
            offset + from.len() <= self.length,
            "a write behind the end of {self:?}"
        );
        each_part(offset, from.len(), |chunk, within, part| {
            let from = &from[part];
            let chunk = self.chunks[chunk].get_or_insert_with(|| Arc::new([0; CHUNK_BYTES]));
            Arc::make_mut(chunk)[within..within + from.len()].copy_from_slice(from);
        });
    }

    pub(super) fn to_vec(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.length];
        self.read(0, &mut bytes);
        bytes
    }
}

/// Calls `each` for the part of so many bytes that is in each chunk: with the chunk's number, the offset in it, and the
/// part.
fn each_part(
    offset: usize,
    bytes: usize,
    mut each: impl FnMut(usize, usize, std::ops::Range<usize>),
) {
    let mut done = 0;
    while done < bytes {
        let (chunk, within) = ((offset + done) / CHUNK_BYTES, (offset + done) % CHUNK_BYTES);
        let part = (CHUNK_BYTES - within).min(bytes - done);
        each(chunk, within, done..done + part);
        done += part;
    }
}

#[cfg(test)]
mod tests {
    use super::{Bytes, CHUNK_BYTES};
    use sardonyx_base::random::Random;

    /// Random changes beside a plain list of bytes, and copies that do not see later changes.
    #[test]
    fn bytes_are_those_of_a_plain_list_and_copies_are_apart() {
        let mut random = Random::new(1);
        let (mut bytes, mut model) = (Bytes::default(), Vec::new());
        let mut copies: Vec<(Bytes, Vec<u8>)> = Vec::new();
        for round in 0..2000_u32 {
            let mut below = |bound: usize| random.below(bound as u64) as usize;
            match below(8) {
                0 => {
                    let length = below(5 * CHUNK_BYTES);
                    bytes.set_length(length);
                    model.resize(length, 0);
                }
                1 if copies.len() < 50 => copies.push((bytes.clone(), model.clone())),
                2 if !copies.is_empty() => {
                    let copy = below(copies.len());
                    (bytes, model) = copies[copy].clone();
                }
                _ => {
                    let from = below(model.len() + 1);
                    let length = below((model.len() - from).min(2 * CHUNK_BYTES) + 1);
                    let with: Vec<u8> = (0..length).map(|_| below(256) as u8).collect();
                    bytes.write(from, &with);
                    model[from..from + length].copy_from_slice(&with);
                }
            }
            assert_eq!(bytes.len(), model.len(), "in round {round}");
            let from = below_of(&mut random, model.len() + 10);
            let mut read = vec![1; below_of(&mut random, 3 * CHUNK_BYTES)];
            let count = bytes.read(from, &mut read);
            let there = model.get(from..).unwrap_or_default();
            assert_eq!(count, read.len().min(there.len()));
            assert!(read[..count] == there[..count], "in round {round}");
        }
        for (copy, model) in copies {
            assert!(copy.to_vec() == model);
            assert!(Bytes::from(&*model).to_vec() == model);
        }
    }

    fn below_of(random: &mut Random, bound: usize) -> usize {
        random.below(bound as u64) as usize
    }

    #[test]
    fn bytes_that_were_cut_off_are_zero_when_the_file_grows_again() {
        let mut bytes = Bytes::from(&[7; 3 * CHUNK_BYTES][..]);
        let copy = bytes.clone();
        bytes.set_length(CHUNK_BYTES + 1);
        bytes.set_length(2 * CHUNK_BYTES);
        let all = bytes.to_vec();
        assert!(all[..=CHUNK_BYTES].iter().all(|byte| *byte == 7));
        assert!(all[CHUNK_BYTES + 1..].iter().all(|byte| *byte == 0));
        assert!(copy.to_vec().iter().all(|byte| *byte == 7));
    }
}
