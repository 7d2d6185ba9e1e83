//! A host that another one superseded has transactions that the store never had, in its log and in its checkpoints: it
//! comes back without them, and they are kept aside.

use crate::common::store::{Lossy, Primary, caught_up, disk, impatient, options, put_base};
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use sardonyx_storage::engine::{DurableAt, StorageOptions, forks};
use std::sync::Arc;

/// The directory of a host that had the numbers from 1 to 49, and did ten transactions alone, which a checkpoint has, too.
/// Another host went on with the numbers from 100 to 109. It comes back with these faults.
fn superseded(seed: u64, has_base: bool, faults: Faults) -> (SimulatedDisk, StorageOptions) {
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
    (1000..1010).for_each(|number| first.commit(number).unwrap());
    let end = first.engine.commit().durable();
    first.engine.checkpoint().take(end).unwrap();
    let behind = a.restart(faults);
    drop(first);
    store.cut_off(false);
    let second = Primary::open(&disk(2), options.clone()).unwrap();
    (100..110).for_each(|number| second.commit(number).unwrap());
    second.close();
    (behind, options)
}

/// The ten are in no log and no checkpoint, and in one file.
fn check(directory: &SimulatedDisk, options: StorageOptions) {
    let first = Primary::open(directory, options).unwrap();
    let kept = forks(directory).unwrap();
    let transactions: Vec<u64> = kept.iter().map(|fork| fork.transactions).collect();
    assert_eq!(transactions, [10]);
    assert!((1..50).chain(100..110).all(|number| first.has(number)));
    assert!((1000..1010).all(|number| !first.has(number)));
    first.commit(110).unwrap();
    first.close();
}

#[test]
fn a_host_whose_checkpoint_has_what_is_cut_off_begins_anew_and_keeps_it_aside() {
    for has_base in [false, true] {
        let (behind, options) = superseded(1, has_base, Faults::default());
        let replica = caught_up(&behind, &options);
        assert_eq!(replica.known().log.transactions, 59);
        replica.close();
        check(&behind, options);
        // It takes the log over at once.
        let (behind, options) = superseded(1, has_base, Faults::default());
        Primary::open(&behind, options.clone()).unwrap().close();
        check(&behind, options);
    }
}

#[test]
fn a_crash_at_any_step_of_beginning_anew_after_a_fork_leaves_a_directory_that_does() {
    // Every third step, unless more are asked for; what a crash leaves is drawn anew at each.
    let each = match sardonyx_base::random::asked("SARDONYX_SEEDS") {
        Some(_) => 1,
        None => 3,
    };
    for has_base in [false, true] {
        let mut steps = 0;
        for step in (1..).step_by(each) {
            let faults = Faults {
                crash_at_step: Some(step),
                ..Faults::default()
            };
            let (behind, options) = superseded(step, has_base, faults);
            let outcome = Primary::open(&behind, options.clone()).map(Primary::close);
            let crashed = behind.has_crashed();
            assert!(crashed || outcome.is_ok(), "step {step}: {outcome:?}");
            check(&behind.restart(Faults::default()), options);
            if !crashed {
                break;
            }
            steps += each;
        }
        assert!(steps > 20, "{steps}");
    }
}
