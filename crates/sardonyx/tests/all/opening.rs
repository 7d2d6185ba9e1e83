//! Opening and closing: one opener at a time, also across processes; a killed one leaves nothing
//! behind (I9); options that cannot work are refused; every shape opens what another wrote.

use crate::common;
use crate::common::{Item, Note, Opened, SHAPES, in_every_shape, options};
use sardonyx::disk::GroupLimits;
use sardonyx::journals::PlainJournalRow;
use sardonyx::low_level::Resident;
use sardonyx::{Checkpoints, Error, Options, Shape, Table, Tables, record};
use sardonyx_base::victims::{Counts, Witness, acknowledge, test_program};
use sardonyx_storage::catalogue::CatalogueError;
use sardonyx_storage::disk::{Disk, Faults, SimulatedDisk};
use sardonyx_storage::engine::OpenError;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A way of opening a directory.
type Opening = fn(Options, &Path) -> Result<(), Error>;

/// Memory and operations have no other checkpoints.
fn from_copy(options: Options) -> Options {
    options.checkpoints(Checkpoints::FromCopy)
}

/// Every way; closed at once.
const OPENINGS: [Opening; 3] = [
    |options, path| options.open_tables(path)?.close(),
    |options, path| from_copy(options).open_memory(path).map(drop),
    |options, path| from_copy(options).open_operations(path)?.close(),
];

/// Names the directory for [`hold_the_database_until_killed`].
const DIRECTORY: &str = "SARDONYX_TEST_DIRECTORY";

/// Not a test by itself: the child process of the tests below.
#[test]
#[ignore = "the child process of other tests"]
fn hold_the_database_until_killed() {
    let Some(path) = std::env::var_os(DIRECTORY) else {
        return;
    };
    let opened = Opened::on_real(Path::new(&path), options(Shape::Coalesced)).expect("opens");
    for n in 1.. {
        opened.put(1, n).expect("durable");
        acknowledge(1, n).expect("the parent listens");
        // An unfinished one now and then, so that the kill may find it.
        if n % 3 == 0 {
            let items = opened.items;
            drop(
                opened
                    .database
                    .transaction()
                    .errors()
                    .submit(move |transaction| {
                        transaction.insert(items, &Item::new(100 + n, n))?;
                        Err::<(), Error>(Error::other("never there"))
                    }),
            );
        }
    }
}

#[test]
fn i9_a_killed_process_leaves_no_lock_and_its_acknowledged_transactions() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut before = 0;
    for round in 0..4 {
        let witness = Witness::new(Counts::of_each());
        let mut command = test_program(&hold_the_database_until_killed).expect("starts");
        command.env(DIRECTORY, directory.path());
        let mut victim = witness.start(&mut command).expect("starts");
        let goes_on = witness.goes_on(&victim, [1], 20 + round, Duration::from_secs(600));
        goes_on.expect("it goes on");
        let error = Opened::on_real(directory.path(), options(Shape::Coalesced)).unwrap_err();
        let Some(open) = error.downcast_ref::<OpenError>() else {
            panic!("{error}")
        };
        assert!(matches!(*open, OpenError::Locked { .. }), "{error}");
        let text = error.to_string();
        let holder = format!("process {}", victim.id());
        assert!(text.contains("LOCK") && text.contains(&holder), "{text}");
        victim.end().expect("it is gone");
        witness.verdict().expect("each is reported once");
        let shape = SHAPES[round as usize % SHAPES.len()];
        let opened = Opened::on_real(directory.path(), options(shape)).expect("recovers");
        let contents = opened.contents().expect("readable");
        let found = contents.items[&1];
        // At most the transaction under way is there besides.
        let settled = witness.with(|counts| counts.settle(1, found, 1));
        settled.expect("each acknowledged one is there");
        assert_eq!(contents.items.len(), 1, "nothing of the aborted ones");
        assert_eq!(contents.notes.len() as u64, before + found);
        before += found;
        opened.database.close().expect("closes");
    }
}

