//! A database whose checkpoints are left to followers of its log in a store (configuration C of the TPK paper). It has
//! no backup, its log is freed up to the store's place, and an opening takes the missing part from there.

use crate::common::store::{
    Lossy, Primary, disk, follow, has_all, impatient, left_to_followers, put_base, wait_until,
};
use crate::common::watched::{Change, WatchedDisk};
use sardonyx_storage::checkpoint::{BACKUP_DIRECTORY, CheckpointError, CheckpointPlace};
use sardonyx_storage::disk::{Disk, DiskError, Faults, SimulatedDisk};
use sardonyx_storage::engine::{
    DurableAt, Engine, KeepInStore, OpenError, StorageOptions, delete_past, newest_base,
    remove_base,
};
use sardonyx_storage::log::LogError;
use sardonyx_storage::remote_log::known::Known;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// More than the log has room for: a group has 4096 bytes.
const MANY: u64 = 405;

fn taken_here(options: &StorageOptions) -> StorageOptions {
    StorageOptions {
        checkpoint: CheckpointPlace::Local,
        ..options.clone()
    }
}

fn has_no_backup(disk: &SimulatedDisk) -> bool {
    let files = disk.files();
    let of_backup = |name: &&String| name.starts_with(BACKUP_DIRECTORY);
    !files.iter().any(|name| of_backup(&name))
}

fn has_first_segment(disk: &SimulatedDisk) -> bool {
    disk.files()
        .iter()
        .any(|name| name.contains("0000000000000000.log"))
}

/// A directory whose log went round, and that was killed.
fn log_went_round(seed: u64, options: &StorageOptions) -> SimulatedDisk {
    let disk = disk(seed);
    let first = Primary::open(&disk, options.clone()).unwrap();
    (1..=MANY).for_each(|number| first.commit(number).unwrap());
    assert!(has_no_backup(&disk) && !has_first_segment(&disk));
    assert_eq!(first.engine.checkpoint().copy_bytes(), 0);
    let killed = disk.restart(Faults::default());
    drop(first);
    killed
}

#[test]
fn i6_the_log_goes_up_to_what_the_store_has_and_the_directory_begins_anew_from_there() {
    for durable_at in [DurableAt::Both, DurableAt::Local, DurableAt::Remote] {
        let store = Arc::new(Lossy::default());
        let options = left_to_followers(&store, durable_at);
        let killed = log_went_round(1, &options);
        // Its own log is not enough any more.
        let first = Primary::open(&killed, options.clone()).unwrap();
        assert!(has_all(&first, MANY), "{durable_at:?}");
        (MANY + 1..=2 * MANY).for_each(|number| first.commit(number).unwrap());
        first.close();
        // As one that takes its checkpoints itself, as well.
        let killed = killed.restart(Faults::default());
        let first = Primary::open(&killed, taken_here(&options)).unwrap();
        assert!(has_all(&first, 2 * MANY), "{durable_at:?}");
        (2 * MANY + 1..3 * MANY).for_each(|number| first.commit(number).unwrap());
        first.close();
        let first = Primary::open(&killed, options.clone()).unwrap();
        assert!(has_all(&first, 3 * MANY - 1), "{durable_at:?}");
    }
}

#[test]
fn a_directory_that_lacks_log_follows_all_the_same() {
    let store = Arc::new(Lossy::default());
    let options = left_to_followers(&store, DurableAt::Both);
    let killed = log_went_round(1, &options);
    let (mut replica, mut follower) = follow(&killed, &options).unwrap();
    while let Some(entry) = follower.next_entry().unwrap() {
        replica.apply(&entry).unwrap();
    }
    assert_eq!(replica.known().log.transactions, MANY);
    replica.close();
    // It has a backup now, and begins with that.
    assert!(!has_no_backup(&killed));
    let first = Primary::open(&killed, options).unwrap();
    assert!(has_all(&first, MANY));
}

