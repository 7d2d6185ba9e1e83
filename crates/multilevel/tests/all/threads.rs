//! Real threads under every strategy. In any schedule sums are kept and numbers are given once. Meanwhile transactions
//! are aborted, dropped, chosen to end deadlocks, and panic in the middle of operations. Checkpoints run in a log that
//! is too small, and areas grow.

use crate::support::{
    ADD, Add, CELLS, Called, Ended, Get, Put, STRATEGIES, WRITE, Way, read, small, ways,
};
use sardonyx_base::random::stride;
use sardonyx_multilevel::{
    Area, CallError, CommitError, Database, Inverse, LockRequests, Operation, PAGE_SIZE, PageLog,
    Pages, Recorded, Release, Stop, Strategy,
};
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use sardonyx_storage::engine::StorageOptions;
use sardonyx_storage::log::policy::GroupLimits;
use sardonyx_workload::random::Random;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

const CELLS_USED: u64 = 12;
const THREADS: u64 = 4;

/// So small that it is recycled all the time.
fn small_log() -> StorageOptions {
    StorageOptions {
        segment_bytes: 128 << 10,
        log_bytes_max: 512 << 10,
        log_bytes_prepared: 256 << 10,
        limits: GroupLimits {
            group_bytes: 16 << 10,
            transaction_bytes: 48 << 10,
            ..GroupLimits::default()
        },
        ..small()
    }
}

/// Panics when it has done half of its work.
struct Panics(Add);

impl Operation for Panics {
    type Output = ();
    type Error = Stop;

    fn locks(&self, locks: &mut LockRequests) {
        self.0.locks(locks);
    }

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), Stop> {
        self.0.execute(pages)?;
        std::panic::resume_unwind(Box::new("half done"))
    }
}

fn add(area: Area, cells: &[u64], amount: i64) -> Add {
    Add {
        area,
        amount,
        cells: cells.to_vec(),
    }
}

/// Moves amounts between cells, in operations over several pages in any order. The sum stays, at
/// every moment that anyone may see.
fn transfer(database: &Database, area: Area, random: &mut Random) {
    let mut amounts = [random.below(9) as i64; 2];
    amounts[1] = -amounts[0];
    let cells: Vec<Vec<u64>> = amounts
        .iter()
        .map(|_| (0..3).map(|_| random.below(CELLS_USED)).collect())
        .collect();
    let ending = random.below(12);
    let ended: Result<(), Ended> = database.run(|tx| {
        for (cells, amount) in cells.iter().zip(amounts) {
            tx.call(&add(area, cells, amount))?;
        }
        match ending {
            0 => Err(Ended::OnPurpose),
            1 => {
                let panics = Panics(add(area, &cells[0], 1));
                let panicked = catch_unwind(AssertUnwindSafe(|| tx.call(&panics)));
                match panicked {
                    Err(_) | Ok(Err(CallError::Deadlock)) => Ok(()),
                    other => panic!("{other:?}"),
                }
            }
            2 => {
                let sum: i64 = tx.call(&all(area))?.iter().sum();
                assert_eq!(sum, 0, "in a transaction");
                Ok(())
            }
            _ => Ok(()),
        }
    });
    match ended {
        Ok(()) => assert_ne!(ending, 0),
        Err(Ended::OnPurpose) => assert_eq!(ending, 0),
        Err(error) => panic!("{error}"),
    }
    if ending == 3 {
        let dropped = database.begin();
        // It may be chosen to end a deadlock; dropped it is in any case.
        let _ = dropped.call(&add(area, &cells[0], 5));
        drop(dropped);
    }
}

fn all(area: Area) -> Get {
    let cells = (0..CELLS_USED).collect();
    Get { area, cells }
}

