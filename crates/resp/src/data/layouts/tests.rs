//! Rows are read by the places of their columns, and not in the general way, as long as these are those of all rows: also when
//! databases are exchanged.

use super::super::{Data, Hashes, Room};
use super::*;
use crate::Keyspace;
use crate::ahead::{self, Ahead};
use crate::command::{self, line::Line};
use crate::data::{Entry, Kind};
use crate::failure::Failure;
use crate::session::{Session, SessionOptions};
use crate::shared::Shared;
use bytes::BytesMut;
use sardonyx::Transaction;
use sardonyx::disk::{Faults, SimulatedDisk};
use sardonyx::low_level::Steps;
use sardonyx::procedures::{ProcedureError, TableSpace};
use sardonyx::schema::Value;
use sardonyx::{Options, Shape, Tables};
use std::cell::OnceCell;
use std::future::Future;
use std::ops::Range;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

fn send(session: &mut Session, sent: &str) {
    let (mut input, mut output) = (BytesMut::from(sent), BytesMut::new());
    while !input.is_empty() {
        let flight = session.take(&mut input).expect("commands");
        let run = pin!(session.run(flight, &mut output));
        let polled = run.poll(&mut Context::from_waker(Waker::noop()));
        // Without threads it is answered while it is asked.
        assert!(matches!(polled, Poll::Ready(_)));
    }
    assert!(!output.contains(&b'-'), "{output:?}");
}

/// A key's row, and its first element, found by places; the key's length, set by its place; and a new key, inserted by places.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Known {
    key: bool,
    element: bool,
    set: bool,
    inserted: bool,
}

const ALL: Known = Known {
    key: true,
    element: true,
    set: true,
    inserted: true,
};

/// Looks at the set `s` with the member `m`, as its commands do.
struct Looking<'s> {
    shared: &'s Shared,
    database: u8,
    line: Line,
    hashes: OnceCell<Hashes>,
    new: Vec<u8>,
    hash_of_new: Option<u64>,
    known: Option<Known>,
}

impl Steps for Looking<'_> {
    type Error = Failure;

    fn count(&self) -> usize {
        1
    }

    fn prefetch(&mut self, _: Range<usize>, space: &TableSpace) {
        let call = Ahead {
            command: command::find(b"scard").expect("a command"),
            line: &self.line,
            database: self.database,
            hashes: &self.hashes,
        };
        ahead::ask(self.shared, [call].into_iter(), space);
        let pair = self.shared.databases.find(&space.view(), self.database);
        self.hash_of_new = space.hash_of(pair.expect("there").kv, &self.new[..]);
    }

    fn run(&mut self, _: usize, transaction: &mut Transaction<'_>) -> Result<(), Failure> {
        let room = Room::new(1000);
        let mut data = Data::new(transaction, self.shared, (1, 1), &room, self.database);
        data.hashed = self.hashes.get().map(|hashes| (&self.line, hashes));
        let entry = data.entry(b"s")?.expect("there");
        let place = data.shared.places.of(entry.id, b"m");
        let after = Entry {
            length: entry.length + 1,
            ..entry
        };
        let at_hint = data.at_hint(Kind::Set, place, entry.id, b"m");
        let new = data.create(&self.new, Kind::String)?;
        let place_of_new = (data.pair.expect("there").kv, self.hash_of_new);
        let inserted = data.insert_by_layout(place_of_new, (&self.new, &new, b"value"));
        self.known = Some(Known {
            key: matches!(data.fixed_row(self.line.part(1)), Some(Some(_))),
            element: matches!(at_hint, Some(Some(_))),
            set: data.set_counts(&entry, &after).is_some()
                && data.set_counts(&after, &entry).is_some(),
            inserted: inserted.map(|inserted| inserted.expect("room")).is_some(),
        });
        Ok(())
    }

    fn failed(&mut self, _: usize, error: ProcedureError<Failure>) {
        panic!("{error:?}");
    }
}

/// The ways in which the set is known.
fn known(keyspace: &Keyspace, database: u8) -> Known {
    let mut looking = Looking {
        shared: keyspace.shared(),
        database,
        line: Line::of(&[&b"scard"[..], b"s"]),
        hashes: OnceCell::new(),
        new: format!("new key of id {}", keyspace.shared().next_id()).into(),
        hash_of_new: None,
        known: None,
    };
    let turn = keyspace.free_turn().expect("free");
    turn.run_steps(&mut looking).wait().expect("durable");
    looking.known.expect("it ran")
}

