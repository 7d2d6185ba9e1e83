//! Reading on a thread of its own, some batches ahead of their user: text becomes values while earlier rows are
//! inserted.
//!
//! Invariant: batches come in the file's order, and each but the last is followed by another, an error, or the
//! end; a thread that ended otherwise is an error.

use crate::batch::Batch;
use crate::reader::Reader;
use crate::{Format, InterchangeError};
use sardonyx_base::sync::thread;
use std::io;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

/// Batches that wait.
const AHEAD: usize = 4;

/// A file that a thread of its own reads.
#[derive(Debug)]
pub struct ReadAhead {
    format: Format,
    batches: Receiver<Result<Option<Batch>, InterchangeError>>,
    used: Sender<Batch>,
}

impl ReadAhead {
    /// Begins to read batches of so many rows. The thread ends with the file; or, if this is dropped, after the
    /// batch that it reads.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start(format: Format, reader: Reader, rows: usize) -> io::Result<Self> {
        let (sender, batches) = sync_channel(AHEAD);
        let (used, again) = channel();
        let named = thread::Builder::new().name("read ahead".to_string());
        named.spawn(move || run(reader, rows, &sender, &again))?;
        Ok(ReadAhead {
            format,
            batches,
            used,
        })
    }

    /// The next rows; `None` at the end.
    ///
    /// # Errors
    /// The errors of [`Reader::read`].
    pub fn next_batch(&mut self) -> Result<Option<Batch>, InterchangeError> {
        let died = |_| InterchangeError::Damaged {
            format: self.format,
            reason: "its content cannot be decoded".to_string(),
        };
        self.batches.recv().map_err(died)?
    }

    /// Gives a batch back, whose memory is used again.
    pub fn give_back(&mut self, batch: Batch) {
        // Without a reader it is not needed.
        let _ = self.used.send(batch);
    }
}

fn run(
    mut reader: Reader,
    rows: usize,
    sender: &SyncSender<Result<Option<Batch>, InterchangeError>>,
    again: &Receiver<Batch>,
) {
    loop {
        let mut batch = again.try_recv().unwrap_or_default();
        let read = reader.read(&mut batch, rows);
        let read = read.map(|is_more| is_more.then_some(batch));
        let is_last = !matches!(read, Ok(Some(_)));
        if sender.send(read).is_err() || is_last {
            return;
        }
    }
}
