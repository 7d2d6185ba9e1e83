//! Sequences: numbers that are drawn once and never twice.
//!
//! They are drawn outside of transactions, as in PostgreSQL: a drawn number is used up, also if its transaction is
//! undone. So the next number is in memory. The database has a bound some numbers ahead, up to which they may be used.
//! A transaction that uses a number beyond it raises the bound itself. So no number is used that a crash could give out
//! again. A session remembers the numbers that a statement drew or set. The statement gets the same ones when it is run
//! again, and sets none again.

mod changes;
mod done;

pub(crate) use changes::SequenceChanges;
pub(crate) use done::Done;

use crate::error::{SqlError, code};
use crate::memory::SMALL_BYTES;
use crate::messages::Messages;
use crate::path::local;
use crate::signals::{Effects, Signals};
use crate::table_names::TableNames;
use crate::types::SqlType;
use done::{Draw, Drew};
use sardonyx_base::memory::{Budget, Share};
use sardonyx_rows::constraints::Objects;
use serde::{Deserialize, Serialize};
use std::cell::OnceCell;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A sequence, as the database keeps it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Sequence {
    pub increment: i64,
    pub start: i64,
    pub minimum: i64,
    pub maximum: i64,
    /// The first number that may not be used yet: one beyond the last number, if all may be used.
    pub usable_to: i128,
    /// True if the first number follows the last.
    #[serde(default)]
    pub cycles: bool,
    /// The type's number in PostgreSQL's catalogue; 0 for `bigint`.
    #[serde(default)]
    pub kind: u32,
    /// The first number since `RESTART`, if it is not the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restarted: Option<i64>,
}

impl Sequence {
    /// The type of its numbers.
    pub fn kind(&self) -> SqlType {
        SqlType::from_oid(self.kind).unwrap_or(SqlType::Int8)
    }

    /// True if numbers may have been used since the sequence was made or restarted.
    pub fn is_begun(&self) -> bool {
        self.usable_to != i128::from(self.restarted.unwrap_or(self.start))
    }

    /// The smallest and the largest number of a type; `None` if no sequence has it.
    pub fn range_of(kind: SqlType) -> Option<(i64, i64)> {
        Some(match kind {
            SqlType::Int2 => (i16::MIN.into(), i16::MAX.into()),
            SqlType::Int4 => (i32::MIN.into(), i32::MAX.into()),
            SqlType::Int8 => (i64::MIN, i64::MAX),
            _ => return None,
        })
    }

    /// From 1, by 1.
    pub fn new() -> Sequence {
        Sequence {
            increment: 1,
            start: 1,
            minimum: 1,
            maximum: i64::MAX,
            usable_to: 1,
            cycles: false,
            kind: SqlType::Int8.oid(),
            restarted: None,
        }
    }
}

/// A sequence in memory.
#[derive(Clone, Debug)]
pub(crate) struct Counter {
    pub next: i128,
    /// True if the number before the next one was drawn, or set as such.
    pub is_called: bool,
    pub usable_to: i128,
    pub sequence: Sequence,
    /// Its number in the process: a sequence that is made again, or restarted, has another one.
    number: u64,
}

/// Unique numbers, so that a draw is never taken for one of another counter.
static NUMBERS: AtomicU64 = AtomicU64::new(1);

impl Counter {
    /// The counter of a stored sequence: numbers that may have been used are not used again.
    pub fn of(sequence: Sequence) -> Counter {
        Counter {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            next: sequence.usable_to,
            is_called: sequence.is_begun(),
            usable_to: sequence.usable_to,
            sequence,
        }
    }

    /// The last number; none before the first one.
    pub fn last(&self) -> Option<i64> {
        let last = self.next - i128::from(self.sequence.increment);
        i64::try_from(last).ok().filter(|_| self.is_called)
    }

    /// The last number and true, or the first one and false.
    fn state(&self) -> (i64, bool) {
        match (self.last(), i64::try_from(self.next)) {
            (Some(last), _) => (last, true),
            (None, Ok(next)) => (next, self.is_called),
            (None, Err(_)) => (self.sequence.start, self.is_called),
        }
    }

