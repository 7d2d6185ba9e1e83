//! Records of tables as operations, against a plain map: random transactions, aborts and crashes under
//! every strategy. The serial way reads the operations' records, and the other way round.

use crate::common::{self, options, ways};
use proptest::prelude::{Just, ProptestConfig, any, prop, prop_assert_eq, prop_oneof, proptest};
use proptest::strategy::Strategy as Generate;
use sardonyx_base::resident::Resident;
use sardonyx_multilevel::records::{RecordError, Table, TableOperations};
use sardonyx_multilevel::{CallError, Database, PageLog, Strategy, Transaction, record};
use sardonyx_storage::disk::{Disk, Faults, SimulatedDisk};
use sardonyx_storage::manifest::Manifest;
use sardonyx_storage::recovery::{RecoveryOptions, recover};
use sardonyx_table::TableSpace;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Nine in a page, so that pages fill and tables grow.
#[derive(Clone, Copy, PartialEq, Debug, Resident)]
#[repr(C)]
struct Item {
    value: u64,
    key: u64,
    more: [u64; 50],
}
record!(Item { table: "items", key: key: u64 });

fn item(key: u64, value: u64) -> Item {
    let mut more = [0; 50];
    more[key as usize % 50] = value;
    Item { value, key, more }
}

/// A record of another layout.
#[derive(Clone, Copy, Debug, Resident)]
#[repr(C)]
struct Other {
    key: u64,
}
record!(Other { table: "others", key: key: u64 });

type Model = BTreeMap<u64, u64>;

