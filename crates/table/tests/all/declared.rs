//! Declarations of columns beside their types: every way in stores the same value or refuses it, and a refused operation has
//! changed nothing.

use crate::support::{STORE_BYTES, World, in_detail};
use proptest::prelude::*;
use sardonyx_base::resident::Resident;
use sardonyx_rows::constraints::{ComputeDefaults, DefaultFailure, Objects};
use sardonyx_rows::schema::{Declared, DeclaredDefault, Schema, Type, Value};
use sardonyx_rows::{RowError, TableError, field, record};
use sardonyx_table::Transaction;
use std::collections::BTreeMap;
use std::sync::Arc;

const CHAR: u32 = 1042;
const VARCHAR: u32 = 1043;
const TIME: u32 = 1083;
const NUMERIC: u32 = 1700;
const DAY: i64 = 86_400_000_000;

fn of(column: usize, kind: u32, modifier: i32) -> Declared {
    Declared {
        kind,
        modifier,
        ..Declared::of(column)
    }
}

/// `t (id, name varchar(3), code char(2), money numeric(5,2), at time(1), must int not null, price int default 7)`, of
/// which all but the key may be null in the engine's eyes.
fn declare(tx: &mut Transaction<'_>) -> u16 {
    let schema = Schema::new()
        .column("id", Type::U64)
        .column("name", Type::Text)
        .nullable()
        .column("code", Type::Text)
        .nullable()
        .column("money", Type::Decimal { scale: 2 })
        .nullable()
        .column("at", Type::Time)
        .nullable()
        .column("must", Type::I32)
        .nullable()
        .column("price", Type::I32)
        .nullable()
        .default_value(1)
        .primary_key(["id"]);
    let number = tx.create_table("t", schema).expect("created");
    let declared = vec![
        of(1, VARCHAR, 7),
        of(2, CHAR, 6),
        of(3, NUMERIC, (5 << 16 | 2) + 4),
        of(4, TIME, 1),
        Declared {
            not_null: true,
            ..Declared::of(5)
        },
        Declared {
            default: Some(DeclaredDefault::Value(7.into())),
            ..Declared::of(6)
        },
    ];
    tx.declare_columns(number, declared).expect("declared");
    number
}

fn world() -> World {
    let mut world = World::with_memory(STORE_BYTES);
    world.commit(declare);
    world
}

fn row(tx: &mut Transaction<'_>, id: u64) -> Vec<Value> {
    let rows = tx.rows("t").expect("a table");
    let row = rows.get(&[id.into()]).expect("read").expect("a row");
    (0..7)
        .map(|column| row.get_at(column).expect("a value").to_value())
        .collect()
}

#[test]
fn values_are_stored_as_they_are_declared_or_refused_by_name() {
    let mut world = world();
    let text = |text: &str| Value::from(text);
    let cases: [(&str, Value, Result<Value, &str>); 12] = [
        ("name", text("äöü"), Ok(text("äöü"))),
        ("name", text("ab   "), Ok(text("ab "))),
        ("name", Value::Bytes(b"ab   ".to_vec()), Ok(text("ab "))),
        ("name", text("abcd"), Err("at most 3 characters")),
        ("code", text("x "), Ok(text("x"))),
        ("code", text("xyz"), Err("character(2)")),
        ("money", Value::Decimal(1005, 3), Ok(Value::Decimal(101, 2))),
        ("money", 999.into(), Ok(Value::Decimal(99_900, 2))),
        (
            "money",
            1000.into(),
            Err("at most 3 digits before the point"),
        ),
        ("at", Value::Time(1_250_000), Ok(Value::Time(1_300_000))),
        ("at", Value::Time(DAY - 1), Err("24 hours")),
        ("must", Value::Null, Err("may not be null")),
    ];
    for (column, given, expected) in cases {
        for way in ["insert", "put", "update"] {
            let what = format!("{way} {column} = {given:?}");
            let given = given.clone();
            world.commit(|tx| {
                let before = match way {
                    "update" => {
                        let values = [("id", 1.into()), ("must", 1.into())];
                        tx.rows("t")
                            .expect("a table")
                            .insert(&values)
                            .expect("inserted");
                        Some(row(tx, 1))
                    }
                    _ => None,
                };
                let mut values = vec![("id", 1.into()), ("must", 1.into())];
                values.retain(|(name, _)| *name != column);
                values.push((column, given));
                let mut rows = tx.rows("t").expect("a table");
                let done = match way {
                    "insert" => rows.insert(&values),
                    "put" => rows.put(&values).map(drop),
                    _ => rows.update(&[1.into()], &values).map(drop),
                };
                match (in_detail(done), &expected) {
                    (Ok(()), Ok(stored)) => {
                        let number = rows.schema().column(column).expect("a column");
                        assert_eq!(row(tx, 1)[number], *stored, "{what}");
                    }
                    (Err(error), Err(said)) => {
                        let error = error.to_string();
                        let names = error.contains("\"t\"") && error.contains(column);
                        assert!(error.contains(said) && names, "{what}: {error}");
                        let rows = tx.rows("t").expect("a table");
                        assert_eq!(
                            rows.count().expect("counted"),
                            u64::from(before.is_some()),
                            "{what}"
                        );
                        if let Some(before) = before {
                            assert_eq!(row(tx, 1), before, "{what}");
                        }
                    }
                    (done, _) => panic!("{what}: {done:?}, and not {expected:?}"),
                }
                let mut rows = tx.rows("t").expect("a table");
                rows.delete(&[1.into()]).expect("deleted");
            });
        }
    }
    let missing = world.commit(|tx| {
        let mut rows = tx.rows("t").expect("a table");
        in_detail(rows.insert(&[("id", 1.into())]))
    });
    assert!(
        matches!(&missing, Err(TableError::Row(error)) if matches!(**error, RowError::Missing { .. })),
        "{missing:?}"
    );
    world.redo();
}

