//! The statements of an open transaction in their order, each with a digest of the client's answer. They are run again,
//! and compared, before the transaction continues or commits.
//!
//! A client that rolls back to a savepoint has seen the answers since it, and may act upon them. So these statements
//! stay, between a mark and the return to it: they are run again, compared, and undone. A failed statement that was
//! rolled back stays likewise, with the code of its error.
//!
//! Invariants: each return has its mark before it, and pairs between them are whole. The cost of running statements again
//! is linear in the transaction's statements ([`History::run_again`]).

use crate::claiming::ClaimLog;
use crate::class::Class;
use crate::error::{SqlError, code};
use crate::prepared::Prepared;
use crate::result::CopyData;
use crate::sequences::Done;
use crate::settings::Settings;
use sardonyx::schema::Value;
use std::sync::Arc;

/// The most statements of an open transaction that are run again.
pub const REPLAYED_STATEMENTS_MAX: usize = 10_000;
/// The most bytes of their parameters, and of data for `COPY`.
pub const REPLAYED_BYTES_MAX: usize = 256 << 20;

/// The runs again that each statement of a transaction adds to their bound.
pub const AGAIN_EACH: u64 = 16;
/// A run over this many rows counts as one more.
const AGAIN_ROWS: u64 = 1000;

/// The end of the transaction in a unit that runs it again.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ends {
    /// The first step is the end.
    Now,
    /// The end comes behind other steps of the unit.
    Later,
    Not,
}

/// The history of an open transaction.
#[derive(Debug, Default)]
pub(crate) struct History {
    events: Vec<Event>,
    statements: usize,
    bytes: usize,
    /// The cost of running all of it once: its statements, and one more for [`AGAIN_ROWS`] rows each.
    cost: u64,
    /// The rows over which all of it walks.
    rows: u64,
    /// The cost of all runs again.
    again: u64,
    /// The cost of those that only gave a statement its types.
    described: u64,
    /// True if a flight beyond the bound was not refused, since its end was to come.
    was_last: bool,
    /// True if it is not kept any more.
    forgotten: bool,
}

/// An event of a transaction.
#[derive(Debug)]
pub(crate) enum Event {
    Statement(Remembered),
    /// A place to which the transaction went back later.
    Mark,
    /// A rollback to the last mark without a return.
    Return,
}

/// A statement of an open transaction, with the client's answer.
#[derive(Clone, Debug)]
pub(crate) struct Remembered {
    pub statement: Arc<Prepared>,
    pub parameters: Arc<[Value]>,
    pub data: Option<Arc<CopyData>>,
    pub statement_started: i64,
    pub seed: [u64; 2],
    /// The session's parameters at that time, on which the statement may depend.
    pub settings: Settings,
    pub drawn: Done,
    /// The rows that it got by `SKIP LOCKED`.
    pub claimed: Arc<ClaimLog>,
    pub told: Told,
    pub bytes: usize,
}

/// The digest of a client's answer to a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Told {
    /// The number of rows, and a digest of all of them, in any order.
    Rows { rows: u64, digest: [u64; 2] },
    /// An error with this code.
    Failed(&'static str),
}

impl Default for Told {
    fn default() -> Self {
        Told::Rows {
            rows: 0,
            digest: [0; 2],
        }
    }
}

