//! Bases of a database in a store, copies at any place of its log, and the retention of the past.

use crate::common::store::{
    Lossy, Primary, caught_up, disk, follow, impatient, options, put_base, wait_until,
};
use sardonyx_storage::crashes::End;
use sardonyx_storage::disk::{Access, Create, Disk, Faults, SimulatedDisk};
use sardonyx_storage::engine::{
    CloneUntil, Cloned, Deleted, DurableAt, KeepInStore, OpenError, RemoteLog, StorageOptions,
    clone_at, clone_or_undo, delete_past, forks,
};
use sardonyx_storage::remote_log::RemoteLogError;
use sardonyx_storage::remote_log::objects::RemoteObjects;
use sardonyx_storage::remote_log::shell::Patience;
use sardonyx_storage::remote_log::store::RemoteStore;
use std::sync::Arc;
use std::time::Duration;

/// A copy, opened without the store.
fn cloned(options: &StorageOptions, until: CloneUntil) -> Result<(Cloned, Primary), OpenError> {
    let copy = disk(77);
    let home: Arc<dyn Disk> = Arc::new(copy.clone());
    let cloned = clone_at(&home, options, until, |_| ())?;
    let without = StorageOptions {
        remote: None,
        ..options.clone()
    };
    Ok((cloned, Primary::open(&copy, without)?))
}

#[test]
fn a_copy_begins_with_a_base_and_is_the_database_at_any_entry_group_or_time() {
    let store = Arc::new(Lossy::default());
    let options = options(&store, DurableAt::Both);
    let (a, b) = (disk(1), disk(2));
    let first = Primary::open(&a, options.clone()).unwrap();
    (1..300).for_each(|number| first.commit(number).unwrap());
    let base = put_base(&b, &options);
    (300..600).for_each(|number| first.commit(number).unwrap());
    // Each transaction was in a group and an entry of its own; the first entry is the fence.
    for number in [0, 1, 150, 299, 300, 450, 599] {
        for until in [CloneUntil::Entry(number + 1), CloneUntil::Group(number)] {
            let (cloned, copy) = cloned(&options, until).unwrap();
            assert_eq!(cloned.known.log.transactions, number, "{until:?}");
            assert!((1..=number).all(|number| copy.has(number)), "{until:?}");
            assert!(!copy.has(number + 1), "{until:?}");
            let from = if number < 299 { 1 } else { base };
            assert_eq!(cloned.base.entry.next, from, "{until:?}");
        }
    }
    // By time: later transactions are not in it.
    let (end, _) = cloned(&options, CloneUntil::End).unwrap();
    let (at, copy) = cloned(&options, CloneUntil::Time(end.base.entry.time)).unwrap();
    assert!(at.known.entry.time <= end.base.entry.time && copy.has(299));
    assert!(at.known.entry.next >= base);
    // It is a database of its own, and no host's.
    (1000..1010).for_each(|number| copy.commit(number).unwrap());
    copy.close();
    let copy = disk(78);
    let home: Arc<dyn Disk> = Arc::new(copy.clone());
    clone_at(&home, &options, CloneUntil::End, |_| ()).unwrap();
    let error = Primary::open(&copy, options.clone()).map(drop).unwrap_err();
    assert!(
        matches!(error, OpenError::StoreImpossible { .. }),
        "{error}"
    );
    let error = clone_at(&home, &options, CloneUntil::End, |_| ()).unwrap_err();
    assert!(
        matches!(error, OpenError::StoreImpossible { .. }),
        "{error}"
    );
}

