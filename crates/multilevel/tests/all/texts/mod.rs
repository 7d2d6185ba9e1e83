//! Records with texts and bytes as operations: beside a plain map, with aborts, and crashes of the machine, of its
//! undo pass, too. The serial way reads and checks their rows, and the other way round. Full databases, snapshots,
//! bounds.

mod aborts;
mod between;
mod crashes;
mod limits;
mod model;
mod room;
mod snapshots;
mod threads;
mod ways;

use crate::common::{options, small};
use sardonyx_derive::Record;
use sardonyx_multilevel::records::{Table, TableOperations};
use sardonyx_multilevel::{Database, DatabaseError, Options, PAGE_SIZE, PageLog, Strategy};
use sardonyx_rows::types::Date;
use sardonyx_storage::disk::SimulatedDisk;
use sardonyx_storage::engine::StorageOptions;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The names that `sardonyx` has for the derive.
pub mod derived {
    pub mod declared {
        pub use sardonyx_rows::{Found, PlainLayout, TableError, find_columns, no_value_of_field};
        pub use sardonyx_rows::{KeyValues, Record, RowRef, RowWriter, StoredField, schema};
        pub use sardonyx_storage::store::PageRead;
    }
}

/// A row with texts, one of them its key.
#[derive(Clone, PartialEq, Debug, Record)]
#[record(table = "notes", key = name, crate = crate::texts::derived)]
pub struct Note {
    pub name: String,
    pub text: String,
    pub picture: Vec<u8>,
    pub more: Option<String>,
    pub day: Date,
    pub count: i64,
}

/// Its key is a number, and an index in order would be kept of it by the serial way.
#[derive(Clone, PartialEq, Debug, Record)]
#[record(table = "pages", key = number, ordered, crate = crate::texts::derived)]
pub struct Numbered {
    pub number: u64,
    pub text: String,
}

/// Texts of these lengths are in the row, in cells of several classes, in a page, and in several.
pub const LENGTHS: [usize; 8] = [0, 12, 13, 60, 700, 2_100, 4_000, 9_000];

pub fn name(key: u64) -> String {
    // Some are so long that they are in cells, too.
    let long = if key.is_multiple_of(3) {
        "-".repeat(40)
    } else {
        String::new()
    };
    format!("note{long}{key}")
}

/// The note of a key that a number names.
pub fn note(key: u64, seed: u64) -> Note {
    let length = |by: u64| LENGTHS[((seed + by) % LENGTHS.len() as u64) as usize];
    let text = |length: usize| -> String {
        let letters = (0..length as u64).map(|at| char::from(b'a' + ((at / 7 + seed) % 26) as u8));
        letters.collect()
    };
    Note {
        name: name(key),
        text: text(length(0)),
        picture: text(length(seed % 5 + 1)).into_bytes(),
        more: (!seed.is_multiple_of(4)).then(|| text(length(3))),
        day: Date(seed as i32),
        count: seed as i64,
    }
}

pub type Model = BTreeMap<u64, Note>;

pub fn open(way: (Strategy, PageLog), disk: &SimulatedDisk) -> (Database, Table<Note>) {
    let database = options(way).open_on(Arc::new(disk.clone())).expect("opens");
    let notes = database.table::<Note>().expect("a table");
    (database, notes)
}

/// With room for 300 pages, and the other options as given.
pub fn open_limited(
    way: (Strategy, PageLog),
    disk: &SimulatedDisk,
    also: impl FnOnce(Options) -> Options,
) -> (Database, Table<Note>) {
    open_with(way, disk, also).expect("opens")
}

/// The same, where opening may fail.
pub fn open_with(
    (strategy, page_log): (Strategy, PageLog),
    disk: &SimulatedDisk,
    also: impl FnOnce(Options) -> Options,
) -> Result<(Database, Table<Note>), DatabaseError> {
    let options = Options::new().strategy(strategy).page_log(page_log);
    let options = also(options).storage(StorageOptions {
        memory_bytes_max: 300 * PAGE_SIZE as u64,
        ..small()
    });
    let database = options.open_on(Arc::new(disk.clone()))?;
    let notes = database.table::<Note>()?;
    Ok((database, notes))
}

/// The notes of the keys below a number.
pub fn read(database: &Database, notes: Table<Note>, keys: u64) -> Model {
    let read = |key| {
        let name = name(key);
        database
            .run(|tx| tx.call(&notes.get(&name)))
            .expect("reads")
    };
    (0..keys)
        .filter_map(|key| Some((key, read(key)?)))
        .collect()
}
