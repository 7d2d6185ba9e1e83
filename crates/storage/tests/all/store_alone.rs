//! A database whose transactions are acknowledged when the store has them, without waiting for a sync here. After a
//! power cut the log here may have any part of its unsynced bytes, and the store has all.

use crate::common::held::HeldDisk;
use crate::common::store::{Lossy, Primary, disk, follow, options};
use sardonyx_storage::crashes::End;
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use sardonyx_storage::engine::{DurableAt, OpenError, StorageOptions};
use sardonyx_storage::log::LogError;
use sardonyx_storage::recovery::RecoveryError;
use sardonyx_storage::remote_log::known::{Known, STORE_FILE};
use std::sync::Arc;

fn alone(store: &Arc<Lossy>) -> StorageOptions {
    options(store, DurableAt::Remote)
}

/// A database of which so many transactions are acknowledged: the first 20 stable here, the others in the store alone,
/// when its host loses power.
fn power_cut(seed: u64, store: &Arc<Lossy>, last: u64) -> SimulatedDisk {
    let held = HeldDisk::new(disk(seed));
    let first = Primary::open(&held.disk, alone(store)).unwrap();
    (1..=20).for_each(|number| first.commit(number).unwrap());
    let log = first.engine.commit();
    log.wait_until_stable(log.durable()).unwrap();
    let waiting = held.hold_back();
    (21..=last).for_each(|number| first.commit(number).unwrap());
    assert!(
        log.stable_below() < log.durable().group,
        "nothing of it is stable here"
    );
    let after = held.inner.restart(Faults::default());
    drop(waiting);
    drop(first);
    after
}

#[test]
fn i1_what_only_the_store_has_is_there_after_a_power_cut_on_the_same_host_and_on_another() {
    for seed in 0..40 {
        let store = Arc::new(Lossy::default());
        // As many groups as there are buffers for.
        let after = power_cut(seed, &store, 23);
        // Any remaining part of the unsynced groups, even a later one without an earlier one, is no corruption (I4).
        if seed % 2 == 0 {
            drop(follow(&after, &alone(&store)).unwrap());
        }
        let second = Primary::open(&disk(1000 + seed), alone(&store)).unwrap();
        assert!((1..=23).all(|number| second.has(number)), "seed {seed}");
        second.commit(24).unwrap();
        second.close();
        let first = Primary::open(&after, alone(&store)).unwrap();
        assert!((1..=24).all(|number| first.has(number)), "seed {seed}");
        first.commit(25).unwrap();
        first.close();
    }
}

#[test]
fn i1_nothing_is_acknowledged_that_the_store_has_not() {
    let store = Arc::new(Lossy::default());
    let first = Primary::open(&disk(1), alone(&store)).unwrap();
    first.commit(1).unwrap();
    store.cut_off(true);
    let group = first.execute(2).unwrap();
    while first.engine.commit().statistics().groups < 2 {
        std::thread::yield_now();
    }
    assert!(!first.engine.commit().is_durable(group));
    store.cut_off(false);
    first.engine.commit().wait(group).unwrap();
}

#[test]
fn i2_a_checkpoint_has_nothing_that_is_not_stable_here() {
    let store = Arc::new(Lossy::default());
    let held = HeldDisk::new(disk(1));
    let first = Primary::open(&held.disk, alone(&store)).unwrap();
    (1..=20).for_each(|number| first.commit(number).unwrap());
    let log = first.engine.commit();
    let stable = log.durable();
    log.wait_until_stable(stable).unwrap();
    let waiting = held.hold_back();
    (21..=23).for_each(|number| first.commit(number).unwrap());
    // All that the checkpoints were given is in this one.
    first.engine.checkpoint().take(stable).unwrap();
    assert_eq!(
        first.engine.checkpoint().complete_from().group,
        stable.group
    );
    drop(waiting);
    first.engine.checkpoint().take(log.durable()).unwrap();
    assert!(log.stable_below() >= log.durable().group);
}

