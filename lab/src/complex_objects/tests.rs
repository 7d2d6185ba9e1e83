//! The threads, the window and the measures, with the simplest engine: one transaction at a time on plain pages.

use super::build::{Audit, Build};
use super::engine::{Counters, Engine, EngineFailure, LockCounters};
use super::operation::{Surroundings, Visit};
use super::plan::{Figure, Parameter};
use super::processors::Processors;
use super::worker::{self, Load, LoadFailure};
use super::{Expected, Handling, Row, Until};
use crate::complex_objects::workload::{Mix, References, Scale};
use sardonyx_base::sync::futex::Mutex;
use sardonyx_multilevel::{Operation, PlainPages};
use std::time::Duration;

const MIX: Mix = Mix {
    operations: 3,
    own_accesses: 4,
    foreign_accesses: 2,
    update_percent: 50,
};

/// One transaction at a time; every tenth is counted as if it had been restarted, once, and two share a write of the
/// log.
struct OneAtATime {
    state: Mutex<(PlainPages, Counters)>,
    /// Loses an operation of that transaction.
    loses: Option<u64>,
    /// After so many transactions, all others end in deadlocks for ever.
    commits: u64,
}

struct World {
    engine: OneAtATime,
    surroundings: Surroundings,
    references: References,
    expected: Expected,
}

fn world(loses: Option<u64>) -> World {
    let scale = Scale::new(20, 50, 10, 4).unwrap();
    let references = References::generate(scale, 1);
    let mut pages = PlainPages::new();
    let surroundings = Surroundings {
        scale,
        area: pages.area(scale.all_pages()),
        semantic: false,
        processors: Processors::new(2),
        access_time: Duration::from_nanos(1),
    };
    for complex_object in 0..scale.complex_objects() {
        let build = Build {
            surroundings: &surroundings,
            references: &references,
            complex_object,
        };
        build.execute(&mut pages).unwrap();
    }
    World {
        engine: OneAtATime {
            state: Mutex::new((pages, Counters::default())),
            loses,
            commits: u64::MAX,
        },
        surroundings,
        references,
        expected: Expected::new(scale),
    }
}

impl Engine for OneAtATime {
    fn transact(
        &self,
        operations: &[Visit<'_>],
        go_on: &dyn Fn() -> bool,
    ) -> Result<(), EngineFailure> {
        if self.state.lock().1.forces >= self.commits {
            while go_on() {
                self.state.lock().1.deadlocks += 1;
                std::thread::yield_now();
            }
            return Err(EngineFailure::GivenUp);
        }
        let (pages, counters) = &mut *self.state.lock();
        counters.forces += 1;
        counters.log_writes += counters.forces % 2;
        counters.units += 1;
        counters.log_bytes += 100;
        counters.pages_logged += 5;
        counters.unit_pages_max = counters.unit_pages_max.max(counters.forces);
        for (number, operation) in operations.iter().enumerate() {
            if number > 0 || self.loses != Some(counters.forces) {
                operation.execute(pages)?;
            }
            counters.pages.requests += 8;
            counters.objects.requests += 2;
            counters.pages.waits += 1;
            counters.pages.wait_time += Duration::from_micros(10);
            counters.objects.wait_time += Duration::from_micros(5);
        }
        counters.deadlocks += u64::from(counters.forces.is_multiple_of(10));
        Ok(())
    }

    fn counters(&self) -> Counters {
        self.state.lock().1
    }
}

impl World {
    fn run(&self, threads: usize, until: Until) -> Result<worker::Found, LoadFailure> {
        let load = Load {
            threads,
            mix: MIX,
            until,
            patience: match self.engine.commits {
                u64::MAX => Duration::MAX,
                _ => Duration::from_millis(1),
            },
            seed: 3,
        };
        let (engine, expected) = (&self.engine, &self.expected);
        worker::run(
            engine,
            &self.surroundings,
            &self.references,
            &load,
            expected,
        )
    }

