//! Rows with text through the face: crashes at every step of the disk, in the middle of values that are
//! written, replaced and freed; the longest value; and a look at the rows beside a struct.

use crate::common::{in_every_shape, options};
use sardonyx::disk::{Faults, SimulatedDisk};
use sardonyx::low_level::Address;
use sardonyx::rows::RowWriter;
use sardonyx::{Error, Options, Shape, Tables, Transaction};
use sardonyx_rows::schema::{
    Column, IndexDefinition, KeyPart, Schema, Type, VALUE_BYTES_MAX, Value, ValueRef,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A number and a text.
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
    let mut schema = Schema::default();
    schema.columns = vec![column("id", Type::U64, 0), column("text", Type::Text, 8)];
    schema.row_bytes = 24;
    schema.primary = IndexDefinition {
        name: "primary".to_string(),
        unique: true,
        key: vec![KeyPart {
            column: 0,
            descending: false,
        }],
        ..IndexDefinition::default()
    };
    schema
}

type Model = BTreeMap<u64, String>;

/// The transactions of the run, each on the model, too.
fn transaction(number: u64, tx: &mut Transaction<'_>, model: &mut Model) -> Result<(), Error> {
    if number == 0 {
        tx.create_table("texts", schema())?;
        return Ok(());
    }
    let mut rows = tx.rows("texts")?;
    for (id, length) in [
        (number % 3, number * 977 % 6000),
        (number % 5, number * 31 % 50),
    ] {
        let text = "abcdefghij".repeat(length as usize / 10 + 1);
        rows.put(&[("id", id.into()), ("text", text.as_str().into())])?;
        model.insert(id, text);
    }
    if number.is_multiple_of(3) {
        rows.delete(&[(number % 5).into()])?;
        model.remove(&(number % 5));
    }
    Ok(())
}

fn contents(database: &Tables) -> Model {
    database
        .read(|view| {
            let Ok(rows) = view.rows("texts") else {
                return Ok(Model::new());
            };
            let mut model = Model::new();
            for row in rows.scan() {
                let row = row.expect("a row");
                let (ValueRef::Int(id), ValueRef::Text(text)) =
                    (row.get("id").expect("id"), row.get("text").expect("text"))
                else {
                    panic!("{row:?}");
                };
                assert!(rows.get(&[(id as u64).into()]).expect("get").is_some());
                model.insert(id as u64, text.to_string());
            }
            assert_eq!(rows.count().expect("counted"), model.len() as u64);
            Ok(model)
        })
        .expect("reads")
}

/// Runs until the disk fails; the states after each transaction, and how many were acknowledged.
fn run(disk: &SimulatedDisk, shape: Shape) -> (Vec<Model>, usize) {
    let mut states = vec![Model::new()];
    let mut acknowledged = 0;
    let Ok(database) = options(shape).open_tables_on(Arc::new(disk.clone())) else {
        return (states, acknowledged);
    };
    for number in 0..14 {
        let mut model = states.last().expect("one").clone();
        let done = database.run(|tx| transaction(number, tx, &mut model));
        states.push(model);
        match done {
            Ok(()) => acknowledged = states.len() - 1,
            Err(_) => return (states, acknowledged),
        }
        if number == 7 && database.checkpoint().is_err() {
            return (states, acknowledged);
        }
    }
    (states, acknowledged)
}

#[test]
fn rows_are_whole_after_a_crash_at_any_step() {
    let mut crashed = 0;
    for step in 1.. {
        let faults = Faults {
            crash_at_step: Some(step),
            ..Faults::default()
        };
        let disk = SimulatedDisk::new(step, faults);
        let (states, acknowledged) = run(&disk, Shape::Threadless);
        let has_crashed = disk.has_crashed();
        let disk = disk.restart(Faults::default());
        let database = options(Shape::Threadless)
            .open_tables_on(Arc::new(disk))
            .unwrap_or_else(|error| panic!("step {step}: {error}"));
        let found = contents(&database);
        assert!(states[acknowledged..].contains(&found), "step {step}");
        if !has_crashed {
            break;
        }
        crashed += 1;
        // It goes on.
        let mut model = found;
        let number = if acknowledged == 0 { 0 } else { 20 };
        database
            .run(|tx| transaction(number, tx, &mut model))
            .unwrap_or_else(|error| panic!("step {step}: {error}"));
        assert_eq!(contents(&database), model, "step {step}");
    }
    assert!(crashed > 40, "{crashed}");
}

