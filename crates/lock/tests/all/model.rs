//! Lock queues and tables against a naive model: a list of locks and a list of waiters, with everything recomputed
//! from scratch after each step.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::oracle::{LockTable, waits_for};
use sardonyx_lock::{Answer, Compatibility, LockQueue, Mode};
use std::collections::{BTreeMap, BTreeSet};

type Owner = u8;
type Key = u8;

/// The rows of a matrix, as the model uses them.
type Rows = Vec<Vec<bool>>;

#[derive(Clone, Debug)]
enum Step {
    Request(Owner, Key, u8),
    Release(Owner, Key),
    ReleaseAll(Owner),
    Cancel(Owner, Key),
}

fn step(modes: u8) -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..5_u8, 0..3_u8, 0..modes).prop_map(|(owner, key, mode)| {
            Step::Request(owner, key, mode)
        }),
        1 => (0..5_u8, 0..3_u8).prop_map(|(owner, key)| Step::Release(owner, key)),
        2 => (0..5_u8).prop_map(Step::ReleaseAll),
        1 => (0..5_u8, 0..3_u8).prop_map(|(owner, key)| Step::Cancel(owner, key)),
    ]
}

/// Shared/exclusive; read/increment; shared/update/exclusive; or any matrix of three modes.
fn rows() -> impl Strategy<Value = Rows> {
    prop_oneof![
        Just(vec![vec![true, false], vec![false, false]]),
        Just(vec![vec![true, false], vec![false, true]]),
        Just(vec![
            vec![true, true, false],
            vec![false; 3],
            vec![false; 3]
        ]),
        vec(vec(any::<bool>(), 3), 3),
    ]
}

/// A request that waits, with its place in the order of arrival.
#[derive(Clone, Debug)]
struct Waiter {
    owner: Owner,
    modes: BTreeSet<u8>,
    conversion: bool,
}

/// One object in the model.
#[derive(Clone, Debug, Default)]
struct Object {
    held: BTreeMap<Owner, BTreeSet<u8>>,
    /// In the order in which they are served.
    waiters: Vec<Waiter>,
}

struct Model {
    rows: Rows,
    objects: BTreeMap<Key, Object>,
}

impl Model {
    fn goes_beside(&self, held: &BTreeSet<u8>, requested: &BTreeSet<u8>) -> bool {
        held.iter().all(|&held| {
            requested
                .iter()
                .all(|&mode| self.rows[usize::from(held)][usize::from(mode)])
        })
    }

    /// The owners that the waiter at this place waits for, by the definition.
    fn blockers(&self, object: &Object, place: usize) -> BTreeSet<Owner> {
        let waiter = &object.waiters[place];
        let holders = object.held.iter().filter(|(owner, held)| {
            **owner != waiter.owner && !self.goes_beside(held, &waiter.modes)
        });
        let ahead = object.waiters[..place].iter().filter(|other| {
            !self.goes_beside(&other.modes, &waiter.modes)
                || !self.goes_beside(&waiter.modes, &other.modes)
        });
        holders
            .map(|(owner, _)| *owner)
            .chain(ahead.map(|other| other.owner))
            .collect()
    }

    /// Grants requests that have none to wait for, first come first served.
    fn grant(&mut self, key: Key) -> Vec<Owner> {
        let mut granted = Vec::new();
        loop {
            let object = self.objects.entry(key).or_default().clone();
            let free =
                (0..object.waiters.len()).find(|&place| self.blockers(&object, place).is_empty());
            let Some(place) = free else { return granted };
            let object = self.objects.entry(key).or_default();
            let waiter = object.waiters.remove(place);
            object
                .held
                .entry(waiter.owner)
                .or_default()
                .extend(waiter.modes);
            granted.push(waiter.owner);
        }
    }

    /// Returns true if an owner that holds these has all rights of `mode`.
    fn covers(&self, held: &BTreeSet<u8>, mode: u8) -> bool {
        let size = self.rows.len();
        let mode = usize::from(mode);
        held.iter().any(|&held| {
            let held = usize::from(held);
            (0..size).all(|other| {
                self.rows[held][other] <= self.rows[mode][other]
                    && self.rows[held][other] <= self.rows[other][mode]
                    && self.rows[other][held] <= self.rows[other][mode]
            })
        })
    }

    fn request(&mut self, owner: Owner, key: Key, mode: u8) -> Answer {
        let object = self.objects.entry(key).or_default().clone();
        let held = object.held.get(&owner).cloned().unwrap_or_default();
        if self.covers(&held, mode) {
            return Answer::Held;
        }
        let conversion = !held.is_empty();
        let object = self.objects.entry(key).or_default();
        if let Some(waiter) = object
            .waiters
            .iter_mut()
            .find(|waiter| waiter.owner == owner)
        {
            waiter.modes.insert(mode);
            return Answer::Waiting;
        }
        let waiter = Waiter {
            owner,
            modes: BTreeSet::from([mode]),
            conversion,
        };
        let ordinary = object.waiters.iter().position(|waiter| !waiter.conversion);
        let place = ordinary
            .filter(|_| conversion)
            .unwrap_or(object.waiters.len());
        object.waiters.insert(place, waiter);
        match &self.grant(key)[..] {
            [] => Answer::Waiting,
            granted => {
                assert_eq!(
                    granted,
                    [owner],
                    "the model lets another one in by a request"
                );
                Answer::Granted
            }
        }
    }

    /// Removes the owner's waiting request, and its locks.
    fn remove(&mut self, owner: Owner, key: Key, holding: bool) -> Vec<Owner> {
        let object = self.objects.entry(key).or_default();
        object.waiters.retain(|waiter| waiter.owner != owner);
        if holding {
            object.held.remove(&owner);
        }
        self.grant(key)
    }