#[test]
fn a_declared_default_goes_before_the_columns_own() {
    let mut world = world();
    world.commit(|tx| {
        let values = [("id", 1.into()), ("must", 1.into())];
        tx.rows("t")
            .expect("a table")
            .insert(&values)
            .expect("inserted");
        assert_eq!(row(tx, 1)[6], 7.into());
        let mut declared = tx.view().schema(0).expect("a table").declared.clone();
        declared[5].default = Some(DeclaredDefault::Value(Value::Null));
        tx.declare_columns(0, declared).expect("declared");
        let values = [("id", 2.into()), ("must", 1.into())];
        tx.rows("t")
            .expect("a table")
            .insert(&values)
            .expect("inserted");
        assert_eq!(row(tx, 2)[6], Value::Null);
    });
}

#[test]
fn what_is_declared_is_stored_follows_its_column_and_is_undone() {
    let mut world = world();
    let declared = |world: &World| world.space.schema(0).expect("a table").declared.clone();
    let before = declared(&world);
    world.reopen(2);
    assert_eq!(declared(&world), before);
    let mut tx = world.space.begin(&mut world.log);
    tx.declare_columns(0, Vec::new()).expect("declared");
    tx.drop_column("t", "code").expect("dropped");
    tx.abort();
    assert_eq!(declared(&world), before);
    world.commit(|tx| {
        tx.drop_column("t", "code").expect("dropped");
        tx.rename_column("t", "name", "title").expect("renamed");
        tx.widen_column("t", "must", Type::I64).expect("widened");
    });
    let columns: Vec<usize> = declared(&world).iter().map(|one| one.column).collect();
    assert_eq!(columns, [1, 3, 4, 6, 7], "the wider one is the last");
    let null = world.commit(|tx| {
        let values = [("id", 1.into()), ("must", Value::Null)];
        in_detail(tx.rows("t").expect("a table").insert(&values))
    });
    assert!(null.is_err_and(|error| error.to_string().contains("may not be null")));
    world.redo();
    world.reopen(1);
}

#[test]
fn no_column_is_declared_as_it_cannot_be() {
    let mut world = world();
    let sql = |text: &str| Some(DeclaredDefault::Sql(text.to_string()));
    let cases = [
        (
            vec![of(3, VARCHAR, 7)],
            "a type that the column does not have",
        ),
        (
            vec![of(3, NUMERIC, (5 << 16 | 3) + 4)],
            "a type that the column does not have",
        ),
        (vec![of(1, VARCHAR, 7), of(1, VARCHAR, 7)], "twice"),
        (vec![of(9, VARCHAR, 7)], "number 9"),
        (
            vec![Declared {
                default: Some(DeclaredDefault::Value("abcd".into())),
                ..of(1, VARCHAR, 7)
            }],
            "a default that its type cannot have",
        ),
        (
            vec![Declared {
                default: Some(DeclaredDefault::NextNumber),
                ..Declared::of(0)
            }],
            "no ordered primary key",
        ),
        (
            vec![Declared {
                default: sql(&"x".repeat(70_000)),
                ..Declared::of(1)
            }],
            "the length of a default",
        ),
    ];
    for (declared, said) in cases {
        let refused = world.commit(|tx| in_detail(tx.declare_columns(0, declared)));
        let refused = refused.expect_err(said).to_string();
        assert!(refused.contains(said), "{refused}");
    }
}

