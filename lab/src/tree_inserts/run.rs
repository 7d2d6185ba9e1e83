//! The comparison: every engine, every number of workers, each in a new tree, checked afterwards.

use std::path::{Path, PathBuf};
use std::sync::Barrier;

use crate::experiment::Report;
use crate::floor::Face;
use crate::place::Place;
use crate::responses::{Responses, Summary};

use super::engine::{Session, Sharing, TreeEngine, TreePeer, key, value};
use super::worker::{Budget, Outcome, Task, work};
use crate::crew::{self, Program};
use crate::error::{ExperimentError, Failure};

/// The approximate number of entries of each stream of keys that are read back.
const SAMPLE: u64 = 256;

/// A stream of keys that no worker inserts.
const ABSENT_STREAM: u64 = 1 << 20;

/// The kind of concurrent workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Workers {
    /// Threads of the process that measures.
    Threads,
    /// Processes of one thread each.
    Processes,
}

impl std::fmt::Display for Workers {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Workers::Threads => "threads",
            Workers::Processes => "processes",
        })
    }
}

/// The plan of a run.
#[derive(Clone)]
pub struct Plan {
    /// The engines, in the order in which they run.
    pub engines: Vec<TreeEngine>,
    /// Threads or processes.
    pub workers: Workers,
    /// The numbers of workers: one cell each.
    pub worker_counts: Vec<u64>,
    /// The length of a cell.
    pub budget: Budget,
    /// The number of entries in the tree before the clock runs.
    pub preload: u64,
    pub value_bytes: usize,
    /// The state of the disk during the whole run.
    pub face: Face,
    /// The directory for the trees (one after the other, each removed after its cell).
    pub directory: PathBuf,
    /// The seed of keys and values.
    pub seed: u64,
    /// The program of a worker's process: it calls [`super::serve`].
    pub program: Program,
}

/// All figures of one run.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Figures {
    /// Threads or processes.
    pub workers: Workers,
    /// The number of entries in the tree before.
    pub preload: u64,
    pub value_bytes: usize,
    /// The engines, in order.
    pub engines: Vec<TreeReport>,
}

/// The figures of one engine.
#[derive(Clone, Debug, serde::Serialize)]
pub struct TreeReport {
    pub name: &'static str,
    pub settings: &'static str,
    /// One cell for each number of workers that the engine allows, in order.
    pub cells: Vec<Cell>,
}

/// The figures of one engine with one number of workers.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Cell {
    /// The number of concurrent threads or processes.
    pub workers: u64,
    /// The number of entries that they inserted.
    pub inserts: u64,
    /// Durable inserts a second, all together, by the clock of the slowest.
    pub inserts_per_second: f64,
    /// Response times.
    pub responses: Summary,
}

/// Runs all cells and calls `progress` with each step that begins.
///
/// # Errors
/// [`ExperimentError`] at the first engine that fails, or that does not hold the acknowledged entries; the trees are
/// removed then, too.
pub fn run(
    plan: &Plan,
    mut progress: impl FnMut(&str),
) -> Result<Report<Figures>, ExperimentError> {
    let nothing = plan.engines.is_empty()
        || plan.worker_counts.is_empty()
        || plan.worker_counts.contains(&0)
        || matches!(plan.budget, Budget::Inserts(all)
            if plan.worker_counts.iter().any(|&workers| all < workers));
    if nothing {
        return Err(ExperimentError::Nothing);
    }
    progress("bare durable writes");
    Report::measured(plan.face, Some(&plan.directory), || {
        let mut engines = Vec::with_capacity(plan.engines.len());
        for engine in &plan.engines {
            let mut cells = Vec::with_capacity(plan.worker_counts.len());
            for &workers in &plan.worker_counts {
                if plan.workers == Workers::Threads || engine.processes || workers == 1 {
                    progress(&format!("{}: {workers} {}", engine.name, plan.workers));
                    cells.push(run_cell(engine, workers, plan)?);
                }
            }
            engines.push(TreeReport {
                name: engine.name,
                settings: engine.settings,
                cells,
            });
        }
        Ok(Figures {
            workers: plan.workers,
            preload: plan.preload,
            value_bytes: plan.value_bytes,
            engines,
        })
    })
}

fn run_cell(engine: &TreeEngine, workers: u64, plan: &Plan) -> Result<Cell, ExperimentError> {
    let in_directory = |source| ExperimentError::Directory {
        engine: engine.name,
        source,
    };
    let directory = Place::temporary(&plan.directory, "sardonyx-tree-").map_err(in_directory)?;
    let path = directory.path();
    // An engine of one process has its only worker here.
    let by_processes = plan.workers == Workers::Processes && engine.processes;
    let sharing = match workers {
        _ if by_processes => Sharing::Processes,
        1 => Sharing::Alone,
        _ => Sharing::Threads,
    };
    let tasks: Vec<_> = (0..workers)
        .map(|worker| Task {
            engine: engine.name.into(),
            directory: path.to_path_buf(),
            value_bytes: plan.value_bytes,
            seed: plan.seed,
            stream: worker + 1,
            budget: plan.budget.share(worker, workers),
        })
        .collect();
    let tree = (engine.open)(path, sharing).map_err(|source| failed(engine, OPEN, source))?;
    load(tree.as_ref(), plan).map_err(|source| failed(engine, "fill the tree", source))?;
    let outcomes = if by_processes {
        crew::run_together(
            &plan.program,
            &format!("inserting into {}", engine.name),
            &tasks,
        )?
    } else {
        run_threads(tree.as_ref(), &tasks).map_err(|source| failed(engine, "insert", source))?
    };
    drop(tree);
    check(engine, path, &outcomes, plan)?;
    directory.close().map_err(in_directory)?;
    Ok(cell(workers, &outcomes))
}

