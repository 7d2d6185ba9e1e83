//! I14 with a log that finds no room on the disk. Operations are refused, and running transactions are committed or
//! undone all the same, in the segment that is kept for that. When there is room again everything goes on, without
//! being opened anew.

use crate::common::{Add, Read, options, small, ways};
use sardonyx_base::random::Random;
use sardonyx_multilevel::{CallError, Database, PAGE_SIZE, Transaction};
use sardonyx_storage::crashes::End;
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use sardonyx_storage::engine::StorageOptions;
use std::sync::Arc;

const RECORDS: u64 = 8;

/// A log that is full soon.
fn storage() -> StorageOptions {
    StorageOptions {
        segment_bytes: 512 << 10,
        log_bytes_max: 64 << 20,
        log_bytes_prepared: 0,
        checkpoint_interval_bytes: Some(32 << 20),
        memory_bytes_max: 1024 * PAGE_SIZE as u64,
        ..small()
    }
}

/// Returns true if the operation was done; if not, it failed for want of room in the log.
fn done(outcome: Result<(), CallError<sardonyx_multilevel::Stop>>) -> bool {
    match outcome {
        Ok(()) => true,
        Err(error) => {
            let text = error.to_string();
            assert!(text.contains("free disk space"), "{error:?}");
            false
        }
    }
}

#[test]
fn i14_no_end_fails_while_the_disk_is_full_and_everything_goes_on_afterwards() {
    for way in ways() {
        let mut refused = 0;
        for seed in 0..crate::seeds().unwrap_or(2) {
            let disk = SimulatedDisk::new(seed, Faults::default());
            let open = |disk: &SimulatedDisk| -> Database {
                let options = options(way).storage(storage());
                options.open_on(Arc::new(disk.clone())).unwrap()
            };
            let database = open(&disk);
            let area = database.area("records", 16).unwrap();
            drop(database);
            // All that is created or made longer fails from here on, until it was tried often.
            let disk = disk.restart(End::Full(8, 600).faults());
            let database = open(&disk);
            let what = format!("{way:?}, seed {seed}");
            let mut random = Random::new(seed);
            let mut committed = [0; RECORDS as usize];
            for _ in 0..900 {
                let tx: Transaction<'_> = database.begin();
                let mut mine = committed;
                for _ in 0..random.below(5) {
                    let record = random.below(RECORDS);
                    let records = vec![record, (record + 1) % RECORDS];
                    let add = Add {
                        area,
                        amount: 1,
                        records: records.clone(),
                    };
                    if !done(tx.call(&add)) {
                        refused += 1;
                        break;
                    }
                    records
                        .iter()
                        .for_each(|&record| mine[record as usize] += 1);
                }
                if random.chance(1, 3) {
                    tx.abort().unwrap_or_else(|e| panic!("{what}: abort: {e}"));
                } else {
                    tx.commit()
                        .unwrap_or_else(|e| panic!("{what}: commit: {e}"));
                    committed = mine;
                }
            }
            // Over: nothing is refused any more.
            let records: Vec<u64> = (0..RECORDS).collect();
            while disk.steps() < 600 {
                let _ = database.checkpoint();
            }
            let add = Add {
                area,
                amount: 1,
                records: records.clone(),
            };
            let added: Result<(), CallError<_>> = database.run(|tx| tx.call(&add));
            added.unwrap_or_else(|error| panic!("{what}: {error}"));
            committed.iter_mut().for_each(|value| *value += 1);
            disk.crash();
            drop(database);
            let database = open(&disk.restart(Faults::default()));
            let read: Result<Vec<i64>, CallError<_>> = database.run(|tx| {
                tx.call(&Read {
                    area,
                    records: records.clone(),
                })
            });
            assert_eq!(read.unwrap(), committed, "{what}");
        }
        assert!(refused > 3, "{way:?}: {refused}");
    }
}