#[test]
fn what_retention_deletes_is_not_needed_by_who_begins_anew_and_others_are_told() {
    let store = Arc::new(Lossy::default());
    let options = options(&store, DurableAt::Both);
    let remote = options.remote.clone().unwrap();
    let (a, b, slow) = (disk(1), disk(2), disk(3));
    let first = Primary::open(&a, options.clone()).unwrap();
    (1..50).for_each(|number| first.commit(number).unwrap());
    drop(follow(&slow, &options).unwrap());
    let keep = |bases, since| KeepInStore {
        bases,
        since,
        hosts_since: None,
    };
    assert_eq!(
        delete_past(&remote, keep(1, None)).unwrap(),
        Deleted::default()
    );
    let mut bases = Vec::new();
    for round in 0..4 {
        let numbers = 100 + 50 * round..150 + 50 * round;
        numbers.for_each(|number| first.commit(number).unwrap());
        bases.push(put_base(&b, &options));
    }
    let deleted = delete_past(&remote, keep(2, None)).unwrap();
    assert_eq!(
        (deleted.bases, deleted.from.unwrap().entry.next),
        (2, bases[2])
    );
    assert_eq!(deleted.log.entries, bases[2] - 2, "all but the fence");
    let time = deleted.from.unwrap().entry.time;
    assert_eq!(delete_past(&remote, keep(1, Some(time))).unwrap().bases, 0);
    // Everything behind the oldest base can be cloned, and nothing before.
    let (_, copy) = cloned(&options, CloneUntil::Entry(bases[2] + 5)).unwrap();
    assert!(copy.has(249 + 5) && !copy.has(249 + 7));
    let error = cloned(&options, CloneUntil::Entry(bases[2] - 3))
        .map(drop)
        .unwrap_err();
    let oldest = deleted.from.unwrap();
    let OpenError::BeforeKept { entry, group, time } = error else {
        panic!("{error}");
    };
    assert_eq!(
        (entry + 1, group + 1, time),
        (oldest.entry.next, oldest.log.group, oldest.entry.time)
    );
    let (at, _) = cloned(&options, CloneUntil::Entry(entry)).unwrap();
    assert_eq!(at.known.entry, oldest.entry);
    // A host that did not follow begins anew with the newest base; so does a new directory, and serves.
    let (replica, _) = follow(&slow, &options).unwrap();
    assert!(replica.known().entry.next >= bases[3]);
    drop(replica);
    let second = Primary::open(&disk(4), options.clone()).unwrap();
    assert!((1..50).chain(100..300).all(|number| second.has(number)));
    assert!(first.commit(400).is_err());
    second.commit(400).unwrap();
}

/// A host had 49 transactions when others went on and its past was deleted. It acknowledged some more alone, in a mode
/// that allows it. It comes back with these faults. Returns the options, too.
fn left_behind(alone: u64, faults: Faults) -> (SimulatedDisk, StorageOptions) {
    let store = Arc::new(Lossy::default());
    let options = impatient(options(&store, DurableAt::Local));
    let a = disk(1);
    let first = Primary::open(&a, options.clone()).unwrap();
    (1..50).for_each(|number| first.commit(number).unwrap());
    first.close();
    let first = Primary::open(&a, options.clone()).unwrap();
    store.cut_off(true);
    (1000..1000 + alone).for_each(|number| first.commit(number).unwrap());
    let behind = a.restart(faults);
    drop(first);
    store.cut_off(false);
    let other = disk(2);
    let second = Primary::open(&other, options.clone()).unwrap();
    (100..140).for_each(|number| second.commit(number).unwrap());
    // The store has all of it then.
    second.close();
    put_base(&disk(3), &options);
    let keep = KeepInStore {
        bases: 1,
        since: None,
        hosts_since: None,
    };
    let deleted = delete_past(options.remote.as_ref().unwrap(), keep).unwrap();
    assert!(deleted.log.entries > 1, "{deleted:?}");
    let second = Primary::open(&other, options.clone()).unwrap();
    second.commit(140).unwrap();
    second.close();
    (behind, options)
}

#[test]
fn a_host_that_lags_behind_what_is_kept_begins_anew_unless_its_log_is_longer() {
    let (behind, options) = left_behind(10, Faults::default());
    let first = Primary::open(&behind, options).unwrap();
    assert!((1..50).chain(100..=140).all(|number| first.has(number)));
    assert!(!first.has(1000), "another host went on without it");
    first.close();
    let kept = forks(&behind).unwrap();
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(kept[0].transactions, 10, "{kept:?}");
    // More groups than the base has, each acknowledged here alone: nothing of it is changed.
    let (ahead, options) = left_behind(60, Faults::default());
    for _ in 0..2 {
        let error = follow(&ahead, &options).map(drop).unwrap_err();
        assert!(matches!(error, OpenError::StoreTrimmed { .. }), "{error}");
    }
    assert!(forks(&ahead).unwrap().is_empty());
}

