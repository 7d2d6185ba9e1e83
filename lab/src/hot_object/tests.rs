use super::*;
use crate::error::ExperimentError;
use crate::experiment;
use sardonyx_multilevel::Strategy;
use std::path::Path;

fn options(directory: &Path) -> Options {
    let line = "--threads 1,4 --transactions 25 --cold-records 100 --seed 3";
    let mut options: Options = experiment::options(line);
    options.databases.directory = directory.to_path_buf();
    options
}

#[test]
fn every_variant_keeps_what_it_acknowledged_and_is_compared_with_the_usual_one() {
    let directory = tempfile::tempdir().unwrap();
    let report = run(&options(directory.path()), |_| {}).unwrap();
    let text = findings(&report).unwrap().text().to_string();
    assert!(text.contains("exclusive locks, until durable"), "{text}");
    let report = report.figures;
    assert_eq!(report.series.len(), 4);
    for series in &report.series {
        let counts: Vec<_> = series.cells.iter().map(|cell| cell.transactions).collect();
        assert_eq!(counts, [25, 100], "{}", series.variant.name());
        for cell in &series.cells {
            assert!(cell.times_exclusive.unwrap() > 0.0);
            assert!(cell.transactions_per_log_write > 0.0);
            assert_eq!(cell.deadlocks, 0, "all lock in one order");
            if series.variant == Variant::Increment {
                assert_eq!(cell.object_waits, 0.0, "increments commute");
            }
        }
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn every_strategy_runs_and_pages_alone_have_no_increments() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options {
        strategies: vec![
            Strategy::SingleLevel,
            Strategy::ForcedSubtransactions,
            Strategy::SPHERES,
        ],
        variants: vec![Variant::Increment, Variant::Exclusive],
        threads: vec![2],
        transactions: Some(10),
        ..options(directory.path())
    };
    let report = run(&options, |_| {}).unwrap().figures;
    let ran: Vec<_> = report
        .series
        .iter()
        .map(|s| (s.strategy, s.variant))
        .collect();
    let expected = [
        ("S1", Variant::Exclusive),
        ("S2", Variant::Increment),
        ("S2", Variant::Exclusive),
        ("S2/PS", Variant::Increment),
        ("S2/PS", Variant::Exclusive),
    ];
    assert_eq!(ran, expected);
    let compared = |cell: &Cell| cell.times_exclusive.is_some();
    assert!(!report.series[0].cells.iter().any(compared));
}

#[test]
fn what_cannot_run_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let refused = |change: fn(&mut Options)| {
        let mut options = options(directory.path());
        change(&mut options);
        run(&options, |_| {}).unwrap_err()
    };
    for error in [
        refused(|options| options.threads.clear()),
        refused(|options| options.transactions = Some(0)),
        refused(|options| {
            options.strategies = vec![Strategy::SingleLevel];
            options.variants = vec![Variant::Increment];
        }),
    ] {
        assert!(matches!(error, ExperimentError::Nothing), "{error}");
    }
    let error = refused(|options| options.threads.push(0));
    assert!(error.to_string().contains("--threads 0"), "{error}");
    let error = refused(|options| options.cold_records = 1);
    assert!(error.to_string().contains("two"), "{error}");
}
