//! A whole experiment: every point under every strategy, with the conditions of the run.

use super::victims::Handling;
use super::{ComplexObjects, Expected, Parameter, Row, Setting, Sweep, Until, database};
use crate::ExperimentError;
use crate::complex_objects::workload::{References, Scale};
use crate::experiment::Report;
use crate::floor::Face;
use sardonyx_multilevel::Strategy;
use std::path::{Path, PathBuf};

/// The most threads at once.
pub const THREADS_MAX: u32 = 1_000;

/// The plan of an experiment.
#[derive(Clone, Debug)]
pub struct Plan {
    /// A directory for the database, empty or absent.
    pub directory: PathBuf,
    /// The size of the database.
    pub scale: Scale,
    /// The options of the engine, except the strategy and the handling of deadlocks.
    pub setting: Setting,
    /// The handlings of deadlocks: each point is run with each.
    pub handlings: Vec<Handling>,
    /// The strategies under which each point is run, in turns.
    pub strategies: Vec<Strategy>,
    pub sweeps: Vec<Sweep>,
    /// The length of each run.
    pub until: Until,
    /// The state of the disk: a busy one has a thread of the lowest priority that keeps a core awake.
    pub face: Face,
}

/// All measures, and their conditions.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Figures {
    /// The size of the database.
    pub scale: Scale,
    /// Simulated processors.
    pub processors: usize,
    /// The time for which an access was to hold a processor, in microseconds.
    pub access_microseconds: f64,
    /// True if changes commuted at L1: beyond the DASDBS paper.
    pub semantic: bool,
    /// The logged part of a changed page: `after-images` or `byte-ranges`.
    pub page_log: &'static str,
    /// The seed of the transactions.
    pub seed: u64,
    /// The measures, in the order in which they were taken.
    pub rows: Vec<Row>,
    /// The number of values compared with the committed ones, after each run and after each reopening. A wrong one ends
    /// the experiment.
    pub values_verified: u64,
}

/// The progress of the experiment.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Runs done.
    pub done: u64,
    /// Runs in all.
    pub all: u64,
    /// The strategy of the current run.
    pub strategy: Strategy,
    /// The varied parameter, and its current value.
    pub at: (Parameter, u32),
    /// The handling of deadlocks.
    pub handling: Handling,
}

/// Makes the database, runs every point under every strategy, and reports the progress before each run. After each run
/// every value is compared with the committed one; then the database is closed, opened again, and compared once more.
///
/// # Errors
/// [`ExperimentError::Argument`] for numbers that are not possible, [`ExperimentError::Nothing`];
/// [`ExperimentError::WrongSubobject`] if a value is not the committed one; errors of the engine and the disk.
pub fn run(
    plan: &Plan,
    mut tell: impl FnMut(Progress),
) -> Result<Report<Figures>, ExperimentError> {
    check(plan)?;
    let setting = &plan.setting;
    let references = References::generate(plan.scale, setting.seed);
    let expected = Expected::new(plan.scale);
    let beside = plan.directory.parent();
    let beside = beside.filter(|parent| !parent.as_os_str().is_empty());
    let beside = beside.unwrap_or(Path::new("."));
    Report::measured(plan.face, Some(beside), || {
        ComplexObjects::make(&plan.directory, &references, setting)?.close()?;
        let points = plan.sweeps.iter().flat_map(|sweep| {
            let over = sweep.over;
            sweep
                .points()
                .map(move |(value, point)| (over, value, point))
        });
        let handled = points.flat_map(|at| plan.handlings.iter().map(move |&how| (at, how)));
        let runs: Vec<_> = handled
            .flat_map(|at| plan.strategies.iter().map(move |&strategy| (at, strategy)))
            .collect();
        let mut rows = Vec::with_capacity(runs.len());
        let mut values_verified = 0;
        for (done, &(((over, value, point), handling), strategy)) in runs.iter().enumerate() {
            tell(Progress {
                done: done as u64,
                all: runs.len() as u64,
                strategy,
                at: (over, value),
                handling,
            });
            let setting = &Setting {
                handling,
                ..setting.clone()
            };
            let objects = ComplexObjects::open(&plan.directory, &references, setting, strategy)?;
            // The transactions of the earlier runs are durable.
            values_verified += objects.verify(&expected)?;
            let found = objects.run(point, plan.until, &expected)?;
            let at = (over, value);
            rows.push(Row::new(strategy.name(), at, point, handling, &found));
            values_verified += objects.verify(&expected)?;
            objects.close()?;
        }
        let last =
            ComplexObjects::open(&plan.directory, &references, setting, Strategy::default())?;
        values_verified += last.verify(&expected)?;
        last.close()?;
        Ok(Figures {
            scale: plan.scale,
            processors: setting.processors,
            access_microseconds: setting.access_time.as_secs_f64() * 1e6,
            semantic: setting.semantic,
            page_log: database::page_log_name(setting.page_log),
            seed: setting.seed,
            rows,
            values_verified,
        })
    })
}

fn check(plan: &Plan) -> Result<(), ExperimentError> {
    let within = |what, given: u64, least: u64, most: u64| {
        if (least..=most).contains(&given) {
            return Ok(());
        }
        let limits = format!("choose {least} to {most}");
        Err(ExperimentError::Argument {
            what,
            given,
            limits,
        })
    };
    let processors = plan.setting.processors as u64;
    within("the number of processors", processors, 1, 10_000)?;
    let points = plan.sweeps.iter().flat_map(Sweep::points);
    let mut count = 0;
    for (_, point) in points {
        let dmp = point.multiprogramming.into();
        within("the degree of multiprogramming", dmp, 1, THREADS_MAX.into())?;
        point.mix.check(&plan.scale)?;
        count += 1;
    }
    if count == 0 || plan.strategies.is_empty() || plan.handlings.is_empty() {
        return Err(ExperimentError::Nothing);
    }
    let measured = match plan.until {
        Until::Transactions { measured, .. } => measured,
        Until::Time { measured, .. } => measured.as_nanos() as u64,
    };
    within("what is measured of a run", measured, 1, u64::MAX)
}