impl History {
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && !self.forgotten
    }

    /// The number of statements to run again.
    pub fn len(&self) -> usize {
        self.statements
    }

    /// The rows over which they walk.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The bytes of their parameters and data.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// True if all statements can be run again.
    pub fn is_whole(&self) -> bool {
        !self.forgotten
    }

    /// Keeps nothing any more.
    pub fn forget(&mut self) {
        self.events = Vec::new();
        (self.statements, self.bytes, self.cost, self.rows) = (0, 0, 0, 0);
        self.forgotten = true;
    }

    /// The number of events, a place to which the transaction can be undone.
    pub fn place(&self) -> usize {
        self.events.len()
    }

    /// The statements that are run again.
    pub fn statements(&self) -> impl Iterator<Item = &Arc<Prepared>> {
        self.events.iter().filter_map(|event| match event {
            Event::Statement(one) => Some(&one.statement),
            Event::Mark | Event::Return => None,
        })
    }

    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Counts a run of all statements again. At most so many may run, and [`AGAIN_EACH`] more for each of them. The first run is
    /// never refused, nor is the end of the transaction. One flight that should end it is not refused, either.
    ///
    /// # Errors
    /// `54001` beyond the bound.
    pub fn run_again(&mut self, again_max: u64, ends: Ends) -> Result<(), SqlError> {
        let is_first = self.again == 0;
        self.again += self.cost;
        let is_within = self.again <= again_max + AGAIN_EACH * self.statements as u64;
        let may_run = is_first
            || is_within
            || match ends {
                Ends::Now => true,
                // It may fail before its end, and others like it may follow.
                Ends::Later => !std::mem::replace(&mut self.was_last, true),
                Ends::Not => false,
            };
        match may_run {
            true => Ok(()),
            false => Err(too_often(again_max)),
        }
    }

    /// Counts a run of all statements again that gives a statement its types. Such runs have twice the bound of others: the end
    /// of the transaction may follow in the same flight, which is not refused.
    ///
    /// # Errors
    /// `54001` beyond the bound.
    pub fn describe_again(&mut self, again_max: u64) -> Result<(), SqlError> {
        self.described += self.cost;
        match self.described <= 2 * (again_max + AGAIN_EACH * self.statements as u64) {
            true => Ok(()),
            false => Err(too_often(again_max)),
        }
    }

    /// Notes rows over which each run again walks.
    pub fn add_rows(&mut self, rows: u64) {
        if !self.forgotten {
            self.cost += rows / AGAIN_ROWS;
            self.rows += rows;
        }
    }

    /// Remembers a statement of a transaction that began with these parameters of the session.
    ///
    /// # Errors
    /// `54001` beyond the bounds.
    pub fn remember(&mut self, mut one: Remembered, first: &Settings) -> Result<(), SqlError> {
        if self.forgotten {
            return Ok(());
        }
        // Parameters of the session are kept once for all statements between which they do not change.
        let before = match self.events.last() {
            Some(Event::Statement(last)) => &last.settings,
            _ => first,
        };
        if !one.settings.is_same(before) {
            one.bytes += one.settings.bytes();
        }
        self.bytes += one.bytes;
        self.statements += 1;
        self.cost += 1;
        self.events.push(Event::Statement(one));
        if self.statements > REPLAYED_STATEMENTS_MAX || self.bytes > REPLAYED_BYTES_MAX {
            return Err(SqlError::new(
                code::TOO_COMPLEX,
                format!(
                    "an open transaction has at most {REPLAYED_STATEMENTS_MAX} statements and \
                     {REPLAYED_BYTES_MAX} bytes of parameters that arrive one by one"
                ),
            )
            .hint(
                "Send the statements of a transaction together with its end, up to 64 MiB of them; \
                 store many rows by COPY, or by INSERT with several rows; or use several transactions.",
            ));
        }
        Ok(())
    }

    /// Marks the events since a place as undone.
    pub fn undo_since(&mut self, place: usize) {
        if place < self.events.len() {
            self.events.insert(place, Event::Mark);
            self.events.push(Event::Return);
        }
    }

    /// True if tables are changed, without the changes that were undone.
    pub fn defines(&self) -> bool {
        let mut undone = 0_usize;
        for event in &self.events {
            match event {
                Event::Mark => undone += 1,
                Event::Return => undone = undone.saturating_sub(1),
                Event::Statement(one) if undone == 0 => {
                    if one.statement.class() == Class::Define {
                        return true;
                    }
                }
                Event::Statement(_) => {}
            }
        }
        false
    }
}

/// The error of a transaction whose statements have run again too often.
#[cold]
fn too_often(again_max: u64) -> SqlError {
    SqlError::new(
        code::TOO_COMPLEX,
        format!(
            "the statements of this transaction have run again too often: at most {again_max} times together, and {AGAIN_EACH} \
             times more for each statement"
        ),
    )
    .detail(
        "Each flight of a transaction repeats the earlier statements on nodes, behind a call of a procedure of the program, \
         behind a definition that rewrites a large table, and after others needed the memory of its rows.",
    )
    .hint("Send several statements together, or use several transactions.")
}

/// True if an error is about the engine, or a cancel request, and not about the statement.
pub(super) fn is_of_the_engine(error: &SqlError) -> bool {
    error.is_of_the_engine()
}
