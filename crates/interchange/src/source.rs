//! The source of a file's bytes: a file, memory, or a stream that is read once.

use crate::InterchangeError;
use bytes::Bytes;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom};

/// Bytes that are read at once.
const BUFFER_BYTES: usize = 1 << 20;

/// A file's bytes.
#[non_exhaustive]
pub enum Source {
    /// A file, from its beginning.
    File(File),
    /// Memory.
    Bytes(Bytes),
    /// A pipe or anything else that is read once.
    Stream(Box<dyn Read + Send>),
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Source::File(_) => "File",
            Source::Bytes(_) => "Bytes",
            Source::Stream(_) => "Stream",
        })
    }
}

impl Source {
    /// Its bytes from the first to the last.
    pub(crate) fn into_stream(self) -> Box<dyn BufRead + Send> {
        match self {
            Source::File(file) => Box::new(BufReader::with_capacity(BUFFER_BYTES, file)),
            Source::Bytes(bytes) => Box::new(Cursor::new(bytes)),
            Source::Stream(stream) => Box::new(BufReader::with_capacity(BUFFER_BYTES, stream)),
        }
    }

    /// Lets `look` read the bytes from the first on; after that they are all there again. The read bytes of a stream
    /// are kept in memory.
    pub(crate) fn look_ahead<T>(
        &mut self,
        look: impl FnOnce(&mut dyn BufRead) -> Result<T, InterchangeError>,
    ) -> Result<T, InterchangeError> {
        match self {
            Source::File(file) => {
                let found = look(&mut BufReader::with_capacity(BUFFER_BYTES, &*file))?;
                file.seek(SeekFrom::Start(0))?;
                Ok(found)
            }
            Source::Bytes(bytes) => look(&mut &bytes[..]),
            Source::Stream(stream) => {
                let stream = std::mem::replace(stream, Box::new(io::empty()));
                let mut kept = Kept {
                    stream,
                    read: Vec::new(),
                };
                let found = look(&mut BufReader::new(&mut kept));
                *self = Source::Stream(Box::new(Cursor::new(kept.read).chain(kept.stream)));
                found
            }
        }
    }
}

/// A stream whose bytes are kept.
struct Kept {
    stream: Box<dyn Read + Send>,
    read: Vec<u8>,
}

impl Read for Kept {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.stream.read(buffer)?;
        self.read
            .extend_from_slice(buffer.get(..count).unwrap_or_default());
        Ok(count)
    }
}
