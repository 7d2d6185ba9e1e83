//! The same tables under the serial way and under operations, with texts; and snapshots beside running transactions.

use super::model::read_serially;
use super::{Model, Note, Numbered, derived, name, note, open, read};
use crate::common::{small, ways};
use sardonyx_derive::Record;
use sardonyx_multilevel::records::{RecordError, Table, TableOperations};
use sardonyx_multilevel::{CallError, PageLog, Snapshot, Strategy};
use sardonyx_rows::schema::Value;
use sardonyx_rows::{ReadRow, Rows, TableError};
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use sardonyx_storage::engine::Engine;
use sardonyx_table::{TableSpace, Transaction};
use std::sync::Arc;

const WAY: (Strategy, PageLog) = (Strategy::SPHERES, PageLog::ByteRanges);

/// Runs a transaction of the serial way, through its table space and the log.
pub fn serially(disk: &SimulatedDisk, body: impl FnOnce(&mut Transaction<'_>)) {
    let mut opened = Engine::open(Arc::new(disk.clone()), small()).expect("opens");
    let (mut space, _) = TableSpace::open(opened.store, 1).expect("tables");
    let pen = opened.engine.pen(());
    let mut held = pen.take().expect("the pen");
    let mut appending = held.appending();
    let mut tx = space.begin(appending.builder());
    body(&mut tx);
    assert!(tx.commit());
    let group = appending.transaction_ended();
    held.force(group).expect("forces");
    opened.engine.stop();
}

#[test]
fn each_way_reads_and_changes_the_texts_of_the_other() {
    for way in ways() {
        let disk = SimulatedDisk::new(1, Faults::default());
        let mut model = Model::new();
        serially(&disk, |tx| {
            let notes = tx.declare_table::<Note>().expect("declares");
            for key in 0..9 {
                tx.insert(notes, &note(key, key)).expect("inserts");
                model.insert(key, note(key, key));
            }
            tx.delete(notes, &*name(4)).expect("deletes");
            model.remove(&4);
        });
        let (database, notes) = open(way, &disk);
        assert_eq!(read(&database, notes, 12), model, "{way:?}");
        let tx = database.begin();
        for key in [4, 10] {
            tx.call(&notes.insert(&note(key, 6))).expect("inserts");
            model.insert(key, note(key, 6));
        }
        let change = |found: &mut Note| found.text.push_str(" and more");
        for key in 0..3 {
            tx.call(&notes.update(&name(key), change)).expect("updates");
            model.entry(key).and_modify(change);
        }
        tx.call(&notes.delete(&name(7))).expect("deletes");
        model.remove(&7);
        tx.commit().expect("commits");
        database.close().expect("closes");
        assert_eq!(read_serially(&disk, 12), model, "{way:?}");
        serially(&disk, |tx| {
            let notes = tx.declare_table::<Note>().expect("the same");
            for key in 0..3 {
                let longer = |found: &mut Note| found.text = "long".repeat(2000);
                tx.update(notes, &*name(key), longer).expect("updates");
                model.entry(key).and_modify(longer);
            }
        });
        let (database, notes) = open(way, &disk);
        assert_eq!(read(&database, notes, 12), model, "{way:?}");
    }
}

/// A table that operations made is the one that the serial way makes of the type, with the same schema.
#[test]
fn a_table_that_operations_made_has_its_schema() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let (database, _) = open(WAY, &disk);
    let pages = database.table::<Numbered>().expect("a table");
    database
        .run(|tx| {
            (0..40).try_for_each(|number| {
                let text = "text".repeat(number as usize);
                tx.call(&pages.insert(&Numbered { number, text }))
            })
        })
        .expect("inserts");
    database.close().expect("closes");
    let other = SimulatedDisk::new(2, Faults::default());
    serially(&other, |tx| {
        tx.declare_table::<Note>().expect("declares");
        tx.declare_table::<Numbered>().expect("declares");
    });
    let (made, declared) = (
        crate::records::as_tables(&disk),
        crate::records::as_tables(&other),
    );
    for table in ["notes", "pages"] {
        let schema = |space: &TableSpace| {
            let view = space.view();
            Rows::named(view, table).expect("there").schema().clone()
        };
        assert_eq!(schema(&made), schema(&declared), "{table}");
    }
    // In order, by the index that the serial way has made.
    let view = made.view();
    let rows = Rows::named(view, "pages").expect("there");
    let index = rows.index("primary").expect("an ordered key");
    let mut numbers = Vec::new();
    for row in index.all().expect("all") {
        numbers.push(row.expect("reads").value_at(0).expect("a value").to_value());
    }
    let all: Vec<Value> = (0..40).map(Value::from).collect();
    assert_eq!(numbers, all);
}

/// The first columns of a table alone.
#[derive(Clone, PartialEq, Debug, Record)]
#[record(table = "wide", key = number, crate = derived)]
struct Narrow {
    number: u64,
    text: String,
}

