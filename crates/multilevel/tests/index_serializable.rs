//! The locks of the ordered index, judged by what they are for: transactions that run side by side
//! and are not made to wait give the results, and leave the contents, of the same transactions one
//! after the other in the order of their commits; those that abort leave nothing.
//!
//! Locks are granted by a real lock table; whoever would have to wait does not take the step. All
//! histories of a few operations over a few keys are tried, from all contents, and many longer ones
//! at random. That the judge sees is shown by planting errors: with any one pair of the matrix
//! admitted, or without the lock that protects a split gap, it finds a history that is wrong.

use sardonyx_lock::hash::IntegerMap;
use sardonyx_lock::{Answer, Compatibility, LockTable, Modes, Resource};
use sardonyx_multilevel::index::locks::{COMPATIBLE, INDEX_KEYS};
use sardonyx_multilevel::index::{IndexError, OrderedIndex, Restore, Scan};
use sardonyx_multilevel::pages::Change;
use sardonyx_multilevel::{
    Area, LockSpace, Mode, Operation, Page, PageId, Pages, PlainPages, Recorded, Stop,
};
use std::collections::BTreeMap;
use std::ops::{Bound, Range};

/// Contents: key to value, both small numbers.
type Model = BTreeMap<u8, u8>;

/// An operation, to be executed on the index or on the model.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Action {
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

/// What an operation gave back.
#[derive(Clone, PartialEq, Debug)]
enum Outcome {
    Value(Option<u8>),
    Inserted(bool),
    Entries(Vec<(u8, u8)>),
}

impl Action {
    fn on_model(self, model: &mut Model) -> Outcome {
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

/// How small numbers are written as keys and values: short, all in one leaf, or so long that there
/// are two entries to a leaf.
#[derive(Clone, Copy)]
struct Width(usize);

impl Width {
    fn bytes(self, number: u8) -> Vec<u8> {
        let mut bytes = vec![number];
        bytes.resize(self.0, 0);
        bytes
    }
}

/// The locks of all transactions, and what is wrong with them on purpose.
#[derive(Clone)]
struct Locks {
    table: LockTable<Resource, u8>,
    inherit: Inherit,
}

#[derive(Clone, Copy, PartialEq)]
enum Inherit {
    /// As the lock table says.
    Exactly,
    /// Not known, so always.
    Always,
    /// An error: never.
    Never,
}

impl Locks {
    fn new(matrix: &Compatibility, inherit: Inherit) -> Locks {
        let table = LockTable::new(matrix.clone());
        Locks { table, inherit }
    }

    fn end(&mut self, transaction: u8) {
        let mut granted = Vec::new();
        self.table.release_all(transaction, &mut granted);
        assert!(granted.is_empty(), "nobody waits");
    }
}

/// What one transaction sees: plain pages, and locks among those of the others.
struct View<'a> {
    pages: &'a mut PlainPages,
    locks: &'a mut Locks,
    transaction: u8,
}

fn resource(space: &LockSpace, object: u64) -> Resource {
    let space = space.number();
    Resource { space, object }
}

impl Pages for View<'_> {
    fn page(&self, area: Area, index: u64) -> Result<PageId, Stop> {
        self.pages.page(area, index)
    }

    fn pages_of(&self, area: Area) -> Result<u64, Stop> {
        self.pages.pages_of(area)
    }

    fn grow(&mut self, area: Area, pages: u64) -> Result<(), Stop> {
        self.pages.grow(area, pages)
    }

    fn read(&self, page: PageId) -> Result<&Page, Stop> {
        self.pages.read(page)
    }

    fn read_to_write(&self, page: PageId) -> Result<&Page, Stop> {
        self.pages.read_to_write(page)
    }

    fn write(&mut self, page: PageId, range: Range<usize>) -> Result<&mut [u8], Stop> {
        self.pages.write(page, range)
    }

    fn lock(&mut self, space: &'static LockSpace, object: u64, mode: Mode) -> Result<(), Stop> {
        let (key, mut granted) = (resource(space, object), Vec::new());
        if self.locks.table.request(self.transaction, key, mode) == Answer::Waiting {
            self.locks.table.cancel(self.transaction, key, &mut granted);
            assert!(granted.is_empty(), "nobody else waits");
            return Err(Stop::Restart);
        }
        Ok(())
    }

    fn held(&self, space: &'static LockSpace, object: u64) -> Option<Modes> {
        match self.locks.inherit {
            Inherit::Exactly => Some(
                self.locks
                    .table
                    .held(self.transaction, resource(space, object)),
            ),
            Inherit::Always => None,
            Inherit::Never => Some(Modes::NONE),
        }
    }

    fn reserve(&mut self, _: &'static LockSpace, _: u64, _: Change) -> Result<(), Stop> {
        unreachable!("the index has no quantities")
    }
}

