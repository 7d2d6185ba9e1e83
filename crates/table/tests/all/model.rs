//! Random transactions over several tables, against plain maps. Compared are reads inside and after them, the state
//! after undo, and the tables opened again from the pages alone. After every transaction DB', made by the redo records
//! alone, is compared with the pages byte by byte (I3).

use crate::support;
use crate::support::{Account, Large, Model, Order, Sample, Small, Tables, World, in_detail};
use proptest::prelude::*;
use sardonyx_base::error::Error;
use sardonyx_rows::{Table, TableError};
use sardonyx_table::{Transaction, Walk};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// One operation on one table.
#[derive(Clone, Debug)]
enum What {
    Insert { key: u32, value: u32 },
    Fill { first: u32, count: u32 },
    Get { key: u32 },
    Set { key: u32, value: u32 },
    Update { key: u32, value: u32 },
    ChangeKey { key: u32 },
    PanicInUpdate { key: u32 },
    Delete { key: u32 },
    DeleteRange { first: u32, count: u32 },
    Scan,
    Put { key: u32, value: u32 },
    Remove { key: u32 },
    TryUpdate { key: u32, value: u32, fails: bool },
    TakeOut { key: u32, value: u32, then: Then },
    Walk { one_in: u32 },
    Retain { one_in: u32 },
}

/// The action on a record that was taken out to be changed.
#[derive(Clone, Copy, Debug)]
enum Then {
    Save,
    Forget,
    ChangeKey,
}

/// The end of a transaction.
#[derive(Clone, Copy, Debug)]
enum End {
    Commit,
    Abort,
    Drop,
    Panic,
}

#[derive(Clone, Debug)]
enum Happening {
    Transaction { steps: Vec<(u8, What)>, end: End },
    Reopen { workers: usize },
}

fn what() -> impl Strategy<Value = What> {
    let key = 0u32..60;
    let then = prop_oneof![Just(Then::Save), Just(Then::Forget), Just(Then::ChangeKey)];
    prop_oneof![
        6 => (key.clone(), any::<u32>()).prop_map(|(key, value)| What::Insert { key, value }),
        1 => (0u32..400, 1u32..120).prop_map(|(first, count)| What::Fill { first, count }),
        2 => key.clone().prop_map(|key| What::Get { key }),
        3 => (key.clone(), any::<u32>()).prop_map(|(key, value)| What::Set { key, value }),
        3 => (key.clone(), any::<u32>()).prop_map(|(key, value)| What::Update { key, value }),
        1 => key.clone().prop_map(|key| What::ChangeKey { key }),
        1 => key.clone().prop_map(|key| What::PanicInUpdate { key }),
        3 => key.clone().prop_map(|key| What::Delete { key }),
        1 => (0u32..400, 1u32..200).prop_map(|(first, count)| What::DeleteRange { first, count }),
        1 => Just(What::Scan),
        3 => (key.clone(), any::<u32>()).prop_map(|(key, value)| What::Put { key, value }),
        2 => key.clone().prop_map(|key| What::Remove { key }),
        2 => (key.clone(), any::<u32>(), any::<bool>())
            .prop_map(|(key, value, fails)| What::TryUpdate { key, value, fails }),
        2 => (key, any::<u32>(), then).prop_map(|(key, value, then)| What::TakeOut { key, value, then }),
        1 => (1u32..6).prop_map(|one_in| What::Walk { one_in }),
        1 => (1u32..6).prop_map(|one_in| What::Retain { one_in }),
    ]
}

fn event() -> impl Strategy<Value = Happening> {
    let end = prop_oneof![
        3 => Just(End::Commit),
        1 => Just(End::Abort),
        1 => Just(End::Drop),
        1 => Just(End::Panic),
    ];
    prop_oneof![
        6 => (prop::collection::vec((0u8..4, what()), 0..12), end)
            .prop_map(|(steps, end)| Happening::Transaction { steps, end }),
        1 => (1usize..4).prop_map(|workers| Happening::Reopen { workers }),
    ]
}

