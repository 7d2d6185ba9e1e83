//! A database that holds little is small and opened with little work; its log grows with use. During its growth
//! nothing acknowledged is lost (I1), nothing executed is stranded (I10), and a cut log is reported (I4).

use crate::common;
use crate::common::{Model, Opened};
use sardonyx::disk::GroupLimits;
use sardonyx::{Options, Shape};
use sardonyx_base::random::stride;
use sardonyx_storage::disk::{Disk, Faults, SimulatedDisk};
use std::sync::Arc;

const SEGMENT_BYTES: u64 = 256 << 10;

/// A log that begins with 16 KiB and grows to segments of 256 KiB.
fn growing(shape: Shape) -> Options {
    let limits = GroupLimits {
        group_bytes: 16 << 10,
        transaction_bytes: 128 << 10,
        depth: 2,
        buffers: 6,
    };
    common::options(shape)
        .segment_bytes(SEGMENT_BYTES)
        .log_bytes_max(4 * SEGMENT_BYTES)
        .log_bytes_first(16 << 10)
        .group_limits(limits)
}

/// A disk before its first database; or one with a database whose log was compacted, which is as small. And the
/// content of the database.
fn beginning(seed: u64, faults: Faults, compacted: bool) -> (SimulatedDisk, Model) {
    let mut model = Model::default();
    if !compacted {
        return (SimulatedDisk::new(seed, faults), model);
    }
    let disk = SimulatedDisk::new(seed, Faults::default());
    let opened = Opened::on(&disk, growing(Shape::Threadless)).unwrap();
    for n in 0..100 {
        opened.put(n % 3, n).unwrap();
        model.put(n % 3, n);
    }
    opened.database.close().unwrap();
    assert!(log_bytes(&disk) > SEGMENT_BYTES);
    let options = growing(Shape::Threadless);
    let compacted = options.compact_on(Arc::new(disk.clone()), |_, _| {});
    compacted.unwrap();
    assert_eq!(log_bytes(&disk), 16 << 10);
    (disk.restart(faults), model)
}

/// The database has the model's content.
fn check(opened: &Opened, model: &Model) {
    assert_eq!(opened.contents().expect("readable"), *model);
}

fn log_bytes(disk: &SimulatedDisk) -> u64 {
    let files = disk.files();
    let log = files.iter().filter(|name| name.starts_with("log/"));
    log.map(|name| disk.read_all(name).expect("listed").len() as u64)
        .sum()
}

#[test]
fn an_empty_database_is_small_and_opened_in_few_steps() {
    let options = || Options::new().shape(Shape::Threadless).identity(7);
    let disk = SimulatedDisk::new(1, Faults::default());
    let made = options().open_tables_on(Arc::new(disk.clone())).unwrap();
    let made_in = disk.steps();
    made.close().unwrap();
    let files = disk.files();
    let bytes: usize = files
        .iter()
        .map(|name| disk.read_all(name).expect("listed").len())
        .sum();
    assert!(bytes < 1 << 20, "{bytes} bytes in {files:?}");
    let disk = disk.next_process(Faults::default());
    let again = options().open_tables_on(Arc::new(disk.clone())).unwrap();
    assert!(made_in <= 40, "made in {made_in} steps");
    assert!(disk.steps() <= 30, "opened in {} steps", disk.steps());
    drop(again);
}

#[test]
fn a_log_grows_by_doubling_and_then_by_segments_and_is_read_at_every_length() {
    for compacted in [false, true] {
        let (mut disk, mut model) = beginning(2, Faults::default(), compacted);
        let mut lengths = Vec::new();
        for n in 0..60u64 {
            let opened = Opened::on(&disk, growing(Shape::Threadless)).unwrap();
            check(&opened, &model);
            for id in 0..3 {
                opened.put(id, n).unwrap();
                model.put(id, n);
            }
            if n % 3 == 0 {
                opened.database.close().unwrap();
            }
            lengths.push(log_bytes(&disk));
            disk = disk.restart(Faults::default());
        }
        lengths.dedup();
        let kib: Vec<u64> = lengths.iter().map(|bytes| bytes >> 10).collect();
        let expected = [64, 128, 256, 512, 768];
        let first = kib.iter().position(|kib| *kib == 64).expect("short");
        assert_eq!(
            kib[first..][..5],
            expected,
            "compacted: {compacted}, {kib:?}"
        );
    }
}

#[test]
fn i10_a_transaction_larger_than_what_is_prepared_has_it_prepared_or_is_undone() {
    for shape in [Shape::Threadless, Shape::Coalesced] {
        let disk = SimulatedDisk::new(3, Faults::default());
        let mut model = Model::default();
        let opened = Opened::on(&disk, growing(shape)).unwrap();
        for id in 1..=4 {
            opened.put(id, 1).unwrap();
            model.put(id, 1);
        }
        drop(opened);
        let used: usize = disk
            .files()
            .iter()
            .map(|name| disk.read_all(name).expect("listed").len())
            .sum();
        let disk = disk.next_process(Faults {
            capacity_bytes: Some(used as u64 + 20_000),
            ..Faults::default()
        });
        let opened = Opened::on(&disk, growing(shape)).unwrap();
        let large = |ids: std::ops::Range<u64>| {
            opened.database.run(|transaction| {
                for id in ids {
                    transaction.insert(opened.items, &common::Item::new(id, 5))?;
                }
                Ok::<_, sardonyx::Error>(())
            })
        };
        let error = large(1000..1600).unwrap_err();
        assert!(error.to_string().contains("free disk space"), "{error}");
        // It was undone, and a smaller one goes on.
        check(&opened, &model);
        opened.put(9, 2).unwrap();
        model.put(9, 2);
        drop(opened);
        let disk = disk.next_process(Faults::default());
        let opened = Opened::on(&disk, growing(shape)).unwrap();
        check(&opened, &model);
        opened
            .database
            .run(|transaction| {
                for id in 1000..1600 {
                    transaction.insert(opened.items, &common::Item::new(id, 5))?;
                }
                Ok::<_, sardonyx::Error>(())
            })
            .unwrap();
        drop(opened);
        let disk = disk.restart(Faults::default());
        let opened = Opened::on(&disk, growing(shape)).unwrap();
        let found = opened
            .database
            .read(|view| view.count(opened.items))
            .unwrap();
        assert_eq!(found, 605, "{shape:?}");
    }
}