#[test]
fn it_begins_anew_with_a_base_and_is_refused_if_the_store_has_no_way_to_the_whole() {
    let store = Arc::new(Lossy::default());
    let options = left_to_followers(&store, DurableAt::Both);
    let remote = options.remote.as_ref().unwrap();
    let killed = log_went_round(1, &options);
    put_base(&disk(2), &options);
    let keep = KeepInStore {
        bases: 1,
        since: None,
        hosts_since: None,
    };
    assert!(delete_past(remote, keep).unwrap().log.entries > 0);
    let first = Primary::open(&killed, options.clone()).unwrap();
    assert!(has_all(&first, MANY));
    (MANY + 1..=2 * MANY).for_each(|number| first.commit(number).unwrap());
    drop(first);
    let identity = Known::read(&killed).unwrap().unwrap().identity;
    let base = newest_base(remote, identity, |_| true).unwrap().unwrap();
    remove_base(remote, &base.0).unwrap();
    let killed = killed.restart(Faults::default());
    let before = killed.files();
    let error = Primary::open(&killed, options).map(drop).unwrap_err();
    assert!(matches!(error, OpenError::Lacking { .. }), "{error}");
    assert!(before.iter().all(|name| killed.files().contains(name)));
}

#[test]
fn i12_what_only_the_directory_has_is_in_the_store_before_it_begins_anew() {
    for seed in 0..10 {
        let store = Arc::new(Lossy::default());
        let options = impatient(left_to_followers(&store, DurableAt::Local));
        let a = log_went_round(seed, &options);
        let first = Primary::open(&a, options.clone()).unwrap();
        (MANY + 1..=2 * MANY).for_each(|number| first.commit(number).unwrap());
        // Transactions acknowledged from here on are here alone.
        store.cut_off(true);
        (2 * MANY + 1..=2 * MANY + 5).for_each(|number| first.commit(number).unwrap());
        let killed = a.restart(Faults::default());
        drop(first);
        store.cut_off(false);
        if seed % 2 == 0 {
            let error = follow(&killed, &options).map(drop).unwrap_err();
            assert!(matches!(error, OpenError::StoreBehind), "{error}");
        }
        let first = Primary::open(&killed, options).unwrap();
        assert!(has_all(&first, 2 * MANY + 5), "seed {seed}");
    }
}

#[test]
fn i12_a_directory_with_damage_in_what_is_left_of_its_log_does_not_begin_anew() {
    let store = Arc::new(Lossy::default());
    let options = left_to_followers(&store, DurableAt::Both);
    let killed = log_went_round(1, &options);
    let known = Known::read(&killed).unwrap().unwrap().log.lsn.0;
    let (segment, offset) = (known / (64 << 10), known % (64 << 10));
    let name = format!("log/{segment:016}.log");
    killed
        .corrupt(&name, offset + 4096 + 100, |byte| byte ^ 1)
        .unwrap();
    let before = killed.files();
    let error = Primary::open(&killed, options.clone())
        .map(drop)
        .unwrap_err();
    assert!(
        matches!(error, OpenError::Log(LogError::Corrupt { .. })),
        "{error}"
    );
    assert!(before.iter().all(|name| killed.files().contains(name)));
    // A new directory has everything.
    let anew = Primary::open(&disk(9), options).unwrap();
    assert!(has_all(&anew, MANY));
}

#[test]
fn i10_a_store_that_gives_no_answer_lets_the_log_fill_and_then_transactions_are_refused() {
    let store = Arc::new(Lossy::default());
    let options = impatient(left_to_followers(&store, DurableAt::Local));
    let first = Primary::open(&disk(1), options).unwrap();
    (1..=10).for_each(|number| first.commit(number).unwrap());
    let used = |first: &Primary| first.engine.commit().durable().lsn.0;
    let before = used(&first);
    store.cut_off(true);
    let mut next = 11;
    let refused = loop {
        match first.commit(next) {
            Ok(()) => next += 1,
            Err(error) => break error,
        }
    };
    let LogError::Full { reason } = &refused else {
        panic!("{refused}")
    };
    assert!(reason.contains("gives no answer"), "{reason}");
    // Not before the log was nearly full.
    assert!(used(&first) - before > 256 << 10, "{}", used(&first));
    let state = first.engine.in_store().unwrap().state();
    assert!(state.trouble.is_some());
    store.cut_off(false);
    while let Err(error) = first.commit(next) {
        assert!(matches!(error, LogError::Full { .. }), "{error}");
        std::thread::yield_now();
    }
    (next + 1..next + MANY).for_each(|number| first.commit(number).unwrap());
    let state = first.engine.in_store().unwrap().state();
    assert_eq!(state.trouble, None);
}

