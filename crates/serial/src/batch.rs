//! A batch of requests for one procedure, on its way through the stages. It is the unit of every
//! hand-over; the stages do not know the procedure's types.
//!
//! A batch's contents are the program's. Its arguments, outcomes and errors are dropped one by one, and
//! a drop that panics harms no other. A batch that is dropped on its way answers its ticket, so that no
//! client waits for it for ever.

use crate::error::SerialError;
use crate::execution::{Ended, Execution};
use crate::procedure::Procedure;
use crate::ticket::Answer;
use crate::{ProcedureError, Registered};
use sardonyx_base::user_code::{discard, discard_all, message_of};
use sardonyx_table::Transaction;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The unit that travels through the pipeline.
pub(crate) trait Job: Send {
    /// The input stage's part: without the database.
    fn prepare(&mut self);
    /// The execution stage's part. Returns the group that must be durable before the result is
    /// acknowledged.
    fn execute(&mut self, execution: &mut Execution<'_>) -> u64;
    /// The output stage's part: `fate` says whether that group is durable.
    fn deliver(&mut self, fate: Result<(), SerialError>);
}

/// The outcomes of a batch, in the order of its requests.
pub type Outcomes<P> =
    Vec<Result<<P as Procedure>::Output, ProcedureError<<P as Procedure>::Error>>>;

/// A batch of one procedure's requests.
pub(crate) struct Batch<P: Procedure> {
    /// Taken only by drop.
    procedure: Option<Registered<P>>,
    arguments: Vec<P::Arguments>,
    refused: Vec<Option<ProcedureError<P::Error>>>,
    outcomes: Outcomes<P>,
    answer: Option<Answer<Outcomes<P>>>,
}

impl<P: Procedure> Batch<P> {
    pub fn new(
        procedure: Registered<P>,
        arguments: Vec<P::Arguments>,
        answer: Option<Answer<Outcomes<P>>>,
    ) -> Self {
        let outcomes = Vec::with_capacity(arguments.len());
        Batch {
            procedure: Some(procedure),
            arguments,
            refused: Vec::new(),
            outcomes,
            answer,
        }
    }

    /// The outcomes, after execution.
    pub fn into_outcomes(mut self) -> Outcomes<P> {
        std::mem::take(&mut self.outcomes)
    }

    /// The requests, to be filled in before they are checked.
    pub fn requests(&mut self) -> &mut Vec<P::Arguments> {
        &mut self.arguments
    }

    /// The outcomes, after execution.
    pub fn take_outcomes(&mut self) -> Outcomes<P> {
        std::mem::take(&mut self.outcomes)
    }

    fn procedure(procedure: &Option<Registered<P>>) -> &P {
        &procedure.as_ref().expect("taken only by drop").0
    }
}

impl<P: Procedure> Drop for Batch<P> {
    fn drop(&mut self) {
        discard_all(self.arguments.drain(..));
        discard_all(self.refused.drain(..));
        discard_all(self.outcomes.drain(..));
        discard(self.procedure.take());
    }
}

impl<P: Procedure> Job for Batch<P> {
    fn prepare(&mut self) {
        let Batch {
            procedure,
            arguments,
            refused,
            ..
        } = self;
        let procedure = Self::procedure(procedure);
        let mut next = 0;
        while next < arguments.len() {
            // Caught once for all that do not panic.
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                while let Some(one) = arguments.get(next) {
                    next += 1;
                    procedure.check(one).map_err(ProcedureError::Aborted)?;
                }
                Ok(())
            }));
            let error = match outcome {
                Ok(Ok(())) => return,
                Ok(Err(error)) => error,
                Err(panic) => ProcedureError::Panicked(message_of(panic)),
            };
            // The list exists only in batches with a refused request.
            refused.resize_with(arguments.len(), || None);
            refused[next - 1] = Some(error);
        }
    }

    fn execute(&mut self, execution: &mut Execution<'_>) -> u64 {
        execution.run_batch(
            Self::procedure(&self.procedure),
            &self.arguments,
            &mut self.refused,
            &mut self.outcomes,
        )
    }

    fn deliver(&mut self, fate: Result<(), SerialError>) {
        if let Some(answer) = self.answer.take() {
            let outcomes = std::mem::take(&mut self.outcomes);
            let outcome = match fate {
                Ok(()) => Ok(outcomes),
                Err(error) => {
                    discard_all(outcomes);
                    Err(error)
                }
            };
            if let Some(Ok(unwanted)) = answer.give(outcome) {
                discard_all(unwanted);
            }
        }
    }
}

/// A closure on its way through the pipeline.
pub(crate) struct Single<F, T> {
    body: Option<F>,
    outcome: Option<Result<T, SerialError>>,
    answer: Option<Answer<T>>,
}

impl<F, T> Single<F, T> {
    pub fn new(body: F, answer: Option<Answer<T>>) -> Self {
        Single {
            body: Some(body),
            outcome: None,
            answer,
        }
    }

    /// The outcome, after execution.
    pub fn into_outcome(mut self) -> Result<T, SerialError> {
        self.outcome.take().expect("after execution")
    }
}

impl<F, T> Drop for Single<F, T> {
    fn drop(&mut self) {
        discard(self.body.take());
        discard(self.outcome.take());
    }
}

impl<F, T, E> Job for Single<F, Result<T, E>>
where
    F: FnOnce(&mut Transaction<'_>) -> Result<T, E> + Send,
    T: Send,
    E: Send,
{
    fn prepare(&mut self) {}

    fn execute(&mut self, execution: &mut Execution<'_>) -> u64 {
        let body = self.body.take().expect("executed once");
        if let Err(error) = execution.admit() {
            discard(body);
            self.outcome = Some(Err(error));
            return execution.last_group();
        }
        let (ended, group) = execution.run(body);
        self.outcome = Some(ended.into_outcome());
        group
    }

    fn deliver(&mut self, fate: Result<(), SerialError>) {
        let outcome = self.outcome.take().expect("delivered after execution");
        let outcome = match fate {
            Ok(()) => outcome,
            Err(error) => {
                discard(outcome);
                Err(error)
            }
        };
        if let Some(answer) = self.answer.take() {
            discard(answer.give(outcome));
        }
    }
}

impl<T, E> Ended<T, E> {
    /// The outcome as a client receives it: an abort is the closure's own result, a panic the engine's error.
    pub fn into_outcome(self) -> Result<Result<T, E>, SerialError> {
        match self {
            Ended::Committed(value) => Ok(Ok(value)),
            Ended::Aborted(error) => Ok(Err(error)),
            Ended::Panicked(panic) => Err(SerialError::Panicked {
                message: message_of(panic),
            }),
            Ended::Forked => Err(SerialError::Forked),
        }
    }
}
