//! A copy that follows a store, on a disk that crashes at any step or fails a sync. Its applied transactions are there
//! afterwards, it goes on from there, and opened as the database it has all.

use crate::common::store::{Lossy, Primary, caught_up, disk, follow, has_all, options};
use crate::common::watched::{Change, WatchedDisk};
use sardonyx_base::crc32c::crc32c;
use sardonyx_base::random::Random;
use sardonyx_storage::crashes::End;
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use sardonyx_storage::engine::{DurableAt, StorageOptions};
use sardonyx_storage::remote_log::RemoteLogError;
use sardonyx_storage::remote_log::entry::{ENTRY_HEAD_BYTES, ENTRY_VERSION, EntryError};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// More than the log of the copy has room for: a group has 4096 bytes.
const LAST: u64 = 180;

fn filled() -> StorageOptions {
    let store = Arc::new(Lossy::default());
    let options = options(&store, DurableAt::Both);
    let primary = Primary::open(&disk(1000), options.clone()).unwrap();
    (1..=LAST).for_each(|number| primary.commit(number).unwrap());
    drop(primary);
    options
}

/// Applies the available entries; returns the number of transactions, and true if those were all.
fn apply_all(disk: &SimulatedDisk, options: &StorageOptions) -> (u64, bool) {
    let Ok((mut replica, mut follower)) = follow(disk, options) else {
        return (0, false);
    };
    while let Some(entry) = follower.next_entry().unwrap() {
        if replica.apply(&entry).is_err() {
            // I7: nothing more is written.
            assert!(replica.apply(&entry).is_err());
            return (replica.known().log.transactions, false);
        }
    }
    (replica.close().log.transactions, true)
}

/// On the disk after a crash: nothing is missing that was applied, and the rest comes.
fn goes_on(after: &SimulatedDisk, options: &StorageOptions, applied: u64, what: &str) {
    let (replica, _) = follow(after, options).unwrap();
    let known = replica.known().log.transactions;
    assert!(known >= applied, "{what}: {known} of {applied}");
    drop(replica);
    assert_eq!(apply_all(after, options), (LAST, true), "{what}");
    let opened = Primary::open(after, options.clone()).unwrap();
    assert!((1..=LAST).all(|number| opened.has(number)), "{what}");
    opened.close();
}

#[test]
fn i1_i6_a_crash_at_any_step_of_following_loses_nothing_that_was_applied() {
    let options = filled();
    let mut crashed = 0;
    for seed in 0..3 {
        let mut random = Random::new(seed);
        let mut step = 1;
        loop {
            let crashing = disk(seed).restart(End::Crash(step).faults());
            let (applied, is_whole) = apply_all(&crashing, &options);
            if !crashing.has_crashed() {
                assert!(is_whole);
                break;
            }
            crashed += 1;
            let after = crashing.restart(Faults::default());
            goes_on(
                &after,
                &options,
                applied,
                &format!("seed {seed}, step {step}"),
            );
            step += 1 + random.below(60);
        }
    }
    assert!(crashed > 20, "{crashed}");
}

#[test]
fn i7_a_copy_whose_sync_failed_writes_nothing_more_and_goes_on_when_it_is_opened_again() {
    let options = filled();
    let mut failed = 0;
    for fail_sync_at in (0..200).step_by(9) {
        let faults = End::FailedSync(fail_sync_at).faults();
        let failing = SimulatedDisk::new(fail_sync_at, faults);
        let (applied, is_whole) = apply_all(&failing, &options);
        failed += u64::from(!is_whole);
        let after = failing.restart(Faults::default());
        goes_on(&after, &options, applied, &format!("sync {fail_sync_at}"));
    }
    assert!(failed > 5, "{failed}");
}

#[test]
fn i1_entries_that_are_applied_together_share_syncs_and_are_all_there() {
    let store = Arc::new(Lossy::default());
    let options = options(&store, DurableAt::Both);
    let first = Primary::open(&disk(1), options.clone()).unwrap();
    (1..=40).for_each(|number| first.commit(number).unwrap());
    first.close();
    let [one_by_one, together] = [1, usize::MAX].map(|several| {
        let syncs = Arc::new(AtomicUsize::new(0));
        let counted = syncs.clone();
        let watched = WatchedDisk::new(disk(2), move |name, change| {
            let is_of_log = change == Change::Sync && name.contains("log/");
            counted.fetch_add(usize::from(is_of_log), Ordering::SeqCst);
            Ok(())
        });
        let (mut replica, mut follower) = follow(&watched, &options).unwrap();
        let mut entries = Vec::new();
        while let Some(entry) = follower.next_entry().unwrap() {
            entries.push(entry);
        }
        // The comparison has taken the first ones.
        assert!(entries.len() > 30);
        let before = syncs.load(Ordering::SeqCst);
        for entries in entries.chunks(several) {
            replica.apply_several(entries).unwrap();
        }
        let found = syncs.load(Ordering::SeqCst) - before;
        assert_eq!(replica.known().entry, follower.position());
        replica.close();
        assert!(has_all(
            &Primary::open(&watched, options.clone()).unwrap(),
            40
        ));
        found
    });
    assert!(together * 3 < one_by_one, "{together} and {one_by_one}");
}

