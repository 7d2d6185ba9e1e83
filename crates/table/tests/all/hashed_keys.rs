//! Primary keys of texts and bytes that are found by a hash: random transactions against a map. Rows are
//! inserted, also unless they are there, and looked up live, in snapshots, by a follower of the log (the [`World`] compares
//! that), after undoing and after an opening. Also keys that were ordered before.

use crate::support::{STORE_BYTES, World, in_detail};
use proptest::prelude::*;
use sardonyx_base::error::Error;
use sardonyx_rows::schema::{
    Declared, IndexKind, PRIMARY, Schema, SchemaBuilder, Type, Value, ValueRef,
};
use sardonyx_rows::{DefineRows, ReadRow, ReadRows, RowWriter, TableError};
use sardonyx_table::Transaction;
use std::collections::BTreeMap;

const TABLE: &str = "named";

/// The columns of the key are no neighbours, and one is not of a fixed length.
fn schema(kind: IndexKind) -> SchemaBuilder {
    let schema = Schema::new()
        .column("name", Type::Bytes)
        .column("value", Type::Bytes)
        .column("part", Type::I16)
        .column("number", Type::U64)
        .primary_key(["name", "part"]);
    let schema = match kind {
        IndexKind::Hash => schema,
        IndexKind::Ordered => schema.ordered(),
    };
    schema.index("by_number", ["number"]).ordered().unique()
}

/// Names that begin alike: short, in a cell, in several cells, with zero bytes.
fn name(number: u8) -> Vec<u8> {
    let number = number % 40;
    let length = [0, 4, 12, 13, 40, 700, 3000][usize::from(number % 7)];
    let mut name = vec![b'n'; length];
    name.extend_from_slice(if number.is_multiple_of(5) {
        &[0, 0]
    } else {
        b""
    });
    name.push(number);
    name
}

fn part(number: u8) -> i16 {
    i16::from(number % 3) - 1
}

#[derive(Clone, Copy, Debug)]
enum What {
    Insert(u8, u16),
    /// Inserts a row unless its key is there; with the number of another row if that is asked for.
    InsertOrFind(u8, u16, bool),
    Update(u8, u16),
    Delete(u8),
    Mark,
    Return,
}

#[derive(Clone, Debug)]
enum Happening {
    Transaction(Vec<What>, bool),
    Reopen(usize),
    /// Many rows, so that the index grows and is split.
    Fill(u16),
}

type Model = BTreeMap<(Vec<u8>, i16), (Vec<u8>, u64)>;

fn value(number: u16) -> Vec<u8> {
    vec![number as u8; usize::from(number % 50)]
}

fn key(number: u8) -> [Value; 2] {
    [Value::Bytes(name(number)), Value::Int(part(number).into())]
}

