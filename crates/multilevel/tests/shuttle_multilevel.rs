//! The engine under Shuttle: transactions of several threads under explored schedules, on the simulated disk, with and
//! without threads of the engine's own. A lost wake-up, a deadlock that is not found and an unreported end show as a
//! hang.
//!
//! ```text
//! RUSTFLAGS="--cfg shuttle" cargo test -p sardonyx-multilevel --test shuttle_multilevel
//! ```
#![cfg(shuttle)]

#[allow(dead_code, reason = "the other tests use the rest")]
#[path = "all/support/mod.rs"]
mod support;

use sardonyx_base::sync::thread;
use sardonyx_multilevel::{
    Area, CallError, CommitError, Database, PageLog, Release, Stop, Strategy,
};
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use sardonyx_storage::engine::StorageOptions;
use sardonyx_storage::log::policy::GroupLimits;
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use std::sync::Arc;
use support::{Add, Bounded, Called, Ended, Get, Put, STRATEGIES, Way, read};

fn explore(schedules: usize, body: impl Fn() + Send + Sync + Clone + 'static) {
    let mut config = shuttle::Config::new();
    config.stack_size = 1 << 20;
    let random = RandomScheduler::new_from_seed(1, schedules);
    shuttle::Runner::new(random, config.clone()).run(body.clone());
    let few_changes = PctScheduler::new_from_seed(1, 3, schedules);
    shuttle::Runner::new(few_changes, config).run(body);
}

/// For faults that take several changes of threads at the wrong moments.
fn explore_deeply(schedules: usize, body: impl Fn() + Send + Sync + Clone + 'static) {
    let mut config = shuttle::Config::new();
    config.stack_size = 1 << 20;
    for depth in [6, 10] {
        let scheduler = PctScheduler::new_from_seed(5, depth, schedules);
        shuttle::Runner::new(scheduler, config.clone()).run(body.clone());
    }
}

/// Every strategy, with and without threads of the engine, both kinds of release.
fn everywhere(schedules: usize, body: impl Fn(Way) + Send + Sync + Copy + 'static) {
    for strategy in STRATEGIES {
        for (threaded, release, page_log) in [
            (false, Release::Appended, PageLog::ByteRanges),
            (false, Release::Durable, PageLog::AfterImages),
            (true, Release::Appended, PageLog::AfterImages),
            (true, Release::Durable, PageLog::ByteRanges),
        ] {
            let way = Way {
                strategy,
                page_log,
                release,
                threaded,
            };
            println!("{way:?}");
            explore(schedules, move || body(way));
        }
    }
}

fn storage() -> StorageOptions {
    StorageOptions {
        limits: GroupLimits {
            group_bytes: 16 << 10,
            transaction_bytes: 64 << 10,
            depth: 1,
            buffers: 3,
        },
        memory_bytes_max: 4 << 20,
        ..support::small()
    }
}

fn open(way: Way, disk: &SimulatedDisk) -> (Arc<Database>, Area) {
    way.open(disk, storage()).expect("opens")
}

/// Runs these on threads of their own, each with the database.
fn in_parallel(database: &Arc<Database>, bodies: Vec<Box<dyn FnOnce(&Database) + Send + 'static>>) {
    let threads: Vec<_> = bodies
        .into_iter()
        .map(|body| {
            let database = database.clone();
            thread::spawn(move || body(&database))
        })
        .collect();
    for thread in threads {
        thread.join().expect("a client ends well");
    }
}

fn add(area: Area, cells: &[u64], amount: i64) -> Add {
    Add {
        area,
        amount,
        cells: cells.to_vec(),
    }
}

/// The content after a crash now, cells 0 to 15.
fn after_a_crash(way: Way, disk: &SimulatedDisk, database: Arc<Database>) -> Vec<i64> {
    let after = disk.restart(Faults::default());
    drop(database);
    let (database, area) = open(
        Way {
            threaded: false,
            ..way
        },
        &after,
    );
    read(&database, area, 0..16)
}

fn sums(adds: &[(&[u64], i64)]) -> Vec<i64> {
    let mut sums = vec![0; 16];
    for (cells, amount) in adds {
        cells.iter().for_each(|c| sums[*c as usize] += amount);
    }
    sums
}

