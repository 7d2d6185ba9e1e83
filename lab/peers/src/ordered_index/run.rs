//! The comparison: every load, every engine, every number of threads, each in a new index.

use super::engine::{Engine, Index};
use super::entry::{Key, Order, key, value};
use super::work::{Outcome, Task, Work, entry};
use sardonyx_benchmark::floor::Face;
use sardonyx_benchmark::place::Place;
use sardonyx_benchmark::responses::{Responses, Summary};
use sardonyx_lab::{ExperimentError, Failure, Report};
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The number of entries that share a transaction while an index is filled, or read whole.
const LOAD_BATCH: u64 = 1_000;

/// The plan of a run.
#[derive(Clone)]
pub struct Options {
    /// The engines, in the order in which they run.
    pub engines: Vec<Engine>,
    /// The loads, in the order in which they run.
    pub works: Vec<Work>,
    /// Numbers of threads: one cell each.
    pub threads: Vec<usize>,
    /// The time of a cell; each thread runs at least one transaction.
    pub time: Duration,
    /// If given, a cell ends after so many transactions of each thread instead.
    pub transactions: Option<u64>,
    /// The number of initial entries of the index; at least one.
    pub preload: u64,
    /// The state of the disk during the whole run.
    pub face: Face,
    /// The directory for the indexes (one after the other, each removed after its cell).
    pub directory: PathBuf,
    /// The seed of keys.
    pub seed: u64,
}

/// All figures of one run.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Figures {
    /// The number of initial entries of the index.
    pub preload: u64,
    /// The engines and their settings.
    pub settings: Vec<(&'static str, &'static str)>,
    /// The loads, in order.
    pub works: Vec<WorkReport>,
}

/// The figures of a load.
#[derive(Clone, Debug, serde::Serialize)]
pub struct WorkReport {
    /// The load.
    pub work: Work,
    /// The engines, in order.
    pub engines: Vec<EngineReport>,
}

/// The figures of an engine under a load.
#[derive(Clone, Debug, serde::Serialize)]
pub struct EngineReport {
    pub name: &'static str,
    /// One for each number of threads, in order.
    pub cells: Vec<Cell>,
}

/// The figures of an engine under a load with one number of threads.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Cell {
    pub threads: usize,
    /// The number of transactions that they ran, in all.
    pub transactions: u64,
    /// Entries inserted or got in a second, by the clock of the slowest thread.
    pub entries_per_second: f64,
    /// Response times of transactions.
    pub responses: Summary,
}

/// Runs all cells and calls `progress` with each step that begins.
///
/// # Errors
/// [`ExperimentError`] at the first engine that fails, or that does not hold the acknowledged entries; its directory is
/// removed then, too.
pub fn run(
    options: &Options,
    mut progress: impl FnMut(&str),
) -> Result<Report<Figures>, ExperimentError> {
    let nothing = options.engines.is_empty()
        || options.works.is_empty()
        || options.threads.is_empty()
        || options.threads.contains(&0)
        || options.preload == 0
        || options.transactions == Some(0);
    if nothing {
        return Err(ExperimentError::Nothing);
    }
    progress("bare durable writes");
    Report::measured(options.face, Some(&options.directory), || {
        let mut works = Vec::with_capacity(options.works.len());
        for &work in &options.works {
            let mut engines = Vec::with_capacity(options.engines.len());
            for engine in &options.engines {
                let mut cells = Vec::with_capacity(options.threads.len());
                for &threads in &options.threads {
                    let (work_name, name) = (work.name(), engine.name);
                    progress(&format!("{work_name}: {name}, {threads} threads"));
                    cells.push(run_cell(engine, work, threads, options)?);
                }
                engines.push(EngineReport {
                    name: engine.name,
                    cells,
                });
            }
            works.push(WorkReport { work, engines });
        }
        let settings = options.engines.iter();
        Ok(Figures {
            preload: options.preload,
            settings: settings
                .map(|engine| (engine.name, engine.settings))
                .collect(),
            works,
        })
    })
}