/// A running transaction: what it did, what it got, and how to undo it.
#[derive(Clone, Default)]
struct Transaction {
    actions: Vec<(Action, Outcome)>,
    undo: Vec<Vec<u8>>,
}

/// Several transactions on one index.
#[derive(Clone)]
struct World {
    width: Width,
    pages: PlainPages,
    index: OrderedIndex,
    locks: Locks,
    running: IntegerMap<u8, Transaction>,
    /// What was committed, in that order.
    committed: Vec<(Action, Outcome)>,
    initial: Model,
}

impl World {
    fn new(width: Width, initial: &Model, locks: Locks) -> World {
        let mut pages = PlainPages::new();
        let index = OrderedIndex::of(pages.area(0));
        for (&key, &value) in initial {
            let (key, value) = (width.bytes(key), width.bytes(value));
            index.insert(&key, &value).execute(&mut pages).unwrap();
        }
        let (running, committed) = (IntegerMap::default(), Vec::new());
        let initial = initial.clone();
        World {
            width,
            pages,
            index,
            locks,
            running,
            committed,
            initial,
        }
    }

    /// Lets a transaction execute an operation; `false`, and no effect, if it would have to wait.
    fn act(&mut self, transaction: u8, action: Action) -> bool {
        let before = self.pages.clone();
        let outcome = match action {
            Action::Get(key) => {
                let key = self.width.bytes(key);
                self.call(transaction, &self.index.get(&key)).map(value)
            }
            Action::Insert(key, value) => {
                let (key, value) = (self.width.bytes(key), self.width.bytes(value));
                match self.call(transaction, &self.index.insert(&key, &value)) {
                    Err(IndexError::Duplicate) => Ok(Outcome::Inserted(false)),
                    other => other.map(|()| Outcome::Inserted(true)),
                }
            }
            Action::Put(key, new) => {
                let (key, new) = (self.width.bytes(key), self.width.bytes(new));
                self.call(transaction, &self.index.put(&key, &new))
                    .map(value)
            }
            Action::Delete(key) => {
                let key = self.width.bytes(key);
                self.call(transaction, &self.index.delete(&key)).map(value)
            }
            Action::Scan {
                lower,
                upper,
                limit,
                descending,
            } => {
                let bytes = |bound: Bound<u8>| bound.map(|key| self.width.bytes(key));
                let (lower, upper) = (bytes(lower), bytes(upper));
                let scan = Scan {
                    index: self.index,
                    lower: lower.as_ref().map(|key| &key[..]),
                    upper: upper.as_ref().map(|key| &key[..]),
                    limit,
                    descending,
                };
                let entries = self.call(transaction, &scan);
                entries.map(|entries| {
                    Outcome::Entries(entries.iter().map(|(k, v)| (k[0], v[0])).collect())
                })
            }
        };
        match outcome {
            Ok(outcome) => {
                let actions = &mut self.running.entry(transaction).or_default().actions;
                actions.push((action, outcome));
                true
            }
            Err(IndexError::Stop(Stop::Restart)) => {
                let made = self.index.check(&before).unwrap().height > 0;
                assert!(
                    !made || before == self.pages,
                    "it wrote before it had its locks"
                );
                self.pages = before;
                false
            }
            Err(other) => panic!("{action:?}: {other}"),
        }
    }

    fn call<O: Operation<Error = IndexError>>(
        &mut self,
        transaction: u8,
        operation: &O,
    ) -> Result<O::Output, IndexError> {
        let (pages, locks) = (&mut self.pages, &mut self.locks);
        let output = operation.execute(&mut View {
            pages,
            locks,
            transaction,
        })?;
        if let Some(inverse) = operation.inverse(&output) {
            let undo = &mut self.running.entry(transaction).or_default().undo;
            undo.push(inverse.bytes().to_vec());
        }
        Ok(output)
    }

    fn commit(&mut self, transaction: u8) {
        let ended = self.running.remove(&transaction).unwrap_or_default();
        self.committed.extend(ended.actions);
        self.locks.end(transaction);
    }

    /// Undoes the last operation of a transaction that aborts, or ends it if there is none left;
    /// `false` then.
    fn abort_step(&mut self, transaction: u8) -> bool {
        let running = self.running.get_mut(&transaction);
        let Some(inverse) = running.and_then(|running| running.undo.pop()) else {
            self.running.remove(&transaction);
            self.locks.end(transaction);
            return false;
        };
        let (pages, locks) = (&mut self.pages, &mut self.locks);
        let (restore, held) = (Restore::decode(&inverse).unwrap(), locks.table.statistics());
        restore
            .execute(&mut View {
                pages,
                locks,
                transaction,
            })
            .unwrap();
        assert_eq!(locks.table.statistics(), held, "an inverse asks for locks");
        true
    }