#[test]
fn a_program_opens_the_table_whatever_was_declared_of_its_columns() {
    let mut world = World::with_memory(STORE_BYTES);
    let schema = || {
        Schema::new()
            .column("id", Type::U64)
            .column("name", Type::Text)
            .primary_key(["id"])
    };
    world.commit(|tx| {
        let number = tx.create_table("t", schema()).expect("created");
        let declared = vec![of(1, VARCHAR, 7)];
        tx.declare_columns(number, declared).expect("declared");
        assert_eq!(tx.create_table("t", schema()).expect("opened"), number);
        let other = schema().column("more", Type::U8);
        assert!(tx.create_table("t", other).is_err());
    });
}

#[derive(Clone, Copy, PartialEq, Debug, Resident)]
#[repr(C)]
struct Plain {
    id: u64,
    at: i64,
}
record!(Plain { table: "plain", key: id: u64 });

#[test]
fn records_are_as_their_columns_are_declared() {
    let mut world = World::with_memory(STORE_BYTES);
    let table = world.commit(|tx| {
        let schema = Schema::new()
            .column("id", Type::U64)
            .column("at", Type::Time)
            .primary_key(["id"]);
        let number = tx.create_table("plain", schema).expect("created");
        tx.declare_columns(number, vec![of(1, TIME, 0)])
            .expect("declared");
        tx.declare_table::<Plain>().expect("it is the table")
    });
    let (whole, part) = (
        Plain {
            id: 1,
            at: 3_000_000,
        },
        Plain {
            id: 1,
            at: 3_000_001,
        },
    );
    let is_declared = |error: Result<(), TableError>| {
        let error = error.expect_err("no whole second");
        assert!(
            matches!(&error, TableError::Row(row) if matches!(**row, RowError::Declared { .. })),
            "{error}"
        );
    };
    world.commit(|tx| {
        is_declared(in_detail(tx.insert(table, &part)).map(drop));
        is_declared(in_detail(tx.put(table, &part)).map(drop));
        assert_eq!(tx.count(table).expect("read"), 0);
        let row = tx.insert_and_find(table, &whole).expect("inserted");
        is_declared(in_detail(tx.set(row, field!(Plain.at: i64), part.at)));
        is_declared(in_detail(tx.update(table, 1, |plain| plain.at = part.at)).map(drop));
        is_declared(in_detail(tx.put(table, &part)).map(drop));
        let mut taken = tx.get_mut(table, 1).expect("read").expect("a row");
        taken.at = part.at;
        is_declared(in_detail(taken.save()));
        assert_eq!(tx.get(table, 1).expect("read"), Some(&whole));
        tx.set(row, field!(Plain.at: i64), 4_000_000)
            .expect("a whole second");
    });
    world.redo();
    // Added columns are no record's: they have their declarations.
    world.commit(|tx| {
        tx.add_column("plain", "note", Type::Text, true, Value::Null)
            .expect("added");
        let note = |default| {
            vec![
                of(1, TIME, 0),
                Declared {
                    not_null: true,
                    default,
                    ..of(2, VARCHAR, 7)
                },
            ]
        };
        tx.declare_columns(table.number(), note(None))
            .expect("declared");
        let other = Plain { id: 2, ..whole };
        assert!(tx.insert(table, &other).is_err(), "it would have no note");
        let default = DeclaredDefault::Value("new".into());
        tx.declare_columns(table.number(), note(Some(default)))
            .expect("declared");
        tx.insert(table, &other).expect("inserted");
        let rows = tx.rows("plain").expect("a table");
        let row = rows.get(&[2.into()]).expect("read").expect("a row");
        assert_eq!(row.get("note").expect("a value").to_value(), "new".into());
    });
    world.redo();
}

/// Draws numbers as a sequence does whose next number is in a row.
#[derive(Debug)]
struct Draws;

