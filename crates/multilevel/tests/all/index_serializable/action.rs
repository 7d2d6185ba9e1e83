//! Operations over small numbers, to be executed on the index or on the model.

use std::collections::BTreeMap;
use std::ops::Bound;

/// Contents: key to value, both small numbers.
pub type Model = BTreeMap<u8, u8>;

/// An operation, to be executed on the index or on the model.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Action {
    Get(u8),
    Insert(u8, u8),
    Put(u8, u8),
    Delete(u8),
    Scan {
        lower: Bound<u8>,
        upper: Bound<u8>,
        limit: usize,
        descending: bool,
    },
}

/// The result of an operation.
#[derive(Clone, PartialEq, Debug)]
pub enum Outcome {
    Value(Option<u8>),
    Inserted(bool),
    Entries(Vec<(u8, u8)>),
}

impl Action {
    pub fn on_model(self, model: &mut Model) -> Outcome {
        match self {
            Action::Get(key) => Outcome::Value(model.get(&key).copied()),
            Action::Insert(key, value) => {
                let new = !model.contains_key(&key);
                model.entry(key).or_insert(value);
                Outcome::Inserted(new)
            }
            Action::Put(key, value) => Outcome::Value(model.insert(key, value)),
            Action::Delete(key) => Outcome::Value(model.remove(&key)),
            Action::Scan {
                lower,
                upper,
                limit,
                descending,
            } => {
                let inside = model
                    .iter()
                    .filter(|(key, _)| std::ops::RangeBounds::contains(&(lower, upper), *key));
                let mut entries: Vec<_> = inside.map(|(&key, &value)| (key, value)).collect();
                if descending {
                    entries.reverse();
                }
                entries.truncate(limit);
                Outcome::Entries(entries)
            }
        }
    }
}

/// All operations over keys 1 to `keys`; those that write, write `stamp`.
pub fn actions(keys: u8, stamp: u8) -> Vec<Action> {
    let mut actions = Vec::new();
    for key in 1..=keys {
        let put = Action::Put(key, stamp);
        actions.extend([
            Action::Get(key),
            Action::Insert(key, stamp),
            put,
            Action::Delete(key),
        ]);
    }
    let (all, from) = (Bound::Unbounded, Bound::Included(2));
    for descending in [false, true] {
        for (lower, upper, limit) in [
            (all, all, 9),
            (all, all, 1),
            (from, Bound::Included(keys - 1), 9),
            (Bound::Excluded(1), Bound::Excluded(keys), 9),
            (Bound::Excluded(1), all, 1),
            (all, Bound::Excluded(keys), 2),
        ] {
            actions.push(Action::Scan {
                lower,
                upper,
                limit,
                descending,
            });
        }
    }
    actions
}

/// The operations with which all three-step histories are tried: one scan of each sort.
pub fn few_actions(keys: u8, stamp: u8) -> Vec<Action> {
    let mut actions = actions(keys, stamp);
    let mut scans = 0;
    actions.retain(|action| {
        let scan = matches!(action, Action::Scan { .. });
        scans += usize::from(scan);
        !scan || [1, 5, 8, 9].contains(&scans)
    });
    actions
}

pub fn all_contents(keys: u8) -> impl Iterator<Item = Model> {
    (0..1_u8 << keys).map(move |bits| {
        (1..=keys)
            .filter(|key| bits >> (key - 1) & 1 == 1)
            .map(|key| (key, 100))
            .collect()
    })
}
