//! A disk that is full for a while. Steps that left nothing half done are tried again, and callers get an error
//! meanwhile. Everything goes on afterwards, and a full disk keeps no database from being opened (I14). Nothing
//! acknowledged is lost, after a crash at any step.

use crate::common::{Model, Opened, SEGMENT_BYTES, SHAPES, options};
use sardonyx::{Error, Shape};
use sardonyx_base::random::stride;
use sardonyx_storage::crashes::End;
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use sardonyx_storage::log::LogError;

fn full_between(from: u64, until: u64) -> Faults {
    End::Full(from, until).faults()
}

/// The lengths of all files.
fn used_bytes(disk: &SimulatedDisk) -> u64 {
    let files = disk.files();
    let lengths = files.iter().filter_map(|name| disk.read_all(name));
    lengths.map(|bytes| bytes.len() as u64).sum()
}

fn room_for(bytes: u64) -> Faults {
    Faults {
        capacity_bytes: Some(bytes),
        ..Faults::default()
    }
}

fn assert_says_what_to_do(error: &Error) {
    let Some(LogError::Full { reason }) = error.downcast_ref() else {
        panic!("{error:?}");
    };
    assert!(reason.contains("free disk space"), "{reason}");
}

/// Counts of the effects of a full disk.
#[derive(Default, Debug)]
struct Seen {
    refused: usize,
    waited: usize,
    archive_waited: usize,
}

impl Seen {
    fn look(&mut self, opened: &Opened) {
        let totals = opened.database.statistics().checkpoint;
        assert!(
            !totals.stopped,
            "{:?}",
            opened.database.checkpoint_failure()
        );
        if let Some(waiting) = opened.database.checkpoint_waiting() {
            self.waited += 1;
            self.archive_waited += usize::from(waiting.cause.to_string().contains("archive"));
        }
    }
}

/// Runs transactions until all are through, over a time in which the disk is full.
fn everything_goes_on(shape: Shape, from: u64, until: u64, seen: &mut Seen) {
    let what = format!("{shape:?}: full from step {from} to {until}");
    let disk = SimulatedDisk::new(from, Faults::default());
    Opened::on(&disk, options(shape)).unwrap();
    let disk = disk.restart(full_between(from, until));
    let opened = Opened::on(&disk, options(shape)).unwrap_or_else(|e| panic!("{what}: {e}"));
    let mut model = Model::default();
    // More and more items, so that the backup has to grow.
    for n in 0..400 {
        for attempt in 0.. {
            match opened.put(n, n) {
                Ok(()) => break,
                Err(error) => assert_says_what_to_do(&error),
            }
            seen.refused += 1;
            seen.look(&opened);
            // The checkpointer tries again by itself, now and then. This has it try now.
            let _ = opened.database.checkpoint();
            assert!(attempt < 500, "{what}: still refused");
        }
        model.put(n, n);
        seen.look(&opened);
    }
    for attempt in 0.. {
        match opened.database.checkpoint() {
            Ok(()) => break,
            Err(error) => assert!(error.to_string().contains("goes on by itself"), "{error}"),
        }
        seen.look(&opened);
        assert!(attempt < 500, "{what}: no checkpoint");
    }
    assert!(opened.database.checkpoint_waiting().is_none(), "{what}");
    assert_eq!(opened.contents().expect("readable"), model, "{what}");
    drop(opened);
    let disk = disk.restart(Faults::default());
    let opened = Opened::on(&disk, options(shape)).unwrap_or_else(|e| panic!("{what}: {e}"));
    assert_eq!(opened.contents().expect("readable"), model, "{what}");
}

#[test]
fn i14_a_disk_that_is_full_for_a_while_stops_nothing_for_good() {
    for shape in SHAPES {
        let mut seen = Seen::default();
        for from in (6..250).step_by(stride(17)) {
            everything_goes_on(shape, from, from + 30, &mut seen);
        }
        assert!(seen.refused > 0 && seen.waited > 0, "{shape:?}: {seen:?}");
        if shape == Shape::Threadless {
            assert!(seen.archive_waited > 0, "{seen:?}");
        }
    }
}

