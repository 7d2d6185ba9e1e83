//! Records of a snapshot: those of a page with long texts are not read all at once.

use super::{derived, open_limited};
use crate::common::ways;
use sardonyx_derive::Record;
use sardonyx_multilevel::records::TableOperations;
use sardonyx_rows::StoredField;
use sardonyx_rows::schema::{Type, ValueRef};
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use std::cell::Cell;

thread_local! {
    /// Texts that were read on this thread.
    static READ: Cell<usize> = const { Cell::new(0) };
}

/// A text that counts how often one is read.
#[derive(Clone, PartialEq, Debug)]
struct Counted(String);

impl StoredField for Counted {
    const KIND: Type = Type::Text;
    type Key<'k> = &'k str;

    fn to_value(&self) -> ValueRef<'_> {
        ValueRef::Text(&self.0)
    }

    fn from_value(value: ValueRef<'_>) -> Option<Self> {
        READ.set(READ.get() + 1);
        String::from_value(value).map(Counted)
    }
}

#[derive(Clone, PartialEq, Debug, Record)]
#[record(table = "counted", key = number, crate = derived)]
struct Row {
    number: u64,
    text: Counted,
}

/// A page has more than 50 such rows, and each text takes three pages of its own.
#[test]
fn texts_of_few_rows_are_read_at_once() {
    for way in ways() {
        let disk = SimulatedDisk::new(1, Faults::default());
        let (database, _) = open_limited(way, &disk, |options| options);
        let rows = database.table::<Row>().expect("a table");
        let row = |number: u64| Row {
            number,
            text: Counted(number.to_string().repeat(10_000 / number.to_string().len())),
        };
        for number in 0..50 {
            let inserted = database.run(|tx| tx.call(&rows.insert(&row(number))));
            inserted.expect("inserts");
        }
        let snapshot = database.snapshot().expect("a snapshot");
        let mut records = snapshot.records(rows);
        READ.set(0);
        let mut found = Vec::new();
        for record in records.by_ref() {
            found.push(record.expect("reads"));
            let ahead = READ.get() - found.len();
            assert!(ahead < 8, "{way:?}: {ahead} were read ahead");
        }
        found.sort_by_key(|row| row.number);
        assert!(found.into_iter().eq((0..50).map(row)), "{way:?}");
        assert!(records.next().is_none(), "{way:?}");
    }
}
