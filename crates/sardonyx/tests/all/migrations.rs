//! Migrations run once, in order, each whole or not at all; a disagreement of a program and its database is an error.

use crate::shape_changes::contents::open;
use sardonyx::disk::{Faults, SimulatedDisk};
use sardonyx::errors::MigrationError;
use sardonyx::schema::{Migration, Schema, Type, Value};
use sardonyx::{Error, Tables};
use std::cell::Cell;

fn orders() -> sardonyx::schema::SchemaBuilder {
    Schema::new()
        .column("id", Type::U64)
        .column("parts", Type::I32)
        .primary_key(["id"])
}

/// The migrations of a program of this version.
fn migrations<'m>(version: usize) -> Vec<Migration<'m>> {
    let mut all = vec![
        Migration::new("orders", |tx| tx.create_table("orders", orders()).map(drop)),
        Migration::new("notes", |tx| {
            tx.add_column("orders", "note", Type::Text, true, Value::Null)?;
            let row = [1_u64.into(), 5_i32.into(), "first".into()];
            tx.rows("orders")?.insert_values(&row)
        }),
        Migration::new("wider", |tx| tx.widen_column("orders", "parts", Type::I64)),
    ];
    all.truncate(version);
    all
}

#[test]
fn each_runs_once_and_a_newer_database_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    for version in [0, 2, 2, 3] {
        let tables = Tables::open(directory.path()).unwrap();
        assert_eq!(tables.migrate(migrations(version)).unwrap(), version as u32);
        assert_eq!(tables.schema_version().unwrap(), version as u32);
        tables.close().unwrap();
    }
    let tables = Tables::open(directory.path()).unwrap();
    let error = tables.migrate(migrations(2)).unwrap_err();
    let newer = MigrationError::Newer {
        version: 3,
        name: "wider".into(),
        known: 2,
    };
    assert!(matches!(error, Error::Refused(_)), "{error}");
    assert_eq!(error.downcast_ref(), Some(&newer));
    let mut renamed = migrations(3);
    renamed[1] = Migration::new("other", |_| panic!("it is not run"));
    renamed.push(Migration::new("more", |_| panic!("it is not run")));
    let error = tables.migrate(renamed).unwrap_err();
    assert!(
        error.to_string().contains("migration 2 was \"notes\""),
        "{error}"
    );
    assert_eq!(tables.schema_version().unwrap(), 3);
    let note = tables.read(|view| {
        let rows = view.rows("orders")?;
        let row = rows.get(&[1_u64.into()])?.expect("inserted once");
        Ok(row.get("note")?.to_value())
    });
    assert_eq!(note.unwrap(), Value::from("first"));
}

#[test]
fn one_that_fails_leaves_nothing_and_runs_again() {
    let directory = tempfile::tempdir().unwrap();
    let tables = Tables::open(directory.path()).unwrap();
    let fails = Cell::new(true);
    let run = |fails: bool| {
        let mut all = migrations(1);
        all.push(Migration::new("rows", move |tx| {
            tx.rows("orders")?
                .insert_values(&[1_u64.into(), 1_i32.into()])?;
            tx.add_column("orders", "more", Type::I32, true, Value::Null)?;
            if fails { Err("no".into()) } else { Ok(()) }
        }));
        tables.migrate(all)
    };
    assert_eq!(run(fails.replace(false)).unwrap_err().to_string(), "no");
    assert_eq!(tables.schema_version().unwrap(), 1);
    assert_eq!(run(fails.get()).unwrap(), 2);
}

#[test]
fn a_crash_between_two_leaves_whole_ones() {
    let base = SimulatedDisk::new(7, Faults::default());
    open(base.clone()).unwrap().close().unwrap();
    let mut versions = std::collections::BTreeSet::new();
    for step in 1.. {
        let disk = base.restart(Faults {
            crash_at_step: Some(step),
            ..Faults::default()
        });
        let migrated = open(disk.clone()).and_then(|tables| tables.migrate(migrations(3)));
        let disk = disk.restart(Faults::default());
        let tables = open(disk.clone()).unwrap();
        let version = tables.schema_version().unwrap();
        assert!(migrated.is_err() || version == 3, "step {step}");
        versions.insert(version);
        let found = tables.read(|view| {
            let Ok(rows) = view.rows("orders") else {
                return Ok(0);
            };
            let schema = rows.schema();
            let parts = schema.column("parts").map(|at| schema.columns[at].kind);
            Ok(schema.live_columns().count() + usize::from(parts == Some(Type::I64)))
        });
        assert_eq!(
            found.unwrap(),
            [0, 2, 3, 4][version as usize],
            "step {step}"
        );
        assert_eq!(tables.migrate(migrations(3)).unwrap(), 3);
        if migrated.is_ok() {
            break;
        }
    }
    assert_eq!(versions.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3]);
}

#[test]
fn a_refused_schema_says_what_differs() {
    let directory = tempfile::tempdir().unwrap();
    let tables = Tables::open(directory.path()).unwrap();
    tables.create_table("orders", orders()).unwrap();
    tables
        .run(|tx| tx.add_column("orders", "note", Type::Text, true, Value::Null))
        .unwrap();
    let said = |schema: sardonyx::schema::SchemaBuilder| {
        let error = tables.create_table("orders", schema).unwrap_err();
        assert!(matches!(error, Error::Refused(_)), "{error}");
        error.to_string()
    };
    let text = said(orders());
    let note = "the database has column \"note\" text (nullable), which the program does not name";
    assert!(text.contains(note) && text.contains("migration"), "{text}");
    let other = Schema::new()
        .column("parts", Type::I64)
        .column("id", Type::U64)
        .column("more", Type::Bool)
        .primary_key(["id", "parts"])
        .index("by_parts", ["parts desc"])
        .ordered()
        .check("positive", "parts > 0");
    let text = said(other);
    for part in [
        "column \"parts\" is i32 in the database, i64 in the program",
        "the program names column \"more\" bool, which the database does not have",
        "the columns are in the order id, parts in the database, parts, id in the program",
        "the primary key is (id), by hash in the database, (id, parts), ",
        "the program names index \"by_parts\" (parts desc), ordered, which the database does not have",
        "the program names condition \"positive\" parts > 0, which the database does not have",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
