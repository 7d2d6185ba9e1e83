//! Rows as bytes of their own: values are read as they were written, keys are in the order of their values, and bytes
//! that are no row are refused. The bytes of existing databases stay valid.

use super::*;
use crate::schema::{Declared, DeclaredDefault, Type};
use proptest::prelude::*;

fn people() -> RowFormat {
    let schema = Schema::new()
        .column("name", Type::Text)
        .column("born", Type::I32)
        .column("note", Type::Bytes)
        .nullable()
        .column("weight", Type::U64)
        .default_value(1)
        .primary_key(["name", "born desc"])
        .ordered()
        .check("light", "weight < 1000")
        .build();
    RowFormat::new("people", schema.unwrap()).unwrap()
}

fn values(row: &RowFormat, bytes: &[u8]) -> Vec<Value> {
    row.row(bytes).unwrap().to_values().unwrap()
}

/// Databases of nodes have these bytes: a change needs a new version of the head.
#[test]
fn the_bytes_of_rows_and_keys_are_what_databases_have() {
    let people = people();
    let row = [
        ("name", Value::from("Ada, countess")),
        ("born", 1815.into()),
        ("note", Value::Bytes(vec![7; 3])),
    ];
    let bytes = people.new_row(&people.named(&row).unwrap()).unwrap();
    let at = |name: &str| people.schema().columns[people.column(name).unwrap()].offset;
    assert_eq!(bytes.len(), people.schema().row_bytes + 13);
    assert_eq!(bytes[people.schema().row_bytes..], *b"Ada, countess");
    let mut reference = [13, 0, 0, 0, b'A', b'd', b'a', b',', 0, 0, 0, 0, 0, 0, 0, 0];
    reference[8] = people.schema().row_bytes as u8;
    assert_eq!(bytes[at("name")..][..16], reference);
    assert_eq!(bytes[at("note")..][..7], [3, 0, 0, 0, 7, 7, 7]);
    let mut key = b"Ada, countess\0\0".to_vec();
    key.extend([!0x82, !0x07, !0x17]);
    assert_eq!(people.key_of(&bytes).unwrap(), key);
    let short = Schema::new().column("id", Type::I64).primary_key(["id"]);
    let short = RowFormat::new("short", short.build().unwrap()).unwrap();
    assert_eq!(
        short.key(&-2_i64).unwrap(),
        [0x7f, 255, 255, 255, 255, 255, 255, 254]
    );
}

#[test]
fn what_does_not_fit_is_named_and_what_rows_do_not_have_is_refused() {
    let people = people();
    let row = |values: &[(&str, Value)]| people.new_row(&people.named(values)?);
    let text = |done: Result<Vec<u8>, TableError>| done.unwrap_err().to_string();
    let missing = text(row(&[("name", "Ada".into())]));
    assert!(
        missing.contains("\"born\"") && missing.contains("\"people\""),
        "{missing}"
    );
    let heavy = text(row(&[
        ("name", "Ada".into()),
        ("born", 1.into()),
        ("weight", 1000.into()),
    ]));
    assert!(heavy.contains("\"light\""), "{heavy}");
    let there = row(&[("name", "Ada".into()), ("born", 1.into())]).unwrap();
    let moved = [("born", Value::from(2))];
    let moved = people.changed_row(&there, &people.named(&moved).unwrap());
    assert!(matches!(moved, Err(TableError::KeyChanged { .. })));
    assert!(matches!(people.key("Ada"), Err(TableError::Row(_))));
    for length in 0..people.schema().row_bytes {
        assert!(people.row(&there[..length]).is_err());
    }
}

