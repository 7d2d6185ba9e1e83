//! Snapshots beside transactions, under every strategy, against a plain model. One thread drives several open
//! transactions on counters, records and an index, commits some and aborts others, and takes snapshots at any moment.
//! Each must show the content that was committed then, after any later change. Also: no snapshot waits for a
//! transaction; an operation at work is not seen; the bound. (Histories of threads are judged in `serializable.rs`.)

use crate::common::{options, ways};
use sardonyx_base::resident::Resident;
use sardonyx_multilevel::counter::{Add, Counter, Get, Set};
use sardonyx_multilevel::index::{IndexError, OrderedIndex};
use sardonyx_multilevel::records::{RecordError, Table, TableOperations};
use sardonyx_multilevel::{
    Area, CallError, Database, DatabaseError, Operation, Pages, Snapshot, Stop, Strategy,
    Transaction, record,
};
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use sardonyx_workload::random::Random;
use std::collections::BTreeMap;
use std::sync::{Arc, mpsc};

/// Nine in a page.
#[derive(Clone, Copy, PartialEq, Debug, Resident)]
#[repr(C)]
struct Item {
    key: u64,
    value: u64,
    more: [u64; 50],
}
record!(Item { table: "items", key: key: u64 });

fn item(key: u64, value: u64) -> Item {
    let more = [value; 50];
    Item { key, value, more }
}

const COUNTERS: u64 = 4;
const KEYS: u64 = 40;
const OPEN: u64 = 4;

#[derive(Clone, PartialEq, Debug, Default)]
struct Contents {
    counters: [i64; COUNTERS as usize],
    items: BTreeMap<u64, u64>,
    index: BTreeMap<Vec<u8>, Vec<u8>>,
}

/// The changes of a transaction so far.
#[derive(Default)]
struct Pending {
    counters: [i64; COUNTERS as usize],
    items: BTreeMap<u64, Option<u64>>,
    index: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

impl Pending {
    fn apply(self, to: &mut Contents) {
        for (sum, change) in to.counters.iter_mut().zip(self.counters) {
            *sum += change;
        }
        for (key, value) in self.items {
            match value {
                Some(value) => to.items.insert(key, value),
                None => to.items.remove(&key),
            };
        }
        for (key, value) in self.index {
            match value {
                Some(value) => to.index.insert(key, value),
                None => to.index.remove(&key),
            };
        }
    }
}

struct Opened {
    database: Database,
    counters: Vec<Counter>,
    items: Table<Item>,
    index: OrderedIndex,
}

impl Opened {
    fn on(disk: &SimulatedDisk, way: (Strategy, sardonyx_multilevel::PageLog)) -> Opened {
        let database = options(way).open_on(Arc::new(disk.clone())).expect("opens");
        let area = database.area("counters", 1).expect("there is room");
        let counters: Vec<_> = (0..COUNTERS).map(|n| Counter::new(area, n)).collect();
        for counter in &counters {
            let set = Set::within(*counter, 0, -1_000_000, 1_000_000);
            let done: Result<_, CallError<Stop>> = database.run(|tx| tx.call(&set));
            done.expect("set");
        }
        let items = database.table().expect("there is room");
        let index = OrderedIndex::of(database.area("index", 1).expect("there is room"));
        Opened {
            database,
            counters,
            items,
            index,
        }
    }

