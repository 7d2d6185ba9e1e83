//! Steps: transactions of one turn whose arguments and results stay with the caller.
//!
//! A [`Procedure`](crate::Procedure)'s batch owns its arguments, and makes a list of results: it may go to other threads. A
//! server that has the turn needs neither. It runs its clients' commands where they were parsed, and writes each answer where
//! the one before ends.
//!
//! Invariants: each step is a transaction of its own. A step that fails or panics is undone alone, as a request of a batch
//! is. A panic anywhere else in the caller's code is caught, too: the other steps run. The caller sends nothing before the
//! turn's ticket says that all of it is durable (I1).

use crate::batch::Job;
use crate::error::{ProcedureError, SerialError};
use crate::execution::Execution;
use sardonyx_table::{TableSpace, Transaction};
use std::ops::Range;

/// Transactions that run one after the other in a turn.
pub trait Steps: Send {
    /// The error of a step, which is undone.
    type Error;

    /// The number of steps. There are none if it panics.
    fn count(&self) -> usize;

    /// Asks for the memory that these steps will read, so that their cache misses overlap. They are the next ones.
    fn prefetch(&mut self, steps: Range<usize>, space: &TableSpace);

    /// Runs the step of this number.
    ///
    /// # Errors
    /// Why it is undone.
    fn run(&mut self, step: usize, transaction: &mut Transaction<'_>) -> Result<(), Self::Error>;

    /// Notes that the step of this number was undone, or did not run. If this panics, the caller has no note of it.
    fn failed(&mut self, step: usize, error: ProcedureError<Self::Error>);
}

/// Steps as a job of the execution stage.
pub(crate) struct Stepping<'s, S>(pub &'s mut S);

impl<S: Steps> Job for Stepping<'_, S> {
    fn prepare(&mut self) {}

    fn execute(&mut self, execution: &mut Execution<'_>) -> u64 {
        execution.run_steps(self.0)
    }

    fn deliver(&mut self, _: Result<(), SerialError>) {}
}
