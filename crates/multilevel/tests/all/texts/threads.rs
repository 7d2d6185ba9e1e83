//! Threads that change texts of one table at once: each has its own keys, and all share the pages.

use super::model::read_serially;
use super::{Model, Note, name, note, open, read};
use crate::common::ways;
use sardonyx_base::random::Random;
use sardonyx_multilevel::records::{RecordError, Table, TableOperations};
use sardonyx_multilevel::{CallError, Database};
use sardonyx_storage::disk::{Faults, SimulatedDisk};

const THREADS: u64 = 2;
const KEYS: u64 = 16;
const TRANSACTIONS: u64 = 60;

/// Random transactions on the keys of a thread, some of them aborted. Returns the rows at the end.
fn change(database: &Database, notes: Table<Note>, thread: u64) -> Model {
    let mut random = Random::new(thread + 1);
    let mut model = Model::new();
    for round in 0..TRANSACTIONS {
        let key = |nth: u64| nth * THREADS + thread;
        let first = random.below(KEYS / THREADS);
        let keys = [first, (first + 1) % (KEYS / THREADS)].map(key);
        let aborts = random.below(3) == 0;
        let mut after = model.clone();
        let ended = database.run(|tx| {
            after = model.clone();
            for key in keys {
                let new = note(key, key + round);
                match after.contains_key(&key) {
                    true if round % 4 == 0 => {
                        tx.call(&notes.delete(&name(key)))?;
                        after.remove(&key);
                    }
                    true => {
                        let update = |found: &mut Note| found.clone_from(&new);
                        tx.call(&notes.update(&name(key), update))?;
                        after.insert(key, new);
                    }
                    false => {
                        tx.call(&notes.insert(&new))?;
                        after.insert(key, new);
                    }
                }
            }
            if aborts {
                // The key exists: an error of the transaction's own.
                tx.call(&notes.insert(&note(keys[0], 0)))?;
                tx.call(&notes.insert(&note(keys[0], 0)))?;
            }
            Ok::<(), CallError<RecordError>>(())
        });
        assert_eq!(ended.is_err(), aborts, "{ended:?}");
        if !aborts {
            model = after;
        }
    }
    model
}

#[test]
fn two_threads_change_texts_of_one_table() {
    for way in ways() {
        let disk = SimulatedDisk::new(1, Faults::default());
        let (database, notes) = open(way, &disk);
        let mut model = Model::new();
        std::thread::scope(|scope| {
            let database = &database;
            let threads = [0, 1].map(|thread| scope.spawn(move || change(database, notes, thread)));
            for thread in threads {
                model.extend(thread.join().expect("ends"));
            }
        });
        assert_eq!(read(&database, notes, KEYS), model, "{way:?}");
        database.close().expect("closes");
        assert_eq!(read_serially(&disk, KEYS), model, "{way:?}");
    }
}
