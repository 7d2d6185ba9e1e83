//! A frame whose body is read piece by piece, into memory of the reader's choice. Each piece is summed while the processor
//! still has it.

use super::{Body, CHECKSUM_BYTES, FrameError, HEAD_BYTES, LENGTH_BYTES, check_length, unread};
use crate::crc32c;
use std::io::{self, Read};
use std::ops::RangeInclusive;

/// A frame whose head was read.
#[derive(Debug)]
pub struct Incoming {
    /// Bytes of the frame, as its head has it.
    length: usize,
    /// Bytes of the body that were not read yet.
    left: usize,
    /// The checksum of those that were.
    sum: u32,
    /// The checksum of the body, as the head has it.
    expected: u32,
}

impl Incoming {
    /// Reads the head of the next frame of a connection, whose body has so many bytes.
    ///
    /// # Errors
    /// [`FrameError`]: nothing more can be read from the connection.
    pub fn begin(
        from: &mut impl Read,
        sizes: &RangeInclusive<usize>,
    ) -> Result<Incoming, FrameError> {
        let mut head = [0; HEAD_BYTES];
        let read = read_at_least(from, &mut head, LENGTH_BYTES)?;
        let [a, b, c, d, checksum @ ..] = head;
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        check_length(length, sizes)?;
        let mut expected = checksum;
        let rest = expected.get_mut(read - LENGTH_BYTES..).unwrap_or_default();
        from.read_exact(rest).map_err(unread)?;
        Ok(Incoming {
            length,
            left: length - CHECKSUM_BYTES,
            sum: 0,
            expected: u32::from_le_bytes(expected),
        })
    }

    /// Bytes of the body that were not read yet.
    pub fn left(&self) -> usize {
        self.left
    }

    /// The checksum of the bytes that were read.
    pub fn sum(&self) -> u32 {
        self.sum
    }

    /// Reads at least a byte of the body, if any is left and there is room, and returns the number of bytes.
    ///
    /// # Errors
    /// [`FrameError`]: nothing more can be read from the connection.
    pub fn read(&mut self, from: &mut impl Read, into: &mut [u8]) -> Result<usize, FrameError> {
        let room = into.len().min(self.left);
        let into = into.get_mut(..room).unwrap_or_default();
        if into.is_empty() {
            return Ok(0);
        }
        let read = read_at_least(from, into, 1)?;
        self.sum = crc32c::crc32c_append(self.sum, into.get(..read).unwrap_or_default());
        self.left -= read;
        Ok(read)
    }

    /// Reads as many bytes of the body as there is room.
    ///
    /// # Errors
    /// As [`Incoming::read`]; [`FrameError::Closed`] if fewer are left.
    pub fn read_exact(&mut self, from: &mut impl Read, into: &mut [u8]) -> Result<(), FrameError> {
        let mut bytes = 0;
        while bytes < into.len() {
            match self.read(from, into.get_mut(bytes..).unwrap_or_default())? {
                0 => return Err(FrameError::Closed),
                read => bytes += read,
            }
        }
        Ok(())
    }

    /// Reads so many more bytes of the body, or all that are left, behind those of a body.
    ///
    /// # Errors
    /// As [`Incoming::read`].
    pub fn read_into(
        &mut self,
        from: &mut impl Read,
        bytes: usize,
        body: &mut Body,
    ) -> Result<(), FrameError> {
        let until = body.length + bytes.min(self.left);
        while body.length < until {
            body.length += self.read(from, body.rest(until))?;
        }
        Ok(())
    }

    /// Checks the body, which was read whole, and returns its checksum.
    ///
    /// # Errors
    /// [`FrameError::Checksum`].
    pub fn end(self) -> Result<u32, FrameError> {
        match self.left == 0 && self.sum == self.expected {
            true => Ok(self.sum),
            false => Err(FrameError::Checksum { bytes: self.length }),
        }
    }
}

/// Reads until so many bytes are there, and returns how many are.
fn read_at_least(from: &mut impl Read, into: &mut [u8], least: usize) -> Result<usize, FrameError> {
    let mut bytes = 0;
    while bytes < least {
        match from.read(into.get_mut(bytes..).unwrap_or_default()) {
            Ok(0) => return Err(FrameError::Closed),
            Ok(read) => bytes += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(unread(error)),
        }
    }
    Ok(bytes)
}