    /// All that `owner` waits for, directly or not.
    fn reachable(&self, owner: Owner) -> BTreeSet<Owner> {
        let mut reached = BTreeSet::new();
        let mut edges = BTreeSet::from([owner]);
        while let Some(from) = edges.pop_first() {
            for object in self.objects.values() {
                for place in 0..object.waiters.len() {
                    if object.waiters[place].owner == from {
                        let new = self.blockers(object, place);
                        edges.extend(new.difference(&reached).copied().collect::<Vec<_>>());
                        reached.extend(new);
                    }
                }
            }
        }
        reached
    }

    fn check_compatible(&self) {
        for object in self.objects.values() {
            for (one, held) in &object.held {
                for (other, beside) in object.held.range(one + 1..) {
                    // One of the two came first, mode by mode.
                    let together = held.iter().all(|&mine| {
                        beside.iter().all(|&theirs| {
                            let (mine, theirs) = (usize::from(mine), usize::from(theirs));
                            self.rows[mine][theirs] || self.rows[theirs][mine]
                        })
                    });
                    assert!(together, "{one} and {other} hold {object:?}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(3),
        ..ProptestConfig::with_cases(sardonyx_base::random::cases(600))
    })]

    /// The table equals the model: the same answers, the same grants in the same order, the same holders. A deadlock
    /// is found exactly if there is one. Keys divide into two tables, and cycles are found over both.
    #[test]
    fn tables_do_what_the_model_does(
        (rows, steps) in rows().prop_flat_map(|rows| {
            let modes = rows.len() as u8;
            (Just(rows), vec(step(modes), 1..60))
        }),
    ) {
        let borrowed: Vec<&[bool]> = rows.iter().map(Vec::as_slice).collect();
        let matrix = Compatibility::new(&borrowed).unwrap();
        let mut tables = [LockTable::new(matrix.clone()), LockTable::new(matrix)];
        let mut model = Model { rows, objects: BTreeMap::new() };
        for step in steps {
            let mut granted = Vec::new();
            let mut expected = Vec::new();
            match step {
                Step::Request(owner, key, mode) => {
                    let table = &mut tables[usize::from(key % 2)];
                    let answer = table.request(owner, key, Mode(mode));
                    prop_assert_eq!(answer, model.request(owner, key, mode));
                }
                Step::Release(owner, key) => {
                    tables[usize::from(key % 2)].release(owner, key, &mut granted);
                    expected.extend(model.remove(owner, key, true).into_iter().map(|o| (o, key)));
                }
                Step::ReleaseAll(owner) => {
                    for table in &mut tables {
                        table.release_all(owner, &mut granted);
                    }
                    for key in 0..3 {
                        let woken = model.remove(owner, key, true);
                        expected.extend(woken.into_iter().map(|o| (o, key)));
                    }
                    // Which key is first depends on the order of the owner's requests.
                    granted.sort_by_key(|(_, key)| *key);
                }
                Step::Cancel(owner, key) => {
                    tables[usize::from(key % 2)].cancel(owner, key, &mut granted);
                    expected.extend(model.remove(owner, key, false).into_iter().map(|o| (o, key)));
                }
            }
            prop_assert_eq!(granted, expected);
            model.check_compatible();
            for owner in 0..5 {
                for key in 0..3 {
                    let held = tables[usize::from(key % 2)].held(owner, key);
                    let held: BTreeSet<u8> = held.iter().map(|mode| mode.0).collect();
                    let object = model.objects.get(&key);
                    let modelled = object.and_then(|object| object.held.get(&owner));
                    prop_assert_eq!(held, modelled.cloned().unwrap_or_default());
                }
                let cycle = waits_for::cycle(&[&tables[0], &tables[1]], owner);
                let reachable = model.reachable(owner);
                prop_assert_eq!(cycle.is_some(), reachable.contains(&owner));
                for member in cycle.unwrap_or_default() {
                    prop_assert!(model.reachable(member).contains(&owner));
                }
            }
        }
        let mut granted = Vec::new();
        for owner in 0..5 {
            for table in &mut tables {
                table.release_all(owner, &mut granted);
            }
        }
        prop_assert!(tables.iter().all(LockTable::is_empty), "a lock is left");
    }

    /// A search that looks at the blocking holders only reaches every holder that one along all the
    /// waiting reaches, and no other.
    #[test]
    fn no_holder_is_missed_by_leaving_out_who_only_waits(
        (rows, steps) in rows().prop_flat_map(|rows| {
            let modes = rows.len() as u8;
            (Just(rows), vec((0..7_u8, 0..modes, 0..8_u8), 1..30))
        }),
    ) {
        let borrowed: Vec<&[bool]> = rows.iter().map(Vec::as_slice).collect();
        let matrix = Compatibility::new(&borrowed).unwrap();
        let mut queue = LockQueue::default();
        for (owner, mode, dice) in steps {
            if dice == 0 {
                queue.release(&matrix, owner, &mut Vec::new());
            } else {
                queue.request(&matrix, owner, Mode(mode));
            }
            for waiter in queue.waiters() {
                let mut all = reach(waiter.owner, |from| queue.blockers(&matrix, from).collect());
                all.retain(|owner| !queue.held(*owner).is_empty());
                let through_holders = reach(waiter.owner, |from| {
                    queue.blocking_holders(&matrix, from).to_vec()
                });
                prop_assert_eq!(all, through_holders);
            }
        }
    }
}

/// All that the steps lead to from `start`.
fn reach(start: Owner, step: impl Fn(Owner) -> Vec<Owner>) -> BTreeSet<Owner> {
    let mut reached = BTreeSet::new();
    let mut open = vec![start];
    while let Some(from) = open.pop() {
        open.extend(step(from).into_iter().filter(|&to| reached.insert(to)));
    }
    reached
}