    fn end(&mut self, transaction: u8, commit: bool) {
        if commit {
            self.commit(transaction);
        } else {
            while self.abort_step(transaction) {}
        }
    }

    fn contents(&self) -> Model {
        let mut pages = self.pages.clone();
        let all = self.index.scan(..).execute(&mut pages).unwrap();
        all.iter().map(|(key, value)| (key[0], value[0])).collect()
    }

    /// When all have ended: whether it was as if one after the other.
    fn is_serial(&self) -> bool {
        assert!(self.running.is_empty() && self.locks.table.is_empty());
        let mut model = self.initial.clone();
        let as_alone = self
            .committed
            .iter()
            .all(|(action, outcome)| action.on_model(&mut model) == *outcome);
        as_alone && self.contents() == model
    }
}

fn value(bytes: Option<Vec<u8>>) -> Outcome {
    Outcome::Value(bytes.map(|bytes| bytes[0]))
}

/// All operations over keys 1 to `keys`; those that write, write `stamp`.
fn actions(keys: u8, stamp: u8) -> Vec<Action> {
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

fn all_contents(keys: u8) -> impl Iterator<Item = Model> {
    (0..1_u8 << keys).map(move |bits| {
        (1..=keys)
            .filter(|key| bits >> (key - 1) & 1 == 1)
            .map(|key| (key, 100))
            .collect()
    })
}

/// Ends the transactions in one of all ways and judges; `Some` is how it was wrong.
fn all_ends(world: &World, transactions: &[u8]) -> Option<String> {
    for choice in 0..1_u32 << transactions.len() {
        for backwards in [false, true] {
            let mut world = world.clone();
            let mut order: Vec<_> = transactions.iter().enumerate().collect();
            if backwards {
                order.reverse();
            }
            for (place, &transaction) in order {
                world.end(transaction, choice >> place & 1 == 1);
            }
            if !world.is_serial() {
                let (initial, committed) = (&world.initial, &world.committed);
                let left = world.contents();
                return Some(format!(
                    "{initial:?}: committed {committed:?}, left {left:?}"
                ));
            }
        }
    }
    None
}

/// All histories of these many operations by the transactions given, one after the other.
fn all_histories(world: &World, schedule: &[u8], keys: u8, depth: usize) -> Option<String> {
    let Some(&transaction) = schedule.get(depth) else {
        let mut transactions = schedule.to_vec();
        transactions.sort_unstable();
        transactions.dedup();
        return all_ends(world, &transactions);
    };
    let of = if schedule.len() > 2 {
        few_actions
    } else {
        actions
    };
    for action in of(keys, depth as u8 + 1) {
        let mut world = world.clone();
        // One who has to wait does nothing here: a shorter schedule has that history.
        if world.act(transaction, action) {
            let wrong = all_histories(&world, schedule, keys, depth + 1);
            if wrong.is_some() {
                return wrong.map(|wrong| format!("{transaction}: {action:?}; {wrong}"));
            }
        }
    }
    None
}

fn matrix() -> Compatibility {
    INDEX_KEYS.matrix().clone()
}

/// Those of the operations that all three-step histories are tried with: one scan of each sort.
fn few_actions(keys: u8, stamp: u8) -> Vec<Action> {
    let mut actions = actions(keys, stamp);
    let mut scans = 0;
    actions.retain(|action| {
        let scan = matches!(action, Action::Scan { .. });
        scans += usize::from(scan);
        !scan || [1, 5, 8, 9].contains(&scans)
    });
    actions
}

fn exhaust(keys: u8, schedule: &[u8], width: Width, inherit: Inherit) {
    for initial in all_contents(keys) {
        let world = World::new(width, &initial, Locks::new(&matrix(), inherit));
        let wrong = all_histories(&world, schedule, keys, 0);
        assert_eq!(wrong, None, "not serializable");
    }
}

#[test]
fn all_pairs_of_operations_over_five_keys() {
    exhaust(5, &[1, 2], Width(1), Inherit::Exactly);
}

#[test]
fn all_pairs_of_operations_over_six_keys_in_several_leaves() {
    exhaust(6, &[1, 2], Width(900), Inherit::Exactly);
}

#[test]
fn all_histories_of_three_operations_over_three_keys() {
    for schedule in [[1, 1, 2], [1, 2, 1], [1, 2, 3]] {
        exhaust(3, &schedule, Width(1), Inherit::Exactly);
    }
    exhaust(3, &[1, 1, 2], Width(900), Inherit::Always);
}

/// A generator of random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % bound as u64) as usize
    }
}