fn run_cell(
    engine: &Engine,
    work: Work,
    threads: usize,
    options: &Options,
) -> Result<Cell, ExperimentError> {
    let in_directory = |source| ExperimentError::Directory {
        engine: engine.name,
        source,
    };
    let directory =
        Place::temporary(&options.directory, "sardonyx-index-").map_err(in_directory)?;
    let failed = |operation| {
        move |source| ExperimentError::Engine {
            engine: engine.name,
            operation,
            source,
        }
    };
    let index = (engine.open)(directory.path()).map_err(failed("open the index"))?;
    let (order, preload) = (work.order(), options.preload);
    load(&*index, options, order).map_err(failed("fill the index"))?;
    let next = AtomicU64::new(preload);
    let task = Task {
        work,
        seed: options.seed,
        preload,
        next: &next,
        time: options.time,
        transactions: options.transactions,
    };
    let outcomes = run_threads(&*index, &task, threads);
    let outcomes = outcomes.map_err(failed("run the transactions"))?;
    drop(index);
    if matches!(work, Work::Insert { .. }) {
        let count = next.load(Ordering::Relaxed);
        check(engine, directory.path(), options.seed, order, count)?;
    }
    directory.close().map_err(in_directory)?;
    Ok(cell(work, threads, &outcomes))
}

fn load(index: &dyn Index, options: &Options, order: Order) -> Result<(), Failure> {
    let mut session = index.session()?;
    let mut numbers = 0..options.preload;
    loop {
        let numbers = numbers.by_ref().take(LOAD_BATCH as usize);
        let entries: Vec<_> = numbers
            .map(|number| entry(options.seed, order, number))
            .collect();
        if entries.is_empty() {
            return Ok(());
        }
        session.insert(&entries)?;
    }
}

fn run_threads(
    index: &dyn Index,
    task: &Task<'_>,
    threads: usize,
) -> Result<Vec<Outcome>, Failure> {
    let barrier = &Barrier::new(threads);
    std::thread::scope(|scope| {
        let start = |thread| {
            scope.spawn(move || {
                let session = index.session();
                // All wait, also one without a session; otherwise the others would wait for ever.
                barrier.wait();
                task.run(thread as u64, session?.as_mut())
            })
        };
        let handles: Vec<_> = (0..threads).map(start).collect();
        let join = |handle: std::thread::ScopedJoinHandle<'_, _>| {
            let joined = handle.join();
            joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        handles.into_iter().map(join).collect()
    })
}

/// Opens the index again, reads it whole, and compares it with all acknowledged entries.
fn check(
    engine: &Engine,
    directory: &Path,
    seed: u64,
    order: Order,
    count: u64,
) -> Result<(), ExperimentError> {
    let failed = |source| ExperimentError::Engine {
        engine: engine.name,
        operation: "check the index",
        source,
    };
    let found = read_whole(engine, directory).map_err(failed)?;
    let mut expected: Vec<Key> = (0..count).map(|number| key(seed, order, number)).collect();
    expected.sort_unstable();
    let wrong = |what: String, expected: String, found: String| ExperimentError::WrongTree {
        engine: engine.name,
        what,
        expected,
        found,
    };
    if found.len() != expected.len() {
        let (expected, found) = (expected.len().to_string(), found.len().to_string());
        return Err(wrong("number of entries".into(), expected, found));
    }
    let mut both = expected.iter().zip(&found).enumerate();
    match both.find(|(_, (expected, (key, _)))| *expected != key) {
        Some((place, (expected, (key, _)))) => Err(wrong(
            format!("key in place {place}"),
            format!("{expected:02x?}"),
            format!("{key:02x?}"),
        )),
        None => match found.iter().find(|(_, right)| !right) {
            Some((key, _)) => Err(wrong(
                format!("value of key {key:02x?}"),
                "the one inserted".into(),
                "another".into(),
            )),
            None => Ok(()),
        },
    }
}

/// All keys in the order of the index, each with true if its value is correct.
fn read_whole(engine: &Engine, directory: &Path) -> Result<Vec<(Key, bool)>, Failure> {
    let index = (engine.open)(directory)?;
    let mut session = index.session()?;
    let mut all: Vec<(Key, bool)> = Vec::new();
    let mut from = Key::default();
    loop {
        let before = all.len();
        session.scan(&from, LOAD_BATCH as usize, &mut |key, found| {
            all.push((key.try_into()?, found == value(key)));
            Ok(())
        })?;
        match all.last() {
            Some((last, _)) if all.len() > before => {
                from = (u128::from_be_bytes(*last) + 1).to_be_bytes();
            }
            _ => return Ok(all),
        }
    }
}

fn cell(work: Work, threads: usize, outcomes: &[Outcome]) -> Cell {
    let mut responses = Responses::new();
    for outcome in outcomes {
        responses.merge(&outcome.responses);
    }
    let slowest = outcomes.iter().map(|outcome| outcome.elapsed).max();
    let entries = responses.count() * work.entries();
    Cell {
        threads,
        transactions: responses.count(),
        entries_per_second: entries as f64 / slowest.unwrap_or_default().as_secs_f64(),
        responses: responses.summary().expect("every thread runs at least one"),
    }
}
