//! A transaction's code that calls the database that runs it is told so, instead of waiting for its
//! own end (I8).

use sardonyx::{Database, Error, Options, SerialError, Shape, record};
use std::sync::Arc;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Counter {
    number: u64,
    value: u64,
}
record!(Counter { table: "counters", key: number: u64 });

const SHAPES: [Shape; 3] = [
    Shape::Pipelined {
        input_threads: 1,
        output_threads: 1,
    },
    Shape::Coalesced,
    Shape::Threadless,
];

fn is_nested<T>(outcome: Result<T, Error>) -> bool {
    matches!(outcome, Err(Error::Transaction(SerialError::Nested)))
}

fn open(shape: Shape) -> (tempfile::TempDir, Arc<Database>) {
    let directory = tempfile::tempdir().unwrap();
    let options = Options::new().shape(shape).segment_bytes(1 << 20);
    let options = options.log_bytes_max(8 << 20).group_limits(small_groups());
    let database = options.open(directory.path().join("nested.sdx")).unwrap();
    (directory, Arc::new(database))
}

fn small_groups() -> sardonyx::GroupLimits {
    sardonyx::GroupLimits {
        group_bytes: 64 << 10,
        transaction_bytes: 64 << 10,
        ..Default::default()
    }
}

#[test]
fn i8_no_transaction_runs_inside_another() {
    for shape in SHAPES {
        let (_directory, database) = open(shape);
        let counters = database.table::<Counter>().unwrap();
        database
            .run(|transaction| {
                let counter = Counter {
                    number: 1,
                    value: 1,
                };
                transaction.insert(counters, &counter)?;
                let inner = database.run(|inner| {
                    inner.update(counters, &1, |counter| counter.value = 99)?;
                    Ok::<_, Error>(())
                });
                assert!(is_nested(inner));
                assert!(is_nested(database.flush()));
                assert!(is_nested(database.checkpoint()));
                Ok::<_, Error>(())
            })
            .unwrap();
        // The outer one went its way, and others follow.
        let value = database.read(|view| view.get(counters, &1).map(|counter| counter.value));
        assert_eq!(value, Some(1), "{shape:?}");
        database.flush().unwrap();
    }
}

#[test]
fn a_submitted_closure_cannot_wait_for_what_comes_after_it() {
    for shape in SHAPES {
        let (_directory, database) = open(shape);
        let counters = database.table::<Counter>().unwrap();
        let inside = database.clone();
        let ticket = database.submit(move |transaction| {
            let counter = Counter {
                number: 1,
                value: 1,
            };
            transaction.insert(counters, &counter)?;
            Ok::<_, Error>(is_nested(inside.run(|_| Ok::<_, Error>(()))))
        });
        assert!(ticket.wait().unwrap().unwrap(), "{shape:?}");
        let inside = database.clone();
        let ticket = database.submit(move |_| {
            let later = inside.submit(|_| Ok::<_, Error>(()));
            Ok::<_, Error>(match later.is_done() {
                true => matches!(later.wait(), Err(SerialError::Nested)),
                // Only where others run it can it be on its way; it must not be waited for here.
                false => shape != Shape::Coalesced && shape != Shape::Threadless,
            })
        });
        assert!(ticket.wait().unwrap().unwrap(), "{shape:?}");
    }
}

#[test]
#[should_panic(expected = "cannot begin another")]
fn reading_through_the_database_inside_a_transaction_panics() {
    let (_directory, database) = open(Shape::Coalesced);
    let _ = database.run(|_| Ok::<_, Error>(database.read(|view| view.bytes())));
}
