//! A host that another one superseded has transactions that the store never had, in its log and in its checkpoints: it
//! comes back without them, and they are kept aside.

use crate::common::store::{Lossy, Primary, caught_up, disk, impatient, options, put_base};
use sardonyx_storage::crashes::End;
use sardonyx_storage::disk::{Disk, Faults, SimulatedDisk};
use sardonyx_storage::engine::{
    DurableAt, KeepInStore, OpenError, StorageOptions, delete_past, exists, forks, remove_base,
};
use sardonyx_storage::journal::LogEndBeside;
use sardonyx_storage::manifest::Manifest;
use sardonyx_storage::remote_log::RemoteLogError;
use sardonyx_storage::remote_log::base::list_bases;
use std::ops::Range;
use std::sync::Arc;

/// The directory of a host that had the numbers from 1 to 49, and did these transactions alone, which a checkpoint has, too;
/// or only ended its log in order. It comes back with these faults.
fn ahead(
    seed: u64,
    has_base: bool,
    alone: Range<u64>,
    faults: Faults,
) -> (SimulatedDisk, StorageOptions, Arc<Lossy>) {
    let store = Arc::new(Lossy::default());
    let options = impatient(options(&store, DurableAt::Local));
    let a = disk(seed);
    let first = Primary::open(&a, options.clone()).unwrap();
    (1..50).for_each(|number| first.commit(number).unwrap());
    first.close();
    if has_base {
        put_base(&disk(3), &options);
    }
    let first = Primary::open(&a, options.clone()).unwrap();
    store.cut_off(true);
    match alone.is_empty() {
        true => first.mark_end(),
        false => alone.for_each(|number| first.commit(number).unwrap()),
    }
    let end = first.engine.commit().durable();
    first.engine.checkpoint().take(end).unwrap();
    let behind = a.restart(faults);
    drop(first);
    store.cut_off(false);
    (behind, options, store)
}

/// Another host commits the numbers from 100 to 109.
fn go_on(options: &StorageOptions) {
    let second = Primary::open(&disk(2), options.clone()).unwrap();
    (100..110).for_each(|number| second.commit(number).unwrap());
    second.close();
}

/// The same after another host went on.
fn superseded(
    seed: u64,
    has_base: bool,
    alone: Range<u64>,
    faults: Faults,
) -> (SimulatedDisk, StorageOptions) {
    let (behind, options, _) = ahead(seed, has_base, alone, faults);
    go_on(&options);
    (behind, options)
}

/// Ten transactions.
const TEN: Range<u64> = 1000..1010;

/// So many transactions that it did alone are in no log and no checkpoint, and in one file.
fn check(directory: &SimulatedDisk, options: StorageOptions, alone: u64) {
    let first = Primary::open(directory, options).unwrap();
    let kept = forks(directory).unwrap();
    let transactions: Vec<u64> = kept.iter().map(|fork| fork.transactions).collect();
    assert_eq!(transactions, [alone]);
    assert!((1..50).chain(100..110).all(|number| first.has(number)));
    assert!({ TEN }.all(|number| !first.has(number)));
    first.commit(110).unwrap();
    first.close();
}

#[test]
fn a_host_whose_checkpoint_has_what_is_cut_off_begins_anew_and_keeps_it_aside() {
    for (has_base, alone) in [(false, TEN), (true, TEN), (false, 0..0), (true, 0..0)] {
        let transactions = alone.clone().count() as u64;
        let (behind, options) = superseded(1, has_base, alone.clone(), Faults::default());
        let replica = caught_up(&behind, &options);
        assert_eq!(replica.known().log.transactions, 59);
        replica.close();
        check(&behind, options, transactions);
        // It takes the log over at once.
        let (behind, options) = superseded(1, has_base, alone, Faults::default());
        Primary::open(&behind, options.clone()).unwrap().close();
        check(&behind, options, transactions);
    }
}

#[test]
fn a_host_that_another_one_overtakes_while_it_claims_the_log_begins_anew_too() {
    for has_base in [false, true] {
        let (behind, options, store) = ahead(1, has_base, TEN, Faults::default());
        let theirs = options.clone();
        // Before its fence is there.
        store.at_append(move || go_on(&theirs));
        Primary::open(&behind, options.clone()).unwrap().close();
        check(&behind, options, 10);
    }
}

#[test]
fn a_directory_does_not_begin_anew_with_a_base_that_has_lost_a_part() {
    let (behind, options) = superseded(1, true, TEN, Faults::default());
    let store = &options.remote.as_ref().unwrap().store;
    let (name, _) = list_bases(&**store).unwrap().whole.remove(0);
    let part = name.part(0);
    let bytes = store.read_object(&part).unwrap().unwrap();
    store.remove_objects(std::slice::from_ref(&part)).unwrap();
    let home: Arc<dyn Disk> = Arc::new(behind.clone());
    let mut end = LogEndBeside::new(&home, &Manifest::read(&behind).unwrap());
    for _ in 0..2 {
        let outcome = Primary::open(&behind, options.clone()).map(drop);
        let Err(OpenError::Store(RemoteLogError::Base { reason })) = outcome else {
            panic!("{outcome:?}");
        };
        assert!(reason.contains(&part), "{reason}");
        assert!(exists(&behind).unwrap());
        // Readers of changes are not given those of its checkpoint and archive.
        let cut = forks(&behind).unwrap()[0].first_group;
        assert!(end.look().unwrap() <= cut);
    }
    store.create_object(&part, &bytes).unwrap();
    check(&behind, options, 10);
}

#[test]
fn a_directory_does_not_begin_anew_without_a_base_and_the_beginning_of_the_log() {
    let (behind, options) = superseded(1, true, TEN, Faults::default());
    let remote = options.remote.as_ref().unwrap();
    let keep = KeepInStore {
        bases: 1,
        since: None,
        hosts_since: None,
    };
    // The directory has the log from before the base on, so it needs nothing that is deleted.
    let known = delete_past(remote, keep).unwrap().from.unwrap();
    assert!(known.entry.next > 1);
    let (name, _) = list_bases(&*remote.store).unwrap().whole.remove(0);
    remove_base(remote, &name).unwrap();
    for _ in 0..2 {
        let outcome = Primary::open(&behind, options.clone()).map(drop);
        let is_forked = matches!(outcome, Err(OpenError::StoreForked { .. }));
        assert!(is_forked, "{outcome:?}");
    }
}

#[test]
fn a_crash_at_any_step_of_beginning_anew_after_a_fork_leaves_a_directory_that_does() {
    // The outcome of a crash is drawn anew at each step.
    let each = sardonyx_base::random::stride(11);
    for has_base in [false, true] {
        let mut steps = 0;
        for step in (1..).step_by(each) {
            let faults = End::Crash(step).faults();
            let (behind, options) = superseded(step, has_base, TEN, faults);
            let outcome = Primary::open(&behind, options.clone()).map(Primary::close);
            let crashed = behind.has_crashed();
            assert!(crashed || outcome.is_ok(), "step {step}: {outcome:?}");
            check(&behind.restart(Faults::default()), options, 10);
            if !crashed {
                break;
            }
            steps += each;
        }
        assert!(steps > 20, "{steps}");
    }
}
