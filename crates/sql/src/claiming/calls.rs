//! Calls of advisory functions that never wait, in any expression of a statement.
//!
//! A lock belongs to its session, and is not undone with the statement. So each call is made once: a statement that runs
//! again before its commit gets the recorded result, and so does a query that claims its rows in several rounds.

use super::not_serializable;
use crate::advisory::Locker;
use crate::error::{SqlError, code};
use crate::waits::{Call, Called};
use sardonyx::schema::Value;
use std::collections::{HashMap, VecDeque};

/// The most calls of a statement, each recorded with 100 bytes or so.
const CALLS_MAX: usize = 100_000;

/// Calls with their results, in their order.
pub(crate) type CallLog = Vec<(Call, Value)>;

/// The calls of a statement.
#[derive(Debug, Default)]
pub(super) struct Calls {
    pub made: CallLog,
    /// The results of calls that are repeated now.
    repeated: HashMap<Call, VecDeque<Value>>,
}

impl Calls {
    /// With the results of a run before.
    pub fn repeating(log: &[(Call, Value)]) -> Calls {
        let mut calls = Calls::default();
        calls.repeat(log);
        calls
    }

    fn repeat(&mut self, log: &[(Call, Value)]) {
        self.repeated.clear();
        for (call, result) in log {
            let of_call = self.repeated.entry(*call).or_default();
            of_call.push_back(result.clone());
        }
    }

    /// Repeats the calls that were made since a place.
    pub fn rewind(&mut self, place: usize) {
        let made = std::mem::take(&mut self.made);
        self.repeat(made.get(place..).unwrap_or_default());
        self.made = made;
    }

    /// The next calls are new ones.
    pub fn go_on(&mut self) {
        self.repeated.clear();
    }

    /// Makes a call, or repeats it. With `is_again` all calls are repeated.
    ///
    /// # Errors
    /// The error of `make`; `54001` beyond the bound; `40001` for a call that was not made before.
    pub fn call(
        &mut self,
        (call, locker): (Call, &Locker),
        is_again: bool,
        make: impl FnOnce(&Locker) -> Result<Called, SqlError>,
    ) -> Result<Value, SqlError> {
        let repeated = self.repeated.get_mut(&call);
        if let Some(result) = repeated.and_then(VecDeque::pop_front) {
            return Ok(result);
        }
        if is_again {
            return Err(not_serializable());
        }
        if self.made.len() >= CALLS_MAX {
            let text = format!("a statement calls advisory functions at most {CALLS_MAX} times");
            return Err(SqlError::new(code::TOO_COMPLEX, text));
        }
        match make(locker)? {
            Called::Done(result) => {
                self.made.push((call, result.clone()));
                Ok(result)
            }
            Called::Waits(_) => Err(SqlError::new(code::INTERNAL, "the call waits")),
        }
    }
}
