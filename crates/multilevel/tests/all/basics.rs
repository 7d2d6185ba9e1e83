//! Behaviour that every strategy has: commit, abort, failures, unfinished transactions.

use crate::common::{self, Add, Read, open, options, ways};
use sardonyx_multilevel::{CallError, DatabaseError, Options, PageLog, Stop, Strategy};
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use std::sync::Arc;

fn read(database: &sardonyx_multilevel::Database, area: sardonyx_multilevel::Area) -> Vec<i64> {
    let records = (0..16).collect();
    let read = Read { area, records };
    database
        .run(|tx| tx.call(&read))
        .unwrap_or_else(|error: CallError<Stop>| panic!("{error}"))
}

fn sums(adds: &[(&[u64], i64)]) -> Vec<i64> {
    let mut sums = vec![0; 16];
    for (records, amount) in adds {
        records.iter().for_each(|r| sums[*r as usize] += amount);
    }
    sums
}

#[test]
fn committed_is_there_after_a_restart_and_aborted_is_not() {
    for way in ways() {
        let disk = SimulatedDisk::new(1, Faults::default());
        let (database, area) = open(way, &disk).unwrap();
        let add = |records: &[u64], amount| Add {
            area,
            amount,
            records: records.to_vec(),
        };
        database
            .run(|tx| {
                tx.call(&add(&[0, 5, 9], 1))?;
                tx.call(&add(&[5, 6], 10))
            })
            .unwrap_or_else(|error: CallError<Stop>| panic!("{error}"));
        let aborted = database.begin();
        aborted.call(&add(&[0, 6, 15], 100)).unwrap();
        aborted.call(&add(&[0, 1], 1000)).unwrap();
        aborted.abort().unwrap();
        let expected = sums(&[(&[0, 5, 9], 1), (&[5, 6], 10)]);
        assert_eq!(read(&database, area), expected, "{way:?}");
        assert_eq!(database.statistics().committed, 2);
        database.close().unwrap();
        let (database, area) = open(way, &disk).unwrap();
        assert_eq!(database.undone().transactions, 0);
        assert_eq!(read(&database, area), expected, "{way:?}");
    }
}

#[test]
fn an_operation_that_fails_is_undone_alone() {
    for way in ways() {
        let disk = SimulatedDisk::new(1, Faults::default());
        let (database, area) = open(way, &disk).unwrap();
        let add = |records: &[u64]| Add {
            area,
            amount: 1,
            records: records.to_vec(),
        };
        let tx = database.begin();
        tx.call(&add(&[0, 4])).unwrap();
        // The last record is on a page that is not there.
        let error = tx.call(&add(&[0, 1, 8, 4000])).unwrap_err();
        assert!(matches!(error, CallError::Failed(Stop::NoPage { .. })));
        tx.call(&add(&[8])).unwrap();
        tx.commit().unwrap();
        assert_eq!(read(&database, area), sums(&[(&[0, 4, 8], 1)]), "{way:?}");
    }
}

#[test]
fn what_is_unfinished_is_undone_when_the_database_is_opened_by_any_strategy() {
    for (n, way) in ways().into_iter().enumerate() {
        let disk = SimulatedDisk::new(1, Faults::default());
        let (database, area) = open(way, &disk).unwrap();
        let add = |records: &[u64], amount| Add {
            area,
            amount,
            records: records.to_vec(),
        };
        let unfinished = database.begin();
        if way.0 != Strategy::SingleLevel {
            unfinished.call(&add(&[0, 5], 1)).unwrap();
        }
        // Shares pages with the unfinished one, and takes it to the log.
        database
            .run(|tx| tx.call(&add(&[0, 5], 10)))
            .unwrap_or_else(|error: CallError<Stop>| panic!("{error}"));
        if way.0 != Strategy::SingleLevel {
            unfinished.call(&add(&[1], 100)).unwrap();
        }
        std::mem::forget(unfinished);
        std::mem::forget(database);
        let disk = disk.restart(Faults::default());
        let reopened = ways()[(n + 3) % ways().len()];
        let (database, area) = open(reopened, &disk).unwrap();
        let undone = u64::from(way.0 != Strategy::SingleLevel);
        assert_eq!(database.undone().transactions, undone, "{way:?}");
        let found = read(&database, area);
        assert_eq!(found, sums(&[(&[0, 5], 10)]), "{way:?} {reopened:?}");
        drop(database);
        let (database, _) = open(way, &disk).unwrap();
        assert_eq!(database.undone().transactions, 0);
    }
}

