//! Simulating points: the load is prepared, replications run on all cores until the interval is narrow enough, equal
//! points are simulated once.

use crate::load::{Library, Load, LoadError};
use crate::measurement::Measurement;
use crate::model;
use crate::outcome::Outcome;
use crate::parameters::Parameters;
use crate::parameters::read::ParameterError;
pub use crate::replicate::Progress;
use crate::replicate::{Plan, replicate};
use std::ops::Range;
use std::sync::Arc;

/// The options of simulating points.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Threads; 0: as many as there are processors.
    pub threads: usize,
}

/// The reason why something cannot be simulated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimulationError {
    /// Parameters that are not possible.
    #[error(transparent)]
    Parameters(#[from] ParameterError),
    /// A load that is not possible.
    #[error(transparent)]
    Load(#[from] LoadError),
}

/// Simulates every point until the 95% interval of its mean response time is as narrow as the point's
/// parameters ask for. Equal points are simulated once. The result depends on the points alone, not on
/// threads or time (I11).
///
/// # Errors
/// [`SimulationError`] if a point is not possible; then none is simulated.
pub fn run(
    points: &[Parameters],
    options: &Options,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Vec<Outcome>, SimulationError> {
    let mut different: Vec<(Parameters, Arc<Load>)> = Vec::new();
    let mut library = Library::default();
    let mut places = Vec::with_capacity(points.len());
    for point in points {
        let known = different.iter().position(|(known, _)| known == point);
        places.push(known.unwrap_or(different.len()));
        if known.is_none() {
            different.push((point.clone(), Arc::new(library.load(point)?)));
        }
    }
    let mut outcomes: Vec<Option<Outcome>> = vec![None; different.len()];
    for (plan, members) in plans(&different, options) {
        let group: Vec<_> = members.iter().map(|&at| &different[at]).collect();
        let runs = replicate(
            &group,
            &plan,
            |(parameters, load), replication| model::run(parameters, load, replication),
            // A saturated system's response time depends on how long it is watched, so that more
            // replications would not narrow it.
            |measurement| match measurement.saturated {
                true => 0.0,
                false => measurement.response.normalised,
            },
            progress,
        );
        for (&at, replications) in members.iter().zip(runs) {
            outcomes[at] = Some(Outcome::new(different[at].0.clone(), replications));
        }
    }
    let outcome = |place: usize| outcomes[place].clone().expect("every point is in one plan");
    Ok(places.into_iter().map(outcome).collect())
}

/// Some replications of one point, by their numbers, at any precision: a part of [`run`], for many machines that share
/// the work. A replication is the same on any machine.
///
/// # Errors
/// [`SimulationError`] if the point is not possible.
pub fn replications(
    point: &Parameters,
    numbers: Range<u32>,
    options: &Options,
) -> Result<Vec<Measurement>, SimulationError> {
    let load = Arc::new(Load::new(point)?);
    let numbers: Vec<u32> = numbers.collect();
    let once = Plan {
        precision: 0.0,
        least: 1,
        most: 1,
        threads: options.threads,
    };
    let one = |&number: &u32, _| model::run(point, &load, number);
    let runs = replicate(&numbers, &once, one, |_| 0.0, |_| {});
    Ok(runs.into_iter().flatten().collect())
}

/// Points that are replicated alike, together.
fn plans(points: &[(Parameters, Arc<Load>)], options: &Options) -> Vec<(Plan, Vec<usize>)> {
    let mut plans: Vec<(Plan, Vec<usize>)> = Vec::new();
    for (at, (parameters, _)) in points.iter().enumerate() {
        let run = &parameters.run;
        let plan = Plan {
            precision: run.precision,
            least: run.least_replications,
            most: run.most_replications,
            threads: options.threads,
        };
        match plans.iter_mut().find(|(known, _)| *known == plan) {
            Some((_, members)) => members.push(at),
            None => plans.push((plan, vec![at])),
        }
    }
    plans
}