proptest! {
    #[test]
    fn rows_come_back_through_changes_and_keys_are_in_order(
        names in proptest::collection::vec(("[a-c\u{0}é]{0,20}", any::<i32>()), 2..8),
        notes in proptest::collection::vec(proptest::option::of(proptest::collection::vec(any::<u8>(), 0..40)), 1..4),
    ) {
        let people = people();
        let mut keys = Vec::new();
        for (name, born) in &names {
            let first = [("name", Value::from(name.as_str())), ("born", (*born).into())];
            let mut bytes = people.new_row(&people.named(&first).unwrap()).unwrap();
            for note in &notes {
                let note = note.clone().map_or(Value::Null, Value::Bytes);
                let change = [("note", note.clone())];
                bytes = people.changed_row(&bytes, &people.named(&change).unwrap()).unwrap();
                let expected = [name.as_str().into(), (*born).into(), note, 1.into()];
                prop_assert_eq!(values(&people, &bytes), expected);
            }
            let key = people.key_of(&bytes).unwrap();
            prop_assert_eq!(&people.key(&(name.as_str(), *born)).unwrap(), &key);
            keys.push(((name.clone(), std::cmp::Reverse(*born)), key));
        }
        let mut by_key = keys.clone();
        by_key.sort_by(|one, other| one.1.cmp(&other.1));
        keys.sort();
        prop_assert_eq!(by_key, keys);
    }

    /// Columns are added, dropped and widened. Rows of before and after keep the values that were put into them, short
    /// or long, or have the default. They move to the newest shape when they are changed.
    #[test]
    fn rows_of_every_shape_say_what_they_had(
        steps in proptest::collection::vec((0_u8..8, 0_usize..6, 0_usize..40), 1..40),
    ) {
        let mut format = people();
        // Rows, with their values by the columns' numbers.
        let mut rows: Vec<(Vec<u8>, Vec<Option<Value>>)> = Vec::new();
        for (number, (what, which, length)) in steps.into_iter().enumerate() {
            let text = Value::from("x".repeat(length));
            let columns = format.schema().columns.clone();
            match what {
                0 | 1 => {
                    let mut row = RowWriter::new(columns.len());
                    let born = Value::from(number as i64);
                    row.set(0, text.as_ref());
                    row.set(1, born.as_ref());
                    let bytes = format.new_row(&row).unwrap();
                    let values = columns.iter().enumerate().map(|(at, column)| match at {
                        _ if column.dropped => None,
                        0 => Some(text.clone()),
                        1 => Some(born.clone()),
                        _ => Some(column.default.clone()),
                    });
                    rows.push((bytes, values.collect()));
                }
                2 | 3 if columns.len() < 12 => {
                    let (kind, default) = match which {
                        0 => (Type::Text, Value::Null),
                        1 => (Type::Text, text.clone()),
                        2 => (Type::U8, 3.into()),
                        _ => (Type::I64, 4.into()),
                    };
                    let (name, nullable) = (format!("added{number}"), which == 0);
                    let schema = format.schema().with_column(&name, kind, nullable, default.clone());
                    let schema = RowFormat::lengthened(schema.unwrap()).unwrap();
                    format = RowFormat::new("people", schema).unwrap();
                    rows.iter_mut().for_each(|(_, values)| values.push(Some(default.clone())));
                }
                4 => {
                    let at = 4 + which;
                    if columns.get(at).is_some_and(|column| !column.dropped) {
                        let schema = format.schema().without_column(&columns[at].name).unwrap();
                        format = RowFormat::new("people", schema).unwrap();
                        rows.iter_mut().for_each(|(_, values)| values[at] = None);
                    }
                }
                _ => {
                    let at = 2 + which;
                    let Some(column) = columns.get(at).filter(|column| !column.dropped) else {
                        continue;
                    };
                    let value = match column.kind {
                        Type::Text => text.clone(),
                        Type::Bytes => Value::Bytes(vec![1; length]),
                        _ => Value::from(length as i64),
                    };
                    for (bytes, values) in rows.iter_mut().skip(length % 3) {
                        let mut change = RowWriter::new(at + 1);
                        change.set(at, value.as_ref());
                        *bytes = format.changed_row(bytes, &change).unwrap();
                        values[at] = Some(value.clone());
                    }
                }
            }
            for (bytes, values) in &rows {
                let row = format.row(bytes).unwrap();
                for (at, value) in values.iter().enumerate() {
                    let value = value.clone().unwrap_or(Value::Null);
                    prop_assert_eq!(row.get_at(at).unwrap().to_value(), value.clone());
                    prop_assert_eq!(format.value_at(bytes, at).unwrap().to_value(), value);
                }
                let key = format.key_of(bytes).unwrap();
                let copied = format.copy_of(&row).unwrap();
                prop_assert_eq!(format.key_of(&copied).unwrap(), key);
            }
        }
    }

    /// Any bytes are refused or read without a panic.
    #[test]
    fn any_bytes_are_refused_or_a_row(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
        let people = people();
        if let Ok(row) = people.row(&bytes) {
            let _ = row.to_values();
            let _ = people.key_of(&bytes);
        }
    }
}

