//! The engine's outcomes as answers.

use super::counted::Counted;
use super::flight::{Rest, RestOf};
use super::{Continue, Due, Planned, Session};
use crate::command::Command;
use crate::command::of_session::LISTENING;
use crate::failure::Failure;
use crate::pending::{COPIES, SMALL_BYTES};
use crate::reply::{Reply, Version};
use crate::request::{Answer, Outcomes};
use bytes::BytesMut;
use sardonyx::Error;
use sardonyx::low_level::interruption;
use sardonyx::procedures::ProcedureError;
use sardonyx_base::memory::Share;
use sardonyx_base::waiting::Reason;

/// The memory of answers of commands of the connection: these do not run in the serial stage, which counts the others.
#[derive(Debug, Default)]
pub(super) struct Taken {
    bytes: usize,
    /// The share in the memory of all sessions.
    share: Option<Share>,
}

impl Taken {
    /// They were sent, if all were.
    pub fn release(&mut self, is_all: bool) {
        if is_all {
            *self = Taken::default();
        }
    }
}

impl Session {
    /// Counts the answer to a command of the connection.
    ///
    /// # Errors
    /// It would be more than an answer may have, or there is no memory for it.
    pub(super) fn count(&mut self, reply: &Reply) -> Result<(), Failure> {
        let bytes = self.answered.bytes.saturating_add(reply.bytes());
        let most = self.options.answer_bytes_max;
        if bytes > most {
            return Err(Failure::AnswerBytes(most));
        }
        if bytes > SMALL_BYTES {
            let new = || Share::of(self.options.memory.clone());
            let share = self.answered.share.get_or_insert_with(new);
            share.cover(bytes.saturating_mul(COPIES))?;
        }
        self.answered.bytes = bytes;
        Ok(())
    }

    /// The answer to a command of the connection, or an error if there is no memory for it. If the command has had an
    /// effect, its answer is short or as long as the text sent, and is not refused.
    pub(super) fn counted(&mut self, command: &Command, reply: Reply) -> Reply {
        let is_done = matches!(reply, Reply::Ok | Reply::Simple(_) | Reply::Int(_))
            || command.name == "hello"
            || LISTENING.iter().any(|listens| listens.name == command.name);
        match is_done {
            true => reply,
            false => match self.count(&reply) {
                Ok(()) => reply,
                Err(failure) => Reply::Error(failure.to_string()),
            },
        }
    }
}

impl Session {
    /// Writes the answers, up to the first command that is postponed, and keeps the rest.
    pub(super) fn write_answers(
        &mut self,
        planned: Vec<Due>,
        outcomes: Result<Outcomes, Error>,
        output: &mut BytesMut,
    ) {
        let mut outcomes = outcomes.map(Vec::into_iter);
        for due in planned {
            let Due {
                plan,
                version,
                counted,
            } = due;
            let answer = match plan {
                Planned::Answered(reply) => Answer::Reply(reply),
                Planned::Asked => match &mut outcomes {
                    Ok(outcomes) => of_outcome(outcomes.next()),
                    Err(error) => {
                        self.end = end_after(error);
                        Answer::Reply(of_unknown_fate(error))
                    }
                },
            };
            let what = match answer {
                // It is the last of its flight.
                Answer::Waits => {
                    self.tally(&counted, None);
                    self.begin_to_wait(version.is_none());
                    continue;
                }
                Answer::Postponed(postponed) => {
                    let (what, database) = *postponed;
                    RestOf::Postponed(what, database)
                }
                // Whose messages were given out.
                Answer::Sends(reply, _) | Answer::Reply(reply) if self.rest.is_empty() => {
                    self.settle(&counted, &reply, version, output);
                    continue;
                }
                Answer::Sends(reply, _) | Answer::Reply(reply) => RestOf::Answered(reply),
            };
            self.rest.push(Rest {
                what,
                version,
                counted,
            });
        }
    }

    /// Counts an answer, and appends it if its client wants it.
    #[inline]
    pub(super) fn settle(
        &mut self,
        counted: &Counted,
        reply: &Reply,
        version: Option<Version>,
        output: &mut BytesMut,
    ) {
        self.errors += u64::from(reply.is_error());
        self.tally(counted, Some(reply));
        write(reply, version, self.version, output);
    }
}

/// Appends an answer if its client wants it; `own` is the version of the session.
#[inline]
pub(super) fn write(reply: &Reply, version: Option<Version>, own: Version, output: &mut BytesMut) {
    match version {
        Some(version) => reply.write(version, output),
        // It is no answer, or not only.
        None if reply.is_push() => reply.write(own, output),
        None => {}
    }
}

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

/// The answer to the requests of a batch that failed as a whole. Either it is unknown if they are durable, or they
/// have not run, since the wait for their turn was ended.
pub(super) fn of_unknown_fate(error: &Error) -> Reply {
    match interruption(error) {
        Some(Reason::Timeout) => Reply::Error("ERR not run: the time limit is over".into()),
        Some(reason) => Reply::Error(format!("ERR not run: interrupted ({reason:?})")),
        None => Reply::Error(format!("ERR {error}")),
    }
}

/// The connection goes on only if it is known that nothing has run.
pub(super) fn end_after(error: &Error) -> Continue {
    match interruption(error) {
        Some(_) => Continue::More,
        None => Continue::Close,
    }
}
