//! A log of entries at a watched disk: the view of others while segments are removed, and failures and panics at that
//! time.

use crate::common::watched::{Change, WatchedDisk};
use sardonyx_storage::disk::{DiskError, Faults, SimulatedDisk};
use sardonyx_storage::remote_log::entry_log::{EntryLog, EntryLogError, EntryLogOptions};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, Weak};

/// A log of small segments, whose disk calls `look` before each change.
fn open(
    look: impl Fn(&str, Change) -> Result<(), DiskError> + Send + Sync + 'static,
) -> Arc<EntryLog> {
    let disk = WatchedDisk::new(SimulatedDisk::new(1, Faults::default()), look);
    let options = EntryLogOptions {
        segment_bytes: 64 << 10,
    };
    Arc::new(EntryLog::open(Arc::new(disk), &options).unwrap())
}

/// Puts entries of more segments than are kept to be used again, and returns their numbers.
fn fill(log: &EntryLog) -> Vec<u64> {
    let numbers: Vec<u64> = (1..=40).collect();
    for number in &numbers {
        log.append(*number, &[7; 20_000]).unwrap();
    }
    numbers
}

#[test]
fn segments_for_large_entries_are_not_filled_with_zeroes() {
    let prepared = Arc::<Mutex<Vec<Change>>>::default();
    let looks = prepared.clone();
    let look = move |name: &str, change| {
        // The first segment grows under its own name.
        if name.contains(".new") && matches!(change, Change::Preallocate | Change::Allocate) {
            looks.lock().unwrap().push(change);
        }
        Ok(())
    };
    let disk = Arc::new(SimulatedDisk::new(1, Faults::default()));
    let watched = WatchedDisk::new(disk.as_ref().clone(), look);
    let options = EntryLogOptions {
        segment_bytes: 1 << 20,
    };
    let log = EntryLog::open(Arc::new(watched), &options).unwrap();
    prepared.lock().unwrap().clear();
    let entry = |number: u64, length| vec![number as u8; length];
    let put = |numbers: std::ops::Range<u64>, length| {
        for number in numbers {
            log.append(number, &entry(number, length)).unwrap();
        }
        std::mem::take(&mut *prepared.lock().unwrap())
    };
    let of_large = put(1..9, 300_000);
    assert!(of_large.len() > 1, "{of_large:?}");
    assert!(of_large.iter().all(|change| *change == Change::Allocate));
    let of_small = put(9..90, 100_000);
    assert!(of_small.len() > 1, "{of_small:?}");
    assert!(of_small.iter().all(|change| *change == Change::Preallocate));
    // They are read back, also by the next process.
    log.close();
    drop(log);
    let log = EntryLog::open(disk, &options).unwrap();
    for (number, length) in [(1, 300_000), (8, 300_000), (9, 100_000), (89, 100_000)] {
        assert_eq!(log.read(number).unwrap(), Some(entry(number, length)));
    }
}

fn broken(name: &str) -> DiskError {
    DiskError::new("sync directory", name, 0, io::Error::other("broken"))
}

fn takes_nothing_more(log: &EntryLog) {
    for error in [
        log.append(1000, b"more").map(drop),
        log.remove(&[40]),
        log.remove(&[1000]),
    ] {
        let error = error.unwrap_err();
        assert!(matches!(error, EntryLogError::Poisoned { .. }), "{error}");
    }
    log.close();
}

#[test]
fn a_read_while_segments_are_removed_finds_no_entry_and_no_error() {
    let there = Arc::new(OnceLock::<Weak<EntryLog>>::new());
    let (trims, found) = (Arc::new(AtomicBool::new(false)), Arc::default());
    let (looks, finds) = (
        (there.clone(), trims.clone()),
        Arc::<Mutex<Vec<_>>>::clone(&found),
    );
    let log = open(move |_, change| {
        if looks.1.load(Relaxed) && change == Change::SyncDirectory {
            let log = looks.0.get().and_then(Weak::upgrade).unwrap();
            let read = log.read(1).map_err(|error| error.to_string());
            finds.lock().unwrap().push((read, log.count()));
        }
        Ok(())
    });
    there.set(Arc::downgrade(&log)).unwrap();
    let numbers = fill(&log);
    trims.store(true, Relaxed);
    log.remove(&numbers).unwrap();
    trims.store(false, Relaxed);
    let found = found.lock().unwrap();
    assert!(!found.is_empty(), "no segment was removed");
    assert!(
        found.iter().all(|found| *found == (Ok(None), 0)),
        "{found:?}"
    );
}

#[test]
fn an_entry_that_is_removed_while_its_read_is_tried_again_is_not_there() {
    let there = Arc::new(OnceLock::<Weak<EntryLog>>::new());
    // 0 until the read begins, then the number of the next opening of a file.
    let opening = Arc::new(AtomicU64::new(0));
    let looks = (there.clone(), opening.clone());
    let log = open(move |name, change| {
        if change != Change::Open || looks.1.load(Relaxed) == 0 {
            return Ok(());
        }
        let number = looks.1.fetch_add(1, Relaxed);
        if number == 2 {
            let log = looks.0.get().and_then(Weak::upgrade).unwrap();
            log.remove(&[1]).unwrap();
        }
        match number <= 2 {
            true => Err(broken(name)),
            false => Ok(()),
        }
    });
    there.set(Arc::downgrade(&log)).unwrap();
    log.append(1, b"one").unwrap();
    log.append(2, b"two").unwrap();
    opening.store(1, Relaxed);
    assert_eq!(log.read(1).unwrap(), None);
    assert_eq!(log.read(2).unwrap().as_deref(), Some(&b"two"[..]));
}

#[test]
fn i7_after_a_removal_of_a_segment_whose_sync_failed_nothing_is_taken() {
    let (trims, fails) = (Arc::new(AtomicBool::new(false)), AtomicBool::new(false));
    let looks = trims.clone();
    let log = open(move |name, change| {
        if looks.load(Relaxed) && change == Change::Remove {
            fails.store(true, Relaxed);
        }
        match change == Change::SyncDirectory && fails.load(Relaxed) {
            true => Err(broken(name)),
            false => Ok(()),
        }
    });
    let numbers = fill(&log);
    trims.store(true, Relaxed);
    // The group that removes them is stable.
    log.remove(&numbers[..39]).unwrap();
    assert_eq!(log.count(), 1);
    takes_nothing_more(&log);
    assert_eq!(log.read(40).unwrap(), Some(vec![7; 20_000]));
}

#[test]
fn i7_a_panic_of_the_thread_that_writes_is_an_error_and_none_waits_for_it() {
    let panics = Arc::new(AtomicBool::new(false));
    let looks = panics.clone();
    let log = open(move |_, change| {
        let panics = looks.load(Relaxed) && change == Change::SyncDirectory;
        assert!(!panics, "planted");
        Ok(())
    });
    fill(&log);
    panics.store(true, Relaxed);
    // One of them needs a segment.
    let error = (41..60).find_map(|number| log.append(number, &[7; 20_000]).err());
    let error = error.expect("a segment is prepared").to_string();
    assert!(error.contains("planted"), "{error}");
    panics.store(false, Relaxed);
    takes_nothing_more(&log);
    assert_eq!(log.read(1).unwrap(), Some(vec![7; 20_000]));
}