/// Every transaction gets its result, and a committed one is found after a crash.
#[test]
fn shuttle_everyone_is_told_and_what_was_told_is_there() {
    everywhere(40, |way| {
        let disk = SimulatedDisk::new(1, Faults::default());
        let (database, area) = open(way, &disk);
        let client = |n: i64, cells: [&'static [u64]; 2]| -> Box<dyn FnOnce(&Database) + Send> {
            Box::new(move |database| {
                let told: Called<()> = database.run(|tx| {
                    tx.call(&add(area, cells[0], n))?;
                    tx.call(&add(area, cells[1], n))
                });
                told.expect("committed");
            })
        };
        let clients = vec![
            client(1, [&[0, 4], &[8]]),
            client(10, [&[1, 4], &[9]]),
            client(100, [&[4, 0], &[5]]),
        ];
        in_parallel(&database, clients);
        let expected = sums(&[(&[0, 4, 8], 1), (&[1, 4, 9], 10), (&[4, 0, 5], 100)]);
        assert_eq!(read(&database, area, 0..16), expected);
        assert_eq!(after_a_crash(way, &disk, database), expected);
    });
}

/// A transaction may wait until its group is written, behind another group. Another may have the pen at that moment,
/// for the unforced end of an operation, and then wait for the first one's locks. The first must not wait for it.
#[test]
fn shuttle_an_end_of_an_operation_does_not_keep_a_commit_waiting() {
    for strategy in [Strategy::OrderedLog, Strategy::SPHERES] {
        for threaded in [false, true] {
            let way = Way {
                strategy,
                page_log: PageLog::ByteRanges,
                release: Release::Durable,
                threaded,
            };
            explore_deeply(1000, move || ends_of_operations_beside_commits(way));
        }
    }
}

fn ends_of_operations_beside_commits(way: Way) {
    let disk = SimulatedDisk::new(1, Faults::default());
    let (database, area) = open(way, &disk);
    let put = |cell: u64, times: i64| -> Box<dyn FnOnce(&Database) + Send> {
        Box::new(move |database| {
            for value in 1..=times {
                let told: Called<i64> = database.run(|tx| tx.call(&Put { area, cell, value }));
                told.expect("committed");
            }
        })
    };
    let waits = Box::new(move |database: &Database| {
        let get = Get {
            area,
            cells: vec![0],
        };
        let told: Called<_> = database.run(|tx| {
            for _ in 0..4 {
                tx.call(&add(area, &[4], 1))?;
            }
            tx.call(&get)
        });
        told.expect("committed");
    });
    in_parallel(&database, vec![put(0, 1), put(8, 2), waits]);
    let expected = sums(&[(&[0], 1), (&[4], 4), (&[8], 2)]);
    assert_eq!(after_a_crash(way, &disk, database), expected);
}

/// Operations that touch pages in opposite orders, in transactions that touch objects in opposite
/// orders: both kinds of cycles end.
#[test]
fn shuttle_cycles_over_pages_and_over_objects_end() {
    everywhere(40, |way| {
        let disk = SimulatedDisk::new(1, Faults::default());
        let (database, area) = open(way, &disk);
        let client = |cells: &'static [u64], puts: [u64; 2]| -> Box<dyn FnOnce(&Database) + Send> {
            Box::new(move |database| {
                let told: Called<()> = database.run(|tx| {
                    tx.call(&add(area, cells, 1))?;
                    for cell in puts {
                        let value = tx.call(&Get {
                            area,
                            cells: vec![cell],
                        })?[0];
                        let value = value + 1;
                        tx.call(&Put { area, cell, value })?;
                    }
                    Ok(())
                });
                told.expect("committed in the end");
            })
        };
        let clients = vec![
            client(&[0, 4, 8], [1, 12]),
            client(&[8, 4, 0], [12, 1]),
            client(&[4, 8, 0], [1, 12]),
        ];
        in_parallel(&database, clients);
        let expected = sums(&[(&[0, 4, 8, 1, 12], 3)]);
        assert_eq!(after_a_crash(way, &disk, database), expected);
    });
}

