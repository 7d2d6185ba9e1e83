//! Compaction: the same rows, indexes and references, journals and shapes, in as few pages and bytes as a fresh
//! database has, after any earlier changes; and the same after a crash at any step of it.

use crate::common::Note;
use crate::shape_changes::cases::{CASES, base, more_orders};
use crate::shape_changes::contents::{check_indexes, contents, small_options};
use sardonyx::disk::{Disk, Faults, SimulatedDisk};
use sardonyx::hosts::{MemoryStore, RemoteLog};
use sardonyx::reports::Compaction;
use sardonyx::schema::{Schema, Type, Value};
use sardonyx::{Error, Options, Tables};
use sardonyx_base::random::stride;
use sardonyx_storage::manifest::Manifest;
use sardonyx_storage::recovery::{RecoveryOptions, recover};
use std::path::Path;
use std::sync::Arc;

/// Bytes with which a log begins.
const LOG_BYTES_FIRST: u64 = 16 << 10;

fn options() -> Options {
    small_options().log_bytes_first(LOG_BYTES_FIRST)
}

fn open(disk: SimulatedDisk) -> Result<Tables, Error> {
    options().open_tables_on(Arc::new(disk))
}

/// The lengths of the log's files.
fn log(disk: &SimulatedDisk) -> Vec<u64> {
    let mut files = disk.files();
    files.retain(|name| name.starts_with("log/"));
    let lengths = files.iter().map(|name| disk.read_all(name));
    lengths
        .map(|bytes| bytes.expect("listed").len() as u64)
        .collect()
}

/// Reads the database without changing anything.
fn read(disk: &SimulatedDisk) -> Result<u64, String> {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let manifest = Manifest::read(&*disk).map_err(|error| error.to_string())?;
    let options = RecoveryOptions {
        memory_max_bytes: 64 << 20,
        workers: 1,
        dry_run: true,
        ..RecoveryOptions::default()
    };
    let recovered = recover(&disk, &manifest, options).map_err(|error| error.to_string())?;
    Ok(recovered.end.transactions)
}

fn compact(disk: &SimulatedDisk) -> Result<Compaction, Error> {
    options().compact_on(Arc::new(disk.clone()), |_, _| {})
}

fn notes(database: &Tables) -> Vec<u64> {
    let notes = database.journal::<Note>().expect("declared");
    let mut all = Vec::new();
    let read = database.journal_rows(notes, |note| {
        all.push(note.amount);
        true
    });
    read.expect("reads");
    all
}

fn note(database: &Tables, amount: u64) {
    let notes = database.journal::<Note>().expect("declared");
    let account = 1;
    let noted = database.run(|tx| tx.append(notes, &Note { account, amount }));
    noted.expect("appended");
}

/// Every kind of change of shape before it: the tables are the same, and so are their later changes.
#[test]
fn whatever_was_changed_before_the_tables_are_the_same() {
    let base = base();
    let mut smaller = 0;
    for case in &CASES {
        let name = case.name;
        let disk = base.restart(Faults::default());
        let database = open(disk.clone()).expect("opens");
        note(&database, 1);
        for change in [case.before, case.change] {
            database.run(change).expect(name);
        }
        note(&database, 2);
        let before = contents(&database);
        database.close().expect("closes");
        // The same without a compaction.
        let (disk, other) = (
            disk.restart(Faults::default()),
            disk.restart(Faults::default()),
        );
        let done = compact(&disk).expect(name);
        assert!(done.pages <= done.pages_before, "{name}: {done:?}");
        smaller += u32::from(done.pages < done.pages_before);
        let (database, other) = (open(disk.clone()), open(other));
        let (database, other) = (database.expect(name), other.expect("opens"));
        assert!(contents(&database) == before, "{name}");
        check_indexes(&database, &before);
        assert_eq!(notes(&database), [1, 2], "{name}");
        for database in [&database, &other] {
            database.run(case.after).expect(name);
            note(database, 3);
            database.checkpoint().expect("a checkpoint");
        }
        let after = contents(&database);
        assert!(after == contents(&other), "{name}: later");
        check_indexes(&database, &after);
        assert_eq!(notes(&database), [1, 2, 3]);
        database.close().expect("closes");
        // Again and again.
        compact(&disk).expect(name);
        let last = compact(&disk).expect(name);
        assert_eq!(last.pages, last.pages_before, "{name}: nothing is left");
        let database = open(disk.restart(Faults::default())).expect(name);
        assert!(contents(&database) == after, "{name}: again");
    }
    assert_eq!(smaller as usize, CASES.len());
}

