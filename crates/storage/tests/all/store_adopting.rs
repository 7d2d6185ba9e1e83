//! A database that was made without a store comes into one: all of it, or not at all.

use crate::common::store::{
    Lossy, Primary, disk, follow, has_all, impatient, options, put_base, without_store,
};
use sardonyx_storage::crashes::End;
use sardonyx_storage::disk::{Disk, Faults};
use sardonyx_storage::engine::{
    DurableAt, KeepInStore, OpenError, StorageOptions, delete_past, forks,
};
use sardonyx_storage::journal::LogEndBeside;
use sardonyx_storage::manifest::Manifest;
use sardonyx_storage::remote_log::objects::RemoteObjects;
use std::sync::Arc;

#[test]
fn i12_following_cuts_nothing_off_that_was_acknowledged_before_there_was_a_store() {
    for checkpoints in [Some(u64::MAX), Some(64 << 10)] {
        let store = Arc::new(Lossy::default());
        let mut with = options(&store, DurableAt::Both);
        with.checkpoint_interval_bytes = checkpoints;
        let without = without_store(&with);
        let a = disk(1);
        let first = Primary::open(&a, without).unwrap();
        (1..20).for_each(|number| first.commit(number).unwrap());
        first.close();
        // As a host begins that finds no database in the store.
        let error = follow(&a, &with).map(drop).unwrap_err();
        assert!(matches!(error, OpenError::StoreBehind), "{error}");
        let first = Primary::open(&a, with.clone()).unwrap();
        assert!((1..20).all(|number| first.has(number)));
        first.close();
        let second = Primary::open(&disk(2), with).unwrap();
        assert!((1..20).all(|number| second.has(number)));
    }
}

#[test]
fn i12_a_reader_from_before_there_was_a_store_is_given_no_more_than_the_store_has() {
    let store = Arc::new(Lossy::default());
    let with = impatient(options(&store, DurableAt::Local));
    let a = disk(1);
    let first = Primary::open(&a, without_store(&with)).unwrap();
    let home: Arc<dyn Disk> = Arc::new(a.clone());
    let mut end = LogEndBeside::new(&home, &Manifest::read(&a).unwrap());
    (1..20).for_each(|number| first.commit(number).unwrap());
    let durable = first.engine.commit().durable().group;
    assert_eq!(end.look().unwrap(), durable);
    first.close();
    let first = Primary::open(&a, with).unwrap();
    let adopted = end.look().unwrap();
    assert!(adopted >= durable);
    store.cut_off(true);
    first.commit(20).unwrap();
    assert!(first.engine.commit().durable().group > adopted);
    assert_eq!(end.look().unwrap(), adopted);
    // Nor is a reader that begins now, though the manifest has a later end.
    let mut manifest = Manifest::read(&a).unwrap();
    manifest.log_end = first.engine.commit().durable();
    let mut end = LogEndBeside::new(&home, &manifest);
    assert_eq!(end.look().unwrap(), adopted);
    store.cut_off(false);
    first.close();
}

/// A database that had no store gets one that is not reached after so many requests, and another host wants to go on.
/// Returns whether that was refused; `None`: so many requests were enough.
fn refused_when_cut_off_after(requests: u64) -> Option<bool> {
    let store = Arc::new(Lossy::default());
    let mut with = options(&store, DurableAt::Both);
    with.checkpoint_interval_bytes = Some(u64::MAX);
    let without = without_store(&with);
    let hasty = impatient(with.clone());
    let (a, b) = (disk(1), disk(2));
    let first = Primary::open(&a, without).unwrap();
    // More than the store takes in one entry.
    (1..100).for_each(|number| first.commit(number).unwrap());
    first.close();
    store.cut_off_after(requests);
    let is_open = match Primary::open(&a, hasty) {
        Ok(first) => {
            store.cut_off(false);
            first.close();
            true
        }
        Err(_) => {
            store.cut_off(false);
            false
        }
    };
    let manifest = store.inner.read_object("database/manifest").unwrap();
    let mut is_refused = false;
    if manifest.is_some() {
        // It does not go on without the rest, however often it asks.
        for _ in 0..2 {
            match Primary::open(&b, with.clone()) {
                Ok(second) => {
                    assert!((1..100).all(|number| second.has(number)));
                    assert!(!is_refused);
                    second.close();
                }
                Err(error) => {
                    let text = error.to_string();
                    assert!(matches!(error, OpenError::StoreImpossible { .. }), "{text}");
                    assert!(text.contains("not there yet"), "{text}");
                    is_refused = true;
                }
            }
        }
    }
    for disk in [&a, &b] {
        let open = Primary::open(disk, with.clone()).unwrap();
        assert!((1..100).all(|number| open.has(number)));
        open.close();
    }
    (!is_open).then_some(is_refused)
}

