//! Transactions with more redo than a group holds have groups for themselves, which span the log's segments: whole or
//! absent in every case (I4), in any number (a checkpoint makes room while one runs, I10), and beside small ones. A
//! transaction for which the log has no room at all is refused, and nothing of it is done.

use crate::common;
use crate::common::{Item, Model, Note, Opened, SEGMENT_BYTES, in_every_shape, options};
use sardonyx::disk::GroupLimits;
use sardonyx::schema::{Schema, Type, Value};
use sardonyx::{Checkpoints, Durability, Error, Options, Shape, Tables};
use sardonyx_base::random::stride;
use sardonyx_rows::TableError;
use sardonyx_storage::disk::{Disk, Faults, SimulatedDisk};
use sardonyx_storage::log::reader::LogReader;
use sardonyx_storage::log::{LogLayout, LogPosition};
use std::ops::Range;
use std::sync::Arc;

/// One transaction that puts items, with a note of each.
fn put_all(
    opened: &Opened,
    model: &mut Model,
    durability: Durability,
    ids: Range<u64>,
    value: u64,
) -> Result<(), Error> {
    let all = ids.clone();
    opened
        .database
        .transaction()
        .durability(durability)
        .run(|transaction| {
            for id in all {
                // All of it changes, and so all of it is in the log.
                let item = Item {
                    filler: [value as u8; 112],
                    ..Item::new(id, value)
                };
                let updated = transaction.update(opened.items, id, |found| *found = item)?;
                if updated.is_none() {
                    transaction.insert(opened.items, &item)?;
                }
                let note = Note {
                    account: id,
                    amount: value,
                };
                transaction.append(opened.notes, &note)?;
            }
            Ok(())
        })?;
    ids.for_each(|id| model.put(id, value));
    Ok(())
}

/// The content, of items whose filler is their value's.
fn contents(opened: &Opened) -> Model {
    let mut model = Model::default();
    let read = opened.database.read(|view| {
        for item in view.scan(opened.items)? {
            let item = item?;
            assert_eq!(item.filler, [item.value as u8; 112], "whole");
            assert_eq!(view.get(opened.items, item.id)?, Some(item), "indexed");
            model.items.insert(item.id, item.value);
        }
        Ok(())
    });
    read.expect("reads");
    let notes = opened.database.journal_rows(opened.notes, |note| {
        model.notes.push((note.account, note.amount));
        true
    });
    notes.expect("readable");
    model
}

/// The bytes of the segments of each spanning group in a log that was never freed.
fn spanned(disk: &SimulatedDisk) -> Vec<u64> {
    let layout = LogLayout::new(7, SEGMENT_BYTES);
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let mut reader = LogReader::open(&disk, layout, LogPosition::START).expect("a log");
    let mut spanned = Vec::new();
    while let Some((header, _)) = reader.next_group().expect("sound") {
        spanned.push(header.spanned_bytes);
    }
    spanned.retain(|bytes| *bytes > 0);
    spanned
}

#[test]
fn i4_large_transactions_commit_among_small_ones_in_every_shape() {
    in_every_shape(|shape| {
        let disk = SimulatedDisk::new(1, Faults::default());
        let opened = Opened::on(&disk, options(shape)).unwrap();
        let mut model = Model::default();
        use Durability::{Deferred, Durable};
        put_all(&opened, &mut model, Durable, 0..3, 1).unwrap();
        // In one group with those that wait there, it would not fit into a segment.
        put_all(&opened, &mut model, Deferred, 3..9, 2).unwrap();
        put_all(&opened, &mut model, Deferred, 5..12, 3).unwrap();
        put_all(&opened, &mut model, Deferred, 10..900, 4).unwrap();
        put_all(&opened, &mut model, Durable, 2..6, 5).unwrap();
        assert_eq!(contents(&opened), model);
        assert_eq!(spanned(&disk), [3 * SEGMENT_BYTES]);
        drop(opened);
        let disk = disk.next_process(Faults::default());
        let opened = Opened::on(&disk, options(shape)).unwrap();
        assert_eq!(contents(&opened), model);
        // Many times the log's size: checkpoints make room while the transactions run.
        for value in 10..16 {
            let ids = value..value + 500 + 100 * (value % 6);
            put_all(&opened, &mut model, Deferred, 0..2, value).unwrap();
            if common::checkpoints() == Checkpoints::FromSnapshots {
                // None can be taken while the transaction runs.
                opened.database.checkpoint().unwrap();
            }
            put_all(&opened, &mut model, Durable, ids, value).unwrap();
        }
        opened.database.close().unwrap();
        drop(opened);
        let disk = disk.restart(Faults::default());
        let opened = Opened::on(&disk, options(shape)).unwrap();
        assert_eq!(contents(&opened), model);
    });
}

#[test]
fn i10_what_the_log_has_no_room_for_is_refused_whole_and_so_is_what_a_bound_forbids() {
    in_every_shape(|shape| {
        let disk = SimulatedDisk::new(2, Faults::default());
        let bounded = options(shape).transaction_bytes(100_000);
        for (options, bound) in [
            (bounded, 100_000),
            (options(shape), 5 * SEGMENT_BYTES as usize - 64),
        ] {
            let opened = Opened::on(&disk, options).unwrap();
            let mut model = contents(&opened);
            put_all(&opened, &mut model, Durability::Durable, 0..2, 1).unwrap();
            let too_many = put_all(&opened, &mut model, Durability::Durable, 0..3000, 2);
            let error = too_many.unwrap_err();
            assert!(matches!(error, Error::Limit(_)), "{error}");
            let Some(TableError::TransactionTooLarge { bytes, limit }) = error.downcast_ref()
            else {
                panic!("{error}")
            };
            assert!(*bytes > *limit && *limit == bound, "{error}");
            assert_eq!(contents(&opened), model);
            put_all(&opened, &mut model, Durability::Durable, 0..400, 3).unwrap();
            assert_eq!(contents(&opened), model);
        }
    });
}

