//! A database whose transactions are acknowledged when this disk and the store have them. Both are asked at once, so either
//! may be first; here a host ends between the two, and its opening is cut short at each step.

use crate::common::held::HeldDisk;
use crate::common::store::{Lossy, Primary, disk, follow, has_all, impatient, options, wait_until};
use sardonyx_storage::disk::{Disk, Faults, SimulatedDisk};
use sardonyx_storage::engine::{DurableAt, StorageOptions, forks};
use sardonyx_storage::journal::LogEndBeside;
use sardonyx_storage::log::LogError;
use sardonyx_storage::log::published::DURABLE_FILE;
use sardonyx_storage::manifest::Manifest;
use sardonyx_storage::remote_log::known::Known;
use sardonyx_storage::remote_log::store::RemoteStore;
use std::sync::Arc;

fn both(store: &Arc<Lossy>) -> StorageOptions {
    options(store, DurableAt::Both)
}

/// The way in which a host ends.
#[derive(Clone, Copy, PartialEq, Debug)]
enum End {
    PowerCut,
    Killed,
}

impl End {
    fn of(self, disk: &SimulatedDisk, faults: Faults) -> SimulatedDisk {
        match self {
            End::PowerCut => disk.restart(faults),
            End::Killed => disk.next_process(faults),
        }
    }
}

fn entries(store: &Lossy) -> usize {
    store.inner.list(1).unwrap().len()
}

fn wait_for_entries(store: &Lossy, count: usize) {
    wait_until("a group in the store", || entries(store) >= count);
}

/// Waits until this disk has written so many groups.
fn wait_for_groups(first: &Primary, count: u64) {
    let written = || first.engine.commit().statistics().groups;
    wait_until("a group on this disk", || written() >= count);
}

/// The store has groups 4 and 5, this disk has not synced them, and the host ends.
fn store_first(seed: u64, store: &Arc<Lossy>, end: End) -> SimulatedDisk {
    let held = HeldDisk::new(disk(seed));
    let first = Primary::open(&held.disk, both(store)).unwrap();
    (1..=3).for_each(|number| first.commit(number).unwrap());
    let before = entries(store);
    let waiting = held.hold_back();
    let group = first.execute(4).unwrap();
    wait_for_entries(store, before + 1);
    first.execute(5).unwrap();
    wait_for_entries(store, before + 2);
    assert!(
        !first.engine.commit().is_durable(group),
        "I1: only the store has it"
    );
    let after = end.of(&held.inner, Faults::default());
    drop(waiting);
    drop(first);
    after
}

/// This disk has groups 4 and 5, the store has not, and the host ends.
fn here_first(seed: u64, store: &Arc<Lossy>, end: End) -> SimulatedDisk {
    let inner = disk(seed);
    // It gives up when it ends: entries on their way must not come later.
    let first = Primary::open(&inner, impatient(both(store))).unwrap();
    (1..=3).for_each(|number| first.commit(number).unwrap());
    store.cut_off(true);
    // One after the other, and not before the third has left the disk: else both may be one group.
    wait_until("the third group has left", || {
        first.engine.commit().outstanding() == 0
    });
    let group = first.execute(4).unwrap();
    wait_for_groups(&first, 4);
    first.execute(5).unwrap();
    wait_for_groups(&first, 5);
    assert!(
        !first.engine.commit().is_durable(group),
        "I1: only this disk has it"
    );
    let after = end.of(&inner, Faults::default());
    drop(first);
    store.cut_off(false);
    after
}

/// Opens a database again and again, each time with a crash one step later, until that comes too late. Its commits are
/// acknowledged in between, and never lost.
fn crashed_at_each_step(mut at: SimulatedDisk, end: End, store: &Arc<Lossy>, least: u64) {
    let mut last = least;
    for step in 0.. {
        let faults = match end {
            End::PowerCut => Faults {
                crash_at_step: Some(step),
                ..Faults::default()
            },
            End::Killed => Faults {
                kill_at_step: Some(step),
                ..Faults::default()
            },
        };
        at = end.of(&at, faults);
        let opened = Primary::open(&at, both(store));
        if let Ok(open) = &opened {
            assert!(has_all(open, last), "lost, step {step}");
            while !at.has_crashed() && open.commit(last + 1).is_ok() {
                last += 1;
                if last > least + 60 {
                    return;
                }
            }
        }
        drop(opened);
        if step % 7 == 0 {
            at = end.of(&at, Faults::default());
            let open = Primary::open(&at, both(store)).unwrap();
            assert!(has_all(&open, last), "lost, step {step}");
            last = (last..).find(|next| !open.has(*next + 1)).unwrap();
            open.close();
        }
    }
}

#[test]
fn i1_what_the_store_had_first_is_there_whenever_the_host_ends_and_its_opening_too() {
    for (seed, end) in [(1, End::PowerCut), (2, End::Killed)] {
        let store = Arc::new(Lossy::default());
        let after = store_first(seed, &store, end);
        crashed_at_each_step(after, end, &store, 5);
    }
}

#[test]
fn i1_what_this_disk_had_first_is_there_whenever_the_host_ends_and_its_opening_too() {
    for (seed, end) in [(1, End::PowerCut), (2, End::Killed)] {
        let store = Arc::new(Lossy::default());
        let after = here_first(seed, &store, end);
        crashed_at_each_step(after, end, &store, 5);
    }
}

