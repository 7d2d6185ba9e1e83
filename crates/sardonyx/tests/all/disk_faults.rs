//! A disk that is full, or whose sync fails, under a running database: typed errors, never a false success. After
//! reopening, everything acknowledged is there, and otherwise only whole groups that were under way (I1, I4, I7).

use crate::common;
use crate::common::{Model, Opened, in_every_shape, options};
use sardonyx::disk::GroupPolicy;
use sardonyx::{Durability, Error, Shape};
use sardonyx_base::random::stride;
use sardonyx_storage::crashes::{End, History};
use sardonyx_storage::disk::{DiskError, Faults, SimulatedDisk};
use sardonyx_storage::log::LogError;
use std::time::Duration;

/// The content after these transactions, each of which puts an item.
fn content_after(puts: &[(u64, u64)]) -> Model {
    let mut model = Model::default();
    for (id, value) in puts {
        model.put(*id, *value);
    }
    model
}

fn is_poison(error: &Error) -> Option<String> {
    match error.downcast_ref() {
        Some(LogError::Poisoned { cause }) => Some(cause.to_string()),
        _ => None,
    }
}

fn is_preparation(error: &Error) -> bool {
    let Some(disk) = error.downcast_ref::<DiskError>() else {
        return false;
    };
    ["preallocate", "sync directory"].contains(&disk.operation) && disk.file.contains("log")
}

fn is_full(error: &Error) -> bool {
    let Some(LogError::Full { reason }) = error.downcast_ref() else {
        return false;
    };
    // It names the full part and the remedy.
    reason.contains("free disk space") || reason.contains("checkpointing stopped")
}

fn explore_failed_sync(shape: Shape, policy: GroupPolicy, fail_sync_at: u64) -> bool {
    let what = format!("{shape:?}, {policy:?}, sync {fail_sync_at} fails");
    let disk = SimulatedDisk::new(fail_sync_at, End::FailedSync(fail_sync_at).faults());
    let options = || options(shape).group_policy(policy);
    let mut history = History::default();
    let mut poisoned = false;
    if let Ok(opened) = Opened::on(&disk, options()) {
        let mut causes: Vec<String> = Vec::new();
        for n in 0..60 {
            history.submit((n % 10, n));
            match opened.put(n % 10, n) {
                Ok(()) => {
                    assert!(causes.is_empty(), "{what}: success after a failure");
                    history.acknowledge();
                }
                // The next segment could not be prepared: refused before it ran, and nothing that
                // holds data was touched.
                Err(error) if is_preparation(&error) => history.withdraw(),
                Err(error) => {
                    causes.push(is_poison(&error).unwrap_or_else(|| panic!("{what}: {error}")));
                    if causes.len() > 1 {
                        // Refused: it did not even run.
                        history.withdraw();
                    }
                }
            }
        }
        poisoned = !causes.is_empty();
        if poisoned {
            assert!(causes[0].contains("durable write"), "{what}: {causes:?}");
            assert!(causes.iter().all(|cause| *cause == causes[0]), "{causes:?}");
            every_way_is_refused(&opened, &causes[0]);
            assert!(is_poison(&opened.database.close().unwrap_err()).is_some());
        } else {
            // Another part failed, such as a checkpoint; closing may report it.
            drop(opened);
        }
    }
    // Reopened on the same machine, which still shows the data that it could not write; only then comes the cut.
    let disk = disk.next_process(Faults::default());
    let opened = Opened::on(&disk, options()).unwrap_or_else(|error| panic!("{what}: {error}"));
    let found = opened.contents().expect("readable");
    history.settle(&found, content_after);
    for n in 0..3 {
        history.submit((n, 1000 + n));
        opened.put(n, 1000 + n).expect("it goes on");
        history.acknowledge();
    }
    let disk = disk.restart(Faults::default());
    drop(opened);
    let opened =
        Opened::on(&disk, options()).unwrap_or_else(|error| panic!("{what}, cut: {error}"));
    let found = opened.contents().expect("readable");
    history.settle(&found, content_after);
    opened.put(1, 1).expect("it goes on");
    poisoned
}

/// I7: no way to run a transaction, or to wait until one is durable, works any more.
fn every_way_is_refused(opened: &Opened, cause: &str) {
    let poison = |error: Error| is_poison(&error).expect("poisoned");
    let deferred = opened
        .database
        .transaction()
        .durability(Durability::Deferred)
        .run(|_| Ok::<_, Error>(()));
    assert_eq!(is_poison(&deferred.unwrap_err()).as_deref(), Some(cause));
    let ticket = opened
        .database
        .transaction()
        .errors()
        .submit(|_| Ok::<_, Error>(()));
    assert_eq!(poison(ticket.wait().unwrap_err()), cause);
    let ticket = opened
        .database
        .transaction()
        .errors()
        .submit(|_| Ok::<_, Error>(()));
    assert_eq!(poison(common::block_on(ticket).unwrap_err()), cause);
    let flushed = opened.database.flush().unwrap_err();
    assert_eq!(is_poison(&flushed).as_deref(), Some(cause));
    let checkpoint = opened.database.checkpoint().unwrap_err();
    assert_eq!(is_poison(&checkpoint).as_deref(), Some(cause));
    // Reading goes on.
    assert!(opened.get(0).is_some() || opened.get(0).is_none());
}

