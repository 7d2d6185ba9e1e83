//! A child made by `fork` is refused, under every strategy, while other threads are in the middle of transactions. It
//! closes, drops, commits and aborts only its own copy, and its parent goes on.
//!
//! Each test has a process of its own: locks of another one's threads would be held in these children, too.

#[path = "../../../sardonyx/tests/common/fork.rs"]
mod fork;

use crate::alone::alone;
use crate::common::{Add, Read, options, small, ways};
use fork::{Fork, end};
use sardonyx_multilevel::{
    Area, CallError, CommitError, Database, DatabaseError, Operation, Pages, Stop,
};
use sardonyx_storage::engine::StorageOptions;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

fn threaded() -> StorageOptions {
    StorageOptions {
        threaded: true,
        ..small()
    }
}

fn add(area: Area, record: u64) -> Add {
    Add {
        area,
        amount: 1,
        records: vec![record],
    }
}

fn value(database: &Database, area: Area, record: u64) -> i64 {
    let records = vec![record];
    let read = Read { area, records };
    let values = database.run(|tx| tx.call(&read)).unwrap();
    values[0]
}

fn is_forked<T>(outcome: Result<T, DatabaseError>) -> bool {
    matches!(outcome, Err(DatabaseError::Forked))
}

fn is_refused<T, E: std::error::Error>(outcome: Result<T, CallError<E>>) -> bool {
    matches!(
        outcome,
        Err(CallError::Engine(DatabaseError::Forked)
            | CallError::Commit(CommitError::Engine(DatabaseError::Forked)))
    )
}

fn open(
    way: (sardonyx_multilevel::Strategy, sardonyx_multilevel::PageLog),
    path: &Path,
    storage: StorageOptions,
) -> (Database, Area) {
    let database = options(way).storage(storage).open(path).unwrap();
    let area = database.area("records", 4).unwrap();
    (database, area)
}

#[test]
fn i1_i9_a_forked_child_is_refused_under_every_strategy() {
    alone(|| {
        for way in ways() {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("forks.sdx");
            let (database, area) = open(way, &path, threaded());
            let database = Arc::new(database);
            let stop = Arc::new(AtomicBool::new(false));
            let busy = {
                let (database, stop) = (database.clone(), stop.clone());
                std::thread::spawn(move || {
                    let mut done = 0;
                    while !stop.load(Ordering::Relaxed) {
                        database.run(|tx| tx.call(&add(area, 1))).unwrap();
                        database.statistics();
                        done += 1;
                    }
                    done
                })
            };
            let mut children = Vec::new();
            for n in 0..12 {
                database.run(|tx| tx.call(&add(area, 9))).unwrap();
                let running = database.begin();
                running.call(&add(area, 13)).unwrap();
                let child = Fork::Library.child(|| {
                    let commit = is_refused(running.call(&add(area, 13))) && {
                        match n % 2 {
                            0 => is_forked(running.abort()),
                            _ => matches!(
                                running.commit(),
                                Err(CommitError::Engine(DatabaseError::Forked))
                            ),
                        }
                    };
                    let begun = database.begin();
                    let refused = is_refused(begun.call(&add(area, 9)));
                    drop(begun);
                    let refused = refused
                        && is_refused(database.run(|tx| tx.call(&add(area, 9))))
                        && is_forked(database.area("another", 1))
                        && is_forked(database.flush())
                        && is_forked(database.checkpoint())
                        && database.waiting().is_empty()
                        && database.statistics().log.groups == 0;
                    // SAFETY: nothing else uses it in this child, which ends without dropping it again.
                    let own: Database = unsafe { std::ptr::read(&raw const *database) };
                    let closed = match n % 3 {
                        0 => is_forked(own.close()),
                        1 => {
                            drop(own);
                            true
                        }
                        _ => {
                            std::mem::forget(own);
                            true
                        }
                    };
                    commit && refused && closed
                });
                children.push(child);
            }
            for child in children {
                assert!(child.ends_content(), "{way:?}");
            }
            stop.store(true, Ordering::Relaxed);
            let done = busy.join().unwrap();
            Arc::into_inner(database).unwrap().close().unwrap();
            let (database, area) = open(way, &path, threaded());
            assert_eq!(value(&database, area, 1), done, "{way:?}");
            assert_eq!(value(&database, area, 9), 12, "{way:?}");
            assert_eq!(value(&database, area, 13), 0, "{way:?}: they were aborted");
        }
    });
}

/// Forks while it is executed.
struct Forking(Area, Mutex<Option<fork::Child>>);

impl Operation for Forking {
    type Output = ();
    type Error = Stop;

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), Stop> {
        add(self.0, 5).execute(pages)?;
        let child = Fork::Library.here();
        let in_child = child.is_none();
        *self.1.lock().unwrap() = child;
        let more = add(self.0, 9).execute(pages);
        assert_eq!(more.is_err(), in_child, "a page that it has to lock first");
        Ok(())
    }
}

#[test]
fn i8_a_child_made_inside_an_operation_neither_ends_it_nor_commits() {
    alone(|| {
        for way in ways() {
            for storage in [threaded(), small()] {
                let directory = tempfile::tempdir().unwrap();
                let path = directory.path().join("inside.sdx");
                let (database, area) = open(way, &path, storage.clone());
                let forking = Forking(area, Mutex::default());
                let transaction = database.begin();
                let outcome = transaction.call(&forking);
                match forking.1.into_inner().unwrap() {
                    None => {
                        let refused = is_refused(outcome);
                        let commit = transaction.commit();
                        let commit =
                            matches!(commit, Err(CommitError::Engine(DatabaseError::Forked)));
                        end(refused && commit && is_forked(database.close()))
                    }
                    Some(child) => assert!(child.ends_content(), "{way:?}"),
                }
                outcome.unwrap();
                transaction.commit().unwrap();
                database.close().unwrap();
                let (database, area) = open(way, &path, storage);
                let values = [5, 9].map(|record| value(&database, area, record));
                assert_eq!(values, [1, 1], "{way:?}");
            }
        }
    });
}