#[test]
fn a_follower_whose_record_is_old_and_whose_log_is_longer_than_the_base_begins_anew_and_loses_nothing()
 {
    let store = Arc::new(Lossy::default());
    let options = impatient(options(&store, DurableAt::Both));
    let (a, follower) = (disk(1), disk(2));
    let first = Primary::open(&a, options.clone()).unwrap();
    (1..=3).for_each(|number| first.commit(number).unwrap());
    first.close();
    caught_up(&follower, &options).close();
    let second = Primary::open(&disk(3), options.clone()).unwrap();
    second.commit(4).unwrap();
    put_base(&disk(4), &options);
    (5..=8).for_each(|number| second.commit(number).unwrap());
    // It has all of them, and its record is of the first epoch.
    let replica = caught_up(&follower, &options);
    let follower = follower.next_process(Faults::default());
    drop(replica);
    assert!(keep(&options, 1).log.entries > 0);
    let replica = caught_up(&follower, &options);
    assert_eq!(replica.known().log.transactions, 8);
    replica.close();
    assert!(forks(&follower).unwrap().is_empty(), "it had nothing alone");
    second.close();
    let opened = Primary::open(&follower, options).unwrap();
    assert!((1..=8).all(|number| opened.has(number)));
}

#[test]
fn i12_a_host_that_took_over_and_was_killed_keeps_aside_what_no_host_acknowledged() {
    let store = Arc::new(Lossy::default());
    let options = impatient(options(&store, DurableAt::Both));
    let a = disk(1);
    let first = Primary::open(&a, options.clone()).unwrap();
    (1..=3).for_each(|number| first.commit(number).unwrap());
    first.close();
    // It takes over, and is killed when two groups are durable here alone.
    let first = Primary::open(&a, options.clone()).unwrap();
    store.cut_off(true);
    let groups = [1000, 1001].map(|number| first.execute(number).unwrap());
    assert_eq!(groups[0] + 1, groups[1]);
    let written = || first.engine.commit().statistics().groups;
    wait_until("two groups on this disk", || written() >= 2);
    first.engine.begin_to_close();
    assert!(groups.iter().all(|group| first.wait(*group).is_err()));
    let behind = a.restart(Faults::default());
    drop(first);
    store.cut_off(false);
    // Another host has a base with another group in place of the first one.
    let second = Primary::open(&disk(3), options.clone()).unwrap();
    second.commit(100).unwrap();
    put_base(&disk(4), &options);
    assert!(keep(&options, 1).log.entries > 0);
    // The store's log ends where the base ends: no group shows that another host continued.
    let error = follow(&behind, &options).map(drop).unwrap_err();
    assert!(matches!(error, OpenError::StoreTrimmed { .. }), "{error}");
    second.commit(101).unwrap();
    let first = Primary::open(&behind, options).unwrap();
    drop(second);
    assert!((1..=3).chain([100, 101]).all(|number| first.has(number)));
    assert!(![1000, 1001].iter().any(|number| first.has(*number)));
    let kept = forks(&behind).unwrap();
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(kept[0].transactions, 2, "{kept:?}");
    first.commit(4).unwrap();
}

/// Keeps so many bases, and deletes the entries before them.
fn keep(options: &StorageOptions, bases: usize) -> Deleted {
    let since = None;
    let keep = KeepInStore {
        bases,
        since,
        hosts_since: None,
    };
    delete_past(options.remote.as_ref().unwrap(), keep).unwrap()
}

/// A host that was killed, or lost power, after the entries behind its known place were deleted, though no other host
/// served. It has the numbers from 1 to 12: too little log for its place to be recorded again.
fn killed_after_a_trim(
    durable_at: DurableAt,
    is_power_cut: bool,
    faults: Faults,
) -> (SimulatedDisk, StorageOptions) {
    let store = Arc::new(Lossy::default());
    let options = options(&store, durable_at);
    let (a, b) = (disk(1), disk(2));
    let first = Primary::open(&a, options.clone()).unwrap();
    for round in 0..4 {
        (1..=3).for_each(|number| first.commit(3 * round + number).unwrap());
        if round < 3 {
            put_base(&b, &options);
            assert!(keep(&options, 1).log.entries > 0);
        }
    }
    let again = match is_power_cut {
        true => a.restart(faults),
        false => a.next_process(Faults {
            kill_at_step: faults.crash_at_step,
            ..Faults::default()
        }),
    };
    drop(first);
    (again, options)
}

