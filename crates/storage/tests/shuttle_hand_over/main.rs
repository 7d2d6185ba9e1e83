//! Models of the commit hand-over under Shuttle: the pen → sealed → several groups in flight → acknowledged in order.
//! With them are the feed to a consumer, the buffer pool, the room for more log, and a poisoned log (I1, I7, I10). A
//! lost wake-up shows as a deadlock.
//!
//! ```text
//! RUSTFLAGS="--cfg shuttle" cargo test -p sardonyx-storage --test shuttle_hand_over
//! ```
#![cfg(shuttle)]

#[path = "../common/mod.rs"]
mod common;
mod stage;

use sardonyx_base::sync::{Mutex, thread};
use sardonyx_storage::disk::{Disk, Faults};
use sardonyx_storage::drive::Drive;
use sardonyx_storage::log::reader::LogReader;
use sardonyx_storage::log::writer::Gathering;
use sardonyx_storage::log::{LogError, LogPosition};
use stage::{Consumer, LAYOUT, Parting, Remote, Scenario, Stage, USUAL, explore};
use std::collections::VecDeque;
use std::sync::Arc;

fn clients_and_a_reader(scenario: Scenario) {
    let put_off = [Parting::PutAway, Parting::PutOff];
    for parting in put_off.into_iter().chain([Parting::HandOn, Parting::Force]) {
        clients_that_let_go_and_a_reader(scenario, parting);
    }
}

fn clients_that_let_go_and_a_reader(scenario: Scenario, parting: Parting) {
    explore(move || {
        let stage = Stage::new(scenario);
        let mut clients: Vec<_> = (0..2)
            .map(|_| {
                stage.start(move |stage| {
                    for _ in 0..2 {
                        stage.commit_one(parting).expect("durable");
                    }
                })
            })
            .collect();
        clients.push(stage.start(|stage| {
            stage.read();
            stage.read();
        }));
        stage.run(scenario, clients);
        assert_eq!(stage.commit.statistics().transactions, 4);
        assert_eq!(*stage.pen.take().expect("nobody has it"), 4, "I8");
    });
}

#[test]
fn shuttle_i1_with_one_group_in_flight() {
    clients_and_a_reader(USUAL);
}

#[test]
fn shuttle_i1_with_two_groups_in_flight() {
    clients_and_a_reader(Scenario { depth: 2, ..USUAL });
}

#[test]
fn shuttle_i1_with_a_copy_elsewhere() {
    for depth in [1, 2] {
        for remote in [Remote::Copy, Remote::Behind] {
            clients_and_a_reader(Scenario {
                depth,
                remote,
                ..USUAL
            });
        }
    }
}

/// The step of a thread that has nothing else to do.
type Rest = fn(&Gathering);

/// No client waits, and no other transaction has the group written: a logging thread does, when it is due. One of the
/// clients hands the group of others on.
fn put_off_and_not_waited_for(depth: usize, others: Parting, gathers: Option<Rest>) {
    explore(move || {
        let stage = Stage::new(Scenario { depth, ..USUAL });
        let rests = gathers.map(|rest| {
            let gathering = stage.commit.gather();
            stage.start(move |_| {
                rest(&gathering);
                rest(&gathering);
            })
        });
        let threads: Vec<_> = (0..depth)
            .map(|_| stage.start(|stage| stage.commit.run()))
            .chain([stage.start(|stage| stage.commit.room().run(&Consumer))])
            .collect();
        let clients = [Parting::PutOff, others].map(|parting| {
            stage.start(move |stage| {
                for _ in 0..2 {
                    stage.execute(0, parting).expect("room");
                }
            })
        });
        let (mut groups, mut transactions) = (VecDeque::new(), 0);
        while transactions < 4 {
            stage.feed.wait();
            stage.feed.take(&mut groups);
            for group in groups.drain(..) {
                transactions += group.header().transactions;
            }
        }
        for client in clients.into_iter().chain(rests) {
            client.join().expect("a client ends well");
        }
        stage.commit.close();
        stage.commit.room().close();
        for thread in threads {
            thread.join().expect("a stage ends well");
        }
    });
}

#[test]
fn shuttle_put_off_transactions_are_written_though_no_client_waits() {
    for depth in [1, 2] {
        for others in [Parting::PutOff, Parting::HandOn] {
            put_off_and_not_waited_for(depth, others, None);
        }
    }
}

/// Groups gather while a thread rests, and while gathering ends.
#[test]
fn shuttle_groups_that_gather_are_written_though_no_client_waits() {
    for depth in [1, 2] {
        for rest in [Gathering::rest, Gathering::rest_writing] {
            put_off_and_not_waited_for(depth, Parting::HandOn, Some(rest));
        }
    }
}

/// A client that waits takes steps: so it may be at the disk when the log is closed, and the last to leave it. So many
/// transactions are waited for by no client.
fn closed_while_a_client_waits(scenario: Scenario, not_waited_for: u64) {
    explore(move || {
        let stage = Stage::new(scenario);
        let group = stage.execute(0, Parting::PutAway).expect("room");
        let first = stage.start(move |stage| {
            stage.pen.wait(group).expect("durable");
            for _ in 0..not_waited_for {
                stage.execute(0, Parting::HandOn).expect("room");
            }
        });
        let other = stage.start(move |stage| stage.pen.wait(group).expect("durable"));
        stage.run_and_close(scenario, vec![first], vec![other]);
        let written = stage.commit.statistics().transactions;
        assert_eq!(written, 1 + not_waited_for);
    });
}

