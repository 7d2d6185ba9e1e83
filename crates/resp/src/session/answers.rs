//! The engine's outcomes as answers.

use crate::failure::Failure;
use crate::reply::Reply;
use sardonyx::{Error, ProcedureError};

/// The answer to a request that ran, or was refused.
pub(super) fn of_outcome(outcome: Option<Result<Reply, ProcedureError<Failure>>>) -> Reply {
    match outcome {
        Some(Ok(reply)) => reply,
        Some(Err(ProcedureError::Aborted(failure))) => Reply::Error(failure.to_string()),
        Some(Err(ProcedureError::Panicked(message))) => Reply::Error(format!(
            "ERR the command panicked and was undone: {message}"
        )),
        Some(Err(ProcedureError::NotRun(error))) => Reply::Error(format!("ERR not run: {error}")),
        Some(Err(_)) | None => Reply::Error("ERR not run".to_string()),
    }
}

/// The answer to a request of which nobody knows whether it is durable.
pub(super) fn of_unknown_fate(error: &Error) -> Reply {
    Reply::Error(format!("ERR {error}"))
}