    /// One operation. Each transaction has its own keys, and one has the index, so none waits.
    fn step(&self, tx: &Transaction<'_>, slot: u64, pending: &mut Pending, random: &mut Random) {
        match random.below(if slot == 0 { 6 } else { 4 }) {
            0 => {
                let (n, by) = (random.below(COUNTERS) as usize, random.below(9) as i64 - 4);
                tx.call(&Add::to(self.counters[n], by)).expect("adds");
                pending.counters[n] += by;
            }
            1..4 => {
                let key = random.below(KEYS / OPEN) * OPEN + slot;
                let value = random.below(1000);
                match random.below(3) {
                    0 => match tx.call(&self.items.insert(&item(key, value))) {
                        Ok(()) => drop(pending.items.insert(key, Some(value))),
                        Err(CallError::Failed(RecordError::Duplicate { .. })) => {}
                        Err(error) => panic!("{error}"),
                    },
                    1 => {
                        let change = |record: &mut Item| *record = item(key, value);
                        if tx
                            .call(&self.items.update(key, change))
                            .expect("updates")
                            .is_some()
                        {
                            pending.items.insert(key, Some(value));
                        }
                    }
                    _ => {
                        if tx.call(&self.items.delete(key)).expect("deletes").is_some() {
                            pending.items.insert(key, None);
                        }
                    }
                }
            }
            _ => {
                let key = format!("{:03}", random.below(60)).into_bytes();
                if random.chance(60) {
                    let value = vec![random.below(256) as u8; random.below(300) as usize];
                    tx.call(&self.index.put(&key, &value)).expect("puts");
                    pending.index.insert(key, Some(value));
                } else {
                    tx.call(&self.index.delete(&key)).expect("deletes");
                    pending.index.insert(key, None);
                }
            }
        }
    }

    fn contents(&self, snapshot: &Snapshot) -> Result<Contents, Box<dyn std::error::Error>> {
        let mut contents = Contents::default();
        for (n, counter) in self.counters.iter().enumerate() {
            contents.counters[n] = snapshot.call(&Get(*counter))?;
        }
        for record in snapshot.records(self.items) {
            let record = record?;
            assert_eq!(record, item(record.key, record.value), "half a record");
            let twice = contents.items.insert(record.key, record.value);
            assert_eq!(twice, None, "key {} twice", record.key);
        }
        // By key, as by all.
        for key in 0..KEYS {
            let found = snapshot.call(&self.items.get(key))?.map(|item| item.value);
            assert_eq!(found.as_ref(), contents.items.get(&key), "key {key}");
        }
        let entries = snapshot.call(&self.index.scan(..))?;
        contents.index = entries.into_iter().collect();
        Ok(contents)
    }
}

/// One history. Returns how many snapshots were looked at while transactions were open.
fn history(way: (Strategy, sardonyx_multilevel::PageLog), seed: u64) -> usize {
    let disk = SimulatedDisk::new(1, Faults::default());
    let opened = Opened::on(&disk, way);
    let mut random = Random::new(seed);
    let mut committed = Contents::default();
    // With a single level transactions on the same pages wait for each other, and there is one thread.
    let slots = if way.0 == Strategy::SingleLevel {
        1
    } else {
        OPEN
    };
    let mut open: Vec<Option<(Transaction<'_>, Pending)>> = Vec::new();
    open.resize_with(slots as usize, || None);
    let mut snapshots: Vec<(Snapshot, Contents)> = Vec::new();
    let mut beside = 0;
    for _ in 0..250 {
        let slot = random.below(slots);
        let place = &mut open[slot as usize];
        match random.below(10) {
            0 => {
                if let Some((tx, pending)) = place.take() {
                    tx.commit().expect("commits");
                    pending.apply(&mut committed);
                }
            }
            1 => {
                if let Some((tx, _)) = place.take() {
                    tx.abort().expect("aborts");
                }
            }
            2 => {
                let snapshot = opened.database.snapshot().expect("snapshot");
                beside += usize::from(open.iter().any(Option::is_some));
                if random.chance(30) {
                    let now = opened.contents(&snapshot).expect("reads");
                    assert_eq!(now, committed, "{way:?}, seed {seed}: at once");
                }
                snapshots.push((snapshot, committed.clone()));
            }
            3 if !snapshots.is_empty() => {
                let nth = random.below(snapshots.len() as u64) as usize;
                let (snapshot, then) = snapshots.swap_remove(nth);
                let shown = opened.contents(&snapshot).expect("reads");
                assert_eq!(shown, then, "{way:?}, seed {seed}");
            }
            _ => {
                let (tx, pending) =
                    place.get_or_insert_with(|| (opened.database.begin(), Pending::default()));
                opened.step(tx, slot, pending, &mut random);
            }
        }
    }
    drop(open);
    opened.database.close().expect("closes");
    // From other threads, and when the database is closed.
    std::thread::scope(|scope| {
        for (snapshot, then) in &snapshots {
            let opened = &opened;
            scope.spawn(move || {
                assert_eq!(opened.contents(snapshot).expect("reads"), *then, "{way:?}");
            });
        }
    });
    beside
}

#[test]
fn every_snapshot_shows_what_was_committed_when_it_was_taken() {
    for way in ways() {
        let beside: usize = (0..crate::seeds().unwrap_or(3))
            .map(|seed| history(way, seed))
            .sum();
        assert!(beside > 10, "{way:?}: {beside} beside open transactions");
    }
}

#[test]
fn a_snapshot_waits_for_no_transaction_and_holds_nobody_up() {
    for way in ways() {
        let disk = SimulatedDisk::new(1, Faults::default());
        let opened = Opened::on(&disk, way);
        let (database, items) = (&opened.database, opened.items);
        let done: Result<_, CallError<RecordError>> =
            database.run(|tx| tx.call(&items.insert(&item(1, 1))));
        done.expect("inserts");
        // This thread has the record's page locked, with a single level, or its key.
        let customer = database.begin();
        customer
            .call(&items.update(1, |record| *record = item(1, 2)))
            .expect("updates");
        customer.call(&items.insert(&item(2, 2))).expect("inserts");
        let report = database.snapshot().expect("snapshot");
        let shows = |snapshot: &Snapshot| opened.contents(snapshot).expect("reads").items;
        let then = BTreeMap::from([(1, 1)]);
        assert_eq!(shows(&report), then, "{way:?}");
        customer
            .call(&items.update(1, |record| *record = item(1, 3)))
            .expect("updates");
        customer.call(&items.delete(2)).expect("deletes");
        assert_eq!(shows(&report), then, "{way:?}");
        customer.commit().expect("commits");
        assert_eq!(shows(&report), then, "{way:?}");
        let now = database.snapshot().expect("snapshot");
        assert_eq!(shows(&now), BTreeMap::from([(1, 3)]), "{way:?}");
        // It takes the place of another record, which the first snapshot still shows.
        let done: Result<_, CallError<RecordError>> = database.run(|tx| {
            tx.call(&items.delete(1))?;
            tx.call(&items.insert(&item(9, 9)))
        });
        done.expect("changes");
        assert_eq!(
            (shows(&report), shows(&now)),
            (then, BTreeMap::from([(1, 3)])),
            "{way:?}"
        );
        drop((report, now));
        let last = database.snapshot().expect("snapshot");
        assert_eq!(shows(&last), BTreeMap::from([(9, 9)]), "{way:?}");
    }
}

/// Adds to a number and waits in the middle.
struct Slow<'a> {
    area: Area,
    begun: &'a mpsc::SyncSender<()>,
    go_on: &'a std::sync::Mutex<mpsc::Receiver<()>>,
}

impl Operation for Slow<'_> {
    type Output = ();
    type Error = Stop;

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), Stop> {
        let page = pages.page(self.area, 0)?;
        pages.write_bytes(page, 0, &[1])?;
        self.begun.send(()).expect("it is waited for");
        self.go_on
            .lock()
            .expect("sound")
            .recv()
            .expect("it is told");
        pages.write_bytes(page, 8, &[1])
    }
}

