//! Calls of advisory functions that never wait, in any expression of a statement.
//!
//! A lock belongs to its session, and is not undone with the statement. So each call is made once: a statement that runs
//! again before its commit gets the recorded result, and so does a query that claims its rows in several rounds.

use crate::advisory::Locker;
use crate::error::{SqlError, code};
use crate::waits::{Call, Called};
use sardonyx::schema::Value;
use std::collections::{HashMap, VecDeque};

/// The most calls of a statement, each recorded with 100 bytes or so.
const CALLS_MAX: usize = 100_000;

/// Calls with their results, in their order.
pub(crate) type CallLog = Vec<(Call, Value)>;

/// The calls of a statement, over all of its parts.
#[derive(Debug, Default)]
pub(super) struct Calls {
    pub made: CallLog,
    /// The results of calls that are repeated now.
    repeated: HashMap<Call, VecDeque<Value>>,
    /// The results that were given while a query claims its rows, in their order: new ones, and repeated ones.
    given: CallLog,
    /// The number of queries that claim their rows now, each inside the one before.
    claiming: usize,
}

/// The rounds of a query that claims its rows. Such a query may stand in another one.
#[derive(Debug)]
pub(crate) struct Rounds {
    /// The number of results that were given before it.
    place: usize,
    /// For each call, the most results that a round got: the first ones that are repeated are its own.
    own: HashMap<Call, usize>,
}

impl Calls {
    /// With the results of a run before.
    pub fn repeating(log: &[(Call, Value)]) -> Calls {
        let mut calls = Calls::default();
        for (call, result) in log {
            let of_call = calls.repeated.entry(*call).or_default();
            of_call.push_back(result.clone());
        }
        calls
    }

    /// Begins the rounds of a query.
    pub fn rounds(&mut self) -> Rounds {
        self.claiming += 1;
        Rounds {
            place: self.given.len(),
            own: HashMap::new(),
        }
    }

    /// Begins the next round: results of the rounds before are repeated, before those of a query around this one.
    pub fn rewind(&mut self, rounds: &mut Rounds) {
        let mut counts: HashMap<Call, usize> = HashMap::new();
        let given = self.given.split_off(rounds.place.min(self.given.len()));
        for (call, result) in given.into_iter().rev() {
            *counts.entry(call).or_default() += 1;
            self.repeated.entry(call).or_default().push_front(result);
        }
        for (call, count) in counts {
            let own = rounds.own.entry(call).or_default();
            *own = count.max(*own);
        }
    }

    /// Ends the rounds. Results that the last round did not ask for are repeated no more, unless a query around this one
    /// begins another round.
    pub fn go_on(&mut self, mut rounds: Rounds) {
        for (call, _) in self.given.iter().skip(rounds.place) {
            if let Some(left) = rounds.own.get_mut(call) {
                *left = left.saturating_sub(1);
            }
        }
        for (call, left) in rounds.own {
            let of_call = self.repeated.entry(call).or_default();
            let left = left.min(of_call.len());
            let results = of_call.drain(..left).map(|result| (call, result));
            self.given.extend(results);
        }
        self.claiming = self.claiming.saturating_sub(1);
        if self.claiming == 0 {
            self.given.clear();
        }
    }

    fn give(&mut self, call: Call, result: &Value) {
        if self.claiming > 0 {
            self.given.push((call, result.clone()));
        }
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
            self.give(call, &result);
            return Ok(result);
        }
        if is_again {
            return Err(SqlError::not_serializable());
        }
        if self.made.len() >= CALLS_MAX {
            let text = format!("a statement calls advisory functions at most {CALLS_MAX} times");
            return Err(SqlError::new(code::TOO_COMPLEX, text));
        }
        match make(locker)? {
            Called::Done(result) => {
                self.made.push((call, result.clone()));
                self.give(call, &result);
                Ok(result)
            }
            Called::Waits(_) => Err(SqlError::new(code::INTERNAL, "the call waits")),
        }
    }
}
