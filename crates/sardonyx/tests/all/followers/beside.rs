//! Followers beside a writer that goes on: it writes its checkpoint under the reader, cannot publish the end of its log, and
//! readers wait while the follower is closed.

use super::{PATIENCE, follow, items, items_in, new, put};
use crate::common::{Item, SEGMENT_BYTES, options};
use crate::watched::{Change, WatchedDisk};
use sardonyx::disk::{Disk, SimulatedDisk};
use sardonyx::journals::JournalPosition;
use sardonyx::{Error, Options, Shape, Tables};
use sardonyx_storage::disk::DiskError;
use sardonyx_storage::engine::{Guest, GuestError, Sight};
use sardonyx_storage::recovery::RecoveryOptions;
use sardonyx_table::FollowedSpace;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const ROWS: u64 = 9_000;
const BLOCK_BYTES: u32 = 4 << 10;

/// A database of some hundred blocks, which have a checkpoint, and of which one is written by each transaction.
fn large(disk: &SimulatedDisk) -> Tables {
    let options = options(Shape::Threadless)
        .block_bytes(BLOCK_BYTES)
        .log_bytes_max(256 * SEGMENT_BYTES)
        .checkpoint_interval_transactions(1);
    let tables = options.open_tables_on(Arc::new(disk.clone())).unwrap();
    let items = tables.table::<Item>().unwrap();
    for first in (0..ROWS).step_by(30) {
        let some = first..ROWS.min(first + 30);
        let filled = tables.run(|tx| {
            let mut ids = some.clone();
            ids.try_for_each(|id| tx.insert(items, &Item::new(id, id)).map(drop))
        });
        filled.unwrap();
    }
    tables.checkpoint().unwrap();
    tables.checkpoint().unwrap();
    tables
}

/// A reader's disk. Between a survey of the backup and the load of the first block the writer goes on by `burst`
/// transactions. It goes on by one at each fourth block that is loaded.
fn moving(disk: &SimulatedDisk, tables: &Arc<Tables>, burst: u64) -> (WatchedDisk, Arc<AtomicU64>) {
    let (surveyed, reads) = (AtomicBool::new(false), AtomicU64::new(0));
    let (tables, written) = (tables.clone(), Arc::new(AtomicU64::new(0)));
    let counted = written.clone();
    let write = move || {
        let n = written.fetch_add(1, Ordering::SeqCst);
        put(&tables, n * 37 % ROWS, 1_000_000 + n);
        tables.engine().checkpoint().pump();
    };
    let slot_bytes = u64::from(BLOCK_BYTES) + 4096;
    let look = move |name: &str, change: Change| {
        let Change::Read(offset) = change else {
            return Ok(());
        };
        if name.contains("backup/") {
            if offset % slot_bytes == 0 {
                surveyed.store(true, Ordering::SeqCst);
            } else if surveyed.swap(false, Ordering::SeqCst) {
                (0..burst).for_each(|_| write());
            } else if reads.fetch_add(1, Ordering::SeqCst) % 4 == 3 {
                write();
            }
        }
        Ok(())
    };
    let watched = WatchedDisk::new(disk.clone(), look);
    (watched.with_reads(), counted)
}

fn recovery() -> RecoveryOptions {
    RecoveryOptions {
        memory_max_bytes: 64 << 20,
        workers: 1,
        ..RecoveryOptions::default()
    }
}

#[test]
fn i13_a_guest_that_arrives_while_a_checkpoint_is_written_under_it_reads_what_is_there() {
    for burst in [0, 2, 20, 50] {
        let disk = new();
        let tables = Arc::new(large(&disk));
        let (moving, written) = moving(&disk, &tables, burst);
        let moving: Arc<dyn Disk> = Arc::new(moving);
        let arrival = Guest::arrive(&moving, recovery(), &|| false);
        let arrival = arrival.unwrap_or_else(|error| panic!("burst {burst}: {error:?}"));
        assert_eq!(arrival.sight, Sight::End);
        let written = written.load(Ordering::SeqCst);
        assert!(
            written > 50 + burst,
            "{written} blocks were written meanwhile"
        );
        // Later transactions are in the log.
        let mut guest = arrival.guest;
        let (mut followed, _) = FollowedSpace::open(arrival.store, 1).unwrap();
        assert_eq!(guest.look().unwrap(), Sight::End);
        while let Some((_, records)) = guest.next_group().unwrap() {
            followed.apply(records).unwrap();
        }
        let snapshot = followed.snapshot().unwrap();
        let table = snapshot.table::<Item>().unwrap().unwrap();
        let rows = snapshot.scan(table).unwrap();
        let rows: BTreeMap<u64, u64> = rows
            .map(|row| row.unwrap())
            .map(|row| (row.id, row.value))
            .collect();
        assert!(
            rows == items_in(&tables.snapshot().unwrap()),
            "burst {burst}"
        );
    }
}