/// Reads the page that it changes.
struct Both(Area);

impl Operation for Both {
    type Output = [u8; 2];
    type Error = Stop;

    fn execute(&self, pages: &mut dyn Pages) -> Result<[u8; 2], Stop> {
        let page = pages.read(pages.page(self.0, 0)?)?;
        Ok([page[0], page[8]])
    }
}

#[test]
fn an_operation_that_is_at_work_is_not_seen_and_nobody_waits_for_the_snapshot() {
    for way in ways() {
        let disk = SimulatedDisk::new(1, Faults::default());
        let opened = Opened::on(&disk, way);
        let database = &opened.database;
        let area = database.area("slow", 1).expect("there is room");
        let (begun, is_begun) = mpsc::sync_channel(1);
        let (tell, go_on) = mpsc::sync_channel(1);
        let go_on = std::sync::Mutex::new(go_on);
        std::thread::scope(|scope| {
            let slow = Slow {
                area,
                begun: &begun,
                go_on: &go_on,
            };
            let writer = scope.spawn(move || {
                let done: Result<(), CallError<Stop>> = database.run(|tx| tx.call(&slow));
                done.expect("commits");
            });
            is_begun.recv().expect("it begins");
            // While half of it is in the page, and others go on.
            let report = database.snapshot().expect("snapshot");
            let add = Add::to(opened.counters[0], 5);
            let done: Result<_, CallError<Stop>> = database.run(|tx| tx.call(&add));
            done.expect("adds");
            assert_eq!(report.call(&Get(opened.counters[0])).expect("reads"), 0);
            // Reading that page waits for the operation, with two levels; not for its transaction.
            let reader = scope.spawn({
                let report = report.clone();
                move || report.call(&Both(area)).expect("reads")
            });
            tell.send(()).expect("it waits");
            assert_eq!(reader.join().expect("reads"), [0, 0], "{way:?}");
            writer.join().expect("ends well");
            assert_eq!(report.call(&Both(area)).expect("reads"), [0, 0], "{way:?}");
            let now = database.snapshot().expect("snapshot");
            assert_eq!(now.call(&Both(area)).expect("reads"), [1, 1], "{way:?}");
        });
    }
}