impl ComputeDefaults for Draws {
    fn compute(
        &self,
        declared: &[&Declared],
        objects: &mut dyn Objects,
    ) -> Result<Vec<Value>, (usize, DefaultFailure)> {
        let mut values = Vec::new();
        for (at, declared) in declared.iter().enumerate() {
            let Some(DeclaredDefault::Sql(text)) = &declared.default else {
                panic!("no default in SQL: {declared:?}");
            };
            if text == "fail()" {
                let reason = "it fails".to_string();
                return Err((
                    at,
                    DefaultFailure {
                        code: "22012",
                        reason,
                        interrupted: None,
                    },
                ));
            }
            let key = [Value::from(text.as_str())];
            let next = objects.text("next", &key, 1).expect("read").expect("a row");
            let next: i64 = next.parse().expect("a number");
            let after = (next + 1).to_string();
            objects.set_text("next", &key, 1, &after).expect("set");
            values.push(Value::from(next));
        }
        Ok(values)
    }
}

#[test]
fn defaults_are_computed_in_the_rows_own_transaction() {
    let mut world = World::with_memory(STORE_BYTES);
    world.commit(|tx| {
        let next = Schema::new()
            .column("name", Type::Text)
            .column("next", Type::Text)
            .primary_key(["name"]);
        tx.create_table("next", next).expect("created");
        let values = [("name", "s".into()), ("next", "1".into())];
        tx.rows("next")
            .expect("a table")
            .insert(&values)
            .expect("inserted");
        let schema = Schema::new()
            .column("id", Type::I64)
            .column("other", Type::I64)
            .nullable()
            .primary_key(["id"]);
        let number = tx.create_table("t", schema).expect("created");
        let of = |column, text: &str| Declared {
            default: Some(DeclaredDefault::Sql(text.to_string())),
            ..Declared::of(column)
        };
        tx.declare_columns(number, vec![of(0, "s"), of(1, "fail()")])
            .expect("declared");
    });
    let insert = |tx: &mut Transaction<'_>, values: &[(&str, Value)]| {
        in_detail(tx.rows("t").expect("a table").insert(values))
    };
    let uncomputed = |done: Result<(), TableError>, code: &str, of: &str| {
        let error = done.expect_err("it cannot be computed");
        assert!(
            matches!(&error, TableError::Row(row) if matches!(&**row,
                RowError::Uncomputed { table, column, code: is, .. } if table == "t" && column == of && *is == code)),
            "{error}"
        );
    };
    // No program speaks SQL yet.
    world.commit(|tx| uncomputed(insert(tx, &[("other", 1.into())]), "0A000", "id"));
    world.commit(|tx| insert(tx, &[("id", 100.into()), ("other", 1.into())]).expect("whole"));
    world.space.view().compute_defaults_by(Arc::new(Draws));
    world.commit(|tx| uncomputed(insert(tx, &[]), "22012", "other"));
    world.commit(|tx| {
        let put = tx.rows("t").expect("a table").put(&[]);
        uncomputed(in_detail(put).map(drop), "22012", "other");
    });
    let mut tx = world.space.begin(&mut world.log);
    insert(&mut tx, &[("other", 1.into())]).expect("inserted");
    tx.abort();
    world.commit(|tx| {
        insert(tx, &[("other", 1.into())]).expect("inserted");
        let mut rows = tx.rows("t").expect("a table");
        rows.put(&[("other", 2.into())]).expect("put");
        let ids = rows
            .scan()
            .map(|row| row.expect("read").get_at(0).expect("an id").to_value());
        let ids: Vec<Value> = ids.collect();
        // The aborted transaction's draw was undone with it.
        assert_eq!(ids, [100.into(), 1.into(), 2.into()]);
    });
    world.redo();
}

#[test]
fn rows_are_numbered_behind_the_last() {
    let mut world = World::with_memory(STORE_BYTES);
    world.commit(|tx| {
        let schema = Schema::new()
            .column("row", Type::I64)
            .column("a", Type::I64)
            .primary_key(["row"])
            .ordered();
        let number = tx.create_table("t", schema).expect("created");
        let numbered = Declared {
            default: Some(DeclaredDefault::NextNumber),
            ..Declared::of(0)
        };
        tx.declare_columns(number, vec![numbered])
            .expect("declared");
        let mut rows = tx.rows("t").expect("a table");
        rows.insert(&[("a", 1.into())]).expect("inserted");
        rows.insert(&[("row", 7.into()), ("a", 2.into())])
            .expect("inserted");
        rows.insert(&[("a", 3.into())]).expect("inserted");
        for (number, a) in [(1, 1), (7, 2), (8, 3)] {
            let row = rows.get(&[number.into()]).expect("read").expect("a row");
            assert_eq!(row.get("a").expect("a value").to_value(), a.into());
        }
    });
}