#[test]
fn a_host_that_is_killed_is_opened_and_followed_though_what_followed_its_place_is_deleted() {
    for durable_at in [DurableAt::Both, DurableAt::Remote] {
        for is_power_cut in [false, true] {
            let killed = || killed_after_a_trim(durable_at, is_power_cut, Faults::default());
            let (again, options) = killed();
            let first = Primary::open(&again, options.clone()).unwrap();
            assert!((1..=12).all(|number| first.has(number)));
            first.commit(13).unwrap();
            first.close();
            let other = Primary::open(&disk(4), options).unwrap();
            assert!((1..=13).all(|number| other.has(number)));
            drop(other);
            let (again, options) = killed();
            let replica = caught_up(&again, &options);
            assert_eq!(replica.known().log.transactions, 12);
        }
    }
}

#[test]
fn i12_who_goes_on_from_a_base_of_its_own_epoch_is_cut_where_another_host_went_on() {
    let store = Arc::new(Lossy::default());
    let options = impatient(options(&store, DurableAt::Both));
    let a = disk(1);
    let first = Primary::open(&a, options.clone()).unwrap();
    (1..52).for_each(|number| first.commit(number).unwrap());
    put_base(&disk(2), &options);
    store.cut_off(true);
    let group = first.execute(1000).unwrap();
    // Its copy is asked for when it is durable here.
    store.wait_until_unheard(5);
    first.engine.begin_to_close();
    assert!(first.wait(group).is_err());
    let behind = a.restart(Faults::default());
    drop(first);
    store.cut_off(false);
    let second = Primary::open(&disk(3), options.clone()).unwrap();
    (100..103).for_each(|number| second.commit(number).unwrap());
    second.close();
    put_base(&disk(4), &options);
    let deleted = keep(&options, 2);
    assert!(deleted.log.entries > 0, "{deleted:?}");
    // From the older base on it is compared, and its last group is another one.
    let first = Primary::open(&behind, options).unwrap();
    assert!((1..52).chain(100..103).all(|number| first.has(number)));
    assert!(!first.has(1000), "another host went on without it");
}

#[test]
fn a_crash_at_any_step_of_going_on_from_a_base_leaves_a_directory_that_does() {
    let mut steps = 0;
    for step in 1.. {
        let faults = End::Crash(step).faults();
        let (again, options) = killed_after_a_trim(DurableAt::Both, true, faults);
        let outcome = Primary::open(&again, options.clone()).map(drop);
        let crashed = again.has_crashed();
        assert!(crashed || outcome.is_ok(), "{outcome:?}");
        let again = again.restart(Faults::default());
        let first = Primary::open(&again, options).unwrap();
        assert!((1..=12).all(|number| first.has(number)), "step {step}");
        if !crashed {
            break;
        }
        steps += 1;
    }
    assert!(steps > 5, "{steps}");
}

#[test]
fn who_follows_again_and_again_hears_of_an_entry_that_is_missing_and_goes_on_when_it_is_back() {
    let store = Arc::new(Lossy::default());
    let options = options(&store, DurableAt::Both);
    let first = Primary::open(&disk(1), options.clone()).unwrap();
    (1..10).for_each(|number| first.commit(number).unwrap());
    let lost = store.inner.read(5).unwrap().unwrap();
    store.inner.remove(&[5]).unwrap();
    let (mut replica, mut follower) = follow(&disk(2), &options).unwrap();
    let mut look = |looks: usize| -> Option<RemoteLogError> {
        (0..looks).find_map(|_| match follower.look() {
            Ok(Some(entry)) => replica.apply(&entry).err().map(|error| panic!("{error}")),
            Ok(None) => None,
            Err(error) => Some(error),
        })
    };
    for _ in 0..2 {
        let error = look(100);
        let is_named = matches!(
            error,
            Some(RemoteLogError::Hole {
                number: 5,
                found: 6
            })
        );
        assert!(is_named, "{error:?}");
    }
    // Everything before it can be cloned.
    let (before, _) = cloned(&options, CloneUntil::Entry(4)).unwrap();
    assert_eq!(before.known.entry.next, 5);
    assert!(cloned(&options, CloneUntil::Entry(5)).is_err());
    store.inner.append_at(5, &lost).unwrap();
    assert!(look(100).is_none());
    assert_eq!(replica.known().log.transactions, 9);
}