/// `varchar(3)`, without a null though it could be, and a default that goes before the column's.
fn short(default: DeclaredDefault) -> RowFormat {
    let schema = Schema::new()
        .column("id", Type::U64)
        .column("name", Type::Text)
        .nullable()
        .primary_key(["id"]);
    let mut schema = schema.build().expect("a schema");
    schema.declared = vec![Declared {
        kind: 1043,
        modifier: 7,
        not_null: true,
        default: Some(default),
        ..Declared::of(1)
    }];
    RowFormat::new("t", schema).expect("rows of their own")
}

#[test]
fn rows_of_their_own_are_held_to_what_is_declared() {
    let format = short(DeclaredDefault::Value("new".into()));
    let row = |values: &[(&str, Value)]| format.new_row(&format.named(values)?);
    let name = |bytes: &[u8]| {
        let row = format.row(bytes).expect("a row");
        row.get_at(1).expect("a value").to_value()
    };
    let new = row(&[("id", 1.into())]).expect("a row");
    assert_eq!(name(&new), "new".into());
    let cut = [("name", "ab   ".into())];
    let changed = format.changed_row(&new, &format.named(&cut).expect("a change"));
    assert_eq!(name(&changed.expect("a row")), "ab ".into());
    let (long, null) = ([("name", "abcd".into())], [("name", Value::Null)]);
    for (refused, said) in [(&long, "at most 3 characters"), (&null, "may not be null")] {
        let change = format.named(refused).expect("a change");
        let error = format.changed_row(&new, &change).expect_err(said);
        assert!(error.to_string().contains(said), "{error}");
        let mut values = refused.to_vec();
        values.push(("id", 2.into()));
        let error = row(&values).expect_err(said);
        assert!(error.to_string().contains(said), "{error}");
    }
}

#[test]
fn a_default_in_sql_is_not_passed_over() {
    let format = short(DeclaredDefault::Sql("upper('x')".to_string()));
    let id = [("id", 1.into())];
    let error = format.new_row(&format.named(&id).expect("values"));
    let error = error.expect_err("nothing computes it").to_string();
    assert!(error.contains("upper('x')"), "{error}");
}

/// Main memory adds a column in bytes that only filled, so its rows stay as long as they were.
#[test]
fn rows_of_shapes_of_one_length_are_refused_or_lengthened() {
    let schema = Schema::new()
        .column("id", Type::U64)
        .column("a", Type::U8)
        .primary_key(["id"]);
    let schema = schema.build().expect("a schema");
    let schema = schema.with_column("b", Type::U8, false, 0.into());
    let schema = schema.and_then(|schema| schema.with_column("c", Type::U8, false, 7.into()));
    let schema = schema.expect("a schema");
    assert_eq!(
        (&schema.earlier_shapes[..], schema.row_bytes),
        (&[16, 16][..], 16)
    );
    let error = RowFormat::new("t", schema.clone()).expect_err("rows of one length");
    assert!(
        error
            .to_string()
            .contains("\"b\" at offset 9 makes rows no longer"),
        "{error}"
    );
    let schema = RowFormat::lengthened(schema).expect("a schema");
    assert_eq!(
        (&schema.earlier_shapes[..], schema.row_bytes),
        (&[16, 24][..], 32)
    );
    let format = RowFormat::new("t", schema).expect("rows of their own");
    let row = [
        ("id", 1.into()),
        ("a", 2.into()),
        ("b", 5.into()),
        ("c", 6.into()),
    ];
    let row = format.new_row(&format.named(&row).expect("values"));
    let row = row.expect("a row");
    assert_eq!(values(&format, &row), [1, 2, 5, 6].map(Value::from));
    assert_eq!(
        format.value_at(&row, 2).expect("a value").to_value(),
        5.into()
    );
}
