//! Rows by their columns, against a plain map of values: all types, texts and bytes of 0 to 40,000 bytes that grow and
//! shrink, and transactions that are undone. After each the pages are made by the log alone, opened and read.

mod conversions;
mod values;

use crate::support::{World, hash, in_detail, store_of};
use proptest::prelude::*;
use sardonyx_base::error::Error;
use sardonyx_base::resident::Resident;
use sardonyx_rows::schema::{
    Column, IndexDefinition, KeyPart, NullBit, Schema, Type, Value, ValueRef,
};
use sardonyx_rows::{RowError, TableError, WriteRows, record};
use sardonyx_table::{TableSpace, Transaction, View};
use std::collections::BTreeMap;
use values::value_of;

/// A schema of these columns: placed as `repr(C)` does, the null bits behind them.
fn schema(columns: &[(&str, Type, bool, Value)], key: &[usize]) -> Schema {
    let mut at = 0;
    let mut schema = Schema::default();
    for (name, kind, _, default) in columns {
        at = usize::next_multiple_of(at, kind.align());
        schema.columns.push(Column {
            name: name.to_string(),
            kind: *kind,
            default: default.clone(),
            offset: at,
            null: None,
            dropped: false,
            since_shape: 0,
        });
        at += kind.bytes();
    }
    let nullable = columns.iter().zip(&mut schema.columns);
    for (n, (_, column)) in nullable
        .filter(|((_, _, nullable, _), _)| *nullable)
        .enumerate()
    {
        let (byte, bit) = ((at + n / 8) as u32, (n % 8) as u8);
        column.null = Some(NullBit { byte, bit });
    }
    schema.row_bytes = (at + columns.len().div_ceil(8)).next_multiple_of(8);
    let part = |&column: &usize| KeyPart {
        column,
        descending: false,
    };
    schema.primary = IndexDefinition {
        name: "primary".to_string(),
        unique: true,
        key: key.iter().map(part).collect(),
        ..IndexDefinition::default()
    };
    schema
}

const PLAIN: Type = Type::Plain {
    bytes: 20,
    align: 4,
    fingerprint: 9,
};

/// All types, most of them nullable.
fn things() -> Schema {
    let types = [
        ("flag", Type::Bool),
        ("a", Type::I8),
        ("b", Type::I16),
        ("c", Type::I32),
        ("d", Type::I64),
        ("e", Type::I128),
        ("f", Type::U8),
        ("g", Type::U16),
        ("h", Type::U32),
        ("i", Type::U64),
        ("j", Type::U128),
        ("k", Type::F32),
        ("l", Type::F64),
        ("m", Type::Decimal { scale: 2 }),
        ("text", Type::Text),
        ("bytes", Type::Bytes),
        ("n", Type::Date),
        ("o", Type::Time),
        ("p", Type::Timestamp),
        ("q", Type::Uuid),
        ("r", PLAIN),
        ("note", Type::Text),
        ("count", Type::U64),
        ("first", Type::I64),
        ("value", Type::Bytes),
    ];
    let mut columns = vec![("id", Type::U64, false, Value::Null)];
    columns.extend(types.map(|(name, kind)| {
        let default = match (name, kind) {
            (_, Type::Text) => Value::Text("a default that stands in a cell".to_string()),
            ("count" | "first", _) => 0.into(),
            ("value", _) => vec![7; 13].into(),
            _ => Value::Null,
        };
        (name, kind, !NEVER_NULL.contains(&name), default)
    }));
    schema(&columns, &[0])
}

/// Columns that are set where they stand: see `transaction/columns.rs`.
const NEVER_NULL: [&str; 4] = ["note", "count", "first", "value"];

#[derive(Clone, Debug)]
enum Change {
    Insert(u64, Vec<(usize, Value)>),
    Update(u64, Vec<(usize, Value)>),
    Put(u64, Vec<(usize, Value)>),
    /// Sets columns by their numbers.
    Set(u64, Vec<(usize, Value)>),
    Delete(u64),
    /// One that is refused: half-way, after another column was stored.
    Refused(u64),
}

fn values() -> impl Strategy<Value = Vec<(usize, Value)>> {
    values_from(1, 0..6)
}

/// Values of columns from one on.
fn values_from(
    first: usize,
    count: std::ops::Range<usize>,
) -> impl Strategy<Value = Vec<(usize, Value)>> {
    let columns = prop::collection::btree_set(first..things().columns.len(), count);
    columns.prop_flat_map(|columns| {
        let schema = things();
        let one = move |column: usize| {
            let kind = schema.columns[column].kind;
            let null = match schema.columns[column].is_nullable() {
                true => 1,
                false => 0,
            };
            prop_oneof![null => Just(Value::Null), 5 => value_of(kind)]
                .prop_map(move |value| (column, value))
        };
        columns.into_iter().map(one).collect::<Vec<_>>()
    })
}