#[test]
fn sums_are_kept_with_a_small_log_and_checkpoints_and_growing_areas() {
    for (seed, way) in ways().into_iter().enumerate() {
        let disk = SimulatedDisk::new(1, Faults::default());
        let (database, area) = way.open(&disk, small_log()).expect("opens");
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let clients: Vec<_> = (0..THREADS)
                .map(|n| {
                    let database = &database;
                    scope.spawn(move || {
                        let mut random = Random::new(seed as u64 * 100 + n);
                        for _ in 0..crate::seeds().unwrap_or(10) {
                            transfer(database, area, &mut random);
                        }
                    })
                })
                .collect();
            scope.spawn(|| {
                while !ended.load(Ordering::Relaxed) {
                    database.checkpoint().expect("completes");
                }
            });
            scope.spawn(|| {
                let last = crate::seeds().map_or(11, |_| 20);
                for pages in 5..last {
                    let name = ["cells", "another"][pages as usize % 2];
                    database.area(name, pages).expect("there is room");
                    let grow = Grow(area, pages);
                    let told: Called<()> = database.run(|tx| tx.call(&grow));
                    told.expect("there is room");
                }
            });
            let outcomes: Vec<_> = clients.into_iter().map(|c| c.join()).collect();
            ended.store(true, Ordering::Relaxed);
            for outcome in outcomes {
                outcome.unwrap_or_else(|_| panic!("{way:?}, seed {seed}"));
            }
        });
        let found = read(&database, area, 0..CELLS_USED);
        assert_eq!(found.iter().sum::<i64>(), 0, "{way:?}");
        drop(database);
        let disk = disk.restart(Faults::default());
        let (database, area) = way.open(&disk, small_log()).expect("opens");
        assert_eq!(read(&database, area, 0..CELLS_USED), found, "{way:?}");
    }
}

/// Grows an area by pages while it runs.
struct Grow(Area, u64);

impl Operation for Grow {
    type Output = ();
    type Error = Stop;

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), Stop> {
        pages.grow(self.0, self.1)?;
        let last = pages.page(self.0, self.1 - 1)?;
        pages.write_bytes(last, PAGE_SIZE - 8, &[1; 8])
    }
}

#[test]
fn numbers_are_given_once() {
    for (seed, way) in ways().into_iter().enumerate() {
        let disk = SimulatedDisk::new(1, Faults::default());
        let (database, area) = way.open(&disk, small()).expect("opens");
        let given = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for n in 0..THREADS {
                let (database, given) = (&database, &given);
                scope.spawn(move || {
                    let mut random = Random::new(seed as u64 * 100 + n);
                    for _ in 0..30 {
                        let abort = random.chance(20);
                        let number: Result<i64, Ended> = database.run(|tx| {
                            let cells = vec![0];
                            // Many read before one writes: conversions of locks that deadlock.
                            let last = tx.call(&Get { area, cells })?[0];
                            let (cell, value) = (0, last + 1);
                            tx.call(&Put { area, cell, value })?;
                            match abort {
                                true => Err(Ended::OnPurpose),
                                false => Ok(value),
                            }
                        });
                        match number {
                            Ok(number) => given.lock().expect("sound").push(number),
                            Err(Ended::OnPurpose) => {}
                            Err(error) => panic!("{error}"),
                        }
                    }
                });
            }
        });
        let mut given = given.into_inner().expect("sound");
        given.sort_unstable();
        let expected: Vec<i64> = (1..=given.len() as i64).collect();
        assert_eq!(given, expected, "{way:?}");
    }
}

/// The place at which an operation panics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Where {
    Locks,
    Execute,
    Inverse,
    Encode,
}

struct Bad {
    area: Area,
    panics: Where,
}

fn panic_if(it: bool) {
    if it {
        std::panic::resume_unwind(Box::new("on purpose"));
    }
}

impl Operation for Bad {
    type Output = ();
    type Error = Stop;

    fn locks(&self, locks: &mut LockRequests) {
        locks.request(&CELLS, 0, ADD);
        panic_if(self.panics == Where::Locks);
    }

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), Stop> {
        add(self.area, &[0, 4], 7).execute(pages)?;
        panic_if(self.panics == Where::Execute);
        Ok(())
    }

    fn inverse(&self, (): &()) -> Option<Inverse> {
        panic_if(self.panics == Where::Inverse);
        let (area, panics) = (self.area, self.panics);
        Some(Inverse::of(&Bad { area, panics }))
    }
}

impl Recorded for Bad {
    const NAME: &str = "bad";

    fn encode(&self, _: &mut Vec<u8>) {
        panic_if(self.panics == Where::Encode);
    }

    fn decode(_: &[u8]) -> Option<Self> {
        None
    }
}

