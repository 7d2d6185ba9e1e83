//! A host that takes over with the memory that it kept of its copy. It has the state that a recovery finds, reads less
//! for that, and goes on from there. A crash at any step afterwards loses nothing.

use crate::common::store::{
    Lossy, Primary, caught_up, disk, follow, has_all, impatient, options, put_base,
};
use crate::common::watched::{Change, WatchedDisk};
use sardonyx_base::random::Random;
use sardonyx_storage::crashes::End;
use sardonyx_storage::disk::{Disk, DiskError, Faults, SimulatedDisk};
use sardonyx_storage::engine::{
    DurableAt, Engine, KeepInStore, Opened, StorageOptions, delete_past, take_lock,
};
use std::io::Error;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The transactions before a hand-over, of which there are as many after it.
const LAST: u64 = 24;

/// The crashes of each seed, spread over the steps of a hand-over.
const CRASHES: u64 = 16;

/// A store that has so many transactions, and its options.
fn filled_store(last: u64, stripes: u32, durable_at: DurableAt) -> (Arc<Lossy>, StorageOptions) {
    let store = Arc::new(Lossy::default());
    let options = StorageOptions {
        stripes,
        ..options(&store, durable_at)
    };
    let first = Primary::open(&disk(1), options.clone()).unwrap();
    (1..=last).for_each(|number| first.commit(number).unwrap());
    first.close();
    (store, options)
}

/// The options alone, where each transaction is durable in both places.
fn filled(last: u64, stripes: u32) -> StorageOptions {
    filled_store(last, stripes, DurableAt::Both).1
}

/// The same with the memory kept of a closed copy on this disk.
fn kept<D: Disk + Clone + 'static>(disk: &D, options: &StorageOptions) -> StorageOptions {
    StorageOptions {
        kept: Some(Arc::new(caught_up(disk, options).close_keeping())),
        ..options.clone()
    }
}

/// The pages of an opening, and how often it read the log and the backup.
fn opened(disk: &SimulatedDisk, options: StorageOptions) -> (Vec<u8>, u64) {
    let reads = Arc::new(AtomicU64::new(0));
    let counted = reads.clone();
    let watched = WatchedDisk::new(disk.clone(), move |name, change| {
        let is_of_data = name.contains("log/") || name.contains("backup/");
        let is_read = matches!(change, Change::Read(_)) && is_of_data;
        counted.fetch_add(u64::from(is_read), Ordering::SeqCst);
        Ok(())
    });
    let watched: Arc<dyn Disk> = Arc::new(watched.with_reads());
    let Opened { engine, store, .. } = Engine::open(watched, options).unwrap();
    let pages = store.bytes().to_vec();
    drop(engine);
    (pages, reads.load(Ordering::SeqCst))
}

/// A hand-over to this disk, and transactions after it. Returns how many are acknowledged then.
fn handed_over(disk: &SimulatedDisk, options: &StorageOptions) -> u64 {
    let mut acknowledged = LAST;
    let Ok((mut replica, mut follower)) = follow(disk, options) else {
        return acknowledged;
    };
    while let Some(entry) = follower.next_entry().unwrap() {
        if replica.apply(&entry).is_err() {
            return acknowledged;
        }
    }
    let keeping = StorageOptions {
        kept: Some(Arc::new(replica.close_keeping())),
        ..options.clone()
    };
    if let Ok(second) = Primary::open(disk, keeping) {
        while acknowledged < 2 * LAST && second.commit(acknowledged + 1).is_ok() {
            acknowledged += 1;
        }
    }
    acknowledged
}

#[test]
fn i2_an_opening_with_what_was_kept_has_what_a_recovery_finds_and_reads_less() {
    for stripes in [1, 3] {
        // Before the first checkpoint, in the midst of one, and behind several.
        for last in [3, 9, 17, 31, 64, 100] {
            let what = format!("{stripes} stripes, {last} transactions");
            let options = filled(last, stripes);
            let (warm, cold) = (disk(2), disk(2));
            let warm = opened(&warm, kept(&warm, &options));
            let _ = kept(&cold, &options);
            let cold = opened(&cold, options);
            assert!(warm.0 == cold.0, "{what}");
            assert!(warm.1 < cold.1, "{what}: {} and {}", warm.1, cold.1);
        }
    }
}

