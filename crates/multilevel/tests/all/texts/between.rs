//! Others insert between the compensations of one transaction: its pages are its own until each compensation has ended (I14).

use super::{Model, Note, name, note, open_limited, read};
use crate::common::ways;
use sardonyx_multilevel::records::{Table, TableOperations};
use sardonyx_multilevel::{
    Area, Database, Inverse, Operation, Pages, Stop, Strategy, Values, recorded,
};
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    /// Runs when a [`Pause`] is undone on this thread.
    static BETWEEN: RefCell<Option<Box<dyn Fn()>>> = const { RefCell::new(None) };
}

/// Adds to a number in a page of its own, so that it is undone; there others have their turn.
#[derive(Clone, Copy)]
struct Pause {
    area: Area,
}
recorded!(Pause { area }, "pause");

impl Operation for Pause {
    type Output = ();
    type Error = Stop;

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), Stop> {
        BETWEEN.with_borrow(|between| between.iter().for_each(|others| others()));
        let numbers: Values<u64> = Values::in_area(self.area);
        numbers.update(pages, 0, |number| *number += 1).map(drop)
    }

    fn inverse(&self, (): &()) -> Option<Inverse> {
        Some(Inverse::of(self))
    }
}

pub fn long(key: u64) -> Note {
    Note {
        text: "x".repeat(12_000 + key as usize),
        ..note(key, 0)
    }
}

/// Inserts notes of keys from this one on until one is refused. Returns the key of that one.
pub fn fill(database: &Database, notes: Table<Note>, first: u64) -> u64 {
    let is_in = |key: &u64| {
        let inserted = database.run(|tx| tx.call(&notes.insert(&long(*key))));
        inserted.is_ok()
    };
    first + (first..1_000).take_while(is_in).count() as u64
}

#[test]
fn i14_others_take_no_page_that_an_abort_needs_between_its_compensations() {
    for way in ways() {
        if way.0 == Strategy::SingleLevel {
            // It has no compensations.
            continue;
        }
        let disk = SimulatedDisk::new(5, Faults::default());
        let (database, notes) = open_limited(way, &disk, |options| options.register::<Pause>());
        let database = Arc::new(database);
        let area = database.area("pauses", 1).expect("an area");
        let update_six = || {
            let tx = database.begin();
            for key in 0..6 {
                tx.call(&notes.update(&name(key), |found: &mut Note| found.text.clear()))
                    .expect("updates");
                tx.call(&Pause { area }).expect("pauses");
            }
            tx
        };
        for key in 0..6 {
            let inserted = database.run(|tx| tx.call(&notes.insert(&long(key))));
            inserted.expect("inserts");
        }
        // The undo area gets the pages that it will need, while there are some.
        update_six().abort().expect("aborts");
        let filled = fill(&database, notes, 6);
        assert!((20..150).contains(&filled), "{filled}");
        let tx = update_six();
        let taken = fill(&database, notes, 200);
        assert!(taken > 200, "{way:?}: the pages were not taken");
        let next = Arc::new(AtomicU64::new(400));
        let (others, next_key) = (database.clone(), next.clone());
        BETWEEN.set(Some(Box::new(move || {
            let (others, next_key) = (others.clone(), next_key.clone());
            // No operation may begin another on its own thread.
            let inserts = std::thread::spawn(move || {
                let first = next_key.load(Ordering::Relaxed);
                next_key.store(fill(&others, notes, first), Ordering::Relaxed);
            });
            inserts.join().expect("inserts");
        })));
        let ended = tx.abort();
        BETWEEN.set(None);
        ended.expect("finds its pages");
        let keys = (0..filled).chain(200..taken);
        let keys = keys.chain(400..next.load(Ordering::Relaxed));
        let model: Model = keys.map(|key| (key, long(key))).collect();
        assert_eq!(read(&database, notes, 1_000), model, "{way:?}");
    }
}
