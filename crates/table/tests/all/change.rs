//! Columns that are added, dropped, renamed and widened, in transactions that commit or abort, beside changes of rows:
//! compared with maps from names to values after each transaction, after each opening, and in the pages as the redo
//! records alone make them.

use crate::support::{STORE_BYTES, World, hash, store_of};
use proptest::prelude::*;
use sardonyx_rows::schema::{IndexDefinition, IndexKind, KeyPart, Schema, Type, Value};
use sardonyx_rows::{DefineRows, ReadRows};
use sardonyx_table::{TableSpace, Transaction, View};
use std::collections::BTreeMap;

/// A row: its columns' values by name.
type Row = BTreeMap<String, Value>;

/// The expected table.
#[derive(Clone, Default, Debug)]
struct Model {
    /// Name, type, whether nullable, default.
    columns: Vec<(String, Type, bool, Value)>,
    rows: BTreeMap<u64, Row>,
}

const TABLE: &str = "things";

fn first_schema() -> Schema {
    let schema = Schema::new()
        .column("id", Type::U64)
        .column("text", Type::Text)
        .nullable()
        .column("small", Type::I16)
        .default_value(7)
        .primary_key(["id"]);
    schema.build().expect("a schema")
}

impl Model {
    fn new() -> Self {
        let column =
            |name: &str, kind, nullable, default| (name.to_string(), kind, nullable, default);
        Model {
            columns: vec![
                column("id", Type::U64, false, Value::Null),
                column("text", Type::Text, true, Value::Null),
                column("small", Type::I16, false, Value::Int(7)),
            ],
            rows: BTreeMap::new(),
        }
    }

    fn check(&self, view: &View<'_>) {
        let rows = view.rows(TABLE).expect("the table");
        let names: Vec<_> = rows
            .schema()
            .live_columns()
            .map(|(_, c)| (&c.name, c.kind))
            .collect();
        let mut expected: Vec<_> = self
            .columns
            .iter()
            .map(|(name, kind, ..)| (name, *kind))
            .collect();
        // A widened column is the last.
        expected.sort_by_key(|(name, _)| *name);
        let mut sorted = names.clone();
        sorted.sort_by_key(|(name, _)| *name);
        assert_eq!(sorted, expected);
        assert_eq!(rows.count().expect("counted"), self.rows.len() as u64);
        let mut scanned = 0;
        for row in rows.scan() {
            let row = row.expect("a row");
            let Value::Int(id) = row.get("id").expect("a key").to_value() else {
                panic!("a key is a number");
            };
            let expected = &self.rows[&(id as u64)];
            for (name, _) in &names {
                let value = row.get(name).expect("a value").to_value();
                assert_eq!(&value, &expected[*name], "{name} of {id}");
            }
            scanned += 1;
        }
        assert_eq!(scanned, self.rows.len());
        for id in self.rows.keys() {
            let found = rows.get(&[Value::Int((*id).into())]).expect("a key");
            assert!(found.is_some(), "{id}");
        }
    }
}

#[derive(Clone, Debug)]
enum Change {
    Insert(u64, u16),
    Update(u64, u8, u16),
    Delete(u64),
    Add(u8, bool, u16),
    Drop(u8),
    Rename(u8),
    Widen(u8),
}

fn value_of(kind: Type, seed: u16) -> Value {
    match kind {
        Type::Text => Value::Text("ü".repeat(usize::from(seed) % 3000)),
        Type::F32 | Type::F64 => Value::Float(f64::from(seed) / 4.0),
        Type::Bool => Value::Bool(seed.is_multiple_of(2)),
        Type::I8 => Value::Int(i128::from(seed as i8)),
        _ => Value::Int(i128::from(seed % 30_000)),
    }
}

const TYPES: [Type; 6] = [
    Type::Text,
    Type::F32,
    Type::Bool,
    Type::I8,
    Type::U32,
    Type::I16,
];