#[test]
fn entries_that_are_applied_together_need_no_more_room_than_one_by_one() {
    let store = Arc::new(Lossy::default());
    let options = options(&store, DurableAt::Both);
    let first = Primary::open(&disk(1), options.clone()).unwrap();
    (1..=LAST).for_each(|number| first.commit(number).unwrap());
    first.close();
    let (mut replica, mut follower) = follow(&disk(2), &options).unwrap();
    let (mut entries, mut bytes) = (Vec::new(), 0);
    while let Some(entry) = follower.next_entry().unwrap() {
        bytes += entry.bytes().len() as u64;
        entries.push(entry);
    }
    assert!(bytes > options.log_bytes_max, "{bytes}");
    replica.apply_several(&entries).unwrap();
    assert_eq!(replica.known().entry, follower.position());
    assert_eq!(replica.close().log.transactions, LAST);
}

/// The reads of the log's files in an opening of this disk.
fn log_reads(disk: &SimulatedDisk, options: StorageOptions) -> usize {
    let reads = Arc::new(AtomicUsize::new(0));
    let counted = reads.clone();
    let watched = WatchedDisk::new(disk.clone(), move |name, change| {
        let is_read = matches!(change, Change::Read(_)) && name.contains("log/");
        counted.fetch_add(usize::from(is_read), Ordering::SeqCst);
        Ok(())
    });
    let primary = Primary::open(&watched.with_reads(), options).unwrap();
    let found = reads.load(Ordering::SeqCst);
    primary.close();
    found
}

#[test]
fn i4_a_host_that_takes_over_reads_nothing_behind_the_end_that_it_knows_and_looks_if_it_may_not_know_it()
 {
    let store = Arc::new(Lossy::default());
    let options = options(&store, DurableAt::Both);
    let first = Primary::open(&disk(1), options.clone()).unwrap();
    (1..=20).for_each(|number| first.commit(number).unwrap());
    first.close();
    let copy = || {
        let b = disk(2);
        let replica = caught_up(&b, &options);
        let knowing = StorageOptions {
            kept: Some(Arc::new(replica.close_keeping())),
            ..options.clone()
        };
        (b, knowing)
    };
    let (b, knowing) = copy();
    let (other, _) = copy();
    let looking = log_reads(&other, options.clone());
    let not_looking = log_reads(&b, knowing);
    assert!(not_looking < looking, "{not_looking} and {looking}");
    // Opened once, the log goes on; and the group at that end is damaged.
    let (b, knowing) = copy();
    let second = Primary::open(&b, knowing.clone()).unwrap();
    (21..=24).for_each(|number| second.commit(number).unwrap());
    let killed = b.next_process(Faults::default());
    drop(second);
    let lsn = knowing.kept.as_ref().unwrap().end().position.lsn.0;
    let segment = format!("log/{:016}.log", lsn >> 16);
    let records = (lsn & 0xffff) + 100;
    killed.corrupt(&segment, records, |byte| byte ^ 1).unwrap();
    let error = Primary::open(&killed, knowing).map(drop).unwrap_err();
    assert!(error.to_string().contains("corrupt"), "{error}");
}

#[test]
fn an_entry_of_a_newer_version_ends_a_follower_with_its_number_and_changes_nothing_here() {
    let options = filled();
    let store = options.remote.as_ref().unwrap().store.clone();
    let copy = disk(7);
    let last = caught_up(&copy, &options).close().entry.next - 1;
    // As a newer program writes it: whole, and of the next version.
    let mut bytes = store.read(last).unwrap().unwrap();
    let head: &mut [u8; ENTRY_HEAD_BYTES] = bytes.first_chunk_mut().unwrap();
    head[8..12].copy_from_slice(&(ENTRY_VERSION + 1).to_le_bytes());
    head[4..8].fill(0);
    let checksum = crc32c(head);
    head[4..8].copy_from_slice(&checksum.to_le_bytes());
    let newer = disk(8);
    for _ in 0..2 {
        let (replica, mut follower) = follow(&copy, &options).unwrap();
        store.append_at(last + 1, &bytes).unwrap();
        let error = follower.next_entry().unwrap_err();
        let RemoteLogError::Entry { number, source } = &error else {
            panic!("{error}");
        };
        let found = ENTRY_VERSION + 1;
        assert_eq!(
            (*number, source),
            (last + 1, &EntryError::Version { found })
        );
        assert!(error.to_string().contains("use a newer program"), "{error}");
        assert_eq!(replica.close().entry.next, last + 1);
        // Nor can it be opened, or a new directory be made past that.
        let outcomes = [
            Primary::open(&copy, options.clone()).map(drop),
            Primary::open(&newer, options.clone()).map(drop),
        ];
        for outcome in outcomes {
            let error = outcome.unwrap_err();
            assert!(error.to_string().contains("use a newer program"), "{error}");
        }
        store.remove(&[last + 1]).unwrap();
    }
    // Without it, it goes on.
    assert!(has_all(&Primary::open(&copy, options).unwrap(), LAST));
}
