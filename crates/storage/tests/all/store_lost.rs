//! Losses when data is needed: entries of a store whose log a directory no longer has from the beginning on, and log
//! that only the directory has. Nothing is deleted then, since the rest may be the only copy.

use crate::common::store::{
    Lossy, Primary, disk, follow, has_all, impatient, left_to_followers, put_base, wait_until,
};
use sardonyx_storage::checkpoint::CheckpointPlace;
use sardonyx_storage::crashes::End;
use sardonyx_storage::disk::{Access, Create, Disk, Faults, SimulatedDisk};
use sardonyx_storage::engine::{DurableAt, Engine, OpenError, StorageOptions};
use sardonyx_storage::manifest::Manifest;
use sardonyx_storage::places::Directories;
use sardonyx_storage::recovery::RecoveryError;
use sardonyx_storage::remote_log::RemoteLogError;
use sardonyx_storage::remote_log::known::Known;
use sardonyx_storage::remote_log::store::{Appended, RemoteStore};
use std::ops::Range;
use std::sync::Arc;

/// More than the log has room for: a group has 4096 bytes.
const MANY: u64 = 405;

/// A directory whose log went round, and that was killed; with a base of its first half in the store, or without one.
fn log_went_round(options: &StorageOptions, has_base: bool) -> SimulatedDisk {
    let home = disk(1);
    let first = Primary::open(&home, options.clone()).unwrap();
    (1..=MANY / 2).for_each(|number| first.commit(number).unwrap());
    if has_base {
        put_base(&disk(2), options);
    }
    (MANY / 2 + 1..=MANY).for_each(|number| first.commit(number).unwrap());
    let killed = home.restart(Faults::default());
    drop(first);
    killed
}

fn next_known(home: &SimulatedDisk) -> u64 {
    Known::read(home).unwrap().unwrap().entry.next
}

/// Takes these entries out of the store, whose boundary stays.
fn lose(store: &Lossy, numbers: Range<u64>) -> Vec<(u64, Vec<u8>)> {
    let read = |number| Some((number, store.inner.read(number).unwrap()?));
    let lost: Vec<_> = numbers.filter_map(read).collect();
    let numbers: Vec<u64> = lost.iter().map(|(number, _)| *number).collect();
    assert!(!numbers.is_empty());
    store.inner.remove(&numbers).unwrap();
    lost
}

fn restore(store: &Lossy, lost: Vec<(u64, Vec<u8>)>) {
    for (number, bytes) in lost {
        let appended = store.inner.append_at(number, &bytes).unwrap();
        assert_eq!(appended, Appended::Ok);
    }
}

fn attempt(home: &SimulatedDisk, options: &StorageOptions, follows: bool) -> OpenError {
    match follows {
        true => follow(home, options).map(drop).unwrap_err(),
        false => Primary::open(home, options.clone()).map(drop).unwrap_err(),
    }
}

const EACH: [(bool, bool); 4] = [(false, false), (false, true), (true, false), (true, true)];

#[test]
fn i12_a_store_that_lost_its_end_is_refused_and_nothing_is_changed() {
    for (has_base, follows) in EACH {
        let store = Arc::new(Lossy::default());
        let options = left_to_followers(&store, DurableAt::Both);
        let home = log_went_round(&options, has_base);
        let next = next_known(&home);
        let lost = lose(&store, next - 20..next + 2 * MANY);
        let (files, entries) = (home.files(), store.inner.entries());
        for _ in 0..2 {
            let error = attempt(&home, &options, follows);
            let OpenError::Store(RemoteLogError::Lost { number }) = error else {
                panic!("{has_base} {follows}: {error}")
            };
            assert_eq!(number, next - 1);
            assert!(files.iter().all(|name| home.files().contains(name)));
            assert_eq!(store.inner.entries(), entries, "no fence is put there");
        }
        restore(&store, lost);
        let first = Primary::open(&home, options).unwrap();
        assert!(has_all(&first, MANY));
    }
}

#[test]
fn i12_a_directory_does_not_begin_anew_from_a_store_that_lost_entries_in_the_middle() {
    for (has_base, follows) in EACH {
        let store = Arc::new(Lossy::default());
        let options = left_to_followers(&store, DurableAt::Both);
        let home = log_went_round(&options, has_base);
        let next = next_known(&home);
        let lost = lose(&store, next - 40..next - 20);
        let files = home.files();
        for _ in 0..2 {
            let error = attempt(&home, &options, follows);
            let is_lacking = matches!(error, OpenError::Lacking { .. });
            assert!(is_lacking, "{has_base} {follows}: {error}");
            assert!(files.iter().all(|name| home.files().contains(name)));
        }
        restore(&store, lost);
        let first = Primary::open(&home, options).unwrap();
        assert!(has_all(&first, MANY));
    }
}