fn step(
    tx: &mut Transaction<'_>,
    model: &mut Model,
    marks: &mut Vec<(sardonyx_rows::Savepoint, Model)>,
    numbers: &mut u64,
    what: What,
) {
    match what {
        What::Insert(number, content) => {
            *numbers += 1;
            let [bytes, part_of] = key(number);
            let values = [
                bytes,
                Value::Bytes(value(content)),
                part_of,
                Value::Int((*numbers).into()),
            ];
            let inserted = in_detail(tx.rows(TABLE).expect("a table").insert_values(&values));
            match model.entry((name(number), part(number))) {
                std::collections::btree_map::Entry::Vacant(vacant) => {
                    inserted.expect("a new key");
                    vacant.insert((value(content), *numbers));
                }
                std::collections::btree_map::Entry::Occupied(_) => {
                    let found = matches!(inserted, Err(TableError::DuplicateKey { .. }));
                    assert!(found, "{inserted:?}");
                }
            }
        }
        What::InsertOrFind(number, content, is_taken) => {
            *numbers += 1;
            let taken = model.values().next().map(|(_, number)| *number);
            let taken = taken.filter(|_| is_taken);
            let table = tx.rows(TABLE).expect("a table").number();
            let (name, value) = (name(number), value(content));
            let mut row = RowWriter::new(4);
            row.set(0, ValueRef::Bytes(&name));
            row.set(1, ValueRef::Bytes(&value));
            row.set(2, ValueRef::Int(part(number).into()));
            row.set(3, ValueRef::Int(taken.unwrap_or(*numbers).into()));
            // In both ways of giving a row.
            let put = match *numbers % 2 {
                0 => in_detail(tx.insert_or_find_row(table, row)),
                _ => {
                    let values = [0, 1, 2, 3].map(|column| row.get(column));
                    in_detail(tx.insert_or_find_columns(table, &values))
                }
            };
            let (key, there) = (key(number), tx.rows(TABLE).expect("a table"));
            let there = there.get(&key).expect("readable").map(|row| row.address());
            match model.get(&(name.clone(), part(number))) {
                Some(_) => assert_eq!(put.ok(), there.map(|at| (at, false))),
                None if taken.is_some() => {
                    let found = matches!(put, Err(TableError::DuplicateValue { .. }));
                    assert!(found && there.is_none(), "{put:?}");
                }
                None => {
                    assert_eq!(put.ok(), there.map(|at| (at, true)));
                    model.insert((name, part(number)), (value, *numbers));
                }
            }
        }
        What::Update(number, content) => {
            let change = [("value", Value::Bytes(value(content)))];
            let updated = tx
                .rows(TABLE)
                .expect("a table")
                .update(&key(number), &change);
            let there = model.get_mut(&(name(number), part(number)));
            assert_eq!(updated.expect("updated"), there.is_some());
            if let Some((bytes, _)) = there {
                *bytes = value(content);
            }
        }
        What::Delete(number) => {
            let deleted = tx.rows(TABLE).expect("a table").delete(&key(number));
            let there = model.remove(&(name(number), part(number)));
            assert_eq!(deleted.expect("deleted"), there.is_some());
        }
        What::Mark => marks.push((tx.savepoint(), model.clone())),
        What::Return => {
            if let Some((mark, before)) = marks.pop() {
                tx.rollback_to(mark).expect("a mark");
                *model = before;
            }
        }
    }
}

/// All keys that there may be are found, or not, as the model says.
fn check(state: &impl ReadRows, model: &Model) {
    let named = state.definitions().iter().position(|d| d.name == TABLE);
    let table = named.expect("the table") as u16;
    assert_eq!(
        state.count_rows(table).expect("a table"),
        model.len() as u64
    );
    for number in 0..120 {
        let found = state.get_row(table, &key(number)).expect("readable");
        let there = model.get(&(name(number), part(number)));
        assert_eq!(found.is_some(), there.is_some(), "{number}");
        if let (Some(row), Some((bytes, number))) = (found, there) {
            assert_eq!(
                row.value_at(1).expect("readable").to_value(),
                Value::Bytes(bytes.clone())
            );
            assert_eq!(
                row.value_at(3).expect("readable").to_value(),
                Value::Int((*number).into())
            );
        }
    }
}

