//! A database whose log is in a store: opened on one host, followed on others, taken over; with hosts that crash and a
//! store that loses answers.

mod common;

use common::store::{Lossy, Primary, disk, follow, options};
use sardonyx_base::random::Random;
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use sardonyx_storage::engine::{DurableAt, OpenError, Replica, StorageOptions};
use sardonyx_storage::remote_log::RemoteLogError;
use sardonyx_storage::remote_log::known::STORE_FILE;
use sardonyx_storage::remote_log::objects::RemoteObjects;
use sardonyx_storage::remote_log::shell::Follower;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

#[test]
fn another_host_goes_on_with_everything_that_was_acknowledged() {
    let store = Arc::new(Lossy::default());
    let options = options(&store, DurableAt::Both);
    let (a, b) = (disk(1), disk(2));
    let first = Primary::open(&a, options.clone()).unwrap();
    (1..100).for_each(|number| first.commit(number).unwrap());
    // The second one has never seen the first one's directory.
    let second = Primary::open(&b, options.clone()).unwrap();
    assert!((1..100).all(|number| second.has(number)));
    let fenced = first.commit(100).unwrap_err().to_string();
    assert!(fenced.contains("another owner's"), "{fenced}");
    (200..300).for_each(|number| second.commit(number).unwrap());
    drop(first);
    second.close();
    // It comes back: what nobody was told of is cut off, and the other one's transactions are there.
    let first = Primary::open(&a, options).unwrap();
    assert!((1..100).chain(200..300).all(|number| first.has(number)));
    assert!(!first.has(100), "it is not in the store");
    first.commit(100).unwrap();
}

#[test]
fn what_is_acknowledged_while_another_host_claims_is_there() {
    let store = Arc::new(Lossy::default());
    let options = options(&store, DurableAt::Both);
    let first = Arc::new(Primary::open(&disk(1), options.clone()).unwrap());
    first.commit(1).unwrap();
    // The claimant has found the end, and asks once more before it puts its fence there.
    let still = first.clone();
    store.at_list(move || still.commit(2).unwrap());
    let second = Primary::open(&disk(2), options).unwrap();
    assert!(second.has(1) && second.has(2));
    assert!(first.commit(3).is_err());
    second.commit(3).unwrap();
}

#[test]
fn what_was_only_here_goes_to_the_store_if_nobody_went_on() {
    let store = Arc::new(Lossy::default());
    let options = options(&store, DurableAt::Both);
    let (a, b) = (disk(1), disk(2));
    let first = Primary::open(&a, options.clone()).unwrap();
    first.commit(1).unwrap();
    store.cut_off(true);
    let group = first.execute(2).unwrap();
    // It is on the disk here, and not acknowledged.
    while first.engine.commit().statistics().groups < 2 {
        std::thread::yield_now();
    }
    assert!(!first.engine.commit().is_durable(group));
    let a = a.restart(Faults::default());
    store.cut_off(false);
    drop(first);
    Primary::open(&a, options.clone()).unwrap().close();
    let second = Primary::open(&b, options).unwrap();
    assert!(second.has(1));
    assert!(second.has(2), "it became part of the log");
}

#[test]
fn a_follower_is_at_the_end_and_takes_over() {
    let store = Arc::new(Lossy::default());
    let options = options(&store, DurableAt::Both);
    let (a, b) = (disk(1), disk(2));
    let first = Primary::open(&a, options.clone()).unwrap();
    (1..50).for_each(|number| first.commit(number).unwrap());
    let (mut replica, mut follower) = follow(&b, &options).unwrap();
    (50..2000).for_each(|number| first.commit(number).unwrap());
    while let Some(entry) = follower.next_entry().unwrap() {
        replica.apply(&entry).unwrap();
    }
    assert_eq!(replica.known().entry, follower.position());
    let groups = first.engine.commit().durable().group;
    assert_eq!(replica.known().log.group, groups);
    // A second one in its directory is refused, also with the store.
    let locked = Primary::open(&b, options.clone()).map(drop).unwrap_err();
    assert!(matches!(locked, OpenError::Locked { .. }), "{locked}");
    drop(replica);
    // It ends in no order, and its log is used again many times.
    let b = b.restart(Faults::default());
    let second = Primary::open(&b, options.clone()).unwrap();
    assert!((1..2000).all(|number| second.has(number)));
    // A directory that is new gets everything from the store.
    second.close();
    let (mut replica, mut follower) = follow(&disk(3), &options).unwrap();
    while let Some(entry) = follower.next_entry().unwrap() {
        replica.apply(&entry).unwrap();
    }
    assert!(replica.known().log.group >= groups);
}

