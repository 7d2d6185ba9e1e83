//! Every index of the registry keeps acknowledged entries, and a faulty one is detected.

use sardonyx_benchmark::floor::Face;
use sardonyx_lab::product::Product;
use sardonyx_peers::ordered_index::{
    Engine, Entry, ExperimentError, Failure, Index, Key, OnEntry, OnValue, Options, Order, Session,
    Work, findings, key, registry, run, value,
};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

fn options(directory: &Path, engines: Vec<Engine>) -> Options {
    Options {
        engines,
        works: Work::ALL.to_vec(),
        threads: vec![1, 3],
        time: Duration::ZERO,
        transactions: Some(7),
        preload: 2_500,
        face: Face::Busy,
        directory: directory.to_path_buf(),
        seed: 6,
    }
}

#[test]
fn every_engine_keeps_and_finds_its_entries_under_every_load() {
    let directory = tempfile::tempdir().unwrap();
    let report = run(&options(directory.path(), registry()), |_| {}).unwrap();
    let text = findings(&report).unwrap().text().to_string();
    let report = report.figures;
    assert_eq!(report.works.len(), Work::ALL.len());
    for work in &report.works {
        assert_eq!(work.engines.len(), registry().len());
        for engine in &work.engines {
            let counts: Vec<_> = engine.cells.iter().map(|cell| cell.transactions).collect();
            assert_eq!(counts, [7, 21], "{} {}", engine.name, work.work.name());
        }
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    for engine in registry() {
        let lines = text.matches(&format!("\n{} ", engine.name)).count();
        assert_eq!(lines, 2 * Work::ALL.len(), "{text}");
    }
}

#[test]
fn every_engine_refuses_a_key_that_is_there_and_has_none_that_is_not() {
    for engine in registry() {
        let directory = tempfile::tempdir().unwrap();
        let index = (engine.open)(directory.path()).unwrap();
        let mut session = index.session().unwrap();
        let keys = [[0; 16], [7; 16], [0xff; 16]];
        let entries = keys.map(|key| (key, value(&key)));
        session.insert(&entries).unwrap();
        assert!(session.insert(&entries[1..2]).is_err(), "{}", engine.name);
        let mut found = Vec::new();
        let asked = [keys[2], [8; 16], keys[0]];
        let get = session.get(&asked, &mut |key, value| {
            found.push((*key, value.map(<[u8]>::to_vec)));
            Ok(())
        });
        get.unwrap();
        let expected = [
            (keys[2], Some(value(&keys[2]).to_vec())),
            ([8; 16], None),
            (keys[0], Some(value(&keys[0]).to_vec())),
        ];
        assert_eq!(found, expected, "{}", engine.name);
        let mut scanned = Vec::new();
        let scan = session.scan(&[1; 16], 5, &mut |key, _| {
            scanned.push(key.to_vec());
            Ok(())
        });
        scan.unwrap();
        assert_eq!(scanned, [[7; 16], [0xff; 16]], "{}", engine.name);
    }
}

/// The fault of an index in memory.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    LosesTheLast,
    TearsValues,
    ScansFromElsewhere,
}

/// An index in memory that outlives being closed, and has one fault.
struct Faulty(Fault);

static ENTRIES: Mutex<BTreeMap<Key, Vec<u8>>> = Mutex::new(BTreeMap::new());
static FAULT: Mutex<Fault> = Mutex::new(Fault::LosesTheLast);

impl Product for Faulty {
    fn name() -> &'static str {
        "Faulty"
    }

    fn settings() -> &'static str {
        "in memory"
    }
}

impl Index for Faulty {
    fn open(_: &Path) -> Result<Self, Failure> {
        Ok(Faulty(*FAULT.lock().unwrap()))
    }

    fn session(&self) -> Result<Box<dyn Session + '_>, Failure> {
        Ok(Box::new(FaultySession(self.0)))
    }
}

struct FaultySession(Fault);

impl Session for FaultySession {
    fn insert(&mut self, entries: &[Entry]) -> Result<(), Failure> {
        let mut all = ENTRIES.lock().unwrap();
        for (key, value) in entries {
            let mut value = value.to_vec();
            if self.0 == Fault::TearsValues {
                value[60..].fill(0);
            }
            all.insert(*key, value);
        }
        if self.0 == Fault::LosesTheLast && entries.len() == 1 {
            all.remove(&entries[0].0);
        }
        Ok(())
    }

    fn get(&mut self, keys: &[Key], found: &mut OnValue<'_>) -> Result<(), Failure> {
        let all = ENTRIES.lock().unwrap();
        keys.iter()
            .try_for_each(|key| found(key, all.get(key).map(|value| &value[..])))
    }

    fn scan(&mut self, from: &Key, limit: usize, found: &mut OnEntry<'_>) -> Result<(), Failure> {
        let all = ENTRIES.lock().unwrap();
        let skipped = usize::from(self.0 == Fault::ScansFromElsewhere);
        let mut entries = all.range(*from..).skip(skipped).take(limit);
        entries.try_for_each(|(key, value)| found(key, value))
    }
}

#[test]
fn an_engine_that_loses_tears_or_misses_an_entry_has_no_figure() {
    let insert = Work::Insert {
        order: Order::Random,
        batch: 1,
    };
    for (fault, work, expected) in [
        (Fault::LosesTheLast, insert, "the number of entries is 2500"),
        (Fault::TearsValues, insert, "the value of key"),
        (
            Fault::TearsValues,
            Work::Get { batch: 1 },
            "the value of key",
        ),
        (Fault::ScansFromElsewhere, Work::Scan, "a scan from"),
    ] {
        *FAULT.lock().unwrap() = fault;
        ENTRIES.lock().unwrap().clear();
        let directory = tempfile::tempdir().unwrap();
        let options = Options {
            works: vec![work],
            ..options(directory.path(), vec![Engine::of::<Faulty>()])
        };
        let error = run(&options, |_| {}).unwrap_err();
        let error: &dyn std::error::Error = &error;
        let mut text = error.to_string();
        if let Some(source) = error.source() {
            text += &source.to_string();
        }
        assert!(text.contains(expected), "{text}");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}

#[test]
fn nothing_to_do_is_refused_and_keys_are_what_the_seed_says() {
    let directory = tempfile::tempdir().unwrap();
    let nothing = options(directory.path(), Vec::new());
    assert!(matches!(
        run(&nothing, |_| {}),
        Err(ExperimentError::Nothing)
    ));
    assert_eq!(key(1, Order::Random, 5), key(1, Order::Random, 5));
    assert_ne!(key(1, Order::Random, 5), key(2, Order::Random, 5));
}
