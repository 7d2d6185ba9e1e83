//! Any request, and (`damaged_undo_area`) any content of the undo area, has one result: a typed error that names the
//! fault, and nothing else happens. No panic, no hang, and the transaction can go on.

mod damaged_undo_area;

use crate::support::{Called, STRATEGIES, Way, read, small};
use sardonyx_base::random::stride;
use sardonyx_multilevel::operation::{INVERSE_BYTES_MAX, NAME_BYTES_MAX};
use sardonyx_multilevel::undo::UNDO_AREA;
use sardonyx_multilevel::{
    Area, CallError, CommitError, Database, DatabaseError, Inverse, Operation, Options, PAGE_SIZE,
    PageId, PageLog, Pages, Recorded, Release, Stop, Strategy,
};
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use std::fmt::Debug;
use std::sync::Arc;

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

/// A test's own work on pages.
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
    let (mut outcomes, mut number) = ([0; 2], 0);
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
                        number += 1;
                        // So each size meets each inverse under some strategy: 11 shares no factor with their numbers.
                        if number % stride(11) != 0 {
                            continue;
                        }
                        let taken = one_size(strategy, page_log, size, crashes);
                        outcomes[usize::from(taken)] += 1;
                    }
                }
            }
        }
    }
    let least = if crate::seeds().is_some() { 100 } else { 12 };
    assert!(outcomes.iter().all(|times| *times > least), "{outcomes:?}");
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

/// Changes pages; its inverse twenty times as many.
struct Modest {
    area: Area,
    pages: u64,
}

impl Operation for Modest {
    type Output = ();
    type Error = Stop;

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), Stop> {
        for index in 0..self.pages {
            let page = pages.page(self.area, index)?;
            pages.write(page, 0..PAGE_SIZE)?.fill(1);
        }
        Ok(())
    }

    fn inverse(&self, (): &()) -> Option<Inverse> {
        let (area, pages) = (self.area, self.pages * 20);
        Some(Inverse::of(&Modest { area, pages }))
    }
}

impl Recorded for Modest {
    const NAME: &str = "modest";

    fn encode(&self, into: &mut Vec<u8>) {
        into.extend(self.area.0.to_le_bytes());
        into.extend(self.pages.to_le_bytes());
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (area, pages) = bytes.split_first_chunk()?;
        let area = Area(u16::from_le_bytes(*area));
        let pages = u64::from_le_bytes(pages.try_into().ok()?);
        Some(Modest { area, pages })
    }
}

#[test]
fn an_inverse_that_changes_more_than_a_unit_holds_is_refused() {
    for strategy in STRATEGIES {
        if strategy == Strategy::SingleLevel {
            continue;
        }
        let disk = SimulatedDisk::new(1, Faults::default());
        let options = way(strategy, PageLog::AfterImages).options(small());
        let database = options
            .register::<Modest>()
            .open_on(Arc::new(disk.clone()))
            .expect("opens");
        let area = database.area("pages", 60).expect("there is room");
        let tx = database.begin();
        tx.call(&Modest { area, pages: 1 }).expect("well");
        let error = tx.abort().expect_err("20 pages do not fit");
        let refused = matches!(
            error,
            DatabaseError::TooLarge { bytes, limit } if bytes > limit
        );
        assert!(refused, "{strategy:?}: {error}");
        // Other work goes on.
        let other = database.begin();
        other.call(&Probe(area)).expect("well");
        other.commit().expect("well");
    }
}

/// Reads a page that is not locked.
struct Probe(Area);

impl Operation for Probe {
    type Output = u8;
    type Error = Stop;

    fn execute(&self, pages: &mut dyn Pages) -> Result<u8, Stop> {
        let page = pages.page(self.0, 59)?;
        Ok(pages.read(page)?[0])
    }
}
