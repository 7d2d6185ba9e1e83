//! Values in rows against a plain map: lengths of all classes, growing and shrinking, undone and redone, opened again.
//! After each step the cells and references fit, and the state in memory equals that of an opening.

use super::check_values;
use crate::{KeyHash, TableSpace, Transaction};
use proptest::prelude::*;
use sardonyx_base::resident::Resident;
use sardonyx_rows::schema::{Column, IndexDefinition, KeyPart, Schema, Type, Value};
use sardonyx_rows::values::{Reference, borrow_value, read_part, read_value};
use sardonyx_rows::{Table, TableError, record};
use sardonyx_storage::log::record::{Body, Records};
use sardonyx_storage::log::seal::GroupBuilder;
use sardonyx_storage::page::PAGE_SIZE;
use sardonyx_storage::store::PageStore;
use std::collections::BTreeMap;

#[derive(Clone, Copy, PartialEq, Debug, Resident)]
#[repr(C)]
struct Note {
    key: u64,
    text: [u8; 16],
}
record!(Note { table: "notes", key: key: u64 });

fn schema() -> Schema {
    let column = |name: &str, kind, offset| Column {
        name: name.to_string(),
        kind,
        default: Value::Null,
        offset,
        null: None,
        dropped: false,
        since_shape: 0,
    };
    let key = KeyPart {
        column: 0,
        descending: false,
    };
    let mut schema = Schema::default();
    schema.columns = vec![column("key", Type::U64, 0), column("text", Type::Bytes, 8)];
    schema.primary = IndexDefinition {
        name: "primary".to_string(),
        unique: true,
        key: vec![key],
        ..IndexDefinition::default()
    };
    schema.row_bytes = 24;
    schema
}

struct World {
    space: TableSpace,
    table: Table<Note>,
    redone: Vec<u8>,
    model: BTreeMap<u64, Vec<u8>>,
}

#[derive(Clone, Debug)]
enum Change {
    Put(u64, usize, u8),
    /// Overwrites a value from a place on, which may be behind its end.
    Overwrite(u64, usize, usize, u8),
    Remove(u64),
}

fn value(length: usize, seed: u8) -> Vec<u8> {
    let byte = |n: usize| (n / 50) as u8 ^ seed;
    (0..length).map(byte).collect()
}

fn length() -> impl Strategy<Value = usize> {
    prop_oneof![0usize..30, 12usize..300, 300usize..4200, 0usize..40_000]
}

fn change() -> impl Strategy<Value = Change> {
    let key = 0..12u64;
    prop_oneof![
        4 => (key.clone(), length(), 0..3u8).prop_map(|(key, length, seed)| Change::Put(key, length, seed)),
        3 => (key.clone(), length(), 1..5000usize, 0..3u8).prop_map(|(key, place, count, seed)| {
            Change::Overwrite(key, place, count, seed)
        }),
        1 => key.prop_map(Change::Remove),
    ]
}

/// A transaction's changes, whether it is undone, and whether the database is opened again then.
fn steps() -> impl Strategy<Value = Vec<(Vec<Change>, bool, bool)>> {
    let step = (
        prop::collection::vec(change(), 1..6),
        any::<bool>(),
        prop::bool::weighted(0.2),
    );
    prop::collection::vec(step, 1..14)
}

fn put(
    tx: &mut Transaction<'_>,
    table: Table<Note>,
    key: u64,
    value: &[u8],
) -> Result<(), TableError> {
    let before = tx.get(table, key).expect("read").map(|note| note.text);
    let reference =
        tx.replace_value(table.number(), Reference(before.unwrap_or_default()), value)?;
    let note = Note {
        key,
        text: reference.0,
    };
    tx.put(table, &note)
        .map(drop)
        .map_err(|error| error.downcast().expect("a table's"))
}

/// Overwrites a part of a value. Returns whether there is one that is not in its reference.
fn overwrite(tx: &mut Transaction<'_>, table: Table<Note>, key: u64, part: (usize, &[u8])) -> bool {
    let before = tx.get(table, key).expect("read").map(|note| note.text);
    let Some(before) = before.map(Reference) else {
        return false;
    };
    let after = tx.overwrite_value(table.number(), before, part);
    let Some(Reference(text)) = after.expect("overwritten") else {
        return false;
    };
    tx.put(table, &Note { key, text }).expect("put");
    true
}

fn remove(tx: &mut Transaction<'_>, table: Table<Note>, key: u64) -> bool {
    let Some(before) = tx.remove(table, key).expect("remove") else {
        return false;
    };
    tx.free_value(table.number(), Reference(before.text))
        .expect("free");
    true
}

impl World {
    fn new() -> Self {
        let store = PageStore::reserve(1 << 30).expect("reserve");
        let (mut space, _) = TableSpace::open_with(store, 1, KeyHash::from_seed(7)).expect("open");
        let mut log = GroupBuilder::with_capacity(1 << 16);
        let mut tx = space.begin(&mut log);
        let table = tx.declare_table().expect("declare");
        tx.store_schema(table.number(), schema()).expect("a schema");
        tx.commit();
        let mut world = World {
            space,
            table,
            redone: Vec::new(),
            model: BTreeMap::new(),
        };
        world.redo(&log);
        world
    }

    fn redo(&mut self, log: &GroupBuilder) {
        for record in Records::new(log.payload()) {
            if let Body::Write { address, bytes } = record.expect("records decode").body {
                let end = (address.page().0 as usize + 1) * PAGE_SIZE;
                self.redone.resize(self.redone.len().max(end), 0);
                self.redone[address.0 as usize..][..bytes.len()].copy_from_slice(bytes);
            }
        }
        let (written, rest) = self.space.pages().split_at(self.redone.len());
        assert!(written == self.redone, "DB' differs from DB");
        assert!(
            rest.iter().all(|byte| *byte == 0),
            "bytes that nobody logged"
        );
    }