#[test]
fn i10_a_store_that_is_away_keeps_no_log_here_that_it_has() {
    // At each place of the log between two records of the store's progress.
    for had in 130..160 {
        let store = Arc::new(Lossy::default());
        let options = impatient(left_to_followers(&store, DurableAt::Local));
        let first = Primary::open(&disk(1), options).unwrap();
        (1..=had).for_each(|number| first.commit(number).unwrap());
        let in_store = first.engine.in_store().unwrap().clone();
        let durable = first.engine.commit().durable();
        wait_until("all of it in the store", || in_store.state().end == durable);
        store.cut_off(true);
        let mut next = had + 1;
        while first.commit(next).is_ok() {
            next += 1;
        }
        // Of eight segments, one is cut by the place up to which the store has the log, and one is being prepared.
        let more = first.engine.commit().durable().lsn.0 - durable.lsn.0;
        assert!(more > 6 * (64 << 10), "{had}: {more}");
    }
}

/// A disk at which the record of the store's progress fails while this is set.
fn without_record(inner: SimulatedDisk) -> (WatchedDisk, Arc<AtomicBool>) {
    let fails = Arc::new(AtomicBool::new(false));
    let asked = fails.clone();
    let home = WatchedDisk::new(inner, move |name, change| {
        match name == "STORE.new" && change == Change::Open && asked.load(Ordering::SeqCst) {
            true => {
                let full = std::io::ErrorKind::StorageFull.into();
                Err(DiskError::new("create", name, 0, full))
            }
            false => Ok(()),
        }
    });
    (home, fails)
}

#[test]
fn i10_a_full_log_is_freed_as_soon_as_what_the_store_has_can_be_recorded() {
    for durable_at in [DurableAt::Both, DurableAt::Local, DurableAt::Remote] {
        let store = Arc::new(Lossy::default());
        let options = left_to_followers(&store, durable_at);
        let (home, fails) = without_record(disk(1));
        let first = Primary::open(&home, options.clone()).unwrap();
        fails.store(true, Ordering::SeqCst);
        let mut next = 1;
        let refused = loop {
            match first.commit(next) {
                Ok(()) => next += 1,
                Err(error) => break error,
            }
        };
        let LogError::Full { reason } = &refused else {
            panic!("{refused}")
        };
        assert!(reason.contains("cannot be recorded here"), "{reason}");
        assert!(first.engine.checkpoint().waiting().is_some());
        // As long as it is so, and no longer.
        let again = first.commit(next).unwrap_err();
        assert!(matches!(again, LogError::Full { .. }), "{again}");
        fails.store(false, Ordering::SeqCst);
        // Entries in the store may not be stable here yet: then the place is recorded a moment later.
        while let Err(error) = first.commit(next) {
            assert!(matches!(error, LogError::Full { .. }), "{error}");
            std::thread::yield_now();
        }
        assert!(first.engine.checkpoint().waiting().is_none());
        (next + 1..=next + MANY).for_each(|number| first.commit(number).unwrap());
        first.close();
        let first = Primary::open(&home, options).unwrap();
        assert!(has_all(&first, next + MANY), "{durable_at:?}");
    }
}

