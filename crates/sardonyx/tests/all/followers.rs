//! Followers: their view of a database that another program writes to, while it writes, ends, is killed, frees its
//! log, compacts itself or is replaced.

mod beside;
mod steps;

use crate::common::{Item, SEGMENT_BYTES, options};
use crate::fork::{Door, Fork};
use sardonyx::disk::{Disk, Faults, RealDisk, SimulatedDisk};
use sardonyx::hosts::{MemoryStore, RemoteLog};
use sardonyx::schema::{Schema, Type, Value, ValueRef};
use sardonyx::{Error, Follower, Options, Shape, Snapshot, Tables};
use sardonyx_mapped::{Heap, Segment};
use sardonyx_storage::engine::{StorageOptions, follow_store, take_lock};
use sardonyx_storage::log::segment::LOG_DIRECTORY;
use sardonyx_storage::manifest::Manifest;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// More than any test needs.
const PATIENCE: Duration = Duration::from_secs(300);

fn new() -> SimulatedDisk {
    SimulatedDisk::new(1, Faults::default())
}

fn open(disk: &SimulatedDisk) -> Tables {
    let options = options(Shape::Threadless);
    options
        .open_tables_on(Arc::new(disk.clone()))
        .expect("opens")
}

fn follow(disk: &SimulatedDisk) -> Result<Follower, Error> {
    Options::new()
        .memory_bytes_max(64 << 20)
        .follow_by_hand(Arc::new(disk.clone()))
}

fn put(tables: &Tables, id: u64, value: u64) {
    let items = tables.table::<Item>().expect("declared");
    let item = Item::new(id, value);
    tables.run(|tx| tx.put(items, &item)).expect("durable");
}

fn items_in(snapshot: &Snapshot) -> BTreeMap<u64, u64> {
    let Some(items) = snapshot.table::<Item>().expect("as it was declared") else {
        return BTreeMap::new();
    };
    let rows = snapshot.scan(items).expect("readable");
    let rows = rows.map(|item| item.expect("a row"));
    rows.map(|item| (item.id, item.value)).collect()
}

fn items(follower: &Follower) -> BTreeMap<u64, u64> {
    items_in(&follower.snapshot().expect("a snapshot"))
}

#[test]
fn a_follower_with_a_thread_has_what_was_acknowledged_when_it_is_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bank.sdx");
    let error = Tables::follow(&path).unwrap_err();
    assert!(matches!(error, Error::NotFound(_)), "{error:?}");
    let tables = Tables::open(&path).unwrap();
    put(&tables, 1, 10);
    let followers: Vec<_> = (0..3).map(|_| Tables::follow(&path).unwrap()).collect();
    for value in 0..200 {
        put(&tables, value % 7, value);
        let position = tables.position().unwrap();
        for follower in &followers {
            follower.wait_for(position, PATIENCE).unwrap();
            assert_eq!(items(follower)[&(value % 7)], value);
            assert_eq!(follower.position().unwrap(), position);
        }
    }
    let then = followers[0].snapshot().unwrap();
    let before = items_in(&then);
    put(&tables, 0, 1000);
    let end = tables.position().unwrap();
    tables.close().unwrap();
    // A closed database can be followed, too, and opened again meanwhile.
    let late = Tables::follow(&path).unwrap();
    assert_eq!(items(&late)[&0], 1000);
    let tables = Tables::open(&path).unwrap();
    put(&tables, 0, 1001);
    for follower in followers.iter().chain([&late]) {
        follower
            .wait_for(tables.position().unwrap(), PATIENCE)
            .unwrap();
        assert_eq!(items(follower)[&0], 1001);
        assert_eq!(follower.times_begun_anew().unwrap(), 0);
        follower.snapshot_within(PATIENCE).unwrap();
    }
    assert_eq!(items_in(&then), before);
    let beyond = sardonyx::journals::JournalPosition {
        group: end.group + 1000,
        row: 0,
    };
    let error = late.wait_for(beyond, Duration::ZERO).unwrap_err();
    assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
    late.close();
    let closed = late.snapshot().unwrap_err();
    assert!(matches!(closed, Error::Closed(_)), "{closed:?}");
    assert_eq!(items_in(&then), before, "a snapshot stays");
}

#[test]
fn a_read_with_a_bound_is_refused_by_name_when_the_follower_is_further_behind() {
    let disk = new();
    let tables = open(&disk);
    put(&tables, 1, 1);
    let follower = follow(&disk).unwrap();
    follower.step().unwrap();
    let error = follower.snapshot_within(Duration::ZERO).unwrap_err();
    assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
    assert!(error.to_string().contains("behind"), "{error}");
    assert!(follower.lag().unwrap() < PATIENCE);
    assert_eq!(
        items_in(&follower.snapshot_within(PATIENCE).unwrap()).len(),
        1
    );
}

