//! The transaction that ends a deadlock under each rule. Each victim is run again until it commits.

use crate::support::{self, Put, STRATEGIES, Way, read, small};
use sardonyx_multilevel::{
    Area, CallError, Database, Options, PageLog, Release, RestartDelay, Stop, Strategy,
    Transaction, VictimRule,
};
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use sardonyx_workload::random::Random;
use std::sync::Arc;
use std::time::Duration;

fn open(strategy: Strategy, change: impl FnOnce(Options) -> Options) -> (Database, Area) {
    let way = Way {
        strategy,
        page_log: PageLog::ByteRanges,
        release: Release::Appended,
        threaded: false,
    };
    let disk = SimulatedDisk::new(1, Faults::default());
    let options = change(way.options(small()));
    let database = options.open_on(Arc::new(disk)).expect("opens");
    let area = database.area("cells", 4).expect("there is room");
    (database, area)
}

fn put(area: Area, cell: u64) -> Put {
    Put {
        area,
        cell,
        value: 1,
    }
}

/// Asks for a cell, and commits; or aborts, and it was the victim.
fn was_victim(transaction: Transaction<'_>, put: &Put) -> bool {
    let outcome: Result<_, CallError<Stop>> = transaction.call(put);
    match outcome {
        Ok(_) => transaction.commit().map(|()| false).expect("committed"),
        Err(CallError::Deadlock) => transaction.abort().map(|()| true).expect("undone"),
        Err(error) => panic!("{error}"),
    }
}

/// Two transactions that want each other's cells, of which one closes the cycle: whether the older and
/// the younger were the victim.
fn victims(strategy: Strategy, rule: VictimRule, older_closes: bool) -> [bool; 2] {
    let (database, area) = open(strategy, |options| options.victims(rule));
    let (older, younger) = (database.begin(), database.begin());
    older.call(&put(area, 0)).expect("free");
    younger.call(&put(area, 4)).expect("free");
    let (for_older, for_younger) = (put(area, 4), put(area, 0));
    let until_it_waits = || {
        while database.waiting().is_empty() {
            std::thread::yield_now();
        }
    };
    std::thread::scope(|scope| {
        if older_closes {
            let younger = scope.spawn(|| was_victim(younger, &for_younger));
            until_it_waits();
            [was_victim(older, &for_older), younger.join().unwrap()]
        } else {
            let older = scope.spawn(|| was_victim(older, &for_older));
            until_it_waits();
            let of_younger = was_victim(younger, &for_younger);
            [older.join().unwrap(), of_younger]
        }
    })
}

#[test]
fn the_victim_is_whom_the_rule_names() {
    let (older, younger) = ([true, false], [false, true]);
    for strategy in STRATEGIES {
        let of = |rule, older_closes| victims(strategy, rule, older_closes);
        for closes in [false, true] {
            assert_eq!(of(VictimRule::default(), closes), younger, "{strategy:?}");
            assert_eq!(of(VictimRule::Youngest, closes), younger, "{strategy:?}");
            assert_eq!(of(VictimRule::Oldest, closes), older, "{strategy:?}");
        }
        assert_eq!(of(VictimRule::Requester, true), older, "{strategy:?}");
        assert_eq!(of(VictimRule::Requester, false), younger, "{strategy:?}");
        let random = |seed| of(VictimRule::Random { seed }, seed % 2 == 0);
        let drawn: Vec<_> = (0..8).map(random).collect();
        assert_eq!(drawn, (0..8).map(random).collect::<Vec<_>>());
        assert!(drawn.contains(&older) && drawn.contains(&younger));
    }
}

/// Under any rule, a victim is run again until it commits, once.
#[test]
fn under_every_rule_what_is_run_is_committed_once() {
    const CELLS: u64 = 9;
    const THREADS: u64 = 3;
    const EACH: u64 = 20;
    for (strategy, rule) in STRATEGIES
        .into_iter()
        .flat_map(|strategy| VictimRule::all(3).map(|rule| (strategy, rule)))
    {
        let delay = RestartDelay::up_to(Duration::from_micros(300)).seeded(5);
        let (database, area) = open(strategy, |options| {
            options.victims(rule).restart_delay(delay)
        });
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let database = &database;
                scope.spawn(move || {
                    let mut random = Random::new(thread);
                    for _ in 0..EACH {
                        let first = random.below(CELLS);
                        let second = (first + 1 + random.below(CELLS - 1)) % CELLS;
                        let both = database.run(|transaction| {
                            for cell in [first, second] {
                                transaction.call(&support::Add {
                                    area,
                                    amount: 1,
                                    cells: vec![cell],
                                })?;
                                let value = 100;
                                transaction.call(&Put {
                                    area,
                                    cell: CELLS + cell,
                                    value,
                                })?;
                            }
                            Ok::<_, CallError<Stop>>(())
                        });
                        both.expect("run again until it commits");
                    }
                });
            }
        });
        let found = read(&database, area, 0..CELLS);
        let sum: i64 = found.iter().sum();
        assert_eq!(sum as u64, 2 * THREADS * EACH, "{strategy:?} {rule:?}");
        assert_eq!(database.statistics().committed, THREADS * EACH + 1);
    }
}