#[test]
fn an_unregistered_inverse_is_named_at_opening() {
    let way = (Strategy::OrderedLog, PageLog::ByteRanges);
    let disk = SimulatedDisk::new(1, Faults::default());
    let (database, area) = open(way, &disk).unwrap();
    let unfinished = database.begin();
    let (amount, records) = (1, vec![3]);
    let add = Add {
        area,
        amount,
        records,
    };
    unfinished.call(&add).unwrap();
    database.flush().unwrap();
    std::mem::forget(unfinished);
    std::mem::forget(database);
    let disk = disk.restart(Faults::default());
    let bare = Options::new().storage(common::small());
    let error = bare.open_on(Arc::new(disk.clone())).unwrap_err();
    assert!(matches!(&error, DatabaseError::Unregistered { name } if name == "add"));
    // Nothing is lost by it.
    let database = options(way).open_on(Arc::new(disk)).unwrap();
    assert_eq!(database.undone().operations, 1);
}

/// Reads another transaction's message in a page about pages that were added meanwhile.
struct ReadNews<'a> {
    area: sardonyx_multilevel::Area,
    /// Called once this operation is running.
    meanwhile: &'a dyn Fn(),
}

impl sardonyx_multilevel::Operation for ReadNews<'_> {
    type Output = u64;
    type Error = Stop;

    fn execute(&self, pages: &mut dyn sardonyx_multilevel::Pages) -> Result<u64, Stop> {
        let before = pages.pages_of(self.area)?;
        (self.meanwhile)();
        // Through a page that was not there when this began.
        let new = pages.page(self.area, before)?;
        assert_eq!(pages.read(new)?[0], 0);
        pages.pages_of(self.area)
    }
}

struct AddPage(sardonyx_multilevel::Area);

impl sardonyx_multilevel::Operation for AddPage {
    type Output = ();
    type Error = Stop;

    fn execute(&self, pages: &mut dyn sardonyx_multilevel::Pages) -> Result<(), Stop> {
        let pages_now = pages.pages_of(self.0)?;
        pages.grow(self.0, pages_now + 1)
    }
}

#[test]
fn an_operation_sees_pages_that_others_added_since_it_began() {
    for way in ways() {
        let disk = SimulatedDisk::new(1, Faults::default());
        let (database, area) = open(way, &disk).unwrap();
        let grow = || {
            std::thread::scope(|scope| {
                let thread = scope.spawn(|| {
                    let tx = database.begin();
                    tx.call(&AddPage(area)).unwrap();
                    tx.commit().unwrap();
                });
                thread.join().unwrap();
            });
        };
        let meanwhile = &grow;
        let tx = database.begin();
        let before = tx.call(&ReadNews { area, meanwhile }).unwrap();
        assert!(before > 16, "{way:?}");
        tx.commit().unwrap();
    }
}

/// With spheres, a transaction may end many spheres, of many pages, in one unit.
#[test]
fn a_transaction_of_many_operations_ends_however_many_pages_they_changed() {
    for way in ways() {
        if way.0 == Strategy::SingleLevel {
            // There it is one change, with a limit (`bad_input.rs`).
            continue;
        }
        let disk = SimulatedDisk::new(1, Faults::default());
        let (database, _) = open(way, &disk).unwrap();
        let area = database.area("many", 600).unwrap();
        let tx = database.begin();
        for page in 0..600 {
            let (amount, records) = (1, vec![page * common::RECORDS_PER_PAGE]);
            let add = Add {
                area,
                amount,
                records,
            };
            tx.call(&add).unwrap();
        }
        tx.commit().unwrap();
        drop(database);
        let (database, _) = open(way, &disk).unwrap();
        let records = (0..600)
            .map(|page| page * common::RECORDS_PER_PAGE)
            .collect();
        let read = Read { area, records };
        let found: Vec<i64> = database
            .run(|tx| tx.call(&read))
            .unwrap_or_else(|error: CallError<Stop>| panic!("{error}"));
        assert_eq!(found, [1; 600], "{way:?}");
    }
}

/// With spheres, the undo entries of a transaction that runs for long are written with the first
/// other transaction that touches the same page.
#[test]
fn many_operations_on_one_page_are_written_with_another_transaction() {
    for way in ways() {
        if way.0 == Strategy::SingleLevel {
            continue;
        }
        let disk = SimulatedDisk::new(1, Faults::default());
        let (database, area) = open(way, &disk).unwrap();
        let add = |amount, record| Add {
            area,
            amount,
            records: vec![record],
        };
        let long = database.begin();
        let operations = if way.0 == Strategy::ForcedSubtransactions {
            100
        } else {
            20_000
        };
        for _ in 0..operations {
            long.call(&add(1, 0)).unwrap();
        }
        database
            .run(|tx| tx.call(&add(10, 1)))
            .unwrap_or_else(|error: CallError<Stop>| panic!("{error}"));
        std::mem::forget(long);
        std::mem::forget(database);
        let disk = disk.restart(Faults::default());
        let (database, area) = open(way, &disk).unwrap();
        assert_eq!(database.undone().operations, operations, "{way:?}");
        assert_eq!(read(&database, area), sums(&[(&[1], 10)]), "{way:?}");
    }
}
