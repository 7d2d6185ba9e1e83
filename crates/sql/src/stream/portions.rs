//! A stream of a snapshot, read in portions on another thread: a condition that few rows meet is tested on many before the
//! next portion is full, and whoever sends the rows serves others meanwhile.
//!
//! Invariant: the stream is here, or with what is coming; nothing is lost if nobody waits for that any more.

use super::SnapshotStream;
use crate::blocking::Unblocked;
use crate::error::SqlError;
use sardonyx::schema::Value;
use sardonyx_base::parking::wait;

/// How many rows are read at a time.
const PORTION_ROWS: u64 = 1000;

/// What was read: the stream again, the values, how many rows they are, and whether there may be more.
type Portion = (
    Box<SnapshotStream>,
    Vec<Value>,
    Result<(u64, bool), SqlError>,
);

/// Rows that follow, some of which may have been read.
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
    /// Of rows of so many values.
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

    /// Waits for rows, or the end. What fails is said by [`SnapshotPortions::next`].
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

    /// Adds the next rows, at most so many. Returns how many, and whether there may be more.
    ///
    /// # Errors
    /// Evaluation errors; `54000` if the snapshot was ended; `57014` if the client asked for the end.
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