#[test]
fn a_second_opener_in_this_process_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("bank.sdx");
    in_every_shape(|shape| {
        let first = options(shape).open_tables(&path).expect("opens");
        let error = options(shape).open_tables(&path).unwrap_err();
        let Some(open) = error.downcast_ref::<OpenError>() else {
            panic!("{error}")
        };
        let OpenError::Locked { file, holders } = open else {
            panic!("{error}")
        };
        assert_eq!(Path::new(file), path.join("LOCK"));
        assert_eq!(*holders, [std::process::id()]);
        first.close().expect("closes");
        options(shape).open_tables(&path).expect("free again");
    });
    let disk = SimulatedDisk::new(1, Faults::default());
    let first = Opened::on(&disk, options(Shape::Coalesced)).expect("opens");
    let error = Opened::on(&disk, options(Shape::Coalesced)).unwrap_err();
    assert!(error.to_string().contains("LOCK"), "{error}");
    first.put(1, 1).expect("the first is not disturbed");
}

#[test]
fn an_opening_that_waits_gets_the_database_when_it_is_closed() {
    use std::time::Duration;
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("bank.sdx");
    let first = options(Shape::Coalesced).open_tables(&path).expect("opens");
    let patient = |wait| options(Shape::Coalesced).wait_for_lock(wait);
    // Not for ever.
    let refused = patient(Duration::from_millis(2)).open_tables(&path);
    assert!(matches!(refused, Err(Error::Locked(_))), "{refused:?}");
    let long = Duration::from_secs(600);
    std::thread::scope(|scope| {
        let waiting = OPENINGS.map(|open| {
            let path = &path;
            scope.spawn(move || open(patient(long), path))
        });
        // Earlier and later waiters get it one after the other.
        first.close().expect("closes");
        for waiter in waiting {
            waiter.join().expect("no panic").expect("opens");
        }
    });
}

#[test]
fn every_shape_opens_what_another_wrote() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut expected = common::Model::default();
    for (n, shape) in SHAPES.iter().cycle().take(12).enumerate() {
        let opened = Opened::on_real(directory.path(), options(*shape)).expect("opens");
        assert_eq!(opened.contents().expect("readable"), expected);
        for id in 0..20 {
            opened.put(id + n as u64, n as u64).expect("durable");
            expected.put(id + n as u64, n as u64);
        }
        if n % 2 == 0 {
            opened.database.close().expect("closes");
        }
    }
}

#[test]
fn without_create_an_absent_database_is_an_error_and_nothing_is_made() {
    in_every_shape(|shape| {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("bank.sdx");
        let is_absent = |error: Error| {
            let Some(open) = error.downcast_ref::<OpenError>() else {
                panic!("{error}")
            };
            assert!(matches!(*open, OpenError::Absent { .. }), "{error}");
            assert!(error.to_string().contains("MANIFEST"), "{error}");
        };
        is_absent(Options::new().create(false).open_tables(&path).unwrap_err());
        assert!(!path.exists());
        let disk = SimulatedDisk::new(1, Faults::default());
        let any: Arc<dyn Disk> = Arc::new(disk.clone());
        is_absent(
            options(shape)
                .create(false)
                .open_tables_on(any)
                .unwrap_err(),
        );
        assert!(disk.files().is_empty());
        drop(options(shape).open_tables(&path).expect("made"));
        drop(
            options(shape)
                .create(false)
                .open_tables(&path)
                .expect("there"),
        );
    });
}

#[test]
fn a_lost_manifest_is_an_error_and_not_a_new_database() {
    in_every_shape(|shape| {
        let disk = SimulatedDisk::new(1, Faults::default());
        let opened = Opened::on(&disk, options(shape)).expect("opens");
        opened.put(1, 1).expect("durable");
        drop(opened);
        disk.remove("MANIFEST").expect("there");
        let error = Opened::on(&disk, options(shape)).unwrap_err();
        let Some(open) = error.downcast_ref::<OpenError>() else {
            panic!("{error}")
        };
        let OpenError::ManifestLost { file, evidence } = open else {
            panic!("{error}")
        };
        assert!(
            file.ends_with("MANIFEST") && evidence.contains("log/"),
            "{error}"
        );
    });
}

