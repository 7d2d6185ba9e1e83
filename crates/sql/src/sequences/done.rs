//! What a statement did with sequences: it is given the same when it is run again.
//!
//! Of each sequence the order is kept, and not that of one sequence to another. So a run that leaves out one sequence still has
//! what an earlier run drew of the others.

use std::collections::{BTreeMap, VecDeque};

/// What was done with a sequence, once and for all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Draw {
    /// The number of the sequence's counter then.
    pub counter: u64,
    pub what: Drew,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Drew {
    /// A number was drawn.
    Next(i64),
    /// It was said that this one comes next.
    Set(i128),
}

/// What a statement did with sequences, by their names.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Done(BTreeMap<String, VecDeque<Draw>>);

impl Done {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Bytes that it takes, about.
    pub fn bytes(&self) -> usize {
        let of_each = self.0.iter();
        of_each
            .map(|(name, draws)| 64 + name.len() + draws.len() * size_of::<Draw>())
            .sum()
    }

    /// The first that was done with a sequence.
    pub(super) fn first(&self, name: &str) -> Option<Draw> {
        self.0.get(name)?.front().copied()
    }

    /// Forgets that.
    pub(super) fn forget_first(&mut self, name: &str) {
        if let Some(draws) = self.0.get_mut(name) {
            draws.pop_front();
        }
    }

    /// Forgets all that was done with a sequence.
    pub(super) fn forget(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// Notes what is done with a sequence.
    pub(super) fn note(&mut self, name: &str, draw: Draw) {
        match self.0.get_mut(name) {
            Some(draws) => draws.push_back(draw),
            None => drop(self.0.insert(name.to_string(), VecDeque::from([draw]))),
        }
    }

    /// With what an earlier run did behind it.
    pub(super) fn followed_by(mut self, rest: Done) -> Done {
        for (name, draws) in rest.0 {
            self.0.entry(name).or_default().extend(draws);
        }
        self
    }

    /// All of it.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, Drew)> {
        let of_each = self.0.iter();
        of_each.flat_map(|(name, draws)| draws.iter().map(|draw| (&**name, draw.what)))
    }
}