fn apply(model: &mut Model, tx: &mut Transaction<'_>, change: &Change, number: usize) {
    let pick = |model: &Model, which: u8| {
        let at = 1 + usize::from(which) % (model.columns.len().max(2) - 1);
        model.columns.get(at).cloned()
    };
    match *change {
        Change::Insert(id, seed) => {
            let row: Row = model
                .columns
                .iter()
                .map(|(name, kind, _, default)| {
                    let value = match (&**name, seed % 3) {
                        ("id", _) => Value::Int(id.into()),
                        (_, 0) if *default != Value::Null => default.clone(),
                        _ => value_of(*kind, seed),
                    };
                    (name.clone(), value)
                })
                .collect();
            let named: Vec<_> = row
                .iter()
                .map(|(name, value)| (&**name, value.clone()))
                .collect();
            let inserted = tx.rows(TABLE).expect("the table").insert(&named);
            assert_eq!(
                inserted.is_ok(),
                !model.rows.contains_key(&id),
                "{inserted:?}"
            );
            model.rows.entry(id).or_insert(row);
        }
        Change::Update(id, which, seed) => {
            let Some((name, kind, nullable, _)) = pick(model, which) else {
                return;
            };
            let value = match nullable && seed % 4 == 0 {
                true => Value::Null,
                false => value_of(kind, seed),
            };
            let mut rows = tx.rows(TABLE).expect("the table");
            let updated = rows.update(&[Value::Int(id.into())], &[(&name, value.clone())]);
            assert_eq!(updated.expect("updated"), model.rows.contains_key(&id));
            if let Some(row) = model.rows.get_mut(&id) {
                row.insert(name, value);
            }
        }
        Change::Delete(id) => {
            let deleted = tx
                .rows(TABLE)
                .expect("the table")
                .delete(&[Value::Int(id.into())]);
            assert_eq!(deleted.expect("deleted"), model.rows.remove(&id).is_some());
        }
        Change::Add(kind, nullable, seed) => {
            let kind = TYPES[usize::from(kind) % TYPES.len()];
            let default = match nullable && seed % 2 == 0 {
                true => Value::Null,
                false => value_of(kind, seed % 200),
            };
            let name = format!("added {number}");
            tx.add_column(TABLE, &name, kind, nullable, default.clone())
                .expect("added");
            for row in model.rows.values_mut() {
                row.insert(name.clone(), default.clone());
            }
            model.columns.push((name, kind, nullable, default));
        }
        Change::Drop(which) => {
            if let Some((name, ..)) = pick(model, which) {
                tx.drop_column(TABLE, &name).expect("dropped");
                model.columns.retain(|(other, ..)| *other != name);
                model.rows.values_mut().for_each(|row| {
                    row.remove(&name);
                });
            }
        }
        Change::Rename(which) => {
            if let Some((name, ..)) = pick(model, which) {
                let new = format!("renamed {number}");
                tx.rename_column(TABLE, &name, &new).expect("renamed");
                for (other, ..) in &mut model.columns {
                    if *other == name {
                        other.clone_from(&new);
                    }
                }
                for row in model.rows.values_mut() {
                    let value = row.remove(&name).expect("a value");
                    row.insert(new.clone(), value);
                }
            }
        }
        Change::Widen(which) => {
            let Some((name, kind, ..)) = pick(model, which) else {
                return;
            };
            let to = match kind {
                Type::F32 => Type::F64,
                Type::I8 => Type::I32,
                Type::I16 | Type::U32 | Type::I32 => Type::I64,
                _ => {
                    let refused = tx.widen_column(TABLE, &name, Type::I64);
                    assert!(refused.is_err());
                    return;
                }
            };
            tx.widen_column(TABLE, &name, to).expect("widened");
            let column = model.columns.iter_mut().find(|(other, ..)| *other == name);
            column.expect("the column").1 = to;
        }
    }
}

