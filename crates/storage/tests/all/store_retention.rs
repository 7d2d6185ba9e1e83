//! The retention of a log in a store: by time, for hosts that follow, and a host that comes back when the log behind it is
//! deleted.

use crate::common::store::{
    Lossy, Primary, disk, follow, has_all, impatient, options, put_base, wait_until,
};
use sardonyx_storage::disk::{Disk, Faults, SimulatedDisk};
use sardonyx_storage::engine::{
    CloneUntil, Cloned, Deleted, DurableAt, KeepInStore, OpenError, StorageOptions, clone_at,
    delete_past, forks, stored_manifest, usable_bases,
};
use sardonyx_storage::remote_log::known_hosts::{KnownHost, host_of, note_host};
use sardonyx_storage::remote_log::primary::Primary as PrimaryRecord;
use sardonyx_storage::remote_log::store::{Register, RemoteStore, Swapped};
use std::sync::Arc;
use std::time::Duration;

/// A copy of the state then.
fn clone(options: &StorageOptions, until: CloneUntil) -> Cloned {
    let home: Arc<dyn Disk> = Arc::new(disk(77));
    clone_at(&home, options, until, |_| ()).unwrap()
}

#[test]
fn a_past_that_is_to_be_kept_from_before_the_first_base_on_is_kept_from_its_beginning() {
    let store = Arc::new(Lossy::default());
    let options = options(&store, DurableAt::Both);
    let remote = options.remote.clone().unwrap();
    let first = Primary::open(&disk(1), options.clone()).unwrap();
    (1..50).for_each(|number| first.commit(number).unwrap());
    put_base(&disk(2), &options);
    let base = clone(&options, CloneUntil::End).base;
    (50..60).for_each(|number| first.commit(number).unwrap());
    let newer = put_base(&disk(2), &options);
    let keep = |since| KeepInStore {
        bases: 1,
        since: Some(since),
        hosts_since: None,
    };
    // As if a long time were to be kept of a new database.
    let before = base.entry.time - 1;
    let kept = delete_past(&remote, keep(before)).unwrap();
    assert_eq!(kept, Deleted::default());
    let copy = clone(&options, CloneUntil::Entry(10));
    assert_eq!(copy.known.log.transactions, 9);
    // Once a base is as old, the log before it is dispensable; then there is no other beginning than that of a base.
    let deleted = delete_past(&remote, keep(base.entry.time)).unwrap();
    assert_eq!(deleted.from.unwrap().entry, base.entry);
    assert!(deleted.log.entries > 0, "{deleted:?}");
    let deleted = delete_past(&remote, keep(before)).unwrap();
    assert_eq!(deleted.from.unwrap().entry, base.entry);
    assert!(
        delete_past(&remote, keep(u64::MAX))
            .unwrap()
            .from
            .unwrap()
            .entry
            .next
            == newer
    );
}

#[test]
fn i12_the_log_that_a_following_host_needs_is_kept_as_long_as_it_reports() {
    let store = Arc::new(Lossy::default());
    let options = options(&store, DurableAt::Both);
    let remote = options.remote.clone().unwrap();
    let first = Primary::open(&disk(1), options.clone()).unwrap();
    let mut bases = Vec::new();
    for round in 0..4 {
        let numbers = 10 * round..10 * round + 10;
        numbers.for_each(|number| first.commit(number + 1).unwrap());
        bases.push(put_base(&disk(2), &options));
    }
    let identity = stored_manifest(&remote).unwrap().unwrap().identity;
    let report = |name: &str, next_entry, seen| {
        let host = KnownHost {
            name: name.into(),
            next_entry,
            seen,
        };
        note_host(&*store, identity, &host).unwrap();
    };
    let delete = |hosts_since| {
        let keep = KeepInStore {
            bases: 1,
            since: None,
            hosts_since,
        };
        let deleted = delete_past(&remote, keep).unwrap();
        let kept_for = deleted.kept_for.map(|host| host.name);
        (deleted.from.map(|known| known.entry.next), kept_for)
    };
    // Its log begins with the newest base that it has passed. Those between that and the wanted one go.
    report("slow", bases[2] - 1, 1001);
    report("fast", bases[3], 1000);
    assert_eq!(delete(Some(1000)), (Some(bases[1]), Some("slow".into())));
    assert_eq!(places_of_bases(&options), [bases[1], bases[3]]);
    // The same again deletes nothing more.
    assert_eq!(delete(Some(1001)), (Some(bases[1]), Some("slow".into())));
    assert_eq!(places_of_bases(&options), [bases[1], bases[3]]);
    // It did not report for long, so another host alone counts; then one that is behind what is left does not.
    report("fast", bases[2], 2000);
    assert_eq!(delete(Some(2000)), (Some(bases[1]), Some("fast".into())));
    assert_eq!(delete(Some(1001)), (Some(bases[1]), Some("slow".into())));
    report("slow", bases[1] - 1, 2000);
    assert_eq!(delete(Some(1001)), (Some(bases[1]), Some("fast".into())));
    // The host that serves counts, too.
    serves(&store, &options, "fast");
    assert_eq!(delete(Some(1)), (Some(bases[1]), Some("fast".into())));
    // Without the register, as before there was one.
    store.refuses.set(Register::Hosts).unwrap();
    assert_eq!(delete(Some(1)), (Some(bases[3]), None));
}