/// Bounded cells never leave their bounds (the operation asserts it), in every outcome. A refused change could not be
/// admitted in any outcome.
#[test]
fn shuttle_a_bounded_cell_never_leaves_its_bounds() {
    everywhere(40, |way| {
        let disk = SimulatedDisk::new(1, Faults::default());
        let (database, area) = open(way, &disk);
        let change = move |amount| Bounded {
            area,
            cell: 0,
            amount,
            low: 0,
            high: 10,
        };
        let told: Called<_> = database.run(|tx| tx.call(&change(6)));
        told.expect("within bounds");
        let client = |amounts: [i64; 2], aborts: bool| -> Box<dyn FnOnce(&Database) + Send> {
            Box::new(move |database| {
                let ended: Result<(), Ended> = database.run(|tx| {
                    for amount in amounts {
                        match tx.call(&change(amount)) {
                            Ok(_) | Err(CallError::Failed(Stop::Bounds { .. })) => {}
                            Err(error) => return Err(error.into()),
                        }
                        thread::yield_now();
                    }
                    if aborts {
                        Err(Ended::OnPurpose)
                    } else {
                        Ok(())
                    }
                });
                assert!(matches!(
                    (aborts, ended),
                    (true, Err(Ended::OnPurpose)) | (false, Ok(()))
                ));
            })
        };
        in_parallel(
            &database,
            vec![
                client([-4, 1], true),
                client([-3, 2], false),
                client([5, -4], true),
            ],
        );
        let value = read(&database, area, 0..1)[0];
        assert!([5, 3, 8, 6].contains(&value), "{value}");
        assert_eq!(after_a_crash(way, &disk, database)[0], value);
    });
}

/// Siblings on the same pages, in a transaction that commits and in one that aborts, beside another
/// transaction.
#[test]
fn shuttle_siblings_share_pages_and_end_together() {
    everywhere(30, |way| {
        let disk = SimulatedDisk::new(1, Faults::default());
        let (database, area) = open(way, &disk);
        let family = |n: i64, commits: bool| -> Box<dyn FnOnce(&Database) + Send> {
            Box::new(move |database| {
                loop {
                    let tx = database.begin();
                    // Shuttle's scopes cannot bear that the thread that has one waits for anything
                    // else than for its threads.
                    let well = tx.scope(|scope| {
                        let one = scope.spawn(|| tx.call(&add(area, &[0, 4], n)).is_ok());
                        let other = scope.spawn(|| tx.call(&add(area, &[4, 0, 8], n)).is_ok());
                        let one = one.join().expect("a sibling ends well");
                        let other = other.join().expect("a sibling ends well");
                        one && other
                    });
                    match (well, commits) {
                        (true, true) => tx.commit().expect("committed"),
                        (true, false) => tx.abort().expect("aborted"),
                        (false, _) => {
                            assert!(tx.is_doomed());
                            tx.abort().expect("aborted");
                            continue;
                        }
                    }
                    return;
                }
            })
        };
        in_parallel(&database, vec![family(1, true), family(10, false)]);
        let expected = sums(&[(&[0, 0, 4, 4, 8], 1)]);
        assert_eq!(read(&database, area, 0..16), expected);
        assert_eq!(after_a_crash(way, &disk, database), expected);
    });
}

/// Spheres are written by commits of others while an operation is half done on their pages, and while a transaction in
/// them aborts. After a crash at the moment of the first commit, too, the content is whole.
#[test]
fn shuttle_spheres_are_written_while_others_work_on_their_pages() {
    for strategy in [
        Strategy::SPHERES,
        Strategy::PersistenceSpheres { pages_max: 2 },
        Strategy::OrderedLog,
    ] {
        for page_log in [PageLog::AfterImages, PageLog::ByteRanges] {
            let way = Way {
                strategy,
                page_log,
                release: Release::Appended,
                threaded: false,
            };
            explore(100, move || written_under_way(way, true));
            explore(50, move || written_under_way(way, false));
        }
    }
}

fn written_under_way(way: Way, crashes: bool) {
    let disk = SimulatedDisk::new(1, Faults::default());
    let (database, area) = open(way, &disk);
    let third: &[(&[u64], i64)] = &[(&[4, 0], 100), (&[8, 9], 100)];
    let with = |others: &[(&[u64], i64)]| {
        let mut all = vec![(&[0, 4][..], 1), (&[4, 8][..], 1)];
        all.extend(others);
        sums(&all)
    };
    let (alone, all) = (with(&[]), with(third));
    let (crashed, expected) = (disk.clone(), [alone, all.clone()]);
    in_parallel(
        &database,
        vec![
            Box::new(move |database| {
                let told: Called<()> = database.run(|tx| {
                    tx.call(&add(area, &[0, 4], 1))?;
                    tx.call(&add(area, &[4, 8], 1))
                });
                told.expect("committed");
                if crashes {
                    // The others are anywhere, and will get the error that the disk has failed.
                    let after = crashed.restart(Faults::default());
                    let (after, area) = open(way, &after);
                    let found = read(&after, area, 0..16);
                    assert!(expected.contains(&found), "after the crash: {found:?}");
                }
            }),
            Box::new(move |database| {
                let tx = database.begin();
                let one = tx.call(&add(area, &[0, 8], 10));
                let other = tx.call(&add(area, &[4], 10));
                let aborted = tx.abort();
                let well = one.is_ok() && other.is_ok() && aborted.is_ok();
                assert!(crashes || well);
            }),
            Box::new(move |database| {
                let told: Called<()> = database.run(|tx| {
                    let mut adds = third.iter();
                    adds.try_for_each(|(cells, amount)| tx.call(&add(area, cells, *amount)))
                });
                assert!(crashes || told.is_ok());
            }),
        ],
    );
    if !crashes {
        assert_eq!(read(&database, area, 0..16), all);
        assert_eq!(after_a_crash(way, &disk, database), all);
    }
}

