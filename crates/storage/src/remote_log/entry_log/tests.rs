//! An entry log that is used by several threads, damaged, full, and opened twice.

use super::change::{TRAILER_BYTES, put_bytes};
use super::{EntryLog, EntryLogError, EntryLogOptions, Removals};
use crate::disk::{Disk, Faults, RealDisk, SimulatedDisk};
use crate::log::group::GROUP_HEADER_BYTES;
use crate::log::segment::{LOG_DIRECTORY, segment_file, segments_present};
use crate::log::supply::Supplied;
use crate::remote_log::store::Appended;
use std::collections::BTreeMap;
use std::sync::Arc;

const SEGMENT_BYTES: u64 = 64 << 10;

pub(super) const OPTIONS: EntryLogOptions = EntryLogOptions {
    segment_bytes: SEGMENT_BYTES,
};

pub(super) fn open(disk: &SimulatedDisk) -> Result<EntryLog, EntryLogError> {
    EntryLog::open(Arc::new(disk.clone()), &OPTIONS)
}

/// The bytes of an entry, made of its number.
fn bytes(number: u64, length: usize) -> Vec<u8> {
    let mut bytes = number.to_le_bytes().repeat(length / 8 + 1);
    bytes.truncate(length);
    bytes
}

fn put(log: &EntryLog, number: u64, length: usize) {
    let appended = log.append(number, &bytes(number, length)).unwrap();
    assert_eq!(appended, Appended::Ok, "entry {number}");
}

fn segments(disk: &SimulatedDisk) -> Vec<u64> {
    segments_present(disk).unwrap().into_iter().collect()
}

#[test]
fn entries_are_there_once_until_they_are_removed_and_after_a_reopening() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let log = open(&disk).unwrap();
    let lengths = [0, 1, 8, 4000, 70_000, 200_000, 5];
    for (number, length) in (1..).zip(lengths) {
        put(&log, number, length);
        assert_eq!(log.append(number, b"other").unwrap(), Appended::Conflict);
    }
    log.remove(&[2, 2, 99]).unwrap();
    log.remove(&[]).unwrap();
    log.close();
    drop(log);
    let log = open(&disk).unwrap();
    for (number, length) in (1..).zip(lengths) {
        let expected = (number != 2).then(|| bytes(number, length));
        assert_eq!(log.read(number).unwrap(), expected, "entry {number}");
    }
    let listed: Vec<_> = log.list(2).iter().map(|l| (l.number, l.bytes)).collect();
    assert_eq!(
        listed,
        [(3, 8), (4, 4000), (5, 70_000), (6, 200_000), (7, 5)]
    );
    // Under a number that was removed another entry may come.
    put(&log, 2, 9);
    assert_eq!(log.read(2).unwrap(), Some(bytes(2, 9)));
    assert_eq!(log.count(), 7);
}

#[test]
fn an_entry_costs_one_durable_write_where_the_log_is_prepared() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let log = open(&disk).unwrap();
    put(&log, 1, 100);
    let before = disk.steps();
    (2..6).for_each(|number| put(&log, number, 4000));
    assert_eq!(disk.steps() - before, 4);
}

#[test]
fn freed_segments_are_used_again_and_no_more_are_kept_than_said() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let log = open(&disk).unwrap();
    let mut most = 0;
    for number in 1..200 {
        put(&log, number, 20_000);
        if number > 10 {
            log.remove(&[number - 10]).unwrap();
        }
        most = most.max(segments(&disk).len());
    }
    // 10 entries, of which two fit into a segment, one prepared, and four to be used again.
    assert!(most <= 6 + 2 + 4, "{most} segments");
    // All at once.
    (200..400).for_each(|number| put(&log, number, 20_000));
    log.remove(&(1..400).collect::<Vec<_>>()).unwrap();
    let left = segments(&disk);
    // The one that is written, those that are prepared behind it, and four.
    assert!(left.len() <= 1 + 3 + 4, "{left:?}");
    drop(log);
    let log = open(&disk).unwrap();
    assert_eq!(log.count(), 0);
    put(&log, 1, 10);
}