/// The entries after the bases of a store.
fn places_of_bases(options: &StorageOptions) -> Vec<u64> {
    let remote = options.remote.as_ref().unwrap();
    let identity = stored_manifest(remote).unwrap().unwrap().identity;
    let bases = usable_bases(remote, identity).unwrap().whole;
    bases.iter().map(|(name, _)| name.next_entry).collect()
}

#[test]
fn i12_a_host_that_needs_the_log_from_before_the_first_base_on_keeps_the_log_and_no_base() {
    let store = Arc::new(Lossy::default());
    let options = options(&store, DurableAt::Both);
    let remote = options.remote.clone().unwrap();
    let first = Primary::open(&disk(1), options.clone()).unwrap();
    let mut bases = Vec::new();
    let identity = stored_manifest(&remote).unwrap().unwrap().identity;
    let host = KnownHost {
        name: "slow".into(),
        next_entry: 3,
        seen: 1,
    };
    note_host(&*store, identity, &host).unwrap();
    for round in 0..5 {
        let numbers = 10 * round..10 * round + 10;
        numbers.for_each(|number| first.commit(number + 1).unwrap());
        bases.push(put_base(&disk(2), &options));
        let keep = KeepInStore {
            bases: 2,
            since: None,
            hosts_since: Some(1),
        };
        let deleted = delete_past(&remote, keep).unwrap();
        assert_eq!(deleted.log.entries, 0, "{deleted:?}");
        assert_eq!(deleted.from, None);
        let wanted = bases.len().saturating_sub(2);
        assert_eq!(places_of_bases(&options), bases[wanted..]);
    }
    let whole = clone(&options, CloneUntil::Entry(10));
    assert_eq!((whole.base.entry.next, whole.known.entry.next), (1, 11));
    first.close();
}

/// The register names this host from now on.
fn serves(store: &Arc<Lossy>, options: &StorageOptions, name: &str) {
    let stored = stored_manifest(options.remote.as_ref().unwrap());
    let serving = PrimaryRecord {
        identity: stored.unwrap().unwrap().identity,
        host: name.into(),
        process: 1,
        count: 1,
        wait: Duration::from_secs(1),
        released: false,
        wanted: None,
    };
    let there = store.read_register(Register::Primary).unwrap();
    let version = there.map(|there| there.version);
    let text = serving.encode();
    let put = store.swap_register(Register::Primary, version.as_ref(), text.as_bytes());
    assert_eq!(put.unwrap(), Swapped::Ok);
}

/// The host of this directory reports, as it does each minute.
fn reports(store: &Arc<Lossy>, options: &StorageOptions, home: &SimulatedDisk, name: &str) {
    let stored = stored_manifest(options.remote.as_ref().unwrap());
    let identity = stored.unwrap().unwrap().identity;
    let host = host_of(home, identity, name, 1).unwrap().unwrap();
    note_host(&**store, identity, &host).unwrap();
}

#[test]
fn i12_a_host_that_served_finds_what_it_needs_after_a_failover_and_another_trim() {
    for goes_on in [false, true] {
        let store = Arc::new(Lossy::default());
        let local = impatient(options(&store, DurableAt::Local));
        let remote = local.remote.as_ref().unwrap();
        let one_base = KeepInStore {
            bases: 1,
            since: None,
            hosts_since: Some(1),
        };
        let a = disk(1);
        let first = Primary::open(&a, local.clone()).unwrap();
        serves(&store, &local, "a");
        reports(&store, &local, &a, "a");
        (1..=3).for_each(|number| first.commit(number).unwrap());
        let in_store = first.engine.in_store().unwrap().clone();
        let end = first.engine.commit().durable().group;
        wait_until("the store has all", || in_store.state().end.group >= end);
        // A base of its epoch, and a trim that keeps this one alone, beside what hosts need.
        put_base(&disk(2), &local);
        delete_past(remote, one_base).unwrap();
        // Acknowledged by its own disk alone, as the option allows.
        store.cut_off(true);
        (4..=10).for_each(|number| first.commit(number).unwrap());
        let a = a.restart(Faults::default());
        drop(first);
        store.cut_off(false);
        // Another host takes over. Its base is of a later epoch, and the trim takes the one before.
        let b = disk(5);
        let second = Primary::open(&b, local.clone()).unwrap();
        serves(&store, &local, "b");
        reports(&store, &local, &b, "b");
        if goes_on {
            second.commit(100).unwrap();
        }
        second.close();
        put_base(&disk(2), &local);
        let kept = delete_past(remote, one_base).unwrap();
        assert_eq!(kept.kept_for.map(|host| host.name), Some("a".into()));
        // The first host continues, with each group that it acknowledged, or keeps them aside.
        let first = Primary::open(&a, local.clone()).unwrap();
        assert!(has_all(&first, 3));
        let here = (4..=10).filter(|number| first.has(*number)).count();
        let aside: u64 = forks(&a)
            .unwrap()
            .iter()
            .map(|fork| fork.transactions)
            .sum();
        match goes_on {
            true => assert!((here, aside) == (0, 7) && first.has(100)),
            false => assert_eq!((here, aside), (7, 0)),
        }
    }
}