#[test]
fn options_that_cannot_work_are_refused_by_name() {
    in_every_shape(|shape| {
        let limits = GroupLimits::default();
        let refused = [
            ("log_bytes_max", options(shape).log_bytes_max(1)),
            ("segment_bytes", options(shape).segment_bytes(8192)),
            (
                "depth",
                options(shape).group_limits(GroupLimits {
                    depth: 0,
                    group_bytes: 4096,
                    transaction_bytes: 4096,
                    ..limits
                }),
            ),
            (
                "buffers",
                options(shape).group_limits(GroupLimits {
                    buffers: 2,
                    group_bytes: 4096,
                    transaction_bytes: 4096,
                    ..limits
                }),
            ),
            ("segment_bytes", options(shape).segment_bytes(70_001)),
            ("block_bytes", options(shape).block_bytes(0)),
            ("block_bytes", options(shape).block_bytes(5000)),
            ("stripes", options(shape).stripes(0)),
        ];
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("bank.sdx");
        for (name, refused_options) in refused {
            let disk = SimulatedDisk::new(1, Faults::default());
            let error = Opened::on(&disk, refused_options.clone()).unwrap_err();
            assert!(matches!(error, Error::Refused(_)), "{error}");
            let text = error.to_string().replace(' ', "_");
            assert!(text.contains(name), "{name}: {error}");
            // And no directory is left behind.
            for open in OPENINGS {
                let again = open(refused_options.clone(), &path).unwrap_err();
                assert!(matches!(again, Error::Refused(_)), "{name}: {again}");
                assert!(!path.exists(), "{name}");
            }
            // Nothing was begun that would hinder a better attempt.
            Opened::on(&disk, common::options(shape)).expect("opens");
        }
    });
}

#[derive(Clone, Copy, Resident)]
#[repr(C)]
struct OtherItem {
    id: u64,
    value: u64,
}
record!(OtherItem { table: "items", key: id: u64 });

#[derive(Clone, Copy, Resident)]
#[repr(C)]
struct OtherNote(u64);

impl PlainJournalRow for OtherNote {
    const NAME: &'static str = "notes";
}

#[test]
fn another_layout_and_a_foreign_handle_are_refused() {
    in_every_shape(|shape| {
        let disk = SimulatedDisk::new(1, Faults::default());
        let opened = Opened::on(&disk, options(shape)).expect("opens");
        let differs = |error: Error| {
            let cause = error.downcast_ref::<CatalogueError>();
            assert!(
                matches!(cause, Some(CatalogueError::LayoutDiffers { .. })),
                "{error}"
            );
        };
        differs(opened.database.table::<OtherItem>().unwrap_err());
        differs(opened.database.journal::<OtherNote>().unwrap_err());
        let empty: Arc<dyn Disk> = Arc::new(SimulatedDisk::new(2, Faults::default()));
        let empty: Tables = options(shape).open_tables_on(empty).expect("opens");
        let foreign: Table<Item> = opened.items;
        let outcome = empty.run(|transaction| {
            let found = transaction.get(foreign, 1).map(|found| found.copied());
            assert!(matches!(found, Err(Error::Refused(_))), "{found:?}");
            let inserted = transaction.insert(foreign, &Item::new(1, 1));
            assert!(matches!(inserted, Err(Error::Refused(_))));
            let note = Note {
                account: 1,
                amount: 1,
            };
            let appended = transaction.append(opened.notes, &note);
            assert!(matches!(appended, Err(Error::Refused(_))));
            Ok::<_, Error>(())
        });
        outcome.expect("nothing was done");
    });
}

#[test]
fn a_database_with_small_segments_opens_with_the_default_options_and_takes_large_transactions() {
    let machine = tempfile::tempdir().expect("a directory");
    let path = machine.path().join("small.sdx");
    let small = crate::common::options(sardonyx::Shape::Coalesced);
    let opened = crate::common::Opened::on_real(&path, small).expect("made");
    opened.put(1, 1).expect("durable");
    opened.database.close().expect("closed");
    let opened = crate::common::Opened::on_real(&path, sardonyx::Options::new()).expect("opens");
    // More than a segment of 64 KiB holds.
    let insert = |tx: &mut sardonyx::Transaction<'_>| {
        (2..2000).try_for_each(|id| tx.insert(opened.items, &crate::common::Item::new(id, id)))
    };
    opened
        .database
        .run(insert)
        .expect("it has segments for itself");
    opened.database.close().expect("closed");
    let opened = crate::common::Opened::on_real(&path, sardonyx::Options::new()).expect("opens");
    assert_eq!((opened.get(1), opened.get(1999)), (Some(1), Some(1999)));
    // A new one is refused with limits that do not fit.
    let new = sardonyx::Options::new().segment_bytes(64 << 10);
    let error = new
        .open_tables(machine.path().join("new.sdx"))
        .expect_err("refused");
    assert!(error.to_string().contains("segment_bytes"), "{error}");
}