fn change() -> impl Strategy<Value = Change> {
    let key = 0..8u64;
    prop_oneof![
        3 => (key.clone(), values()).prop_map(|(key, values)| Change::Insert(key, values)),
        3 => (key.clone(), values()).prop_map(|(key, values)| Change::Update(key, values)),
        2 => (key.clone(), values()).prop_map(|(key, values)| Change::Put(key, values)),
        2 => (key.clone(), values()).prop_map(|(key, values)| Change::Set(key, values)),
        4 => (key.clone(), values_from(things().columns.len() - NEVER_NULL.len(), 1..4))
            .prop_map(|(key, values)| Change::Set(key, values)),
        1 => key.clone().prop_map(Change::Delete),
        1 => key.prop_map(Change::Refused),
    ]
}

type Model = BTreeMap<u64, Vec<Value>>;

fn named<'a>(
    schema: &'a Schema,
    key: Option<u64>,
    values: &[(usize, Value)],
) -> Vec<(&'a str, Value)> {
    let key = key.map(|key| ("id", Value::from(key)));
    let values = values
        .iter()
        .map(|(n, value)| (schema.columns[*n].name.as_str(), value.clone()));
    key.into_iter().chain(values).collect()
}

fn whole(schema: &Schema, key: u64, values: &[(usize, Value)]) -> Vec<Value> {
    let mut row: Vec<_> = schema
        .columns
        .iter()
        .map(|column| column.default.clone())
        .collect();
    row[0] = key.into();
    values.iter().for_each(|(n, value)| row[*n] = value.clone());
    row
}

fn run(tx: &mut Transaction<'_>, schema: &Schema, model: &mut Model, change: &Change) {
    let mut rows = tx.rows("things").expect("the table");
    match change {
        Change::Insert(key, values) => {
            let inserted = rows.insert(&named(schema, Some(*key), values));
            if model.contains_key(key) {
                assert!(matches!(
                    in_detail(inserted),
                    Err(TableError::DuplicateKey { .. })
                ));
            } else {
                inserted.expect("insert");
                model.insert(*key, whole(schema, *key, values));
            }
        }
        Change::Update(key, values) => {
            let found = rows
                .update(&[(*key).into()], &named(schema, None, values))
                .expect("update");
            assert_eq!(found, model.contains_key(key));
            if let Some(row) = model.get_mut(key) {
                values.iter().for_each(|(n, value)| row[*n] = value.clone());
            }
        }
        Change::Put(key, values) => {
            let found = rows.put(&named(schema, Some(*key), values)).expect("put");
            assert_eq!(
                found,
                model.insert(*key, whole(schema, *key, values)).is_some()
            );
        }
        Change::Set(key, values) => {
            let number = rows.number();
            let at = tx.find_row(number, &[ValueRef::Int((*key).into())]);
            let at = at.expect("find");
            assert_eq!(at.is_some(), model.contains_key(key));
            if let (Some(at), Some(row)) = (at, model.get_mut(key)) {
                let columns: Vec<_> = values
                    .iter()
                    .map(|(n, value)| (*n, value.as_ref()))
                    .collect();
                tx.set_columns(number, at, &columns).expect("set");
                values.iter().for_each(|(n, value)| row[*n] = value.clone());
            }
        }
        Change::Delete(key) => {
            let found = rows.delete(&[(*key).into()]).expect("delete");
            assert_eq!(found, model.remove(key).is_some());
        }
        Change::Refused(key) => {
            let changes = [("text", "x".repeat(5000).into()), ("f", 300.into())];
            let key = Value::from(*key);
            if rows.get(std::slice::from_ref(&key)).expect("get").is_some() {
                let refused = in_detail(rows.update(std::slice::from_ref(&key), &changes));
                assert!(matches!(
                    refused,
                    Err(TableError::Row(error)) if matches!(*error, RowError::OutOfRange { .. })
                ));
                // The same where columns stand.
                let (number, of) = (rows.number(), |name| schema.column(name).expect("a column"));
                let at = tx.find_row(number, &[key.as_ref()]).expect("find");
                let long = [9; 5000];
                let columns = [
                    (of("first"), ValueRef::Int(-1)),
                    (of("value"), ValueRef::Bytes(&long)),
                    (of("count"), ValueRef::Int(-1)),
                ];
                let refused = tx.set_columns(number, at.expect("a row"), &columns);
                assert!(matches!(
                    refused,
                    Err(TableError::Row(error)) if matches!(*error, RowError::OutOfRange { .. })
                ));
            }
        }
    }
}