#[test]
fn schemas_texts_and_indexes_are_followed() {
    let disk = new();
    // Enough log that nothing of it is freed.
    let large = options(Shape::Threadless).log_bytes_max(256 * SEGMENT_BYTES);
    let tables = large.open_tables_on(Arc::new(disk.clone())).unwrap();
    let follower = follow(&disk).unwrap();
    let long = |n: u64| format!("a name that is too long to stand in its row: {n:03}");
    let schema = Schema::new()
        .column("id", Type::U64)
        .column("name", Type::Text)
        .column("sort", Type::I64)
        .primary_key(["id"])
        .index("by_name", ["name"])
        .ordered()
        .unique();
    tables.create_table("people", schema).unwrap();
    let insert = |id: u64| {
        let row = [
            ("id", Value::from(id)),
            ("name", Value::from(long(id))),
            ("sort", Value::from(-(id as i64))),
        ];
        tables.run(|tx| tx.rows("people")?.insert(&row)).unwrap();
    };
    (0..300).for_each(insert);
    let names = |of: &Snapshot| -> Vec<String> {
        let rows = of.rows("people").unwrap();
        let index = rows.index("by_name").unwrap();
        let name = |row: &sardonyx::rows::RowRef<'_, _>| match row.get("name").unwrap() {
            ValueRef::Text(name) => name.to_string(),
            other => panic!("{other:?}"),
        };
        let rows = index.range::<&Vec<Value>>(..).unwrap();
        rows.map(|row| name(&row.unwrap())).collect()
    };
    let check = || {
        follower.step().unwrap();
        let (followed, own) = (follower.snapshot().unwrap(), tables.snapshot().unwrap());
        let own = names(&own);
        assert_eq!(names(&followed), own);
        for (place, name) in own.iter().enumerate().step_by(37) {
            let rows = followed.rows("people").unwrap();
            let index = rows.index("by_name").unwrap();
            let found = index.get_by((name.as_str(),)).unwrap();
            assert!(found.is_some(), "{place}");
        }
        own.len()
    };
    assert_eq!(check(), 300);
    // A long text that changes in its cell, behind the bytes that its reference has.
    for id in 0..40 {
        let name = Value::from(long(999 - id));
        let change = [("name", name)];
        let changed = tables.run(|tx| tx.rows("people")?.update(&[Value::from(id)], &change));
        changed.unwrap();
    }
    assert_eq!(check(), 300);
    tables
        .run(|tx| tx.rows("people")?.delete(&[Value::from(3_u64)]))
        .unwrap();
    assert_eq!(check(), 299);
    tables.rename_table("people", "others").unwrap();
    tables.rename_table("others", "people").unwrap();
    assert_eq!(check(), 299);
    tables.truncate("people").unwrap();
    assert_eq!(check(), 0);
    (0..50).for_each(insert);
    assert_eq!(check(), 50);
    tables.drop_table("people").unwrap();
    follower.step().unwrap();
    assert!(follower.snapshot().unwrap().rows("people").is_err());
    assert_eq!(follower.times_begun_anew().unwrap(), 0);
}

#[test]
fn i13_a_follower_under_which_the_log_is_freed_begins_anew_at_once_for_its_readers() {
    let disk = new();
    let options = options(Shape::Threadless).log_bytes_max(4 * SEGMENT_BYTES);
    let tables = options.open_tables_on(Arc::new(disk.clone())).unwrap();
    put(&tables, 0, 0);
    let follower = follow(&disk).unwrap();
    let mut anew = 0;
    for round in 1..6 {
        let then = follower.snapshot().unwrap();
        let before = items_in(&then);
        let first = disk.list(LOG_DIRECTORY).unwrap()[0].clone();
        let mut n = 0;
        while disk.list(LOG_DIRECTORY).unwrap().contains(&first) {
            n += 1;
            put(&tables, n % 50, round * 1_000_000 + n);
        }
        (0..round).for_each(|n| put(&tables, 100 + n, n));
        assert_eq!(items(&follower), before, "it has not looked");
        while follower.step().unwrap() {}
        let own = items_in(&tables.snapshot().unwrap());
        assert_eq!(items(&follower), own);
        assert_eq!(follower.position().unwrap(), tables.position().unwrap());
        assert_eq!(items_in(&then), before, "a snapshot from before stays");
        anew = follower.times_begun_anew().unwrap();
    }
    assert!(anew > 0, "the log was freed");
}

