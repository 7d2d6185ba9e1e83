//! Indexes that a clean close stores for the next opening. They are read for the very state that was closed. After a crash
//! at any step of the close or the opening, and with a stale, cut or damaged file, they are built, and all rows are
//! found.

use sardonyx_base::error::Error as RowError;
use sardonyx_base::random::stride;
use sardonyx_rows::schema::{Schema, Type, Value};
use sardonyx_rows::{ReadRow, Rows};
use sardonyx_serial::{Durability, Kernel, SerialError, Shape};
use sardonyx_storage::disk::{Disk, Faults, RealDisk, SimulatedDisk};
use sardonyx_storage::engine::{Engine, StorageOptions};
use sardonyx_storage::log::policy::GroupLimits;
use sardonyx_storage::stored::INDEXES_FILE;
use sardonyx_table::{KeyHash, RebuildReport, StoredIndexes, TableSpace, Transaction};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

type Error = Box<dyn std::error::Error>;

/// Groups and names by numbers.
type Model = BTreeMap<u64, (i64, String)>;

/// Small files and bounds; any indexes are stored, and keys are hashed by this seed.
#[derive(Clone)]
struct Options {
    storage: StorageOptions,
    shape: Shape,
    stored_bytes_min: u64,
    seed: u64,
}

fn options(shape: Shape) -> Options {
    let storage = StorageOptions {
        segment_bytes: 64 << 10,
        block_bytes: 16 << 10,
        log_bytes_max: 512 << 10,
        identity: Some(7),
        memory_bytes_max: 64 << 20,
        limits: GroupLimits {
            group_bytes: 8 << 10,
            transaction_bytes: 16 << 10,
            depth: 2,
            buffers: 6,
        },
        threaded: shape.is_threaded(),
        workers: 2,
        ..StorageOptions::default()
    };
    Options {
        storage,
        shape,
        stored_bytes_min: 0,
        seed: 7,
    }
}

/// An open database.
struct Opened {
    kernel: Kernel,
    rebuild: RebuildReport,
}

/// Opens the database, as `sardonyx::Tables` does.
fn open_on(disk: Arc<dyn Disk>, options: Options) -> Result<Opened, Error> {
    let hash = KeyHash::from_seed(options.seed);
    let opened = Engine::open(disk, options.storage)?;
    let stored = opened.closed.and_then(|closed| {
        let rows_max = TableSpace::rows_max(&opened.store);
        StoredIndexes::take(&**opened.engine.disk(), closed, rows_max, Some(hash), 2)
    });
    let (mut space, rebuild) = TableSpace::open_stored(opened.store, 2, hash, stored)?;
    space.set_transaction_bytes_max(opened.engine.transaction_bytes_max());
    space.set_stored_bytes_min(options.stored_bytes_min);
    let kernel = Kernel::start(space, opened.engine, options.shape);
    Ok(Opened { kernel, rebuild })
}

fn open(disk: &SimulatedDisk, options: Options) -> Result<Opened, Error> {
    open_on(Arc::new(disk.clone()), options)
}