/// Does one operation in the transaction and in the model, and compares their results.
fn step<R: Sample>(
    tx: &mut Transaction<'_>,
    table: Table<R>,
    model: &mut BTreeMap<u32, R>,
    what: &What,
) {
    match *what {
        What::Insert { key, value } => insert(tx, table, model, key, value),
        What::Fill { first, count } => {
            (first..first + count).for_each(|key| insert(tx, table, model, key, key));
        }
        What::Get { key } => {
            assert_eq!(
                tx.get(table, R::sample_key(key)).expect("read"),
                model.get(&key)
            );
            let row = tx.find(table, R::sample_key(key));
            let record = row.map(|row| tx.record(row).expect("just found"));
            assert_eq!(record, model.get(&key));
        }
        What::Set { key, value } => {
            let row = tx.find(table, R::sample_key(key));
            assert_eq!(row.is_some(), model.contains_key(&key));
            if let Some(row) = row {
                tx.set(row, R::value_field(), value).expect("set");
                *model.get_mut(&key).expect("there").value_mut() = value;
            }
        }
        What::Update { key, value } => {
            let key_bytes = R::sample_key(key);
            let found = tx.update(table, key_bytes, |record| record.scribble(value));
            assert_eq!(found.expect("update").is_some(), model.contains_key(&key));
            model.entry(key).and_modify(|record| record.scribble(value));
        }
        What::ChangeKey { key } => {
            let result = tx.update(table, R::sample_key(key), |record| {
                *record = R::sample(key + 1, 77);
            });
            match in_detail(result) {
                Ok(found) => assert!(found.is_none() && !model.contains_key(&key)),
                Err(TableError::KeyChanged { .. }) => assert!(model.contains_key(&key)),
                Err(other) => panic!("{other:?}"),
            }
        }
        What::PanicInUpdate { key } => {
            let result = catch_unwind(AssertUnwindSafe(|| {
                tx.update(table, R::sample_key(key), |record| {
                    record.scribble(0x5555);
                    resume_unwind(Box::new("in the closure"));
                })
            }));
            assert_eq!(result.is_err(), model.contains_key(&key));
        }
        What::Delete { key } => delete(tx, table, model, key),
        What::DeleteRange { first, count } => {
            (first..first + count).for_each(|key| delete(tx, table, model, key));
        }
        What::Scan => {
            let mut keys: Vec<_> = tx
                .scan(table)
                .expect("read")
                .map(|record| record.expect("a record"))
                .map(Sample::number)
                .collect();
            keys.sort_unstable();
            assert!(keys.iter().eq(model.keys()));
            assert_eq!(tx.count(table).expect("read"), keys.len() as u64);
        }
        What::Put { key, value } => {
            let record = R::sample(key, value);
            assert_eq!(
                tx.put(table, &record).expect("put"),
                model.insert(key, record).is_some()
            );
        }
        What::Remove { key } => {
            let removed = tx.remove(table, R::sample_key(key)).expect("remove");
            assert_eq!(removed, model.remove(&key));
        }
        What::TryUpdate { key, value, fails } => {
            let result = tx.try_update(table, R::sample_key(key), |record| {
                record.scribble(value);
                if fails {
                    Err(Error::other("no"))
                } else {
                    Ok(value)
                }
            });
            match (result, model.get_mut(&key)) {
                (Ok(returned), record) => {
                    assert_eq!(returned, record.is_some().then_some(value));
                    record.into_iter().for_each(|record| record.scribble(value));
                }
                (Err(_), record) => assert!(fails && record.is_some()),
            }
        }
        What::TakeOut { key, value, then } => take_out(tx, table, model, (key, value), then),
        What::Walk { one_in } => walk(tx, table, model, one_in),
        What::Retain { one_in } => {
            let deleted = tx.retain(table, |record| record.number() % one_in != 0);
            let before = model.len();
            model.retain(|number, _| number % one_in != 0);
            assert_eq!(deleted.expect("retain"), (before - model.len()) as u64);
        }
    }
}

