//! A whole database under Shuttle: the stages of the pipelined shape and its queues, clients that wait, await and
//! drop, a reader, a checkpoint, and closing, under many schedules. A lost wake-up shows as a deadlock; every
//! transaction acknowledged as durable must be found after a crash (I1).
//!
//! ```text
//! RUSTFLAGS="--cfg shuttle" cargo test -p sardonyx --test shuttle_database
//! ```
#![cfg(shuttle)]

mod common;

use common::{Item, Opened, PIPELINED, options};
use sardonyx::disk::GroupLimits;
use sardonyx::{Durability, Error, Options, Shape, Ticket};
use sardonyx_base::sync::thread;
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use std::sync::Arc;

fn explore(schedules: usize, body: impl Fn() + Send + Sync + Clone + 'static) {
    let mut config = shuttle::Config::new();
    config.stack_size = 1 << 20;
    let random = RandomScheduler::new_from_seed(1, schedules);
    shuttle::Runner::new(random, config.clone()).run(body.clone());
    let few_changes = PctScheduler::new_from_seed(1, 3, schedules);
    shuttle::Runner::new(few_changes, config).run(body);
}

fn small(shape: Shape) -> Options {
    let limits = GroupLimits {
        group_bytes: 4 << 10,
        transaction_bytes: 4 << 10,
        depth: 1,
        buffers: 3,
    };
    options(shape)
        .group_limits(limits)
        .memory_bytes_max(4 << 20)
}

fn insert(opened: &Opened, id: u64) -> Ticket<Result<(), Error>> {
    let items = opened.items;
    opened
        .database
        .transaction()
        .errors()
        .submit(move |transaction| {
            transaction.insert(items, &Item::new(id, id))?;
            Ok(())
        })
}

/// Clients of each kind, each with an item of its own.
fn clients(disk: &SimulatedDisk, shape: Shape) -> Opened {
    let opened = Arc::new(Opened::on(disk, small(shape)).expect("opens"));
    let bodies: Vec<fn(&Opened)> = vec![
        |opened| opened.put(1, 1).expect("durable"),
        |opened| {
            let ticket = insert(opened, 2);
            let outcome = shuttle::future::block_on(ticket).expect("it ran");
            outcome.expect("no error");
            drop(insert(opened, 3));
        },
        |opened| {
            let outcome = insert(opened, 4).wait().expect("it ran");
            outcome.expect("no error");
        },
        |opened| {
            opened.get(1);
            let deferred = opened
                .database
                .transaction()
                .durability(Durability::Deferred)
                .run(|tx| {
                    tx.insert(opened.items, &Item::new(5, 5))?;
                    Ok::<_, Error>(())
                });
            deferred.expect("it ran");
        },
    ];
    let threads: Vec<_> = bodies
        .into_iter()
        .map(|body| {
            let opened = opened.clone();
            thread::spawn(move || body(&opened))
        })
        .collect();
    for thread in threads {
        thread.join().expect("a client ends well");
    }
    Arc::into_inner(opened).expect("all clients have ended")
}

/// Closed, everything is there; crashed, at least the acknowledged part.
fn everyone_is_told(shape: Shape) {
    explore(250, move || {
        let disk = SimulatedDisk::new(1, Faults::default());
        let opened = clients(&disk, shape);
        opened.database.close().expect("closes");
        let disk = disk.restart(Faults::default());
        let opened = Opened::on(&disk, small(Shape::Threadless)).expect("opens");
        let ids: Vec<u64> = opened
            .contents()
            .expect("readable")
            .items
            .into_keys()
            .collect();
        assert_eq!(ids, [1, 2, 3, 4, 5]);
    });
    explore(100, move || {
        let disk = SimulatedDisk::new(1, Faults::default());
        let opened = clients(&disk, shape);
        let after = disk.restart(Faults::default());
        drop(opened);
        let opened = Opened::on(&after, small(Shape::Threadless)).expect("recovers");
        let items = opened.contents().expect("readable").items;
        for id in [1, 2, 4] {
            assert!(
                items.contains_key(&id),
                "acknowledged {id} is lost: {items:?}"
            );
        }
    });
}

#[test]
fn shuttle_i1_everyone_is_told_pipelined() {
    everyone_is_told(PIPELINED);
}

