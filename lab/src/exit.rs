//! The exit codes of the errors of experiments, of the simulation and of traces.

use crate::ExperimentError;
use crate::complex_objects::workload::ComplexObjectError;
use sardonyx_command::exit::{Exit, of_open};
use sardonyx_mapped::SegmentError;
use sardonyx_simulation::experiment::SimulationError;
use sardonyx_simulation::figures::UnknownFigure;
use sardonyx_simulation::load::LoadError;
use sardonyx_simulation::parameters::read::ParameterError;
use sardonyx_simulation::search::SearchError;
use sardonyx_simulation::sweep::SweepError;
use sardonyx_workload::trace::{Fault, TraceError};

/// The exit code of such an error.
pub fn of(cause: &(dyn std::error::Error + 'static)) -> Option<Exit> {
    let is_usage = cause.is::<ComplexObjectError>()
        || cause.is::<ParameterError>()
        || cause.is::<SweepError>()
        || cause.is::<UnknownFigure>();
    if is_usage {
        return Some(Exit::Usage);
    }
    if let Some(error) = cause.downcast_ref::<SimulationError>() {
        return Some(match error {
            // As `trace` reports for the same file.
            SimulationError::Load(LoadError::Trace(error)) => of_trace(error),
            _ => Exit::Usage,
        });
    }
    if let Some(error) = cause.downcast_ref::<SearchError>() {
        return Some(match error {
            SearchError::Target { .. } => Exit::Usage,
            _ => Exit::Found,
        });
    }
    if let Some(error) = cause.downcast_ref::<TraceError>() {
        return Some(of_trace(error));
    }
    if let Some(error) = cause.downcast_ref::<ExperimentError>() {
        return of_experiment(error);
    }
    match cause.downcast_ref::<SegmentError>() {
        Some(SegmentError::Open(error)) => Some(of_open(error)),
        _ => None,
    }
}

fn of_experiment(error: &ExperimentError) -> Option<Exit> {
    Some(match error {
        ExperimentError::Argument { .. }
        | ExperimentError::Nothing
        | ExperimentError::Usage(_)
        | ExperimentError::ComplexObjects(_) => Exit::Usage,
        ExperimentError::Wrong { .. }
        | ExperimentError::WrongTree { .. }
        | ExperimentError::WrongSubobject { .. } => Exit::Found,
        ExperimentError::Segment(SegmentError::Open(error)) => of_open(error),
        // Transparent: the error within has its own code.
        ExperimentError::Benchmark(error) => return sardonyx_benchmark::exit::of(error),
        _ => Exit::Failed,
    })
}

fn of_trace(error: &TraceError) -> Exit {
    match error {
        TraceError::Wrong {
            fault: Fault::NoTrace,
            ..
        } => Exit::Usage,
        TraceError::Wrong { .. } => Exit::Found,
        _ => Exit::Failed,
    }
}