/// Takes a record out, changes it, and saves it, or forgets it, or gives it another key.
fn take_out<R: Sample>(
    tx: &mut Transaction<'_>,
    table: Table<R>,
    model: &mut BTreeMap<u32, R>,
    (key, value): (u32, u32),
    then: Then,
) {
    let taken = tx.get_mut(table, R::sample_key(key)).expect("get_mut");
    assert_eq!(taken.as_deref(), model.get(&key));
    let Some(mut taken) = taken else { return };
    taken.scribble(value);
    match then {
        Then::Forget => (),
        Then::Save => {
            taken.save().expect("save");
            model.entry(key).and_modify(|record| record.scribble(value));
        }
        Then::ChangeKey => {
            *taken = R::sample(key + 1, value);
            assert!(matches!(
                in_detail(taken.save()),
                Err(TableError::KeyChanged { .. })
            ));
        }
    }
}

/// Walks over a table and deletes, changes or leaves each record. Each is met once.
fn walk<R: Sample>(
    tx: &mut Transaction<'_>,
    table: Table<R>,
    model: &mut BTreeMap<u32, R>,
    one_in: u32,
) {
    let mut met = BTreeSet::new();
    let mut walk = Walk::over(table);
    while let Some(row) = tx.next(&mut walk) {
        let number = tx.record(row).expect("just met").number();
        assert_eq!(tx.record(row).ok(), model.get(&number));
        assert!(met.insert(number), "{number} twice");
        match number % one_in {
            0 => {
                tx.delete_row(row).expect("delete");
                model.remove(&number);
                assert!(matches!(
                    in_detail(tx.delete_row(row)),
                    Err(TableError::StaleRow { .. })
                ));
            }
            1 => {
                let mut record = tx.record_mut(row).expect("just met");
                record.scribble(one_in);
                record.save().expect("save");
                model
                    .entry(number)
                    .and_modify(|record| record.scribble(one_in));
            }
            _ => (),
        }
    }
    assert!(model.keys().all(|number| met.contains(number)));
}

fn insert<R: Sample>(
    tx: &mut Transaction<'_>,
    table: Table<R>,
    model: &mut BTreeMap<u32, R>,
    key: u32,
    value: u32,
) {
    let record = R::sample(key, value);
    match in_detail(tx.insert_and_find(table, &record)) {
        Ok(row) => {
            assert_eq!(tx.record(row).expect("just inserted"), &record);
            assert!(model.insert(key, record).is_none(), "a second {key}");
        }
        Err(TableError::DuplicateKey { .. }) => assert!(model.contains_key(&key)),
        Err(other) => panic!("{other:?}"),
    }
}

fn delete<R: Sample>(
    tx: &mut Transaction<'_>,
    table: Table<R>,
    model: &mut BTreeMap<u32, R>,
    key: u32,
) {
    let row = tx.find(table, R::sample_key(key));
    let deleted = tx.delete(table, R::sample_key(key)).expect("delete");
    assert_eq!(deleted, model.remove(&key).is_some());
    if let Some(row) = row {
        assert!(matches!(
            in_detail(tx.record(row)),
            Err(TableError::StaleRow { .. })
        ));
    }
}

fn run_steps(tx: &mut Transaction<'_>, tables: &Tables, model: &mut Model, steps: &[(u8, What)]) {
    for (table, what) in steps {
        match table {
            0 => step::<Small>(tx, tables.small, &mut model.small, what),
            1 => step::<Account>(tx, tables.accounts, &mut model.accounts, what),
            2 => step::<Order>(tx, tables.orders, &mut model.orders, what),
            _ => step::<Large>(tx, tables.large, &mut model.large, what),
        }
    }
}