#[test]
fn i12_another_host_serves_a_database_that_had_no_store_only_when_all_of_it_is_there() {
    let outcomes: Vec<bool> = (0..).map_while(refused_when_cut_off_after).collect();
    let refused = outcomes.iter().filter(|refused| **refused).count();
    assert!(refused > 5, "{outcomes:?}");
}

/// A process without a store is killed at this step, and the store's first one when the store has the manifest and nothing
/// more; then power fails. Returns whether the first came so far.
fn promised_with_a_kill_at(step: u64, seed: u64) -> bool {
    let store = Arc::new(Lossy::default());
    let with = options(&store, DurableAt::Both);
    let without = without_store(&with);
    let hasty = impatient(with.clone());
    let a = disk(seed);
    Primary::open(&a, without.clone()).unwrap().close();
    let a = a.next_process(End::Kill(step).faults());
    let mut acknowledged = 0;
    if let Ok(first) = Primary::open(&a, without) {
        // Each takes a write and a sync, beside other threads.
        acknowledged = (1..20)
            .take_while(|number| first.commit(*number).is_ok())
            .count() as u64;
    }
    // Its written and unsynced bytes are seen.
    let killed = a.has_crashed();
    let a = a.next_process(Faults::default());
    store.cut_off_after(2);
    let error = Primary::open(&a, hasty).map(drop).unwrap_err();
    assert!(matches!(error, OpenError::Store(_)), "{error}");
    let manifest = store.inner.read_object("database/manifest").unwrap();
    assert!(manifest.is_some());
    store.cut_off(false);
    let a = a.restart(Faults::default());
    let first = Primary::open(&a, with).unwrap();
    assert!((1..=acknowledged).all(|number| first.has(number)));
    killed
}

#[test]
fn i12_what_a_store_is_promised_survives_a_power_cut() {
    let killed_at = |step: &u64| {
        let outcomes =
            (0..sardonyx_base::random::seeds(2)).map(|seed| promised_with_a_kill_at(*step, seed));
        outcomes.fold(false, |killed, outcome| killed | outcome)
    };
    let steps = (1..).take_while(killed_at).count();
    assert!(steps > 20, "{steps}");
}

#[test]
fn a_database_that_was_made_without_a_store_is_put_there_while_its_log_is_whole() {
    let store = Arc::new(Lossy::default());
    let with = options(&store, DurableAt::Both);
    let without = without_store(&with);
    let a = disk(1);
    let first = Primary::open(&a, without.clone()).unwrap();
    (1..20).for_each(|number| first.commit(number).unwrap());
    first.close();
    Primary::open(&a, with.clone()).unwrap().close();
    let second = Primary::open(&disk(2), with).unwrap();
    assert!((1..20).all(|number| second.has(number)));
    // One whose log was used again cannot.
    let old = disk(3);
    let long = Primary::open(&old, without).unwrap();
    (1..3000).for_each(|number| long.commit(number).unwrap());
    long.close();
    let another = options(&Arc::new(Lossy::default()), DurableAt::Both);
    let error = Primary::open(&old, another).map(drop).unwrap_err();
    assert!(
        matches!(error, OpenError::StoreImpossible { .. }),
        "{error}"
    );
}