fn check(view: &View<'_>, model: &Model) {
    let rows = view.rows("things").expect("the table");
    assert_eq!(rows.count().expect("counted"), model.len() as u64);
    let scanned = rows
        .scan()
        .map(|row| row.expect("a row").to_values().expect("values"));
    let scanned: BTreeMap<_, _> = scanned.map(|row| (format!("{:?}", row[0]), row)).collect();
    let expected: BTreeMap<_, _> = model
        .values()
        .map(|row| (format!("{:?}", row[0]), row.clone()))
        .collect();
    assert!(same(&scanned, &expected), "the scan differs");
    for (key, values) in model {
        let row = rows.get(&[(*key).into()]).expect("get").expect("a row");
        assert_eq!(
            format!("{:?}", row.to_values().expect("values")),
            format!("{values:?}")
        );
    }
}

/// NaN is itself.
fn same(left: &BTreeMap<String, Vec<Value>>, right: &BTreeMap<String, Vec<Value>>) -> bool {
    format!("{left:?}") == format!("{right:?}")
}

fn declare(world: &mut World) {
    world
        .commit(|tx| tx.create_table("things", things()).map(drop))
        .expect("declare");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sardonyx_base::random::cases(24)))]

    #[test]
    fn rows_are_those_of_a_map(
        steps in prop::collection::vec((prop::collection::vec(change(), 1..5), any::<bool>()), 1..12)
    ) {
        let schema = things();
        let mut world = World::with_memory(1 << 30);
        declare(&mut world);
        let mut model = Model::new();
        for (changes, undone) in steps {
            let before = world.space.pages().to_vec();
            let mut changed = model.clone();
            let mut tx = world.space.begin(&mut world.log);
            changes.iter().for_each(|change| run(&mut tx, &schema, &mut changed, change));
            if undone {
                tx.abort();
                let (there, more) = world.space.pages().split_at(before.len());
                prop_assert!(there == before && more.iter().all(|byte| *byte == 0));
            } else {
                tx.commit();
                model = changed;
            }
            world.redo();
            check(&world.space.view(), &model);
            // A crash: the log is all that is left.
            let (recovered, _) = TableSpace::open_with(store_of(&world.redone), 2, hash()).expect("open");
            check(&recovered.view(), &model);
        }
        world.reopen(1);
        check(&world.space.view(), &model);
    }
}

fn refused<T: std::fmt::Debug>(said: Result<T, Error>) -> (RowError, String) {
    let error = in_detail(said).expect_err("refused");
    let text = error.to_string();
    match error {
        TableError::Row(error) => (*error, text),
        other => panic!("{other:?}"),
    }
}

#[derive(Clone, Copy, PartialEq, Debug, Resident)]
#[repr(C)]
struct Pair {
    id: u64,
    much: i32,
    part: f32,
}
record!(Pair { table: "pairs", key: id: u64 });

#[test]
fn a_struct_and_columns_are_the_same_bytes() {
    let mut world = World::with_memory(1 << 30);
    let columns = [
        ("id", Type::U64, false, Value::Null),
        ("much", Type::I32, false, Value::Null),
        ("part", Type::F32, false, Value::Null),
    ];
    let mut schema = schema(&columns, &[0]);
    schema.row_bytes = 16;
    world.commit(|tx| {
        tx.create_table("pairs", schema).expect("declare");
        let table = tx.declare_table::<Pair>().expect("the same table");
        tx.insert(
            table,
            &Pair {
                id: 1,
                much: -5,
                part: 0.5,
            },
        )
        .expect("insert");
        let mut rows = tx.rows("pairs").expect("pairs");
        let row = rows.get(&[1.into()]).expect("get").expect("a row");
        assert_eq!(
            row.to_values().expect("values"),
            [1.into(), (-5).into(), 0.5.into()]
        );
        rows.insert(&[("id", 2.into()), ("much", 9.into()), ("part", 2.into())])
            .expect("insert");
        rows.update(&[1.into()], &[("much", 6.into())])
            .expect("update");
        assert_eq!(
            tx.get(table, 2).expect("read"),
            Some(&Pair {
                id: 2,
                much: 9,
                part: 2.0
            })
        );
        assert_eq!(
            tx.get(table, 1).expect("read"),
            Some(&Pair {
                id: 1,
                much: 6,
                part: 0.5
            })
        );
    });
}