/// Puts items in as many lives as it takes; every life but the last ends by the fault.
fn explore(seed: u64, faults: Faults, (killed, compacted): (bool, bool)) -> u64 {
    let shape = Shape::Threadless;
    let (disk, mut model) = beginning(seed, faults, compacted);
    let mut unknown = None;
    let live = |disk: &SimulatedDisk, model: &mut Model, unknown: &mut Option<u64>| {
        let Ok(opened) = Opened::on(disk, growing(shape)) else {
            return;
        };
        for n in 0..24u64 {
            if opened.put(n % 5, n).is_err() {
                *unknown = Some(n);
                return;
            }
            model.put(n % 5, n);
        }
    };
    live(&disk, &mut model, &mut unknown);
    let steps = disk.steps();
    let disk = match killed {
        true => disk.next_process(Faults::default()),
        false => disk.restart(Faults::default()),
    };
    let what = format!("{faults:?}");
    // A process that goes on after the fault, and a crash of the machine after that.
    let opened = Opened::on(&disk, growing(shape)).unwrap_or_else(|e| panic!("{what}: {e}"));
    if let Some(n) = unknown
        && opened
            .database
            .read(|view| {
                let item = view.get(opened.items, n % 5)?;
                Ok(item.is_some_and(|item| item.value == n))
            })
            .unwrap()
    {
        model.put(n % 5, n);
    }
    check(&opened, &model);
    for n in 100..112u64 {
        opened
            .put(n % 5, n)
            .unwrap_or_else(|e| panic!("{what}: {e}"));
        model.put(n % 5, n);
    }
    disk.crash();
    let disk = disk.restart(Faults::default());
    let opened = Opened::on(&disk, growing(shape)).unwrap_or_else(|e| panic!("{what}: {e}"));
    check(&opened, &model);
    steps
}

#[test]
fn i1_a_crash_a_kill_or_a_failed_sync_at_any_step_of_growing_loses_nothing() {
    for compacted in [false, true] {
        let steps = explore(0, Faults::default(), (false, compacted));
        assert!(steps > 60, "{steps}");
        for step in (1..=steps).step_by(stride(7)) {
            let (at, none) = (Some(step), Faults::default());
            let (mut crash, mut kill, mut sync) = (none, none, none);
            (crash.crash_at_step, kill.kill_at_step, sync.fail_sync_at) = (at, at, at);
            explore(step, crash, (false, compacted));
            explore(step, kill, (true, compacted));
            explore(step, sync, (true, compacted));
        }
    }
}

#[test]
fn i4_a_first_segment_that_was_cut_is_told_wherever() {
    for compacted in [false, true] {
        cut_everywhere(&beginning(4, Faults::default(), compacted).0);
    }
}

fn cut_everywhere(disk: &SimulatedDisk) {
    let opened = Opened::on(disk, growing(Shape::Threadless)).unwrap();
    for n in 0..20 {
        opened.put(n % 3, n).unwrap();
    }
    drop(opened);
    let files = disk.files();
    let segment = files.iter().find(|name| name.starts_with("log/"));
    let segment: &str = segment.expect("it is there");
    let bytes = disk.read_all(segment).expect("it is there");
    let end = bytes.len() - bytes.iter().rev().position(|byte| *byte != 0).expect("log");
    let end = end.next_multiple_of(4096);
    assert!(end + 4096 < bytes.len() && (bytes.len() as u64) < SEGMENT_BYTES);
    for length in (0..=end).step_by(2048) {
        let cut = disk.next_process(Faults::default());
        cut.replace(segment, &bytes[..length]).unwrap();
        let outcome = Opened::on(&cut, growing(Shape::Threadless));
        let error = outcome.map(drop).expect_err(&format!("cut at {length}"));
        assert!(
            error.to_string().contains(segment),
            "cut at {length}: {error}"
        );
        cut.replace(segment, &bytes).unwrap();
    }
    // Behind the log's end nothing is lost.
    let cut = disk.next_process(Faults::default());
    cut.replace(segment, &bytes[..end + 4096]).unwrap();
    Opened::on(&cut, growing(Shape::Threadless)).unwrap();
}

#[test]
fn a_log_that_was_prepared_whole_opens_as_ever() {
    let disk = SimulatedDisk::new(5, Faults::default());
    // As versions before made it: whole segments from the beginning.
    let whole = || growing(Shape::Threadless).log_bytes_first(SEGMENT_BYTES);
    Opened::on(&disk, whole()).unwrap().put(1, 1).unwrap();
    assert!(log_bytes(&disk) >= 2 * SEGMENT_BYTES);
    let disk = disk.restart(Faults::default());
    let opened = Opened::on(&disk, growing(Shape::Threadless)).unwrap();
    let mut model = Model::default();
    model.put(1, 1);
    check(&opened, &model);
    opened.put(1, 2).unwrap();
    let listed = disk.list("log").unwrap();
    assert_eq!(listed.len(), 2);
}
