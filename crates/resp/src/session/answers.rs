//! The engine's outcomes as answers.

use super::Continue;
use crate::failure::Failure;
use crate::reply::Reply;
use crate::request::Answer;
use sardonyx::Error;
use sardonyx::low_level::interruption;
use sardonyx::procedures::ProcedureError;
use sardonyx_base::waiting::Reason;

/// The answer to a request that ran, or was refused, or is postponed.
pub(super) fn of_outcome(outcome: Option<Result<Answer, ProcedureError<Failure>>>) -> Answer {
    Answer::Reply(match outcome {
        Some(Ok(answer)) => return answer.given_out(drop),
        Some(Err(ProcedureError::Aborted(failure))) => Reply::Error(failure.to_string()),
        Some(Err(ProcedureError::Panicked(message))) => Reply::Error(format!(
            "ERR the command panicked and was undone: {message}"
        )),
        Some(Err(ProcedureError::NotRun(error))) => Reply::Error(format!("ERR not run: {error}")),
        Some(Err(_)) | None => Reply::Error("ERR not run".to_string()),
    })
}

/// The answer to the requests of a batch that failed as a whole: nobody knows whether they are durable, or they have not
/// run, since the wait for their turn was ended.
pub(super) fn of_unknown_fate(error: &Error) -> Reply {
    match interruption(error) {
        Some(Reason::Timeout) => Reply::Error("ERR not run: the time limit is over".into()),
        Some(reason) => Reply::Error(format!("ERR not run: interrupted ({reason:?})")),
        None => Reply::Error(format!("ERR {error}")),
    }
}

/// Whether the connection goes on: only if it is known that nothing has run.
pub(super) fn end_after(error: &Error) -> Continue {
    match interruption(error) {
        Some(_) => Continue::More,
        None => Continue::Close,
    }
}