/// The same with columns more.
#[derive(Clone, PartialEq, Debug, Record)]
#[record(table = "wide", key = number, crate = derived)]
struct Wide {
    number: u64,
    text: String,
    more: Option<String>,
    count: Option<i64>,
}

/// Columns that are no fields of a record have their former values when the record's change is undone.
#[test]
fn undo_restores_columns_that_are_no_fields() {
    for way in ways() {
        let disk = SimulatedDisk::new(1, Faults::default());
        let (database, _) = open(way, &disk);
        let (wide, narrow) = (
            database.table::<Wide>().expect("a table"),
            database.table::<Narrow>().expect("the same"),
        );
        let whole = Wide {
            number: 1,
            text: "text".repeat(20),
            more: Some("more".repeat(900)),
            count: Some(7),
        };
        database
            .run(|tx| tx.call(&wide.insert(&whole)))
            .expect("inserts");
        let restored = || {
            let there = database.run(|tx| tx.call(&wide.get(1))).expect("reads");
            assert_eq!(there.as_ref(), Some(&whole), "{way:?}");
        };
        let tx = database.begin();
        tx.call(&narrow.update(1, |found| found.text.clear()))
            .expect("updates");
        tx.abort().expect("aborts");
        restored();
        let tx = database.begin();
        let deleted = tx.call(&narrow.delete(1)).expect("deletes");
        assert_eq!(deleted.map(|found| found.text), Some(whole.text.clone()));
        let other = Narrow {
            number: 1,
            text: "other".to_string(),
        };
        tx.call(&narrow.insert(&other)).expect("inserts");
        let there = tx.call(&wide.get(1)).expect("reads").expect("there");
        assert_eq!((there.more, there.count), (None, None));
        tx.abort().expect("aborts");
        restored();
    }
}

#[test]
fn tables_with_added_columns_or_indexes_are_refused_and_the_others_used() {
    let disk = SimulatedDisk::new(1, Faults::default());
    serially(&disk, |tx| {
        tx.declare_table::<Note>().expect("declares");
        tx.declare_table::<Narrow>().expect("declares");
        let text = sardonyx_rows::schema::Type::Text;
        sardonyx_rows::DefineRows::add_column(tx, "wide", "added", text, true, Value::Null)
            .expect("adds");
    });
    let (database, notes) = open(WAY, &disk);
    let refused = database.table::<Narrow>();
    let is_refused = matches!(
        refused,
        Err(sardonyx_multilevel::DatabaseError::Table(
            TableError::BeyondRecords {
                what: "columns that were added",
                ..
            }
        ))
    );
    assert!(is_refused, "{refused:?}");
    database
        .run(|tx| tx.call(&notes.insert(&note(1, 1))))
        .expect("inserts");
}

#[test]
fn a_snapshot_shows_the_texts_that_were_committed() {
    for way in ways() {
        let disk = SimulatedDisk::new(1, Faults::default());
        let (database, notes) = open(way, &disk);
        let mut then = Model::new();
        for key in 0..6 {
            let inserted = database.run(|tx| tx.call(&notes.insert(&note(key, key + 2))));
            inserted.expect("inserts");
            then.insert(key, note(key, key + 2));
        }
        let shows = |snapshot: &Snapshot| shown(snapshot, notes);
        // Goes on while the snapshot is taken: texts that went, came, and were changed.
        let visit = database.begin();
        let all = |key: u64| move |found: &mut Note| *found = note(key, key + 5);
        for key in 0..3 {
            visit
                .call(&notes.update(&name(key), all(key)))
                .expect("updates");
        }
        visit.call(&notes.delete(&name(3))).expect("deletes");
        visit.call(&notes.insert(&note(9, 4))).expect("inserts");
        let report = database.snapshot().expect("snapshot");
        assert_eq!(shows(&report), then, "{way:?}");
        visit.commit().expect("commits");
        for key in 4..6 {
            let changed = database.run(|tx| tx.call(&notes.update(&name(key), all(key))));
            changed.expect("updates");
        }
        assert_eq!(shows(&report), then, "{way:?}");
        let now = read(&database, notes, 12);
        assert_eq!(
            shows(&database.snapshot().expect("snapshot")),
            now,
            "{way:?}"
        );
        // By keys, too.
        for key in 0..12 {
            let found = report.call(&notes.get(&name(key))).expect("reads");
            assert_eq!(found.as_ref(), then.get(&key), "{way:?}");
        }
    }
}

fn shown(snapshot: &Snapshot, notes: Table<Note>) -> Model {
    let records = snapshot.records(notes);
    let records: Result<Vec<Note>, CallError<RecordError>> = records.collect();
    let key = |note: &Note| (0..12).find(|key| name(*key) == note.name).expect("a key");
    let records = records.expect("reads").into_iter();
    records.map(|note| (key(&note), note)).collect()
}
