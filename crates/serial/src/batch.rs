//! A batch of requests for one procedure, on its way through the stages. It is the unit of every
//! hand-over; the stages do not know the procedure's types.

use crate::error::{SerialError, panic_message};
use crate::execution::{Ended, Execution};
use crate::procedure::Procedure;
use crate::ticket::Delivery;
use crate::{ProcedureError, Registered};
use sardonyx_table::Transaction;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// What travels through the pipeline.
pub(crate) trait Job: Send {
    /// The input stage's part: without the database.
    fn prepare(&mut self);
    /// The execution stage's part. Returns the group that must be durable before the result is told.
    fn execute(&mut self, execution: &mut Execution) -> u64;
    /// The output stage's part: `fate` says whether that group is durable.
    fn deliver(self: Box<Self>, fate: Result<(), SerialError>);
}

pub(crate) type Outcomes<P> =
    Vec<Result<<P as Procedure>::Output, ProcedureError<<P as Procedure>::Error>>>;

/// A batch of one procedure's requests.
pub(crate) struct Batch<P: Procedure> {
    procedure: Registered<P>,
    arguments: Vec<P::Arguments>,
    refused: Vec<Option<ProcedureError<P::Error>>>,
    outcomes: Outcomes<P>,
    delivery: Option<Arc<Delivery<Outcomes<P>>>>,
}

impl<P: Procedure> Batch<P> {
    pub fn new(
        procedure: Registered<P>,
        arguments: Vec<P::Arguments>,
        delivery: Option<Arc<Delivery<Outcomes<P>>>>,
    ) -> Self {
        let outcomes = Vec::with_capacity(arguments.len());
        Batch {
            procedure,
            arguments,
            refused: Vec::new(),
            outcomes,
            delivery,
        }
    }

    /// The outcomes, after execution.
    pub fn into_outcomes(self) -> Outcomes<P> {
        self.outcomes
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
        let mut next = 0;
        while next < arguments.len() {
            // Caught once for all that do not panic.
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                while let Some(one) = arguments.get(next) {
                    next += 1;
                    procedure.0.check(one).map_err(ProcedureError::Aborted)?;
                }
                Ok(())
            }));
            let error = match outcome {
                Ok(Ok(())) => return,
                Ok(Err(error)) => error,
                Err(panic) => ProcedureError::Panicked(panic_message(&*panic)),
            };
            // Only a batch with a refused request pays for the list.
            refused.resize_with(arguments.len(), || None);
            refused[next - 1] = Some(error);
        }
    }

    fn execute(&mut self, execution: &mut Execution) -> u64 {
        let procedure = &*self.procedure.0;
        execution.run_batch(
            procedure,
            &self.arguments,
            &mut self.refused,
            &mut self.outcomes,
        )
    }

    fn deliver(mut self: Box<Self>, fate: Result<(), SerialError>) {
        if let Some(delivery) = self.delivery.take() {
            delivery.deliver(fate.map(|()| self.into_outcomes()));
        }
    }
}

/// A closure on its way through the pipeline.
pub(crate) struct Single<F, T> {
    body: Option<F>,
    outcome: Option<Result<T, SerialError>>,
    delivery: Arc<Delivery<T>>,
}

impl<F, T> Single<F, T> {
    pub fn new(body: F, delivery: Arc<Delivery<T>>) -> Self {
        Single {
            body: Some(body),
            outcome: None,
            delivery,
        }
    }
}

impl<F, T, E> Job for Single<F, Result<T, E>>
where
    F: FnOnce(&mut Transaction<'_>) -> Result<T, E> + Send,
    T: Send,
    E: Send,
{
    fn prepare(&mut self) {}

    fn execute(&mut self, execution: &mut Execution) -> u64 {
        let body = self.body.take().expect("executed once");
        if let Err(error) = execution.admit() {
            self.outcome = Some(Err(error));
            return execution.filling.last_group();
        }
        let (ended, group) = execution.run(body);
        self.outcome = Some(ended.into_outcome());
        group
    }

    fn deliver(self: Box<Self>, fate: Result<(), SerialError>) {
        let outcome = self.outcome.expect("delivered after execution");
        self.delivery.deliver(fate.and(outcome));
    }
}

impl<T, E> Ended<T, E> {
    /// The client's view: an abort is the closure's own result, a panic is the engine's error.
    pub fn into_outcome(self) -> Result<Result<T, E>, SerialError> {
        match self {
            Ended::Committed(value) => Ok(Ok(value)),
            Ended::Aborted(error) => Ok(Err(error)),
            Ended::Panicked(panic) => Err(SerialError::Panicked {
                message: panic_message(&*panic),
            }),
            Ended::Forked => Err(SerialError::Forked),
        }
    }
}
