use super::*;
use crate::crew::Program;
use crate::error::ExperimentError;
use crate::floor::Face;
use std::path::Path;

fn plan(directory: &Path) -> Plan {
    Plan {
        engines: segment_trees(),
        workers: Workers::Threads,
        worker_counts: vec![1, 3],
        budget: Budget::Inserts(40),
        preload: 3_000,
        value_bytes: 100,
        face: Face::Idle,
        directory: directory.to_path_buf(),
        seed: 6,
        program: Program {
            path: "/missing/program".into(),
            arguments: Vec::new(),
        },
    }
}

#[test]
fn both_trees_keep_what_threads_inserted() {
    let directory = tempfile::tempdir().unwrap();
    let report = run(&plan(directory.path()), |_| {}).unwrap();
    let text = findings(&report).unwrap().text().to_string();
    assert!(text.contains("Sardonyx, B+-tree"), "{text}");
    let report = report.figures;
    assert_eq!(report.engines.len(), 2);
    for tree in &report.engines {
        let workers: Vec<_> = tree.cells.iter().map(|cell| cell.workers).collect();
        assert_eq!(workers, [1, 3], "{}", tree.name);
        assert!(tree.cells.iter().all(|cell| cell.inserts == 40));
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn a_tree_has_short_values_refuses_a_key_that_is_there_and_is_there_again() {
    for engine in segment_trees() {
        let directory = tempfile::tempdir().unwrap();
        {
            let tree = (engine.open)(directory.path(), Sharing::Alone).unwrap();
            let mut session = tree.session().unwrap();
            assert_eq!(session.count().unwrap(), 0);
            assert_eq!(session.get(7, 8).unwrap(), None);
            session.insert(u64::MAX, &value(1, 8)).unwrap();
            assert!(session.insert(u64::MAX, b"another").is_err());
            let long = session.insert(5, &[1; 20]).unwrap_err().to_string();
            assert!(long.contains("has room for 8"), "{long}");
        }
        let tree = (engine.open)(directory.path(), Sharing::Alone).unwrap();
        let mut session = tree.session().unwrap();
        assert_eq!(session.count().unwrap(), 1, "{}", engine.name);
        assert_eq!(session.get(u64::MAX, 8).unwrap(), Some(value(1, 8)));
        let too_long = session.insert(9, &[1; VALUE_BYTES_MAX + 1]);
        assert!(too_long.is_err());
    }
}

#[test]
fn processes_that_cannot_be_started_are_an_error_and_nothing_stays() {
    let directory = tempfile::tempdir().unwrap();
    let by_processes = Plan {
        workers: Workers::Processes,
        ..plan(directory.path())
    };
    let error = run(&by_processes, |_| {}).unwrap_err();
    assert!(matches!(error, ExperimentError::Worker { .. }), "{error}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}