/// Loses the store before so many more entries are appended.
fn cut_off_after_entries(store: &Arc<Lossy>, entries: u64) {
    let next = store.clone();
    store.at_append(move || match entries {
        0 => next.cut_off(true),
        _ => cut_off_after_entries(&next, entries - 1),
    });
}

/// A host acknowledged the numbers from 4 to 30 alone, as its options allow, and was killed. Started again, it claimed the
/// log: its fence and so many further entries are in the store, and it was killed. Then a base was made, and the log before
/// that deleted.
fn interrupted(store: &Arc<Lossy>, sent: u64) -> (SimulatedDisk, StorageOptions) {
    let local = impatient(options(store, DurableAt::Local));
    let a = disk(1);
    let first = Primary::open(&a, local.clone()).unwrap();
    (1..=3).for_each(|number| first.commit(number).unwrap());
    first.close();
    let first = Primary::open(&a, local.clone()).unwrap();
    store.cut_off(true);
    (4..=30).for_each(|number| first.commit(number).unwrap());
    let a = a.restart(Faults::default());
    drop(first);
    store.cut_off(false);
    cut_off_after_entries(store, 1 + sent);
    let error = Primary::open(&a, local.clone()).map(drop).unwrap_err();
    assert!(matches!(error, OpenError::Store(_)), "{error}");
    let a = a.restart(Faults::default());
    store.cut_off(false);
    put_base(&disk(3), &local);
    let keep = KeepInStore {
        bases: 1,
        since: None,
        hosts_since: None,
    };
    let deleted = delete_past(local.remote.as_ref().unwrap(), keep).unwrap();
    assert!(deleted.log.entries > 0, "{deleted:?}");
    (a, local)
}

/// Another host goes on without the rest.
fn goes_on(options: &StorageOptions) {
    let second = Primary::open(&disk(5), options.clone()).unwrap();
    second.commit(100).unwrap();
    second.close();
}

/// The number of transactions from 4 to 30 that are in a database.
fn of_tail(primary: &Primary) -> u64 {
    (4..=30).filter(|number| primary.has(*number)).count() as u64
}

#[test]
fn i12_a_claim_that_was_interrupted_behind_its_fence_before_a_trim_is_continued() {
    let store = Arc::new(Lossy::default());
    let (a, local) = interrupted(&store, 0);
    // Its fence stays in the store, so the directory is not behind what is kept: the rest goes there now.
    let first = Primary::open(&a, local.clone()).unwrap();
    assert_eq!(of_tail(&first), 27);
    first.close();
    let other = Primary::open(&disk(6), local).unwrap();
    assert_eq!(of_tail(&other), 27);

    let store = Arc::new(Lossy::default());
    let (a, local) = interrupted(&store, 0);
    goes_on(&local);
    let first = Primary::open(&a, local).unwrap();
    assert!((1..=3).chain([100]).all(|number| first.has(number)));
    assert_eq!(of_tail(&first), 0);
    let kept = forks(&a).unwrap();
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(kept[0].transactions, 27, "{kept:?}");
}

#[test]
fn i12_what_was_acknowledged_here_alone_outlasts_a_claim_that_was_interrupted_before_a_trim() {
    let store = Arc::new(Lossy::default());
    let (a, local) = interrupted(&store, 1);
    let both = impatient(options(&store, DurableAt::Both));
    let is_left_alone = |options: &StorageOptions| {
        let opened = Primary::open(&a, options.clone()).map(drop);
        let followed = follow(&a, options).map(drop);
        for outcome in [opened, followed] {
            let error = outcome.unwrap_err();
            assert!(matches!(error, OpenError::StoreTrimmed { .. }), "{error}");
        }
        assert!(forks(&a).unwrap().is_empty());
    };
    // The store's log ends before the rest, which may be nowhere else: under any present option.
    is_left_alone(&local);
    is_left_alone(&both);
    goes_on(&local);
    is_left_alone(&local);
    // If the store's log has another group instead, the rest is kept aside before anything is cut off.
    let first = Primary::open(&a, both).unwrap();
    assert!((1..=3).chain([100]).all(|number| first.has(number)));
    let stored = of_tail(&first);
    assert!((1..27).contains(&stored), "{stored}");
    let kept = forks(&a).unwrap();
    assert_eq!(kept.len(), 1, "{kept:?}");
    // From the first one on that was not known to be in the store.
    assert_eq!(kept[0].transactions, 27, "{kept:?}");
}