#[test]
fn an_operation_that_panics_is_undone_and_holds_nothing() {
    for strategy in STRATEGIES {
        for panics in [Where::Locks, Where::Execute, Where::Inverse, Where::Encode] {
            // A single-level transaction asks for no locks and no inverse.
            if strategy == Strategy::SingleLevel && panics != Where::Execute {
                continue;
            }
            let disk = SimulatedDisk::new(1, Faults::default());
            let (database, area) = open(strategy, &disk);
            let tx = database.begin();
            tx.call(&add(area, &[0], 1)).expect("well");
            for _ in 0..3 {
                let bad = Bad { area, panics };
                let outcome = catch_unwind(AssertUnwindSafe(|| tx.call(&bad)));
                assert!(outcome.is_err(), "{strategy:?}, {panics:?}");
            }
            // The transaction can go on, and so can others on the same pages.
            tx.call(&add(area, &[0, 4], 1)).expect("well");
            if strategy != Strategy::SingleLevel {
                let told: Called<()> = database.run(|tx| tx.call(&add(area, &[0, 4], 10)));
                told.expect("well");
            }
            tx.commit().expect("committed");
            let others = if strategy == Strategy::SingleLevel {
                0
            } else {
                10
            };
            let expected = [2 + others, 1 + others];
            let found = read(&database, area, 0..5);
            assert_eq!([found[0], found[4]], expected, "{strategy:?}, {panics:?}");
        }
    }
}

/// With threads of its own or without; the rest as it comes.
fn open(strategy: Strategy, disk: &SimulatedDisk) -> (Arc<Database>, Area) {
    let way = Way {
        strategy,
        page_log: PageLog::ByteRanges,
        release: Release::Appended,
        threaded: false,
    };
    let options = way.options(small()).register::<Bad>();
    let database = options.open_on(Arc::new(disk.clone())).expect("opens");
    let area = database.area("cells", 4).expect("there is room");
    (Arc::new(database), area)
}

/// An operation that calls an operation of a transaction, holding a page that that one needs: it
/// would wait for itself.
struct Nested<'d> {
    database: &'d Database,
    /// The other transaction; one of its own if there is none.
    other: Option<&'d sardonyx_multilevel::Transaction<'d>>,
    area: Area,
}

impl Operation for Nested<'_> {
    type Output = ();
    type Error = Stop;

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), Stop> {
        add(self.area, &[0], 1).execute(pages)?;
        let inner = add(self.area, &[0, 4], 100);
        let outcome = match self.other {
            Some(tx) => tx.call(&inner),
            None => self.database.run(|tx| tx.call(&inner)),
        };
        assert!(matches!(outcome, Err(CallError::Nested)), "{outcome:?}");
        // Calls that do not touch pages are allowed.
        self.database.area("cells", 6).expect("there is room");
        self.database.begin().commit().expect("nothing to commit");
        let _ = self.database.statistics();
        Ok(())
    }
}

#[test]
fn a_call_within_an_operation_is_refused_and_does_not_hang() {
    for strategy in STRATEGIES {
        let disk = SimulatedDisk::new(1, Faults::default());
        let (database, area) = open(strategy, &disk);
        let database = &*database;
        let tx = database.begin();
        let nested = |other| Nested {
            database,
            other,
            area,
        };
        tx.call(&nested(None)).expect("it goes on");
        tx.call(&nested(Some(&tx))).expect("it goes on");
        // Also after one that panics.
        let panics = Panics(add(area, &[1], 1));
        assert!(catch_unwind(AssertUnwindSafe(|| tx.call(&panics))).is_err());
        tx.call(&add(area, &[4], 1)).expect("not nested");
        tx.commit().expect("committed");
        let found = read(database, area, 0..5);
        assert_eq!(found, [2, 0, 0, 0, 1], "{strategy:?}");
    }
}