#[derive(Clone, Copy, Debug)]
enum Step {
    Get(u64),
    Insert(u64, u64),
    Update(u64, u64),
    Delete(u64),
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum End {
    Commit,
    Abort,
    /// The database is restarted with the transaction unfinished.
    Crash,
}

fn step() -> impl Generate<Value = Step> {
    prop_oneof![
        1 => (0..24_u64).prop_map(Step::Get),
        4 => (0..24_u64, 1..9_u64).prop_map(|(key, value)| Step::Insert(key, value)),
        2 => (0..24_u64, 1..9_u64).prop_map(|(key, value)| Step::Update(key, value)),
        3 => (0..24_u64).prop_map(Step::Delete),
    ]
}

fn end() -> impl Generate<Value = End> {
    prop_oneof![4 => Just(End::Commit), 3 => Just(End::Abort), 2 => Just(End::Crash)]
}

/// Executes a step in a transaction and in the model, and compares the results.
fn take(tx: &Transaction<'_>, items: Table<Item>, model: &mut Model, step: Step) {
    let of = |(key, value): (u64, u64)| item(key, value);
    match step {
        Step::Get(key) => {
            let found = tx.call(&items.get(key)).unwrap();
            assert_eq!(found, model.get(&key).map(|value| of((key, *value))));
        }
        Step::Insert(key, value) => {
            let inserted = tx.call(&items.insert(&item(key, value)));
            match model.contains_key(&key) {
                true => assert!(matches!(
                    inserted,
                    Err(CallError::Failed(RecordError::Duplicate { table: "items" }))
                )),
                false => {
                    inserted.unwrap();
                    model.insert(key, value);
                }
            }
        }
        Step::Update(key, value) => {
            let change = |found: &mut Item| *found = item(key, found.value + value);
            let before = tx.call(&items.update(key, change)).unwrap();
            assert_eq!(before, model.get(&key).map(|value| of((key, *value))));
            model.entry(key).and_modify(|found| *found += value);
        }
        Step::Delete(key) => {
            let deleted = tx.call(&items.delete(key)).unwrap();
            assert_eq!(deleted, model.remove(&key).map(|value| of((key, value))));
        }
    }
}

fn open(way: (Strategy, PageLog), disk: &SimulatedDisk) -> (Database, Table<Item>) {
    let database = options(way).open_on(Arc::new(disk.clone())).unwrap();
    let items = database.table::<Item>().unwrap();
    (database, items)
}

/// The content, key by key.
fn read(database: &Database, items: Table<Item>) -> Model {
    let read = |key| database.run(|tx| tx.call(&items.get(key))).unwrap();
    let found = (0..24).filter_map(|key| Some((key, read(key)?)));
    found
        .map(|(key, found)| {
            assert_eq!(found, item(key, found.value));
            (key, found.value)
        })
        .collect()
}

/// The recovered pages as the serial way reads them.
pub fn as_tables(disk: &SimulatedDisk) -> TableSpace {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let manifest = Manifest::read(&*disk).unwrap();
    let options = RecoveryOptions {
        memory_max_bytes: 64 << 20,
        workers: 1,
        dry_run: true,
        ..RecoveryOptions::default()
    };
    let recovered = recover(&disk, &manifest, options).unwrap();
    TableSpace::open(recovered.store, 1).unwrap().0
}

fn read_serially(disk: &SimulatedDisk) -> Model {
    let space = as_tables(disk);
    let Some(items) = space.table::<Item>().unwrap() else {
        return Model::new();
    };
    let view = space.view();
    let records = view.scan(items).unwrap().map(|found| {
        let found = found.unwrap();
        assert_eq!(*found, item(found.key, found.value));
        assert_eq!(view.get(items, found.key).unwrap(), Some(found));
        (found.key, found.value)
    });
    records.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: sardonyx_base::random::cases(10), failure_persistence: None, ..ProptestConfig::default() })]

    /// Two transactions at a time, on keys of their own.
    #[test]
    fn transactions_aborts_and_crashes_are_as_in_a_map(
        way in prop::sample::select(ways()),
        rounds in prop::collection::vec(
            (prop::collection::vec((step(), any::<bool>()), 0..24), end(), end()),
            1..8,
        ),
    ) {
        let mut disk = SimulatedDisk::new(1, Faults::default());
        let (mut database, mut items) = open(way, &disk);
        let mut model = Model::new();
        for (steps, one, other) in rounds {
            // With a single level, only one of them can have a page.
            let both = way.0 != Strategy::SingleLevel;
            let mut after = [model.clone(), model.clone()];
            let ends = [one, other];
            let mut transactions = [Some(database.begin()), Some(database.begin())];
            for (step, second) in steps {
                let nth = usize::from(second && both);
                // Keys of their own, so that neither waits.
                let own = |key: u64| key / 2 * 2 + nth as u64;
                let step = match step {
                    Step::Get(key) => Step::Get(own(key)),
                    Step::Insert(key, value) => Step::Insert(own(key), value),
                    Step::Update(key, value) => Step::Update(own(key), value),
                    Step::Delete(key) => Step::Delete(own(key)),
                };
                take(transactions[nth].as_ref().unwrap(), items, &mut after[nth], step);
            }
            // A transaction that is unfinished when the database crashes comes last.
            let mut order = [0, 1];
            order.sort_by_key(|nth: &usize| ends[*nth] == End::Crash);
            for nth in order {
                let transaction = transactions[nth].take().unwrap();
                match ends[nth] {
                    End::Commit => {
                        transaction.commit().unwrap();
                        let is_own = |key: &u64| *key as usize % 2 == nth;
                        model.retain(|key, _| !is_own(key));
                        let own = after[nth].iter().filter(|(key, _)| is_own(key));
                        model.extend(own.map(|(key, value)| (*key, *value)));
                    }
                    End::Abort => transaction.abort().unwrap(),
                    End::Crash => std::mem::forget(transaction),
                }
            }
            drop(transactions);
            if ends.contains(&End::Crash) {
                std::mem::forget(database);
                disk = disk.restart(Faults::default());
                (database, items) = open(way, &disk);
            }
            prop_assert_eq!(read(&database, items), model.clone());
        }
        database.close().unwrap();
        prop_assert_eq!(read_serially(&disk), model.clone());
        let (database, items) = open(way, &disk);
        prop_assert_eq!(read(&database, items), model);
    }
}

/// Fills pages, frees places in them and fills them again, in large transactions that abort.
#[test]
fn a_table_that_aborts_fill_does_not_grow_for_ever() {
    for way in ways() {
        let disk = SimulatedDisk::new(1, Faults::default());
        let (database, items) = open(way, &disk);
        let mut pages = Vec::new();
        for round in 0..6 {
            let tx = database.begin();
            for key in 0..40 {
                tx.call(&items.insert(&item(key, round + 1))).unwrap();
            }
            for key in 0..40 {
                tx.call(&items.delete(key)).unwrap();
                tx.call(&items.insert(&item(key + 100, 1))).unwrap();
            }
            tx.abort().unwrap();
            assert_eq!(read(&database, items), Model::new(), "{way:?}");
            let tx = database.begin();
            tx.call(&items.insert(&item(round, 7))).unwrap();
            tx.call(&items.delete(round)).unwrap();
            tx.commit().unwrap();
            database.flush().unwrap();
            let space = as_tables(&disk);
            let catalogue = space.catalogue();
            pages.push(
                catalogue
                    .extents_of(items.number())
                    .map(|e| e.pages)
                    .sum::<u64>(),
            );
        }
        assert_eq!(pages[1], pages[5], "{way:?}: {pages:?}");
        database.close().unwrap();
    }
}

