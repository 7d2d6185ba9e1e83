//! The requests of a connection, as the server reads them. An entry comes into memory that becomes the group in the log, at once or
//! in parts: those that came ahead wait for its end. Until then nothing is known of it but its bytes.
//!
//! Bound (I10): a connection has at most one request or one entry, of at most 65 MiB, in at most twice as much memory. Parts of an
//! entry that came ahead are dropped when another request comes. Between requests it keeps at most 32 MiB.

use super::message::{ENDING_BYTES, ENTRY_REQUEST_BYTES, EntryRequest, Request};
use super::{BODY_BYTES_MAX, CONTENT_BYTES_MAX};
use sardonyx_base::crc32c::crc32c_of_rest;
use sardonyx_base::frame::{Body, FrameError, Incoming};
use sardonyx_storage::remote_log::entry::ENTRY_HEAD_BYTES;
use sardonyx_storage::remote_log::received::ReceivedEntry;
use std::io::Read;

/// Memory of a request that is kept for the next one of its connection: registers and short lists fit.
const BODY_BYTES_KEPT: usize = 64 << 10;

/// The same for entries: the largest one of a serving host's log fits, and memory grows by doubling.
const ENTRY_BYTES_KEPT: usize = 32 << 20;

/// A request.
#[derive(Debug)]
pub(super) enum Received<'a> {
    /// A part of the next entry, which has no answer.
    Part,
    /// An entry is to be appended under this number.
    Entry(u64, &'a mut ReceivedEntry),
    /// Another request, or bytes that are none.
    Request(Result<Request<'a>, FrameError>),
}

/// The memory of a connection's requests.
#[derive(Debug, Default)]
pub(super) struct Receiver {
    body: Body,
    entry: ReceivedEntry,
}

impl Receiver {
    /// Reads a request.
    ///
    /// # Errors
    /// Nothing more can be read from the connection.
    pub fn next(&mut self, stream: &mut impl Read) -> Result<Received<'_>, FrameError> {
        let mut incoming = Incoming::begin(stream, &(1..=BODY_BYTES_MAX))?;
        self.body.clear(BODY_BYTES_KEPT);
        incoming.read_into(stream, ENTRY_REQUEST_BYTES, &mut self.body)?;
        let request = EntryRequest::decode(self.body.bytes());
        let request = request.filter(|(_, bytes)| *bytes == incoming.left());
        match request {
            Some((EntryRequest::Append { number }, _)) => {
                self.entry.begin();
                self.receive(stream, incoming)?;
                Ok(Received::Entry(number, &mut self.entry))
            }
            Some((EntryRequest::Ahead { behind }, bytes)) => {
                if behind == 0 {
                    self.entry.begin_behind(ENTRY_HEAD_BYTES);
                }
                self.check_behind(behind, bytes)?;
                self.receive(stream, incoming)?;
                Ok(Received::Part)
            }
            Some((EntryRequest::Finish { number }, bytes)) if bytes >= ENDING_BYTES => {
                let mut ending = [0; ENDING_BYTES];
                incoming.read_exact(stream, &mut ending)?;
                let [a, b, c, d, e, f, g, h, head @ ..] = ending;
                self.check_behind(u64::from_le_bytes([a, b, c, d, e, f, g, h]), bytes)?;
                self.receive(stream, incoming)?;
                // Without a part that came ahead, no entry was begun.
                match self.entry.put_head(&head) {
                    true => Ok(Received::Entry(number, &mut self.entry)),
                    false => Err(self.unexpected(bytes)),
                }
            }
            _ => {
                // Parts that came before another request are of no entry: both are never in memory.
                self.entry.clear(ENTRY_BYTES_KEPT);
                incoming.read_into(stream, incoming.left(), &mut self.body)?;
                incoming.end()?;
                Ok(Received::Request(Request::decode(self.body.bytes())))
            }
        }
    }

    /// Refuses a part behind other bytes than those that came, or beyond the longest entry.
    fn check_behind(&self, behind: u64, bytes: usize) -> Result<(), FrameError> {
        let came = self.entry.received() as u64;
        match came == behind && came + bytes as u64 <= CONTENT_BYTES_MAX {
            true => Ok(()),
            false => Err(self.unexpected(bytes)),
        }
    }

    fn unexpected(&self, bytes: usize) -> FrameError {
        FrameError::Content {
            kind: self.body.bytes().first().copied().unwrap_or_default(),
            bytes,
        }
    }

    /// Bytes of memory for an entry and another request.
    #[cfg(test)]
    pub fn bytes(&self) -> usize {
        self.body.bytes().len() + self.entry.bytes().len()
    }

    /// Reads the rest of a frame behind the bytes of the entry.
    fn receive(
        &mut self,
        stream: &mut impl Read,
        mut incoming: Incoming,
    ) -> Result<(), FrameError> {
        let (before, bytes) = (incoming.sum(), incoming.left());
        while incoming.left() > 0 {
            let left = incoming.left();
            self.entry.read(left, |into| incoming.read(stream, into))?;
        }
        let sum = incoming.end()?;
        self.entry.came(bytes, crc32c_of_rest(sum, before, bytes));
        Ok(())
    }

    /// Forgets a request that was answered, and what came of an entry.
    pub fn clear(&mut self) {
        self.body.clear(BODY_BYTES_KEPT);
        self.entry.clear(ENTRY_BYTES_KEPT);
    }
}