/// A value as it is stored in `t`, computed by another way than the engine's; `None` if it is refused.
fn modelled(column: usize, value: &Value) -> Option<Value> {
    match (column, value) {
        (5, Value::Null) => None,
        (1, Value::Text(text)) => {
            let mut characters: Vec<char> = text.chars().collect();
            while characters.len() > 3 && characters.last() == Some(&' ') {
                characters.pop();
            }
            (characters.len() <= 3).then(|| Value::Text(characters.into_iter().collect()))
        }
        (2, Value::Text(text)) => {
            let text = text.trim_end_matches(' ');
            (text.chars().count() <= 2).then(|| text.into())
        }
        (3, Value::Decimal(units, scale)) => {
            let thousandths = units * 10_i128.pow(4 - u32::from(*scale));
            let cents = (thousandths.abs() + 50) / 100 * thousandths.signum();
            (cents.abs() < 100_000).then_some(Value::Decimal(cents, 2))
        }
        (4, Value::Time(time)) => {
            let tenths = (time + 50_000) / 100_000 * 100_000;
            (tenths < DAY).then_some(Value::Time(tenths))
        }
        (_, other) => Some(other.clone()),
    }
}

fn value(column: usize) -> BoxedStrategy<Value> {
    let some = match column {
        1 | 2 => "[aä ]{0,5}".prop_map(Value::Text).boxed(),
        3 => (-20_000_i128..20_000, 0_u8..=4)
            .prop_map(|(units, scale)| Value::Decimal(units, scale))
            .boxed(),
        4 => prop_oneof![0..DAY, DAY - 200_000..DAY]
            .prop_map(Value::Time)
            .boxed(),
        _ => (0..100_i64).prop_map(Value::from).boxed(),
    };
    prop_oneof![4 => some, 1 => Just(Value::Null)].boxed()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sardonyx_base::random::cases(32)))]
    #[test]
    fn rows_are_those_of_a_model(
        steps in prop::collection::vec(
            (0..3_usize, 0..4_u64, prop::collection::vec((1..7_usize).prop_flat_map(|column|
                value(column).prop_map(move |value| (column, value))), 0..5)),
            1..40),
    ) {
        const NAMES: [&str; 7] = ["id", "name", "code", "money", "at", "must", "price"];
        let mut world = world();
        let mut model: BTreeMap<u64, Vec<Value>> = BTreeMap::new();
        for (verb, id, given) in steps {
            let given: BTreeMap<usize, Value> = given.into_iter().collect();
            let mut fresh = vec![Value::Null; 7];
            (fresh[0], fresh[6]) = (id.into(), 7.into());
            let base = match (verb, model.get(&id)) {
                (2, there) => there.cloned(),
                (0, Some(_)) => None,
                _ => Some(fresh),
            };
            let expected = base.and_then(|mut row| {
                for (column, value) in &given {
                    row[*column] = modelled(*column, value)?;
                }
                (row[5] != Value::Null).then_some(row)
            });
            let mut values = vec![("id", Value::from(id))];
            values.extend(given.iter().map(|(column, value)| (NAMES[*column], value.clone())));
            let done = world.commit(|tx| {
                let mut rows = tx.rows("t").expect("a table");
                match verb {
                    0 => rows.insert(&values).is_ok(),
                    1 => rows.put(&values).is_ok(),
                    _ => rows.update(&[id.into()], &values).is_ok_and(|was_there| was_there),
                }
            });
            prop_assert_eq!(done, expected.is_some(), "{} {:?}", verb, values);
            if let Some(row) = expected {
                model.insert(id, row);
            }
        }
        world.redo();
        world.commit(|tx| {
            assert_eq!(tx.rows("t").expect("a table").count().expect("counted"), model.len() as u64);
            for (id, expected) in &model {
                assert_eq!(row(tx, *id), *expected);
            }
        });
    }
}

#[test]
fn types_that_older_programs_take_for_texts_raise_the_version_of_a_schema() {
    const JSONB: u32 = 3802;
    let world = world();
    let mut schema = Schema::clone(world.space.schema(0).expect("a table"));
    assert_eq!(schema.encode()[0], 2);
    schema.declared[0] = of(1, JSONB, -1);
    let bytes = schema.encode();
    assert_eq!(bytes[0], 3);
    assert_eq!(Schema::decode(&bytes), Ok(schema));
}
