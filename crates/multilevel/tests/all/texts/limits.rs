//! Texts that operations refuse by typed errors, and the rows that stay as they were.

use super::ways::serially;
use super::{Model, Note, Numbered, derived, name, note, open};
use crate::common::{options, ways};
use sardonyx_base::resident::Resident;
use sardonyx_derive::Record;
use sardonyx_multilevel::records::{ROW_BYTES_MAX, RecordError, TableOperations};
use sardonyx_multilevel::{
    CallError, DatabaseError, Inverse, Operation, PageLog, Strategy, record,
};
use sardonyx_rows::TableError;
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

const WAY: (Strategy, PageLog) = (Strategy::SPHERES, PageLog::ByteRanges);

#[derive(Record)]
#[record(table = "indexed", key = number, index("by_text", text), crate = derived)]
struct Indexed {
    number: u64,
    text: String,
}

#[derive(Record)]
#[record(table = "checked", key = number, check("some", "number > 3"), crate = derived)]
struct Checked {
    number: u64,
    text: String,
}

#[derive(Record)]
#[record(table = "referring", key = number, crate = derived)]
struct Referring {
    number: u64,
    #[field(references("notes", name))]
    note: String,
}

#[test]
fn rows_and_keys_that_are_too_long_are_refused() {
    for way in ways() {
        let disk = SimulatedDisk::new(1, Faults::default());
        let (database, notes) = open(way, &disk);
        database
            .run(|tx| tx.call(&notes.insert(&note(1, 1))))
            .expect("inserts");
        let tx = database.begin();
        let huge = "x".repeat(ROW_BYTES_MAX);
        let too_long = Note {
            text: huge.clone(),
            ..note(2, 1)
        };
        let refused = tx.call(&notes.insert(&too_long));
        assert!(
            matches!(
                refused,
                Err(CallError::Failed(RecordError::TooLong { table: "notes", limit: ROW_BYTES_MAX, bytes }))
                    if bytes > ROW_BYTES_MAX
            ),
            "{refused:?}"
        );
        let refused = tx.call(&notes.update(&name(1), |found| found.text.clone_from(&huge)));
        let is_too_long = matches!(refused, Err(CallError::Failed(RecordError::TooLong { .. })));
        assert!(is_too_long, "{refused:?}");
        let key = "k".repeat(9000);
        let refused = tx.call(&notes.insert(&Note {
            name: key.clone(),
            ..note(2, 1)
        }));
        let is_of_key = |refused: &CallError<RecordError>| match refused {
            CallError::Failed(RecordError::Row(error)) => {
                matches!(&**error, TableError::KeyTooLong { table, .. } if table == "notes")
            }
            _ => false,
        };
        assert!(refused.as_ref().is_err_and(is_of_key), "{refused:?}");
        let refused = tx.call(&notes.get(&key));
        assert!(refused.as_ref().is_err_and(is_of_key), "{refused:?}");
        let refused = tx.call(&notes.update(&name(1), |found| found.name.push('x')));
        let is_key_changed = matches!(
            refused,
            Err(CallError::Failed(RecordError::KeyChanged {
                table: "notes"
            }))
        );
        assert!(is_key_changed, "{refused:?}");
        // More than the log takes of one operation, and less than a row may have.
        let much = Note {
            text: "x".repeat(300 << 10),
            ..note(2, 1)
        };
        let refused = tx.call(&notes.insert(&much));
        assert!(refused.is_err(), "{refused:?}");
        tx.commit().expect("it did nothing");
        let there = super::read(&database, notes, 3);
        assert_eq!(
            there.into_values().collect::<Vec<_>>(),
            [note(1, 1)],
            "{way:?}"
        );
    }
}

/// A deletion is some bits, and its inverse a text: it is refused if that would not fit into a unit (I14).
#[test]
fn i14_a_deletion_that_could_not_be_undone_is_refused() {
    // Half of the log's limit at once under `small`.
    let limit = 128 << 10;
    let lengths = (limit - 6_400..limit).step_by(200);
    let long = |key: u64, length: usize| Note {
        text: "x".repeat(length),
        ..note(key, 0)
    };
    let model: Model = (0..)
        .zip(lengths)
        .map(|(key, length)| (key, long(key, length)))
        .collect();
    for way in ways() {
        if way.0 == Strategy::SingleLevel {
            // It restores the row, and logs nothing of it.
            continue;
        }
        let disk = SimulatedDisk::new(1, Faults::default());
        for note in model.values() {
            serially(&disk, |tx| {
                let notes = tx.declare_table::<Note>().expect("declares");
                tx.insert(notes, note).expect("inserts");
            });
        }
        let (database, notes) = open(way, &disk);
        let (mut undone, mut refused) = (0, 0);
        for key in model.keys() {
            let tx = database.begin();
            match tx.call(&notes.delete(&name(*key))) {
                Ok(_) => {
                    undone += 1;
                    tx.abort().expect("what was accepted is undone");
                }
                Err(CallError::TooLarge { .. }) => {
                    refused += 1;
                    tx.abort().expect("nothing was done");
                }
                Err(other) => panic!("{other}"),
            }
        }
        let both = way.1 == PageLog::AfterImages || undone > 0;
        assert!(both && refused > 0, "{way:?}: {undone}, {refused}");
        assert_eq!(super::read(&database, notes, 40), model, "{way:?}");
    }
}