    /// Draws a number. The sequence has this name.
    ///
    /// # Errors
    /// `2200H` if it has no more.
    fn draw(&mut self, name: &str) -> Result<i64, SqlError> {
        let (minimum, maximum) = (self.sequence.minimum, self.sequence.maximum);
        let rises = self.sequence.increment > 0;
        let is_there = |next: &i128| (minimum.into()..=maximum.into()).contains(next);
        let next = match self.sequence.cycles && !is_there(&self.next) {
            true => i128::from(if rises { minimum } else { maximum }),
            false => self.next,
        };
        let number = Some(next).filter(is_there).map(i64::try_from);
        let Some(Ok(number)) = number else {
            let (end, last) = match rises {
                true => ("maximum", maximum),
                false => ("minimum", minimum),
            };
            return Err(SqlError::new(
                "2200H",
                format!(
                    "nextval: reached {end} value of sequence \"{}\" ({last})",
                    local(name)
                ),
            ));
        };
        self.next = next + i128::from(self.sequence.increment);
        self.is_called = true;
        Ok(number)
    }
}

/// The sequences of a database, by their names.
#[derive(Debug, Default)]
pub(crate) struct Counters(Mutex<HashMap<String, Counter>>);

impl Counters {
    /// Locks the sequences against other draws.
    pub fn lock(&self) -> MutexGuard<'_, HashMap<String, Counter>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The draws of a statement.
#[derive(Debug, Default)]
pub(crate) struct Draws {
    /// The draws of the statement's run before, to be given again.
    again: Done,
    /// The draws of this run.
    drawn: Done,
    /// The effects of the transaction besides its rows.
    pub changes: Effects,
    /// Memory for the draws, as a share of that of all sessions.
    share: Option<Share>,
    /// The reason for which nothing may be drawn here.
    refused: Option<&'static str>,
    /// True if sessions are notified nevertheless.
    signals: bool,
    /// The session's last numbers.
    pub session: Drawn,
    /// The numbers of tables by name, once a value of the statement asks for them.
    pub tables: OnceCell<TableNames>,
    /// The advisory locks that it gave back without having them, up to a bound: true for shared ones.
    pub not_held: Vec<bool>,
    /// The messages of functions of users.
    pub told: Messages,
}

/// The last numbers that a session drew from sequences. A copy is cheap as long as neither changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Drawn {
    /// `None` before the first one: each statement takes and leaves it.
    pub by_sequence: Option<Arc<HashMap<String, i64>>>,
    /// The number of `lastval`, and the sequence that gave it.
    pub last: Option<(u64, i64)>,
}

impl Drawn {
    /// Keeps a number as the session's last one of a sequence.
    fn keep(&mut self, name: &str, number: i64) {
        let drawn = self.by_sequence.get_or_insert_default();
        Arc::make_mut(drawn).insert(name.to_string(), number);
    }
}

impl Draws {
    /// The draws of a statement of a transaction with these changes, which drew `again` before.
    pub fn again(again: Done, changes: Effects) -> Draws {
        Draws {
            again,
            changes,
            ..Draws::default()
        }
    }

    /// The same, with the draws counted in a budget. Consecutive numbers take one place, but others may draw between
    /// any two of a statement that runs aside.
    pub fn counted_in(mut self, budget: Arc<Budget>) -> Draws {
        self.share = Some(Share::of(budget));
        self
    }

    /// Draws that are refused, since no bound could be stored.
    pub fn refused(why: &'static str) -> Draws {
        Draws {
            refused: Some(why),
            ..Draws::default()
        }
    }

    /// Refused draws that still notify sessions, of a transaction with these earlier signals.
    pub fn signalling(why: &'static str, signals: Signals) -> Draws {
        let mut draws = Draws::refused(why);
        draws.signals = true;
        draws.changes.signals = signals;
        draws
    }