/// Areas grow, statistics are read and a checkpoint is taken while transactions end, with a log that
/// is too small for all of it.
#[test]
fn shuttle_growing_and_checkpoints_under_way_with_a_small_log() {
    for strategy in STRATEGIES {
        for threaded in [false, true] {
            let way = Way {
                strategy,
                page_log: PageLog::AfterImages,
                release: Release::Durable,
                threaded,
            };
            explore(25, move || small_log(way));
        }
    }
}

fn small_log(way: Way) {
    let disk = SimulatedDisk::new(1, Faults::default());
    let limits = GroupLimits {
        group_bytes: 16 << 10,
        transaction_bytes: 32 << 10,
        depth: 1,
        buffers: 3,
    };
    let storage = StorageOptions {
        segment_bytes: 128 << 10,
        log_bytes_max: 512 << 10,
        log_bytes_prepared: 128 << 10,
        checkpoint_interval_bytes: Some(1 << 40),
        limits,
        ..storage()
    };
    let (database, area) = way.open(&disk, storage.clone()).expect("opens");
    in_parallel(
        &database,
        vec![
            Box::new(move |database| {
                for _ in 0..20 {
                    let told: Called<()> = database.run(|tx| tx.call(&add(area, &[0, 4], 1)));
                    told.expect("room comes");
                }
            }),
            Box::new(move |database| {
                for pages in 5..9 {
                    database.area("cells", pages).expect("there is room");
                    let _ = database.statistics();
                    let told: Called<()> = database.run(|tx| {
                        tx.call(&add(area, &[4 * (pages - 1), 4], 1))?;
                        Ok(())
                    });
                    told.expect("room comes");
                }
            }),
            Box::new(move |database| {
                database.checkpoint().expect("completes");
            }),
        ],
    );
    let mut expected = sums(&[(&[0], 20), (&[4], 24)]);
    expected.extend([0; 16]);
    (16..32).step_by(4).for_each(|cell| expected[cell] = 1);
    assert_eq!(read(&database, area, 0..32), expected);
    let after = disk.restart(Faults::default());
    drop(database);
    let (database, area) = way.open(&after, storage).expect("recovers");
    assert_eq!(read(&database, area, 0..32), expected);
}

/// The log fails under transactions: each gets the error, none hangs, and no acknowledged commit is lost.
#[test]
fn shuttle_a_log_that_fails_tells_everyone() {
    everywhere(40, |way| {
        let faults = Faults {
            fail_sync_at: Some(30),
            ..Faults::default()
        };
        let disk = SimulatedDisk::new(1, faults);
        let Ok((database, area)) = way.open(&disk, storage()) else {
            return;
        };
        let client = |n: u64| {
            let database = database.clone();
            thread::spawn(move || {
                for round in 0..30 {
                    let told: Called<()> = database.run(|tx| {
                        tx.call(&add(area, &[n, 4], 1))?;
                        tx.call(&add(area, &[8], 1))
                    });
                    match told {
                        Ok(()) => {}
                        Err(CallError::Commit(CommitError::Unknown(_))) => return (round, 1),
                        Err(_) => return (round, 0),
                    }
                }
                (30, 0)
            })
        };
        let (one, other) = (client(0), client(1));
        let (one, other) = (one.join().expect("ends"), other.join().expect("ends"));
        let found = after_a_crash(way, &disk, database);
        let between = |found: i64, (told, unknown): (i64, i64)| {
            assert!(
                (told..=told + unknown).contains(&found),
                "{found} of {told}"
            );
        };
        between(found[0], one);
        between(found[1], other);
        assert_eq!(found[4], found[0] + found[1]);
        assert_eq!(found[8], found[4]);
    });
}