/// A random history of three transactions, begun anew as they end. `Some` if it was wrong.
fn random_history(seed: u64, width: Width, locks: Locks) -> Option<String> {
    const KEYS: u8 = 6;
    let mut random = Random(seed);
    let bits = random.below(1 << KEYS);
    let initial = all_contents(KEYS).nth(bits).expect("contents");
    let mut world = World::new(width, &initial, locks);
    let mut history = Vec::new();
    let mut aborting = [false; 3];
    for step in 0..8 + random.below(24) {
        let transaction = random.below(3);
        let (number, abort) = (transaction as u8, &mut aborting[transaction]);
        match random.below(10) {
            _ if *abort => *abort = world.abort_step(number),
            0 => world.commit(number),
            1 => *abort = world.abort_step(number),
            _ => {
                let choice = actions(KEYS, step as u8 + 1);
                let action = choice[random.below(choice.len())];
                if world.act(number, action) {
                    history.push((number, action));
                }
            }
        }
    }
    for (transaction, aborting) in aborting.into_iter().enumerate() {
        world.end(transaction as u8, !aborting && random.below(2) == 0);
    }
    world.index.check(&world.pages).unwrap();
    let wrong = !world.is_serial();
    wrong.then(|| {
        format!(
            "seed {seed}: {initial:?}: {history:?}; {:?}",
            world.contents()
        )
    })
}

fn random_histories(count: u64, width: Width, locks: &Locks) -> Option<String> {
    (0..count).find_map(|seed| random_history(seed, width, locks.clone()))
}

#[test]
fn random_histories_of_three_transactions() {
    for inherit in [Inherit::Exactly, Inherit::Always] {
        let locks = Locks::new(&matrix(), inherit);
        assert_eq!(random_histories(30_000, Width(1), &locks), None);
        assert_eq!(random_histories(6_000, Width(900), &locks), None);
    }
}

#[test]
fn several_transactions_insert_side_by_side_and_readers_of_other_gaps_do_not_wait() {
    let initial = Model::from([(1, 100), (9, 100)]);
    let mut world = World::new(Width(1), &initial, Locks::new(&matrix(), Inherit::Exactly));
    // Into one gap, above and below what others have inserted and not committed.
    for (transaction, key) in [
        (1, 5),
        (2, 4),
        (3, 6),
        (1, 3),
        (2, 7),
        (3, 2),
        (1, 10),
        (2, 11),
    ] {
        assert!(
            world.act(transaction, Action::Insert(key, transaction)),
            "{transaction} {key}"
        );
    }
    assert!(world.act(4, Action::Put(9, 4)), "the next key's value");
    assert!(
        world.act(5, Action::Get(1)) && world.act(5, Action::Get(0)),
        "other gaps"
    );
    assert!(world.act(5, Action::Get(8)), "what is left of the gap");
    assert!(
        !world.act(1, Action::Insert(8, 1)),
        "which has been read now"
    );
    assert!(!world.act(5, Action::Get(6)), "what is not committed");
    // Whoever has read a gap goes with a deletion below it, but cannot read what that adds to it.
    let mut world = World::new(Width(1), &initial, Locks::new(&matrix(), Inherit::Exactly));
    assert!(world.act(1, Action::Get(4)) && world.act(2, Action::Delete(1)));
    assert!(!world.act(1, Action::Get(4)) && !world.act(1, Action::Insert(4, 1)));
    // Who has read the gap itself keeps the others out of both its parts.
    let mut world = World::new(Width(1), &initial, Locks::new(&matrix(), Inherit::Exactly));
    assert!(world.act(1, Action::Get(4)) && world.act(1, Action::Insert(6, 1)));
    assert!(!world.act(2, Action::Insert(5, 2)) && !world.act(2, Action::Insert(7, 2)));
}

#[test]
fn without_the_lock_on_the_lower_part_of_a_split_gap_it_is_not_serializable() {
    let locks = Locks::new(&matrix(), Inherit::Never);
    assert!(random_histories(60_000, Width(1), &locks).is_some());
}

/// The matrix with one request admitted.
fn with_admitted(held: usize, requested: usize) -> Compatibility {
    let mut rows = COMPATIBLE;
    rows[held][requested] = true;
    let rows: Vec<&[bool]> = rows.iter().map(|row| &row[..]).collect();
    Compatibility::new(&rows).unwrap()
}

#[test]
fn every_exclusion_is_needed() {
    let mut needless = Vec::new();
    for (held, row) in COMPATIBLE.iter().enumerate() {
        for (requested, _) in row
            .iter()
            .enumerate()
            .filter(|(_, compatible)| !**compatible)
        {
            let locks = Locks::new(&with_admitted(held, requested), Inherit::Exactly);
            if random_histories(60_000, Width(1), &locks).is_none() {
                needless.push((held, requested));
            }
        }
    }
    assert_eq!(needless, []);
}