#[test]
fn conditions_are_met_by_every_row() {
    let mut world = World::with_memory(1 << 30);
    let columns = [
        ("id", Type::U32, false, Value::Null),
        ("balance", Type::I64, false, 0.into()),
        ("owner", Type::Text, true, Value::Null),
    ];
    let mut schema = schema(&columns, &[0]);
    schema.checks.push((
        "positive".to_string(),
        "balance >= 0 or owner like 'bank%'".to_string(),
    ));
    world.commit(|tx| {
        tx.create_table("accounts", schema).expect("declare");
        let mut rows = tx.rows("accounts").expect("accounts");
        rows.insert(&[("id", 1.into()), ("owner", "Ada".into())])
            .expect("insert");
        let bank = [
            ("id", 2.into()),
            ("owner", "bank of all".into()),
            ("balance", (-7).into()),
        ];
        rows.insert(&bank).expect("insert");
        let (error, text) = refused(rows.update(&[1.into()], &[("balance", (-1).into())]));
        assert!(
            matches!(error, RowError::Check { .. }) && text.contains("positive"),
            "{text}"
        );
        refused(rows.update(&[2.into()], &[("owner", "Bob".into())]));
        refused(rows.insert(&[
            ("id", 3.into()),
            ("owner", "x".into()),
            ("balance", (-1).into()),
        ]));
        // Unknown is not false.
        rows.update(&[2.into()], &[("owner", Value::Null)])
            .expect("unknown");
        assert_eq!(rows.count().expect("counted"), 2);
    });
}

#[test]
fn keys_of_text_find_their_rows() {
    let mut world = World::with_memory(1 << 30);
    let columns = [
        ("name", Type::Text, false, Value::Null),
        ("n", Type::I32, false, 0.into()),
    ];
    world.commit(|tx| {
        tx.create_table("names", schema(&columns, &[0]))
            .expect("declare");
        let mut rows = tx.rows("names").expect("names");
        for n in 0..20 {
            let name = "x".repeat(n * 7);
            rows.insert(&[("name", name.as_str().into()), ("n", (n as i32).into())])
                .expect("insert");
            assert!(rows.insert(&[("name", name.into())]).is_err());
        }
        assert!(
            rows.update(&["x".repeat(14).into()], &[("n", 99.into())])
                .expect("update")
        );
        assert!(rows.delete(&["x".repeat(21).into()]).expect("delete"));
    });
    world.reopen(1);
    let view = world.space.view();
    let rows = view.rows("names").expect("names");
    let row = rows
        .get(&["x".repeat(14).into()])
        .expect("get")
        .expect("a row");
    assert_eq!(row.get("n").expect("n"), ValueRef::Int(99));
    assert!(rows.get(&["x".repeat(21).into()]).expect("get").is_none());
    assert_eq!(rows.count().expect("counted"), 19);
}

#[test]
fn a_snapshot_reads_rows_as_they_were() {
    let mut world = World::with_memory(1 << 30);
    declare(&mut world);
    let text = |n: u64, round: u64| "ab語".repeat((n * 700 + round) as usize);
    let put = |world: &mut World, round: u64| {
        let mut tx = world.space.begin(&mut world.log);
        let mut rows = tx.rows("things").expect("things");
        for n in round..10 {
            let values = [
                ("id", n.into()),
                ("c", (round as i32).into()),
                ("text", text(n, round).into()),
            ];
            rows.put(&values).expect("put");
        }
        if round > 0 {
            rows.delete(&[(round - 1).into()]).expect("delete");
        }
        tx.commit();
    };
    put(&mut world, 0);
    let first = world.space.snapshot().expect("a snapshot");
    put(&mut world, 1);
    put(&mut world, 2);
    let second = world.space.snapshot().expect("a snapshot");
    for round in 3..6 {
        put(&mut world, round);
    }
    for (snapshot, round, from) in [(&first, 0, 0), (&second, 2, 2)] {
        let rows = snapshot.rows("things").expect("things");
        assert_eq!(rows.count().expect("counted"), 10 - from);
        for n in 0..10u64 {
            let Some(row) = rows.get(&[n.into()]).expect("get") else {
                assert!(n < from, "{n}");
                continue;
            };
            assert_eq!(row.get("c").expect("c"), ValueRef::Int(round));
            assert_eq!(
                row.get("text").expect("text"),
                ValueRef::Text(&text(n, round as u64))
            );
        }
        let scanned = rows
            .scan()
            .map(|row| row.expect("a row").to_values().expect("values"));
        let mut scanned: Vec<_> = scanned.map(|row| format!("{:?}", row[0])).collect();
        scanned.sort();
        let expected: Vec<_> = (from..10)
            .map(|n| format!("{:?}", Value::from(n)))
            .collect();
        assert_eq!(scanned, expected);
        assert!(snapshot.rows("nothing").is_err());
    }
}