#[test]
fn a_crash_at_any_step_of_beginning_anew_leaves_a_directory_that_does() {
    let each = sardonyx_base::random::stride(7);
    let mut steps = 0;
    for step in (1..).step_by(each) {
        let faults = End::Crash(step).faults();
        let (behind, options) = left_behind(10, faults);
        let outcome = follow(&behind, &options).map(drop);
        let crashed = behind.has_crashed();
        assert!(crashed || outcome.is_ok(), "{outcome:?}");
        let again = behind.restart(Faults::default());
        let first = Primary::open(&again, options).unwrap();
        assert!((1..50).chain(100..=140).all(|number| first.has(number)));
        if !crashed {
            break;
        }
        steps += each;
    }
    assert!(steps > 20, "{steps}");
}

#[test]
fn a_directory_whose_manifest_is_lost_is_not_taken_for_an_attempt() {
    let store = Arc::new(Lossy::default());
    let options = impatient(options(&store, DurableAt::Local));
    let a = disk(1);
    let first = Primary::open(&a, options.clone()).unwrap();
    (1..50).for_each(|number| first.commit(number).unwrap());
    first.close();
    put_base(&disk(2), &options);
    // Transactions that only this directory has.
    let first = Primary::open(&a, options.clone()).unwrap();
    store.cut_off(true);
    (50..60).for_each(|number| first.commit(number).unwrap());
    let a = a.restart(Faults::default());
    drop(first);
    store.cut_off(false);
    let manifest = a.read_all("MANIFEST").unwrap();
    a.remove("MANIFEST").unwrap();
    a.sync_directory("").unwrap();
    let home: Arc<dyn Disk> = Arc::new(a.clone());
    for _ in 0..2 {
        let cloned = clone_at(&home, &options, CloneUntil::End, |_| ()).map(drop);
        let followed = follow(&a, &options).map(drop);
        let opened = Primary::open(&a, options.clone()).map(drop);
        for outcome in [cloned, followed, opened] {
            let error = outcome.unwrap_err();
            assert!(matches!(error, OpenError::ManifestLost { .. }), "{error}");
        }
    }
    let file = a.open("MANIFEST", Access::Buffered, Create::New).unwrap();
    file.write_at(0, &manifest).unwrap();
    drop(file);
    let first = Primary::open(&a, options).unwrap();
    assert!((1..60).all(|number| first.has(number)));
}

#[test]
fn i12_a_copy_up_to_a_group_inside_an_entry_that_is_cut_short_by_a_crash_knows_what_it_has() {
    let store = Arc::new(Lossy::default());
    let alone = impatient(options(&store, DurableAt::Local));
    let a = disk(1);
    let first = Primary::open(&a, alone).unwrap();
    store.cut_off(true);
    (1..9).for_each(|number| first.commit(number).unwrap());
    let a = a.restart(Faults::default());
    drop(first);
    store.cut_off(false);
    let both = options(&store, DurableAt::Both);
    Primary::open(&a, both.clone()).unwrap().close();
    let (whole, _) = cloned(&both, CloneUntil::End).unwrap();
    let (some, copy) = cloned(&both, CloneUntil::Group(4)).unwrap();
    assert!(copy.has(4) && !copy.has(5));
    assert_eq!((some.known.log.group, some.known.log.transactions), (5, 4));
    assert!(some.known.entry.next < whole.known.entry.next);
    let mut members = 0;
    for step in 1.. {
        let copy = SimulatedDisk::new(step, End::Crash(step).faults());
        let home: Arc<dyn Disk> = Arc::new(copy.clone());
        let outcome = clone_at(&home, &both, CloneUntil::Group(4), |_| ());
        if !copy.has_crashed() {
            outcome.unwrap();
            break;
        }
        // Its content is a part of the store's, or it is none of its directories any more.
        match Primary::open(&copy.restart(Faults::default()), both.clone()) {
            Ok(first) => {
                let missing: Vec<_> = (1..9).filter(|number| !first.has(*number)).collect();
                assert!(missing.is_empty(), "step {step}: {missing:?}");
                members += 1;
            }
            Err(error) => assert!(
                matches!(error, OpenError::StoreImpossible { .. }),
                "step {step}: {error}"
            ),
        }
    }
    assert!(members > 10, "{members}");
}