#[test]
fn a_snapshot_is_only_read_and_not_by_operations() {
    struct TakesOne<'a>(&'a Database, &'a Snapshot);
    impl Operation for TakesOne<'_> {
        type Output = bool;
        type Error = Stop;
        fn execute(&self, _: &mut dyn Pages) -> Result<bool, Stop> {
            let taken = matches!(self.0.snapshot(), Err(DatabaseError::Nested));
            Ok(taken && matches!(self.1.call(&Both(Area(0))), Err(CallError::Nested)))
        }
    }
    let disk = SimulatedDisk::new(1, Faults::default());
    let opened = Opened::on(&disk, ways()[8]);
    let snapshot = opened.database.snapshot().expect("snapshot");
    let refused = snapshot.call(&Add::to(opened.counters[0], 1));
    assert!(
        matches!(refused, Err(CallError::Failed(Stop::ReadOnly))),
        "{refused:?}"
    );
    let refused = snapshot.call(&opened.index.put(b"a", b"b"));
    let refused = matches!(
        refused,
        Err(CallError::Failed(IndexError::Stop(Stop::ReadOnly)))
    );
    assert!(refused);
    assert!(snapshot.call(&opened.items.insert(&item(1, 1))).is_err());
    assert_eq!(
        opened.contents(&snapshot).expect("reads"),
        Contents::default()
    );
    let nested: Result<bool, CallError<Stop>> = opened
        .database
        .run(|tx| tx.call(&TakesOne(&opened.database, &snapshot)));
    assert!(nested.expect("runs"));
    opened.database.close().expect("closes");
    assert!(opened.database.snapshot().is_err());
}

#[test]
fn at_the_bound_the_oldest_ends_with_an_error_and_transactions_go_on() {
    for way in ways() {
        let disk = SimulatedDisk::new(1, Faults::default());
        let database = options(way).snapshot_bytes_max(8 * 4096);
        let database = database.open_on(Arc::new(disk.clone())).expect("opens");
        let items = database.table::<Item>().expect("there is room");
        let put = |value: u64| {
            for key in 0..200 {
                let done: Result<_, CallError<RecordError>> = database.run(|tx| {
                    tx.call(&items.delete(key))?;
                    tx.call(&items.insert(&item(key, value)))
                });
                done.expect("changes");
            }
        };
        put(1);
        let old = database.snapshot().expect("snapshot");
        assert_eq!(old.records(items).count(), 200);
        put(2);
        assert!(old.is_ended());
        let ended = |error: CallError<RecordError>| {
            matches!(
                error,
                CallError::Failed(RecordError::Stop(Stop::SnapshotEnded(_)))
            )
        };
        assert!(
            ended(old.call(&items.get(7)).expect_err("ended")),
            "{way:?}"
        );
        let mut records = old.records(items);
        assert!(
            records
                .next()
                .is_some_and(|record| record.is_err_and(ended))
        );
        assert!(records.next().is_none());
        let new = database.snapshot().expect("snapshot");
        assert_eq!(new.call(&items.get(7)).expect("reads"), Some(item(7, 2)));
    }
}
