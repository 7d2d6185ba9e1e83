//! Sequences: numbers that are drawn once and never twice.
//!
//! They are drawn outside of transactions, as in PostgreSQL: a number that was drawn is gone, also if its transaction
//! is undone. So the next one stands in memory. In the database stands a number up to which they may be used, some
//! ahead: a transaction that uses one beyond it raises it, in itself, so that none is used that could come again after
//! a crash. What a statement drew is remembered with it, and it gets the same when it is run again.

use crate::database::Database;
use crate::error::{SqlError, code};
use crate::relation::{kind, object, parsed, printed, put_object};
use crate::session::Drawn;
use crate::source::Source;
use sardonyx::Transaction;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;

/// How many numbers are made usable at a time.
const AHEAD: i64 = 1000;

/// A sequence, as it stands in the database.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Sequence {
    pub increment: i64,
    pub start: i64,
    pub minimum: i64,
    pub maximum: i64,
    /// The first number that may not be used yet.
    pub usable_to: i64,
}

impl Sequence {
    /// From 1, by 1.
    pub fn new() -> Sequence {
        Sequence {
            increment: 1,
            start: 1,
            minimum: 1,
            maximum: i64::MAX,
            usable_to: 1,
        }
    }
}

/// A sequence in memory.
#[derive(Clone, Debug)]
pub(crate) struct Counter {
    pub next: i64,
    pub usable_to: i64,
    pub sequence: Sequence,
}

/// What a statement draws.
#[derive(Debug, Default)]
pub(crate) struct Draws {
    /// Numbers that were drawn when the statement ran before, to be given again.
    again: std::collections::VecDeque<(String, i64)>,
    /// What was drawn now.
    drawn: Vec<(String, i64)>,
    /// What the session drew last.
    pub session: Drawn,
    /// `setval`s.
    set: Vec<(String, i64)>,
    /// The numbers of tables by name, where the statement asks for them.
    pub tables: HashMap<String, u32>,
}

/// A sequence's name as a text says it, which may be qualified and quoted.
pub(crate) fn name_in(text: &str) -> String {
    let text = text.strip_prefix("public.").unwrap_or(text);
    match text
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
    {
        Some(quoted) => quoted.replace("\"\"", "\""),
        None => text.to_lowercase(),
    }
}

fn unknown(name: &str) -> SqlError {
    SqlError::unknown_table(name)
}

impl Draws {
    /// For a statement that drew these before.
    pub fn again(drawn: Vec<(String, i64)>) -> Draws {
        Draws {
            again: drawn.into(),
            ..Draws::default()
        }
    }

    /// What was drawn.
    pub fn drawn(&self) -> &[(String, i64)] {
        &self.drawn
    }

    /// The number of a table's, by name.
    pub fn table_number(&self, name: &str) -> Option<u32> {
        self.tables.get(&name_in(name)).copied()
    }

    /// The name of a table, by number: the shortest that there is for it.
    pub fn table_name(&self, number: u32) -> Option<String> {
        let tables = self.tables.iter().filter(|(_, there)| **there == number);
        let name = tables.map(|(name, _)| name).min_by_key(|name| name.len())?;
        Some(crate::names::quoted(name))
    }

    /// The next number.
    ///
    /// # Errors
    /// `42P01` if there is no such sequence; `2200H` if it has no more.
    pub fn next(&mut self, database: &Database, name: &str) -> Result<i64, SqlError> {
        let number = match self.again.front() {
            Some((of, _)) if of == name => match self.again.pop_front() {
                Some((_, number)) => number,
                None => return Err(unknown(name)),
            },
            _ => {
                let mut counters = database.counters();
                let counter = counters.get_mut(name).ok_or_else(|| unknown(name))?;
                let number = counter.next;
                let sequence = &counter.sequence;
                if number > sequence.maximum || number < sequence.minimum {
                    return Err(SqlError::new(
                        "2200H",
                        format!("nextval: sequence \"{name}\" has no more numbers"),
                    ));
                }
                counter.next = number.saturating_add(sequence.increment);
                number
            }
        };
        self.drawn.push((name.to_string(), number));
        Arc::make_mut(&mut self.session.by_sequence).insert(name.to_string(), number);
        self.session.last = Some(number);
        Ok(number)
    }

    /// What the session drew last of a sequence.
    ///
    /// # Errors
    /// `55000` if it drew none.
    pub fn current(&self, name: &str) -> Result<i64, SqlError> {
        self.session.by_sequence.get(name).copied().ok_or_else(|| {
            SqlError::new(
                code::NOT_IN_PREREQUISITE_STATE,
                format!("currval of sequence \"{name}\" is not yet defined in this session"),
            )
        })
    }

    /// What the session drew last.
    ///
    /// # Errors
    /// `55000` if it drew none.
    pub fn last(&self) -> Result<i64, SqlError> {
        self.session.last.ok_or_else(|| {
            SqlError::new(
                code::NOT_IN_PREREQUISITE_STATE,
                "lastval is not yet defined in this session",
            )
        })
    }

    /// Says which number comes next, or was the last.
    ///
    /// # Errors
    /// `42P01` if there is no such sequence.
    pub fn set(
        &mut self,
        database: &Database,
        name: &str,
        value: i64,
        is_called: bool,
    ) -> Result<(), SqlError> {
        let mut counters = database.counters();
        let counter = counters.get_mut(name).ok_or_else(|| unknown(name))?;
        let increment = counter.sequence.increment;
        counter.next = match is_called {
            true => value.saturating_add(increment),
            false => value,
        };
        self.set.push((name.to_string(), counter.next));
        Ok(())
    }

    /// Makes sure that what was drawn may be used, in the transaction that uses it. Returns what stands in the database
    /// then, once the transaction has committed.
    ///
    /// # Errors
    /// What the engine says.
    pub fn make_usable(
        &self,
        database: &Database,
        tx: &mut Transaction<'_>,
        raised: &mut HashMap<String, i64>,
    ) -> Result<(), SqlError> {
        for (name, number) in &self.set {
            raise(tx, name, *number, raised)?;
        }
        for (name, number) in &self.drawn {
            let (usable_to, increment) = {
                let counters = database.counters();
                match counters.get(name) {
                    Some(counter) => (counter.usable_to, counter.sequence.increment),
                    // The sequence is of this transaction, which drops it.
                    None => continue,
                }
            };
            let usable_to = raised.get(name).copied().unwrap_or(usable_to);
            let is_usable = match increment > 0 {
                true => *number < usable_to,
                false => *number > usable_to,
            };
            if !is_usable {
                let ahead = increment.saturating_mul(AHEAD);
                raise(tx, name, number.saturating_add(ahead), raised)?;
            }
        }
        Ok(())
    }
}

fn raise(
    tx: &mut Transaction<'_>,
    name: &str,
    usable_to: i64,
    raised: &mut HashMap<String, i64>,
) -> Result<(), SqlError> {
    let body = object(&Source::Live(tx.view()), kind::SEQUENCE, name)?;
    // One that a transaction made which was undone, or that is dropped.
    let body = body.ok_or_else(|| unknown(name))?;
    let mut sequence: Sequence = parsed(&body)?;
    sequence.usable_to = usable_to;
    put_object(tx, kind::SEQUENCE, name, &printed(&sequence)?)?;
    raised.insert(name.to_string(), usable_to);
    Ok(())
}
