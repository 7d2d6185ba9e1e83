//! Whatever is asked for, and whatever stands in the undo area: a typed error that says what is wrong,
//! and nothing else happens. No panic, no hang, and the transaction can go on.

mod support;

use sardonyx_multilevel::operation::{INVERSE_BYTES_MAX, NAME_BYTES_MAX};
use sardonyx_multilevel::undo::UNDO_AREA;
use sardonyx_multilevel::{
    Area, CallError, CommitError, Database, DatabaseError, Inverse, Operation, Options, PAGE_SIZE,
    PageId, PageLog, Pages, Recorded, Release, Stop, Strategy,
};
use sardonyx_storage::backbone::Backbone;
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use sardonyx_storage::page::Address;
use sardonyx_table::catalogue::Catalogue;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use support::{Add, Called, Put, STRATEGIES, Way, read, small};

fn way(strategy: Strategy, page_log: PageLog) -> Way {
    Way {
        strategy,
        page_log,
        release: Release::Appended,
        threaded: false,
    }
}

fn new_database() -> (SimulatedDisk, Arc<Database>, Area) {
    let disk = SimulatedDisk::new(1, Faults::default());
    let way = way(Strategy::OrderedLog, PageLog::ByteRanges);
    let (database, area) = way.open(&disk, small()).expect("opens");
    (disk, database, area)
}

/// An operation with any name.
struct Named<const N: usize>;

impl<const N: usize> Named<N> {
    const BYTES: [u8; 4] = [
        b'n',
        b'a' + (N / 256) as u8,
        b'a' + (N / 16 % 16) as u8,
        b'a' + (N % 16) as u8,
    ];
}

impl<const N: usize> Operation for Named<N> {
    type Output = ();
    type Error = Stop;

    fn execute(&self, _: &mut dyn Pages) -> Result<(), Stop> {
        Ok(())
    }
}

impl<const N: usize> Recorded for Named<N> {
    const NAME: &str = match std::str::from_utf8(&Self::BYTES) {
        Ok(name) => name,
        Err(_) => panic!("letters"),
    };

    fn encode(&self, _: &mut Vec<u8>) {}

    fn decode(_: &[u8]) -> Option<Self> {
        Some(Named)
    }
}

/// Another operation of the name of `Named<1>`.
struct SameName;

impl Operation for SameName {
    type Output = ();
    type Error = Stop;

    fn execute(&self, _: &mut dyn Pages) -> Result<(), Stop> {
        Ok(())
    }
}

impl Recorded for SameName {
    const NAME: &str = Named::<1>::NAME;

    fn encode(&self, _: &mut Vec<u8>) {}

    fn decode(_: &[u8]) -> Option<Self> {
        Some(SameName)
    }
}

/// Operations that have a name too short and too long.
struct Unnamed<const LONG: bool>;

impl<const LONG: bool> Operation for Unnamed<LONG> {
    type Output = ();
    type Error = Stop;

    fn execute(&self, _: &mut dyn Pages) -> Result<(), Stop> {
        Ok(())
    }
}

impl<const LONG: bool> Recorded for Unnamed<LONG> {
    const NAME: &str = match LONG {
        true => match std::str::from_utf8(&[b'x'; NAME_BYTES_MAX + 1]) {
            Ok(name) => name,
            Err(_) => panic!("letters"),
        },
        false => "",
    };

    fn encode(&self, _: &mut Vec<u8>) {}

    fn decode(_: &[u8]) -> Option<Self> {
        Some(Unnamed)
    }
}