#[test]
fn i4_whichever_of_two_unsynced_groups_a_power_cut_leaves_the_host_goes_on_with_what_the_store_has()
{
    for seed in 0..40 {
        let store = Arc::new(Lossy::default());
        let after = store_first(seed, &store, End::PowerCut);
        // Another host may have continued, or this one follows first.
        let mut last = 5;
        if seed % 2 == 0 {
            let second = Primary::open(&disk(1000 + seed), both(&store)).unwrap();
            assert!(has_all(&second, 5), "seed {seed}");
            second.commit(6).unwrap();
            second.close();
            last = 6;
        }
        if seed % 3 == 0 {
            drop(follow(&after, &both(&store)).unwrap());
        }
        let first = Primary::open(&after, both(&store)).unwrap();
        assert!(has_all(&first, last), "seed {seed}");
        first.commit(last + 1).unwrap();
        first.close();
        assert!(
            forks(&after).unwrap().is_empty(),
            "what the store has is no fork"
        );
    }
}

#[test]
fn i12_what_only_this_disk_had_is_cut_off_if_another_host_went_on_and_no_follower_shows_it() {
    for seed in 0..10 {
        let store = Arc::new(Lossy::default());
        let after = here_first(seed, &store, End::PowerCut);
        let second = Primary::open(&disk(1000 + seed), both(&store)).unwrap();
        assert!(has_all(&second, 3) && !second.has(4) && !second.has(5));
        second.commit(6).unwrap();
        second.close();
        let first = Primary::open(&after, both(&store)).unwrap();
        assert!(has_all(&first, 3) && !first.has(4) && !first.has(5) && first.has(6));
        assert_eq!(forks(&after).unwrap().len(), 1, "it is kept aside");
    }
}

#[test]
fn i7_a_sync_that_fails_when_the_store_has_the_group_closes_the_log_and_records_nothing_that_is_not_here()
 {
    for seed in 0..20 {
        let store = Arc::new(Lossy::default());
        let held = HeldDisk::new(disk(seed));
        let first = Primary::open(&held.disk, both(&store)).unwrap();
        (1..=3).for_each(|number| first.commit(number).unwrap());
        let (stable, before) = (first.engine.commit().durable(), entries(&store));
        let waiting = held.hold_back();
        let group = first.execute(4).unwrap();
        wait_for_entries(&store, before + 1);
        waiting.fail();
        let unknown = first.wait(group).unwrap_err();
        assert!(matches!(unknown, LogError::Poisoned { .. }), "{unknown}");
        assert!(first.execute(5).is_err());
        drop(first);
        let known = Known::read(&held.inner).unwrap().expect("the file");
        assert!(known.log.group <= stable.group, "I2: {known:?}");
        let after = match seed % 2 {
            0 => held.inner.restart(Faults::default()),
            _ => held.inner.next_process(Faults::default()),
        };
        let again = Primary::open(&after, both(&store)).unwrap();
        assert!(has_all(&again, 4), "seed {seed}");
        again.close();
        let second = Primary::open(&disk(1000 + seed), both(&store)).unwrap();
        assert!(has_all(&second, 4), "seed {seed}");
    }
}

#[test]
fn i2_readers_and_checkpoints_are_given_what_both_have_whichever_was_first() {
    let store = Arc::new(Lossy::default());
    let held = HeldDisk::new(disk(1));
    let first = Primary::open(&held.disk, both(&store)).unwrap();
    (1..=3).for_each(|number| first.commit(number).unwrap());
    let (stable, before) = (first.engine.commit().durable(), entries(&store));
    let waiting = held.hold_back();
    let group = first.execute(4).unwrap();
    wait_for_entries(&store, before + 1);
    first.engine.checkpoint().take(stable).unwrap();
    let published = sardonyx_storage::log::published::DurableEnd::read(&held.inner)
        .unwrap()
        .expect("it is published");
    assert_eq!(published.position, stable);
    assert_eq!(
        first.engine.checkpoint().complete_from().group,
        stable.group
    );
    drop(waiting);
    first.wait(group).unwrap();
    first
        .engine
        .checkpoint()
        .take(first.engine.commit().durable())
        .unwrap();
}

#[test]
fn i12_readers_of_changes_are_given_only_what_the_store_has_too() {
    for durable_at in [DurableAt::Local, DurableAt::Both] {
        let store = Arc::new(Lossy::default());
        let options = impatient(options(&store, durable_at));
        let a = disk(1);
        let first = Primary::open(&a, options).unwrap();
        (1..=3).for_each(|number| first.commit(number).unwrap());
        let manifest = Manifest::read(&a).unwrap();
        let home: Arc<dyn Disk> = Arc::new(a.clone());
        let stored = || {
            let mut end = LogEndBeside::new(&home, &manifest);
            end.look().unwrap()
        };
        let durable = || first.engine.commit().durable().group;
        let before = durable();
        wait_until("the store has it", || stored() == before);
        store.cut_off(true);
        let group = first.execute(4).unwrap();
        match durable_at {
            // It is acknowledged, and no other host would have it.
            DurableAt::Local => first.wait(group).unwrap(),
            _ => store.wait_until_unheard(5),
        }
        assert_eq!(stored(), before, "{durable_at:?}");
        store.cut_off(false);
        first.wait(group).unwrap();
        wait_until("the store has the rest", || stored() == durable());
        assert!(stored() > before);
        // A killed process leaves what it published; without that, the record in the directory counts.
        home.remove(DURABLE_FILE).unwrap();
        let known = Known::read(&a).unwrap().unwrap();
        assert_eq!(stored(), known.log.group);
        first.close();
        let known = Known::read(&a).unwrap().unwrap();
        assert!(stored() >= known.log.group && known.log.group > before);
    }
}