#[test]
fn durable_here_alone_the_store_follows_and_a_takeover_loses_only_what_it_had_not() {
    let store = Arc::new(Lossy::default());
    let mut options = options(&store, DurableAt::Local);
    if let Some(remote) = &mut options.remote {
        remote.patience.time_limit = Duration::ZERO;
    }
    let (a, b) = (disk(1), disk(2));
    let first = Primary::open(&a, options.clone()).unwrap();
    (1..100).for_each(|number| first.commit(number).unwrap());
    first.close();
    let second = Primary::open(&b, options.clone()).unwrap();
    assert!(
        (1..100).all(|number| second.has(number)),
        "closing waits for the store"
    );
    second.close();
    let first = Primary::open(&a, options.clone()).unwrap();
    store.cut_off(true);
    (100..110).for_each(|number| first.commit(number).unwrap());
    let a = a.restart(Faults::default());
    // It gives up: what it has on its way must not come later.
    drop(first);
    store.cut_off(false);
    // What was acknowledged here must not be cut off to follow a store that nobody else wrote to.
    let error = follow(&a, &options).map(drop).unwrap_err();
    assert!(matches!(error, OpenError::StoreBehind), "{error}");
    let second = Primary::open(&b, options.clone()).unwrap();
    assert!(!second.has(105));
    second.commit(200).unwrap();
    second.close();
    // Now another host went on: it follows, without what the store never had; anew, if its checkpoints have that.
    let a = match follow(&a, &options) {
        Ok(following) => {
            drop(following);
            a
        }
        Err(error) => {
            assert!(matches!(error, OpenError::StoreForked { .. }), "{error}");
            disk(3)
        }
    };
    let first = Primary::open(&a, options).unwrap();
    assert!(first.has(99) && !first.has(105) && first.has(200));
}

#[test]
fn i12_following_cuts_nothing_off_that_was_acknowledged_under_other_options() {
    let store = Arc::new(Lossy::default());
    let mut alone = options(&store, DurableAt::Local);
    if let Some(remote) = &mut alone.remote {
        remote.patience.time_limit = Duration::ZERO;
    }
    let a = disk(1);
    let first = Primary::open(&a, alone).unwrap();
    store.cut_off(true);
    (1..10).for_each(|number| first.commit(number).unwrap());
    let a = a.restart(Faults::default());
    drop(first);
    store.cut_off(false);
    let both = options(&store, DurableAt::Both);
    let error = follow(&a, &both).map(drop).unwrap_err();
    assert!(matches!(error, OpenError::StoreBehind), "{error}");
    let first = Primary::open(&a, both.clone()).unwrap();
    assert!((1..10).all(|number| first.has(number)));
    first.close();
    drop(follow(&a, &both).unwrap());
}