#[test]
fn i12_a_store_that_went_on_from_an_older_state_is_refused() {
    let store = Arc::new(Lossy::default());
    let options = left_to_followers(&store, DurableAt::Both);
    let home = log_went_round(&options, false);
    let next = next_known(&home);
    lose(&store, next - 20..next + 2 * MANY);
    // Another host has as many entries again.
    let other = Primary::open(&disk(3), options.clone()).unwrap();
    (1..=2 * 20).for_each(|number| other.commit(number).unwrap());
    other.close();
    for follows in [false, true] {
        let files = home.files();
        let error = attempt(&home, &options, follows);
        let is_lost = matches!(error, OpenError::Store(RemoteLogError::Lost { .. }));
        assert!(is_lost, "{error}");
        assert!(files.iter().all(|name| home.files().contains(name)));
    }
}

#[test]
fn i12_a_directory_that_lost_log_which_is_nowhere_else_does_not_begin_anew() {
    let store = Arc::new(Lossy::default());
    let options = impatient(left_to_followers(&store, DurableAt::Local));
    let home = log_went_round(&options, false);
    let first = Primary::open(&home, options.clone()).unwrap();
    (MANY + 1..=2 * MANY).for_each(|number| first.commit(number).unwrap());
    // The log has room for what follows once the store has all before it.
    let in_store = first.engine.in_store().unwrap().clone();
    let durable = first.engine.commit().durable();
    wait_until("all of it in the store", || in_store.state().end == durable);
    // Transactions acknowledged from here on are here alone.
    store.cut_off(true);
    (2 * MANY + 1..=2 * MANY + 30).for_each(|number| first.commit(number).unwrap());
    first.close();
    store.cut_off(false);
    let home = home.restart(Faults::default());
    let end = Manifest::read(&home).unwrap().log_end;
    assert_eq!(end.transactions, 2 * MANY + 30);
    // The last segment is as an older copy of the disk had it.
    let name = format!("log/{:016}.log", end.lsn.0 / (64 << 10));
    let file = home.open(&name, Access::Buffered, Create::No).unwrap();
    file.write_at(0, &vec![0; file.len().unwrap() as usize])
        .unwrap();
    file.sync().unwrap();
    let files = home.files();
    for _ in 0..2 {
        let error = Primary::open(&home, options.clone()).map(drop).unwrap_err();
        let OpenError::Recovery(RecoveryError::LogCutShort {
            recorded_transactions,
            transactions,
            ..
        }) = error
        else {
            panic!("{error}")
        };
        assert_eq!(recorded_transactions, 2 * MANY + 30);
        assert!(transactions < recorded_transactions);
        assert!(files.iter().all(|name| home.files().contains(name)));
    }
}

#[test]
fn i12_a_crash_at_any_step_of_beginning_anew_leaves_a_directory_that_does() {
    // Ever fewer of the steps that apply the log, unless all are asked for.
    let next = |step: u64| match sardonyx_base::random::asked("SARDONYX_SEEDS") {
        Some(_) => step + 1,
        None => step + 3 + step / 8,
    };
    for has_base in [false, true] {
        let store = Arc::new(Lossy::default());
        let options = left_to_followers(&store, DurableAt::Both);
        let home = log_went_round(&options, has_base);
        let mut crashes = 0;
        for step in std::iter::successors(Some(1), |step| Some(next(*step))) {
            let faults = End::Crash(step).faults();
            let faulty = home.restart(faults);
            let opened = Primary::open(&faulty, options.clone()).map(drop);
            if !faulty.has_crashed() {
                opened.unwrap();
                break;
            }
            crashes += 1;
            let again = faulty.restart(Faults::default());
            let first = Primary::open(&again, options.clone()).unwrap();
            assert!(has_all(&first, MANY), "{has_base}, step {step}");
        }
        assert!(crashes > 10, "{crashes}");
    }
}

#[test]
fn a_database_with_parts_elsewhere_does_not_leave_its_checkpoints_to_followers() {
    let store = Arc::new(Lossy::default());
    let options = left_to_followers(&store, DurableAt::Both);
    let elsewhere = StorageOptions {
        directories: Directories {
            log: Some("/fast/log".into()),
            ..Directories::default()
        },
        ..options.clone()
    };
    let home = disk(1);
    let refused = |options: &StorageOptions| {
        let opened = Engine::open(Arc::new(home.clone()), options.clone());
        let error = opened.map(drop).unwrap_err();
        assert!(matches!(error, OpenError::FollowersWithPlaces), "{error}");
    };
    refused(&elsewhere);
    assert!(home.files().is_empty(), "nothing was made");
    let taken_here = StorageOptions {
        checkpoint: CheckpointPlace::Local,
        ..elsewhere
    };
    Primary::open(&home, taken_here).unwrap().close();
    // The manifest requires them.
    refused(&options);
}
