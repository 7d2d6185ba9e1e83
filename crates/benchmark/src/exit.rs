//! The exit codes of this crate's errors.

use crate::BenchmarkError;
use crate::debit_credit::requests::DebitCreditError;
use crate::floor::FloorError;
use sardonyx_command::exit::{Exit, of_log, of_manifest, of_open, of_recovery};
use sardonyx_standby::{StandbyError, TokenError};

/// The exit code of an error of the benchmark, or of the standby that it may start.
pub fn of(cause: &(dyn std::error::Error + 'static)) -> Option<Exit> {
    if cause.is::<DebitCreditError>() || cause.is::<TokenError>() {
        return Some(Exit::Usage);
    }
    if let Some(FloorError::Scale(_)) = cause.downcast_ref() {
        return Some(Exit::Usage);
    }
    if let Some(error) = cause.downcast_ref::<BenchmarkError>() {
        return Some(match error {
            BenchmarkError::Usage(_) | BenchmarkError::Exists { .. } => Exit::Usage,
            _ => Exit::Failed,
        });
    }
    cause.downcast_ref::<StandbyError>().map(of_standby)
}

fn of_standby(error: &StandbyError) -> Exit {
    match error {
        StandbyError::Open(error) => of_open(error),
        StandbyError::Log(error) => of_log(error),
        StandbyError::Manifest(error) => of_manifest(error),
        StandbyError::Recovery(error) => of_recovery(error),
        _ => Exit::Failed,
    }
}