#[test]
fn i12_following_cuts_nothing_off_that_was_acknowledged_before_there_was_a_store() {
    for checkpoints in [Some(u64::MAX), Some(64 << 10)] {
        let store = Arc::new(Lossy::default());
        let mut with = options(&store, DurableAt::Both);
        with.checkpoint_interval_bytes = checkpoints;
        let without = StorageOptions {
            remote: None,
            ..with.clone()
        };
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

/// A database that had no store gets one that is not reached after so many requests, and another host wants to go on.
/// Returns whether that was refused; `None`: so many requests were enough.
fn refused_when_cut_off_after(requests: u64) -> Option<bool> {
    let store = Arc::new(Lossy::default());
    let mut with = options(&store, DurableAt::Both);
    with.checkpoint_interval_bytes = Some(u64::MAX);
    let without = StorageOptions {
        remote: None,
        ..with.clone()
    };
    let mut impatient = with.clone();
    if let Some(remote) = &mut impatient.remote {
        remote.patience.time_limit = Duration::ZERO;
    }
    let (a, b) = (disk(1), disk(2));
    let first = Primary::open(&a, without).unwrap();
    // More than the store takes in one entry.
    (1..100).for_each(|number| first.commit(number).unwrap());
    first.close();
    store.cut_off_after(requests);
    let is_open = match Primary::open(&a, impatient) {
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
    let without = StorageOptions {
        remote: None,
        ..with.clone()
    };
    let mut impatient = with.clone();
    if let Some(remote) = &mut impatient.remote {
        remote.patience.time_limit = Duration::ZERO;
    }
    let a = disk(seed);
    Primary::open(&a, without.clone()).unwrap().close();
    let a = a.next_process(Faults {
        kill_at_step: Some(step),
        ..Faults::default()
    });
    let mut acknowledged = 0;
    if let Ok(first) = Primary::open(&a, without) {
        acknowledged = (1..10)
            .take_while(|number| first.commit(*number).is_ok())
            .count() as u64;
    }
    // What it wrote and did not sync is seen.
    let killed = a.has_crashed();
    let a = a.next_process(Faults::default());
    store.cut_off_after(2);
    let error = Primary::open(&a, impatient).map(drop).unwrap_err();
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
        let outcomes = (0..8).map(|seed| promised_with_a_kill_at(*step, seed));
        outcomes.fold(false, |killed, outcome| killed | outcome)
    };
    let steps = (1..).take_while(killed_at).count();
    assert!(steps > 20, "{steps}");
}

/// A host that acknowledged alone what another went on without, at its next start, which crashes at this step. Returns
/// whether it came so far.
fn cut_with_a_crash_at(step: u64) -> bool {
    let store = Arc::new(Lossy::default());
    let mut options = options(&store, DurableAt::Local);
    // No checkpoint has any of it.
    options.checkpoint_interval_bytes = Some(u64::MAX);
    if let Some(remote) = &mut options.remote {
        remote.patience.time_limit = Duration::ZERO;
    }
    let (a, b) = (disk(step), disk(step + 1000));
    let first = Primary::open(&a, options.clone()).unwrap();
    first.commit(1).unwrap();
    first.close();
    let first = Primary::open(&a, options.clone()).unwrap();
    store.cut_off(true);
    // Each group knows that the one before was durable.
    (2..8).for_each(|number| first.commit(number).unwrap());
    let crashing = a.restart(Faults {
        crash_at_step: Some(step),
        ..Faults::default()
    });
    drop(first);
    store.cut_off(false);
    let second = Primary::open(&b, options.clone()).unwrap();
    (20..30).for_each(|number| second.commit(number).unwrap());
    second.close();
    let outcome = follow(&crashing, &options).map(drop);
    let crashed = crashing.has_crashed();
    assert!(crashed || outcome.is_ok(), "{outcome:?}");
    // Whatever was cut until then, what is left is a log.
    let a = crashing.restart(Faults::default());
    let first = Primary::open(&a, options).unwrap();
    let theirs = |number| first.has(number);
    assert!(theirs(1) && (20..30).all(theirs) && !(2..8).any(theirs));
    crashed
}

#[test]
fn i4_a_crash_at_any_step_of_cutting_leaves_a_log() {
    let steps = (1..).take_while(|step| cut_with_a_crash_at(*step)).count();
    assert!(steps > 20, "{steps}");
}

#[test]
fn a_directory_whose_log_is_in_a_store_is_opened_with_that_store_or_not() {
    let (store, other) = (Arc::new(Lossy::default()), Arc::new(Lossy::default()));
    let with = |store: &Arc<Lossy>| options(store, DurableAt::Both);
    let a = disk(1);
    let first = Primary::open(&a, with(&store)).unwrap();
    (1..10).for_each(|number| first.commit(number).unwrap());
    first.close();
    let without = StorageOptions {
        remote: None,
        ..with(&store)
    };
    let error = Primary::open(&a, without.clone()).map(drop).unwrap_err();
    assert!(matches!(error, OpenError::StoreMissing { .. }), "{error}");
    let error = Primary::open(&a, with(&other)).map(drop).unwrap_err();
    assert!(
        matches!(error, OpenError::StoreImpossible { .. }),
        "{error}"
    );
    // Another database's store.
    Primary::open(&disk(2), with(&other)).unwrap().close();
    let error = Primary::open(&a, with(&other)).map(drop).unwrap_err();
    let is_other = matches!(error, OpenError::Store(RemoteLogError::Identity { .. }));
    assert!(is_other, "{error}");
    // Damage is named, and nothing is changed.
    a.corrupt(STORE_FILE, 60, |byte| byte ^ 1).unwrap();
    let error = Primary::open(&a, with(&store)).map(drop).unwrap_err();
    assert!(error.to_string().contains(STORE_FILE), "{error}");
    assert!(matches!(error, OpenError::Known(_)), "{error}");
}

#[test]
fn a_database_that_was_made_without_a_store_is_put_there_while_its_log_is_whole() {
    let store = Arc::new(Lossy::default());
    let with = options(&store, DurableAt::Both);
    let without = StorageOptions {
        remote: None,
        ..with.clone()
    };
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
    let without = StorageOptions {
        remote: None,
        ..with.clone()
    };
    let a = disk(1);
    let first = Primary::open(&a, without.clone()).unwrap();
    (1..1000).for_each(|number| first.commit(number).unwrap());
    // Killed: the manifest still says that the log ends where it begins.
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

#[test]
fn i10_what_waited_for_the_store_is_in_entries_that_a_log_of_the_same_length_takes() {
    // Once by the host that was open all the time, once by its next claim.
    for is_killed in [false, true] {
        let store = Arc::new(Lossy::default());
        store.entry_most.set(64 << 20).unwrap();
        let mut options = options(&store, DurableAt::Local);
        if let Some(remote) = &mut options.remote {
            remote.patience.time_limit = Duration::ZERO;
        }
        let a = disk(1);
        let mut first = Primary::open(&a, options.clone()).unwrap();
        store.cut_off(true);
        (1..111).for_each(|number| first.commit(number).unwrap());
        if is_killed {
            let a = a.restart(Faults::default());
            drop(first);
            store.cut_off(false);
            first = Primary::open(&a, options.clone()).unwrap();
        }
        store.cut_off(false);
        // Behind the fence: what was on its way has an answer, and what follows has it at once.
        while store.inner.entries() < 2 {
            std::thread::yield_now();
        }
        first.close();
        let b = disk(2);
        let (mut replica, mut follower) = follow(&b, &options).unwrap();
        while let Some(entry) = follower.next_entry().unwrap() {
            let bytes = entry.bytes().len() as u64;
            assert!(bytes <= options.log_bytes_max / 4, "{bytes}");
            replica.apply(&entry).unwrap();
        }
        drop(replica);
        let second = Primary::open(&b, options).unwrap();
        assert!((1..111).all(|number| second.has(number)));
    }
}

/// A host of the world, and what it does.
struct Host {
    disk: SimulatedDisk,
    open: Option<Primary>,
    following: Option<(Replica, Follower)>,
}

impl Host {
    fn stop(&mut self) {
        self.open = None;
        self.following = None;
    }

    /// It comes up again: with a crash at some step to come, now and then.
    fn restart(&mut self, random: &mut Random) {
        let faults = Faults {
            crash_at_step: random.chance(1, 3).then(|| random.below(300)),
            ..Faults::default()
        };
        self.disk = match random.chance(1, 2) {
            true => self.disk.restart(faults),
            false => self.disk.next_process(Faults {
                kill_at_step: faults.crash_at_step,
                ..Faults::default()
            }),
        };
        // What was open fails now, and must not be waited for.
        self.stop();
    }
}

struct World {
    random: Random,
    hosts: Vec<Host>,
    options: StorageOptions,
    next: u64,
    acknowledged: BTreeSet<u64>,
    opened: u64,
    behind: u64,
}

impl World {
    fn step(&mut self) {
        let at = self.random.below(self.hosts.len() as u64) as usize;
        let drawn = self.random.below(10);
        let host = &mut self.hosts[at];
        match drawn {
            // Also when another one serves.
            0 | 1 if host.open.is_none() => {
                host.following = None;
                match Primary::open(&host.disk, self.options.clone()) {
                    Ok(open) => {
                        self.opened += 1;
                        let missing: Vec<_> = self
                            .acknowledged
                            .iter()
                            .filter(|number| !open.has(**number))
                            .collect();
                        assert!(missing.is_empty(), "lost: {missing:?}");
                        host.open = Some(open);
                    }
                    Err(error) => {
                        assert!(host.disk.has_crashed(), "{error}");
                        host.restart(&mut self.random);
                    }
                }
            }
            2 if host.open.is_none() && host.following.is_none() => {
                match follow(&host.disk, &self.options) {
                    Ok(following) => host.following = Some(following),
                    // Until it serves again, or another one goes on.
                    Err(OpenError::StoreBehind) => self.behind += 1,
                    Err(error) => {
                        assert!(host.disk.has_crashed(), "{error}");
                        host.restart(&mut self.random);
                    }
                }
            }
            3 => host.restart(&mut self.random),
            4 if self.random.chance(1, 2) => {
                if let Some(open) = host.open.take() {
                    open.close();
                }
                if let Some((replica, _)) = host.following.take() {
                    replica.close();
                }
            }
            _ => self.go_on(at),
        }
    }

    /// Who serves commits; who follows applies.
    fn go_on(&mut self, at: usize) {
        let host = &mut self.hosts[at];
        if let Some(open) = &host.open {
            for _ in 0..self.random.below(30) {
                let number = self.next;
                self.next += 1;
                match open.commit(number) {
                    Ok(()) => assert!(self.acknowledged.insert(number)),
                    // Fenced, or its disk has crashed.
                    Err(_) => {
                        host.open = None;
                        break;
                    }
                }
            }
        }
        if let Some((replica, follower)) = &mut host.following {
            for _ in 0..self.random.below(10) {
                let Some(entry) = follower.next_entry().unwrap() else {
                    break;
                };
                if let Err(error) = replica.apply(&entry) {
                    assert!(host.disk.has_crashed(), "{error}");
                    host.following = None;
                    break;
                }
            }
        }
    }
}

/// Returns how often a host began to serve, and how often one had what the store had not when it was to follow.
fn run(seed: u64, durable_at: DurableAt) -> [u64; 2] {
    let mut random = Random::new(seed);
    let store = Lossy::with_silence(random.below(20), seed);
    let hosts = (0..3).map(|host| Host {
        disk: disk(seed * 3 + host),
        open: None,
        following: None,
    });
    let mut world = World {
        random,
        hosts: hosts.collect(),
        options: options(&store, durable_at),
        next: 1,
        acknowledged: BTreeSet::new(),
        opened: 0,
        behind: 0,
    };
    for _ in 0..120 {
        world.step();
    }
    for host in &mut world.hosts {
        host.stop();
        host.disk = host.disk.restart(Faults::default());
    }
    // Each host has the same in the end.
    for at in 0..world.hosts.len() {
        let open = Primary::open(&world.hosts[at].disk, world.options.clone()).unwrap();
        let lost: Vec<_> = world
            .acknowledged
            .iter()
            .filter(|number| !open.has(**number))
            .collect();
        assert!(lost.is_empty(), "seed {seed}, host {at}: lost {lost:?}");
        open.close();
    }
    [world.opened, world.behind]
}

/// `SARDONYX_SEED=…` replays one, `SARDONYX_SEEDS=…` runs more.
#[test]
fn i12_hosts_that_crash_and_take_over_lose_nothing_that_was_acknowledged() {
    let from = |name| Some(std::env::var(name).ok()?.parse().expect("a number"));
    let seeds = match from("SARDONYX_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..from("SARDONYX_SEEDS").unwrap_or(40),
    };
    let [mut opened, mut behind] = [0, 0];
    for seed in seeds.clone() {
        println!("seed {seed}");
        for durable_at in [DurableAt::Both, DurableAt::Remote] {
            let [more_opened, more_behind] = run(seed, durable_at);
            opened += more_opened;
            behind += more_behind;
        }
    }
    assert!(opened >= seeds.count() as u64, "{opened}");
    assert!(behind < opened, "{behind} of {opened}");
}