fn any_change() -> impl Strategy<Value = Change> {
    prop_oneof![
        6 => (0..60_u64, any::<u16>()).prop_map(|(id, seed)| Change::Insert(id, seed)),
        4 => (0..60_u64, any::<u8>(), any::<u16>()).prop_map(|(id, which, seed)| Change::Update(id, which, seed)),
        2 => (0..60_u64).prop_map(Change::Delete),
        2 => (any::<u8>(), any::<bool>(), any::<u16>()).prop_map(|(kind, n, seed)| Change::Add(kind, n, seed)),
        1 => any::<u8>().prop_map(Change::Drop),
        1 => any::<u8>().prop_map(Change::Rename),
        1 => any::<u8>().prop_map(Change::Widen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sardonyx_base::random::cases(30)))]

    #[test]
    fn columns_change_with_the_data(
        transactions in proptest::collection::vec(
            (proptest::collection::vec(any_change(), 1..12), any::<bool>(), any::<u8>()), 1..14),
    ) {
        let mut world = World::with_memory(STORE_BYTES);
        let mut model = Model::new();
        world.commit(|tx| tx.create_table(TABLE, first_schema()).expect("created"));
        let mut number = 0;
        for (changes, aborts, then) in transactions {
            let mut after = model.clone();
            let pages = world.space.pages().to_vec();
            let mut tx = world.space.begin(&mut world.log);
            for change in &changes {
                number += 1;
                apply(&mut after, &mut tx, change, number);
            }
            if aborts {
                tx.abort();
                let (before, more) = world.space.pages().split_at(pages.len());
                prop_assert!(before == pages && more.iter().all(|&byte| byte == 0));
            } else {
                tx.commit();
                model = after;
            }
            world.redo();
            model.check(&world.space.view());
            if then % 3 == 0 {
                world.reopen(2);
                model.check(&world.space.view());
            }
        }
        // The state after a crash: made of the redo records alone.
        let (space, _) = TableSpace::open_with(store_of(&world.redone), 1, hash()).expect("open");
        model.check(&space.view());
    }
}

#[test]
fn a_column_is_added_at_once_and_old_rows_move_when_they_get_a_value() {
    let mut world = World::with_memory(STORE_BYTES);
    world.commit(|tx| {
        tx.create_table(TABLE, first_schema()).expect("created");
        let mut rows = tx.rows(TABLE).expect("the table");
        for id in 0..5000_u64 {
            rows.insert(&[("id", id.into())]).expect("inserted");
        }
    });
    let pages = world.space.pages().to_vec();
    world.commit(|tx| {
        tx.add_column(TABLE, "more", Type::I64, false, 9.into())
            .expect("added")
    });
    let changed = pages.chunks(4096).zip(world.space.pages().chunks(4096));
    let changed = changed.filter(|(before, after)| before != after).count();
    // One of the schema, as many of the catalogue as it may take; none of the rows.
    assert!((1..=3).contains(&changed), "{changed} pages");
    world.reopen(2);
    world.commit(|tx| {
        let mut rows = tx.rows(TABLE).expect("the table");
        rows.update(&[3.into()], &[("small", 1.into())])
            .expect("updated");
        rows.update(&[4.into()], &[("more", 1.into())])
            .expect("updated");
        assert!(rows.delete(&[5.into()]).expect("deleted"));
        rows.insert(&[("id", 5.into())]).expect("inserted");
    });
    world.reopen(2);
    let view = world.space.view();
    let more = |id: u64| {
        let row = view
            .rows(TABLE)
            .expect("the table")
            .get(&[id.into()])
            .expect("a key");
        row.expect("a row").get("more").expect("a value").to_value()
    };
    assert_eq!([more(3), more(4), more(5)], [9.into(), 1.into(), 9.into()]);
    assert_eq!(
        view.rows(TABLE)
            .expect("the table")
            .count()
            .expect("counted"),
        5000
    );
}

/// Pages with rows of the first table, whose number is in their last words.
fn pages_with_rows(world: &World) -> usize {
    let pages = world.space.pages().chunks(4096).skip(25);
    pages.filter(|page| page[4088..4091] == [1, 0, 0]).count()
}