/// Places of deleted records are used again at once, by the same transaction and by the same operation. Records that
/// come back when that is undone are found.
#[test]
fn records_whose_places_were_used_again_come_back() {
    use sardonyx_multilevel::{Operation, Pages};

    /// Eight pages, and no free place in them.
    const RECORDS: u64 = 72;

    /// Moves all records to other keys, one by one, and fails then.
    struct MoveAll(Table<Item>);
    impl Operation for MoveAll {
        type Output = ();
        type Error = RecordError;
        fn execute(&self, pages: &mut dyn Pages) -> Result<(), RecordError> {
            for key in 0..RECORDS {
                self.0.delete(key).execute(pages)?;
                self.0.insert(&item(key + 100, 5)).execute(pages)?;
            }
            self.0.insert(&item(100, 6)).execute(pages)
        }
    }

    for way in ways() {
        let disk = SimulatedDisk::new(1, Faults::default());
        let (database, items) = open(way, &disk);
        let tx = database.begin();
        for key in 0..RECORDS {
            tx.call(&items.insert(&item(key, key + 1))).unwrap();
        }
        tx.commit().unwrap();
        let check = |place: &str| {
            for key in 0..2 * RECORDS {
                let found = database.run(|tx| tx.call(&items.get(key))).unwrap();
                let expected = (key < RECORDS).then(|| item(key, key + 1));
                assert_eq!(found, expected, "{way:?}, {place}");
            }
        };
        let tx = database.begin();
        let failed = tx.call(&MoveAll(items));
        let duplicate: Result<(), _> =
            Err(CallError::Failed(RecordError::Duplicate { table: "items" }));
        assert_eq!(format!("{failed:?}"), format!("{duplicate:?}"), "{way:?}");
        tx.commit().unwrap();
        check("after an operation that failed");
        let tx = database.begin();
        for key in 0..RECORDS {
            let deleted = tx.call(&items.delete(key)).unwrap();
            assert_eq!(deleted, Some(item(key, key + 1)), "{way:?}");
            tx.call(&items.insert(&item(key + 100, key))).unwrap();
        }
        tx.abort().unwrap();
        check("after a transaction that was aborted");
        if way.0 != Strategy::SingleLevel {
            let (deletes, inserts) = (database.begin(), database.begin());
            for key in 0..RECORDS {
                deletes.call(&items.delete(key)).unwrap();
                inserts.call(&items.insert(&item(key + 500, 1))).unwrap();
            }
            inserts.commit().unwrap();
            deletes.abort().unwrap();
            check("after another transaction took the places");
        }
        database.close().unwrap();
        assert_eq!(read_serially(&disk).get(&1), Some(&2), "{way:?}");
    }
}

#[test]
fn what_the_serial_way_wrote_is_there_and_the_other_way_round() {
    use sardonyx_storage::engine::Engine;
    let disk = SimulatedDisk::new(1, Faults::default());
    // Written by the serial way: through its table space and the log.
    let mut opened = Engine::open(Arc::new(disk.clone()), common::small()).unwrap();
    let (mut space, _) = TableSpace::open(opened.store, 1).unwrap();
    let pen = opened.engine.pen(());
    let mut held = pen.take().unwrap();
    let mut appending = held.appending();
    let mut tx = space.begin(appending.builder());
    let items = tx.declare_table::<Item>().unwrap();
    for key in 0..20 {
        tx.insert(items, &item(key, key + 1)).unwrap();
    }
    assert!(tx.delete(items, 3).unwrap());
    assert!(tx.commit());
    let group = appending.transaction_ended();
    held.force(group).unwrap();
    assert!(opened.engine.commit().is_durable(group));
    opened.engine.stop();
    drop((opened.engine, space));

    let way = (Strategy::OrderedLog, PageLog::ByteRanges);
    let mut model: Model = (0..20).map(|key| (key, key + 1)).collect();
    model.remove(&3);
    let (database, items) = open(way, &disk);
    assert_eq!(read(&database, items), model);
    let tx = database.begin();
    for step in [
        Step::Insert(3, 8),
        Step::Update(4, 1),
        Step::Delete(5),
        Step::Insert(22, 2),
        Step::Insert(1, 1),
    ] {
        take(&tx, items, &mut model, step);
    }
    tx.commit().unwrap();
    database.close().unwrap();
    assert_eq!(read_serially(&disk), model);
}

