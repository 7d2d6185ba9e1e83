//! What a transaction does with sequences that others see once it commits: those that it makes and drops, and up to where
//! numbers may be used.
//!
//! Numbers are drawn outside of transactions, but only of sequences that are there for all. One that a transaction made is
//! counted by itself until it commits: nobody else has drawn of it, and whoever draws of another one of the name meanwhile
//! draws of that one.

use super::done::{Done, Drew};
use super::{Counter, Counters, Sequence};
use crate::error::SqlError;
use crate::relation::{BODY, OBJECTS, kind, objects, parsed, printed};
use crate::source::Source;
use sardonyx::Error;
use sardonyx::schema::Value;
use sardonyx_rows::constraints::Objects;
use std::collections::{BTreeSet, HashMap};

/// How many numbers are made usable at a time.
const AHEAD: i128 = 1000;

/// What a transaction changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct SequenceChanges {
    /// Up to where numbers may be used, where it raised that.
    pub raised: HashMap<String, i128>,
    /// Those that it made.
    pub made: HashMap<String, Counter>,
    /// Those of others that it dropped; one of the name may have been made since.
    pub dropped: BTreeSet<String>,
}

impl SequenceChanges {
    /// Calls `act` with the counter of a sequence as the transaction sees it.
    ///
    /// # Errors
    /// `42P01` if there is none; what `act` returns.
    pub fn with_counter<R>(
        &mut self,
        counters: &Counters,
        name: &str,
        act: impl FnOnce(&mut Counter) -> Result<R, SqlError>,
    ) -> Result<R, SqlError> {
        if let Some(own) = self.made.get_mut(name) {
            return act(own);
        }
        let mut counters = counters.lock();
        match counters.get_mut(name) {
            Some(counter) if !self.dropped.contains(name) => act(counter),
            _ => Err(SqlError::unknown_table(name)),
        }
    }

    /// Sequences that are stored now were made or dropped by the transaction, where others know another state.
    ///
    /// # Errors
    /// `XX001` if they cannot be read.
    pub fn note_stored(
        &mut self,
        counters: &Counters,
        source: &dyn Source,
    ) -> Result<(), SqlError> {
        let stored = objects(source, kind::SEQUENCE)?;
        let names: BTreeSet<&String> = stored.iter().map(|(name, _)| name).collect();
        let is_stored = |name: &String| names.contains(name);
        self.made.retain(|name, _| is_stored(name));
        let counters = counters.lock();
        let gone = counters.keys().filter(|name| !is_stored(name));
        self.dropped.extend(gone.cloned());
        for (name, body) in &stored {
            if self.made.contains_key(name) {
                continue;
            }
            let sequence: Sequence = parsed(body)?;
            let is_known = counters.get(name).is_some_and(|counter| {
                let usable_to = self.raised.get(name).copied();
                let known = Sequence {
                    usable_to: usable_to.unwrap_or(counter.usable_to),
                    ..counter.sequence.clone()
                };
                sequence == known && !self.dropped.contains(name)
            });
            if !is_known {
                self.raised.remove(name);
                self.dropped.insert(name.clone());
                self.made.insert(name.clone(), Counter::of(sequence));
            }
        }
        Ok(())
    }

    /// Makes sure that what was drawn may be used, in the transaction that uses it: it is stored with it.
    ///
    /// # Errors
    /// An error of the engine.
    pub fn make_usable(
        &mut self,
        counters: &Counters,
        objects: &mut dyn Objects,
        drawn: &Done,
    ) -> Result<(), SqlError> {
        for (name, what) in drawn.ends() {
            let counter = self.with_counter(counters, name, |counter| Ok(counter.clone()));
            // The transaction drops it.
            let Ok(counter) = counter else { continue };
            let increment = i128::from(counter.sequence.increment);
            match what {
                // Others may have drawn since.
                Drew::Set(_) => self.raise(objects, name, |_| Some(counter.next))?,
                Drew::Next(number) => {
                    let number = i128::from(number);
                    let usable_to = self.raised.get(name).copied();
                    let usable_to = usable_to.unwrap_or(counter.usable_to);
                    let is_usable = |usable_to| match increment > 0 {
                        true => number < usable_to,
                        false => number > usable_to,
                    };
                    if !is_usable(usable_to) {
                        // Rows that a program inserted may have raised it.
                        let raised = number + increment * AHEAD;
                        let to = |stored| (!is_usable(stored)).then_some(raised);
                        self.raise(objects, name, to)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn raise(
        &mut self,
        objects: &mut dyn Objects,
        name: &str,
        to: impl FnOnce(i128) -> Option<i128>,
    ) -> Result<(), SqlError> {
        let key = [Value::from(kind::SEQUENCE), Value::from(name)];
        let body = objects.text(OBJECTS, &key, BODY).map_err(Error::from)?;
        // One that a transaction made which was undone, or that is dropped.
        let body = body.ok_or_else(|| SqlError::unknown_table(name))?;
        let mut sequence: Sequence = parsed(&body)?;
        let Some(usable_to) = to(sequence.usable_to) else {
            return Ok(());
        };
        sequence.usable_to = usable_to;
        let body = printed(&sequence)?;
        let set = objects.set_text(OBJECTS, &key, BODY, &body);
        set.map_err(Error::from)?;
        self.raised.insert(name.to_string(), usable_to);
        Ok(())
    }

    /// True if it changed none.
    pub fn is_empty(&self) -> bool {
        self.raised.is_empty() && self.made.is_empty() && self.dropped.is_empty()
    }

    /// The transaction has committed: what others see of it.
    pub fn committed(self, counters: &mut HashMap<String, Counter>) {
        for name in &self.dropped {
            counters.remove(name);
        }
        counters.extend(self.made);
        for (name, usable_to) in self.raised {
            if let Some(counter) = counters.get_mut(&name) {
                counter.usable_to = usable_to;
            }
        }
    }
}