macro_rules! sixteen {
    ($options:expr, $from:expr) => {
        $options
            .register::<Named<{ $from }>>()
            .register::<Named<{ $from + 1 }>>()
            .register::<Named<{ $from + 2 }>>()
            .register::<Named<{ $from + 3 }>>()
            .register::<Named<{ $from + 4 }>>()
            .register::<Named<{ $from + 5 }>>()
            .register::<Named<{ $from + 6 }>>()
            .register::<Named<{ $from + 7 }>>()
            .register::<Named<{ $from + 8 }>>()
            .register::<Named<{ $from + 9 }>>()
            .register::<Named<{ $from + 10 }>>()
            .register::<Named<{ $from + 11 }>>()
            .register::<Named<{ $from + 12 }>>()
            .register::<Named<{ $from + 13 }>>()
            .register::<Named<{ $from + 14 }>>()
            .register::<Named<{ $from + 15 }>>()
    };
}

macro_rules! sixteen_times_sixteen {
    ($options:expr $(, $row:literal)*) => {{
        let options = $options;
        $(let options = sixteen!(options, 16 * $row);)*
        options
    }};
}

#[test]
fn names_of_operations() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let open = |options: Options| options.storage(small()).open_on(Arc::new(disk.clone()));
    let none = open(Options::new().register::<Unnamed<false>>()).unwrap_err();
    assert!(
        matches!(none, DatabaseError::Name { bytes: 0, .. }),
        "{none}"
    );
    let long = open(Options::new().register::<Unnamed<true>>()).unwrap_err();
    assert!(
        matches!(long, DatabaseError::Name { bytes: 101, .. }),
        "{long}"
    );
    let twice = Options::new().register::<Named<1>>().register::<SameName>();
    let twice = open(twice).unwrap_err();
    assert!(
        matches!(twice, DatabaseError::RegisteredTwice { name: "naab" }),
        "{twice}"
    );
    // Nothing was made of it; as many as there is room for are known for ever.
    let all = |options: Options| {
        sixteen_times_sixteen!(
            options, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        )
    };
    // The engine knows some of its own.
    let many = open(all(Options::new()).register::<Named<256>>()).unwrap_err();
    assert!(
        matches!(many, DatabaseError::TooManyOperations { .. }),
        "{many}"
    );
    let database = open(Options::new().register::<Named<300>>());
    database.expect("what was refused has left nothing behind");
}

#[test]
fn names_and_sizes_of_areas() {
    let (_disk, database, area) = new_database();
    let long = "x".repeat(5000);
    for name in ["", UNDO_AREA, &long] {
        let error = database.area(name, 1).unwrap_err();
        let text = error.to_string();
        assert!(!text.contains("another database"), "{name:.9}: {text}");
    }
    for pages in [u64::MAX, u64::MAX / 4096, 1 << 50, 1 << 33, 1 << 14] {
        let error = database.area("cells", pages).unwrap_err();
        assert!(matches!(error, DatabaseError::Refused { .. }), "{error}");
        let error = database.area("huge", pages).unwrap_err();
        assert!(matches!(error, DatabaseError::Refused { .. }), "{error}");
        let grown: Called<()> = database.run(|tx| {
            tx.call(&Does(|pages_of: &mut dyn Pages| {
                let error = pages_of.grow(area, pages).unwrap_err();
                assert!(matches!(error, Stop::Full { .. }), "{error}");
                Ok(())
            }))
        });
        grown.expect("an operation may go on");
    }
    let pages = database.area("cells", 5);
    pages.expect("what was refused has left nothing behind");
}

/// Whatever a test does to pages.
struct Does<F>(F);

impl<F: Fn(&mut dyn Pages) -> Result<(), Stop>> Operation for Does<F> {
    type Output = ();
    type Error = Stop;

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), Stop> {
        (self.0)(pages)
    }
}