    fn run(&mut self, changes: &[Change], undone: bool) {
        let pages = self.space.pages().to_vec();
        let mut model = self.model.clone();
        let mut log = GroupBuilder::with_capacity(1 << 16);
        let mut tx = self.space.begin(&mut log);
        for change in changes {
            match *change {
                Change::Put(key, length, seed) => {
                    put(&mut tx, self.table, key, &value(length, seed)).expect("put");
                    model.insert(key, value(length, seed));
                }
                Change::Overwrite(key, place, count, seed) => {
                    let part = value(count, seed);
                    let is_long = overwrite(&mut tx, self.table, key, (place, &part));
                    let there = model.get_mut(&key).filter(|there| there.len() > 12);
                    assert_eq!(is_long, there.is_some());
                    if let Some(there) = there {
                        there.resize(there.len().max(place + count), 0);
                        there[place..place + count].copy_from_slice(&part);
                    }
                }
                Change::Remove(key) => {
                    assert_eq!(
                        remove(&mut tx, self.table, key),
                        model.remove(&key).is_some()
                    );
                }
            }
        }
        if undone {
            tx.abort();
            let (there, rest) = self.space.pages().split_at(pages.len());
            assert!(
                there == pages && rest.iter().all(|byte| *byte == 0),
                "not undone"
            );
        } else {
            tx.commit();
            self.model = model;
        }
        self.redo(&log);
    }

    fn reopen(&mut self) {
        let empty = TableSpace::open(PageStore::reserve(0).expect("reserve"), 1)
            .expect("open")
            .0;
        let store = std::mem::replace(&mut self.space, empty).into_store();
        self.space = TableSpace::open_with(store, 1, KeyHash::from_seed(7))
            .expect("open")
            .0;
    }

    fn check(&self) {
        let (bytes, number) = (self.space.pages(), self.table.number());
        let state = self.space.state(self.table).expect("the table");
        if let Err(damage) = check_values(bytes, number, state, 3) {
            panic!("{}: {}", damage.at, damage.reason);
        }
        let view = self.space.view();
        let records: Vec<_> = (view.scan(self.table).expect("read"))
            .map(|record| record.expect("a record"))
            .collect();
        assert_eq!(records.len(), self.model.len());
        for (key, value) in &self.model {
            let note = view.get(self.table, *key).expect("read");
            let note = note.expect("a note");
            let reference = Reference(note.text);
            let mut read = Vec::new();
            read_value(bytes, &reference, "notes", &mut read).expect("a value");
            assert!(read == *value, "{key}");
            let (from, to) = (value.len() / 3, value.len() * 2 / 3 + 1);
            let mut part = Vec::new();
            read_part(bytes, &reference, "notes", from..to, &mut part).expect("a part");
            assert!(part == value[from..to.min(value.len())], "{key}");
            if let Some(there) = borrow_value(bytes, &reference, "notes").expect("a value") {
                assert!(there == value, "{key}");
            }
        }
        let mut store = PageStore::reserve(1 << 30).expect("reserve");
        store
            .grow_to((bytes.len() / PAGE_SIZE) as u64)
            .expect("grow");
        store.bytes_mut().copy_from_slice(bytes);
        let again = TableSpace::open(store, 1).expect("open").0;
        let found = again.state(self.table).expect("the table");
        if found.values.is_used() {
            assert_eq!(found.values, state.values);
        }
        assert_eq!(found.records(again.pages()).count(), self.model.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sardonyx_base::random::cases(32)))]

    #[test]
    fn values_are_those_of_a_map(steps in steps()) {
        let mut world = World::new();
        for (changes, undone, reopened) in steps {
            world.run(&changes, undone);
            if reopened {
                world.reopen();
            }
            world.check();
        }
    }
}

#[test]
fn what_finds_no_memory_has_done_nothing() {
    let mut world = World::new();
    let store = PageStore::reserve(60 * PAGE_SIZE as u64).expect("reserve");
    world.space = TableSpace::open_with(store, 1, KeyHash::from_seed(7))
        .expect("open")
        .0;
    let mut log = GroupBuilder::with_capacity(1 << 16);
    let mut tx = world.space.begin(&mut log);
    let table = tx.declare_table().expect("declare");
    tx.store_schema(table.number(), schema()).expect("a schema");
    put(&mut tx, table, 1, &value(20_000, 1)).expect("put");
    let error = put(&mut tx, table, 1, &value(300_000, 2)).expect_err("too much");
    assert!(matches!(error, TableError::Store(_)), "{error:?}");
    tx.commit();
    (world.table, world.redone) = (table, Vec::new());
    world.redo(&log);
    world.model.insert(1, value(20_000, 1));
    world.check();
}

#[test]
fn space_that_was_freed_is_used_again_by_values_of_other_lengths() {
    let mut world = World::new();
    for round in 0..6u8 {
        let length = [40, 1000, 13, 9000, 2500, 300][usize::from(round)];
        let changes: Vec<_> = (0..400_000 / length as u64)
            .map(|key| Change::Put(key, length, round))
            .collect();
        world.run(&changes, false);
        let removals: Vec<_> = world.model.keys().map(|key| Change::Remove(*key)).collect();
        world.run(&removals, false);
    }
    world.check();
    // 400 kB of values never stood there twice, the rows beside them.
    assert!(
        world.space.pages().len() < 3_500_000,
        "{}",
        world.space.pages().len()
    );
}
