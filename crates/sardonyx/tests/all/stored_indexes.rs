//! Indexes that a clean close stores for the next opening. They are read for the very state that was closed. After a crash
//! at any step of the close or the opening, and with a stale, cut or damaged file, they are built, and all rows are
//! found.

use crate::common::{self, in_every_shape};
use sardonyx::schema::{Schema, Type};
use sardonyx::{Error, Options, Shape, Tables, Value};
use sardonyx_rows::{ReadIndex, ReadRow};
use sardonyx_storage::disk::{Disk, Faults, SimulatedDisk};
use sardonyx_storage::stored::INDEXES_FILE;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Groups and names by numbers.
type Model = BTreeMap<u64, (i64, String)>;

fn options(shape: Shape) -> Options {
    common::options(shape).stored_bytes_min(0)
}

fn open(disk: &SimulatedDisk, options: Options) -> Result<Tables, Error> {
    options.open_tables_on(Arc::new(disk.clone()))
}

/// Makes the table.
fn create(db: &Tables) -> Result<(), Error> {
    let people = Schema::new()
        .column("id", Type::U64)
        .column("group", Type::I64)
        .column("name", Type::Text)
        .primary_key(["id"])
        .index("by_group", ["group desc", "id"])
        .ordered()
        .index("by_name", ["name"])
        .ordered()
        .unique();
    db.create_table("people", people).map(drop)
}

/// Inserts, changes and deletes some rows, each in a transaction that is durable.
fn change(db: &Tables, model: &mut Model, round: u64) -> Result<(), Error> {
    for step in 0..12 {
        let id = (round * 5 + step * 7) % 40;
        let group = ((round + step) % 6) as i64;
        let name = format!("someone of round {round}, step {step}");
        let deletes = step % 4 == 3;
        db.run(|tx| {
            let mut rows = tx.rows("people")?;
            if deletes {
                return rows.delete(&[Value::from(id)]);
            }
            let name = Value::from(name.clone());
            rows.put(&[("id", id.into()), ("group", group.into()), ("name", name)])
        })?;
        match deletes {
            true => drop(model.remove(&id)),
            false => drop(model.insert(id, (group, name))),
        }
    }
    Ok(())
}

/// The content by each index, which all have the same rows.
fn contents(db: &Tables) -> Model {
    let snapshot = db.snapshot().expect("a snapshot");
    let rows = snapshot.rows("people").expect("the table");
    let row = |row: &dyn ReadRow| {
        let value = |column| row.value_at(column).expect("a value").to_value();
        match (value(0), value(1), value(2)) {
            (Value::Int(id), Value::Int(group), Value::Text(name)) => {
                (id as u64, (group as i64, name))
            }
            other => panic!("{other:?}"),
        }
    };
    let all: Model = rows.scan().map(|found| row(&found.expect("a row"))).collect();
    assert_eq!(rows.count(), all.len() as u64);
    for name in ["by_group", "by_name"] {
        let index = rows.index(name).expect("an index");
        let found = index.all().expect("readable");
        let found: Vec<_> = found.map(|found| row(&found.expect("a row"))).collect();
        assert_eq!(found.len(), all.len(), "{name}");
        assert_eq!(found.into_iter().collect::<Model>(), all, "{name}");
    }
    for id in 0..40 {
        let found = rows.get(&[Value::from(id)]).expect("readable");
        assert_eq!(found.is_some(), all.contains_key(&id), "{id}");
    }
    all
}

fn has_file(disk: &SimulatedDisk) -> bool {
    disk.read_all(INDEXES_FILE).is_some()
}

#[test]
fn a_database_that_is_closed_and_opened_again_and_again_reads_its_indexes() {
    in_every_shape(|shape| {
        let mut disk = SimulatedDisk::new(1, Faults::default());
        let mut model = Model::new();
        for round in 0..6 {
            let db = open(&disk, options(shape).stripes(2)).expect("opens");
            assert_eq!(db.rebuild().stored, round > 0, "{round}");
            assert!(!has_file(&disk), "the state moves on");
            match round {
                0 => create(&db).expect("created"),
                _ => assert_eq!(contents(&db), model),
            }
            change(&db, &mut model, round).expect("durable");
            assert_eq!(contents(&db), model);
            db.close().expect("closes");
            assert!(has_file(&disk));
            // Of an orderly end of the machine: all is written.
            disk = disk.next_process(Faults::default());
        }
        // None are wanted, or they are small, or made with another hash.
        let options = || options(shape).stripes(2);
        for (round, closes) in [
            options().closing_checkpoint(Duration::ZERO),
            options().stored_bytes_min(1 << 30),
            options(),
        ]
        .into_iter()
        .enumerate()
        {
            let db = open(&disk, closes).expect("opens");
            assert_eq!(db.rebuild().stored, round == 0, "{round}");
            db.close().expect("closes");
            assert_eq!(has_file(&disk), round == 2, "{round}");
        }
        let db = open(&disk, options().hash_seed(8)).expect("opens");
        assert!(!db.rebuild().stored);
        assert_eq!(contents(&db), model);
    });
}

