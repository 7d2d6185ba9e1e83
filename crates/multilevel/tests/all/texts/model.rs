//! Random transactions, aborts and crashes under every strategy, beside a plain map; then the serial way reads the same,
//! after it has checked that each cell belongs to one row.

use super::{Model, Note, name, note, open, read};
use crate::common::ways;
use crate::records::as_tables;
use sardonyx_base::random::Random;
use sardonyx_multilevel::records::{RecordError, Table, TableOperations};
use sardonyx_multilevel::{CallError, PageLog, Strategy, Transaction};
use sardonyx_storage::disk::{Faults, SimulatedDisk};

const KEYS: u64 = 12;

/// The notes that the serial way reads of the keys below a number; opening checks the cells.
pub fn read_serially(disk: &SimulatedDisk, keys: u64) -> Model {
    let space = as_tables(disk);
    let notes = space.table::<Note>().expect("such a table");
    let Some(notes) = notes else {
        return Model::new();
    };
    let view = space.view();
    let mut found = Model::new();
    for key in 0..keys {
        if let Some(there) = view.get(notes, &*name(key)).expect("reads") {
            found.insert(key, there);
        }
    }
    assert_eq!(view.count(notes).expect("counts"), found.len() as u64);
    found
}

/// Executes a random step in a transaction and in the model, and compares the results.
fn take(
    tx: &Transaction<'_>,
    notes: Table<Note>,
    model: &mut Model,
    random: &mut Random,
    key: u64,
) {
    let (name, seed) = (name(key), random.below(1000));
    match random.below(8) {
        0 => {
            let found = tx.call(&notes.get(&name)).expect("reads");
            assert_eq!(found.as_ref(), model.get(&key));
        }
        1..=3 => match (tx.call(&notes.insert(&note(key, seed))), model.get(&key)) {
            (Err(CallError::Failed(RecordError::Duplicate { table: "notes" })), Some(_)) => {}
            (Ok(()), None) => {
                model.insert(key, note(key, seed));
            }
            other => panic!("{other:?}"),
        },
        4..=6 => {
            let change = |found: &mut Note| {
                let after = note(key, seed);
                // Sometimes one text alone.
                match seed % 3 {
                    0 => found.text = after.text,
                    1 => found.more = after.more,
                    _ => *found = after,
                }
            };
            let before = tx.call(&notes.update(&name, change)).expect("updates");
            assert_eq!(before.as_ref(), model.get(&key));
            model.entry(key).and_modify(change);
        }
        _ => {
            let deleted = tx.call(&notes.delete(&name)).expect("deletes");
            assert_eq!(deleted, model.remove(&key));
        }
    }
}

fn history(way: (Strategy, PageLog), seed: u64) {
    let mut random = Random::new(seed);
    let mut disk = SimulatedDisk::new(seed, Faults::default());
    let (mut database, mut notes) = open(way, &disk);
    let mut model = Model::new();
    for round in 0..6 {
        // With a single level, only one of them can have a page.
        let both = if way.0 == Strategy::SingleLevel { 1 } else { 2 };
        let mut after = [model.clone(), model.clone()];
        let transactions = [database.begin(), database.begin()];
        for _ in 0..random.below(14) {
            let nth = random.below(both);
            // Keys of their own, so that neither waits.
            let key = random.below(KEYS / 2) * 2 + nth;
            let nth = nth as usize;
            take(&transactions[nth], notes, &mut after[nth], &mut random, key);
        }
        let crashes = random.below(3) == 0;
        for (nth, transaction) in transactions.into_iter().enumerate() {
            match random.below(3) {
                0 if crashes => std::mem::forget(transaction),
                1 => transaction.abort().expect("aborts"),
                _ => {
                    transaction.commit().expect("commits");
                    let is_own = |key: &u64| *key as usize % 2 == nth;
                    model.retain(|key, _| !is_own(key));
                    let own = after[nth].iter().filter(|(key, _)| is_own(key));
                    model.extend(own.map(|(key, note)| (*key, note.clone())));
                }
            }
        }
        if crashes {
            std::mem::forget(database);
            disk = disk.restart(Faults::default());
            (database, notes) = open(way, &disk);
        }
        let found = read(&database, notes, KEYS);
        assert_eq!(found, model, "{way:?}, seed {seed}, round {round}");
    }
    database.close().expect("closes");
    assert_eq!(read_serially(&disk, KEYS), model, "{way:?}, seed {seed}");
}

#[test]
fn transactions_on_texts_with_aborts_and_crashes_are_as_in_a_map() {
    for way in ways() {
        for seed in 0..crate::seeds().unwrap_or(2) {
            history(way, seed);
        }
    }
}