#[test]
fn areas_pages_and_ranges_that_are_not_there() {
    for strategy in STRATEGIES {
        let disk = SimulatedDisk::new(1, Faults::default());
        let opened = way(strategy, PageLog::ByteRanges).open(&disk, small());
        let (database, area) = opened.expect("opens");
        let tx = database.begin();
        let asks = Does(|pages: &mut dyn Pages| {
            for number in (0..100).chain([9999, u16::MAX]).map(Area) {
                if number == area {
                    continue;
                }
                // Also the engine's own areas, by number.
                let none = pages.page(number, 0).unwrap_err();
                assert!(matches!(none, Stop::NoArea { .. }), "{none}");
                assert!(pages.pages_of(number).is_err() && pages.grow(number, 9).is_err());
            }
            let count = pages.pages_of(area)?;
            for index in [count, count + 1, 1 << 40, u64::MAX] {
                let none = pages.page(area, index).unwrap_err();
                assert!(matches!(none, Stop::NoPage { .. }), "{none}");
            }
            let mine: Vec<PageId> = (0..count)
                .map(|n| pages.page(area, n))
                .collect::<Result<_, _>>()?;
            for page in (0..2000).chain([u64::MAX, 1 << 52]).map(PageId) {
                if mine.contains(&page) {
                    continue;
                }
                let none = pages.read(page).unwrap_err();
                assert!(matches!(none, Stop::NoPage { .. }), "{none}");
                assert!(pages.read_to_write(page).is_err() && pages.write(page, 0..1).is_err());
            }
            #[expect(clippy::reversed_empty_ranges, reason = "what nobody should ask for")]
            for range in [4095..4097, 5000..5001, 9..3, usize::MAX - 1..usize::MAX] {
                let none = pages.write(mine[0], range).unwrap_err();
                assert!(matches!(none, Stop::Range { .. }), "{none}");
            }
            for at in [PAGE_SIZE - 7, PAGE_SIZE, usize::MAX - 7, usize::MAX] {
                assert!(matches!(
                    pages.read_bytes::<8>(mine[0], at),
                    Err(Stop::Range { .. })
                ));
                assert!(matches!(
                    pages.write_bytes(mine[0], at, &[0; 8]),
                    Err(Stop::Range { .. })
                ));
            }
            pages.write_bytes(mine[0], PAGE_SIZE - 8, &[7; 8])
        });
        tx.call(&asks).expect("it goes on after all of these");
        tx.commit().expect("committed");
    }
}

/// Changes so many bytes on each of so many pages, and has an inverse of so many bytes.
struct Large {
    area: Area,
    pages: u64,
    bytes: usize,
    inverse: Option<usize>,
    by: u8,
}

impl Operation for Large {
    type Output = ();
    type Error = Stop;

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), Stop> {
        pages.grow(self.area, self.pages)?;
        for index in 0..self.pages {
            let page = pages.page(self.area, index)?;
            let bytes = pages.write(page, 0..self.bytes)?;
            bytes
                .iter_mut()
                .for_each(|byte| *byte = byte.wrapping_add(self.by));
        }
        Ok(())
    }

    fn inverse(&self, (): &()) -> Option<Inverse> {
        let inverse = Large {
            by: self.by.wrapping_neg(),
            ..*self
        };
        self.inverse.map(|_| Inverse::of(&inverse))
    }
}

impl Recorded for Large {
    const NAME: &str = "large";

    fn encode(&self, into: &mut Vec<u8>) {
        into.extend(u64::from(self.area.0).to_le_bytes());
        into.extend(self.pages.to_le_bytes());
        into.extend((self.bytes as u64).to_le_bytes());
        into.push(self.by);
        let length = into.len() + self.inverse.unwrap_or(0);
        into.resize(length, 0);
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let word = |n: usize| {
            Some(u64::from_le_bytes(
                bytes.get(n * 8..n * 8 + 8)?.try_into().ok()?,
            ))
        };
        Some(Large {
            area: Area(word(0)? as u16),
            pages: word(1)?,
            bytes: word(2)? as usize,
            inverse: Some(0),
            by: *bytes.get(24)?,
        })
    }
}

fn with_large(strategy: Strategy, page_log: PageLog, disk: &SimulatedDisk) -> Database {
    let options = way(strategy, page_log).options(small()).register::<Large>();
    options.open_on(Arc::new(disk.clone())).expect("opens")
}