#[test]
fn after_a_crash_or_a_kill_at_any_step_of_a_close_and_an_opening_all_rows_are_found() {
    let shape = Shape::Threadless;
    let mut outcomes = [0, 0];
    // The steps of the first part: up to the close.
    let run = |disk: &SimulatedDisk, model: &mut Model| {
        let db = open(disk, options(shape))?;
        create(&db)?;
        change(&db, model, 0)?;
        let before = disk.steps();
        db.close()?;
        let db = open(disk, options(shape))?;
        let is_stored = db.rebuild().stored;
        change(&db, model, 1)?;
        let changed = disk.steps();
        db.close()?;
        Ok::<_, Error>((before, changed, is_stored))
    };
    let whole = SimulatedDisk::new(1, Faults::default());
    let mut last = Model::new();
    let (first, ..) = run(&whole, &mut last).expect("no fault");
    for step in first + 1..=whole.steps() {
        for (kills, seed) in [(false, 1), (false, 2), (true, 1)] {
            let faults = match kills {
                true => Faults { kill_at_step: Some(step), ..Faults::default() },
                false => Faults { crash_at_step: Some(step), ..Faults::default() },
            };
            let disk = SimulatedDisk::new(seed, faults);
            let mut acknowledged = Model::new();
            let outcome = run(&disk, &mut acknowledged);
            let again = match kills {
                true => disk.next_process(Faults::default()),
                false => disk.restart(Faults::default()),
            };
            let db = open(&again, options(shape)).unwrap_or_else(|error| {
                panic!("step {step}, kills {kills}, {outcome:?}: {error}")
            });
            outcomes[usize::from(db.rebuild().stored)] += 1;
            let found = contents(&db);
            // At most the transaction under way is there besides.
            let differing = found.iter().filter(|(id, row)| acknowledged.get(id) != Some(row));
            let missing = acknowledged.keys().filter(|id| !found.contains_key(id));
            let differing = differing.count() + missing.count();
            assert!(differing <= 1, "step {step}, kills {kills}: {found:?}, {acknowledged:?}");
        }
    }
    let [built, stored] = outcomes;
    assert!(built > 10 && stored > 2, "{outcomes:?}");
}

#[test]
fn a_stale_a_cut_or_a_damaged_file_is_not_believed() {
    let shape = Shape::Coalesced;
    let disk = SimulatedDisk::new(1, Faults::default());
    let mut model = Model::new();
    let db = open(&disk, options(shape)).expect("opens");
    create(&db).expect("created");
    change(&db, &mut model, 0).expect("durable");
    db.close().expect("closes");
    let stale = disk.read_all(INDEXES_FILE).expect("stored");
    let db = open(&disk, options(shape)).expect("opens");
    change(&db, &mut model, 1).expect("durable");
    db.close().expect("closes");
    let stored = disk.read_all(INDEXES_FILE).expect("stored");
    let mut damaged = stored.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    let files = [
        (stale.clone(), false),
        (stored[..stored.len() - 1].to_vec(), false),
        (damaged, false),
        (Vec::new(), false),
        (stored, true),
    ];
    for (number, (file, is_sound)) in files.into_iter().enumerate() {
        // The same state each time: another process' disk, whose changes are not this one's.
        let copy = disk.next_process(Faults::default());
        copy.replace(INDEXES_FILE, &file).expect("replaced");
        let db = open(&copy, options(shape)).expect("opens");
        assert_eq!(db.rebuild().stored, is_sound, "file {number}");
        assert_eq!(contents(&db), model, "file {number}");
        assert!(!has_file(&copy), "file {number}");
    }
    // It cannot be read.
    let failing = (1..60).map(|nth| Faults { fail_read_at: Some(nth), ..Faults::default() });
    for faults in failing {
        if let Ok(db) = open(&disk.next_process(faults), options(shape)) {
            assert_eq!(contents(&db), model);
        }
    }
}

#[test]
fn a_database_that_went_on_without_a_close_or_in_another_way_builds_its_indexes() {
    let shape = Shape::Coalesced;
    let directory = tempfile::tempdir().expect("a directory");
    let (path, kept) = (directory.path().join("a.sdx"), directory.path().join("kept"));
    let mut model = Model::new();
    let db = options(shape).open_tables(&path).expect("opens");
    create(&db).expect("created");
    change(&db, &mut model, 0).expect("durable");
    db.close().expect("closes");
    std::fs::copy(path.join(INDEXES_FILE), &kept).expect("stored");
    // Opened and closed by another way, which writes nothing but the mark of its close.
    let operations = options(shape).open_operations(&path).expect("opens");
    operations.close().expect("closes");
    std::fs::copy(&kept, path.join(INDEXES_FILE)).expect("put back");
    let db = options(shape).open_tables(&path).expect("opens");
    assert!(!db.rebuild().stored);
    assert_eq!(contents(&db), model);
    change(&db, &mut model, 1).expect("durable");
    db.close().expect("closes");
    let db = options(shape).open_tables(&path).expect("opens");
    assert!(db.rebuild().stored);
    assert_eq!(contents(&db), model);
}