/// A small transaction and a large one in the same group, and a small one behind. The large one is whole or absent;
/// acknowledged ones are there. Returns the steps.
fn explore(seed: u64, faults: Faults, killed: bool) -> u64 {
    let disk = SimulatedDisk::new(seed, faults);
    let shape = Shape::Threadless;
    // The states that may be found: the last acknowledged one, and later ones.
    let mut states = vec![Model::default()];
    let mut live = || -> Result<(), Error> {
        let opened = Opened::on(&disk, options(shape))?;
        let mut model = Model::default();
        for (value, ids, durability) in [
            (1, 0..5, Durability::Durable),
            (2, 3..6, Durability::Deferred),
            (3, 0..700, Durability::Durable),
            (4, 600..604, Durability::Durable),
        ] {
            let mut after = model.clone();
            ids.clone().for_each(|id| after.put(id, value));
            states.push(after);
            put_all(&opened, &mut model, durability, ids, value)?;
            if durability == Durability::Durable {
                states = vec![model.clone()];
            }
        }
        Ok(())
    };
    let _ = live();
    let steps = disk.steps();
    let disk = match killed {
        true => disk.next_process(Faults::default()),
        false => disk.restart(Faults::default()),
    };
    let what = format!("{faults:?}");
    let opened = Opened::on(&disk, options(shape)).unwrap_or_else(|e| panic!("{what}: {e}"));
    let mut found = contents(&opened);
    assert!(states.contains(&found), "{what}: a state that never was");
    // It goes on over the remains there, and a crash after that loses nothing.
    put_all(&opened, &mut found, Durability::Durable, 100..600, 77).unwrap();
    disk.crash();
    let disk = disk.restart(Faults::default());
    let opened = Opened::on(&disk, options(shape)).unwrap_or_else(|e| panic!("{what}: {e}"));
    assert_eq!(contents(&opened), found, "{what}");
    steps
}

#[test]
fn i4_a_crash_a_kill_or_a_failed_sync_at_any_step_leaves_a_large_transaction_whole_or_absent() {
    let none = Faults::default();
    let steps = explore(0, none, false);
    assert!(steps > 20, "{steps}");
    for step in (1..=steps).step_by(stride(3)) {
        let at = Some(step);
        let crash = Faults {
            crash_at_step: at,
            ..none
        };
        explore(step, crash, false);
        let kill = Faults {
            kill_at_step: at,
            ..none
        };
        explore(step, kill, true);
        let sync = Faults {
            fail_sync_at: at,
            ..none
        };
        explore(step, sync, true);
    }
}

/// Widening rewrites every row in one transaction, here of more redo than shares a group.
#[test]
fn i4_a_column_of_many_rows_is_widened_whole() {
    const ROWS: u64 = 24_000;
    // By default, transactions of 17 MiB share one.
    let limits = GroupLimits {
        group_bytes: 512 << 10,
        transaction_bytes: 1 << 20,
        ..GroupLimits::default()
    };
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("wide.sdx");
    let open = || {
        let options = Options::new().group_limits(limits);
        options.open_tables(&path).expect("opens")
    };
    let sum = |database: &Tables| {
        let read = database.read(|view| {
            let rows = view.rows("things")?;
            let (mut sum, mut count) = (0, 0);
            for row in rows.scan() {
                if let Value::Int(size) = row?.get("size")?.to_value() {
                    sum += size;
                    count += 1;
                }
            }
            assert_eq!(count, ROWS);
            Ok((
                rows.schema().live_columns().last().expect("one").1.kind,
                sum,
            ))
        });
        read.expect("readable")
    };
    let database = open();
    let schema = Schema::new()
        .column("id", Type::U64)
        .column("size", Type::U32)
        .primary_key(["id"]);
    database.create_table("things", schema).expect("created");
    let filled = database.run(|tx| {
        let mut rows = tx.rows("things")?;
        (0..ROWS).try_for_each(|id| rows.insert_values(&[id.into(), (id % 1000).into()]))
    });
    filled.expect("filled");
    let expected: i128 = (0..ROWS).map(|id| i128::from(id % 1000)).sum();
    let before = database.statistics().log.payload_bytes;
    let widened = database.run(|tx| {
        tx.widen_column("things", "size", Type::I64)?;
        tx.rows("things")?
            .update(&[7.into()], &[("size", (-1).into())])
    });
    assert!(widened.expect("widened"));
    let logged = database.statistics().log.payload_bytes - before;
    assert!(logged > limits.transaction_bytes as u64, "{logged}");
    let after = (Type::I64, expected - 8);
    assert_eq!(sum(&database), after);
    // Undone, it has done nothing, however large.
    let undone = database.run(|tx| {
        tx.widen_column("things", "size", Type::I128)?;
        Err::<(), _>(Error::other("as planned"))
    });
    assert!(matches!(undone, Err(Error::Other(_))), "{undone:?}");
    assert_eq!(sum(&database), after);
    drop(database);
    assert_eq!(sum(&open()), after);
}
