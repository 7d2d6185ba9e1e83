//! The comparison: every store, every workload, every size of batches, each for a fixed time.
//!
//! A cell is a closed loop with one client that hands over a batch and waits: the response time of an operation is that
//! of its batch. Drawing the operations is not counted. The workloads of a store run on one database, one after the
//! other; at the end it is closed and opened again, and all rows are counted.

use super::operations::{Operation, key_of};
use super::store::{Engine, Seen, Store};
use super::workload::{Operations, Workload};
use crate::experiment::Report;
use crate::floor::Face;
use crate::place::Place;
use crate::responses::{Responses, Summary};
use crate::{ExperimentError, Failure};
use serde::Serialize;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Rows that one request reads when all are counted.
const COUNTED_TOGETHER: u64 = 1_000;

/// The plan of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The stores, in the order in which they run.
    pub engines: Vec<Engine>,
    /// The workloads, in order.
    pub workloads: Vec<Workload>,
    /// Rows that are loaded.
    pub rows: u64,
    /// Fields of a row: 1 or 10.
    pub fields: u8,
    /// Operations in a batch: one cell each.
    pub batches: Vec<usize>,
    /// The time of a cell, not counting the drawing; at least one batch is run.
    pub time: Duration,
    /// The state of the disk during the whole run.
    pub face: Face,
    /// The directory of the stores, one after the other; each is removed after its cells.
    pub directory: PathBuf,
    /// The seed of the operations.
    pub seed: u64,
}

/// All figures of one run.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// Rows that were loaded.
    pub rows: u64,
    /// Fields of a row, of 100 bytes.
    pub fields: u8,
    /// The stores, in order.
    pub stores: Vec<StoreFigures>,
}

#[derive(Clone, Debug, Serialize)]
pub struct StoreFigures {
    pub name: &'static str,
    pub settings: &'static str,
    /// The time of loading, in seconds.
    pub load_seconds: f64,
    /// The time of opening after the cells, in seconds.
    pub open_seconds: f64,
    /// A cell for each workload and size of batches, in order.
    pub cells: Vec<Cell>,
}

/// The figures of one store for one workload and size of batches.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Cell {
    pub workload: Workload,
    /// Operations in a batch.
    pub batch: usize,
    pub operations_per_second: f64,
    /// Rows read a second.
    pub rows_per_second: f64,
    /// Response times.
    pub responses: Summary,
}

/// Runs all cells, and calls `progress` with each step that begins.
///
/// # Errors
/// [`ExperimentError`] at the first store that fails, or that lacks expected rows. The stores are removed then, too.
pub fn run(
    plan: &Plan,
    mut progress: impl FnMut(&str),
) -> Result<Report<Figures>, ExperimentError> {
    let nothing = plan.engines.is_empty() || plan.workloads.is_empty() || plan.rows == 0;
    if nothing || plan.batches.is_empty() || plan.batches.contains(&0) {
        return Err(ExperimentError::Nothing);
    }
    progress("bare durable writes");
    Report::measured(plan.face, Some(&plan.directory), || {
        measure(plan, &mut progress)
    })
}

/// Runs all cells in the disk's present state.
///
/// # Errors
/// As [`run`].
pub fn measure(plan: &Plan, progress: &mut impl FnMut(&str)) -> Result<Figures, ExperimentError> {
    let stores = plan.engines.iter();
    Ok(Figures {
        rows: plan.rows,
        fields: plan.fields,
        stores: stores
            .map(|engine| run_store(plan, engine, progress))
            .collect::<Result<_, ExperimentError>>()?,
    })
}

fn run_store(
    plan: &Plan,
    engine: &Engine,
    progress: &mut impl FnMut(&str),
) -> Result<StoreFigures, ExperimentError> {
    let place =
        Place::temporary(&plan.directory, "sardonyx-ycsb-").map_err(engine.in_directory())?;
    let open = || (engine.open)(place.path(), plan.fields).map_err(engine.failed("open the store"));
    progress(&format!("{}: loading", engine.name));
    let started = Instant::now();
    let mut store = open()?;
    let mut keys = (0..plan.rows).map(key_of);
    store
        .load(&mut keys)
        .map_err(engine.failed("load the rows"))?;
    let load_seconds = started.elapsed().as_secs_f64();
    let mut cells = Vec::new();
    let mut rows = plan.rows;
    for &workload in &plan.workloads {
        for &batch in &plan.batches {
            progress(&format!("{}: {} by {batch}", engine.name, workload.name()));
            // Different ones in each cell: for some engines it is no work to write the same value again.
            let seed = plan.seed.wrapping_add(cells.len() as u64);
            let mut operations = Operations::new(workload, rows, plan.fields, seed);
            let cell = run_cell(&mut *store, &mut operations, (workload, batch), plan.time);
            cells.push(cell.map_err(engine.failed("run operations"))?);
            rows = operations.rows();
        }
    }
    drop(store);
    progress(&format!("{}: opening again", engine.name));
    let started = Instant::now();
    let mut store = open()?;
    let open_seconds = started.elapsed().as_secs_f64();
    let found = count(&mut *store, rows).map_err(engine.failed("read all rows"))?;
    if found != rows {
        return Err(engine.wrong("number of rows", rows, found));
    }
    drop(store);
    place.close().map_err(engine.in_directory())?;
    Ok(StoreFigures {
        name: engine.name,
        settings: engine.settings,
        load_seconds,
        open_seconds,
        cells,
    })
}

fn run_cell(
    store: &mut dyn Store,
    operations: &mut Operations,
    (workload, batch): (Workload, usize),
    time: Duration,
) -> Result<Cell, Failure> {
    let mut responses = Responses::new();
    let mut seen = Seen::default();
    let mut drawn: Vec<Operation> = Vec::with_capacity(batch);
    let mut busy = Duration::ZERO;
    while responses.count() == 0 || busy < time {
        drawn.clear();
        drawn.extend((0..batch).map(|_| operations.operation()));
        let started = Instant::now();
        let saw = store.run(&drawn)?;
        let took = started.elapsed();
        check(&drawn, &saw)?;
        seen.and(saw);
        busy += took;
        responses.record_n(took, batch as u64);
    }
    let seconds = busy.as_secs_f64();
    Ok(Cell {
        workload,
        batch,
        operations_per_second: responses.count() as f64 / seconds,
        rows_per_second: seen.rows as f64 / seconds,
        responses: responses.summary().expect("a batch was recorded"),
    })
}

/// Checks that the expected number of rows was read: a scan may reach the end.
fn check(operations: &[Operation], seen: &Seen) -> Result<(), Failure> {
    let (mut least, mut most) = (0, 0);
    for operation in operations {
        let (few, many) = match operation {
            Operation::Read(_) | Operation::ReadModifyWrite(..) => (1, 1),
            Operation::Scan(_, count) => (1, u64::from(*count)),
            Operation::Update(..) | Operation::Insert(_) => (0, 0),
        };
        least += few;
        most += many;
    }
    match (least..=most).contains(&seen.rows) {
        true => Ok(()),
        false => Err(format!("{} rows were seen, not {least} to {most}", seen.rows).into()),
    }
}

/// Reads all rows, by key.
fn count(store: &mut dyn Store, rows: u64) -> Result<u64, Failure> {
    let mut found = 0;
    for first in (0..rows).step_by(COUNTED_TOGETHER as usize) {
        let numbers = first..rows.min(first + COUNTED_TOGETHER);
        let reads: Vec<_> = numbers
            .map(|number| Operation::Read(key_of(number)))
            .collect();
        found += store.run(&reads)?.rows;
    }
    Ok(found)
}
