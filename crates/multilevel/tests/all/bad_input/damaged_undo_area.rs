//! An undo area that is damaged although every checksum is right: each byte, the words that matter, and
//! inverses that cannot be read.

use super::{Large, Way, way, with_large};
use crate::support::{Add, Put, read, small};
use sardonyx_base::random::stride;
use sardonyx_multilevel::undo::UNDO_AREA;
use sardonyx_multilevel::{
    Database, DatabaseError, PAGE_SIZE, PageId, PageLog, Recorded, Strategy,
};
use sardonyx_storage::catalogue::Catalogue;
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use sardonyx_storage::engine::Engine;
use sardonyx_storage::page::Address;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A database with the undo entries of three unfinished transactions, on the disk.
fn unfinished(long: bool) -> SimulatedDisk {
    let disk = SimulatedDisk::new(1, Faults::default());
    let database = with_large(Strategy::OrderedLog, PageLog::ByteRanges, &disk);
    let area = database.area("cells", 4).expect("there is room");
    let (one, two, three) = (database.begin(), database.begin(), database.begin());
    let add = |cells: &[u64]| Add {
        area,
        amount: 1,
        cells: cells.to_vec(),
    };
    one.call(&add(&[0, 4])).expect("well");
    two.call(&add(&[4])).expect("well");
    let (cell, value) = (8, 5);
    one.call(&Put { area, cell, value }).expect("well");
    if long {
        // An entry over several pages.
        let (pages, bytes, inverse, by) = (1, 8, Some(9000), 1);
        three
            .call(&Large {
                area,
                pages,
                bytes,
                inverse,
                by,
            })
            .expect("well");
    }
    database.flush().expect("written");
    for tx in [one, two, three] {
        std::mem::forget(tx);
    }
    let crashed = disk.restart(Faults::default());
    drop(database);
    crashed
}

/// Overwrites bytes in the undo area as a transaction would, so that every checksum is right.
fn overwrite(disk: &SimulatedDisk, place: u64, offset: usize, bytes: &[u8]) {
    let mut storage = small();
    storage.threaded = false;
    let opened = Engine::open(Arc::new(disk.clone()), storage).expect("opens");
    let (mut store, pen) = (opened.store, opened.engine.pen(()));
    let catalogue = Catalogue::read(&mut store).expect("readable");
    let number = catalogue
        .area(UNDO_AREA)
        .expect("an area")
        .expect("it is there");
    let page = pages_of(&catalogue, number)[place as usize];
    let mut held = pen.take().expect("nobody has it");
    let mut appending = held.appending();
    appending
        .builder()
        .push_write(Address(page.address().0 + offset as u64), bytes);
    assert!(appending.builder().end_transaction());
    let group = appending.transaction_ended();
    held.force(group).expect("durable");
}

fn pages_of(catalogue: &Catalogue, number: u16) -> Vec<PageId> {
    let extents = catalogue.extents_of(number);
    let pages = extents.flat_map(|e| (e.first_page.0..e.first_page.0 + e.pages).map(PageId));
    pages.collect()
}

/// The bytes of the undo area's pages.
fn undo_pages(disk: &SimulatedDisk) -> Vec<Vec<u8>> {
    let mut storage = small();
    storage.threaded = false;
    let disk = disk.restart(Faults::default());
    let mut store = Engine::open(Arc::new(disk), storage).expect("opens").store;
    let catalogue = Catalogue::read(&mut store).expect("readable");
    let number = catalogue
        .area(UNDO_AREA)
        .expect("an area")
        .expect("it is there");
    let pages = pages_of(&catalogue, number);
    let bytes = |page: &PageId| store.bytes()[page.0 as usize * PAGE_SIZE..][..PAGE_SIZE].to_vec();
    pages.iter().map(bytes).collect()
}

/// Opens it, with any result but a panic or a hang.
fn open_damaged(disk: &SimulatedDisk) -> Result<Database, DatabaseError> {
    // With threads of the engine, which have to end, and without.
    static TIMES: AtomicU64 = AtomicU64::new(0);
    let way = Way {
        threaded: TIMES.fetch_add(1, Ordering::Relaxed).is_multiple_of(7),
        ..way(Strategy::OrderedLog, PageLog::ByteRanges)
    };
    let options = way.options(small());
    options.register::<Large>().open_on(Arc::new(disk.clone()))
}

