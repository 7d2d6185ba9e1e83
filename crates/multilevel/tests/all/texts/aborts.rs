//! Two aborts at once in a full database, which meet in a deadlock: one compensation is executed again, and the pages that it
//! got are still its own (I14).

use super::between::{fill, long};
use super::{Model, Note, Numbered, name, open_limited, read};
use crate::common::ways;
use sardonyx_multilevel::records::{RecordError, Restore, Table, TableOperations};
use sardonyx_multilevel::{
    Area, Database, Inverse, Operation, Pages, Recorded, Stop, Strategy, Values,
};
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use std::cell::RefCell;
use std::sync::{Arc, Barrier};

thread_local! {
    /// The barrier at which a [`Meet`] waits, on this thread, once.
    static MEETING: RefCell<Option<Arc<Barrier>>> = const { RefCell::new(None) };
}

/// Executes an operation. It is undone by [`Undo`].
struct Meet<'o, O> {
    clear: &'o O,
    area: Area,
    first: u64,
}

/// Puts a text back and writes both pages.
#[derive(Clone)]
struct Undo {
    area: Area,
    first: u64,
    restore: Vec<u8>,
}

/// Adds to the number of a page.
fn count(pages: &mut dyn Pages, area: Area, page: u64) -> Result<(), Stop> {
    let numbers: Values<u64> = Values::in_area(area);
    let in_page = numbers.update(pages, page * 512, |number| *number += 1);
    in_page.map(drop)
}

impl<O: Operation<Error = RecordError>> Operation for Meet<'_, O> {
    type Output = ();
    type Error = RecordError;

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), RecordError> {
        self.clear.execute(pages).map(drop)
    }

    fn execute_with_inverse(
        &self,
        pages: &mut dyn Pages,
    ) -> Result<((), Option<Inverse>), RecordError> {
        let (_, inverse) = self.clear.execute_with_inverse(pages)?;
        let undo = Undo {
            area: self.area,
            first: self.first,
            restore: inverse.expect("there is a row").bytes().to_vec(),
        };
        Ok(((), Some(Inverse::of(&undo))))
    }
}

impl Operation for Undo {
    type Output = ();
    type Error = RecordError;

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), RecordError> {
        let restore = Restore::decode(&self.restore).expect("a row");
        restore.execute(pages)?;
        count(pages, self.area, self.first)?;
        if let Some(meeting) = MEETING.take() {
            meeting.wait();
        }
        Ok(count(pages, self.area, 1 - self.first)?)
    }
}

impl Recorded for Undo {
    const NAME: &str = "undo";

    fn encode(&self, into: &mut Vec<u8>) {
        into.extend(self.area.0.to_le_bytes());
        into.extend(self.first.to_le_bytes());
        into.extend(&self.restore);
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (area, bytes) = bytes.split_first_chunk()?;
        let (first, restore) = bytes.split_first_chunk()?;
        Some(Undo {
            area: Area(u16::from_le_bytes(*area)),
            first: u64::from_le_bytes(*first),
            restore: restore.to_vec(),
        })
    }
}

/// Clears a text of either table and aborts both transactions at once, after `between` was run. `meets`: each waits
/// for the other when it has its text and its first page.
fn abort_two(
    database: &Database,
    (notes, pages): (Table<Note>, Table<Numbered>),
    area: Area,
    between: impl FnOnce(),
    meets: bool,
) {
    let key = name(0);
    let transactions = [database.begin(), database.begin()];
    let clear = notes.update(&key, |found: &mut Note| found.text.clear());
    let meet = |first| Meet {
        clear: &clear,
        area,
        first,
    };
    transactions[0].call(&meet(0)).expect("clears");
    let clear = pages.update(0, |found: &mut Numbered| found.text.clear());
    let (clear, first) = (&clear, 1);
    let meet = Meet { clear, area, first };
    transactions[1].call(&meet).expect("clears");
    between();
    let meeting = Arc::new(Barrier::new(2));
    std::thread::scope(|scope| {
        for tx in transactions {
            let meeting = meets.then(|| meeting.clone());
            scope.spawn(move || {
                MEETING.set(meeting);
                tx.abort().expect("finds its pages");
            });
        }
    });
}

/// The first texts take so many pages together that all pages that others leave to inverses are reserved for their aborts.
fn first_long() -> Note {
    Note {
        text: "x".repeat(32_000),
        ..long(0)
    }
}

fn numbered(number: u64) -> Numbered {
    let text = "y".repeat(if number == 0 { 32_000 } else { 12_000 });
    Numbered { number, text }
}

#[test]
fn i14_two_aborts_that_meet_in_a_full_database_have_their_pages() {
    for way in ways() {
        if way.0 == Strategy::SingleLevel {
            // It has no compensations.
            continue;
        }
        let disk = SimulatedDisk::new(5, Faults::default());
        let (database, notes) = open_limited(way, &disk, |options| options.register::<Undo>());
        let pages = database.table::<Numbered>().expect("a table");
        let area = database.area("pages of numbers", 2).expect("an area");
        let fill_pages = |first: u64| {
            let is_in = |number: &u64| {
                let inserted = database.run(|tx| tx.call(&pages.insert(&numbered(*number))));
                inserted.is_ok()
            };
            first + (first..1_000).take_while(is_in).count() as u64
        };
        let inserted = database.run(|tx| {
            tx.call(&notes.insert(&first_long()))?;
            tx.call(&pages.insert(&numbered(0)))
        });
        inserted.expect("inserts");
        // The undo area gets the pages that it will need, while there are some.
        let prepare = || {
            let tx = database.begin();
            for number in 190..193 {
                tx.call(&notes.insert(&long(number))).expect("inserts");
                tx.call(&pages.insert(&numbered(number))).expect("inserts");
            }
            tx.abort().expect("aborts");
        };
        abort_two(&database, (notes, pages), area, prepare, false);
        let filled = (fill(&database, notes, 1), fill_pages(1));
        let mut taken = (0, 0);
        let restarts = database.statistics().restarts;
        let take = || taken = (fill(&database, notes, 200), fill_pages(200));
        abort_two(&database, (notes, pages), area, take, true);
        let all_taken = taken.0 > 200 && taken.1 > 200;
        assert!(all_taken, "{way:?}: the pages were not taken: {taken:?}");
        let again = database.statistics().restarts - restarts;
        assert!(again > 0, "{way:?}: no compensation was executed again");
        let keys = (1..filled.0).chain(200..taken.0);
        let mut model: Model = keys.map(|key| (key, long(key))).collect();
        model.insert(0, first_long());
        assert_eq!(read(&database, notes, 1_000), model, "{way:?}");
        for number in (0..filled.1).chain(200..taken.1) {
            let found = database.run(|tx| tx.call(&pages.get(number)));
            assert_eq!(found.expect("reads"), Some(numbered(number)), "{way:?}");
        }
    }
}
