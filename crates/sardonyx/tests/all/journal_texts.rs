//! Rows of journals with texts: appended in every shape, read from both ends, from the archive, after a crash, by nodes;
//! rows of another type are refused, and never read as something else.

use crate::common::{SEGMENT_BYTES, SHAPES, options};
use sardonyx::journals::JournalRow;
use sardonyx::types::Date;
use sardonyx::{Error, Journal, Record, Tables};
use sardonyx_rows::TableError;
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use std::sync::Arc;

#[derive(Clone, PartialEq, Debug, Record)]
#[record(journal = "events")]
pub struct Event {
    number: u64,
    text: String,
    more: Option<Vec<u8>>,
    day: Date,
}

/// The same journal, by a program with another field.
#[derive(Clone, PartialEq, Debug, Record)]
#[record(journal = "events")]
struct Other {
    number: u64,
    title: String,
}

/// Nothing in it has a value for certain.
#[derive(Clone, PartialEq, Debug, Record)]
#[record(journal = "maybe")]
struct Maybe {
    none: Option<String>,
    bytes: Option<[u8; 5]>,
}

/// Rows of plain data, under the same name as rows with texts.
mod plain {
    sardonyx::record! {
        #[journal("events")]
        #[derive(Debug)]
        pub struct Event {
            pub number: u64,
        }
    }
}

pub fn event(number: u64) -> Event {
    let length = [0, 3, 12, 13, 300, 3_900][number as usize % 6];
    let letter = char::from(b'a' + (number % 26) as u8);
    Event {
        number,
        text: letter.to_string().repeat(length),
        more: (!number.is_multiple_of(4)).then(|| vec![number as u8; number as usize % 40]),
        day: Date(number as i32),
    }
}

fn read<J: JournalRow>(database: &Tables, journal: Journal<J>) -> Result<Vec<J>, Error> {
    let rows = database.journal_range(journal, ..)?;
    rows.map(|row| Ok(row?.1)).collect()
}

#[test]
fn rows_with_texts_are_read_as_they_were_appended() {
    for shape in SHAPES {
        let disk = SimulatedDisk::new(1, Faults::default());
        // A log that is freed again and again, so that most rows are read from the archive.
        let options = || options(shape).log_bytes_max(4 * SEGMENT_BYTES);
        let open = || {
            options()
                .open_tables_on(Arc::new(disk.clone()))
                .expect("opens")
        };
        let database = open();
        let events = database.journal::<Event>().expect("a journal");
        for number in 0..300 {
            database
                .run(|tx| tx.append(events, &event(number)))
                .expect("durable");
        }
        let all: Vec<Event> = (0..300).map(event).collect();
        assert_eq!(read(&database, events).expect("reads"), all, "{shape:?}");
        let range = database.journal_range(events, ..).expect("a range");
        let back: Result<Vec<Event>, Error> = range.rev().map(|row| Ok(row?.1)).collect();
        assert!(
            back.expect("reads").into_iter().rev().eq(all.clone()),
            "{shape:?}"
        );
        database.close().expect("closes");
        let database = open();
        let events = database.journal::<Event>().expect("the same");
        let mut rows = Vec::new();
        let called = database.journal_rows(events, |row| {
            rows.push(row);
            true
        });
        called.expect("reads");
        assert_eq!(rows, all, "{shape:?}");
    }
}

#[test]
fn a_crash_keeps_the_rows_that_were_acknowledged() {
    for at in 1..40 {
        let disk = SimulatedDisk::new(at, Faults::default());
        let options = options(SHAPES[0]);
        let database = options
            .open_tables_on(Arc::new(disk.clone()))
            .expect("opens");
        let events = database.journal::<Event>().expect("a journal");
        database.close().expect("closes");
        let crashed = disk.restart(Faults {
            crash_at_step: Some(at),
            ..Faults::default()
        });
        let mut acknowledged = 0;
        if let Ok(database) =
            crate::common::options(SHAPES[0]).open_tables_on(Arc::new(crashed.clone()))
        {
            let events = database.journal::<Event>().expect("the same");
            while acknowledged < 30
                && database
                    .run(|tx| tx.append(events, &event(acknowledged)))
                    .is_ok()
            {
                acknowledged += 1;
            }
        }
        let restarted = crashed.restart(Faults::default());
        let database = crate::common::options(SHAPES[0])
            .open_tables_on(Arc::new(restarted))
            .expect("opens after a crash");
        let found = read(&database, events).expect("reads");
        assert!(found.len() as u64 >= acknowledged, "crash at {at}");
        let appended = (0..found.len() as u64).map(event);
        assert!(found.into_iter().eq(appended), "crash at {at}");
    }
}

#[test]
fn rows_that_are_too_long_or_of_another_type_are_refused() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let database = options(SHAPES[0])
        .open_tables_on(Arc::new(disk.clone()))
        .expect("opens");
    let events = database.journal::<Event>().expect("a journal");
    let too_long = Event {
        text: "x".repeat(5000),
        ..event(1)
    };
    let refused = database.run(|tx| {
        tx.append(events, &event(0))?;
        tx.append(events, &too_long)
    });
    let refused = refused.expect_err("refused");
    assert!(matches!(refused, Error::Limit(_)), "{refused:?}");
    let why = refused.downcast_ref::<TableError>();
    let is_named = matches!(
        why,
        Some(TableError::JournalRowTooLong { journal, .. }) if journal == "events"
    );
    assert!(is_named, "{refused:?}");
    assert_eq!(read(&database, events).expect("reads"), []);
    database
        .run(|tx| tx.append(events, &event(2)))
        .expect("durable");
    // The journal is of rows of any length, and each has the fingerprint of its fields.
    let others = database.journal::<Other>().expect("a journal");
    let refused = read(&database, others).expect_err("refused");
    assert!(matches!(refused, Error::Refused(_)), "{refused:?}");
    assert!(refused.to_string().contains("other fields"), "{refused}");
    let refused = database.journal::<plain::Event>().expect_err("refused");
    assert!(refused.to_string().contains("any length"), "{refused}");
    let maybe = database.journal::<Maybe>().expect("a journal");
    let rows = [None, Some("text".repeat(10))].map(|text| Maybe {
        bytes: text.is_some().then_some([7; 5]),
        none: text,
    });
    for row in &rows {
        database.run(|tx| tx.append(maybe, row)).expect("durable");
    }
    assert_eq!(read(&database, maybe).expect("reads"), rows);
    assert_eq!(read(&database, events).expect("reads"), [event(2)]);
}