#[test]
fn i14_a_full_disk_is_opened_and_read_and_goes_on_when_there_is_room() {
    for shape in SHAPES {
        for puts in [1, 30, 90, 200] {
            let disk = SimulatedDisk::new(puts, Faults::default());
            let opened = Opened::on(&disk, options(shape)).unwrap();
            let mut model = Model::default();
            for n in 0..puts {
                opened.put(n, n).unwrap();
                model.put(n, n);
            }
            drop(opened);
            // Not a byte more than it takes, and that twice.
            let mut disk = disk.restart(Faults::default());
            for _ in 0..2 {
                let full = room_for(used_bytes(&disk));
                disk = disk.restart(full);
                let opened = Opened::on(&disk, options(shape))
                    .unwrap_or_else(|e| panic!("{shape:?} after {puts}: {e}"));
                assert_eq!(opened.contents().expect("readable"), model);
                // A little fits the prepared part; then it is refused, or a checkpoint frees log.
                for n in 0..40 {
                    match opened.put(n % 5, n) {
                        Ok(()) => model.put(n % 5, n),
                        Err(error) => assert_says_what_to_do(&error),
                    }
                }
                assert_eq!(opened.contents().expect("readable"), model);
            }
            disk = disk.restart(Faults::default());
            let opened = Opened::on(&disk, options(shape)).unwrap();
            opened.put(1, 1).unwrap();
            model.put(1, 1);
            opened.database.checkpoint().unwrap();
            assert_eq!(opened.contents().expect("readable"), model);
        }
    }
}

/// As long as existing bytes may be changed without more room, a full disk is like a log at its limit: checkpoints
/// free it.
#[test]
fn i14_on_a_full_disk_checkpoints_free_the_log_for_ever() {
    for shape in SHAPES {
        let disk = SimulatedDisk::new(1, Faults::default());
        let without_journal =
            || options(shape).journal_retention(sardonyx::journals::Retention::Nothing);
        let opened = Opened::on(&disk, without_journal()).unwrap();
        for n in 0..20 {
            opened.put(n, n).unwrap();
        }
        opened.database.checkpoint().unwrap();
        opened.database.checkpoint().unwrap();
        drop(opened);
        let disk = disk.restart(Faults::default());
        let used = used_bytes(&disk);
        let disk = disk.restart(room_for(used));
        let opened = Opened::on(&disk, without_journal()).unwrap();
        // Many times the prepared part.
        let groups = 20 * SEGMENT_BYTES / 4096;
        for n in 0..groups {
            let put = opened.put(n % 20, n);
            put.unwrap_or_else(|e| panic!("{shape:?}, put {n} of {groups}: {e}"));
        }
    }
}

#[test]
fn i14_a_crash_at_any_step_of_a_full_disk_loses_nothing_acknowledged() {
    let mut crashes = 0;
    for seed in 0..3 {
        for crash_at in (4..130).step_by(2) {
            let disk = SimulatedDisk::new(seed, Faults::default());
            Opened::on(&disk, options(Shape::Threadless)).unwrap();
            let from = 12 + 11 * (crash_at % 4);
            let disk = disk.restart(Faults {
                crash_at_step: Some(crash_at),
                ..full_between(from, from + 40)
            });
            let mut acknowledged = Model::default();
            let mut last = None;
            if let Ok(opened) = Opened::on(&disk, options(Shape::Threadless)) {
                for n in 0..150 {
                    match opened.put(n, n) {
                        Ok(()) => acknowledged.put(n, n),
                        Err(_) if disk.has_crashed() => {
                            last = Some(n);
                            break;
                        }
                        Err(error) => assert_says_what_to_do(&error),
                    }
                }
            }
            crashes += usize::from(disk.has_crashed());
            let disk = disk.restart(Faults::default());
            let opened = Opened::on(&disk, options(Shape::Threadless)).unwrap();
            let found = opened.contents().expect("readable");
            let mut with_last = acknowledged.clone();
            if let Some(n) = last {
                with_last.put(n, n);
            }
            assert!(
                found == acknowledged || found == with_last,
                "seed {seed}, crash at {crash_at}: {found:?}, {acknowledged:?}"
            );
        }
    }
    assert!(crashes > 100, "{crashes}");
}
