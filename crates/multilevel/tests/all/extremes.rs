//! The storage's numbers at their extremes, under every strategy: a database opens with them or refuses
//! with a typed error. If it opens, committed data is there when it is opened again, and no call
//! panics or hangs. And the numbers that calls take.

use crate::support::{Add, Get, STRATEGIES, Way, small};
use sardonyx_base::random::Random;
use sardonyx_multilevel::{Database, DatabaseError, PageLog, Release, Strategy};
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use sardonyx_storage::engine::StorageOptions;
use std::sync::Arc;

/// The number of options that are varied, each to 0, 1, the largest but one and the largest.
const KNOBS: usize = 9;

fn set(storage: &mut StorageOptions, knob: usize, n: usize) {
    let long = [0, 1, u64::MAX - 1, u64::MAX][n];
    let size = long as usize;
    match knob {
        0 => storage.limits.group_bytes = size,
        1 => storage.limits.transaction_bytes = size,
        2 => storage.limits.depth = size,
        3 => storage.limits.buffers = size,
        4 => storage.log_bytes_max = long,
        5 => storage.log_bytes_prepared = long,
        6 => storage.checkpoint_interval_bytes = Some(long),
        7 => storage.memory_bytes_max = long,
        _ => storage.workers = size,
    }
}

fn way(strategy: Strategy) -> Way {
    Way {
        strategy,
        page_log: PageLog::ByteRanges,
        release: Release::Appended,
        threaded: false,
    }
}

/// Adds to cells, few and then many; returns the cells' content then.
fn use_it(database: &Arc<Database>, area: sardonyx_multilevel::Area) -> Option<Vec<i64>> {
    let mut expected = vec![0; 12];
    for cells in [vec![0], vec![1, 2], (0..12).collect::<Vec<u64>>()] {
        let add = Add {
            area,
            amount: 1,
            cells: cells.clone(),
        };
        let outcome = database.run(|tx| tx.call(&add).map(|_| ()));
        if outcome.is_ok() {
            cells.iter().for_each(|cell| expected[*cell as usize] += 1);
        }
    }
    let get = Get {
        area,
        cells: (0..12).collect(),
    };
    let found = database.run(|tx| tx.call(&get)).ok()?;
    assert_eq!(found, expected);
    Some(expected)
}

fn open(knobs: &[(usize, usize)], strategy: usize) -> bool {
    let faults = Faults {
        capacity_bytes: Some(16 << 20),
        ..Faults::default()
    };
    let disk = SimulatedDisk::new(1, faults);
    let mut storage = small();
    for &(knob, n) in knobs {
        set(&mut storage, knob, n);
    }
    let way = way(STRATEGIES[strategy]);
    let Ok((database, area)) = way.open(&disk, storage) else {
        return false;
    };
    let expected = use_it(&database, area);
    drop(database);
    let Some(expected) = expected else {
        return false;
    };
    let disk = disk.restart(Faults::default());
    let mut usual = small();
    usual.log_bytes_max = 1 << 30;
    let (database, area) = way.open(&disk, usual).expect("opens as usual");
    let get = Get {
        area,
        cells: (0..12).collect(),
    };
    let found = database.run(|tx| tx.call(&get)).expect("readable");
    assert_eq!(found, expected, "{knobs:?}, {strategy}");
    true
}

#[test]
fn every_number_at_its_extremes_opens_or_refuses() {
    let mut works = 0;
    for strategy in 0..STRATEGIES.len() {
        for knob in 0..KNOBS {
            works += (0..4).filter(|n| open(&[(knob, *n)], strategy)).count();
        }
    }
    assert!(works > 30, "{works}");
    let mut random = Random::new(3);
    for _ in 0..crate::seeds().unwrap_or(15) {
        let knobs = [(); 2].map(|()| (random.below(KNOBS as u64), random.below(4)));
        let knobs = knobs.map(|(knob, n)| (knob as usize, n as usize));
        open(&knobs, random.below(STRATEGIES.len() as u64) as usize);
    }
}

#[test]
fn a_number_of_pages_that_cannot_be_is_refused() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let way = way(Strategy::OrderedLog);
    let (database, area) = way.open(&disk, small()).expect("opens");
    for pages in [u64::MAX, u64::MAX - 1, 1 << 52, 1 << 40] {
        let refused = database.area("another", pages);
        assert!(
            matches!(refused, Err(DatabaseError::Refused { .. })),
            "{refused:?}"
        );
    }
    assert!(use_it(&database, area).is_some());
}