#[test]
fn one_directory_has_one_owner_and_nothing_of_others() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let log = open(&disk).unwrap();
    let error = open(&disk).unwrap_err();
    assert!(matches!(error, EntryLogError::InUse { .. }), "{error}");
    drop(log);
    open(&disk).unwrap();
    for name in ["MANIFEST", "log/0000000000000000.log"] {
        let disk = SimulatedDisk::new(1, Faults::default());
        disk.create_directory(LOG_DIRECTORY).unwrap();
        let access = crate::disk::Access::Buffered;
        disk.open(name, access, crate::disk::Create::New).unwrap();
        let error = open(&disk).unwrap_err();
        assert!(matches!(error, EntryLogError::Foreign { .. }), "{error}");
        assert!(error.to_string().contains(name), "{error}");
    }
}

#[test]
fn of_several_that_put_under_one_number_one_succeeds_and_reads_see_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let disk = Arc::new(RealDisk::open(directory.path()).unwrap());
    let log = EntryLog::open(disk.clone(), &OPTIONS).unwrap();
    let (threads, numbers) = (4, 60);
    let won = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads)
            .map(|thread: u64| {
                let log = &log;
                scope.spawn(move || {
                    let mut won = Vec::new();
                    for number in 1..=numbers {
                        let own = bytes(thread, 100 + 3000 * (number % 9) as usize);
                        let appended = log.append(number, &own).unwrap();
                        let found = log.read(number).unwrap().expect("it is there");
                        match appended {
                            Appended::Ok => {
                                assert_eq!(found, own);
                                won.push(number);
                            }
                            Appended::Conflict => assert_ne!(found, own),
                        }
                        if number % 7 == 0 {
                            log.remove(&[1_000_000 + number]).unwrap();
                        }
                    }
                    won
                })
            })
            .collect();
        let won = threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap());
        won.collect::<Vec<_>>()
    });
    let mut each = won.clone();
    each.sort_unstable();
    assert_eq!(each, (1..=numbers).collect::<Vec<_>>());
    drop(log);
    let log = EntryLog::open(disk, &OPTIONS).unwrap();
    assert_eq!(log.count() as u64, numbers);
}

#[test]
fn a_full_disk_refuses_entries_and_takes_removals_that_make_room() {
    let faults = Faults {
        capacity_bytes: Some(10 * SEGMENT_BYTES),
        ..Faults::default()
    };
    let disk = SimulatedDisk::new(1, faults);
    let mut log = open(&disk).unwrap();
    for round in 0..3u64 {
        let mut number = 1000 * round + 1;
        let error = loop {
            match log.append(number, &bytes(number, 3000)) {
                Ok(appended) => assert_eq!(appended, Appended::Ok),
                Err(error) => break error,
            }
            number += 1;
        };
        assert!(matches!(error, EntryLogError::NoRoom(_)), "{error}");
        let entries = log.count();
        assert!(entries > 80, "{entries} entries");
        // It is opened, too, and some are removed at a time, until an entry is taken.
        log.close();
        drop(log);
        log = open(&disk).unwrap();
        assert_eq!(log.count(), entries);
        let mut removed = 0;
        let own = bytes(number, 3000);
        while let Err(error) = log.append(number, &own) {
            assert!(matches!(error, EntryLogError::NoRoom(_)), "{error}");
            let first: Vec<u64> = log.list(0).iter().take(8).map(|l| l.number).collect();
            log.remove(&first).unwrap();
            removed += first.len();
        }
        // A segment has 16 of them.
        assert!(removed <= 4 * 16, "{removed} removed");
    }
}

#[test]
fn i7_after_a_failed_write_nothing_is_taken_and_what_was_stable_is_read() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let log = open(&disk).unwrap();
    put(&log, 1, 100);
    drop(log);
    // Of the next opening: some syncs, then the one of an entry.
    for sync in 1.. {
        let faults = Faults {
            fail_sync_at: Some(sync),
            ..Faults::default()
        };
        let failing = disk.restart(faults);
        let Ok(log) = open(&failing) else { continue };
        assert!(log.failure().is_none());
        let error = log.append(2, b"two").unwrap_err();
        assert!(matches!(error, EntryLogError::Poisoned { .. }), "{error}");
        for error in [
            log.append(2, b"two").map(drop),
            log.append(1, b"one").map(drop),
            log.remove(&[1]),
        ] {
            let error = error.unwrap_err();
            assert!(matches!(error, EntryLogError::Poisoned { .. }), "{error}");
        }
        assert!(log.failure().is_some());
        assert_eq!(log.read(1).unwrap(), Some(bytes(1, 100)));
        assert_eq!(log.read(2).unwrap(), None);
        break;
    }
}

