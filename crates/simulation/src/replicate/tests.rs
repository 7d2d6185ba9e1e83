//! The result depends on the plan and the seeds alone.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use sardonyx_workload::random::Random;

use super::*;
use crate::statistics::Interval;

/// The replication's figure: around 10, scattering by the point's width.
fn sample(width: &f64, replication: u32) -> (u32, f64) {
    let mut random = Random::new(u64::from(replication) ^ width.to_bits());
    (replication, 10.0 + width * (random.fraction() - 0.5))
}

fn plan(threads: usize) -> Plan {
    Plan {
        precision: 0.02,
        least: 5,
        most: 200,
        threads,
    }
}

/// The decisions of one thread that never runs ahead, written as simply as possible.
fn by_the_rule(width: f64, plan: &Plan) -> Vec<(u32, f64)> {
    let mut results = Vec::new();
    for replication in 0..plan.most {
        results.push(sample(&width, replication));
        let interval = Interval::of(results.iter().map(|&(_, figure)| figure));
        if results.len() >= plan.least as usize && interval.relative() <= plan.precision {
            break;
        }
    }
    results
}

#[test]
fn the_result_is_that_of_the_rule_on_any_number_of_threads() {
    let points = [0.1, 1.0, 2.0, 3.0, 4.0, 20.0, 0.0];
    let expected: Vec<_> = points
        .iter()
        .map(|&width| by_the_rule(width, &plan(1)))
        .collect();
    let counts: Vec<usize> = expected.iter().map(Vec::len).collect();
    let distinct: BTreeSet<usize> = counts.iter().copied().collect();
    assert!(
        counts[0] == 5 && counts[5] == 200 && distinct.len() > 4,
        "{counts:?}"
    );
    for threads in [1, 2, 8] {
        for _ in 0..20 {
            let found = replicate(
                &points,
                &plan(threads),
                sample,
                |&(_, figure)| figure,
                |_| {},
            );
            assert_eq!(found, expected, "{threads} threads");
        }
    }
}

#[test]
fn a_replication_that_finishes_early_does_not_count_before_its_turn() {
    // Replication 5 cannot end before 6 has, which is handed out because the first five scatter.
    // Were the results counted as they come in, 6 would be the sixth.
    let values = [
        10.0, 11.0, 9.0, 10.5, 9.5, 10.0, 30.0, 10.0, 10.0, 10.0, 10.0,
    ];
    let six_is_done = AtomicBool::new(false);
    let run = |_: &(), replication: u32| {
        match replication {
            5 => {
                while !six_is_done.load(Ordering::SeqCst) {
                    std::thread::yield_now();
                }
            }
            6 => six_is_done.store(true, Ordering::SeqCst),
            _ => {}
        }
        values[replication as usize]
    };
    let plan = Plan {
        precision: 0.08,
        least: 5,
        most: 11,
        threads: 2,
    };
    let found = replicate(&[()], &plan, run, |&figure| figure, |_| {});
    assert_eq!(found, [values[..6].to_vec()]);
}

#[test]
fn counts_stay_within_least_and_most() {
    for (least, most) in [(0, 0), (0, 1), (1, 1), (3, 2), (7, 7), (2, 9)] {
        for precision in [0.0, f64::INFINITY, f64::NAN] {
            let plan = Plan {
                precision,
                least,
                most,
                threads: 3,
            };
            let found = replicate(&[1.0, 2.0], &plan, sample, |&(_, figure)| figure, |_| {});
            let count = if precision == f64::INFINITY {
                least.max(1).min(most)
            } else {
                most
            };
            for results in found {
                let numbers: Vec<u32> = results.iter().map(|&(number, _)| number).collect();
                assert_eq!(numbers, Vec::from_iter(0..count), "{plan:?}");
            }
        }
    }
    assert!(replicate(&[], &plan(2), sample, |&(_, figure)| figure, |_| {}).is_empty());
}

#[test]
fn figures_that_are_no_numbers_run_to_the_most() {
    let found = replicate(&[1.0], &plan(2), sample, |_| f64::NAN, |_| {});
    assert_eq!(found[0].len(), 200);
}

#[test]
fn one_thread_runs_the_first_points_first_and_nothing_in_vain() {
    let order = Mutex::new(Vec::new());
    let run = |&point: &u32, replication: u32| {
        order.lock().unwrap().push((point, replication));
    };
    let plan = Plan {
        least: 3,
        ..plan(1)
    };
    replicate(&[0, 1], &plan, run, |()| 1.0, |_| {});
    let expected = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)];
    assert_eq!(*order.lock().unwrap(), expected);
}

#[test]
fn a_panic_of_a_replication_passes_through() {
    for threads in [1, 2, 8] {
        let ran = AtomicU32::new(0);
        let run = |width: &f64, replication: u32| {
            ran.fetch_add(1, Ordering::SeqCst);
            assert!(
                *width < 2.0 || replication < 3,
                "replication {replication} went wrong"
            );
            sample(width, replication)
        };
        let points = [1.0, 2.0, 1.0];
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            replicate(&points, &plan(threads), run, |&(_, figure)| figure, |_| {})
        }));
        let message = *outcome
            .expect_err("the panic")
            .downcast::<String>()
            .unwrap();
        assert!(message.contains("went wrong"), "{message}");
        assert!(ran.load(Ordering::SeqCst) < 600, "the rest is not run");
    }
}

#[test]
fn a_panic_of_the_figure_or_the_progress_passes_through() {
    let figure = |_: &(u32, f64)| -> f64 { panic!("no such figure") };
    let run = || replicate(&[1.0], &plan(2), sample, figure, |_| {});
    assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
    let progress = |_: Progress| panic!("the terminal is gone");
    let run = || replicate(&[1.0], &plan(2), sample, |&(_, figure)| figure, progress);
    assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
}

#[test]
fn progress_counts_up_to_all() {
    for threads in [1, 4] {
        let seen = Mutex::new(Vec::new());
        let points = [0.1, 3.0, 20.0];
        let note = |progress: Progress| seen.lock().unwrap().push(progress);
        let found = replicate(&points, &plan(threads), sample, |&(_, figure)| figure, note);
        let seen = seen.into_inner().unwrap();
        let used: usize = found.iter().map(Vec::len).sum();
        assert!(seen.len() >= used && seen.len() <= 600);
        for (index, progress) in seen.iter().enumerate() {
            assert_eq!(progress.replications, index as u64 + 1);
            assert!(progress.expected >= progress.replications && progress.points == 3);
        }
        let last = seen.last().unwrap();
        assert_eq!((last.points_done, last.expected), (3, last.replications));
        if threads == 1 {
            assert_eq!(seen.len(), used, "one thread runs nothing in vain");
        }
    }
}
