//! Every tree of the registry keeps acknowledged entries, with threads and with processes, and a faulty one is
//! detected.

use std::path::Path;
use std::sync::Mutex;

use sardonyx_benchmark::floor::Face;
use sardonyx_lab::product::Product;
use sardonyx_peers::tree_inserts::{
    Budget, ExperimentError, Failure, Plan, Program, Session, Sharing, TreeEngine, TreePeer,
    Workers, findings, key, registry, run, value,
};

fn options(directory: &Path, engines: Vec<TreeEngine>) -> Plan {
    Plan {
        engines,
        workers: Workers::Threads,
        worker_counts: vec![1, 3],
        budget: Budget::Inserts(40),
        preload: 300,
        value_bytes: 100,
        face: Face::Busy,
        directory: directory.to_path_buf(),
        seed: 6,
        program: Program {
            path: env!("CARGO_BIN_EXE_tree-inserts").into(),
            arguments: vec!["worker".into()],
        },
    }
}

#[test]
fn every_engine_keeps_its_entries_by_threads_and_by_processes() {
    for workers in [Workers::Threads, Workers::Processes] {
        let directory = tempfile::tempdir().unwrap();
        let options = Plan {
            workers,
            ..options(directory.path(), registry())
        };
        let report = run(&options, |_| {}).unwrap();
        let text = findings(&report).unwrap().text().to_string();
        let report = report.figures;
        for (tree, engine) in report.engines.iter().zip(registry()) {
            let counts: Vec<_> = tree.cells.iter().map(|cell| cell.workers).collect();
            let all = workers == Workers::Threads || engine.processes;
            let expected: &[u64] = if all { &[1, 3] } else { &[1] };
            assert_eq!(counts, expected, "{} by {workers}", tree.name);
            assert!(tree.cells.iter().all(|cell| cell.inserts == 40));
        }
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        for tree in &report.engines {
            let lines = text.matches(&format!("\n{} ", tree.name)).count();
            assert_eq!(lines, tree.cells.len(), "{text}");
        }
    }
}

#[test]
fn every_engine_has_short_values_and_refuses_a_key_that_is_there() {
    for engine in registry() {
        let directory = tempfile::tempdir().unwrap();
        let tree = (engine.open)(directory.path(), Sharing::Alone).unwrap();
        let mut session = tree.session().unwrap();
        for edge in [0, 1, u64::MAX / 2, u64::MAX / 2 + 1, u64::MAX] {
            session.insert(edge, &value(edge, 8)).unwrap();
            let found = session.get(edge, 8).unwrap();
            assert_eq!(found, Some(value(edge, 8)), "{} {edge}", engine.name);
            assert!(session.insert(edge, b"another").is_err(), "{}", engine.name);
        }
        assert_eq!(session.count().unwrap(), 5, "{}", engine.name);
        assert_eq!(session.get(7, 8).unwrap(), None, "{}", engine.name);
    }
}

/// The fault of a tree in memory.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    LosesTheLast,
    TearsValues,
    InventsKeys,
}

/// A tree in memory that outlives being closed, and has one fault.
struct Faulty {
    fault: Fault,
}

static ENTRIES: Mutex<Vec<(u64, Vec<u8>)>> = Mutex::new(Vec::new());
static FAULT: Mutex<Fault> = Mutex::new(Fault::LosesTheLast);

impl Product for Faulty {
    fn name() -> &'static str {
        "Faulty"
    }

    fn settings() -> &'static str {
        "in memory"
    }
}

impl TreePeer for Faulty {
    fn processes() -> bool {
        false
    }

    fn open(_: &Path, _: Sharing) -> Result<Self, Failure> {
        let fault = *FAULT.lock().unwrap();
        Ok(Faulty { fault })
    }

    fn session(&self) -> Result<Box<dyn Session + '_>, Failure> {
        Ok(Box::new(FaultySession { fault: self.fault }))
    }
}

struct FaultySession {
    fault: Fault,
}

impl Session for FaultySession {
    fn insert(&mut self, key: u64, value: &[u8]) -> Result<(), Failure> {
        let mut value = value.to_vec();
        if self.fault == Fault::TearsValues {
            value[60..].fill(0);
        }
        ENTRIES.lock().unwrap().push((key, value));
        Ok(())
    }

    fn load(&mut self, keys: &mut dyn Iterator<Item = u64>, bytes: usize) -> Result<(), Failure> {
        let mut entries = ENTRIES.lock().unwrap();
        entries.clear();
        entries.extend(keys.map(|key| (key, value(key, bytes))));
        Ok(())
    }

    fn get(&mut self, wanted: u64, bytes: usize) -> Result<Option<Vec<u8>>, Failure> {
        let entries = ENTRIES.lock().unwrap();
        let found = entries.iter().find(|(key, _)| *key == wanted);
        let invented = (self.fault == Fault::InventsKeys).then(|| value(wanted, bytes));
        Ok(found.map(|(_, value)| value.clone()).or(invented))
    }

    fn count(&mut self) -> Result<u64, Failure> {
        let lost = u64::from(self.fault == Fault::LosesTheLast);
        Ok(ENTRIES.lock().unwrap().len() as u64 - lost)
    }
}

#[test]
fn an_engine_that_loses_tears_or_invents_an_entry_has_no_figure() {
    for (fault, expected) in [
        (Fault::LosesTheLast, "the number of entries is 339"),
        (Fault::TearsValues, "the value of key"),
        (Fault::InventsKeys, "should be none"),
    ] {
        *FAULT.lock().unwrap() = fault;
        let directory = tempfile::tempdir().unwrap();
        let engines = vec![TreeEngine::of::<Faulty>()];
        let error = run(&options(directory.path(), engines), |_| {}).unwrap_err();
        assert!(
            matches!(error, ExperimentError::WrongTree { .. }),
            "{error}"
        );
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_worker_that_fails_says_why() {
    let directory = tempfile::tempdir().unwrap();
    // The worker's program knows no such engine.
    let unknown = TreeEngine {
        name: "Nobody's",
        ..registry()[1]
    };
    let by_processes = Plan {
        workers: Workers::Processes,
        ..options(directory.path(), vec![unknown])
    };
    let error = run(&by_processes, |_| {}).unwrap_err().to_string();
    assert!(error.contains("there is no engine Nobody's"), "{error}");
    let missing = Plan {
        program: Program {
            path: directory.path().join("missing"),
            arguments: Vec::new(),
        },
        ..by_processes
    };
    let error = run(&missing, |_| {}).unwrap_err().to_string();
    assert!(error.contains("could not be started"), "{error}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn nothing_to_run_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let good = options(directory.path(), registry());
    for bad in [
        Plan {
            engines: Vec::new(),
            ..good.clone()
        },
        Plan {
            worker_counts: vec![1, 0],
            ..good.clone()
        },
        Plan {
            budget: Budget::Inserts(2),
            ..good.clone()
        },
    ] {
        assert!(matches!(run(&bad, |_| {}), Err(ExperimentError::Nothing)));
    }
    assert_ne!(key(1, 0, 0), key(2, 0, 0));
}