#[test]
fn a_copy_that_fails_is_undone_before_another_process_can_begin_there() {
    let store = Arc::new(Lossy::default());
    let options = options(&store, DurableAt::Both);
    let first = Primary::open(&disk(1), options.clone()).unwrap();
    (1..50).for_each(|number| first.commit(number).unwrap());
    put_base(&disk(2), &options);
    first.close();
    let copy = disk(3);
    let home: Arc<dyn Disk> = Arc::new(copy.clone());
    let is_locked = || copy.lock("LOCK").unwrap().is_none();
    let mut undone = Vec::new();
    store.cut_off_after(4);
    let impatient = impatient(options);
    let mut clones = |home| {
        clone_or_undo(
            home,
            &impatient,
            CloneUntil::End,
            |_| (),
            || undone.push(is_locked()),
        )
    };
    let error = clones(&home).unwrap_err();
    assert!(matches!(error, OpenError::Store(_)), "{error}");
    assert!(!is_locked());
    // There is nothing of this attempt in a directory that another process has, or of another database.
    let held = copy.lock("LOCK").unwrap().unwrap();
    let error = clones(&home).unwrap_err();
    assert!(matches!(error, OpenError::Locked { .. }), "{error}");
    drop(held);
    store.cut_off(false);
    clones(&home).unwrap();
    let error = clones(&home).unwrap_err();
    assert!(
        matches!(error, OpenError::StoreImpossible { .. }),
        "{error}"
    );
    assert_eq!(undone, [true]);
}

#[test]
fn a_base_that_is_damaged_or_half_there_is_named_or_left_aside() {
    let store = Arc::new(Lossy::default());
    let options = options(&store, DurableAt::Both);
    let first = Primary::open(&disk(1), options.clone()).unwrap();
    (1..200).for_each(|number| first.commit(number).unwrap());
    // The store is lost in the middle of it.
    for requests in [1, 2, 4] {
        let (replica, _) = follow(&disk(2), &options).unwrap();
        let remote = RemoteLog {
            patience: Patience {
                time_limit: Duration::ZERO,
                pause: Duration::from_secs(1),
                ..Patience::default()
            },
            ..options.remote.clone().unwrap()
        };
        store.cut_off_after(requests);
        assert!(replica.put_base(&options, &remote).is_err());
        store.cut_off(false);
    }
    let (cloned_from, _) = cloned(&options, CloneUntil::End).unwrap();
    assert_eq!(cloned_from.base.entry.next, 1, "there is no base");
    put_base(&disk(3), &options);
    let (cloned_from, copy) = cloned(&options, CloneUntil::End).unwrap();
    assert!(cloned_from.base.entry.next > 1 && copy.has(199));
    for object in store.inner.list_objects("bases").unwrap() {
        let whole = store.inner.read_object(&object.name).unwrap().unwrap();
        let mut damaged = whole.clone();
        damaged[whole.len() / 2] ^= 1;
        let replace = |bytes: &[u8]| {
            store
                .inner
                .remove_objects(std::slice::from_ref(&object.name))
                .unwrap();
            store.inner.create_object(&object.name, bytes).unwrap();
        };
        replace(&damaged);
        let outcome = cloned(&options, CloneUntil::End);
        match outcome {
            // Of one that has no head.
            Ok((cloned, _)) => assert!(cloned.base.entry.next > 1, "{}", object.name),
            Err(error) => {
                let is_named = matches!(error, OpenError::Store(RemoteLogError::Base { .. }));
                assert!(is_named, "{}: {error}", object.name);
                assert!(error.to_string().contains("bases/"), "{error}");
            }
        }
        replace(&whole);
    }
}