    /// The signals of the transaction: its notifications, and the channels to which it listens.
    ///
    /// # Errors
    /// `0A000` where signals could not be kept.
    pub fn signals(&mut self) -> Result<&mut Signals, SqlError> {
        match self.refused.is_none() || self.signals {
            true => Ok(&mut self.changes.signals),
            false => Err(SqlError::unsupported("pg_notify is not supported here")
                .hint("Call it by its name in a statement of its own.")),
        }
    }

    /// Takes the draws of this run.
    pub fn take_drawn(&mut self) -> Done {
        std::mem::take(&mut self.drawn)
    }

    /// The draws for the next run of the statement: those of this run, then the earlier ones that it did not reach.
    pub fn into_again(self) -> Done {
        self.drawn.followed_by(self.again)
    }

    /// Notes a draw or a set of a sequence: the next one of the run before, or another one.
    ///
    /// # Errors
    /// `53200` if there is no memory for more; it is noted nevertheless.
    fn note(&mut self, name: &str, draw: Draw, is_again: bool) -> Result<(), SqlError> {
        match is_again {
            true => self.again.forget_first(name),
            // Draws that followed another number may come again after this one.
            false => self.again.forget(name),
        }
        self.drawn.note(name, draw);
        let bytes = self.drawn.bytes() + self.again.bytes();
        match &mut self.share {
            Some(share) if bytes > SMALL_BYTES => Ok(share.cover(bytes)?),
            _ => Ok(()),
        }
    }

    /// Makes sure that the numbers drawn may be used: [`SequenceChanges::make_usable`].
    ///
    /// # Errors
    /// The engine's.
    pub fn make_usable(
        &mut self,
        counters: &Counters,
        objects: &mut dyn Objects,
    ) -> Result<(), SqlError> {
        self.changes
            .sequences
            .make_usable(counters, objects, &self.drawn)
    }

    /// True if the statement drew or set a number.
    pub fn has_drawn(&self) -> bool {
        !self.drawn.is_empty()
    }

    fn check_allowed(&self) -> Result<(), SqlError> {
        match self.refused {
            None => Ok(()),
            Some(why) => Err(SqlError::unsupported(why).hint(
                "Draw the number by a SELECT of its own, or in the statement that stores it.",
            )),
        }
    }

    /// True if a sequence is kept under a name.
    pub fn has_sequence(&self, counters: &Counters, name: &str) -> bool {
        let changes = &self.changes.sequences;
        changes.made.contains_key(name)
            || !changes.dropped.contains(name) && counters.lock().contains_key(name)
    }

    /// The last number of a sequence as the transaction sees it and true, or the first one and false.
    pub fn state_of(&mut self, counters: &Counters, name: &str) -> Option<(i64, bool)> {
        let sequences = &mut self.changes.sequences;
        if sequences.made.contains_key(name) {
            // One with another name or other options continues after the numbers that others draw.
            let state = |counter: &mut Counter| Ok(counter.state());
            return sequences.with_counter(counters, name, state).ok();
        }
        let is_dropped = sequences.dropped.contains(name);
        let counters = counters.lock();
        counters
            .get(name)
            .filter(|_| !is_dropped)
            .map(Counter::state)
    }

    /// The next number.
    ///
    /// # Errors
    /// `42P01` if there is no such sequence; `2200H` if it has no more.
    pub fn next(&mut self, counters: &Counters, name: &str) -> Result<i64, SqlError> {
        self.check_allowed()?;
        let again = self.again.first(name);
        let is_own = self.changes.sequences.made.contains_key(name);
        let (draw, number, is_again) =
            self.changes
                .sequences
                .with_counter(counters, name, |counter| {
                    let again = again.filter(|draw| is_own || draw.counter == counter.number);
                    let again = again.and_then(|draw| match draw.what {
                        Drew::Next(number) => Some(number),
                        Drew::Set(_) => None,
                    });
                    let number = match again {
                        // A number drawn before is used up already. A sequence of this transaction is made again with
                        // it.
                        Some(number) if !is_own => number,
                        _ => {
                            counter.next = again.map_or(counter.next, i128::from);
                            counter.draw(name)?
                        }
                    };
                    let draw = Draw {
                        counter: counter.number,
                        what: Drew::Next(number),
                    };
                    Ok((draw, number, again.is_some()))
                })?;
        let counter = draw.counter;
        self.note(name, draw, is_again)?;
        self.session.keep(name, number);
        self.session.last = Some((counter, number));
        Ok(number)
    }