/// The files of a directory that a hand-over to it replaces: before the opening returns, and before an entry is put. The
/// first transaction is acknowledged afterwards.
fn replaced_by_hand_over(durable_at: DurableAt) -> [Vec<String>; 2] {
    let (store, options) = filled_store(LAST, 1, durable_at);
    let replaced = Arc::<Mutex<Vec<String>>>::default();
    let is_watched = Arc::new(AtomicBool::new(false));
    let (seen, counts) = (replaced.clone(), is_watched.clone());
    let watched = WatchedDisk::new(disk(2), move |name, change| {
        // Checkpoints and the log rename their files at any time.
        let is_record = change == Change::Rename && !name.contains('/');
        if is_record && counts.load(Ordering::SeqCst) {
            seen.lock().unwrap().push(name.into());
        }
        Ok(())
    });
    let replica = caught_up(&watched, &options);
    is_watched.store(true, Ordering::SeqCst);
    let keeping = StorageOptions {
        kept: Some(Arc::new(replica.close_keeping())),
        ..options.clone()
    };
    let opened = Engine::open(Arc::new(watched.clone()), keeping).unwrap();
    let at_opening = replaced.lock().unwrap().clone();
    let at_entry = Arc::<Mutex<Vec<String>>>::default();
    let (all, seen) = (replaced.clone(), at_entry.clone());
    store.at_append(move || *seen.lock().unwrap() = all.lock().unwrap().clone());
    let second = Primary::start(opened);
    second.commit(LAST + 1).unwrap();
    second.close();
    assert!(has_all(
        &Primary::open(&watched, options).unwrap(),
        LAST + 1
    ));
    let at_entry = std::mem::take(&mut *at_entry.lock().unwrap());
    [at_opening, at_entry]
}

#[test]
fn a_hand_over_replaces_one_file_and_records_the_stores_part_before_the_first_transaction() {
    // The incarnation is counted up.
    let [at_opening, at_entry] = replaced_by_hand_over(DurableAt::Both);
    assert_eq!(at_opening, ["MANIFEST.new"]);
    assert_eq!(at_entry, ["MANIFEST.new", "STORE.new"]);
    // The first transaction waits for no entry, which may be put during the close.
    let [at_opening, _] = replaced_by_hand_over(DurableAt::Local);
    assert_eq!(at_opening, ["MANIFEST.new", "STORE.new"]);
}

#[test]
fn i12_a_host_that_took_over_and_is_killed_after_a_trim_is_opened_with_all_it_acknowledged() {
    for durable_at in [DurableAt::Local, DurableAt::Both, DurableAt::Remote] {
        for is_power_cut in [false, true] {
            let (store, options) = filled_store(LAST, 1, durable_at);
            let options = impatient(options);
            let b = disk(2);
            let second = Primary::open(&b, kept(&b, &options)).unwrap();
            // All that is kept in the store is behind the fence of this term.
            put_base(&disk(3), &options);
            let keep = KeepInStore {
                bases: 1,
                since: None,
                hosts_since: None,
            };
            let deleted = delete_past(options.remote.as_ref().unwrap(), keep).unwrap();
            assert!(deleted.log.entries > 0, "{deleted:?}");
            store.cut_off(true);
            let is_acknowledged = match durable_at {
                DurableAt::Local => second.commit(LAST + 1).is_ok(),
                DurableAt::Both | DurableAt::Remote => {
                    let group = second.execute(LAST + 1).unwrap();
                    store.wait_until_unheard(5);
                    second.engine.begin_to_close();
                    second.wait(group).is_ok()
                }
            };
            assert_eq!(is_acknowledged, durable_at == DurableAt::Local);
            let again = match is_power_cut {
                true => b.restart(Faults::default()),
                false => b.next_process(Faults::default()),
            };
            drop(second);
            store.cut_off(false);
            let third = Primary::open(&again, options).unwrap();
            let last = LAST + u64::from(is_acknowledged);
            assert!(has_all(&third, last), "{durable_at:?}, {is_power_cut}");
            third.commit(LAST + 2).unwrap();
        }
    }
}