#[test]
fn a_group_that_is_damaged_behind_a_follower_is_an_error_with_file_and_offset() {
    let disk = new();
    let tables = open(&disk);
    put(&tables, 1, 1);
    let follower = follow(&disk).unwrap();
    let position = tables.engine().commit().durable();
    put(&tables, 1, 2);
    put(&tables, 1, 3);
    let layout = tables.engine().manifest().log_layout();
    let file = format!("{LOG_DIRECTORY}/{}", disk.list(LOG_DIRECTORY).unwrap()[0]);
    assert_eq!(layout.segment_of(position.lsn), 0);
    let offset = layout.offset_in_segment(position.lsn);
    disk.corrupt(&file, offset + 70, |byte| byte ^ 4).unwrap();
    let error = follower.step().unwrap_err();
    assert!(matches!(error, Error::Damaged(_)), "{error:?}");
    let text = error.to_string();
    assert!(
        text.contains(&file) && text.contains(&offset.to_string()),
        "{text}"
    );
    // The error is returned from then on, and nothing else.
    assert!(matches!(follower.snapshot(), Err(Error::Damaged(_))));
    assert!(matches!(follower.position(), Err(Error::Damaged(_))));
    // A follower that begins now finds the same.
    let error = follow(&disk).unwrap_err();
    assert!(matches!(error, Error::Damaged(_)), "{error:?}");
}

#[test]
fn a_published_end_that_is_damaged_shows_less_and_nothing_wrong() {
    let disk = new();
    let tables = open(&disk);
    put(&tables, 1, 1);
    let follower = follow(&disk).unwrap();
    put(&tables, 1, 2);
    disk.corrupt("DURABLE", 20, |byte| byte ^ 1).unwrap();
    assert!(!follower.step().unwrap());
    assert_eq!(items(&follower), [(1, 1)].into());
    // Without it so much is shown as the manifest and the backup prove.
    assert_eq!(items(&follow(&disk).unwrap()), BTreeMap::new());
    tables.checkpoint().unwrap();
    assert_eq!(items(&follow(&disk).unwrap()), [(1, 2)].into());
    put(&tables, 1, 3);
    follower.step().unwrap();
    assert_eq!(items(&follower), [(1, 3)].into(), "it was written anew");
}

#[test]
fn a_database_that_is_compacted_is_read_anew_and_one_that_is_replaced_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bank.sdx");
    let on = |path: &Path| Arc::new(RealDisk::open_for_reading(path).unwrap());
    let tables = Tables::open(&path).unwrap();
    put(&tables, 0, 0);
    let table = tables.table::<Item>().unwrap();
    let many = tables.run(|tx| (1..20_000).try_for_each(|n| tx.insert(table, &Item::new(n, n))));
    many.unwrap();
    let few = tables.run(|tx| (100..20_000).try_for_each(|n| tx.delete(table, n).map(drop)));
    few.unwrap();
    let follower = Options::new().follow_by_hand(on(&path)).unwrap();
    tables.close().unwrap();
    Options::new().compact(&path).unwrap();
    assert!(Manifest::read(&*on(&path)).unwrap().compacted.is_some());
    follower.step().unwrap();
    assert_eq!(items(&follower).len(), 100);
    let tables = Tables::open(&path).unwrap();
    put(&tables, 1, 1000);
    while follower.step().unwrap() {}
    assert_eq!(items(&follower)[&1], 1000);
    assert_eq!(follower.times_begun_anew().unwrap(), 1);
    let copy = directory.path().join("copy.sdx");
    tables.backup(&copy).unwrap();
    tables.close().unwrap();
    std::fs::rename(&path, directory.path().join("away.sdx")).unwrap();
    std::fs::rename(&copy, &path).unwrap();
    let tables = Tables::open(&path).unwrap();
    let error = follower.step().unwrap_err();
    assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
    assert!(error.to_string().contains("replaced"), "{error}");
    tables.close().unwrap();
}

#[test]
fn an_older_copy_of_the_same_database_is_an_error_and_shows_nothing_of_the_past() {
    let disk = new();
    let tables = open(&disk);
    put(&tables, 1, 1);
    let before = disk.read_all("DURABLE").unwrap();
    put(&tables, 1, 2);
    let [looked, arrived] = [(); 2].map(|()| follow(&disk).unwrap());
    looked.step().unwrap();
    for (offset, byte) in (0..).zip(before) {
        disk.corrupt("DURABLE", offset, |_| byte).unwrap();
    }
    for follower in [looked, arrived] {
        let error = follower.step().unwrap_err();
        assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
    }
}

