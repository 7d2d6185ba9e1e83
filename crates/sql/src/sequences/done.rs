//! The draws of a statement: it gets the same numbers when it is run again.
//!
//! The order of draws is kept for each sequence, not between sequences. So a run that leaves out one sequence still
//! gets the numbers of an earlier run for the others.

use std::collections::{BTreeMap, VecDeque};

/// One draw from a sequence, or one setting of it; neither is undone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Draw {
    /// The number of the sequence's counter at that time.
    pub counter: u64,
    pub what: Drew,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Drew {
    /// A number was drawn.
    Next(i64),
    /// The next number was set to this one.
    Set(i128),
}

/// A draw or a set of a sequence, and the numbers drawn after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Run {
    first: Draw,
    /// The last number, and the difference between two, if there are more than the first.
    more: Option<(i64, i64)>,
}

impl Run {
    /// Adds a number drawn after the others, if it is the next one.
    fn takes(&mut self, draw: Draw) -> bool {
        let (Drew::Next(first), Drew::Next(number)) = (self.first.what, draw.what) else {
            return false;
        };
        let (last, step) = match self.more {
            Some((last, step)) => (last, Some(step)),
            None => (first, None),
        };
        let Some(by) = number.checked_sub(last) else {
            return false;
        };
        let is_next = draw.counter == self.first.counter && step.is_none_or(|step| step == by);
        if is_next {
            self.more = Some((number, by));
        }
        is_next
    }

    /// The run without its first draw; `None` if it has no more.
    fn rest(mut self) -> Option<Run> {
        let (Drew::Next(first), Some((last, step))) = (self.first.what, self.more) else {
            return None;
        };
        let first = first.checked_add(step)?;
        self.first.what = Drew::Next(first);
        self.more = Some((last, step)).filter(|_| first != last);
        Some(self)
    }
}

/// The draws of a statement, by the names of sequences. Consecutive numbers take no more memory than one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Done(BTreeMap<String, VecDeque<Run>>);

impl Done {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Bytes that it takes, about.
    pub fn bytes(&self) -> usize {
        let of_each = self.0.iter();
        of_each
            .map(|(name, runs)| 64 + name.len() + runs.len() * size_of::<Run>())
            .sum()
    }

    /// The first draw or set of a sequence.
    pub(super) fn first(&self, name: &str) -> Option<Draw> {
        Some(self.0.get(name)?.front()?.first)
    }

    pub(super) fn forget_first(&mut self, name: &str) {
        if let Some(runs) = self.0.get_mut(name)
            && let Some(run) = runs.pop_front()
            && let Some(rest) = run.rest()
        {
            runs.push_front(rest);
        }
    }

    /// Forgets all draws of a sequence.
    pub(super) fn forget(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// Notes a draw or a set.
    pub(super) fn note(&mut self, name: &str, draw: Draw) {
        if let Some(run) = self.0.get_mut(name).and_then(VecDeque::back_mut)
            && run.takes(draw)
        {
            return;
        }
        let run = Run {
            first: draw,
            more: None,
        };
        match self.0.get_mut(name) {
            Some(runs) => runs.push_back(run),
            None => drop(self.0.insert(name.to_string(), VecDeque::from([run]))),
        }
    }

    /// Appends the draws of an earlier run.
    pub(crate) fn followed_by(mut self, rest: Done) -> Done {
        for (name, runs) in rest.0 {
            self.0.entry(name).or_default().extend(runs);
        }
        self
    }

    /// All draws, without numbers between two others.
    pub(super) fn ends(&self) -> impl Iterator<Item = (&str, Drew)> {
        let of_each = self.0.iter();
        let runs = of_each.flat_map(|(name, runs)| runs.iter().map(|run| (&**name, run)));
        runs.flat_map(|(name, run)| {
            let last = run.more.map(|(last, _)| (name, Drew::Next(last)));
            [(name, run.first.what)].into_iter().chain(last)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_comes_again_in_its_order_and_numbers_in_a_row_take_one_place() {
        let next = |number| Draw {
            counter: 1,
            what: Drew::Next(number),
        };
        let set = Draw {
            counter: 1,
            what: Drew::Set(7),
        };
        let other = Draw {
            counter: 2,
            what: Drew::Next(9),
        };
        let mut all: Vec<Draw> = (1..1000).map(next).collect();
        all.extend([next(i64::MAX), next(i64::MIN), next(5), next(5), set]);
        all.extend((0..500).map(|number| next(-3 * number)));
        all.extend([set, set, next(7), next(8), other, next(10)]);
        let mut done = Done::default();
        for draw in &all {
            done.note("one", *draw);
            done.note("other", set);
        }
        let runs = done.0.get("one").map(VecDeque::len);
        assert!(runs.is_some_and(|runs| runs <= 12), "{runs:?}");
        let ends = |done: &Done, what| done.ends().any(|end| end == ("one", what));
        assert!(ends(&done, Drew::Next(999)) && !ends(&done, Drew::Next(998)));
        let mut twice = Done::default().followed_by(done.clone());
        twice = twice.followed_by(done);
        for draw in all.iter().chain(&all) {
            assert_eq!(twice.first("one"), Some(*draw));
            twice.forget_first("one");
        }
        assert_eq!(twice.first("one"), None);
        assert_eq!(twice.first("other"), Some(set));
    }
}
