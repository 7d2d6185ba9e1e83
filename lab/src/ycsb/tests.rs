use super::operations::{Operation, fill, key_of};
use super::store::{Engine, Model, Seen, Store};
use super::tables::Sardonyx;
use super::workload::{Operations, Workload};
use super::{Plan, findings, run};
use crate::error::ExperimentError;
use crate::floor::Face;
use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

const ROWS: u64 = 300;

fn plan(directory: &Path) -> Plan {
    Plan {
        engines: vec![Engine::of::<Sardonyx>()],
        workloads: Workload::YCSB.to_vec(),
        rows: ROWS,
        fields: 10,
        batches: vec![1, 40],
        time: Duration::ZERO,
        face: Face::Idle,
        directory: directory.to_path_buf(),
        seed: 1,
    }
}

/// Runs both through a workload, in batches, and compares their results.
fn alike(store: &mut dyn Store, model: &mut Model, operations: &mut Operations) {
    for batch in [1, 7, 100, 1, 30] {
        let drawn: Vec<_> = (0..batch).map(|_| operations.operation()).collect();
        assert_eq!(store.run(&drawn).unwrap(), model.run(&drawn).unwrap());
    }
}

#[test]
fn tables_are_what_the_model_is_under_each_workload_and_when_opened_again() {
    for fields in [1, 10] {
        let directory = tempfile::tempdir().unwrap();
        let mut model = Model::open(directory.path(), fields).unwrap();
        let mut store = Sardonyx::open(directory.path(), fields).unwrap();
        model.load(&mut (0..ROWS).map(key_of)).unwrap();
        store.load(&mut (0..ROWS).map(key_of)).unwrap();
        let mut rows = ROWS;
        let also = [Workload::Reads, Workload::Scans];
        for workload in Workload::YCSB.into_iter().chain(also) {
            let mut operations = Operations::new(workload, rows, fields, 9);
            alike(&mut store, &mut model, &mut operations);
            rows = operations.rows();
        }
        drop(store);
        let mut store = Sardonyx::open(directory.path(), fields).unwrap();
        assert!(rows > ROWS);
        let all = [Operation::Scan(0, u32::MAX)];
        let seen = store.run(&all).unwrap();
        assert_eq!(seen, model.run(&all).unwrap());
        assert_eq!(seen.rows, rows);
    }
}

#[test]
fn what_is_missing_or_there_already_is_refused_and_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Sardonyx::open(directory.path(), 1).unwrap();
    store.load(&mut (0..3).map(key_of)).unwrap();
    for operations in [
        vec![Operation::Read(key_of(3))],
        vec![Operation::Insert(key_of(1))],
        vec![Operation::Insert(key_of(1)), Operation::Read(key_of(2))],
    ] {
        assert!(store.run(&operations).is_err(), "{operations:?}");
    }
    assert_eq!(store.run(&[Operation::Scan(0, 9)]).unwrap().rows, 3);
    assert!(Sardonyx::open(directory.path(), 2).is_err());
}

#[test]
fn the_mixes_are_ycsbs() {
    for (workload, reads, scans, updates, inserts, both) in [
        (Workload::A, 5_000, 0, 5_000, 0, 0),
        (Workload::B, 9_500, 0, 500, 0, 0),
        (Workload::C, 10_000, 0, 0, 0, 0),
        (Workload::D, 9_500, 0, 0, 500, 0),
        (Workload::E, 0, 9_500, 0, 500, 0),
        (Workload::F, 5_000, 0, 0, 0, 5_000),
    ] {
        let mut operations = Operations::new(workload, ROWS, 10, 1);
        let (mut counts, mut scanned) = ([0_i64; 5], 0);
        for _ in 0..10_000 {
            let operation = operations.operation();
            counts[match operation {
                Operation::Read(_) => 0,
                Operation::Scan(_, count) => {
                    assert!((1..=100).contains(&count));
                    scanned += i64::from(count);
                    1
                }
                Operation::Update(..) => 2,
                Operation::Insert(_) => 3,
                Operation::ReadModifyWrite(..) => 4,
            }] += 1;
        }
        for (count, expected) in counts
            .into_iter()
            .zip([reads, scans, updates, inserts, both])
        {
            let close = (count - expected).abs() <= expected.min(10_000 - expected) / 5;
            assert!(close, "{}: {counts:?}", workload.name());
        }
        assert_eq!(operations.rows(), ROWS + counts[3] as u64);
        if scans > 0 {
            assert!((48..53).contains(&(scanned / counts[1])));
        }
    }
}

#[test]
fn keys_differ_and_rows_have_bytes_of_their_own() {
    let keys: HashSet<u64> = (0..100_000).map(key_of).collect();
    assert_eq!(keys.len(), 100_000);
    let filled = |key| {
        let mut fields = [0; 100];
        fill(key, &mut fields);
        fields
    };
    assert_eq!(filled(5), filled(5));
    assert_ne!(filled(5), filled(6));
    let mut seen = Seen::default();
    seen.row(5, &filled(5));
    let mut other = Seen::default();
    other.row(5, &filled(6));
    assert!(seen.rows == 1 && seen != other);
}

#[test]
fn a_run_has_a_cell_for_each_workload_and_batch_and_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let report = run(&plan(directory.path()), |_| {}).unwrap();
    let text = findings(&report).unwrap().text().to_string();
    assert!(
        text.contains("95 % scan, 5 % insert; 40 in a batch"),
        "{text}"
    );
    let cells = &report.figures.stores[0].cells;
    assert_eq!(cells.len(), 6 * 2);
    assert!(cells.iter().all(|cell| cell.operations_per_second > 0.0));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    let mut nothing = plan(directory.path());
    nothing.batches = vec![0];
    let error = run(&nothing, |_| {}).unwrap_err();
    assert!(matches!(error, ExperimentError::Nothing), "{error}");
}
