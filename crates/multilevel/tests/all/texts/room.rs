//! Pages of texts: they are used again, however transactions end, and an end finds the pages that it needs (I14).

use super::model::read_serially;
use super::{Model, Note, name, note, open, open_limited, open_with, read};
use crate::common::ways;
use crate::records::as_tables;
use sardonyx_base::random::stride;
use sardonyx_multilevel::Strategy;
use sardonyx_multilevel::records::TableOperations;
use sardonyx_storage::crashes::End;
use sardonyx_storage::disk::{Faults, SimulatedDisk};

/// Texts of all lengths are stored, changed to other lengths, deleted and aborted, over and over.
#[test]
fn pages_of_texts_are_used_again() {
    for way in ways() {
        let disk = SimulatedDisk::new(1, Faults::default());
        let (database, notes) = open(way, &disk);
        let mut pages = Vec::new();
        for round in 0..8 {
            let tx = database.begin();
            for key in 0..10 {
                tx.call(&notes.insert(&note(key, key + round)))
                    .expect("inserts");
            }
            for key in 0..10 {
                let longer = |found: &mut Note| *found = note(key, key + round + 3);
                tx.call(&notes.update(&name(key), longer)).expect("updates");
            }
            match round % 2 {
                0 => tx.abort().expect("aborts"),
                _ => {
                    tx.commit().expect("commits");
                    database
                        .run(|tx| {
                            (0..10).try_for_each(|key| tx.call(&notes.delete(&name(key))).map(drop))
                        })
                        .expect("deletes");
                }
            }
            assert_eq!(read(&database, notes, 10), Model::new(), "{way:?}");
            database.flush().expect("flushes");
            let space = as_tables(&disk);
            let extents = space.catalogue().extents_of(notes.number());
            pages.push(extents.map(|extent| extent.pages).sum::<u64>());
        }
        assert_eq!(pages[2], pages[7], "{way:?}: {pages:?}");
        database.close().expect("closes");
    }
}

/// A full database: long texts are deleted and others take their pages. Then the deletion is undone, also after a crash, and
/// after one at any step of that.
#[test]
fn i14_texts_that_were_deleted_find_pages_when_they_come_back() {
    for way in ways() {
        if way.0 == Strategy::SingleLevel {
            // No page is taken from a running transaction.
            continue;
        }
        for crashes in [false, true] {
            let disk = SimulatedDisk::new(5, Faults::default());
            let open = |disk: &SimulatedDisk| open_limited(way, disk, |options| options);
            let long = |key: u64, seed: u64| Note {
                text: "x".repeat(12_000 + seed as usize),
                ..note(key, 0)
            };
            let (database, notes) = open(&disk);
            // The undo area gets the pages that it will need, while there are some.
            let mut model = Model::new();
            for key in 0..12 {
                let inserted = database.run(|tx| tx.call(&notes.insert(&long(key, key))));
                inserted.expect("inserts");
                model.insert(key, long(key, key));
            }
            let deletes = database.begin();
            for key in 0..12 {
                deletes.call(&notes.delete(&name(key))).expect("deletes");
            }
            deletes.abort().expect("aborts");
            // Until nothing more goes in.
            for key in 12..200 {
                let inserted = database.run(|tx| tx.call(&notes.insert(&long(key, key))));
                match inserted {
                    Ok(()) => drop(model.insert(key, long(key, key))),
                    Err(_) => break,
                }
            }
            assert!((10..150).contains(&model.len()), "{}", model.len());
            let deletes = database.begin();
            let mut gone = Vec::new();
            for key in 0..20 {
                // More than may come back: those for which there is no reserve are refused.
                if deletes.call(&notes.delete(&name(key))).is_ok() {
                    gone.push(key);
                }
            }
            assert!(!gone.is_empty(), "{way:?}");
            let mut more = 0;
            for key in 500..520 {
                let inserted = database.run(|tx| tx.call(&notes.insert(&long(key, 9))));
                if inserted.is_ok() {
                    more += 1;
                    model.insert(key, long(key, 9));
                }
            }
            assert!(more > 0, "{way:?}: the pages were not taken");
            match crashes {
                false => {
                    deletes.abort().expect("finds its pages");
                    assert_eq!(read(&database, notes, 520), model, "{way:?}");
                }
                true => {
                    database.flush().expect("flushes");
                    std::mem::forget(deletes);
                    std::mem::forget(database);
                    let (mut openings, mut undone) = (1, false);
                    while !undone {
                        let crashed = disk.restart(End::Crash(openings).faults());
                        let opened = open_with(way, &crashed, |options| options);
                        std::mem::forget(opened);
                        undone = !crashed.has_crashed();
                        let disk = crashed.restart(Faults::default());
                        let (database, notes) = open(&disk);
                        let left = database.undone().operations;
                        assert!(left <= gone.len() as u64, "{left} of {gone:?}");
                        assert!(openings < 10_000, "{way:?}: it never ends");
                        if openings == 1 {
                            assert_eq!(left, gone.len() as u64, "{way:?}");
                        }
                        assert_eq!(read(&database, notes, 520), model, "{way:?}, {openings}");
                        database.close().expect("closes");
                        assert_eq!(read_serially(&disk, 520), model, "{way:?}, {openings}");
                        // Opening crashes at a later step each time; the last one ends.
                        openings += stride(3) as u64;
                    }
                    assert!(openings > 2, "{way:?}: {openings} openings");
                }
            }
        }
    }
}

/// A text comes in each opening: it gets an empty page, also one that was there before.
#[test]
fn pages_in_which_nothing_is_are_used_after_opening() {
    let way = ways()[4];
    let disk = SimulatedDisk::new(1, Faults::default());
    let mut pages = Vec::new();
    for key in 0..5 {
        let (database, notes) = open(way, &disk);
        let text = "x".repeat(4_000);
        let note = Note {
            text,
            ..note(key, 0)
        };
        let inserted = database.run(|tx| tx.call(&notes.insert(&note)));
        inserted.expect("inserts");
        let number = notes.number();
        database.close().expect("closes");
        let contents = sardonyx_table::read_contents;
        let space = as_tables(&disk);
        let schemas = sardonyx_table::read_schemas(space.pages(), space.catalogue());
        let schemas = schemas.expect("schemas");
        let found = contents(
            space.pages(),
            space.catalogue(),
            number,
            schemas.get(&number),
            |_| Ok(true),
        );
        pages.push(found.expect("reads").pages_used);
    }
    assert_eq!(pages[0], pages[4], "{pages:?}");
}
