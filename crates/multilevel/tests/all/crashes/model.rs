//! The expected content of the database: the effects of the transactions that committed, in the order in which they
//! did.
//!
//! One thread drives each schedule, so there is one order of commits; and there is one log. So after a crash the
//! committed transactions are the first `j` of it. The number `j` is between those of the acknowledged and of the
//! tried ones: the [history](History) of the crash world finds it.

use super::operations::{POWERS, POWERS_IN_LANE, Place, Sum, added};
use super::state::State;
use sardonyx_storage::crashes::History;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The effect of an operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    Add { power: u16, places: Vec<Place> },
    AddThrough { power: u16, entry: u32 },
    Insert { entry: u32 },
    Push { stack: u32, digit: u8 },
}

impl Effect {
    /// The power that it adds, if it adds one.
    pub fn power(&self) -> Option<u16> {
        match self {
            Effect::Add { power, .. } | Effect::AddThrough { power, .. } => Some(*power),
            Effect::Insert { .. } | Effect::Push { .. } => None,
        }
    }
}

/// A transaction's number in the model: over all lives of the database.
pub type Number = usize;

/// The operations so far.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// Completed operations, in the order of their ends.
    effects: Vec<(Number, Effect)>,
    transactions: Number,
    powers: u16,
}

impl Model {
    /// A transaction begins.
    pub fn begin(&mut self) -> Number {
        self.transactions += 1;
        self.transactions
    }

    /// A power of ten that no operation has added yet; `None` if all are used up.
    pub fn power(&mut self) -> Option<u16> {
        self.powers += 1;
        (self.powers <= POWERS).then(|| self.powers - 1)
    }

    /// An operation has ended.
    pub fn completed(&mut self, transaction: Number, effect: Effect) {
        self.effects.push((transaction, effect));
    }

    /// The content if these transactions are committed.
    pub fn expected(&self, committed: &[Number]) -> State {
        let committed: BTreeSet<Number> = committed.iter().copied().collect();
        let mut state = State::default();
        for (transaction, effect) in &self.effects {
            if !committed.contains(transaction) {
                continue;
            }
            match effect {
                Effect::Add { power, places } => {
                    for place in places {
                        added(state.records.entry(*place).or_default(), *power, 1);
                    }
                }
                Effect::AddThrough { power, entry } => {
                    added(state.entries.entry(*entry).or_default(), *power, 1);
                }
                Effect::Insert { entry } => {
                    state.entries.entry(*entry).or_default();
                }
                Effect::Push { stack, digit } => {
                    let stack = state.stacks.entry(*stack).or_default();
                    *stack = *stack * 10 + i128::from(*digit);
                }
            }
        }
        state
    }

    /// Settles the history by the transactions that are there after a crash. From now on these are the ones that committed.
    ///
    /// # Panics
    /// The content is not that of such transactions.
    pub fn settle(&mut self, tried: &mut History<Number>, found: &State) {
        match tried.find(found, |committed| self.expected(committed)) {
            Ok(committed) => tried.keep(committed),
            Err(lost) => panic!("{lost}\n{}", self.diagnosis(tried, found)),
        }
        let tried = tried.changes();
        self.effects
            .retain(|(transaction, _)| tried.contains(transaction));
    }

    /// Takes the differences apart.
    fn diagnosis(&self, tried: &History<Number>, found: &State) -> String {
        let (least, tried) = (tried.acknowledged(), tried.changes());
        let mut text = String::new();
        for (transaction, effect) in &self.effects {
            let fate = match tried.iter().position(|tried| tried == transaction) {
                Some(at) if at < least => "committed",
                Some(_) => "tried",
                None => "not committed",
            };
            let _ = writeln!(text, "transaction {transaction} ({fate}): {effect:?}");
        }
        let expected = self.expected(&tried[..least]);
        for (place, sum) in &found.records {
            let _ = writeln!(text, "found {place:?}: {}", digits(sum));
        }
        for (entry, sum) in &found.entries {
            let _ = writeln!(text, "found entry {entry}: {}", digits(sum));
        }
        for (place, sum) in &found.lost {
            let _ = writeln!(text, "lost {place:?}: {}", digits(sum));
        }
        let (stacks, wanted) = (&found.stacks, &expected.stacks);
        let _ = writeln!(
            text,
            "stacks {stacks:?}, with the acknowledged ones {wanted:?}"
        );
        let missing = differences(&expected.records, &found.records);
        let _ = writeln!(
            text,
            "records that differ from the acknowledged: {missing:?}"
        );
        text
    }
}

fn differences(expected: &BTreeMap<Place, Sum>, found: &BTreeMap<Place, Sum>) -> Vec<Place> {
    let places: BTreeSet<_> = expected.keys().chain(found.keys()).copied().collect();
    let differ = |place: &Place| expected.get(place) != found.get(place);
    places.into_iter().filter(differ).collect()
}

/// The powers in a sum, and their counts if not once.
fn digits(sum: &Sum) -> String {
    let mut text = String::new();
    for (lane, &value) in sum.iter().enumerate() {
        let mut rest = value;
        for power in 0..POWERS_IN_LANE {
            let digit = rest.rem_euclid(10);
            // 9 is minus one.
            let times = if digit > 5 { digit - 10 } else { digit };
            rest = (rest - times) / 10;
            let power = lane as u16 * POWERS_IN_LANE + power;
            match times {
                0 => {}
                1 => _ = write!(text, "{power} "),
                times => _ = write!(text, "{power}({times} times) "),
            }
        }
    }
    text
}

#[test]
fn digits_tell_what_is_there() {
    let mut sum = Sum::default();
    added(&mut sum, 3, 1);
    added(&mut sum, 4, -1);
    added(&mut sum, 50, 1);
    added(&mut sum, 50, 1);
    assert_eq!(digits(&sum), "3 4(-1 times) 50(2 times) ");
}