/// A crash at every step of a compaction, and at every step behind it.
#[test]
fn a_crash_at_any_step_leaves_the_same_rows() {
    let disk = base();
    let database = open(disk.clone()).expect("opens");
    for change in [CASES[1].change, more_orders, CASES[5].change, more_orders] {
        database.run(change).expect("changed");
    }
    database.checkpoint().expect("a checkpoint");
    note(&database, 7);
    database.run(more_orders).expect("changed");
    let before = contents(&database);
    // Not closed: the redone part is compacted, too.
    let mut seeds = disk.restart(Faults::default());
    drop(database);
    let database = open(seeds.restart(Faults::default())).expect("opens");
    database.run(more_orders).expect("changed");
    let after = contents(&database);
    drop(database);
    let (mut as_it_was, mut compacted) = (0, 0);
    for step in (1..).step_by(stride(2)) {
        seeds = seeds.restart(Faults::default());
        let disk = seeds.restart(Faults {
            crash_at_step: Some(step),
            ..Faults::default()
        });
        let outcome = compact(&disk);
        let later = outcome.is_ok()
            && open(disk.clone())
                .and_then(|it| it.run(more_orders))
                .is_ok();
        let has_crashed = disk.has_crashed();
        let disk = disk.restart(Faults::default());
        let manifest = Manifest::read(&disk).expect("there");
        match manifest.compacted.is_some() {
            true => compacted += 1,
            false => as_it_was += 1,
        }
        read(&disk).unwrap_or_else(|error| panic!("step {step}: read only: {error}"));
        let database = open(disk.clone());
        let database = database.unwrap_or_else(|error| panic!("step {step}: {error}"));
        let found = contents(&database);
        check_indexes(&database, &found);
        let is_right = match (later, outcome.is_ok()) {
            (true, _) => found == after,
            (false, true) => found == before || found == after,
            (false, false) => found == before,
        };
        assert!(is_right, "step {step}: {outcome:?}");
        assert_eq!(notes(&database), [7], "step {step}");
        // Files that are not, and will not be, the database's were removed.
        let files = disk.files();
        let stripes = files.iter().filter(|name| name.contains("stripe-"));
        assert_eq!(stripes.count(), 1, "step {step}: {files:?}");
        if manifest.compacted.is_some() && !later {
            let log = log(&disk);
            assert_eq!(log.len(), 1, "step {step}: {files:?}");
            assert!(log[0] <= 8 * LOG_BYTES_FIRST, "step {step}: {log:?}");
        }
        let all = contents(&database);
        drop(database);
        compact(&disk).unwrap_or_else(|error| panic!("step {step}: {error}"));
        assert_eq!(log(&disk), [LOG_BYTES_FIRST], "step {step}");
        let database = open(disk.restart(Faults::default())).expect("opens");
        assert!(contents(&database) == all, "step {step}: compacted");
        if !has_crashed {
            break;
        }
    }
    println!("{as_it_was} as it was, {compacted} compacted");
    let each = stride(2);
    assert!(
        as_it_was * each > 20 && compacted * each > 10,
        "{as_it_was} {compacted}"
    );
}

/// No earlier log is applied to the new pages, at any loss of the new backup.
#[test]
fn damage_of_the_new_backup_is_found_and_not_made_good_by_older_log() {
    let disk = base();
    compact(&disk).expect("compacted");
    let name = "backup/stripe-000.1";
    let length = disk.read_all(name).expect("there").len();
    for slot in 0..length / ((16 << 10) + 4096) {
        let start = slot * ((16 << 10) + 4096);
        let used =
            |bytes: Vec<u8>| u32::from_le_bytes(bytes[start + 20..][..4].try_into().unwrap());
        let bytes = disk.read_all(name).expect("there");
        let is_empty = bytes[start..][..4096] == [0; 4096];
        // A block of zeroes has no bytes.
        let places = match used(bytes) {
            _ if is_empty => 0,
            0 => 1,
            _ => 2,
        };
        for offset in [100, 5000].into_iter().take(places) {
            let disk = disk.restart(Faults::default());
            let offset = start as u64 + offset;
            disk.corrupt(name, offset, |byte| byte ^ 1)
                .expect("damaged");
            let found = open(disk);
            assert!(
                matches!(found, Err(Error::Damaged(_))),
                "{offset}: {found:?}"
            );
        }
    }
}

