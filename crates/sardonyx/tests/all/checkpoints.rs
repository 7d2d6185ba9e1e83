//! Checkpoints under load: growth while they run, checkpoints on demand, and journal rows read back
//! per account across checkpoints and reopening (I3, I6).

use crate::common;
use crate::common::{
    Item, Model, Opened, SHAPES, in_every_shape, in_every_threaded_shape, options,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use sardonyx::journals::Retention;
use sardonyx::{Durability, Error, Shape};
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use sardonyx_storage::journal::JournalError;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn i3_the_database_grows_while_checkpoints_run() {
    in_every_shape(|shape| {
        for stripes in [1, 3] {
            let disk = SimulatedDisk::new(1, Faults::default());
            // Often, and of many small blocks.
            let options = || {
                options(shape)
                    .stripes(stripes)
                    .block_bytes(4096)
                    .checkpoint_interval_bytes(32 << 10)
            };
            let opened = Opened::on(&disk, options()).expect("opens");
            let items = opened.items;
            let mut model = Model::default();
            for first in (0..6000).step_by(60) {
                let outcome = opened.database.run(|tx| {
                    for id in first..first + 60 {
                        tx.insert(items, &Item::new(id, id))?;
                    }
                    // And changes of pages that the running checkpoint has written, or has not.
                    tx.update(items, first / 2, |item| item.value += 1)?;
                    Ok::<_, Error>(())
                });
                outcome.expect("durable");
                model.items.extend((first..first + 60).map(|id| (id, id)));
                *model.items.get_mut(&(first / 2)).expect("there") += 1;
            }
            let totals = opened.database.statistics().checkpoint;
            assert!(totals.checkpoints > 2, "{shape:?}: {totals:?}");
            assert_eq!(opened.contents().expect("readable"), model);
            // With a checkpoint half-way, if there is one.
            let disk = disk.restart(Faults::default());
            drop(opened);
            let opened = Opened::on(&disk, options()).expect("recovers");
            assert_eq!(
                opened.contents().expect("readable"),
                model,
                "{shape:?}, {stripes}"
            );
        }
    });
}

#[test]
fn i6_a_checkpoint_on_demand_leaves_nothing_to_redo_and_frees_the_log() {
    in_every_shape(|shape| {
        let disk = SimulatedDisk::new(1, Faults::default());
        let options = || options(shape).checkpoint_interval_bytes(1 << 40);
        let opened = Opened::on(&disk, options()).expect("opens");
        for n in 0..60 {
            opened.put(n, n).expect("durable");
        }
        assert_eq!(opened.database.statistics().checkpoint.checkpoints, 0);
        for checkpoints in 1..4 {
            opened.database.checkpoint().expect("completes");
            let totals = opened.database.statistics().checkpoint;
            assert_eq!(totals.checkpoints, checkpoints);
            assert!(!opened.database.is_checkpointing());
        }
        let model = opened.contents().expect("readable");
        let disk = disk.restart(Faults::default());
        drop(opened);
        let opened = Opened::on(&disk, options()).expect("recovers");
        assert_eq!(opened.database.recovery().groups, 0, "{shape:?}");
        assert_eq!(opened.contents().expect("readable"), model);
    });
}

#[test]
fn a_program_that_writes_a_little_and_closes_leaves_little_to_redo_to_the_next() {
    const MUCH_BYTES: u64 = 32 << 10;
    in_every_shape(|shape| {
        let mut disk = SimulatedDisk::new(1, Faults::default());
        let options = || options(shape).checkpoint_interval_bytes(8 * MUCH_BYTES);
        let mut written = 0;
        for life in 0..26 {
            let opened = Opened::on(&disk, options()).expect("opens");
            let recovery = opened.database.recovery();
            let redone = recovery.redo_end.lsn.0 - recovery.redo_start.lsn.0;
            // Three lives write more than that: a close leaves log, and the next one adds to it.
            assert!(redone < MUCH_BYTES, "{shape:?}, life {life}: {redone}");
            for n in 0..4 {
                opened.put(life * 4 + n, n).expect("durable");
            }
            written = recovery.redo_end.lsn.0;
            opened.database.close().expect("closes");
            disk = disk.restart(Faults::default());
        }
        assert!(written > 8 * MUCH_BYTES, "it was more than an interval");
    });
}

#[test]
fn checkpoints_on_demand_and_transactions_of_several_threads() {
    in_every_threaded_shape(|shape| {
        let disk = SimulatedDisk::new(1, Faults::default());
        let opened = Opened::on(&disk, options(shape).stripes(2)).expect("opens");
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..2u64)
                .map(|client| {
                    let opened = &opened;
                    scope.spawn(move || {
                        for n in 0..150 {
                            opened.put(client * 1000 + n, n).expect("durable");
                        }
                    })
                })
                .collect();
            let checkpoints = scope.spawn(|| {
                let mut taken = 0u64;
                while !stop.load(Ordering::SeqCst) {
                    opened.database.checkpoint().expect("completes");
                    taken += 1;
                }
                taken
            });
            for writer in writers {
                writer.join().expect("ends");
            }
            stop.store(true, Ordering::SeqCst);
            assert!(checkpoints.join().expect("ends") > 0);
        });
        let model = opened.contents().expect("readable");
        assert_eq!(model.items.len(), 300);
        let disk = disk.restart(Faults::default());
        drop(opened);
        let opened = Opened::on(&disk, options(shape)).expect("recovers");
        assert_eq!(opened.contents().expect("readable"), model);
    });
}