fn what() -> impl Strategy<Value = What> {
    let number = 0..120_u8;
    prop_oneof![
        6 => (number.clone(), any::<u16>()).prop_map(|(n, c)| What::Insert(n, c)),
        6 => (number.clone(), any::<u16>(), prop::bool::weighted(0.2))
            .prop_map(|(n, c, taken)| What::InsertOrFind(n, c, taken)),
        3 => (number.clone(), any::<u16>()).prop_map(|(n, c)| What::Update(n, c)),
        4 => number.prop_map(What::Delete),
        1 => Just(What::Mark),
        1 => Just(What::Return),
    ]
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        8 => (prop::collection::vec(what(), 1..12), any::<bool>())
            .prop_map(|(steps, commits)| Happening::Transaction(steps, commits)),
        1 => (1..4_usize).prop_map(Happening::Reopen),
        1 => (1..60_u16).prop_map(Happening::Fill),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sardonyx_base::random::cases(16)))]

    #[test]
    fn rows_are_found_by_hashed_names_as_a_map_finds_them(
        happenings in prop::collection::vec(happening(), 1..24),
        hashed_at in 0..12_usize,
        gives_up in any::<bool>(),
    ) {
        let mut world = World::with_memory(STORE_BYTES);
        // Ordered at first, and hashed from some transaction on; once that is given up.
        let kind = if hashed_at == 0 { IndexKind::Hash } else { IndexKind::Ordered };
        let table = world.commit(|tx| tx.create_table(TABLE, schema(kind)).expect("created"));
        let (mut model, mut numbers) = (Model::new(), 0);
        for (at, happening) in happenings.into_iter().enumerate() {
            if at + 1 == hashed_at {
                let mut tx = world.space.begin(&mut world.log);
                if gives_up {
                    tx.hash_primary_key(table).expect("hashed");
                    step(&mut tx, &mut model.clone(), &mut Vec::new(), &mut numbers, What::Delete(3));
                    tx.abort();
                    check(&world.space.view(), &model);
                    tx = world.space.begin(&mut world.log);
                }
                tx.hash_primary_key(table).expect("hashed");
                tx.commit();
                world.redo();
                check(&world.space.view(), &model);
            }
            match happening {
                Happening::Transaction(steps, commits) => {
                    let snapshot = world.space.snapshot().expect("a snapshot");
                    let (before, mut marks) = (model.clone(), Vec::new());
                    let mut tx = world.space.begin(&mut world.log);
                    for what in steps {
                        step(&mut tx, &mut model, &mut marks, &mut numbers, what);
                    }
                    check(&tx, &model);
                    match commits {
                        true => drop(tx.commit()),
                        false => {
                            tx.abort();
                            model = before.clone();
                        }
                    }
                    check(&&*snapshot, &before);
                    world.redo();
                }
                Happening::Reopen(workers) => drop(world.reopen(workers)),
                Happening::Fill(count) => world.commit(|tx| {
                    for number in 0..count {
                        numbers += 1;
                        let bytes = [b"filled ".as_slice(), &number.to_be_bytes()].concat();
                        let key = [Value::Bytes(bytes.clone()), Value::Int(7)];
                        let mut rows = tx.rows(TABLE).expect("a table");
                        if rows.get(&key).expect("readable").is_some() {
                            rows.delete(&key).expect("deleted");
                        }
                        let [name, part] = key;
                        let values = [name, Value::Bytes(value(number)), part, Value::Int(numbers.into())];
                        rows.insert_values(&values).expect("a new key");
                        model.insert((bytes, 7), (value(number), numbers));
                    }
                }),
            }
            check(&world.space.view(), &model);
        }
        let hashed = world.space.view().rows(TABLE).expect("a table").schema().primary.kind;
        // Only an ordered one has an order.
        let index: Result<(), Error> = world.space.view().rows(TABLE).expect("a table").index(PRIMARY).map(drop);
        prop_assert_eq!(index.is_ok(), hashed == IndexKind::Ordered);
    }
}

/// An index of many shards, of keys whose first bytes are the same.
#[test]
fn many_names_are_hashed_at_an_opening_and_one_by_one() {
    let mut world = World::with_memory(STORE_BYTES);
    let text = |number: u64| format!("a key with a long beginning {number:012}");
    world.commit(|tx| {
        let schema = Schema::new().column("key", Type::Text).primary_key(["key"]);
        tx.create_table("texts", schema).expect("created");
    });
    for first in (0..50_000).step_by(5_000) {
        world.commit(|tx| {
            let mut rows = tx.rows("texts").expect("a table");
            for number in first..first + 5_000 {
                rows.insert_values(&[text(number).into()]).expect("new");
            }
        });
    }
    for workers in [0, 1, 3] {
        if workers > 0 {
            world.reopen(workers);
        }
        let view = world.space.view();
        let rows = view.rows("texts").expect("a table");
        for number in (0..50_000).step_by(7) {
            assert!(
                rows.get(&[text(number).into()])
                    .expect("readable")
                    .is_some()
            );
        }
        assert!(
            rows.get(&[text(50_000).into()])
                .expect("readable")
                .is_none()
        );
    }
}