#[test]
fn rows_are_the_same_in_every_shape() {
    in_every_shape(|shape| {
        let disk = SimulatedDisk::new(1, Faults::default());
        let (states, acknowledged) = run(&disk, shape);
        assert_eq!(acknowledged, 14);
        let database = options(shape).open_tables_on(Arc::new(disk.restart(Faults::default())));
        assert_eq!(
            &contents(&database.expect("open")),
            states.last().expect("one")
        );
    });
}

#[test]
fn the_longest_text_is_stored_replaced_and_read_again() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("long.sdx");
    let open = || Options::new().open_tables(&path).expect("open");
    let long = |byte: u8| vec![byte; VALUE_BYTES_MAX];
    let text = |byte| Value::Text(String::from_utf8(long(byte)).expect("text"));
    let database = open();
    database
        .run(|tx| tx.create_table("texts", schema()))
        .expect("create");
    let put = |byte| {
        database.run(|tx| {
            tx.rows("texts")?
                .put(&[("id", 1.into()), ("text", text(byte))])
        })
    };
    assert!(!put(b'a').expect("insert"));
    assert!(put(b'b').expect("update"));
    // Two of them in one transaction, which has several segments of the log.
    let two = database.run(|tx| {
        tx.rows("texts")?
            .put(&[("id", 2.into()), ("text", text(b'c'))])?;
        tx.rows("texts")?
            .put(&[("id", 3.into()), ("text", text(b'd'))])
    });
    assert!(matches!(two, Ok(false)), "{two:?}");
    database.close().expect("close");
    let database = open();
    let is_there = database.read(|view| {
        let rows = view.rows("texts").expect("texts");
        assert_eq!(rows.count().expect("counted"), 3);
        let mut all = [(1u64, b'b'), (2, b'c'), (3, b'd')].iter();
        Ok(all.all(|(id, byte)| {
            let row = rows.get(&[(*id).into()]).expect("get").expect("a row");
            row.get("text").expect("text") == text(*byte).as_ref()
        }))
    });
    assert!(is_there.expect("reads"));
}

#[test]
fn a_row_is_changed_and_deleted_where_it_was_found_and_only_while_it_is_there() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let tables = options(Shape::Threadless)
        .open_tables_on(Arc::new(disk))
        .expect("opens");
    tables.create_table("texts", schema()).expect("created");
    let other = tables.create_table("others", schema()).expect("created");
    let texts = tables
        .read(|view| Ok(view.rows("texts").expect("a table").number()))
        .expect("read");
    let outcome = tables.run(|tx| {
        let mut rows = tx.rows_of(texts)?;
        rows.insert(&[("id", 1_u64.into()), ("text", "one".into())])?;
        let at = rows.get(&[1_u64.into()])?.expect("inserted").address();
        let mut change = RowWriter::new(2);
        change.set(1, ValueRef::Text("another"));
        rows.update_at(at, &change)?;
        assert_eq!(
            rows.get(&[1_u64.into()])?.expect("there").get("text")?,
            ValueRef::Text("another")
        );
        // The next place has no row, one inside a row is none, nor is the place another table's.
        for wrong in [
            Address(at.0 + 24),
            Address(at.0 + 8),
            Address(u64::MAX - 64),
        ] {
            assert!(
                matches!(rows.update_at(wrong, &change), Err(Error::Refused(_))),
                "{wrong}"
            );
            assert!(
                matches!(rows.delete_at(wrong), Err(Error::Refused(_))),
                "{wrong}"
            );
        }
        assert!(matches!(
            tx.rows_of(other)?.delete_at(at),
            Err(Error::Refused(_))
        ));
        let mut rows = tx.rows_of(texts)?;
        rows.delete_at(at)?;
        assert_eq!(rows.count().expect("counted"), 0);
        assert!(matches!(rows.delete_at(at), Err(Error::Refused(_))));
        assert!(matches!(
            rows.update_at(at, &change),
            Err(Error::Refused(_))
        ));
        Ok(())
    });
    outcome.expect("runs");
}
