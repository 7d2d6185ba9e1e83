//! The remains of this way in a database, as the others see them: areas are in no other way's way, and no other reads
//! changes that may still be compensated.

use crate::common::{Add, open, options, ways};
use sardonyx_multilevel::Strategy;
use sardonyx_rows::TableError;
use sardonyx_storage::catalogue::{CatalogueError, Kind, UNDO_AREA};
use sardonyx_storage::disk::{Disk, Faults, SimulatedDisk};
use sardonyx_storage::manifest::Manifest;
use sardonyx_storage::recovery::{RecoveryOptions, recover};
use sardonyx_table::TableSpace;
use std::sync::Arc;

/// Opens the recovered pages as tables, without changing anything on disk.
fn as_tables(disk: &SimulatedDisk) -> Result<TableSpace, TableError> {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let manifest = Manifest::read(&*disk).unwrap();
    let options = RecoveryOptions {
        memory_max_bytes: 64 << 20,
        workers: 1,
        dry_run: true,
        ..RecoveryOptions::default()
    };
    let recovered = recover(&disk, &manifest, options).unwrap();
    TableSpace::open(recovered.store, 1).map(|(space, _)| space)
}

#[test]
fn unfinished_transactions_are_refused_until_they_are_undone() {
    let two_levels = |way: &(Strategy, _)| way.0 != Strategy::SingleLevel;
    for way in ways().into_iter().filter(two_levels) {
        let disk = SimulatedDisk::new(1, Faults::default());
        let (database, area) = open(way, &disk).unwrap();
        let call = |transaction: &sardonyx_multilevel::Transaction<'_>, record| {
            let (amount, records) = (1, vec![record]);
            let add = Add {
                area,
                amount,
                records,
            };
            transaction.call(&add).unwrap();
        };
        let unfinished = [database.begin(), database.begin()];
        for transaction in &unfinished {
            call(transaction, 0);
        }
        // On the page of the unfinished ones, so that they go to the log with it.
        let committed = database.begin();
        call(&committed, 1);
        committed.commit().unwrap();
        unfinished.into_iter().for_each(std::mem::forget);
        std::mem::forget(database);
        let disk = disk.restart(Faults::default());
        for _ in 0..2 {
            let refused = as_tables(&disk).map(|_| ()).unwrap_err();
            let two = matches!(
                refused,
                TableError::Catalogue(CatalogueError::Unfinished { transactions: 2 })
            );
            assert!(two, "{way:?}: {refused}");
        }
        let (database, _) = open(way, &disk).unwrap();
        assert_eq!(database.undone().transactions, 2, "{way:?}");
        database.close().unwrap();
        let space = as_tables(&disk).unwrap();
        let areas = space.definitions().iter().filter(|d| d.kind == Kind::Area);
        let names: Vec<_> = areas.map(|area| &area.name[..]).collect();
        assert!(
            names.contains(&UNDO_AREA) && names.contains(&"records"),
            "{names:?}"
        );
    }
}

#[test]
fn a_database_that_was_closed_is_anybodys() {
    for way in ways() {
        let disk = SimulatedDisk::new(1, Faults::default());
        let (database, area) = open(way, &disk).unwrap();
        let (amount, records) = (1, vec![0]);
        let add = Add {
            area,
            amount,
            records,
        };
        database.run(|tx| tx.call(&add)).unwrap();
        // Dropped: aborted.
        database.begin().call(&add).unwrap();
        database.close().unwrap();
        as_tables(&disk).unwrap();
        options(way)
            .open_on(Arc::new(disk))
            .unwrap()
            .close()
            .unwrap();
    }
}

/// S2's measure is a forced log: an operation's changes are on stable storage when `call` returns, though its
/// transaction has not ended. No other thread writes anything here that would take them along.
#[test]
fn i1_an_operation_whose_log_is_forced_is_durable_when_it_returns() {
    for way in ways() {
        let disk = SimulatedDisk::new(1, Faults::default());
        let (database, area) = open(way, &disk).unwrap();
        let unfinished = database.begin();
        for record in 0..3 {
            let add = Add {
                area,
                amount: 1,
                records: vec![record],
            };
            unfinished.call(&add).unwrap();
        }
        std::mem::forget(unfinished);
        std::mem::forget(database);
        let disk = disk.restart(Faults::default());
        let (database, _) = open(way, &disk).unwrap();
        let undone = database.undone();
        let durable = match way.0 {
            Strategy::ForcedSubtransactions => (1, 3),
            _ => (0, 0),
        };
        let found = (undone.transactions, undone.operations);
        assert_eq!(found, durable, "{way:?}");
        database.close().unwrap();
    }
}