    /// The session's last number of a sequence.
    ///
    /// # Errors
    /// `55000` if it drew none.
    pub fn current(&self, name: &str) -> Result<i64, SqlError> {
        let drawn = self.session.by_sequence.as_ref();
        drawn
            .and_then(|drawn| drawn.get(name))
            .copied()
            .ok_or_else(|| {
                SqlError::new(
                    code::NOT_IN_PREREQUISITE_STATE,
                    format!(
                        "currval of sequence \"{}\" is not yet defined in this session",
                        local(name)
                    ),
                )
            })
    }

    /// The session's last number.
    ///
    /// # Errors
    /// `55000` if it drew none.
    pub fn last(&self) -> Result<i64, SqlError> {
        let last = self.session.last.map(|(_, number)| number);
        last.ok_or_else(|| {
            SqlError::new(
                code::NOT_IN_PREREQUISITE_STATE,
                "lastval is not yet defined in this session",
            )
        })
    }

    /// Sets the next number, or the last one.
    ///
    /// # Errors
    /// `42P01` if there is no such sequence; `22003` if it cannot have the number.
    pub fn set(
        &mut self,
        counters: &Counters,
        name: &str,
        value: i64,
        is_called: bool,
    ) -> Result<(), SqlError> {
        self.check_allowed()?;
        let again = self.again.first(name);
        let is_own = self.changes.sequences.made.contains_key(name);
        let (draw, is_again) = self
            .changes
            .sequences
            .with_counter(counters, name, |counter| {
                let sequence = &counter.sequence;
                if !(sequence.minimum..=sequence.maximum).contains(&value) {
                    return Err(SqlError::new(
                        code::OUT_OF_RANGE,
                        format!(
                            "setval: value {value} is out of bounds for sequence \"{}\" ({}..{})",
                            local(name),
                            sequence.minimum,
                            sequence.maximum
                        ),
                    ));
                }
                let increment = if is_called { sequence.increment } else { 0 };
                let next = i128::from(value) + i128::from(increment);
                let (what, number) = (Drew::Set(next), counter.number);
                let again = again.filter(|draw| draw.what == what);
                let is_again = again.is_some_and(|draw| is_own || draw.counter == number);
                // The run before has set it, and others may have drawn since.
                if !is_again || is_own {
                    counter.next = next;
                    counter.is_called = is_called;
                }
                let draw = Draw {
                    counter: number,
                    what,
                };
                Ok((draw, is_again))
            })?;
        let counter = draw.counter;
        self.note(name, draw, is_again)?;
        // A number that counts as drawn is the session's last one of this sequence.
        if is_called {
            self.session.keep(name, value);
            if let Some((of, last)) = &mut self.session.last
                && *of == counter
            {
                *last = value;
            }
        }
        Ok(())
    }
}

/// The options of a sequence that differ from their defaults.
pub(crate) fn options_of(sequence: &Sequence) -> String {
    let (lowest, highest) = Sequence::range_of(sequence.kind()).unwrap_or((i64::MIN, i64::MAX));
    let (minimum, maximum) = match sequence.increment > 0 {
        true => (1, highest),
        false => (lowest, -1),
    };
    let mut options = String::new();
    if sequence.increment != 1 {
        let _ = write!(options, " INCREMENT BY {}", sequence.increment);
    }
    if sequence.minimum != minimum {
        let _ = write!(options, " MINVALUE {}", sequence.minimum);
    }
    if sequence.maximum != maximum {
        let _ = write!(options, " MAXVALUE {}", sequence.maximum);
    }
    let first = match sequence.increment > 0 {
        true => sequence.minimum,
        false => sequence.maximum,
    };
    if sequence.start != first {
        let _ = write!(options, " START WITH {}", sequence.start);
    }
    if sequence.cycles {
        options.push_str(" CYCLE");
    }
    options
}
