//! The rows of a result, given to the client in portions: first those that the SQL layer returned, then those of its
//! stream.

use sardonyx::schema::Value;
use sardonyx_base::waiting::Interrupt;
use sardonyx_sql::{
    RowStream, Rows, SessionZone, Share, SqlError, bytes_of, code, cover_bytes, cover_portion,
};

/// The most rows of a portion.
const ROWS_AT_ONCE: usize = 1000;

/// The rows of a result that were not given yet.
#[derive(Debug)]
pub struct Portions {
    values: Vec<Value>,
    width: usize,
    /// The rows in `values`, and how many of them were given.
    rows: usize,
    given: usize,
    more: Option<RowStream>,
    /// The share of all clients' memory that the rows take until they are dropped: the most of all portions so far.
    memory: Option<Share>,
    /// The time zone in which moments are shown; UTC if there is none.
    zone: Option<SessionZone>,
    /// The bytes of rows that stay when they were given; none if they do not.
    kept: Option<usize>,
}

/// The most bytes of rows that stay.
const KEPT_BYTES_MAX: usize = 256 << 20;

/// A portion of rows.
#[derive(Clone, Copy, Debug)]
pub struct Portion<'a> {
    values: &'a [Value],
    width: usize,
    rows: usize,
    zone: Option<&'a SessionZone>,
}

impl Portions {
    pub fn of(rows: Rows, memory: Option<Share>) -> Self {
        Portions {
            rows: usize::try_from(rows.count).unwrap_or(usize::MAX),
            values: rows.values,
            width: rows.width,
            given: 0,
            more: rows.more,
            memory,
            zone: rows.zone.map(|zone| *zone),
            kept: None,
        }
    }

    /// Has all rows stay, for a cursor that goes back.
    ///
    /// # Errors
    /// `53200` if they take too much memory.
    pub fn keep(&mut self) -> Result<(), SqlError> {
        self.kept = Some(0);
        self.count_kept(0)
    }

    /// Counts the values from a place on, which stay.
    fn count_kept(&mut self, from: usize) -> Result<(), SqlError> {
        let kept = self.kept.unwrap_or(0) + bytes_of(&self.values[from..]);
        self.kept = Some(kept);
        if kept > KEPT_BYTES_MAX {
            return Err(SqlError::new(
                code::OUT_OF_MEMORY,
                format!("the rows of a scrolling cursor take more than {KEPT_BYTES_MAX} bytes"),
            ));
        }
        match &mut self.memory {
            Some(memory) => cover_bytes(memory, kept),
            None => Ok(()),
        }
    }

    /// Reads on until there are so many rows that stay, and returns how many there are: fewer at the end.
    ///
    /// # Errors
    /// As [`Portions::next`]; `53200` if they take too much memory.
    pub async fn reach(
        &mut self,
        count: usize,
        interrupt: Option<&Interrupt>,
    ) -> Result<usize, SqlError> {
        while self.rows < count
            && let Some(more) = &mut self.more
        {
            if let Some(reason) = interrupt.and_then(Interrupt::take) {
                return Err(SqlError::interrupted(reason));
            }
            more.ready().await;
            let from = self.values.len();
            let most = ROWS_AT_ONCE.min(count - self.rows) as u64;
            let (rows, goes_on) = more.next(most, &mut self.values)?;
            if !goes_on {
                self.more = None;
            }
            self.rows += usize::try_from(rows).unwrap_or(usize::MAX);
            self.count_kept(from)?;
        }
        Ok(self.rows)
    }

    /// A row that stays, by its number from 1.
    pub fn row(&self, number: usize) -> &[Value] {
        let start = (number - 1) * self.width;
        &self.values[start..start + self.width]
    }

    /// The time zone in which moments are shown; UTC if there is none.
    pub fn zone(&self) -> Option<&SessionZone> {
        self.zone.as_ref()
    }

    /// Waits until the next rows can be taken without waiting.
    pub async fn ready(&mut self) {
        if self.given == self.rows
            && let Some(more) = &mut self.more
        {
            more.ready().await;
        }
    }

    /// The next rows, at most `most`; none at the end.
    ///
    /// # Errors
    /// The rows cannot be read: the snapshot was ended, or the database is damaged.
    pub fn next(&mut self, most: usize) -> Result<Option<Portion<'_>>, SqlError> {
        if self.given == self.rows {
            let Some(more) = &mut self.more else {
                return Ok(None);
            };
            self.values.clear();
            let (rows, goes_on) = more.next(most.min(ROWS_AT_ONCE) as u64, &mut self.values)?;
            if !goes_on {
                self.more = None;
            }
            if let Some(memory) = &mut self.memory {
                cover_portion(memory, &self.values)?;
            }
            self.rows = usize::try_from(rows).unwrap_or(usize::MAX);
            self.given = 0;
            if self.rows == 0 {
                return Ok(None);
            }
        }
        let rows = most.min(ROWS_AT_ONCE).min(self.rows - self.given);
        let start = self.given * self.width;
        self.given += rows;
        Ok(Some(Portion {
            values: &self.values[start..start + rows * self.width],
            width: self.width,
            rows,
            zone: self.zone.as_ref(),
        }))
    }

    /// Returns true if all rows were given.
    pub fn is_done(&self) -> bool {
        self.given == self.rows && self.more.is_none()
    }
}

impl<'a> Portion<'a> {
    /// The rows; a row may have no values.
    pub fn rows(&self) -> impl Iterator<Item = &'a [Value]> + use<'a> {
        let (values, width) = (self.values, self.width);
        (0..self.rows).map(move |row| &values[row * width..(row + 1) * width])
    }

    /// The time zone in which moments are shown; UTC if there is none.
    pub fn zone(&self) -> Option<&'a SessionZone> {
        self.zone
    }

    /// The number of rows.
    pub fn count(&self) -> usize {
        self.rows
    }
}