fn fill(database: &Tables, ids: impl Iterator<Item = u64> + Clone) {
    let schema = Schema::new()
        .column("id", Type::U64)
        .column("name", Type::Text)
        .column("size", Type::I64)
        .primary_key(["id"])
        .index("by_size", ["size", "name"])
        .ordered();
    for table in ["things", "others"] {
        database
            .create_table(table, schema.clone())
            .expect("created");
        let ids: Vec<u64> = ids.clone().collect();
        for some in ids.chunks(500) {
            let filled = database.run(|tx| {
                let mut rows = tx.rows(table)?;
                for id in some {
                    let name = "x".repeat((id * 31 % 200) as usize);
                    rows.insert_values(&[
                        Value::from(*id),
                        Value::from(name.as_str()),
                        Value::from(id % 100),
                    ])?;
                }
                Ok(())
            });
            filled.expect("filled");
        }
    }
}

fn bytes_of(directory: &Path) -> u64 {
    let entries = std::fs::read_dir(directory).expect("a directory");
    let bytes = entries.map(|entry| {
        let entry = entry.expect("readable");
        let metadata = entry.metadata().expect("readable");
        match metadata.is_dir() {
            true => bytes_of(&entry.path()),
            false => metadata.len(),
        }
    });
    bytes.sum()
}

/// A database that was never used has no backup yet, which alone is larger than all of it.
#[test]
fn a_compaction_leaves_no_more_than_it_found_and_the_next_one_nothing_to_do() {
    let directory = tempfile::tempdir().expect("a directory");
    for rows in [0, 1, 300, 5_000] {
        let path = directory.path().join(format!("{rows}.sdx"));
        let database = Options::new().open_tables(&path).expect("opens");
        if rows > 0 {
            fill(&database, 0..rows);
            database.run(|tx| tx.drop_table("others")).expect("dropped");
        }
        database.close().expect("closes");
        let before = bytes_of(&path);
        let done = Options::new().compact(&path).expect("compacted");
        let after = bytes_of(&path);
        assert_eq!(
            after < before,
            done.changed,
            "{rows}: {before} {after} {done:?}"
        );
        assert!(after <= before, "{rows}: {before} {after} {done:?}");
        assert!(
            done.file_bytes <= done.file_bytes_before,
            "{rows}: {done:?}"
        );
        assert!(rows > 0 || !done.changed, "{done:?}");
        let again = Options::new().compact(&path).expect("compacted");
        assert!(
            !again.changed && bytes_of(&path) == after,
            "{rows}: {again:?}"
        );
        let database = Options::new().open_tables(&path).expect("opens");
        if rows > 0 {
            let ids = contents_of_ids(&database);
            assert_eq!(ids.len() as u64, rows);
        }
        database.close().expect("closes");
    }
}