#[derive(Clone, Debug)]
enum Act {
    /// Rows for these accounts, in one transaction.
    Append(Vec<u64>),
    Abort(Vec<u64>),
    Checkpoint,
    Crash,
    Close,
    /// Reads all rows of an account.
    Read(u64),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        8 => vec(0..8u64, 1..20).prop_map(Act::Append),
        1 => vec(0..8u64, 1..20).prop_map(Act::Abort),
        2 => Just(Act::Checkpoint),
        1 => Just(Act::Crash),
        1 => Just(Act::Close),
        2 => (0..8u64).prop_map(Act::Read),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(sardonyx_base::random::cases(30))
    })]

    #[test]
    fn i6_an_accounts_rows_read_back_across_checkpoints_and_reopening(
        shape in select(&SHAPES[..]), acts in vec(act(), 1..60)
    ) {
        let mut disk = SimulatedDisk::new(1, Faults::default());
        let options = || options(shape).checkpoint_interval_bytes(48 << 10);
        let mut opened = Opened::on(&disk, options()).expect("opens");
        let mut rows: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        let mut next = 0;
        for act in acts {
            match act {
                Act::Append(accounts) | Act::Abort(accounts) if accounts.is_empty() => {}
                Act::Append(accounts) => {
                    append(&opened, &accounts, next, false);
                    for account in accounts {
                        rows.entry(account).or_default().push(next);
                        next += 1;
                    }
                }
                Act::Abort(accounts) => append(&opened, &accounts, 1 << 60, true),
                Act::Checkpoint => opened.database.checkpoint().expect("completes"),
                Act::Crash => {
                    let after = disk.restart(Faults::default());
                    drop(opened);
                    opened = Opened::on(&after, options()).expect("recovers");
                    disk = after;
                }
                Act::Close => {
                    opened.database.close().expect("closes");
                    opened = Opened::on(&disk, options()).expect("opens");
                }
                Act::Read(account) => {
                    let expected = rows.get(&account).cloned().unwrap_or_default();
                    prop_assert_eq!(rows_of(&opened, account), expected);
                }
            }
        }
        for account in 0..8 {
            let expected = rows.get(&account).cloned().unwrap_or_default();
            prop_assert_eq!(rows_of(&opened, account), expected);
        }
    }
}

fn append(opened: &Opened, accounts: &[u64], first: u64, abort: bool) {
    let outcome = opened.database.run(|transaction| {
        for (account, amount) in accounts.iter().copied().zip(first..) {
            transaction.append(opened.notes, &common::Note { account, amount })?;
        }
        match abort {
            true => Err(Error::other("as planned")),
            false => Ok(()),
        }
    });
    assert_eq!(outcome.is_err(), abort);
}

fn rows_of(opened: &Opened, account: u64) -> Vec<u64> {
    let mut amounts = Vec::new();
    let read = opened.database.journal_rows(opened.notes, |note| {
        if note.account == account {
            amounts.push(note.amount);
        }
        true
    });
    read.expect("readable");
    amounts
}

#[test]
fn a_journal_that_is_not_kept_says_so_and_a_reader_may_stop() {
    in_every_shape(|shape| {
        let disk = SimulatedDisk::new(1, Faults::default());
        let options_ = options(shape).journal_retention(Retention::Nothing);
        let opened = Opened::on(&disk, options_).expect("opens");
        opened.put(1, 1).expect("durable");
        let error = opened
            .database
            .journal_rows(opened.notes, |_| true)
            .unwrap_err();
        let Some(journal) = error.downcast_ref::<JournalError>() else {
            panic!("{error}")
        };
        assert!(matches!(*journal, JournalError::NotKept), "{error}");
        let disk = SimulatedDisk::new(2, Faults::default());
        let opened = Opened::on(&disk, options(shape)).expect("opens");
        for n in 0..10 {
            opened.put(n, n).expect("durable");
        }
        let mut seen = 0;
        let read = opened.database.journal_rows(opened.notes, |_| {
            seen += 1;
            seen < 3
        });
        read.expect("readable");
        assert_eq!(seen, 3);
    });
}

#[test]
fn rows_not_yet_durable_are_not_read() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let opened = Opened::on(&disk, options(Shape::Threadless)).expect("opens");
    opened.put(1, 1).expect("durable");
    let outcome = opened
        .database
        .transaction()
        .durability(Durability::Deferred)
        .run(|tx| {
            tx.append(
                opened.notes,
                &common::Note {
                    account: 1,
                    amount: 2,
                },
            )?;
            Ok::<_, Error>(())
        });
    outcome.expect("it ran");
    assert_eq!(rows_of(&opened, 1), [1]);
    opened.database.flush().expect("flushes");
    assert_eq!(rows_of(&opened, 1), [1, 2]);
}