#[test]
fn a_database_whose_log_was_used_again_in_its_first_session_is_not_put_into_a_store() {
    let store = Arc::new(Lossy::default());
    let with = options(&store, DurableAt::Both);
    let without = without_store(&with);
    let a = disk(1);
    let first = Primary::open(&a, without.clone()).unwrap();
    (1..1000).for_each(|number| first.commit(number).unwrap());
    // Killed: by the manifest the log still ends where it begins.
    let a = a.next_process(Faults::default());
    drop(first);
    for _ in 0..2 {
        let error = Primary::open(&a, with.clone()).map(drop).unwrap_err();
        assert!(error.to_string().contains("no longer reaches"), "{error}");
        let error = follow(&a, &with).map(drop).unwrap_err();
        assert!(error.to_string().contains("no longer reaches"), "{error}");
    }
    // Nothing has changed: not the store, and not the directory.
    let manifest = store.inner.read_object("database/manifest").unwrap();
    assert!(manifest.is_none());
    let first = Primary::open(&a, without).unwrap();
    assert!((1..1000).all(|number| first.has(number)));
}

#[test]
fn a_database_with_a_group_that_no_entry_or_follower_takes_is_not_put_into_a_store() {
    // The second one has a segment for itself, and more than that.
    for (bytes, why) in [
        (100 << 10, "takes 65536"),
        (300 << 10, "segments for itself"),
    ] {
        let store = Arc::new(Lossy::default());
        let with = StorageOptions {
            segment_bytes: 256 << 10,
            log_bytes_max: 2 << 20,
            ..options(&store, DurableAt::Both)
        };
        let mut without = StorageOptions {
            remote: None,
            ..with.clone()
        };
        without.limits.group_bytes = 112 << 10;
        without.limits.transaction_bytes = 112 << 10;
        let a = disk(1);
        let first = Primary::open(&a, without.clone()).unwrap();
        first.commit(1).unwrap();
        first.commit_large(bytes).unwrap();
        first.commit(2).unwrap();
        first.close();
        let error = Primary::open(&a, with).map(drop).unwrap_err();
        assert!(
            matches!(error, OpenError::StoreImpossible { .. }),
            "{error}"
        );
        assert!(error.to_string().contains(why), "{error}");
        let manifest = store.inner.read_object("database/manifest").unwrap();
        assert!(manifest.is_none());
        let first = Primary::open(&a, without).unwrap();
        assert!(first.has(1) && first.has(2));
    }
}

/// A database that had no store gets one that is not reached after so many requests. A follower makes a base of the part that
/// is there, and the log before is deleted. Returns whether the directory is refused then; `None`: all of it was there.
fn refused_behind_a_base(requests: u64) -> Option<bool> {
    let store = Arc::new(Lossy::default());
    let mut with = options(&store, DurableAt::Both);
    with.checkpoint_interval_bytes = Some(u64::MAX);
    let without = without_store(&with);
    let hasty = impatient(with.clone());
    let a = disk(1);
    let first = Primary::open(&a, without).unwrap();
    (1..100).for_each(|number| first.commit(number).unwrap());
    first.close();
    let end = Manifest::read(&a).unwrap().log_end;
    assert_eq!(end.transactions, 99);
    store.cut_off_after(requests);
    let opened = Primary::open(&a, hasty).map(drop);
    store.cut_off(false);
    if opened.is_ok() {
        return None;
    }
    if store.inner.entries() == 0 {
        return Some(false);
    }
    put_base(&disk(2), &with);
    let keep = KeepInStore {
        bases: 1,
        since: None,
        hosts_since: None,
    };
    delete_past(with.remote.as_ref().unwrap(), keep).unwrap();
    match Primary::open(&a, with) {
        Ok(first) => {
            assert!(has_all(&first, 99));
            Some(false)
        }
        Err(error) => {
            assert!(matches!(error, OpenError::StoreTrimmed { .. }), "{error}");
            assert!(forks(&a).unwrap().is_empty());
            assert_eq!(
                Manifest::read(&a).unwrap().log_end,
                end,
                "nothing is changed"
            );
            Some(true)
        }
    }
}

#[test]
fn i12_a_database_whose_way_into_a_store_was_interrupted_is_not_cut_off_behind_a_base() {
    let refused: Vec<bool> = (0..).map_while(refused_behind_a_base).collect();
    assert!(refused.contains(&true), "{refused:?}");
}