    fn differences(&self) -> usize {
        let pages = &mut self.engine.state.lock().0;
        let wrong = |complex_object| {
            let audit = Audit {
                surroundings: &self.surroundings,
                references: &self.references,
                complex_object,
            };
            let values = audit.execute(pages).unwrap();
            self.expected.differences(complex_object, &values).len()
        };
        (0..20).map(wrong).sum()
    }
}

const HUNDRED: Until = Until::Transactions {
    warm_up: 20,
    measured: 100,
};

#[test]
fn threads_run_until_enough_is_measured_and_all_of_it_is_expected() {
    for threads in [1, 4] {
        let world = world(None);
        let found = world.run(threads, HUNDRED).unwrap();
        assert_eq!(found.response.count, 100);
        assert_eq!(world.differences(), 0);
        // Transactions that were running when the window closed are found, and expected.
        let all = world.engine.counters().forces;
        assert!((120..120 + threads as u64).contains(&all), "{all}");
    }
}

/// If transactions end one another for ever the run ends, and reports how little was done.
#[test]
fn a_run_in_which_nothing_ends_any_more_is_given_up() {
    for commits in [0, 30] {
        let mut world = world(None);
        world.engine.commits = commits;
        let found = world.run(1, HUNDRED).unwrap();
        let ended = commits.saturating_sub(20);
        assert_eq!(found.response.count, ended);
        assert_eq!(world.differences(), 0);
        let point = Figure::Nine.sweeps()[0].base;
        let at = (Parameter::Multiprogramming, 12);
        let row = Row::new("S1", at, point, Handling::default(), &found);
        assert_eq!(row.transactions, ended);
        assert_eq!(row.per_second > 0.0, ended > 0);
    }
}

#[test]
fn an_operation_that_is_lost_is_noticed() {
    let world = world(Some(7));
    world.run(1, HUNDRED).unwrap();
    assert!(world.differences() > 0);
}

#[test]
fn the_measures_are_those_of_the_window() {
    let world = world(None);
    let found = world.run(1, HUNDRED).unwrap();
    let point = Figure::Seven.sweeps()[0].base;
    let at = (Parameter::Multiprogramming, 12);
    let row = Row::new("S1", at, point, Handling::default(), &found);
    assert_eq!((row.strategy, row.value, row.transactions), ("S1", 12, 100));
    assert!((row.per_second - 100.0 / row.seconds).abs() < 1e-6);
    // A transaction has 3 operations.
    assert_eq!(row.lock_requests, 30.0);
    assert_eq!(row.conflict_rate, 0.1);
    assert!((row.lock_wait_microseconds - 45.0).abs() < 1e-6);
    assert!((row.page_lock_wait_microseconds - 30.0).abs() < 1e-6);
    assert!((row.object_lock_wait_microseconds - 15.0).abs() < 1e-6);
    assert_eq!((row.forces, row.log_bytes), (1.0, 100.0));
    assert_eq!((row.pages_per_force, row.sphere_pages), (5.0, 5.0));
    // The number of waiting transactions and the written bytes are different counts.
    assert_eq!((row.log_writes, row.pages_per_write), (0.5, 10.0));
    assert!((row.log_writes_per_second - 50.0 / row.seconds).abs() < 1e-6);
    assert_eq!(
        (row.aborts, row.restarts, row.sphere_pages_max),
        (10, 0, 120)
    );
    assert!(row.access_microseconds > 0.0);
}

#[test]
fn a_failure_of_one_thread_ends_all() {
    let mut world = world(None);
    // A transaction that looks for the second complex object finds another one.
    world.references = References::generate(world.references.scale(), 2);
    let outcome = world.run(4, HUNDRED);
    let Err(LoadFailure::Engine(EngineFailure::Visit(error))) = outcome else {
        panic!("references lead elsewhere");
    };
    assert!(error.to_string().contains("reference"), "{error}");
}

#[test]
fn counts_are_differences_but_for_the_most() {
    let before = Counters {
        pages: LockCounters {
            requests: 5,
            waits: 1,
            wait_time: Duration::from_micros(3),
        },
        units: 4,
        unit_pages_max: 9,
        ..Counters::default()
    };
    let mut after = before;
    after.pages.requests = 11;
    after.units = 6;
    let counted = after.since(&before);
    assert_eq!((counted.pages.requests, counted.pages.waits), (6, 0));
    assert_eq!((counted.units, counted.unit_pages_max), (2, 9));
}