/// A row that is inserted unless it is there is found by its key as it is stored: with the column's default, and as the declared
/// type of the column has it.
#[test]
fn a_key_is_found_as_it_is_stored() {
    for kind in [IndexKind::Hash, IndexKind::Ordered] {
        let mut world = World::with_memory(STORE_BYTES);
        world.commit(|tx| {
            let of = |schema: SchemaBuilder| match kind {
                IndexKind::Hash => schema,
                IndexKind::Ordered => schema.ordered(),
            };
            let by_default = Schema::new()
                .column("key", Type::Text)
                .default_value("usual");
            let by_default = by_default.column("n", Type::I64).primary_key(["key"]);
            let by_default = tx
                .create_table("by_default", of(by_default))
                .expect("created");
            let fitted = Schema::new().column("key", Type::Decimal { scale: 2 });
            let fitted = fitted.column("n", Type::I64).primary_key(["key"]);
            let fitted = tx.create_table("fitted", of(fitted)).expect("created");
            // numeric(5, 2)
            let numeric = Declared {
                kind: 1700,
                modifier: (5 << 16 | 2) + 4,
                ..Declared::of(0)
            };
            tx.declare_columns(fitted, vec![numeric]).expect("declared");
            let mut first = [None; 2];
            for n in 0..2 {
                let mut row = RowWriter::new(2);
                row.set(1, ValueRef::Int(n));
                let (at, is_new) = tx
                    .insert_or_find_row(by_default, row)
                    .expect("found or new");
                assert_eq!(
                    (is_new, *first[0].get_or_insert(at)),
                    (n == 0, at),
                    "{kind:?}"
                );
                let mut row = RowWriter::new(2);
                row.set(0, ValueRef::Decimal(1500 + n, 3));
                row.set(1, ValueRef::Int(n));
                let (at, is_new) = tx.insert_or_find_row(fitted, row).expect("found or new");
                assert_eq!(
                    (is_new, *first[1].get_or_insert(at)),
                    (n == 0, at),
                    "{kind:?}"
                );
            }
        });
    }
}

#[test]
fn a_key_of_bytes_alone_is_found_by_its_hash_and_by_its_bytes_where_they_stand() {
    let mut world = World::with_memory(STORE_BYTES);
    let schema = Schema::new()
        .column("name", Type::Bytes)
        .column("number", Type::U64)
        .primary_key(["name"]);
    let table = world.commit(|tx| {
        let schema = schema.build().expect("a schema");
        tx.create_table(TABLE, schema).expect("create")
    });
    let hash = |world: &World, number: u8| {
        let hash = world.space.hash_of(table, &name(number)[..]);
        hash.expect("it is hashed")
    };
    let found = |tx: &Transaction<'_>, hash: u64, number: u8| {
        let name = name(number);
        let by_hash = tx.row_by_hash(table, hash, &name).expect("found");
        let by_key = tx.row_by_key(table, &name[..]).expect("found");
        let there = |row: Option<&sardonyx_rows::RowRef<'_>>| {
            row.map(|row| match ReadRow::value_at(row, 1).expect("a value") {
                ValueRef::Int(number) => number,
                other => panic!("{other:?}"),
            })
        };
        assert_eq!(there(by_hash.as_ref()), there(by_key.as_ref()), "{number}");
        there(by_hash.as_ref())
    };
    let mut before_hash = 0;
    for number in 0..40 {
        let hash = hash(&world, number);
        world.commit(|tx| {
            assert_eq!(found(tx, hash, number), None);
            if let Some(before) = number.checked_sub(1) {
                // Keys are compared: the hash of a row that is there does not find it under another key.
                let other = tx
                    .row_by_hash(table, before_hash, &name(number))
                    .expect("read");
                assert!(other.is_none(), "{before} has not the key of {number}");
            }
            let name = name(number);
            let row = [ValueRef::Bytes(&name), ValueRef::Int(number.into())].map(Some);
            tx.insert_columns(table, Some(hash), &row).expect("insert");
            assert_eq!(found(tx, hash, number), Some(number.into()));
        });
        before_hash = hash;
    }
    world.redo();
    world.reopen(1);
    for number in (0..40).rev() {
        let hash = hash(&world, number);
        world.commit(|tx| {
            assert_eq!(found(tx, hash, number), Some(number.into()));
            let key = [Value::Bytes(name(number))];
            assert!(
                tx.rows_of(table)
                    .expect("rows")
                    .delete(&key)
                    .expect("delete")
            );
            assert_eq!(found(tx, hash, number), None);
        });
    }
}
