//! The whole experiment on the real engine, small and without timed work.

use super::*;
use crate::ExperimentError;
use crate::complex_objects::workload::{Generator, Mix, References, Scale};
use crate::floor::Face;
use sardonyx_multilevel::{PageLog, Strategy};
use sardonyx_storage::engine::StorageOptions;
use sardonyx_storage::log::policy::GroupLimits;
use std::time::Duration;

const STRATEGIES: [Strategy; 4] = [
    Strategy::SingleLevel,
    Strategy::ForcedSubtransactions,
    Strategy::SPHERES,
    Strategy::OrderedLog,
];

const MIX: Mix = Mix {
    operations: 4,
    own_accesses: 3,
    foreign_accesses: 3,
    update_percent: 40,
};

fn scale() -> Scale {
    Scale::new(12, 40, 10, 4).unwrap()
}

fn options(directory: &std::path::Path, semantic: bool, page_log: PageLog) -> Plan {
    Plan {
        directory: directory.join("objects.sdx"),
        scale: scale(),
        setting: Setting {
            processors: 2,
            access_time: Duration::ZERO,
            semantic,
            page_log,
            handling: Handling::default(),
            storage: StorageOptions {
                segment_bytes: 4 << 20,
                log_bytes_max: 64 << 20,
                log_bytes_prepared: 8 << 20,
                limits: GroupLimits {
                    group_bytes: 512 << 10,
                    transaction_bytes: 1 << 20,
                    ..GroupLimits::default()
                },
                ..StorageOptions::default()
            },
            seed: 5,
        },
        handlings: vec![Handling::default()],
        strategies: STRATEGIES.to_vec(),
        sweeps: vec![Sweep {
            over: Parameter::Multiprogramming,
            values: vec![1, 5],
            base: Point {
                multiprogramming: 1,
                mix: MIX,
            },
        }],
        until: Until::Transactions {
            warm_up: 5,
            measured: 60,
        },
        face: Face::Idle,
    }
}

#[test]
fn every_strategy_keeps_every_value() {
    for (semantic, page_log) in [(false, PageLog::AfterImages), (true, PageLog::ByteRanges)] {
        let directory = tempfile::tempdir().unwrap();
        let mut told = 0;
        let options = options(directory.path(), semantic, page_log);
        let report = run(&options, |progress| {
            assert_eq!((progress.done, progress.all), (told, 8));
            told += 1;
        });
        let report = report.unwrap();
        assert_eq!(report.figures.rows.len(), 8);
        assert_eq!(report.figures.values_verified, (2 * 8 + 1) * 12 * 40);
        for row in &report.figures.rows {
            assert_eq!(row.transactions, 60);
            assert!(row.per_second > 0.0 && row.response.p95_microseconds > 0.0);
            assert!(row.lock_requests > 0.0 && row.log_bytes > 0.0, "{row:?}");
            assert!((0.0..1.0).contains(&row.conflict_rate), "{row:?}");
            if row.value == 1 {
                let none = (row.restarts, row.aborts, row.lock_wait_microseconds);
                assert_eq!(none, (0, 0, 0.0), "{row:?}");
            }
        }
    }
}

#[test]
fn alone_each_strategy_forces_the_log_as_often_as_the_paper_says() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = options(directory.path(), false, PageLog::AfterImages);
    options.sweeps[0].values = vec![1];
    // Every operation changes something.
    options.sweeps[0].base.mix.update_percent = 100;
    let report = run(&options, |_| ()).unwrap();
    let forces: Vec<f64> = report.figures.rows.iter().map(|row| row.forces).collect();
    // Once at the end of the transaction; S2 also at the end of each of its four operations.
    assert_eq!(forces, [1.0, 5.0, 1.0, 1.0]);
    // A single thread shares no write.
    for row in &report.figures.rows {
        assert!((row.log_writes - row.forces).abs() < 0.1, "{row:?}");
    }
    let [single, forced, spheres, ordered] = &report.figures.rows[..] else {
        panic!("four strategies");
    };
    // With a single thread, a transaction's spheres are the pages that it changed.
    assert_eq!(single.sphere_pages, spheres.sphere_pages);
    assert_eq!(single.pages_per_force, spheres.pages_per_force);
    assert!(forced.pages_per_force < single.pages_per_force);
    assert!(ordered.sphere_pages < single.sphere_pages);
}

