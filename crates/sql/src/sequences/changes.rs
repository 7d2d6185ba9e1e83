//! The changes of sequences that others see when a transaction commits: sequences that it makes and drops, and the
//! bounds up to which numbers may be used.
//!
//! Numbers are drawn outside of transactions, but only of committed sequences. A sequence that a transaction made is
//! counted apart until the commit: no other session draws of it. Sessions that draw meanwhile of an older sequence with
//! its name draw of the older one.

use super::done::{Done, Drew};
use super::{Counter, Counters, Sequence};
use crate::error::SqlError;
use crate::relation::{BODY, OBJECTS, kind, objects, parsed, printed};
use crate::source::Source;
use sardonyx::Error;
use sardonyx::schema::Value;
use sardonyx_rows::constraints::Objects;
use std::collections::{BTreeSet, HashMap};
use std::ops::{Deref, DerefMut};
use std::sync::LazyLock;

/// The most numbers that are made usable at a time.
const AHEAD: i128 = 1000;

/// The changes of a transaction. Most change no sequence, and each statement takes and leaves them: they have no memory of
/// their own then.
#[derive(Clone, Debug, Default)]
pub(crate) struct SequenceChanges(Option<Box<Changed>>);

/// No changes.
static NONE: LazyLock<Changed> = LazyLock::new(Changed::default);

impl Deref for SequenceChanges {
    type Target = Changed;

    fn deref(&self) -> &Changed {
        match &self.0 {
            Some(changed) => changed,
            None => &NONE,
        }
    }
}

impl DerefMut for SequenceChanges {
    fn deref_mut(&mut self) -> &mut Changed {
        self.0.get_or_insert_default()
    }
}

impl SequenceChanges {
    /// The changes since a mark are undone. A number that was drawn is not drawn again, also if the sequence was dropped,
    /// renamed or begun again since.
    pub fn return_to(&mut self, mark: &SequenceChanges) {
        if self.0.is_some() || mark.0.is_some() {
            Changed::return_to(self, mark);
        }
    }

    /// True if it changed none.
    pub fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|changed| changed.is_empty())
    }

    /// Publishes the changes of a committed transaction.
    pub fn committed(self, counters: &mut HashMap<String, Counter>) {
        if let Some(changed) = self.0 {
            changed.committed(counters);
        }
    }
}

/// The changed sequences of a transaction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changed {
    /// The bounds that it raised, up to which numbers may be used.
    pub raised: HashMap<String, i128>,
    /// Sequences created in the transaction, with their counters.
    pub made: HashMap<String, Counter>,
    /// The sequences of others that it dropped; one of the same name may have been made since.
    pub dropped: BTreeSet<String>,
    /// Sequences made from others' sequences: until the commit they draw of those.
    continued: HashMap<String, Continued>,
    /// The counters of those that are stored with another name or other options, and not yet made here: their next
    /// numbers, true if the numbers before were drawn, and which counters they are if only their names are others.
    next: HashMap<String, (i128, bool, Option<u64>)>,
    /// Sequences that begin again, where what is stored may be what it was.
    anew: BTreeSet<String>,
    /// The next numbers of the transaction's own counters, by the counters' numbers, and true if the numbers before were
    /// drawn. No savepoint takes these back.
    drawn: HashMap<u64, (i128, bool)>,
}

/// A sequence with another name or other options, which continues after the numbers of the earlier one.
#[derive(Clone, Debug)]
struct Continued {
    /// The name of that one.
    of: String,
    /// The distance of the next number from the earlier sequence's: the difference of their increments.
    step: i128,
}

impl Continued {
    /// Calls `act` with a counter that continues after the numbers of the earlier one, which then continues after its.
    fn drawing<R>(
        &self,
        counters: &Counters,
        own: &mut Counter,
        act: impl FnOnce(&mut Counter) -> R,
    ) -> R {
        let mut counters = counters.lock();
        let Some(there) = counters.get_mut(&self.of) else {
            return act(own);
        };
        let rises = own.sequence.increment > 0;
        own.next = further(rises, own.next, there.next + self.step);
        own.is_called |= there.is_called;
        let result = act(own);
        there.next = further(rises, there.next, own.next - self.step);
        there.is_called |= own.is_called;
        result
    }
}

fn further(rises: bool, one: i128, other: i128) -> i128 {
    match rises {
        true => one.max(other),
        false => one.min(other),
    }
}