/// Every size is either taken, and then it can be committed, aborted, and undone after a crash; or it
/// is refused, and then the transaction can go on.
#[test]
fn operations_of_every_size() {
    let mut outcomes = [0; 2];
    for strategy in STRATEGIES {
        for page_log in [PageLog::ByteRanges, PageLog::AfterImages] {
            let sizes = [
                (1, 1),
                (1, 4096),
                (7, 4096),
                (8, 4096),
                (15, 1),
                (16, 4096),
                (31, 4096),
            ];
            let more = [(32, 1), (40, 4096), (100, 1), (300, 1), (3000, 8)];
            let inverses = [
                None,
                Some(0),
                Some(5000),
                Some(30_000),
                Some(61_000),
                Some(1 << 20),
            ];
            for (pages, bytes) in sizes.into_iter().chain(more) {
                for inverse in inverses {
                    let size = (pages, bytes, inverse);
                    for crashes in [true, false] {
                        let taken = one_size(strategy, page_log, size, crashes);
                        outcomes[usize::from(taken)] += 1;
                    }
                }
            }
        }
    }
    assert!(outcomes[0] > 100 && outcomes[1] > 100, "{outcomes:?}");
}

fn one_size(
    strategy: Strategy,
    page_log: PageLog,
    (pages, bytes, inverse): (u64, usize, Option<usize>),
    crashes: bool,
) -> bool {
    let size = format!("{strategy:?}, {page_log:?}: {pages} pages, {bytes} bytes, {inverse:?}");
    let disk = SimulatedDisk::new(1, Faults::default());
    let database = with_large(strategy, page_log, &disk);
    let area = database.area("large", 1).expect("there is room");
    let large = Large {
        area,
        pages,
        bytes,
        inverse,
        by: 1,
    };
    let mut taken = true;
    // Twice in one transaction that commits; with an inverse, also in one that aborts and in one that
    // is undone after a crash.
    let tx = database.begin();
    let mut times = 0;
    for _ in 0..2 {
        match tx.call(&large) {
            Ok(()) => times += 1,
            Err(error) => {
                refused(&error, &size);
                taken = false;
            }
        }
    }
    match tx.commit() {
        Ok(()) => {}
        // In S1 a transaction is one unit, and after-images are counted at its end.
        Err(CommitError::Engine(DatabaseError::TooLarge { .. })) => {
            assert_eq!(strategy, Strategy::SingleLevel, "{size}");
            (times, taken) = (0, false);
        }
        Err(error) => panic!("{size}: {error}"),
    }
    if inverse.is_some() || strategy == Strategy::SingleLevel {
        let tx = database.begin();
        let _ = tx.call(&large);
        let _ = tx.call(&large);
        tx.abort().unwrap_or_else(|error| panic!("{size}: {error}"));
    }
    let unfinished = database.begin();
    if inverse.is_some() {
        let _ = unfinished.call(&large);
        database
            .flush()
            .unwrap_or_else(|error| panic!("{size}: {error}"));
    }
    std::mem::forget(unfinished);
    let disk = match crashes {
        true => disk.restart(Faults::default()),
        false => disk,
    };
    drop(database);
    let database = with_large(strategy, page_log, &disk);
    let area = database.area("large", 1).expect("it is there");
    let looks = Does(|pages: &mut dyn Pages| {
        let page = pages.page(area, 0)?;
        assert_eq!(pages.read(page)?[0], times, "{size}, crashes {crashes}");
        Ok(())
    });
    let looked: Called<()> = database.run(|tx| tx.call(&looks));
    looked.expect("readable");
    taken
}