#[test]
fn a_block_that_is_damaged_in_all_its_versions_is_still_an_error() {
    let disk = new();
    drop(large(&disk));
    let slot_bytes = u64::from(BLOCK_BYTES) + 4096;
    for slot in 3..6 {
        disk.corrupt(
            "backup/stripe-000",
            slot * slot_bytes + 4096 + 100,
            |byte| byte ^ 4,
        )
        .unwrap();
    }
    let error = follow(&disk).unwrap_err();
    assert!(matches!(error, Error::Damaged(_)), "{error:?}");
}

#[test]
fn a_database_that_changes_under_every_reading_is_unavailable_and_not_damaged() {
    let disk = new();
    let tables = large(&disk);
    // Other blocks are damaged at each reading.
    let damaged = Arc::new(Mutex::new(disk.clone()));
    let next = AtomicU64::new(2);
    let slot_bytes = u64::from(BLOCK_BYTES) + 4096;
    let look = move |name: &str, change: Change| {
        if name.contains("backup/") && change == Change::Open {
            let first = next.fetch_add(8, Ordering::SeqCst);
            // More than have no block's newest version.
            for slot in first..first + 8 {
                let (disk, at) = (damaged.lock().unwrap(), slot * slot_bytes + 4096 + 100);
                let file = "backup/stripe-000";
                disk.corrupt(file, at, |byte| byte ^ 4).unwrap();
            }
        }
        Ok(())
    };
    let any: Arc<dyn Disk> = Arc::new(WatchedDisk::new(disk.clone(), look));
    let error = Guest::arrive(&any, recovery(), &|| false).unwrap_err();
    assert!(matches!(error, GuestError::Overtaken { .. }), "{error:?}");
    assert!(matches!(Error::from(error), Error::Unavailable(_)));
    drop(tables);
}

/// A disk that refuses changes of `DURABLE` while the flag is set; `all`: even its removal.
fn refusing(disk: &SimulatedDisk, refuses: &Arc<AtomicBool>, all: bool) -> WatchedDisk {
    let refuses = refuses.clone();
    WatchedDisk::new(disk.clone(), move |name, change| {
        let is_meant = name.ends_with("DURABLE") && (all || change == Change::Write);
        match is_meant && refuses.load(Ordering::SeqCst) {
            true => {
                let error = io::ErrorKind::StorageFull.into();
                Err(DiskError::new("write", name.to_string(), 0, error))
            }
            false => Ok(()),
        }
    })
}

#[test]
fn a_follower_of_a_writer_that_cannot_publish_does_not_say_that_it_is_fresh() {
    let disk = new();
    let refuses = Arc::new(AtomicBool::new(false));
    let watched = || Arc::new(refusing(&disk, &refuses, false));
    let tables = options(Shape::Threadless)
        .open_tables_on(watched())
        .unwrap();
    put(&tables, 1, 1);
    let follower = follow(&disk).unwrap();
    follower.snapshot_within(PATIENCE).unwrap();
    refuses.store(true, Ordering::SeqCst);
    let then = Instant::now();
    put(&tables, 1, 2);
    assert!(!follower.step().unwrap());
    let behind = then.elapsed();
    assert!(follower.lag().unwrap() >= behind, "it is as old as it was");
    let late = follow(&disk).unwrap();
    let error = late.snapshot_within(PATIENCE).unwrap_err();
    assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
    assert_eq!(late.lag().unwrap(), Duration::MAX);
    // The next group that can be published heals it.
    refuses.store(false, Ordering::SeqCst);
    put(&tables, 1, 3);
    for follower in [&follower, &late] {
        follower.step().unwrap();
        follower.snapshot_within(PATIENCE).unwrap();
        assert_eq!(items(follower), [(1, 3)].into());
    }
}

#[test]
fn an_end_that_an_earlier_opening_published_does_not_pass_for_the_newest() {
    let disk = new();
    let refuses = Arc::new(AtomicBool::new(false));
    let open = || {
        let watched = Arc::new(refusing(&disk, &refuses, true));
        options(Shape::Threadless).open_tables_on(watched).unwrap()
    };
    let tables = open();
    put(&tables, 1, 1);
    let follower = follow(&disk).unwrap();
    tables.close().unwrap();
    follower.step().unwrap();
    follower.snapshot_within(PATIENCE).unwrap();
    // As a program of an older version: the file stays as it was.
    refuses.store(true, Ordering::SeqCst);
    let then = Instant::now();
    let tables = open();
    put(&tables, 1, 2);
    follower.step().unwrap();
    let behind = then.elapsed();
    assert!(follower.lag().unwrap() >= behind, "it is as old as it was");
    let late = follow(&disk).unwrap();
    let error = late.snapshot_within(PATIENCE).unwrap_err();
    assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
    tables.close().unwrap();
}

#[test]
fn a_reader_that_waits_without_a_bound_hears_of_a_close() {
    let disk = new();
    put(&super::open(&disk), 1, 1);
    let follower = Options::new()
        .memory_bytes_max(64 << 20)
        .follow_tables_on(Arc::new(disk.clone()))
        .unwrap();
    let beyond = JournalPosition {
        group: u64::MAX,
        row: 0,
    };
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| follower.wait_for(beyond, Duration::MAX));
        follower.close();
        let waited = waiting.join().unwrap();
        assert!(matches!(waited, Err(Error::Closed(_))), "{waited:?}");
    });
}