#[test]
fn types_that_declare_more_than_rows_are_refused_by_name() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let (database, notes) = open(WAY, &disk);
    let what_of = |refused: DatabaseError| match refused {
        DatabaseError::Table(TableError::BeyondRecords { what, .. }) => what,
        other => panic!("{other}"),
    };
    let refused = database.table::<Indexed>().expect_err("refused");
    assert_eq!(what_of(refused), "indexes");
    let refused = database.table::<Checked>().expect_err("refused");
    assert_eq!(what_of(refused), "conditions");
    let refused = database.table::<Referring>().expect_err("refused");
    assert_eq!(what_of(refused), "references to other tables");
    // Nothing was made of them, and the others are as always.
    let pages = database.table::<Numbered>().expect("a table");
    database
        .run(|tx| {
            tx.call(&pages.insert(&Numbered {
                number: 3,
                text: "a text".repeat(30),
            }))?;
            tx.call(&notes.insert(&note(1, 1)))
        })
        .expect("inserts");
    database.close().expect("closes");
    let names: Vec<String> = crate::records::as_tables(&disk)
        .catalogue()
        .definitions
        .iter()
        .map(|definition| definition.name.clone())
        .collect();
    assert!(
        !names
            .iter()
            .any(|name| name == "indexed" || name == "checked")
    );
}

#[test]
fn a_handle_of_another_database_is_refused() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let (database, notes) = open(WAY, &disk);
    database.close().expect("closes");
    let elsewhere = SimulatedDisk::new(2, Faults::default());
    let second = options(WAY).open_on(Arc::new(elsewhere)).expect("opens");
    second.table::<Numbered>().expect("a table");
    let refused = second.begin().call(&notes.get("x"));
    let is_refused = matches!(refused, Err(CallError::Failed(RecordError::NoTable { .. })));
    assert!(is_refused, "{refused:?}");
}

/// As long as the rows of `Keyed`, and with the same key; it does not declare its fields.
#[derive(Clone, Copy, Debug, Resident)]
#[repr(C)]
struct Filler {
    number: u64,
    rest: [u64; 2],
}
record!(Filler { table: "keyed", key: number: u64 });

#[derive(Record)]
#[record(table = "keyed", key = number, crate = derived)]
struct Keyed {
    number: u64,
    text: String,
}

#[test]
fn plain_records_are_refused_where_their_bytes_would_be_references() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let (database, _) = open(WAY, &disk);
    let keyed = database.table::<Keyed>().expect("a table");
    let refused = database.table::<Filler>();
    let is_refused = matches!(
        refused,
        Err(DatabaseError::Table(TableError::BeyondRecords {
            what: "text or bytes of any length",
            ..
        }))
    );
    assert!(is_refused, "{refused:?}");
    // Nor by a handle that another database gave.
    let handle = sardonyx_multilevel::records::Table::<Filler>::new(keyed.number());
    let refused = database.begin().call(&handle.get(1));
    let is_refused = matches!(refused, Err(CallError::Failed(RecordError::NoTable { .. })));
    assert!(is_refused, "{refused:?}");
}

/// Otherwise an operation that executes one of these, and is undone by its own `inverse`, would not be undone.
#[test]
fn an_inverse_that_needs_the_row_is_refused_and_not_left_out() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let (_database, notes) = open(WAY, &disk);
    let (there, key) = (note(1, 1), name(1));
    let insert = notes.insert(&there);
    let update = notes.update(&key, |_| ());
    let delete = notes.delete(&key);
    assert_eq!(update.inverse(&None), None);
    assert_eq!(delete.inverse(&None), None);
    type Asks<'a> = &'a dyn Fn() -> Option<Inverse>;
    let asks: [Asks<'_>; 3] = [
        &|| insert.inverse(&()),
        &|| update.inverse(&Some(there.clone())),
        &|| delete.inverse(&Some(there.clone())),
    ];
    for ask in asks {
        let refused = catch_unwind(AssertUnwindSafe(ask)).expect_err("refused");
        let said = match refused.downcast_ref::<String>() {
            Some(said) => said.as_str(),
            None => refused.downcast_ref::<&str>().expect("a message"),
        };
        assert!(said.contains("execute_with_inverse"), "{said}");
    }
}