fn refused<E: std::error::Error + Debug>(error: &CallError<E>, size: &str) {
    let typed = matches!(error, CallError::Failed(_) | CallError::TooLarge { .. });
    assert!(typed, "{size}: {error:?}");
    let text = error.to_string();
    assert!(
        text.chars().any(|c| c.is_ascii_digit()),
        "{size}: says no limit: {text}"
    );
}

#[test]
fn an_inverse_that_is_not_registered_or_too_long() {
    for strategy in STRATEGIES {
        if strategy == Strategy::SingleLevel {
            continue; // It keeps no inverses.
        }
        let disk = SimulatedDisk::new(1, Faults::default());
        let opened = way(strategy, PageLog::ByteRanges).open(&disk, small());
        let (database, area) = opened.expect("opens");
        let tx = database.begin();
        let large = |inverse| Large {
            area,
            pages: 1,
            bytes: 8,
            inverse: Some(inverse),
            by: 1,
        };
        let unknown = tx.call(&large(0)).unwrap_err();
        assert!(
            matches!(unknown, CallError::Unregistered { name: "large" }),
            "{unknown}"
        );
        drop(tx);
        drop(database);
        let database = with_large(strategy, PageLog::ByteRanges, &disk);
        let tx = database.begin();
        let long = tx.call(&large(INVERSE_BYTES_MAX)).unwrap_err();
        assert!(
            matches!(
                long,
                CallError::TooLarge {
                    what: "inverse",
                    ..
                }
            ),
            "{long}"
        );
        tx.commit().expect("nothing to commit");
        assert_eq!(read(&database, area, 0..1), [0], "{strategy:?}");
    }
}

/// A database with the undo entries of three unfinished transactions, as it stands on the disk.
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
    let opened = Backbone::open(Arc::new(disk.clone()), storage).expect("opens");
    let (mut store, mut filling) = (opened.store, opened.filling);
    let catalogue = Catalogue::read(&mut store).expect("readable");
    let number = catalogue
        .area(UNDO_AREA)
        .expect("an area")
        .expect("it is there");
    let page = pages_of(&catalogue, number)[place as usize];
    filling
        .builder()
        .push_write(Address(page.address().0 + offset as u64), bytes);
    assert!(filling.builder().end_transaction());
    filling.transaction_ended();
    let group = filling.seal().expect("a group");
    let (commit, number) = (opened.backbone.commit().clone(), group.header().number);
    commit.write_directly(group);
    commit.wait(number, &Nothing).expect("durable");
}

struct Nothing;

impl sardonyx_storage::log::commit::GroupSource for Nothing {
    fn try_seal(&self) -> Option<sardonyx_storage::log::writer::SealedGroup> {
        None
    }
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
    let mut store = Backbone::open(Arc::new(disk), storage)
        .expect("opens")
        .store;
    let catalogue = Catalogue::read(&mut store).expect("readable");
    let number = catalogue
        .area(UNDO_AREA)
        .expect("an area")
        .expect("it is there");
    let pages = pages_of(&catalogue, number);
    let bytes = |page: &PageId| store.bytes()[page.0 as usize * PAGE_SIZE..][..PAGE_SIZE].to_vec();
    pages.iter().map(bytes).collect()
}

/// Opens it. Whatever comes, it comes: but no panic and no hang.
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
        // Of what is long and all the same, a part is enough.
        let offsets = (0..used.min(PAGE_SIZE)).filter(|at| *at < 200 || at % 509 == 0);
        for offset in offsets.chain([PAGE_SIZE - 1]) {
            for value in [0xff, bytes[offset] ^ 1, bytes[offset].wrapping_add(0x40)] {
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
        refused > 100 && opened > 100,
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
    for place in [0, 1].into_iter().chain(9..count) {
        for at in (0..64).step_by(8) {
            for word in words {
                let disk = base.restart(Faults::default());
                overwrite(&disk, place, at, &word.to_le_bytes());
                if let Err(error) = open_damaged(&disk) {
                    assert!(!error.to_string().is_empty());
                }
            }
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