#[test]
fn any_byte_of_the_undo_area_may_be_damaged() {
    let base = unfinished(true);
    let (mut refused, mut opened) = (0, 0);
    for (place, bytes) in undo_pages(&base).into_iter().enumerate() {
        let used = bytes
            .iter()
            .rposition(|byte| *byte != 0)
            .map_or(0, |last| last + 9);
        // A part of a long, uniform region is enough.
        let offsets = (0..used.min(PAGE_SIZE)).filter(|at| *at < 200 || at % 509 == 0);
        for offset in offsets.chain([PAGE_SIZE - 1]).step_by(stride(2)) {
            let values = [0xff, bytes[offset] ^ 1, bytes[offset].wrapping_add(0x40)];
            let values = match crate::seeds() {
                Some(_) => &values[..],
                None => &values[offset % 3..][..1],
            };
            for &value in values {
                let disk = base.restart(Faults::default());
                overwrite(&disk, place as u64, offset, &[value]);
                match open_damaged(&disk) {
                    Ok(database) => {
                        opened += 1;
                        drop(database);
                    }
                    Err(error) => {
                        refused += 1;
                        assert!(!error.to_string().is_empty());
                        // It stays so, and is not made worse.
                        let again = open_damaged(&disk).expect_err("still damaged");
                        assert_eq!(again.to_string(), error.to_string());
                    }
                }
            }
        }
    }
    assert!(
        refused > 50 && opened > 50,
        "{refused} refused, {opened} opened"
    );
}

/// Damage by which the reader could run in circles, or out of its arrays, by the word.
#[test]
fn the_words_of_the_undo_area_may_be_anything() {
    let base = unfinished(true);
    let pages = undo_pages(&base);
    let count = pages.len() as u64;
    let words = [
        0,
        1,
        8,
        9,
        10,
        11,
        count - 1,
        count,
        u64::MAX - 1,
        u64::MAX,
        1 << 63,
    ];
    let places = [0, 1].into_iter().chain(9..count);
    let places = places.flat_map(|place| (0..64).step_by(8).map(move |at| (place, at)));
    let damages = places.flat_map(|place| words.map(|word| (place, word)));
    // 3 shares no factor with the number of words.
    for ((place, at), word) in damages.step_by(stride(3)) {
        let disk = base.restart(Faults::default());
        overwrite(&disk, place, at, &word.to_le_bytes());
        if let Err(error) = open_damaged(&disk) {
            assert!(!error.to_string().is_empty());
        }
    }
    // Chains in a circle, and two that share a page.
    for (place, next) in [(9, 9), (9, 10), (10, 9), (11, 10), (12, 11), (13, 11)] {
        let disk = base.restart(Faults::default());
        overwrite(&disk, place, 8, &u64::to_le_bytes(next));
        let error = open_damaged(&disk).expect_err("chains cross");
        assert!(
            matches!(error, DatabaseError::Undo(_)),
            "{place} to {next}: {error}"
        );
    }
}

#[test]
fn a_slot_in_use_without_an_entry_is_damage() {
    let base = unfinished(false);
    let disk = base.restart(Faults::default());
    // Its use's number no longer is that of its entries: they would all be forgotten.
    overwrite(&disk, 9, 0, &77_u64.to_le_bytes());
    let error = open_damaged(&disk).expect_err("damaged");
    assert!(matches!(error, DatabaseError::Undo(_)), "{error}");
    let text = error.to_string();
    assert!(text.contains("page ") && text.contains("offset "), "{text}");
}

#[test]
fn an_inverse_that_cannot_be_read_leaves_everything_as_it_is() {
    let base = unfinished(false);
    let pages = undo_pages(&base);
    // The second entry's bytes: a decoder that finds one too few.
    let disk = base.restart(Faults::default());
    let length_at = 16 + 16 + 4;
    let length = u32::from_le_bytes(pages[9][length_at..length_at + 4].try_into().expect("4"));
    overwrite(&disk, 9, length_at, &(length - 1).to_le_bytes());
    let error = open_damaged(&disk).expect_err("an Add with a piece of a record");
    let named = matches!(&error, DatabaseError::Compensation(e) if e.name == Add::NAME);
    assert!(named, "{error}");
    // Repaired, all of it is undone.
    overwrite(&disk, 9, length_at, &length.to_le_bytes());
    let database = open_damaged(&disk).expect("repaired");
    let area = database.area("cells", 4).expect("it is there");
    assert_eq!(read(&database, area, 0..12), [0; 12]);
}