/// With every rule and delay, all values are the committed ones.
#[test]
fn every_rule_for_deadlocks_keeps_every_value() {
    let directory = tempfile::tempdir().unwrap();
    let mut plan = options(directory.path(), false, PageLog::ByteRanges);
    plan.strategies = vec![Strategy::SingleLevel, Strategy::SPHERES];
    plan.sweeps[0].values = vec![5];
    plan.handlings = Handling::all(&[100, 200].map(Duration::from_micros));
    let report = run(&plan, |_| ()).unwrap();
    let rows: Vec<(&str, &str, f64)> = report
        .figures
        .rows
        .iter()
        .map(|row| {
            let handling = row.handling;
            (row.strategy, handling.name(), handling.delay_microseconds())
        })
        .collect();
    assert_eq!(rows.len(), 4 * 2 * 2);
    assert_eq!(rows[0], ("S1", "youngest", 100.0));
    assert_eq!(rows[1], ("S2/PS", "youngest", 100.0));
    assert_eq!(rows[2], ("S1", "youngest", 200.0));
    assert_eq!(rows[15], ("S2/PS", "requester", 200.0));
    assert_eq!(report.figures.values_verified, (2 * 16 + 1) * 12 * 40);
    let text = super::show::findings(&report, "victims").unwrap();
    for name in ["youngest", "oldest", "random", "requester"] {
        assert!(text.text().contains(name), "{}", text.text());
    }
}

#[test]
fn a_wrong_value_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let references = References::generate(scale(), 5);
    let path = directory.path().join("objects.sdx");
    let setting = options(directory.path(), false, PageLog::ByteRanges).setting;
    let objects = ComplexObjects::make(&path, &references, &setting).unwrap();
    let expected = Expected::new(scale());
    assert_eq!(objects.verify(&expected).unwrap(), 12 * 40);
    let mut generator = Generator::new(&references, MIX, 1).unwrap();
    let transaction = generator.transaction();
    objects.transact(&transaction).unwrap();
    let error = objects.verify(&expected).unwrap_err();
    assert!(
        matches!(error, ExperimentError::WrongSubobject { .. }),
        "{error}"
    );
    expected.add(&transaction);
    objects.verify(&expected).unwrap();
    objects.close().unwrap();
}

#[test]
fn what_does_not_commit_leaves_nothing() {
    for strategy in STRATEGIES {
        let directory = tempfile::tempdir().unwrap();
        let references = References::generate(scale(), 5);
        let path = directory.path().join("objects.sdx");
        let setting = options(directory.path(), false, PageLog::ByteRanges).setting;
        let made = ComplexObjects::make(&path, &references, &setting).unwrap();
        made.close().unwrap();
        let objects = ComplexObjects::open(&path, &references, &setting, strategy).unwrap();
        let expected = Expected::new(scale());
        let mut generator = Generator::new(&references, MIX, 1).unwrap();
        // The last operation finds a reference that leads elsewhere.
        let mut broken = generator.transaction();
        let last = broken.operations.last_mut().unwrap();
        last.accesses.last_mut().unwrap().subobject.number ^= 1;
        assert!(broken.changes().count() > 3);
        let error = objects.transact(&broken).unwrap_err().to_string();
        assert!(error.contains("reference"), "{error}");
        objects.verify(&expected).unwrap();
        let aborted = generator.transaction();
        objects.transact_and_abort(&aborted).unwrap();
        objects.verify(&expected).unwrap();
        let sound = generator.transaction();
        objects.transact(&sound).unwrap();
        expected.add(&sound);
        objects.verify(&expected).unwrap();
        objects.close().unwrap();
        let again = ComplexObjects::open(&path, &references, &setting, strategy).unwrap();
        again.verify(&expected).unwrap();
    }
}

#[test]
fn what_cannot_be_run_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let usable = options(directory.path(), false, PageLog::AfterImages);
    let refused = |change: &dyn Fn(&mut Plan)| {
        let mut options = usable.clone();
        change(&mut options);
        run(&options, |_| ()).unwrap_err().to_string()
    };
    for (change, said) in [
        (
            &(|o: &mut Plan| o.setting.processors = 0) as &dyn Fn(&mut Plan),
            "processors",
        ),
        (&|o| o.sweeps[0].values = vec![0], "multiprogramming"),
        (&|o| o.sweeps[0].values = vec![1_001], "multiprogramming"),
        (&|o| o.sweeps[0].base.mix.operations = 13, "operations"),
        (&|o| o.sweeps.clear(), "nothing to run"),
        (&|o| o.strategies.clear(), "nothing to run"),
        (&|o| o.handlings.clear(), "nothing to run"),
    ] {
        let error = refused(change);
        assert!(error.contains(said), "{said}: {error}");
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}
