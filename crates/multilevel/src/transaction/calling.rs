//! Calling an operation: its locks on objects, its executions until it succeeds, and its end. At the
//! end the strategy handles its changes ([`crate::strategy::Protocol`]) while the pages are locked.

use super::Transaction;
use crate::error::{CallError, DatabaseError};
use crate::nesting::executing;
use crate::operation::{INVERSE_BYTES_MAX, Inverse, LockRequests, Operation};
use crate::subtransaction::{Await, Purpose, Subtransaction, Verdict};
use sardonyx_base::user_code::discard;
use sardonyx_lock::Asker;
use sardonyx_storage::log::LogError;
use sardonyx_storage::log::record::RECORD_HEAD_BYTES;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

impl Transaction<'_> {
    /// Executes an operation, as often as it takes.
    pub(super) fn execute<O: Operation>(
        &self,
        operation: &O,
        asker: Asker,
    ) -> Result<O::Output, CallError<O::Error>> {
        let two_levels = self.protocol.has_two_levels();
        let turn = if two_levels {
            let mut requests = LockRequests::default();
            operation.locks(&mut requests);
            for (space, object, mode) in requests.iter() {
                let wait = Await::Lock(space, object, mode);
                // It holds no page, so the only order to it can be to abort.
                self.wait(asker, wait).map_err(|_| CallError::Deadlock)?;
            }
            None
        } else {
            Some(self.turn.lock())
        };
        loop {
            let workspace = self.progress().workspaces.pop().unwrap_or_default();
            let mut subtransaction = self.subtransaction(Purpose::Operation, asker, workspace);
            // Its inverse is the user's code, too, and may panic.
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                executing(|| match two_levels {
                    true => operation.execute_with_inverse(&mut subtransaction),
                    false => Ok((operation.execute(&mut subtransaction)?, None)),
                })
            }));
            if let Err(forked) = self.database.check_process() {
                // The operation forked, and this is the child: the pages' locks are the parent's.
                std::mem::forget((subtransaction, turn));
                return Err(forked.into());
            }
            let ended = match (subtransaction.verdict(), outcome) {
                (None, Ok(Ok((output, inverse)))) => {
                    match self.end_of_operation(&mut subtransaction, inverse.as_ref()) {
                        Ok(Ok(())) => Ended::Well(output),
                        Ok(Err(error)) => {
                            discard(output);
                            Ended::Unforced(error)
                        }
                        Err(error) => {
                            discard(output);
                            Ended::Failed(error)
                        }
                    }
                }
                // Its result is the user's, and may panic when it is dropped: not while pages are
                // locked.
                (Some(verdict), outcome) => {
                    discard(outcome);
                    Ended::Doomed(verdict)
                }
                (None, Ok(Err(error))) => Ended::Failed(CallError::Failed(error)),
                (None, Err(panic)) => Ended::Panicked(panic),
            };
            if !matches!(ended, Ended::Well(_) | Ended::Unforced(_)) {
                subtransaction.undo();
            }
            let workspace = subtransaction.end();
            self.progress().workspaces.push(workspace);
            match ended {
                Ended::Well(output) => {
                    self.database.counters.add(|c| &c.subtransactions, 1);
                    return Ok(output);
                }
                Ended::Failed(error) => {
                    self.database.counters.add(|c| &c.failed, 1);
                    return Err(error);
                }
                Ended::Unforced(error) => return Err(CallError::Engine(error.into())),
                Ended::Panicked(panic) => resume_unwind(panic),
                Ended::Doomed(Verdict::Deadlock) => return Err(CallError::Deadlock),
                Ended::Doomed(Verdict::Restart(wait)) => {
                    self.database.counters.add(|c| &c.restarts, 1);
                    self.wait(asker, wait).map_err(|_| CallError::Deadlock)?;
                }
            }
        }
    }

    /// EOS: the strategy handles the operation's changes, while its pages are locked. The inner error is the log's,
    /// after that.
    fn end_of_operation<E: std::error::Error + 'static>(
        &self,
        subtransaction: &mut Subtransaction<'_>,
        inverse: Option<&Inverse>,
    ) -> Result<Result<(), LogError>, CallError<E>> {
        if !subtransaction.has_changed() {
            return Ok(Ok(()));
        }
        let inverse = match inverse {
            None => None,
            Some(inverse) => {
                let (name, bytes) = (inverse.name(), inverse.bytes());
                let number = self.database.operations.number(name);
                let number = number.ok_or(CallError::Unregistered { name })?;
                check_inverse(bytes.len())?;
                Some((number, Arc::<[u8]>::from(bytes)))
            }
        };
        let ended = self
            .protocol
            .end_of_operation(self, subtransaction, inverse);
        ended.map_err(|error| match error {
            DatabaseError::TooLarge { bytes, limit } => CallError::TooLarge {
                what: "change",
                bytes,
                limit,
            },
            error => error.into(),
        })
    }
}

/// The result of an execution.
enum Ended<T, E: std::error::Error + 'static> {
    Well(T),
    /// It is complete, but the log failed when it was forced (S2).
    Unforced(LogError),
    Failed(CallError<E>),
    Panicked(Box<dyn Any + Send>),
    Doomed(Verdict),
}

fn check_inverse<E: std::error::Error + 'static>(bytes: usize) -> Result<(), CallError<E>> {
    let limit = INVERSE_BYTES_MAX;
    if bytes + RECORD_HEAD_BYTES <= limit {
        return Ok(());
    }
    Err(CallError::TooLarge {
        what: "inverse",
        bytes,
        limit,
    })
}