#[test]
fn shuttle_i1_all_threads_end_though_a_client_is_at_the_disk_when_a_log_with_a_copy_is_closed() {
    for (depth, not_waited_for) in [(1, 0), (1, 2), (2, 2)] {
        for remote in [Remote::Copy, Remote::Behind] {
            let scenario = Scenario {
                depth,
                remote,
                ..USUAL
            };
            closed_while_a_client_waits(scenario, not_waited_for);
        }
    }
}

#[test]
fn shuttle_i1_without_threads() {
    clients_and_a_reader(Scenario {
        drive: Drive::Callers,
        ..USUAL
    });
}

#[test]
fn shuttle_i1_without_threads_with_two_groups_in_flight() {
    clients_and_a_reader(Scenario {
        drive: Drive::Callers,
        depth: 2,
        ..USUAL
    });
}

#[test]
fn shuttle_i1_a_task_is_woken() {
    explore(|| {
        let stage = Stage::new(USUAL);
        let clients = (0..2)
            .map(|_| {
                stage.start(|stage| {
                    let group = stage.execute(0, Parting::HandOn).expect("room");
                    shuttle::future::block_on(std::future::poll_fn(|context| {
                        stage.commit.poll(group, context.waker())
                    }))
                    .expect("durable");
                    assert!(stage.groups_in_log() >= group);
                })
            })
            .collect();
        stage.run(USUAL, clients);
    });
}

/// Each transaction fills a group of its own, and each group needs a new segment soon.
fn large_transactions(scenario: Scenario, count: usize, told: fn(Result<(), LogError>)) {
    explore(move || {
        let stage = Stage::new(scenario);
        let clients = (0..2)
            .map(|_| {
                stage.start(move |stage| {
                    for _ in 0..count {
                        let filled = stage.execute(3, Parting::HandOn);
                        told(filled.and_then(|group| stage.pen.wait(group)));
                    }
                })
            })
            .collect();
        stage.run(scenario, clients);
    });
}

#[test]
fn shuttle_i10_the_log_at_its_bound_waits_until_it_is_freed() {
    let scenario = Scenario {
        segments_max: 4,
        ..USUAL
    };
    large_transactions(scenario, 5, |told| told.expect("room comes"));
}

#[test]
fn shuttle_i10_buffers_at_their_bound_come_back() {
    let scenario = Scenario {
        buffers: 3,
        prepared: 16,
        ..USUAL
    };
    large_transactions(scenario, 4, |told| told.expect("a buffer comes back"));
}

#[test]
fn shuttle_i7_everyone_is_told_when_the_log_is_poisoned() {
    // Two directories and two segments take six operations that promise stability.
    for fail_sync_at in 6..10 {
        let faults = Faults {
            fail_sync_at: Some(fail_sync_at),
            ..Faults::default()
        };
        let scenario = Scenario {
            depth: 2,
            faults,
            prepared: 2,
            ..USUAL
        };
        poisoned(scenario);
    }
}

#[test]
fn shuttle_i7_everyone_is_told_when_the_copy_elsewhere_fails() {
    for appends in 0..3 {
        poisoned(Scenario {
            depth: 2,
            remote: Remote::Fails(appends),
            ..USUAL
        });
    }
}

#[test]
fn shuttle_i7_the_disk_fails_beside_a_copy_elsewhere() {
    for fail_sync_at in 6..9 {
        let faults = Faults {
            fail_sync_at: Some(fail_sync_at),
            ..Faults::default()
        };
        poisoned(Scenario {
            depth: 2,
            faults,
            remote: Remote::Copy,
            ..USUAL
        });
        poisoned(Scenario {
            depth: 2,
            faults,
            remote: Remote::Behind,
            ..USUAL
        });
    }
}

fn poisoned(scenario: Scenario) {
    explore(move || {
        let stage = Stage::new(scenario);
        let acknowledged = Arc::new(Mutex::new(0));
        let clients = (0..3)
            .map(|_| {
                let acknowledged = acknowledged.clone();
                stage.start(move |stage| {
                    for _ in 0..3 {
                        let Ok(group) = stage.execute(0, Parting::HandOn) else {
                            return;
                        };
                        match stage.pen.wait(group) {
                            Ok(()) => {
                                stage.assert_copied(group);
                                let mut last = acknowledged.lock();
                                *last = group.max(*last);
                            }
                            Err(LogError::Poisoned { .. }) => {}
                            Err(other) => panic!("{other:?}"),
                        }
                    }
                })
            })
            .collect();
        stage.run(scenario, clients);
        let after: Arc<dyn Disk> = Arc::new(stage.disk.restart(Faults::default()));
        let mut reader = LogReader::open(&after, LAYOUT, LogPosition::START).expect("a log");
        while reader.next_group().expect("no corruption").is_some() {}
        assert!(reader.position().group > *acknowledged.lock(), "lost");
    });
}