#[test]
fn i1_i6_a_crash_at_any_step_of_a_hand_over_and_after_it_loses_nothing_that_was_acknowledged() {
    let mut crashed = 0;
    for (seed, stripes) in [(0, 1), (1, 3)] {
        let mut random = Random::new(seed);
        let whole = disk(seed);
        assert_eq!(handed_over(&whole, &filled(LAST, stripes)), 2 * LAST);
        let apart = whole.steps() / CRASHES;
        for nth in 0..CRASHES {
            let step = nth * apart + 1 + random.below(apart);
            let options = filled(LAST, stripes);
            let crashing = disk(seed).restart(End::Crash(step).faults());
            let acknowledged = handed_over(&crashing, &options);
            crashed += u64::from(crashing.has_crashed());
            let after = crashing.restart(Faults::default());
            let third = Primary::open(&after, options).unwrap();
            assert!(has_all(&third, acknowledged), "seed {seed}, step {step}");
        }
    }
    assert!(crashed > 0, "{crashed}");
}

#[test]
fn i5_what_was_kept_serves_one_opening_under_the_lock_under_which_it_was_left() {
    let options = filled(LAST, 1);
    let b = disk(2);
    let home: Arc<dyn Disk> = Arc::new(b.clone());
    let is_free = || take_lock(&home, Duration::ZERO).is_ok();
    let keeping = kept(&b, &options);
    // No other process can change the directory before it is opened.
    assert!(!is_free());
    let second = Primary::open(&b, keeping.clone()).unwrap();
    (LAST + 1..=60).for_each(|number| second.commit(number).unwrap());
    second.close();
    assert!(is_free());
    // The kept copy is used up.
    let third = Primary::open(&b, keeping).unwrap();
    assert!(has_all(&third, 60));
    third.close();
    // An unused copy releases the lock.
    drop(kept(&b, &options));
    assert!(is_free());
    // Nor does an opening that fails leave anything behind: others may have the directory afterwards.
    let keeping = kept(&b, &options);
    let failing = WatchedDisk::new(b.clone(), |name, _| match name.ends_with("MANIFEST.new") {
        true => Err(DiskError::new("write", name, 0, Error::other("it fails"))),
        false => Ok(()),
    });
    assert!(Primary::open(&failing, keeping.clone()).is_err());
    assert!(is_free());
    let fourth = Primary::open(&b, options).unwrap();
    (61..=70).for_each(|number| fourth.commit(number).unwrap());
    fourth.close();
    let fifth = Primary::open(&b, keeping).unwrap();
    assert!(has_all(&fifth, 70));
}

#[test]
fn i12_entries_that_another_host_put_after_a_copy_was_kept_are_there_when_it_is_opened() {
    let options = filled(LAST, 1);
    let b = disk(2);
    let keeping = kept(&b, &options);
    let other = Primary::open(&disk(3), options).unwrap();
    (LAST + 1..=60).for_each(|number| other.commit(number).unwrap());
    other.close();
    assert!(has_all(&Primary::open(&b, keeping).unwrap(), 60));
}

#[test]
fn the_lock_that_was_kept_serves_its_own_directory_alone() {
    let options = filled(LAST, 1);
    let (b, other) = (disk(2), disk(3));
    let keeping = kept(&b, &options);
    // Both are called the same, as after a directory was replaced.
    let third = Primary::open(&other, keeping.clone()).unwrap();
    let home: Arc<dyn Disk> = Arc::new(other.clone());
    assert!(take_lock(&home, Duration::ZERO).is_err());
    assert!(has_all(&third, LAST));
    third.close();
    // A dropped copy releases the directory.
    let keeping = kept(&b, &options);
    let home: Arc<dyn Disk> = Arc::new(b.clone());
    assert!(take_lock(&home, Duration::ZERO).is_err());
    keeping.kept.unwrap().let_go();
    assert!(take_lock(&home, Duration::ZERO).is_ok());
}