fn opened() -> (Arc<Tables>, Arc<Keyspace>, Session) {
    let disk = SimulatedDisk::new(1, Faults::default());
    let options = Options::new()
        .shape(Shape::Threadless)
        .memory_bytes_max(64 << 20);
    let tables = Arc::new(options.open_tables_on(Arc::new(disk)).expect("opens"));
    let keyspace = Keyspace::open(Arc::clone(&tables)).expect("opens");
    let session = Session::new(Arc::clone(&keyspace), SessionOptions::default());
    (tables, keyspace, session)
}

#[test]
fn keys_have_the_same_rows_inserted_by_places_and_by_columns() {
    let (tables, keyspace, mut session) = opened();
    send(
        &mut session,
        "SELECT 1\r\nSADD s m\r\nSELECT 0\r\nSADD s m\r\n",
    );
    let added =
        tables.run(|tx| tx.add_column("pg_redis.kv_db1", "note", Type::U64, true, Value::Null));
    added.expect("a column");
    let inserted = |database| known(&keyspace, database).inserted;
    assert_eq!([0, 1].map(inserted), [true, false]);
    let long = "v".repeat(10_000);
    for database in [0, 1] {
        let keys = format!(
            "SELECT {database}\r\nFLUSHDB\r\nSET short 1\r\nSET twelve-bytes twelve-bytes\r\nINCR thirteen-byte\r\n\
             SET a-key-of-many-bytes thirteen-byte\r\nSET long {long}\r\nSET none \"\"\r\n\
             SET due x PXAT 4000000000123\r\nSET a-longer-key-that-is-due y PXAT 4000000000999\r\n\
             LPUSH list a b\r\nSADD set a b c\r\nZADD sorted 1 a\r\nHSET hash a b\r\nMSET m1 v1 m2 v2 m3 v3\r\n"
        );
        send(&mut session, &keys);
    }
    let rows = |table: &str| {
        let rows = tables.run(|tx| {
            let rows = tx.rows(table)?;
            let mut values = Vec::new();
            for row in rows.scan() {
                let mut row = row?.to_values()?;
                // The ids are others, and so is the number of columns.
                row.truncate(7);
                row.remove(1);
                values.push(format!("{row:?}"));
            }
            values.sort();
            Ok::<_, sardonyx::Error>(values)
        });
        rows.expect("rows")
    };
    let by_places = rows("pg_redis.kv");
    assert_eq!(by_places.len(), 15);
    assert_eq!(by_places, rows("pg_redis.kv_db1"));
}

#[test]
fn rows_are_known_by_places_until_they_have_two_shapes_also_when_databases_are_exchanged() {
    let (tables, keyspace, mut session) = opened();
    send(
        &mut session,
        "SADD s m\r\nSCARD s\r\nSELECT 1\r\nSADD s m n\r\n",
    );
    assert_eq!(
        [0, 1].map(|database| known(&keyspace, database)),
        [ALL, ALL]
    );
    send(&mut session, "SWAPDB 0 1\r\n");
    assert_eq!(
        [0, 1].map(|database| known(&keyspace, database)),
        [ALL, ALL]
    );
    let add_column = |table: &str| {
        let added = tables.run(|tx| tx.add_column(table, "note", Type::U64, true, Value::Null));
        added.expect("a column");
    };
    add_column("pg_redis.kv");
    let general = Known {
        key: false,
        element: true,
        set: false,
        inserted: false,
    };
    assert_eq!(known(&keyspace, 0), general);
    assert_eq!(known(&keyspace, 1), ALL);
    add_column("pg_redis.kv_set");
    let element = false;
    assert_eq!(known(&keyspace, 0), Known { element, ..general });
    assert_eq!(known(&keyspace, 1), Known { element, ..ALL });
}

#[test]
fn a_schema_of_a_table_that_has_had_many_has_no_layout() {
    let layouts: Kept<usize> = Kept::new();
    let schemas: Vec<_> = (0..=TRIED_MAX)
        .map(|_| Arc::new(Schema::default()))
        .collect();
    let of = |table, number: usize| {
        layouts
            .of(table, &schemas[number], |_| Some(number))
            .copied()
    };
    for number in 0..TRIED_MAX {
        assert_eq!(of(63, number), Some(number));
    }
    assert_eq!(of(63, TRIED_MAX), None);
    assert_eq!(
        (of(63, 0), of(63, TRIED_MAX - 1)),
        (Some(0), Some(TRIED_MAX - 1))
    );
    // Some of their places are those of another table, too.
    assert_eq!(of(0, TRIED_MAX), Some(TRIED_MAX));
    // That there is none is kept, too.
    assert_eq!(layouts.of(30, &schemas[0], |_| None), None);
    assert_eq!(of(30, 0), None);
}
