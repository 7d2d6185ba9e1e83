//! Rows of a journal from the page server. It reads them from its files, and gives them in bounded pieces, over a
//! connection of the reader's own.
//!
//! Each question says where to go on, and so may be asked again, of the next page server, too. Between two requests,
//! the server keeps only the place that it has read to. The first answer names the commit group up to which rows are
//! given, which is the last one durable then.

use super::call::{Answer, Question, Rows};
use super::remote::Remote;
use crate::node::NodeError;
use crate::node::tables::JournalSource;
use sardonyx_storage::engine::Engine;
use sardonyx_storage::journal::{JournalError, JournalPosition, RowRange};
use std::collections::VecDeque;
use std::ops::Range;

/// Bytes of rows, of all journals, that are read for one answer, not counting the row that goes beyond.
const PIECE_BYTES: usize = 256 << 10;

/// The bytes of an answer beside a row's own.
const ROW_BYTES: usize = 16;

/// The requested rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wanted {
    /// The journal's number.
    pub journal: u16,
    /// The position of the first row.
    pub from: JournalPosition,
    /// The position behind the last row.
    pub to: JournalPosition,
    /// The commit group before which rows are read; 0: all durable rows.
    pub before_group: u64,
}

/// The progress of reading a journal's rows piece by piece.
#[derive(Debug)]
pub struct Reading {
    /// The next request.
    next: Wanted,
    rows: RowRange,
}

impl Reading {
    fn open(engine: &Engine, mut wanted: Wanted) -> Result<Self, JournalError> {
        let commit = engine.commit();
        let durable = commit.durable().group;
        wanted.before_group = match wanted.before_group {
            0 => durable,
            before => before.min(durable),
        };
        // Reads rows of all journals, so that an answer's work is bounded even if this journal has few rows.
        let range = wanted.from..wanted.to;
        let rows = RowRange::open(engine.disk(), engine.manifest(), None, range)?
            .while_written(commit.segments(), wanted.before_group);
        Ok(Reading { next: wanted, rows })
    }

    /// The next piece.
    ///
    /// # Errors
    /// The rows in the files; an error if rows were removed.
    pub fn answer(
        engine: &Engine,
        wanted: Wanted,
        reading: &mut Option<Reading>,
    ) -> Result<Answer, JournalError> {
        let mut here = match reading.take().filter(|reading| reading.next == wanted) {
            Some(reading) => reading,
            None => Reading::open(engine, wanted)?,
        };
        let (mut rows, mut bytes) = (Vec::new(), 0);
        while bytes < PIECE_BYTES {
            let Some(row) = here.rows.next_row()? else {
                let before_group = here.next.before_group;
                return Ok(Answer::Rows(Rows {
                    before_group,
                    next: None,
                    rows,
                }));
            };
            bytes += row.bytes.len() + ROW_BYTES;
            let position = row.place.position();
            here.next.from = position.next();
            if row.journal == wanted.journal {
                rows.push((position, row.bytes));
            }
        }
        let piece = Rows {
            before_group: here.next.before_group,
            next: Some(here.next.from),
            rows,
        };
        *reading = Some(here);
        Ok(Answer::Rows(piece))
    }
}

/// Rows of a journal as a node has them from its page server.
#[derive(Debug)]
pub struct RemoteRows {
    server: Remote,
    /// The next request; `None`: nothing more.
    wanted: Option<Wanted>,
    rows: VecDeque<(JournalPosition, Vec<u8>)>,
}

impl RemoteRows {
    /// The rows at positions of a range that are durable now.
    ///
    /// # Errors
    /// As [`Remote::ask`]; [`NodeError::Refused`] also if the database keeps no rows.
    pub fn open(
        server: Remote,
        journal: u16,
        range: Range<JournalPosition>,
    ) -> Result<Self, NodeError> {
        let mut rows = RemoteRows {
            server,
            wanted: Some(Wanted {
                journal,
                from: range.start,
                to: range.end,
                before_group: 0,
            }),
            rows: VecDeque::new(),
        };
        rows.ask()?;
        Ok(rows)
    }

    /// Asks for the next piece.
    fn ask(&mut self) -> Result<(), NodeError> {
        let Some(wanted) = self.wanted.take() else {
            return Ok(());
        };
        let Answer::Rows(piece) = self.server.ask(&Question::Rows(wanted))? else {
            return Err(NodeError::Refused {
                reason: "the page server answers something else".into(),
            });
        };
        self.rows.extend(piece.rows);
        self.wanted = piece.next.map(|from| Wanted {
            from,
            before_group: piece.before_group,
            ..wanted
        });
        Ok(())
    }
}

impl JournalSource for RemoteRows {
    fn next_row(&mut self) -> Result<Option<(JournalPosition, Vec<u8>)>, NodeError> {
        while self.rows.is_empty() && self.wanted.is_some() {
            self.ask()?;
        }
        Ok(self.rows.pop_front())
    }
}