#[test]
fn i10_the_smallest_log_goes_round_without_a_refusal() {
    for durable_at in [DurableAt::Both, DurableAt::Local, DurableAt::Remote] {
        let store = Arc::new(Lossy::default());
        let options = StorageOptions {
            log_bytes_max: 4 * (64 << 10),
            ..left_to_followers(&store, durable_at)
        };
        let first = Primary::open(&disk(1), options.clone()).unwrap();
        (1..=MANY).for_each(|number| first.commit(number).unwrap());
        first.close();
    }
}

#[test]
fn one_lost_answer_is_no_reason_to_refuse_a_checkpoint() {
    let store = Lossy::with_silence(30, 7);
    let mut options = left_to_followers(&store, DurableAt::Local);
    if let Some(remote) = &mut options.remote {
        remote.patience.pause_most = remote.patience.time_limit;
    }
    let first = Primary::open(&disk(1), options).unwrap();
    for number in 1..=100 {
        first.commit(number).unwrap();
        let durable = first.engine.commit().durable();
        first.engine.checkpoint().take(durable).unwrap();
    }
}

#[test]
fn a_checkpoint_is_there_when_the_store_has_the_log() {
    let store = Arc::new(Lossy::default());
    let options = left_to_followers(&store, DurableAt::Local);
    let first = Primary::open(&disk(1), options).unwrap();
    (1..=10).for_each(|number| first.commit(number).unwrap());
    let durable = first.engine.commit().durable();
    first.engine.checkpoint().take(durable).unwrap();
    let state = first.engine.in_store().unwrap().state();
    assert!(state.end.group >= durable.group);
    store.cut_off(true);
    first.commit(11).unwrap();
    let durable = first.engine.commit().durable();
    let away = first.engine.checkpoint().take(durable).unwrap_err();
    assert!(matches!(*away, CheckpointError::StoreAway { .. }), "{away}");
    store.cut_off(false);
    while first.engine.checkpoint().take(durable).is_err() {
        std::thread::yield_now();
    }
    let state = first.engine.in_store().unwrap().state();
    assert!(state.end.group >= durable.group && state.sent.groups >= 11);
    assert!(state.sent.groups_read_back <= state.sent.groups);
}

#[test]
fn groups_go_from_memory_to_a_store_that_follows_at_once() {
    let store = Arc::new(Lossy::default());
    let options = left_to_followers(&store, DurableAt::Local);
    let first = Primary::open(&disk(1), options).unwrap();
    let is_there = |number| {
        first.commit(number).unwrap();
        let durable = first.engine.commit().durable();
        first.engine.checkpoint().take(durable).unwrap();
        first.engine.in_store().unwrap().state().sent
    };
    // The thread that puts them there runs.
    let before = is_there(1);
    let after = (2..=50).map(is_there).last().unwrap();
    assert_eq!(after.groups - before.groups, 49);
    assert_eq!(after.groups_read_back, before.groups_read_back);
}

#[test]
fn checkpoints_are_left_only_to_those_who_follow_a_store() {
    let options = StorageOptions {
        remote: None,
        ..left_to_followers(&Arc::new(Lossy::default()), DurableAt::Both)
    };
    let home: Arc<dyn Disk> = Arc::new(disk(1));
    let error = Engine::open(home.clone(), options).map(drop).unwrap_err();
    assert!(matches!(error, OpenError::FollowersWithoutStore), "{error}");
    assert!(home.list("").unwrap().is_empty(), "nothing was made");
}

#[test]
fn i7_a_host_that_was_superseded_tells_who_waits_for_a_checkpoint() {
    let store = Arc::new(Lossy::default());
    let options = left_to_followers(&store, DurableAt::Local);
    let first = Primary::open(&disk(1), options.clone()).unwrap();
    first.commit(1).unwrap();
    let second = Primary::open(&disk(2), options).unwrap();
    second.commit(2).unwrap();
    while first.commit(3).is_ok() {
        std::thread::yield_now();
    }
    let durable = first.engine.commit().durable();
    let error = first.engine.checkpoint().take(durable);
    let error = error.unwrap_err();
    assert!(
        matches!(*error, CheckpointError::Poisoned { .. }),
        "{error}"
    );
}