#[test]
fn pages_of_earlier_shapes_are_used_again_when_their_last_row_has_gone() {
    let mut world = World::with_memory(STORE_BYTES);
    world.commit(|tx| {
        tx.create_table(TABLE, first_schema()).expect("created");
        let mut rows = tx.rows(TABLE).expect("the table");
        for id in 0..3000_u64 {
            rows.insert(&[("id", id.into())]).expect("inserted");
        }
    });
    let before = pages_with_rows(&world);
    // Rewritten in another shape, twice: once undone.
    let mut tx = world.space.begin(&mut world.log);
    tx.widen_column(TABLE, "small", Type::I64).expect("widened");
    tx.abort();
    world.redo();
    assert_eq!(pages_with_rows(&world), before);
    for kind in [Type::I32, Type::I64] {
        world.commit(|tx| tx.widen_column(TABLE, "small", kind).expect("widened"));
    }
    let row_bytes = world.space.schema(0).expect("a table").row_bytes;
    let needed = 3000_usize.div_ceil(4096 / row_bytes - 2);
    let after = pages_with_rows(&world);
    assert!(
        after <= needed.max(before) + 3,
        "{before}, then {after} pages of {needed}"
    );
    world.reopen(2);
    world.commit(|tx| {
        let mut rows = tx.rows(TABLE).expect("the table");
        for id in 0..3000_u64 {
            assert!(rows.delete(&[id.into()]).expect("deleted"));
            rows.insert(&[("id", id.into()), ("small", 5.into())])
                .expect("inserted");
        }
    });
    assert!(pages_with_rows(&world) <= after + 1);
    assert_eq!(world.reopen(1).records, 3001, "with the schema");
}