impl Changed {
    /// Calls `act` with the counter of a sequence as the transaction sees it.
    ///
    /// # Errors
    /// `42P01` if there is none; the error of `act`.
    pub fn with_counter<R>(
        &mut self,
        counters: &Counters,
        name: &str,
        act: impl FnOnce(&mut Counter) -> Result<R, SqlError>,
    ) -> Result<R, SqlError> {
        if let Some(own) = self.made.get_mut(name) {
            let before = own.next;
            let done = match self.continued.get(name) {
                Some(continued) => continued.drawing(counters, own, act),
                None => act(own),
            };
            if own.next != before {
                self.drawn.insert(own.number, (own.next, own.is_called));
            }
            return done;
        }
        let mut counters = counters.lock();
        match counters.get_mut(name) {
            Some(counter) if !self.dropped.contains(name) => act(counter),
            _ => Err(SqlError::unknown_table(name)),
        }
    }

    /// Gives a sequence this name and these options. It continues after its numbers: the next one is further by the
    /// difference of the increments. It is stored, and the caller calls [`SequenceChanges::note_stored`] next.
    ///
    /// # Errors
    /// `42P01` if there is none of the name `from`.
    pub fn goes_on(
        &mut self,
        counters: &Counters,
        from: &str,
        name: &str,
        step: i128,
    ) -> Result<(), SqlError> {
        let of = |counter: &mut Counter| Ok((counter.next, counter.is_called, counter.number));
        let (next, is_called, number) = self.with_counter(counters, from, of)?;
        let number = (from != name && self.made.contains_key(from)).then_some(number);
        let next = (next + step, is_called, number);
        self.next.insert(name.to_string(), next);
        let (of, before) = match self.continued.remove(from) {
            Some(before) => (before.of, before.step),
            // The transaction made it: no other transaction draws of it.
            None if self.made.contains_key(from) => return Ok(()),
            None => (from.to_string(), 0),
        };
        let step = before + step;
        self.continued
            .insert(name.to_string(), Continued { of, step });
        Ok(())
    }

    /// Restarts a sequence: its numbers no longer continue those of the earlier one.
    pub fn begins_anew(&mut self, name: &str) {
        self.continued.remove(name);
        self.next.remove(name);
        self.anew.insert(name.to_string());
    }

    /// Notes the stored sequences that the transaction made or dropped, which others see in another state.
    ///
    /// # Errors
    /// `XX001` if they cannot be read.
    pub fn note_stored(
        &mut self,
        counters: &Counters,
        source: &dyn Source,
    ) -> Result<(), SqlError> {
        let stored = objects(source, kind::SEQUENCE)?;
        let anew = std::mem::take(&mut self.anew);
        let names: BTreeSet<&String> = stored.iter().map(|(name, _)| name).collect();
        let is_stored = |name: &String| names.contains(name);
        self.made.retain(|name, _| is_stored(name));
        let counters = counters.lock();
        let gone = counters.keys().filter(|name| !is_stored(name));
        self.dropped.extend(gone.cloned());
        for (name, body) in &stored {
            let sequence: Sequence = parsed(body)?;
            let is_it = |counter: &Counter| {
                let usable_to = self.raised.get(name).copied();
                let known = Sequence {
                    usable_to: usable_to.unwrap_or(counter.usable_to),
                    ..counter.sequence.clone()
                };
                sequence == known
            };
            let is_known = match self.made.get(name) {
                Some(own) => is_it(own),
                None => !self.dropped.contains(name) && counters.get(name).is_some_and(is_it),
            };
            if !is_known || anew.contains(name) {
                self.raised.remove(name);
                self.dropped.insert(name.clone());
                let mut counter = Counter::of(sequence);
                if let Some((next, is_called, number)) = self.next.remove(name) {
                    (counter.next, counter.is_called) = (next, is_called);
                    counter.number = number.unwrap_or(counter.number);
                }
                self.made.insert(name.clone(), counter);
            }
        }
        Ok(())
    }

    /// Makes sure that the drawn numbers may be used: stores the bound in the transaction that uses them.
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
                        // A program's inserted rows may have raised it.
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
        // The sequence was made by an undone transaction, or is dropped.
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

    fn return_to(&mut self, mark: &Changed) {
        let since = std::mem::replace(self, mark.clone());
        self.drawn = since.drawn;
        for counter in self.made.values_mut() {
            if let Some(drawn) = self.drawn.get(&counter.number) {
                (counter.next, counter.is_called) = *drawn;
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.raised.is_empty() && self.made.is_empty() && self.dropped.is_empty()
    }

    fn committed(mut self, counters: &mut HashMap<String, Counter>) {
        for (name, continued) in &self.continued {
            if let (Some(own), Some(there)) = (self.made.get_mut(name), counters.get(&continued.of))
            {
                let rises = own.sequence.increment > 0;
                own.next = further(rises, own.next, there.next + continued.step);
                own.is_called |= there.is_called;
            }
        }
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