#[test]
fn after_nine_rows_of_ten_are_deleted_it_is_as_large_as_a_fresh_one() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = || {
        let options = Options::new().segment_bytes(18 << 20).block_bytes(64 << 10);
        options.log_bytes_max(80 << 20)
    };
    let limits = |options: Options| {
        options.group_limits(sardonyx::disk::GroupLimits::for_segments(18 << 20))
    };
    let options = || limits(options());
    let (path, fresh) = (
        directory.path().join("a.sdx"),
        directory.path().join("b.sdx"),
    );
    let database = options().open_tables(&path).expect("opens");
    fill(&database, 0..10_000);
    let deleted = database.run(|tx| {
        tx.drop_table("others")?;
        for id in (0..10_000u64).filter(|id| id % 10 != 3) {
            tx.rows("things")?.delete(&[id.into()])?;
        }
        Ok(())
    });
    deleted.expect("deleted");
    database.checkpoint().expect("a checkpoint");
    let before = contents_of_ids(&database);
    database.close().expect("closes");
    let held = options().open_tables(&path).expect("opens");
    let refused = options().compact(&path);
    assert!(matches!(refused, Err(Error::Locked(_))), "{refused:?}");
    drop(held);
    let large = bytes_of(&path);
    let mut told = Vec::new();
    let done = options().compact_with(&path, |done, all| told.push((done, all)));
    let done = done.expect("compacted");
    assert_eq!(told.last(), Some(&(told.len() as u64, told.len() as u64)));
    // The rows, and those of the engine's own tables.
    assert!((1000..1010).contains(&done.rows), "{done:?}");

    let database = options().open_tables(&fresh).expect("opens");
    fill(&database, (0..10_000).filter(|id| id % 10 == 3));
    database.run(|tx| tx.drop_table("others")).expect("dropped");
    database.checkpoint().expect("a checkpoint");
    let pages = database
        .read(|view| Ok(view.bytes() / 4096))
        .expect("reads");
    database.close().expect("closes");
    assert!(
        done.pages <= pages && done.pages * 5 < done.pages_before,
        "{done:?} {pages}"
    );
    let (small, fresh) = (bytes_of(&path), bytes_of(&fresh));
    assert!(small < large && small <= fresh, "{large} {small} {fresh}");
    assert!(done.file_bytes < done.file_bytes_before, "{done:?}");

    let database = options().open_tables(&path).expect("opens");
    assert_eq!(contents_of_ids(&database), before);
    assert_eq!(
        database
            .read(|view| Ok(view.bytes() / 4096))
            .expect("reads"),
        done.pages
    );
}

fn contents_of_ids(database: &Tables) -> Vec<(Value, usize)> {
    let read = database.read(|view| {
        let rows = view.rows("things")?;
        let mut ids = Vec::new();
        for row in rows.index("by_size")?.range::<()>(..)? {
            let values = row?.to_values()?;
            let Value::Text(name) = &values[1] else {
                panic!("{values:?}");
            };
            ids.push((values[0].clone(), name.len()));
        }
        Ok::<_, Error>(ids)
    });
    read.expect("readable")
}

/// The file of a log's first segment has been used again, for a later one.
#[test]
fn a_log_that_has_left_its_first_segment_is_compacted() {
    let disk = base().restart(Faults::default());
    let database = open(disk.clone()).expect("opens");
    let first = disk
        .files()
        .into_iter()
        .find(|name| name.starts_with("log/"));
    let first = first.expect("a log has a file");
    let mut amount = 0;
    while disk.files().contains(&first) {
        (0..2_000).for_each(|_| note(&database, 1));
        amount += 2_000;
        database.checkpoint().expect("a checkpoint");
        assert!(amount < 100_000, "{first} is never used again");
    }
    let before = contents(&database);
    database.close().expect("closes");
    let done = compact(&disk).expect("compacted");
    assert!(done.file_bytes <= done.file_bytes_before, "{done:?}");
    let database = open(disk).expect("opens");
    assert!(contents(&database) == before);
    assert_eq!(notes(&database).len(), amount);
}

/// A compaction of an empty database, and of a directory without one.
#[test]
fn an_empty_database_and_none_are_told_apart() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let found = compact(&disk);
    assert!(matches!(found, Err(Error::NotFound(_))), "{found:?}");
    open(disk.clone()).expect("opens").close().expect("closes");
    let done = compact(&disk).expect("compacted");
    assert_eq!((done.rows, done.pages), (0, 0), "{done:?}");
    let database = open(disk).expect("opens");
    note(&database, 1);
    assert_eq!(notes(&database), [1]);
}

#[test]
fn a_database_whose_log_is_in_a_store_is_refused_by_its_own_error() {
    let machine = tempfile::tempdir().unwrap();
    let path = machine.path().join("bank.sdx");
    let store = RemoteLog::new(std::sync::Arc::new(MemoryStore::new()));
    let with = Options::new().memory_bytes_max(64 << 20).store(store);
    with.clone().open_tables(&path).unwrap().close().unwrap();
    // With the store, and by a program without it.
    for options in [with.clone(), Options::new().memory_bytes_max(64 << 20)] {
        let error = options.compact(&path).unwrap_err();
        assert!(matches!(error, Error::Refused(_)), "{error}");
        assert!(error.to_string().contains("cannot be compacted"), "{error}");
    }
    with.open_tables(&path).unwrap().close().unwrap();
}
