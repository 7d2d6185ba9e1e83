//! Simulating points: what is needed is prepared, replications run on all cores until the interval is
//! narrow enough, equal points are simulated once.

use crate::load::Load;
use crate::model;
use crate::outcome::Outcome;
use crate::parameters::Parameters;
use crate::parameters::read::ParameterError;
use crate::replicate::{Plan, replicate};
use sardonyx_workload::debit_credit_pages::PageScaleError;
use std::sync::Arc;

/// Why something cannot be simulated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimulationError {
    /// Parameters that are not possible.
    #[error(transparent)]
    Parameters(#[from] ParameterError),
    /// A debit-credit database that is not possible.
    #[error("the debit-credit database is not possible")]
    Scale(#[from] PageScaleError),
}
