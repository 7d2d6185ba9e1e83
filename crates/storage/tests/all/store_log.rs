//! A database whose log is in a store: opened on one host, followed on others, taken over; with a crash at any step of
//! cutting.

use crate::common::store::{Lossy, Primary, disk, follow, impatient, options};
use sardonyx_storage::crashes::End;
use sardonyx_storage::disk::{Access, Create, Disk, Faults};
use sardonyx_storage::engine::{DurableAt, FORK_NEW_FILE, OpenError, StorageOptions, forks};
use sardonyx_storage::remote_log::RemoteLogError;
use sardonyx_storage::remote_log::known::STORE_FILE;
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
    // It comes back: unacknowledged transactions are cut off, and the other one's transactions are there.
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
    let options = impatient(options(&store, DurableAt::Local));
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
    // It gives up: its entries on their way must not come later.
    drop(first);
    store.cut_off(false);
    // Transactions acknowledged here must not be cut off to follow a store that no other host wrote to.
    let error = follow(&a, &options).map(drop).unwrap_err();
    assert!(matches!(error, OpenError::StoreBehind), "{error}");
    let second = Primary::open(&b, options.clone()).unwrap();
    assert!(!second.has(105));
    second.commit(200).unwrap();
    second.close();
    // Now another host went on: it follows, without the transactions that the store never had; anew, if its
    // checkpoints have them.
    drop(follow(&a, &options).unwrap());
    let first = Primary::open(&a, options).unwrap();
    assert!(first.has(99) && !first.has(105) && first.has(200));
}

#[test]
fn i7_a_store_that_is_away_closes_no_log_that_is_open_and_what_waited_is_durable_when_it_is_back() {
    let store = Arc::new(Lossy::default());
    let options = impatient(options(&store, DurableAt::Both));
    let a = disk(1);
    let first = Primary::open(&a, options.clone()).unwrap();
    first.commit(1).unwrap();
    store.cut_off(true);
    let group = first.execute(2).unwrap();
    // So often that its patience is over.
    store.wait_until_unheard(50);
    store.cut_off(false);
    first.wait(group).unwrap();
    first.commit(3).unwrap();
    // When it is being closed it is not waited for.
    store.cut_off(true);
    let group = first.execute(4).unwrap();
    store.wait_until_unheard(5);
    first.engine.begin_to_close();
    let error = first.wait(group).unwrap_err();
    assert!(
        error.to_string().contains("it is unknown whether"),
        "{error}"
    );
    drop(first);
    store.cut_off(false);
    let first = Primary::open(&a, options).unwrap();
    assert!((1..4).all(|number| first.has(number)));
    first.commit(5).unwrap();
    first.close();
}

#[test]
fn i12_following_cuts_nothing_off_that_was_acknowledged_under_other_options() {
    let store = Arc::new(Lossy::default());
    let alone = impatient(options(&store, DurableAt::Local));
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

/// The next start of a host, which acknowledged transactions alone while another went on without them. It crashes at
/// this step. Returns true if it came so far.
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
    let crashing = a.restart(End::Crash(step).faults());
    drop(first);
    store.cut_off(false);
    let second = Primary::open(&b, options.clone()).unwrap();
    (20..30).for_each(|number| second.commit(number).unwrap());
    second.close();
    let outcome = follow(&crashing, &options).map(drop);
    let crashed = crashing.has_crashed();
    assert!(crashed || outcome.is_ok(), "{outcome:?}");
    // The rest after any cut is a log.
    let a = crashing.restart(Faults::default());
    let first = Primary::open(&a, options).unwrap();
    let theirs = |number| first.has(number);
    assert!(theirs(1) && (20..30).all(theirs) && !(2..8).any(theirs));
    // All that was cut off is kept, however often the cut began.
    let kept = forks(&a).unwrap();
    let transactions: Vec<_> = kept.iter().map(|fork| fork.transactions).collect();
    assert_eq!(transactions, [6], "step {step}: {kept:?}");
    crashed
}

#[test]
fn i4_a_crash_at_any_step_of_cutting_leaves_a_log() {
    let steps = (1..).take_while(|step| cut_with_a_crash_at(*step)).count();
    assert!(steps > 20, "{steps}");
}

#[test]
fn a_directory_that_begins_anew_keeps_what_was_cut_off_before() {
    let store = Arc::new(Lossy::default());
    let a = disk(1);
    for name in ["fork-00000000000000000007-0123abcd", FORK_NEW_FILE] {
        a.open(name, Access::Buffered, Create::New)
            .unwrap()
            .sync()
            .unwrap();
    }
    let first = Primary::open(&a, options(&store, DurableAt::Both)).unwrap();
    first.commit(1).unwrap();
    first.close();
    assert!(
        a.list("")
            .unwrap()
            .iter()
            .any(|name| name.starts_with("fork-"))
    );
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
fn i10_what_waited_for_the_store_is_in_entries_that_a_log_of_the_same_length_takes() {
    // Once by the host that was open all the time, once by its next claim.
    for is_killed in [false, true] {
        let store = Arc::new(Lossy::default());
        store.entry_most.set(64 << 20).unwrap();
        let options = impatient(options(&store, DurableAt::Local));
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
        // Behind the fence: the groups on their way have an answer, and later ones have it at once.
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