#[test]
fn what_is_not_stable_here_is_not_recorded_as_known() {
    for seed in 0..20 {
        let store = Arc::new(Lossy::default());
        let held = HeldDisk::new(disk(seed));
        let first = Primary::open(&held.disk, alone(&store)).unwrap();
        first.commit(1).unwrap();
        let log = first.engine.commit();
        log.wait_until_stable(log.durable()).unwrap();
        let waiting = held.hold_back();
        (2..=4).for_each(|number| first.commit(number).unwrap());
        let second = Primary::open(&disk(1000 + seed), alone(&store)).unwrap();
        second.commit(5).unwrap();
        second.close();
        // It meets the fence, and ends with a disk that has not made its acknowledged groups stable.
        first.commit(6).unwrap_err();
        waiting.fail();
        drop(first);
        let after = held.inner.restart(Faults::default());
        let first = Primary::open(&after, alone(&store)).unwrap();
        assert!((1..=5).all(|number| first.has(number)) && !first.has(6));
    }
}

#[test]
fn i7_a_sync_that_fails_behind_closes_the_log_and_the_store_has_everything() {
    // Opening takes steps of its own; somewhere behind them it is a sync of the log.
    let mut failed_after_opening = 0;
    for fail_sync_at in 0..60 {
        let store = Arc::new(Lossy::default());
        let faults = End::FailedSync(fail_sync_at).faults();
        let failing = SimulatedDisk::new(fail_sync_at, faults);
        let Ok(first) = Primary::open(&failing, alone(&store)) else {
            continue;
        };
        let told = (0..2000).take_while(|number| first.commit(*number).is_ok());
        let acknowledged: Vec<u64> = told.collect();
        failed_after_opening += u64::from(first.engine.commit().is_poisoned());
        drop(first);
        let second = Primary::open(&disk(500 + fail_sync_at), alone(&store)).unwrap();
        assert!(acknowledged.iter().all(|number| second.has(*number)));
        second.close();
    }
    assert!(failed_after_opening > 5, "{failed_after_opening}");
}

#[test]
fn a_clean_close_leaves_everything_here_and_opens_without_the_others() {
    let store = Arc::new(Lossy::default());
    let a = disk(1);
    let first = Primary::open(&a, alone(&store)).unwrap();
    (1..100).for_each(|number| first.commit(number).unwrap());
    let end = first.engine.commit().durable();
    first.close();
    let known = Known::read(&a).unwrap().expect("the file");
    assert_eq!(known.log, end, "all of it is known to be in the store");
    // Also after a power cut: it was synced.
    let a = a.restart(Faults::default());
    let both = options(&store, DurableAt::Both);
    let first = Primary::open(&a, both).unwrap();
    assert!((1..100).all(|number| first.has(number)));
}

#[test]
fn damage_of_what_was_stable_here_is_named_and_the_store_makes_the_directory_anew() {
    let store = Arc::new(Lossy::default());
    let mut options = alone(&store);
    options.checkpoint_interval_bytes = Some(u64::MAX);
    let a = disk(1);
    let first = Primary::open(&a, options.clone()).unwrap();
    (1..=8).for_each(|number| first.commit(number).unwrap());
    let log = first.engine.commit();
    log.wait_until_stable(log.durable()).unwrap();
    (9..=12).for_each(|number| first.commit(number).unwrap());
    log.wait_until_stable(log.durable()).unwrap();
    let killed = a.restart(Faults::default());
    drop(first);
    let segment = "log/0000000000000000.log";
    // The second group's records: a later group knew it stable.
    killed
        .corrupt(segment, 4096 + 100, |byte| byte ^ 1)
        .unwrap();
    let error = Primary::open(&killed, options.clone())
        .map(drop)
        .unwrap_err();
    assert!(
        matches!(
            error,
            OpenError::Recovery(RecoveryError::Log(LogError::Corrupt { offset: 4096, .. }))
        ),
        "{error}"
    );
    assert!(error.to_string().contains(segment), "{error}");
    // A log whose files were cut before the known place of the directory.
    let cut = disk(2);
    let other = Primary::open(&cut, options.clone()).unwrap();
    (13..=20).for_each(|number| other.commit(number).unwrap());
    other.close();
    cut.truncate(segment, 8192).unwrap();
    let error = Primary::open(&cut, options.clone()).map(drop).unwrap_err();
    let text = error.to_string();
    assert!(
        matches!(
            &error,
            OpenError::Recovery(RecoveryError::LogCutShort { .. })
        ) || text.contains(segment),
        "{text}"
    );
    // Neither was changed into something that opens with less; a new directory has everything.
    let anew = Primary::open(&disk(3), options).unwrap();
    assert!((1..=20).all(|number| anew.has(number)));
    anew.close();
    assert!(cut.files().iter().any(|file| file == STORE_FILE));
}