/// Runs one transaction; undone ones must leave nothing, neither in the pages nor in the log.
fn transaction(
    world: &mut World,
    tables: &Tables,
    model: &mut Model,
    steps: &[(u8, What)],
    end: End,
) {
    let mut inside = model.clone();
    let World { space, log, .. } = &mut *world;
    match end {
        End::Commit => {
            let mut tx = space.begin(log);
            run_steps(&mut tx, tables, &mut inside, steps);
            tx.commit();
            *model = inside;
        }
        End::Abort | End::Drop => {
            let mut tx = space.begin(log);
            run_steps(&mut tx, tables, &mut inside, steps);
            if matches!(end, End::Abort) {
                tx.abort();
            }
        }
        End::Panic => {
            let unwound = catch_unwind(AssertUnwindSafe(|| {
                let mut tx = space.begin(log);
                run_steps(&mut tx, tables, &mut inside, steps);
                resume_unwind(Box::new("user code"));
            }));
            let payload = unwound.expect_err("it panics");
            // An assertion of this test is a panic as well.
            if payload.downcast_ref::<&str>() != Some(&"user code") {
                resume_unwind(payload);
            }
        }
    }
    if !matches!(end, End::Commit) {
        assert!(
            world.log.payload().is_empty(),
            "an undone transaction was logged"
        );
    }
    world.redo();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sardonyx_base::random::cases(12)))]

    #[test]
    fn tables_agree_with_maps_and_i3_redo_makes_the_same_pages(
        events in prop::collection::vec(event(), 1..40),
        kept in 1usize..6,
        pages_kept in 1u64..60,
    ) {
        let (mut world, tables) = World::new();
        world.space.set_snapshot_bytes_max(pages_kept * 4096);
        let mut model = Model::default();
        let mut snapshots = Vec::new();
        for event in events {
            snapshots.push((world.space.snapshot().expect("snapshot"), model.clone()));
            if snapshots.len() > kept {
                // Some of the oldest, some of the newest.
                snapshots.remove(model.len() % kept);
            }
            match event {
                Happening::Transaction { steps, end } => {
                    transaction(&mut world, &tables, &mut model, &steps, end);
                }
                Happening::Reopen { workers } => {
                    let report = world.reopen(workers);
                    prop_assert_eq!((report.tables, report.records), (4, model.len() as u64));
                }
            }
            model.check(&world.space.view(), &tables);
            snapshots.iter().for_each(|(snapshot, model)| model.check_frozen(snapshot, &tables));
        }
        // From the redo records alone, on another machine as it were.
        let pages = support::store_of(&world.redone);
        let (space, _) = sardonyx_table::TableSpace::open(pages, 2).expect("open");
        model.check(&space.view(), &tables);
        prop_assert_eq!(space.definitions(), world.space.definitions());
    }
}

/// Shards of the index split, extents are added and freed places used up, all within transactions
/// that are undone.
#[test]
fn large_transactions_are_undone_over_splits_and_new_extents() {
    const KEYS: u32 = 60_000;
    let (mut world, tables) = World::new();
    let mut model = Model::default();
    let insert = |tx: &mut Transaction<'_>, keys: std::ops::Range<u32>| {
        for key in keys {
            let row = tx.insert(tables.small, &Small::sample(key, key));
            row.expect("insert");
        }
    };
    let mut tx = world.space.begin(&mut world.log);
    insert(&mut tx, 0..KEYS);
    assert_eq!(tx.count(tables.small).expect("read"), u64::from(KEYS));
    tx.abort();
    world.redo();
    model.check(&world.space.view(), &tables);

    world.commit(|tx| insert(tx, 0..KEYS));
    model.small = (0..KEYS)
        .map(|key| (key, Small::sample(key, key)))
        .collect();
    let bytes = world.space.bytes();
    let mut tx = world.space.begin(&mut world.log);
    for key in (0..KEYS).filter(|key| key % 5 != 0) {
        assert!(tx.delete(tables.small, key).expect("delete"));
    }
    insert(&mut tx, KEYS..2 * KEYS);
    for key in (0..KEYS).step_by(5) {
        let updated = tx.update(tables.small, key, |record| record.value = 0);
        assert_eq!(updated.expect("update"), Some(()));
    }
    tx.abort();
    assert!(world.log.payload().is_empty());
    world.redo();
    model.check(&world.space.view(), &tables);
    world.commit(|tx| {
        for key in 0..1000 {
            assert!(tx.delete(tables.small, key).expect("delete"));
        }
        insert(tx, 0..1000);
    });
    model.check(&world.space.view(), &tables);
    assert_eq!(world.reopen(2).records, u64::from(KEYS));
    model.check(&world.space.view(), &tables);
    assert!(world.space.bytes() < 3 * bytes);
}