#[test]
fn i9_a_writer_that_is_killed_at_any_moment_leaves_its_followers_what_it_acknowledged() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bank.sdx");
    Tables::open(&path).unwrap().close().unwrap();
    let follower = Options::new()
        .follow_by_hand(Arc::new(RealDisk::open_for_reading(&path).unwrap()))
        .unwrap();
    let mut shown = 0;
    for round in 1..=8_u64 {
        let (begun, acknowledged) = (Door::new(), path.with_extension(format!("{round}")));
        let child = Fork::Library.child(|| {
            let tables = Tables::open(&path).unwrap();
            for n in 1.. {
                put(&tables, n % 10, round * 1_000_000 + n);
                std::fs::write(&acknowledged, (round * 1_000_000 + n).to_string()).unwrap();
                if n == 3 {
                    begun.open();
                }
            }
            true
        });
        begun.wait();
        for _ in 0..round {
            follower.step().unwrap();
            let newest = items(&follower).into_values().max().unwrap_or(0);
            assert!(newest >= shown, "{newest} after {shown}");
            shown = newest;
        }
        child.kill();
        // A file may be cut by the kill: then the transaction before was acknowledged.
        let said = std::fs::read_to_string(&acknowledged).unwrap();
        let said: u64 = said.parse().unwrap_or(0);
        while follower.step().unwrap() {}
        let newest = items(&follower).into_values().max().unwrap_or(0);
        assert!(newest >= said.max(shown), "{newest} of {said}");
        shown = newest;
        // A follower that begins now has the same, and so has a program that opens the database.
        let other = Tables::follow(&path).unwrap();
        assert_eq!(items(&other), items(&follower));
        drop(other);
        let tables = Tables::open(&path).unwrap();
        let own = items_in(&tables.snapshot().unwrap());
        assert!(own.into_values().max().unwrap_or(0) >= shown);
        tables.close().unwrap();
    }
}

#[test]
fn a_follower_is_refused_in_a_forked_child_and_goes_on_in_its_parent() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bank.sdx");
    let tables = Tables::open(&path).unwrap();
    put(&tables, 1, 1);
    let follower = Tables::follow(&path).unwrap();
    let child = Fork::Library.child(|| {
        let refused = matches!(follower.snapshot(), Err(Error::Forked(_)));
        follower.close();
        refused
    });
    assert!(child.ends_content());
    put(&tables, 1, 2);
    follower
        .wait_for(tables.position().unwrap(), PATIENCE)
        .unwrap();
    assert_eq!(items(&follower), [(1, 2)].into());
}

#[test]
fn what_holds_no_tables_or_too_many_rows_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.sdx");
    let segment = Segment::open(&path).unwrap();
    let allocate = segment.run(|tx| {
        let heap = Heap::open_or_format(tx)?;
        heap.allocate(tx, &7u64).map(drop)
    });
    allocate.unwrap();
    drop(segment);
    let error = Tables::follow(&path).unwrap_err();
    assert!(matches!(error, Error::Refused(_)), "{error:?}");
    let path = directory.path().join("bank.sdx");
    let tables = Tables::open(&path).unwrap();
    let table = tables.table::<Item>().unwrap();
    let many = tables.run(|tx| (0..20_000).try_for_each(|n| tx.insert(table, &Item::new(n, n))));
    many.unwrap();
    let small = Options::new().memory_bytes_max(1 << 20);
    let error = small.follow_tables(&path).unwrap_err();
    assert!(matches!(error, Error::Full(_)), "{error:?}");
}

#[test]
fn on_a_host_that_follows_a_store_the_tables_are_read_as_far_as_its_directory_has_them() {
    let machine = tempfile::tempdir().unwrap();
    let store = RemoteLog::new(Arc::new(MemoryStore::new()));
    let there = Options::new()
        .store(store.clone())
        .memory_bytes_max(64 << 20);
    let tables = there.open_tables(machine.path().join("first")).unwrap();
    put(&tables, 1, 1);
    let second = machine.path().join("second");
    let home: Arc<dyn Disk> = Arc::new(RealDisk::open(&second).unwrap());
    let options = StorageOptions {
        memory_bytes_max: 64 << 20,
        remote: Some(store),
        ..StorageOptions::default()
    };
    let lock = take_lock(&home, Duration::ZERO).unwrap();
    let (mut replica, mut log) = follow_store(&home, &options, lock).unwrap();
    let disk = Arc::new(RealDisk::open_for_reading(&second).unwrap());
    let reader = Options::new().follow_by_hand(disk).unwrap();
    for value in 2..30 {
        put(&tables, value % 4, value);
        let before = items(&reader);
        reader.step().unwrap();
        assert_eq!(
            items(&reader),
            before,
            "the host has not taken it from the store"
        );
        while let Some(entry) = log.next_entry().unwrap() {
            replica.apply(&entry).unwrap();
        }
        reader.step().unwrap();
        assert_eq!(items(&reader), items_in(&tables.snapshot().unwrap()));
        assert_eq!(reader.position().unwrap(), tables.position().unwrap());
    }
    assert_eq!(reader.times_begun_anew().unwrap(), 0);
    replica.close();
    tables.close().unwrap();
}