#[test]
fn what_cannot_be_changed_is_refused_and_nothing_is_done() {
    let mut world = World::with_memory(STORE_BYTES);
    let schema = Schema::new()
        .column("id", Type::U64)
        .column("kind", Type::I8)
        .column("rest", Type::I32)
        .primary_key(["id"])
        .index("by_kind", ["kind"])
        .check("positive", "rest > 0");
    world.commit(|tx| tx.create_table("t", schema).expect("created"));
    let before = world.space.pages().to_vec();
    type Try = fn(&mut Transaction<'_>) -> Result<(), sardonyx_base::error::Error>;
    let tries: [(Try, &str); 10] = [
        (
            |tx| tx.add_column("t", "rest", Type::I8, true, Value::Null),
            "two columns",
        ),
        (
            |tx| tx.add_column("t", "new", Type::I8, false, Value::Null),
            "give it a default",
        ),
        (
            |tx| tx.add_column("t", "new", Type::I8, false, 300.into()),
            "no value of type i8",
        ),
        (
            |tx| tx.add_column("no", "new", Type::I8, true, Value::Null),
            "\"no\"",
        ),
        (|tx| tx.drop_column("t", "id"), "index \"primary\""),
        (|tx| tx.drop_column("t", "kind"), "index \"by_kind\""),
        (|tx| tx.drop_column("t", "rest"), "condition \"positive\""),
        (|tx| tx.rename_column("t", "rest", "id"), "two columns"),
        (
            |tx| tx.widen_column("t", "rest", Type::I16),
            "not every value",
        ),
        (
            |tx| tx.drop_column("sardonyx.schemas", "key"),
            "engine's own",
        ),
    ];
    for (change, said) in tries {
        let text = world.commit(change).expect_err(said).to_string();
        assert!(text.contains(said), "{said}: {text}");
        assert!(world.space.pages() == before, "{said}");
    }
    world.commit(|tx| tx.rename_column("t", "rest", "left").expect("renamed"));
    let schema = world.space.schema(0).expect("a table");
    assert_eq!(schema.checks[0].1, "left > 0");
}

/// An index of a column that was added: rows of earlier shapes do not have its bytes, so they are rewritten.
#[test]
fn an_index_of_an_added_column_has_the_rows_of_before() {
    let index = |unique| IndexDefinition {
        name: "by_more".to_string(),
        kind: IndexKind::Ordered,
        unique,
        deferrable: false,
        nulls_equal: false,
        key: vec![KeyPart {
            column: 3,
            descending: false,
        }],
    };
    let mut world = World::with_memory(STORE_BYTES);
    world.commit(|tx| {
        tx.create_table(TABLE, first_schema()).expect("created");
        let mut rows = tx.rows(TABLE).expect("the table");
        for id in 0..1000_u64 {
            rows.insert(&[
                ("id", id.into()),
                ("text", "t".repeat(id as usize % 40).into()),
            ])
            .expect("inserted");
        }
    });
    world.commit(|tx| {
        tx.add_column(TABLE, "more", Type::I64, false, 9.into())
            .expect("added");
        let mut rows = tx.rows(TABLE).expect("the table");
        rows.update(&[4.into()], &[("more", 1.into())])
            .expect("updated");
    });
    let before = world.space.pages().to_vec();
    let refused = world.commit(|tx| tx.create_index(0, index(true)));
    assert!(refused.is_err(), "999 rows have the default");
    assert!(world.space.pages()[..before.len()] == before);
    world.commit(|tx| tx.create_index(0, index(false)).expect("created"));
    for _ in 0..2 {
        let rows = world.space.view().rows(TABLE).expect("the table");
        assert_eq!(rows.count().expect("counted"), 1000);
        for row in rows.scan() {
            let row = row.expect("a row");
            let id = row.get("id").expect("a key").to_value();
            let more = if id == 4.into() { 1 } else { 9 };
            assert_eq!(row.get("more").expect("a value").to_value(), more.into());
        }
        // Every key of the index is of a row: it is built anew, and rows leave it.
        world.reopen(2);
        world.commit(|tx| {
            let mut rows = tx.rows(TABLE).expect("the table");
            rows.update(&[7.into()], &[("more", 2.into())])
                .expect("updated");
            rows.update(&[7.into()], &[("more", 9.into())])
                .expect("updated");
        });
    }
}

/// A renamed index keeps its tree: no memory is taken, rows are found by the new name, and undoing gives the old one back.
#[test]
fn a_renamed_index_is_not_built_anew() {
    let mut world = World::with_memory(STORE_BYTES);
    let schema = Schema::new()
        .column("id", Type::U64)
        .column("kind", Type::I64)
        .primary_key(["id"])
        .index("by_kind", ["kind"])
        .index("once", ["kind", "id"])
        .unique();
    world.commit(|tx| {
        tx.create_table(TABLE, schema.build().expect("a schema"))
            .expect("created");
        let mut rows = tx.rows(TABLE).expect("the table");
        for id in 0..20_000_u64 {
            rows.insert(&[("id", id.into()), ("kind", (id % 7).into())])
                .expect("inserted");
        }
    });
    let before = world.space.index_bytes();
    let names = |world: &World| -> Vec<String> {
        let schema = world.space.schema(0).expect("a table");
        schema
            .indexes
            .iter()
            .map(|index| index.name.clone())
            .collect()
    };
    world.commit(|tx| {
        let mark = tx.savepoint();
        DefineRows::rename_constraint(tx, 0, "by_kind", "other").expect("renamed");
        tx.drop_index(0, "once").expect("dropped");
        tx.rollback_to(mark).expect("undone");
        DefineRows::rename_constraint(tx, 0, "by_kind", "once").expect_err("taken");
        DefineRows::rename_constraint(tx, 0, "once", "single").expect("renamed");
        DefineRows::rename_constraint(tx, 0, "by_kind", "once").expect("renamed");
    });
    assert_eq!(names(&world), ["once", "single"]);
    assert_eq!(world.space.index_bytes(), before);
    for _ in 0..2 {
        world.commit(|tx| {
            let mut rows = tx.rows(TABLE).expect("the table");
            rows.update(&[3.into()], &[("kind", 100.into())])
                .expect("updated");
        });
        let view = world.space.view();
        let of_kind = |kind: i64| {
            let key = [Value::from(kind)];
            let index = view.row_index(0, "once").expect("an index");
            index.range(&key[..]..=&key[..]).expect("a range").count()
        };
        assert_eq!((of_kind(100), of_kind(3), of_kind(4)), (1, 2856, 2857));
        assert!(view.row_index(0, "by_kind").is_err());
        world.reopen(2);
    }
}