const OPEN: &str = "open the tree";

fn load(tree: &dyn TreePeer, plan: &Plan) -> Result<(), Failure> {
    let mut keys = (0..plan.preload).map(|index| key(plan.seed, 0, index));
    tree.session()?.load(&mut keys, plan.value_bytes)
}

fn run_threads(tree: &dyn TreePeer, tasks: &[Task]) -> Result<Vec<Outcome>, Failure> {
    let barrier = Barrier::new(tasks.len());
    let barrier = &barrier;
    std::thread::scope(|scope| {
        let threads: Vec<_> = tasks
            .iter()
            .map(|task| {
                scope.spawn(move || {
                    let session = tree.session();
                    // All wait, also one without a session; otherwise the others would wait for ever.
                    barrier.wait();
                    work(task, session?.as_mut())
                })
            })
            .collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).collect()
    })
}

/// Opens the tree again and compares it with all acknowledged entries.
fn check(
    engine: &TreeEngine,
    directory: &Path,
    outcomes: &[Outcome],
    plan: &Plan,
) -> Result<(), ExperimentError> {
    let failed = |source| failed(engine, "check the tree", source);
    let tree = (engine.open)(directory, Sharing::Alone).map_err(failed)?;
    let mut session = tree.session().map_err(failed)?;
    let inserts: usize = outcomes
        .iter()
        .map(|outcome| outcome.nanoseconds.len())
        .sum();
    let expected = plan.preload + inserts as u64;
    let found = session.count().map_err(failed)?;
    if found != expected {
        return Err(wrong(engine, "number of entries".into(), &expected, &found));
    }
    let streams = outcomes
        .iter()
        .map(|outcome| (outcome.stream, outcome.nanoseconds.len() as u64));
    for (stream, count) in streams.chain([(0, plan.preload)]) {
        for index in sample(count) {
            let key = key(plan.seed, stream, index);
            let expected = Some(value(key, plan.value_bytes));
            compare(engine, session.as_mut(), key, expected)?;
        }
    }
    compare(
        engine,
        session.as_mut(),
        key(plan.seed, ABSENT_STREAM, 0),
        None,
    )
}

/// Evenly spread, with the last one: a crash would lose that first.
fn sample(count: u64) -> impl Iterator<Item = u64> {
    let step = (count / SAMPLE).max(1);
    (0..count).rev().step_by(step as usize)
}

fn compare(
    engine: &TreeEngine,
    session: &mut dyn Session,
    key: u64,
    expected: Option<Vec<u8>>,
) -> Result<(), ExperimentError> {
    // Room for more than expected.
    let room = expected.as_ref().map_or(0, Vec::len) + 8;
    let found = session
        .get(key, room)
        .map_err(|source| failed(engine, "check the tree", source))?;
    if found == expected {
        return Ok(());
    }
    let what = format!("value of key {key:#018x}");
    let [expected, found] = [expected, found].map(|value| match value {
        Some(value) => format!(
            "{} bytes {:02x?}",
            value.len(),
            &value[..value.len().min(16)]
        ),
        None => "none".into(),
    });
    Err(wrong(engine, what, &expected, &found))
}

fn cell(workers: u64, outcomes: &[Outcome]) -> Cell {
    let mut responses = Responses::new();
    for &nanoseconds in outcomes.iter().flat_map(|outcome| &outcome.nanoseconds) {
        responses.record_n(std::time::Duration::from_nanos(nanoseconds), 1);
    }
    let slowest = outcomes
        .iter()
        .map(|outcome| outcome.elapsed_seconds)
        .fold(0.0, f64::max);
    Cell {
        workers,
        inserts: responses.count(),
        inserts_per_second: responses.count() as f64 / slowest,
        responses: responses
            .summary()
            .expect("every worker inserts at least once"),
    }
}

fn failed(engine: &TreeEngine, operation: &'static str, source: Failure) -> ExperimentError {
    ExperimentError::Engine {
        engine: engine.name,
        operation,
        source,
    }
}

fn wrong(
    engine: &TreeEngine,
    what: String,
    expected: &dyn std::fmt::Display,
    found: &dyn std::fmt::Display,
) -> ExperimentError {
    ExperimentError::WrongTree {
        engine: engine.name,
        what,
        expected: expected.to_string(),
        found: found.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_the_last_entry_and_all_of_a_few() {
        assert_eq!(sample(3).collect::<Vec<_>>(), [2, 1, 0]);
        assert_eq!(sample(0).count(), 0);
        let many: Vec<_> = sample(100_000).collect();
        assert_eq!(many[0], 99_999);
        assert!((256..=258).contains(&many.len()), "{}", many.len());
    }
}