/// A transaction that is chosen to end a deadlock returns that, refuses everything else, and can only be aborted. Run
/// again with its age it is not chosen again for ever.
#[test]
fn a_deadlock_of_objects_has_one_victim_and_it_is_the_younger() {
    for strategy in STRATEGIES {
        let disk = SimulatedDisk::new(1, Faults::default());
        let (database, area) = open(strategy, &disk);
        let put = |cell| Put {
            area,
            cell,
            value: 1,
        };
        let (older, younger) = (database.begin(), database.begin());
        older.call(&put(0)).expect("free");
        younger.call(&put(4)).expect("free");
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| older.call(&put(4)));
            // It waits, or is going to: the younger is chosen, whichever closes the cycle.
            let chosen = younger.call(&put(0));
            assert!(matches!(chosen, Err(CallError::Deadlock)), "{strategy:?}");
            assert!(younger.is_doomed());
            let refused = younger.call(&put(8));
            assert!(matches!(refused, Err(CallError::Deadlock)));
            assert!(matches!(younger.commit(), Err(CommitError::Deadlock)));
            let waited = waits.join().expect("ends well");
            waited.expect("the older one gets what it waits for");
        });
        older.commit().expect("committed");
        let found = read(&database, area, 0..9);
        assert_eq!([found[0], found[4], found[8]], [1, 1, 0], "{strategy:?}");
    }
}

/// Locks only: waits for an object while others need the page.
struct LockWithin(Area);

impl Operation for LockWithin {
    type Output = ();
    type Error = Stop;

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), Stop> {
        add(self.0, &[0, 4], 1).execute(pages)?;
        pages.lock(&CELLS, 8, WRITE)
    }

    fn inverse(&self, (): &()) -> Option<Inverse> {
        Some(Inverse::of(&add(self.0, &[4, 0], -1)))
    }
}

/// A transaction that waits for an object holds no page meanwhile: others change the pages that it had.
#[test]
fn who_waits_for_an_object_holds_no_page() {
    for strategy in STRATEGIES {
        if strategy == Strategy::SingleLevel {
            continue; // It has no locks on objects.
        }
        let disk = SimulatedDisk::new(1, Faults::default());
        let (database, area) = open(strategy, &disk);
        let holder = database.begin();
        let value = 5;
        holder
            .call(&Put {
                area,
                cell: 8,
                value,
            })
            .expect("free");
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| {
                let told: Called<()> = database.run(|tx| tx.call(&LockWithin(area)));
                told.expect("committed");
            });
            while database.waiting().is_empty() {
                std::thread::yield_now();
            }
            let told: Called<()> = database.run(|tx| tx.call(&add(area, &[0, 4], 10)));
            told.expect("nobody holds the pages");
            holder.commit().expect("committed");
            waits.join().expect("ends well");
        });
        let found = read(&database, area, 0..9);
        assert_eq!([found[0], found[4], found[8]], [11, 11, 5], "{strategy:?}");
        assert!(database.statistics().restarts > 0);
    }
}

/// After so many transactions, at a crash, the log may be so full that opening it has to make room
/// before anything else; with threads and without.
#[test]
fn a_log_that_is_full_at_a_crash_is_opened() {
    // Only when there is no more room is a checkpoint taken.
    let small_log = || StorageOptions {
        checkpoint_interval_bytes: Some(1 << 40),
        ..small_log()
    };
    for committed in (0..80).step_by(stride(3)) {
        for threaded in [true, false] {
            let way = Way {
                strategy: Strategy::OrderedLog,
                page_log: PageLog::AfterImages,
                release: Release::Appended,
                threaded: false,
            };
            let disk = SimulatedDisk::new(1, Faults::default());
            let (database, area) = way.open(&disk, small_log()).expect("opens");
            for _ in 0..committed {
                let told: Called<()> = database.run(|tx| tx.call(&add(area, &[0, 4], 1)));
                told.expect("committed");
            }
            let disk = disk.restart(Faults::default());
            drop(database);
            let (tell, told) = std::sync::mpsc::channel();
            std::thread::spawn(move || {
                let way = Way { threaded, ..way };
                let (database, area) = way.open(&disk, small_log()).expect("opens");
                let _ = tell.send(read(&database, area, 0..5));
            });
            // If it hangs, it does so for ever.
            let found = told.recv_timeout(std::time::Duration::from_secs(120));
            let found =
                found.unwrap_or_else(|_| panic!("{committed} committed, {threaded}: hangs"));
            assert_eq!([found[0], found[4]], [committed; 2]);
        }
    }
}