#[test]
fn what_does_not_fit_is_refused() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let way = (Strategy::OrderedLog, PageLog::ByteRanges);
    let (database, items) = open(way, &disk);
    let others = database.table::<Other>().unwrap();
    assert_ne!(items.number(), others.number());
    assert!(database.area("items", 1).is_err(), "a table has the name");
    let tx = database.begin();
    tx.call(&items.insert(&item(1, 1))).unwrap();
    let changed = tx.call(&items.update(1, |found| found.key = 2));
    assert!(matches!(
        changed,
        Err(CallError::Failed(RecordError::KeyChanged {
            table: "items"
        }))
    ));
    tx.commit().unwrap();
    // A handle of another database.
    let elsewhere = SimulatedDisk::new(2, Faults::default());
    let second = options(way).open_on(Arc::new(elsewhere)).unwrap();
    let refused = second.begin().call(&items.get(1));
    assert!(matches!(
        refused,
        Err(CallError::Failed(RecordError::NoTable { .. }))
    ));
}

/// A shop: customers in a table, the stock in a counter; a sale changes one or the other.
#[test]
fn a_crash_at_any_step_leaves_customers_and_stock_that_belong_together() {
    use sardonyx_base::random::{Random, stride};
    use sardonyx_multilevel::counter::{Add, Counter, Get, Set};

    const STOCK: i64 = 10_000;
    let open_shop = |way, disk: &SimulatedDisk| -> Option<(Database, Table<Item>, Counter)> {
        let database = options(way).open_on(Arc::new(disk.clone())).ok()?;
        let items = database.table::<Item>().ok()?;
        let stock = Counter::new(database.area("stock", 1).ok()?, 0);
        Some((database, items, stock))
    };
    let (each, mut crashes) = (stride(7), 0);
    for (seed, way) in ways().into_iter().enumerate() {
        let empty = SimulatedDisk::new(seed as u64, Faults::default());
        let (database, items, stock) = open_shop(way, &empty).unwrap();
        database
            .run(|tx| tx.call(&Set::within(stock, STOCK, 0, STOCK)))
            .unwrap();
        database
            .run(|tx| (0..12).try_for_each(|key| tx.call(&items.insert(&item(key, 0)))))
            .unwrap();
        database.close().unwrap();
        for crash_at in (1 + seed as u64 % each as u64..30).step_by(each) {
            let disk = empty.restart(Faults {
                crash_at_step: Some(crash_at),
                ..Faults::default()
            });
            if let Some((database, items, stock)) = open_shop(way, &disk) {
                let mut random = Random::new(crash_at);
                // One that never ends; with a single level it would keep the others out.
                let unfinished = database.begin();
                if way.0 != Strategy::SingleLevel {
                    let _ = unfinished.call(&Add::to(stock, -5));
                    let _ = unfinished.call(&items.delete(0));
                    let _ = unfinished.call(&items.insert(&item(200, 5)));
                }
                while !disk.has_crashed() {
                    let tx = database.begin();
                    for _ in 0..3 {
                        let (key, amount) = (1 + random.below(40), 1 + random.below(3));
                        if tx
                            .call(&items.get(key).to_change())
                            .is_ok_and(|i| i.is_none())
                        {
                            let _ = tx.call(&items.insert(&item(key, 0)));
                        }
                        let more = |found: &mut Item| *found = item(key, found.value + amount);
                        let sold = match random.below(3) {
                            0 => tx.call(&items.delete(key)),
                            _ => tx.call(&items.update(key, more)).map(|_| None),
                        };
                        let change = match sold {
                            Ok(Some(deleted)) => deleted.value as i64,
                            Ok(None) => -(amount as i64),
                            Err(_) => 0,
                        };
                        let _ = tx.call(&Add::to(stock, change));
                    }
                    let _ = match random.below(3) {
                        0 => tx.abort().map_err(Into::into),
                        _ => tx.commit(),
                    };
                }
                std::mem::forget(unfinished);
                std::mem::forget(database);
            }
            crashes += u64::from(disk.has_crashed());
            let disk = disk.restart(Faults::default());
            let (database, items, stock) = open_shop(way, &disk).expect("opens after a crash");
            let there = |key| database.run(|tx| tx.call(&items.get(key))).unwrap();
            let found: Vec<Item> = (0..201).filter_map(there).collect();
            let sold: u64 = found.iter().map(|found| found.value).sum();
            let left = database.run(|tx| tx.call(&Get(stock))).unwrap();
            assert_eq!(left + sold as i64, STOCK, "{way:?}, crash at {crash_at}");
            assert!(
                found.iter().any(|found| found.key == 0),
                "{way:?}, {crash_at}"
            );
            database.close().unwrap();
            let found: Model = found.iter().map(|found| (found.key, found.value)).collect();
            assert_eq!(read_serially(&disk), found, "{way:?}, crash at {crash_at}");
        }
    }
    assert!(crashes * each as u64 > 210, "{crashes}");
}