#[test]
fn i7_after_a_sync_that_failed_in_the_supply_nothing_is_taken() {
    let mut found = 0;
    // Each sync that preparing a segment ahead has.
    for sync in 1..30 {
        let faults = Faults {
            fail_sync_at: Some(sync),
            ..Faults::default()
        };
        let disk = SimulatedDisk::new(1, faults);
        let Ok(log) = open(&disk) else { continue };
        if log.supply.step(&Removals) != Supplied::Refused {
            continue;
        }
        found += 1;
        let error = log.append(1, b"one").unwrap_err();
        assert!(matches!(error, EntryLogError::Poisoned { .. }), "{error}");
        let error = log.remove(&[1]).unwrap_err();
        assert!(matches!(error, EntryLogError::Poisoned { .. }), "{error}");
    }
    assert!(found > 1, "{found} syncs");
}

/// A log of several segments, and its disk, closed in order.
fn closed_log() -> (SimulatedDisk, BTreeMap<u64, Vec<u8>>) {
    let disk = SimulatedDisk::new(3, Faults::default());
    let log = open(&disk).unwrap();
    let mut entries = BTreeMap::new();
    for number in 1..=40 {
        let length = 300 + 450 * (number as usize % 20);
        put(&log, number, length);
        entries.insert(number, bytes(number, length));
    }
    put(&log, 41, 150_000);
    entries.insert(41, bytes(41, 150_000));
    put(&log, 42, 500);
    entries.insert(42, bytes(42, 500));
    for number in 1..9 {
        log.remove(&[number]).unwrap();
        entries.remove(&number);
    }
    log.close();
    drop(log);
    (disk.restart(Faults::default()), entries)
}

/// All entries as they were, or an error that names the file.
fn opens_whole_or_names(
    disk: &SimulatedDisk,
    entries: &BTreeMap<u64, Vec<u8>>,
    file: &str,
) -> bool {
    let log = match open(disk) {
        Err(error) => {
            assert!(error.to_string().contains(".log"), "{file}: {error}");
            return true;
        }
        Ok(log) => log,
    };
    let listed: Vec<_> = log.list(0).iter().map(|listed| listed.number).collect();
    assert_eq!(
        listed,
        entries.keys().copied().collect::<Vec<_>>(),
        "{file}"
    );
    for (number, bytes) in entries {
        assert_eq!(
            log.read(*number).unwrap().as_ref(),
            Some(bytes),
            "{file}: {number}"
        );
    }
    false
}

#[test]
fn damage_of_any_segment_is_an_error_that_names_it_and_never_a_shorter_log() {
    let (disk, entries) = closed_log();
    let stride = sardonyx_base::random::stride(37);
    let (mut found, mut harmless) = (0, 0);
    for segment in segments(&disk) {
        let file = segment_file(segment);
        let length = disk.read_all(&file).unwrap().len() as u64;
        for at in (0..length).step_by(127 * stride) {
            let damaged = disk.restart(Faults::default());
            damaged.corrupt(&file, at, |byte| byte ^ 4).unwrap();
            match opens_whole_or_names(&damaged, &entries, &format!("{file} at {at}")) {
                true => found += 1,
                false => harmless += 1,
            }
        }
        for cut in (0..length).step_by(1021 * stride) {
            let damaged = disk.restart(Faults::default());
            damaged.truncate(&file, cut).unwrap();
            opens_whole_or_names(&damaged, &entries, &format!("{file} cut to {cut}"));
        }
        let damaged = disk.restart(Faults::default());
        damaged.remove(&file).unwrap();
        opens_whole_or_names(&damaged, &entries, &format!("{file} removed"));
    }
    assert!(
        found > 20 && harmless > 10,
        "{found} found, {harmless} harmless"
    );
}

#[test]
fn an_entry_that_is_damaged_under_an_open_log_is_an_error_and_not_what_stands_there() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let log = open(&disk).unwrap();
    put(&log, 1, 5000);
    put(&log, 2, 5000);
    // Behind the group of the opening.
    let offset = 4096 + (GROUP_HEADER_BYTES + put_bytes(0) + TRAILER_BYTES + 50) as u64;
    disk.corrupt(&segment_file(0), offset, |byte| byte ^ 1)
        .unwrap();
    let error = log.read(1).unwrap_err().to_string();
    assert!(error.contains("offset 4096"), "{error}");
    assert_eq!(log.read(2).unwrap(), Some(bytes(2, 5000)));
}