#[test]
fn i7_a_failed_sync_poisons_and_no_later_transaction_succeeds() {
    let fixed = GroupPolicy::Fixed {
        transactions: 2,
        time: Duration::from_millis(1),
    };
    in_every_shape(|shape| {
        for policy in [GroupPolicy::Adaptive, fixed] {
            let syncs = (1..60).step_by(stride(7));
            let poisoned = syncs
                .filter(|sync| explore_failed_sync(shape, policy, *sync))
                .count();
            assert!(
                poisoned * stride(7) > 20,
                "{shape:?}: only {poisoned} runs were poisoned"
            );
        }
    });
}

#[test]
fn i7_tickets_under_way_when_the_log_is_poisoned_are_told() {
    in_every_shape(|shape| {
        // All log is prepared, so that no sync of a segment fails beside those of the tickets' groups.
        let options = || options(shape).log_bytes_prepared(6 * common::SEGMENT_BYTES);
        let (mut under_way, mut poisoned) = (0, 0);
        for fail_sync_at in 1..64 {
            let disk = SimulatedDisk::new(3, End::FailedSync(fail_sync_at).faults());
            let mut acknowledged = 0;
            // Opening declares a table and a journal, each in a transaction.
            let Ok(opened) = Opened::on(&disk, options()) else {
                continue;
            };
            under_way += 1;
            let items = opened.items;
            let tickets: Vec<_> = (0..40)
                .map(|n| {
                    opened
                        .database
                        .transaction()
                        .errors()
                        .submit(move |transaction| {
                            transaction.insert(items, &common::Item::new(n, n))?;
                            Ok::<_, Error>(())
                        })
                })
                .collect();
            let mut failed = false;
            for (n, ticket) in tickets.into_iter().enumerate() {
                let told = match n % 2 {
                    0 => ticket.wait(),
                    _ => common::block_on(ticket),
                };
                match told {
                    Ok(outcome) => {
                        assert!(!failed, "acknowledged after one that was not");
                        outcome.expect("no error of its own");
                        acknowledged = n + 1;
                    }
                    Err(error) => {
                        failed = true;
                        assert!(is_poison(&error).is_some(), "{fail_sync_at}: {error}");
                    }
                }
            }
            poisoned += u32::from(failed);
            drop(opened);
            let disk = disk.restart(Faults::default());
            let opened = Opened::on(&disk, options()).expect("recovers");
            let found = opened.contents().expect("readable").items.len();
            assert!(found >= acknowledged, "{shape:?} {fail_sync_at}");
        }
        assert!(
            under_way > 4,
            "{shape:?}: {under_way} runs reached their tickets"
        );
        assert!(poisoned > 0, "{shape:?}: no log was poisoned under them");
    });
}

#[test]
fn i10_a_full_disk_is_a_typed_refusal_and_loses_nothing() {
    in_every_shape(|shape| {
        let mut refused = 0;
        for segments in [3u64, 4, 5, 6, 9, 12] {
            let what = format!("{shape:?}, room for {segments} segments");
            let faults = Faults {
                capacity_bytes: Some(segments * common::SEGMENT_BYTES + 10_000),
                ..Faults::default()
            };
            let disk = SimulatedDisk::new(1, faults);
            let mut history = History::default();
            if let Ok(opened) = Opened::on(&disk, options(shape)) {
                for n in 0..1000 {
                    match opened.put(n % 400, n) {
                        Ok(()) => {
                            history.submit((n % 400, n));
                            history.acknowledge();
                        }
                        Err(error) => {
                            assert!(is_full(&error), "{what}: {error}");
                            refused += 1;
                            // Refused before it ran; reading goes on.
                            let last = content_after(history.changes());
                            assert_eq!(opened.contents().expect("readable"), last);
                            break;
                        }
                    }
                }
            }
            // Reopened where there is room again.
            let disk = disk.restart(Faults::default());
            let opened = Opened::on(&disk, options(shape)).expect("recovers");
            let last = content_after(history.changes());
            assert_eq!(opened.contents().expect("readable"), last, "{what}");
            opened.put(1, 1).expect("it goes on");
        }
        assert!(refused > 2, "{shape:?}: {refused} runs were refused");
    });
}