#[test]
fn shuttle_i1_everyone_is_told_coalesced() {
    everyone_is_told(Shape::Coalesced);
}

#[test]
fn shuttle_i1_everyone_is_told_without_threads() {
    everyone_is_told(Shape::Threadless);
}

#[test]
fn shuttle_i10_checkpoints_and_a_log_at_its_bound() {
    explore(60, || {
        let disk = SimulatedDisk::new(1, Faults::default());
        let options = small(Shape::Coalesced)
            .segment_bytes(16 << 10)
            .log_bytes_max(64 << 10)
            .checkpoint_interval_bytes(1 << 40);
        let opened = Arc::new(Opened::on(&disk, options).expect("opens"));
        let writer = {
            let opened = opened.clone();
            thread::spawn(move || {
                for n in 0..20 {
                    opened.put(n % 3, n).expect("room comes");
                }
            })
        };
        opened.database.checkpoint().expect("completes");
        let mut rows = 0;
        let read = opened.database.journal_rows(opened.notes, |_| {
            rows += 1;
            thread::yield_now();
            true
        });
        read.expect("readable");
        writer.join().expect("ends");
        assert_eq!(opened.contents().expect("readable").notes.len(), 20);
    });
}

/// Adds one to item 1 beside the stage. True if its commit was acknowledged, false if it met another one.
fn add_beside(opened: &Opened) -> bool {
    let mut tx = opened.database.begin().expect("begins");
    tx.update(opened.items, 1, |item| item.value += 1)
        .expect("it is there");
    thread::yield_now();
    match tx.commit() {
        Ok(()) => true,
        Err(error) if error.is_conflict() => false,
        Err(error) => panic!("{error}"),
    }
}

/// Sets one of the items 2 and 3 if both are zero: of two that do so, one meets the other.
fn set_if_both_are_zero(opened: &Opened, id: u64) {
    let mut tx = opened.database.begin().expect("begins");
    let value = |tx: &sardonyx::OpenTransaction, id| {
        let item = tx.get(opened.items, id).expect("readable");
        item.expect("it is there").value
    };
    if value(&tx, 2) + value(&tx, 3) == 0 {
        tx.update(opened.items, id, |item| item.value = 1)
            .expect("it is there");
    }
    thread::yield_now();
    if let Err(error) = tx.commit_later().wait() {
        assert!(error.is_conflict(), "{error}");
    }
}

/// Begin, install and the hand-over of snapshots, beside closures and a checkpoint. Each acknowledged addition is
/// there once, and no refused one; after a crash, too.
fn open_transactions(shape: Shape) {
    explore(120, move || {
        let disk = SimulatedDisk::new(1, Faults::default());
        let opened = Arc::new(Opened::on(&disk, small(shape)).expect("opens"));
        (1..=3).for_each(|id| opened.put(id, 0).expect("durable"));
        let bodies: Vec<fn(&Opened) -> u64> = vec![
            |opened| u64::from(add_beside(opened)) + u64::from(add_beside(opened)),
            |opened| u64::from(add_beside(opened)),
            |opened| {
                let added = opened
                    .database
                    .run(|tx| tx.update(opened.items, 1, |item| item.value += 1));
                added.expect("it ran").map_or(0, |()| 1)
            },
            |opened| {
                set_if_both_are_zero(opened, 2);
                0
            },
            |opened| {
                set_if_both_are_zero(opened, 3);
                0
            },
        ];
        let threads: Vec<_> = bodies
            .into_iter()
            .map(|body| {
                let opened = opened.clone();
                thread::spawn(move || body(&opened))
            })
            .collect();
        let told: u64 = threads
            .into_iter()
            .map(|thread| thread.join().expect("a client ends well"))
            .sum();
        let after = disk.restart(Faults::default());
        drop(opened);
        let opened = Opened::on(&after, small(Shape::Threadless)).expect("recovers");
        assert_eq!(opened.get(1), Some(told));
        assert_ne!((opened.get(2), opened.get(3)), (Some(1), Some(1)));
    });
}

#[test]
fn shuttle_open_transactions_pipelined() {
    open_transactions(PIPELINED);
}

#[test]
fn shuttle_open_transactions_coalesced() {
    open_transactions(Shape::Coalesced);
}

#[test]
fn shuttle_open_transactions_without_threads() {
    open_transactions(Shape::Threadless);
}
