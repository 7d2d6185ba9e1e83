//! The exit codes of this crate's errors.

use crate::BenchmarkError;
use crate::debit_credit::requests::DebitCreditError;
use crate::floor::FloorError;
use sardonyx_command::exit::Exit;

/// The exit code of an error of the benchmark.
pub fn of(cause: &(dyn std::error::Error + 'static)) -> Option<Exit> {
    if cause.is::<DebitCreditError>() {
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
    None
}
