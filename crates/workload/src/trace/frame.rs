//! The outer layer of the binary form: a stream of bytes cut into checksummed frames.
//!
//! No byte is returned before the checksum of its frame was right. So only written content is decoded, or none. A
//! frame's checksum covers its number too: frames that are missing, doubled or exchanged are found. An empty frame
//! ends the stream; a file without one was cut off.

use super::{Fault, Place, TraceError};
use sardonyx_base::crc32c;
use std::io::{self, Read, Write};

/// The beginning of a binary trace. The first byte is no text in any encoding that is common.
pub const MAGIC: [u8; 8] = *b"\x93SDXTRC\n";

/// The version of the format.
pub const VERSION: u32 = 1;

/// The most bytes in a frame.
pub const FRAME_BYTES: usize = 1 << 16;

fn checksum(number: u64, payload: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&number.to_le_bytes()), payload)
}

/// Cuts bytes into frames.
pub struct FrameWriter<W> {
    writer: W,
    payload: Vec<u8>,
    number: u64,
}

impl<W: Write> FrameWriter<W> {
    /// Writes magic and version.
    pub fn begin(mut writer: W) -> io::Result<Self> {
        writer.write_all(&MAGIC)?;
        writer.write_all(&VERSION.to_le_bytes())?;
        Ok(FrameWriter {
            writer,
            payload: Vec::with_capacity(FRAME_BYTES),
            number: 0,
        })
    }

    /// Appends bytes.
    pub fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let room = FRAME_BYTES - self.payload.len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.payload.extend_from_slice(now);
            bytes = later;
            if self.payload.len() == FRAME_BYTES {
                self.write_frame()?;
            }
        }
        Ok(())
    }

    /// Writes the rest and the empty frame, and flushes.
    pub fn finish(mut self) -> io::Result<W> {
        if !self.payload.is_empty() {
            self.write_frame()?;
        }
        self.write_frame()?;
        self.writer.flush()?;
        Ok(self.writer)
    }

    fn write_frame(&mut self) -> io::Result<()> {
        let checksum = checksum(self.number, &self.payload);
        self.writer
            .write_all(&(self.payload.len() as u32).to_le_bytes())?;
        self.writer.write_all(&checksum.to_le_bytes())?;
        self.writer.write_all(&self.payload)?;
        self.number += 1;
        self.payload.clear();
        Ok(())
    }
}

/// Gives the bytes inside the frames.
pub struct FrameReader<R> {
    reader: R,
    file: String,
    payload: Vec<u8>,
    /// The next byte of the payload.
    next: usize,
    /// The start of the payload in the file.
    start: u64,
    number: u64,
    ended: bool,
}

impl<R: Read> FrameReader<R> {
    /// Reads the version, behind the magic.
    pub fn begin(reader: R, file: String) -> Result<Self, TraceError> {
        let mut frames = FrameReader {
            reader,
            file,
            payload: Vec::new(),
            next: 0,
            start: MAGIC.len() as u64,
            number: 0,
            ended: false,
        };
        let version = frames.read_word("the version")?;
        if version != VERSION {
            let found = version.to_string();
            frames.start -= 4;
            return Err(frames.wrong(Fault::Version { found }));
        }
        Ok(frames)
    }

    /// The place of the next byte in the file.
    pub fn offset(&self) -> u64 {
        self.start + self.next as u64
    }

    /// The error of something wrong at the next byte.
    pub fn wrong(&self, fault: Fault) -> TraceError {
        self.wrong_at(self.offset(), fault)
    }

    /// The error of something wrong at a byte.
    pub fn wrong_at(&self, offset: u64, fault: Fault) -> TraceError {
        TraceError::Wrong {
            file: self.file.clone(),
            place: Place::Offset(offset),
            fault,
        }
    }

    /// The next byte, of something that is called `of`.
    #[inline]
    pub fn byte(&mut self, of: &'static str) -> Result<u8, TraceError> {
        if self.next == self.payload.len() {
            self.read_frame()?;
            if self.ended {
                return Err(self.wrong(Fault::CutOff { of }));
            }
        }
        self.next += 1;
        Ok(self.payload[self.next - 1])
    }

    /// Makes sure that nothing follows, inside the frames or behind them.
    pub fn end(&mut self) -> Result<(), TraceError> {
        if self.next == self.payload.len() && !self.ended {
            self.read_frame()?;
        }
        let mut byte = [0];
        if !self.ended || self.read_some(&mut byte)? != 0 {
            return Err(self.wrong(Fault::Behind));
        }
        Ok(())
    }

    fn read_frame(&mut self) -> Result<(), TraceError> {
        self.start += self.payload.len() as u64;
        self.payload.clear();
        self.next = 0;
        let header = self.start;
        let length = self.read_word("a frame's length")?;
        if length as usize > FRAME_BYTES {
            let fault = Fault::Range {
                what: "a frame's length",
                found: length.into(),
                least: 0,
                most: FRAME_BYTES as u64,
            };
            return Err(self.wrong_at(header, fault));
        }
        let found = self.read_word("a frame's checksum")?;
        self.payload.resize(length as usize, 0);
        let mut payload = std::mem::take(&mut self.payload);
        let outcome = self.read_exactly(&mut payload, "a frame");
        self.payload = payload;
        outcome?;
        let expected = checksum(self.number, &self.payload);
        if found != expected {
            let fault = Fault::Checksum {
                found,
                expected,
                hint: "the file is damaged here, take another copy",
            };
            return Err(self.wrong_at(header, fault));
        }
        self.number += 1;
        self.ended = length == 0;
        Ok(())
    }

    /// Reads four bytes outside the frames.
    fn read_word(&mut self, of: &'static str) -> Result<u32, TraceError> {
        let mut bytes = [0; 4];
        self.read_exactly(&mut bytes, of)?;
        self.start += 4;
        Ok(u32::from_le_bytes(bytes))
    }

    fn read_exactly(&mut self, bytes: &mut [u8], of: &'static str) -> Result<(), TraceError> {
        let mut filled = 0;
        while filled < bytes.len() {
            match self.read_some(&mut bytes[filled..])? {
                0 => {
                    let offset = self.start + filled as u64;
                    return Err(self.wrong_at(offset, Fault::CutOff { of }));
                }
                read => filled += read,
            }
        }
        Ok(())
    }

    fn read_some(&mut self, bytes: &mut [u8]) -> Result<usize, TraceError> {
        loop {
            match self.reader.read(bytes) {
                Ok(read) => return Ok(read),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    let file = self.file.clone();
                    return Err(TraceError::Io { file, source });
                }
            }
        }
    }
}