impl Opened {
    /// Runs a transaction, which is durable when this returns.
    fn run<T>(
        &self,
        body: impl FnOnce(&mut Transaction<'_>) -> Result<T, RowError>,
    ) -> Result<T, Error> {
        let mut outcome = None;
        self.kernel.run(Durability::Durable, |tx| {
            outcome = Some(body(tx));
            Ok::<_, SerialError>(())
        })?;
        Ok(outcome.ok_or("it ran")??)
    }

    fn close(self) -> Result<(), Error> {
        Ok(self.kernel.close()?)
    }
}

/// Makes the table.
fn create(db: &Opened) -> Result<(), Error> {
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
    db.run(|tx| tx.create_table("people", people).map(drop))
}

/// Inserts, changes and deletes some rows, each in a transaction that is durable.
fn change(db: &Opened, model: &mut Model, round: u64) -> Result<(), Error> {
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
fn contents(db: &Opened) -> Model {
    let snapshot = db.kernel.snapshot().expect("a snapshot");
    let rows = Rows::named(&*snapshot, "people").expect("the table");
    fn row(row: &impl ReadRow) -> (u64, (i64, String)) {
        let value = |column| row.value_at(column).expect("a value").to_value();
        match (value(0), value(1), value(2)) {
            (Value::Int(id), Value::Int(group), Value::Text(name)) => {
                (id as u64, (group as i64, name))
            }
            other => panic!("{other:?}"),
        }
    }
    let all: Model = rows
        .scan()
        .map(|found| row(&found.expect("a row")))
        .collect();
    assert_eq!(rows.count().expect("counted"), all.len() as u64);
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

fn in_stripes(shape: Shape) -> Options {
    let mut options = options(shape);
    options.storage.stripes = 2;
    options
}

#[test]
fn a_database_that_is_closed_and_opened_again_and_again_reads_its_indexes() {
    let pipelined = Shape::Pipelined {
        input_threads: 1,
        output_threads: 1,
    };
    for shape in [pipelined, Shape::Coalesced, Shape::Threadless] {
        let mut disk = SimulatedDisk::new(1, Faults::default());
        let mut model = Model::new();
        for round in 0..6 {
            let db = open(&disk, in_stripes(shape)).expect("opens");
            assert_eq!(db.rebuild.stored, round > 0, "{round}");
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
        let mut without = in_stripes(shape);
        without.storage.closing_checkpoint = Duration::ZERO;
        let small = Options {
            stored_bytes_min: 1 << 30,
            ..in_stripes(shape)
        };
        for (round, closes) in [without, small, in_stripes(shape)].into_iter().enumerate() {
            let db = open(&disk, closes).expect("opens");
            assert_eq!(db.rebuild.stored, round == 0, "{round}");
            db.close().expect("closes");
            assert_eq!(has_file(&disk), round == 2, "{round}");
        }
        let other = Options {
            seed: 8,
            ..in_stripes(shape)
        };
        let db = open(&disk, other).expect("opens");
        assert!(!db.rebuild.stored);
        assert_eq!(contents(&db), model);
    }
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
        let is_stored = db.rebuild.stored;
        change(&db, model, 1)?;
        let changed = disk.steps();
        db.close()?;
        Ok::<_, Error>((before, changed, is_stored))
    };
    let whole = SimulatedDisk::new(1, Faults::default());
    let mut last = Model::new();
    let (first, ..) = run(&whole, &mut last).expect("no fault");
    for step in (first + 1..=whole.steps()).step_by(stride(3)) {
        for (kills, seed) in [(false, step), (true, step)] {
            let faults = match kills {
                true => Faults {
                    kill_at_step: Some(step),
                    ..Faults::default()
                },
                false => Faults {
                    crash_at_step: Some(step),
                    ..Faults::default()
                },
            };
            let disk = SimulatedDisk::new(seed, faults);
            let mut acknowledged = Model::new();
            let outcome = run(&disk, &mut acknowledged);
            let again = match kills {
                true => disk.next_process(Faults::default()),
                false => disk.restart(Faults::default()),
            };
            let db = open(&again, options(shape))
                .unwrap_or_else(|error| panic!("step {step}, kills {kills}, {outcome:?}: {error}"));
            outcomes[usize::from(db.rebuild.stored)] += 1;
            let found = contents(&db);
            // At most the transaction under way is there besides.
            let differing = found
                .iter()
                .filter(|(id, row)| acknowledged.get(id) != Some(row));
            let missing = acknowledged.keys().filter(|id| !found.contains_key(id));
            let differing = differing.count() + missing.count();
            assert!(
                differing <= 1,
                "step {step}, kills {kills}: {found:?}, {acknowledged:?}"
            );
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
    // In the last page.
    let place = damaged.len() - 100;
    damaged[place] ^= 1;
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
        assert_eq!(db.rebuild.stored, is_sound, "file {number}");
        assert_eq!(contents(&db), model, "file {number}");
        assert!(!has_file(&copy), "file {number}");
    }
    // It cannot be read.
    let failing = (1..60).map(|nth| Faults {
        fail_read_at: Some(nth),
        ..Faults::default()
    });
    for faults in failing {
        if let Ok(db) = open(&disk.next_process(faults), options(shape)) {
            assert_eq!(contents(&db), model);
        }
    }
}

#[test]
fn a_database_that_another_way_opened_builds_its_indexes() {
    let shape = Shape::Coalesced;
    let directory = tempfile::tempdir().expect("a directory");
    let (path, kept) = (
        directory.path().join("a.sdx"),
        directory.path().join("kept"),
    );
    let disk = || -> Arc<dyn Disk> { Arc::new(RealDisk::open(&path).expect("a directory")) };
    let mut model = Model::new();
    let db = open_on(disk(), options(shape)).expect("opens");
    create(&db).expect("created");
    change(&db, &mut model, 0).expect("durable");
    db.close().expect("closes");
    std::fs::copy(path.join(INDEXES_FILE), &kept).expect("stored");
    // By a way without tables, which writes nothing but the mark of its close.
    let mut other = Engine::open(disk(), options(shape).storage).expect("opens");
    other.engine.start();
    other.engine.pen(()).mark_end().expect("marked");
    other.engine.record_end();
    other.engine.stop();
    drop(other);
    std::fs::copy(&kept, path.join(INDEXES_FILE)).expect("put back");
    let db = open_on(disk(), options(shape)).expect("opens");
    assert!(!db.rebuild.stored);
    assert_eq!(contents(&db), model);
    change(&db, &mut model, 1).expect("durable");
    db.close().expect("closes");
    let db = open_on(disk(), options(shape)).expect("opens");
    assert!(db.rebuild.stored);
    assert_eq!(contents(&db), model);
}
