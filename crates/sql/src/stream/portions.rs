//! A stream of a snapshot, read in portions on another thread. A condition with few matches may be tested on many rows
//! before a portion is full; meanwhile the sending thread serves other connections.
//!
//! Invariant: the stream is either here or in the pending portion, so cancelling a wait loses no rows.

use super::SnapshotStream;
use crate::blocking::Unblocked;
use crate::error::SqlError;
use sardonyx::schema::Value;
use sardonyx_base::parking::wait;

/// The number of rows of a portion.
const PORTION_ROWS: u64 = 1000;

/// A portion: the stream, the values, the number of rows, and true if there may be more.
type Portion = (
    Box<SnapshotStream>,
    Vec<Value>,
    Result<(u64, bool), SqlError>,
);

/// The remaining rows, some of which may already be read.
#[derive(Debug)]
pub(crate) struct SnapshotPortions {
    stream: Option<Box<SnapshotStream>>,
    coming: Option<Unblocked<Portion>>,
    held: std::vec::IntoIter<Value>,
    width: usize,
    rows: u64,
    more: bool,
    failed: Option<SqlError>,
}

impl SnapshotPortions {
    /// Portions of rows with `width` values.
    pub fn of(stream: SnapshotStream, width: usize) -> SnapshotPortions {
        SnapshotPortions {
            stream: Some(Box::new(stream)),
            coming: None,
            held: Vec::new().into_iter(),
            width,
            rows: 0,
            more: true,
            failed: None,
        }
    }

    /// Waits for rows, or the end. Errors are returned by [`SnapshotPortions::next`].
    pub async fn ready(&mut self) {
        if self.rows > 0 || !self.more || self.failed.is_some() {
            return;
        }
        if let Some(database) = self
            .stream
            .as_ref()
            .and_then(|stream| stream.context.database.clone())
            && let Some(mut stream) = self.stream.take()
        {
            self.coming = Some(database.readers().run(move || {
                let mut values = Vec::new();
                let result = stream.next(PORTION_ROWS, &mut values);
                (stream, values, result)
            }));
        }
        let Some(coming) = &mut self.coming else {
            return;
        };
        let came = coming.await;
        self.coming = None;
        match came {
            Ok((stream, values, Ok((rows, more)))) => {
                self.stream = Some(stream);
                self.held = values.into_iter();
                (self.rows, self.more) = (rows, more);
            }
            Ok((_, _, Err(error))) | Err(error) => self.failed = Some(error),
        }
    }

    /// Appends at most `most` of the next rows. Returns their number, and true if there may be more.
    ///
    /// # Errors
    /// Evaluation errors; `40001` if the snapshot was ended; `57014` if the client cancelled the statement.
    pub fn next(&mut self, most: u64, out: &mut Vec<Value>) -> Result<(u64, bool), SqlError> {
        if self.coming.is_some() {
            wait(self.ready());
        }
        if let Some(error) = self.failed.take() {
            self.more = false;
            return Err(error);
        }
        if self.rows > 0 || !self.more {
            let taken = most.min(self.rows);
            let values = usize::try_from(taken).unwrap_or(usize::MAX);
            out.extend(self.held.by_ref().take(values.saturating_mul(self.width)));
            self.rows -= taken;
            return Ok((taken, self.rows > 0 || self.more));
        }
        let Some(stream) = &mut self.stream else {
            return Ok((0, false));
        };
        let (rows, more) = stream.next(most, out)?;
        self.more = more;
        Ok((rows, more))
    }
}
